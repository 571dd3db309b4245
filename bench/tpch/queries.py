"""For each of TPC-H's 22 queries, and for table 2 of the paper, the columns that it reads: from the host's memory to rows in a GPU's.

    queries.py [OPTIONS]      queries.py --help

Raw copies of plain rows; zipflow without overlap, in the order of the columns (first in, first out), in Johnson's; nvCOMP pipelined alike.
Results are OUT/queries.json; plots.py makes tables and plots of it. The exit status is 0 when all was measured and right.
"""

import argparse
import hashlib
import json
import math
import os
import pathlib
import subprocess
import sys
import tarfile
import time

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "peers"), str(ROOT / "script")]

import choices  # noqa: E402
import encoding  # noqa: E402
import from_files  # noqa: E402
import links  # noqa: E402
import record_text  # noqa: E402
import tables  # noqa: E402
from gpu_test import machine, needed, unplaced  # noqa: E402
from nvcomp_batched import library_from  # noqa: E402

ORDERS = ("apart", "given", "johnson")
COUNTED = {
    "seconds": "by the host's clock, from the call that begins to the end of the last decode (raw: of the last copy); medians. Compressed "
               "bytes, and for raw the plain ones, lie in pinned memory; rows end in the device's. Code is compiled and loaded before. Orders "
               "take turns, three times, each turn with a pipeline of its own, which is the only one then; `runs`: as they came",
    "raw": "plain rows, column after column; offsets of strings count as four bytes a row, while zipflow writes eight",
    "apart": "zipflow, a transfer unit after the other without overlap", "given": "zipflow, columns in the order of the query, overlapped",
    "johnson": "zipflow, in Johnson's order, overlapped", "small": "the same with less staging, see `small_staging`",
    "nvcomp": "nvCOMP, see nvcomp_pipeline.py; its offsets of strings have four bytes",
    "ratio": "raw_bytes by stored_bytes; stored is every byte of the file that belongs to a column",
    "link_rate": "of the raw copies of all sets together",
    "copy_bound": "stored_bytes by link_rate", "decode_bound": "the decodes of all units, one after the other (of `apart`)",
    "verified": "zipflow: what each order left in every column is compared with a decode on the CPU, before and after what is timed, and that "
                "decode with the source. nvCOMP: every array with the source. Memory is poisoned before",
}


class Failed(Exception):
    """A measurement failed, and why."""


class Session:
    def __init__(self, options):
        self.options, self.end = options, time.monotonic() + options.budget
        self.out = pathlib.Path(options.out)
        self.out.mkdir(parents=True, exist_ok=True)
        self.log = open(self.out / "log.txt", "a", encoding="utf-8")
        self.tree = pathlib.Path(options.data).resolve()
        self.data = self.tree / f"sf{options.scale:g}"
        self.data.mkdir(parents=True, exist_ok=True)
        self.commit = "unknown"
        if options.zfc:
            built = "a build with tests makes it (cmake -DBUILD_TESTING=ON, targets tpch_measure and tpch_links)"
            self.zfc, self.generator = needed(options.zfc, "--zfc names the program"), pathlib.Path(options.tpchgen).resolve()
            self.measure = needed(options.measure, built)
            self.links = needed(options.links or self.zfc.parent / "tpch_links", built)
        else:
            with tarfile.open(needed(options.pack, "script/pack makes it; --zfc does without")) as archive:
                archive.extractall(self.tree, filter="data")
            self.zfc, self.measure, self.generator = (self.tree / "zipflow-pack/bin" / p for p in ("zfc", "tpch_measure", "tpchgen-cli"))
            self.links = self.tree / "zipflow-pack/bin/tpch_links"
            self.commit = (self.tree / "zipflow-pack/COMMIT").read_text(encoding="utf-8").strip()

    def run(self, *words, codes=(0,)):
        words, begin = [str(w) for w in words], time.monotonic()
        limit = self.end - begin
        if limit <= 0:
            raise Failed("the time is used up (--budget)")
        try:
            result = subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=limit,
                                    env=dict(os.environ, ZIPFLOW_CACHE_DIR=str(self.tree / "cache")))
        except subprocess.TimeoutExpired:
            raise Failed(f"{pathlib.Path(words[0]).name} was stopped after {limit:.0f} s") from None
        self.log.write(f"$ {' '.join(words)}\n{result.stderr}[{result.returncode}, {time.monotonic() - begin:.2f} s]\n")
        self.log.flush()
        if result.returncode not in codes or not result.stdout and result.returncode != 0:
            raise Failed(" | ".join(result.stderr.strip().splitlines()[-4:]) or f"{words[0]} gave {result.returncode}")
        return result.stdout


def sets_of(only):
    found = json.loads((HERE / "columns.json").read_text())
    found["table2"] = [f"{table}.{column}" for table, columns in choices.TABLE2.items() for column in columns]
    return {name: columns for name, columns in found.items() if not only or name in only}


def encode(s, table, columns):
    """The container of a table, made where there is none of this program; and what that took."""
    text = (HERE / "tables.zf").read_bytes()
    path = s.data / f"{table}.{hashlib.sha256(text).hexdigest()[:8]}.zfd"
    timing = path.with_suffix(".json")
    if not timing.exists():
        begin = time.monotonic()
        s.run(s.zfc, "encode", "-q", "-f", "-c", f"{HERE / 'tables.zf'}:{table}", "-o", path, *tables.inputs(s.data, table, columns))
        seconds = time.monotonic() - begin
        timing.write_text(json.dumps({"seconds": seconds, "bytes": path.stat().st_size}))
    return path, json.loads(timing.read_text())


def measure(s, sets, containers, **extra):
    words = [w for name, value in {"device": s.options.device, "repeats": s.options.repeats, **extra}.items() if value
             for w in (f"--{name.replace('_', '-')}", value)]
    found = json.loads(s.run(s.measure, *words, sets, *containers, codes=(0, 1)))
    return found, {row["set"]: row for row in found["sets"]}


def merged(name, columns, ours, small, theirs, link_rate):
    """A set's row of the report."""
    row = {"set": name, "columns": columns, "verified": ours["verified"]}
    if not ours["verified"]:
        return {**row, "message": ours["message"]}
    row |= {k: ours[k] for k in ("plain_bytes", "raw_bytes", "stored_bytes")}
    row["ratio"] = ours["raw_bytes"] / ours["stored_bytes"]
    times = {order: ours[order]["seconds"] | {"runs": ours[order]["runs"]} for order in ORDERS if order in ours}
    row |= {"units": ours["johnson"]["units"], "predicted": ours["johnson"]["predicted_seconds"],
            "order": [c["column"] for c in sorted(ours["johnson"]["columns"], key=lambda c: c["ready_seconds"])],
            "decode_bound": sum(c["decode_seconds"] for c in ours["apart"]["columns"]), "of_columns": ours["apart"]["columns"]}
    if "raw_seconds" in ours:
        times["raw"] = ours["raw_seconds"]
        row["copy_bound"] = ours["stored_bytes"] / link_rate
        row["over_bound"] = times["johnson"]["median"] / max(row["copy_bound"], row["decode_bound"])
    if small is not None:
        row["verified"] = row["verified"] and small["verified"]
        if small["verified"]:
            times["small"] = small["johnson"]["seconds"]
        else:
            row["message"] = small["message"]
    if theirs is not None:
        row["nvcomp"] = theirs
        row["verified"] = row["verified"] and theirs["verified"]
        if theirs["verified"]:
            times["nvcomp"] = theirs["seconds"]
    return {**row, "seconds": times,
            "johnson_beside": {other: t["median"] / times["johnson"]["median"] for other, t in times.items() if other != "johnson"}}


def mean(values):
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def summary(rows):
    """Geometric means over the queries."""
    good = [r for r in rows if "seconds" in r and r["set"] != "table2"]
    out = {f"johnson_beside_{other}": mean(r["johnson_beside"][other] for r in good if other in r["johnson_beside"])
           for other in ("raw", "apart", "given", "small", "nvcomp")}
    return {"ratio": mean(r["ratio"] for r in good), **{k: v for k, v in out.items() if v is not None},
            **({"over_bound_most": max(r["over_bound"] for r in good)} if good and all("over_bound" in r for r in good) else {})}


def parts_of(options, sets):
    """Other measurements: {name: function of the session and the containers}."""
    from_sets = {name: sets[name] for name in options.from_files.split(",") if name in sets}
    parts = {"encoding": lambda s, _: encoding.measured(s)} if any(c.startswith("lineitem.") for columns in sets.values() for c in columns) else {}
    if from_sets:
        parts["files"] = lambda s, containers: from_files.measured(s, from_sets, containers)
    return {name: part for name, part in parts.items() if name not in options.without.split(",")}


def bench(s):
    options, failed = s.options, []
    sets = sets_of({n for n in options.only.split(",") if n})
    declared, wanted = tables.declared(), {c for columns in sets.values() for c in columns}
    wanted = {table: {c: v for c, v in columns.items() if f"{table}.{c}" in wanted} for table, columns in declared.items()}
    wanted = {table: declared[table] for table, columns in wanted.items() if columns}  # whole tables: files serve other calls too
    report = {"bench": "tpch queries", "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
              "command": " ".join(["bench/tpch/queries.py", *[unplaced(w) for w in sys.argv[1:]]]), "machine": machine(), "counted": COUNTED,
              "scale": options.scale, "small_staging": options.small_staging, "load_before": os.getloadavg()[0]}
    begin = time.monotonic()
    also = parts_of(options, sets)
    tables.make(s.generator, s.data, options.scale, {**wanted, "lineitem": encoding.columns()} if "encoding" in also else wanted)
    report["made_seconds"] = time.monotonic() - begin
    containers, report["encoded"] = [], {}
    for table, columns in wanted.items():
        path, timing = encode(s, table, columns)
        containers.append(path)
        report["encoded"][table] = timing
    listed = s.data / "sets"
    listed.write_text("".join(f"{name} {' '.join(columns)}\n" for name, columns in sets.items()))
    found, ours = measure(s, listed, containers, unit_bytes=options.unit_bytes, source=s.data)
    report |= {k: found[k] for k in ("version", "device", "repeats")} | {"commit": s.commit, "columns": found["columns"]}
    small, theirs = {}, {}
    if options.small_staging:
        small = measure(s, listed, containers, unit_bytes=options.unit_bytes, orders="johnson", host_staging=options.small_staging,
                        device_staging=options.small_staging)[1]
    for name, part in also.items():  # before nvCOMP's, which takes the time that is left
        try:
            report[name] = part(s, containers)
        except (Failed, KeyError, ValueError, OSError) as why:
            failed.append(f"{name}: {why}")
    failed += [f"{r['set']} from files: {r.get('message')}" for r in report.get("files", {}).get("results", []) if not r["verified"]]
    if options.nvcomp:
        try:
            library = library_from(options.nvcomp, s.tree)
            said = s.run(sys.executable, HERE / "nvcomp_pipeline.py", options.libcuda, library, s.data, listed, options.repeats,
                         s.end - time.monotonic(), options.sample, options.unit_bytes or 1 << 25, codes=(0, 1))
            peer = json.loads(said)
            theirs = {row["set"]: row for row in peer.pop("sets")}
            report["nvcomp"] = peer
        except (Failed, ValueError) as why:
            failed.append(f"nvCOMP: {why}")
    copied = [r for r in ours.values() if "raw_seconds" in r]
    link_rate = sum(r["raw_bytes"] for r in copied) / sum(r["raw_seconds"]["median"] for r in copied) if copied else None
    rows = [merged(name, columns, ours[name], small.get(name), theirs.get(name), link_rate) for name, columns in sets.items()]
    report |= {"link_rate": link_rate, "seconds": time.monotonic() - begin, "load_after": os.getloadavg()[0], "failed": failed,
               "summary": summary(rows), "results": rows}
    simulated, wrong = links.part(s.links, found)
    report |= simulated
    failed += wrong
    return report, not failed and all(r["verified"] for r in rows)


def main():
    parser = argparse.ArgumentParser(prog="queries.py", description="Measures columns of TPC-H's queries on their way to a GPU.")
    parser.add_argument("--pack", default=ROOT / "build/zipflow-pack.tar.xz", help="archive of script/pack (default: build/zipflow-pack.tar.xz)")
    parser.add_argument("--zfc", help="a zfc, instead of the archive's; then also:")
    parser.add_argument("--measure", help="tpch_measure (default: beside zfc)")
    parser.add_argument("--links", help="tpch_links (default: beside zfc)")
    parser.add_argument("--tpchgen", default=str(ROOT / ".venv/bin/tpchgen-cli"), help="the generator of TPC-H")
    parser.add_argument("--nvcomp", help="libnvcomp.so.6, the same with .xz behind it, or a wheel of nvidia-libnvcomp; none: no peer")
    parser.add_argument("--libcuda", default="libcuda.so.1", help="CUDA's driver (default: libcuda.so.1)")
    parser.add_argument("--device", default="cuda", help="the pipelines' device (default: cuda)")
    parser.add_argument("--scale", default=10.0, type=float, help="scale factor of TPC-H (default: 10)")
    parser.add_argument("--data", default="tpch-data", help="directory for tables and files, which later calls use again (default: tpch-data)")
    parser.add_argument("--out", default="tpch", help="directory for the results (default: tpch)")
    parser.add_argument("--repeats", default=9, type=int, help="runs that count (default: 9)")
    parser.add_argument("--unit-bytes", default=0, type=int, help="stored bytes of a transfer unit (default: the pipeline's)")
    parser.add_argument("--small-staging", default=64 << 20, type=int, help="staging of one more run, in bytes, of host and of device each; 0: none (default: 64 MiB)")
    parser.add_argument("--sample", default=1 << 26, type=int, help="bytes of an array that nvCOMP's codecs are tried on (default: 64 MiB)")
    parser.add_argument("--only", default="", help="only these sets: q1 to q22, table2, separated by commas")
    parser.add_argument("--without", default="", help="leave out: encoding, files, or both with a comma")
    parser.add_argument("--from-files", default="table2,q1", help="sets that are measured from files, too (default: table2,q1)")
    parser.add_argument("--file-seconds", default=40, type=float, help="seconds after which no way from files is begun (default: 40)")
    parser.add_argument("--file-repeats", default=5, type=int, help="runs from files that count; cold at most 3 (default: 5)")
    parser.add_argument("--piece-bytes", default=0, type=int, help="bytes of a read of plain rows, a multiple of 4096 (default: 4 MiB)")
    parser.add_argument("--sink", default="/dev/shm", help="directory that `cp` copies to (default: /dev/shm)")
    parser.add_argument("--budget", default=570, type=float, help="seconds for everything (default: 570)")
    options = parser.parse_args()
    if options.zfc and not options.measure:
        options.measure = pathlib.Path(options.zfc).parent / "tpch_measure"
    unknown = {n for n in options.only.split(",") if n} - set(sets_of(()))
    if unknown:
        parser.error(f"there is no set {', '.join(sorted(unknown))}: they are q1 to q22 and table2")
    session = Session(options)
    try:
        report, good = bench(session)
    except (Failed, KeyError, ValueError, OSError) as why:
        print(f"queries: {type(why).__name__}: {why}", file=sys.stderr)
        return 1
    text = record_text.text(report).replace(f"{session.tree}/", "")
    (session.out / "queries.json").write_text(text)
    import plots

    print(plots.table(report))
    print(json.dumps(report["summary"]))
    if "files" in report:
        print(from_files.table(report["files"]))
    if "encoding" in report:
        print(encoding.line(report["encoding"]))
    if "links" in report:
        print(links.markdown(report["links"]))
    for why in report["failed"] + [f"{r['set']}: {r.get('message') or r['nvcomp']['message']}" for r in report["results"] if not r["verified"]]:
        print(f"queries: {why}", file=sys.stderr)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
