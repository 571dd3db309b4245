"""The paper's experiments, and the table of work with its criteria, by one command on a machine with a GPU.

    speed.py [OPTIONS]      speed.py --help

Everything is made there: zipflow's columns and containers, and for nvCOMP the same bytes. Results are OUT/speed.json, written anew with every row,
and OUT/log.txt; speed_plots.py makes plots of it. A row that fails or is late says so, and the next one is measured. The exit status is 0
when every row was measured and right; criteria that are missed are counted at the end and named in the report, and leave it 0.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(HERE.parent / "peers"), str(ROOT / "script")]

import numpy as np  # noqa: E402

import cases  # noqa: E402
import criteria  # noqa: E402
import peers  # noqa: E402
import ratios  # noqa: E402
import tuning  # noqa: E402
from gpu_test import unplaced  # noqa: E402
from peers import Failed, Unknown  # noqa: E402

COUNTED = {
    **peers.COUNTED,
    "at_least": "of rows that have it: the criterion, a part of the limit",
    "characters_at_least": "the criterion of a column of strings, GB/s of characters",
    "volume": "plain bytes that a measurement decodes, where that is what varies",
    "seconds_unfused": "of `zfc bench --unfused`: every stage a kernel that leaves its elements in memory for the next",
    "speedup": "seconds_unfused by seconds_fused, medians", "paper": "the same, as the paper has it on its GPU",
    "predicted": "the bytes that unfused kernels read and write by those that the fused one does",
    "kernels_unfused": "each kernel: bytes that it reads and writes, median seconds from the end of the one before it, and their quotient by that of a copy",
    "normalised": "of `configurations`: GB/s by those of the configuration that is named first",
    "tuned": "what `zfc tune` did before containers were measured: seconds, kernels that it searched, probes, and of each kernel what it took in place of the default and their seconds; it keeps what it finds for what comes after",
    "part_of_best": "of a search that knows nothing: the best time of all combinations by that of what it found, which is measured among them; medians",
    "all": "whether there was time for every combination that can differ; else first those with the default's bound on registers come, in an order of which any beginning is a fair sample",
    "untuned_part": "GB/s of kernels as they are without results by those of tuned ones",
    "missed": "criteria that were measured and not reached: part, row and what was wanted of it. The exit status does not say so",
}


FAMILIES = {case.name: case.family for case in (*cases.CASES, *cases.chunks())}


class Report(peers.Report):
    """All rows of all parts."""

    def __init__(self, session):
        self.part, self.columns = "", {}
        super().__init__(session, "speed")
        self.head |= {"bench": "speed", "command": " ".join(["bench/speed/speed.py", *[unplaced(w) for w in sys.argv[1:]]]), "counted": COUNTED,
                      "made_bytes": session.options.made, "scale": session.options.scale, "mean_at_least": criteria.MEAN_AT_LEAST}
        self.save()

    def add(self, row):
        row = {"part": self.part, **row}
        if row["by"] == "zipflow" and self.part in ("work", "rle", "table2", "ans", "bitpack"):
            row |= criterion(row)
        super().add(row)

    def save(self):
        self.head["missed"] = criteria.missed(self.rows)
        super().save()


def criterion(row):
    name, data = row.get("name"), row.get("data")
    if name in FAMILIES:
        return {"family": FAMILIES[name], **({"at_least": cases.AT_LEAST[name]} if name in cases.AT_LEAST else {})}
    if data in cases.OF_COLUMNS and name == "the paper's":
        return {"at_least": cases.OF_COLUMNS[data]}
    if data in cases.CHARACTERS and name == "words over bitpack":
        return {"characters_at_least": cases.CHARACTERS[data]}
    return {}


# ---- Columns that are made ------------------------------------------------------------------------------------------


def written(s, stem, arrays):
    """Files of a column, {ending: path}."""
    files = {}
    for ending, array in arrays.items():
        files[ending] = s.tree / f"{stem}.{ending}"
        array.tofile(files[ending])
    return files


def inputs_of(column, files):
    return [f"{column}.{ending}={path}" if ending in ("valid", "offsets", "bytes") else f"{column}={path}" for ending, path in files.items()]


def rows_of(kind, size):
    return max(1, size // np.dtype(cases.made.TYPES[kind.rstrip("?")]).itemsize)


def table_of(s, name, group, rows):
    """One container of several cases, whose columns are c0, c1, ..; cases of the same data share its file."""
    columns, inputs, sources, files = [], [], {}, {}
    for k, case in enumerate(group):
        key = (case.data(), case.kind)
        if key not in files:
            arrays = case.make(rows)
            files[key] = (arrays, written(s, f"{name}_{k}", arrays))
        arrays, paths = files[key]
        columns.append(f" c{k}: {case.kind} = {case.codec};")
        inputs += inputs_of(f"c{k}", paths)
        sources |= {f"c{k}.{ending}": array for ending, array in arrays.items()}
    try:
        return peers.encode(s, name, f'import "std.zf"; table t {{{"".join(columns)} }}\n', "t", inputs, sources)
    finally:
        for _, paths in files.values():
            for path in paths.values():
                path.unlink()


def containers_of(s, report, part, wanted, size):
    """[(container, column, name, data)] of cases; tables of as many rows lie in one file. Cases that a program does not know are skipped."""
    groups, placed = {}, []
    for case in wanted:
        groups.setdefault(rows_of(case.kind, size), []).append(case)
    pieces = [(f"{part}_{rows}_{at}", group[at:at + 16], rows) for rows, group in groups.items() for at in range(0, len(group), 16)]
    with concurrent.futures.ThreadPoolExecutor(max(1, (os.cpu_count() or 2) // 4)) as pool:
        running = [(name, group, rows, pool.submit(table_of, s, name, group, rows)) for name, group, rows in pieces]
        for name, group, rows, future in running:
            try:
                path = future.result()
                placed += [(path, f"c{k}", case.name, case.data()) for k, case in enumerate(group)]
            except Exception as together:  # of one of them: each alone
                s.note(f"{name}: {together}")
                for k, case in enumerate(group):
                    try:
                        placed.append((table_of(s, f"{name}_{k}", [case], rows), "c0", case.name, case.data()))
                    except Unknown as why:
                        report.leave_out(why, part=part, data=case.data(), name=case.name)
                    except Exception as why:
                        report.fail(why, data=case.data(), by="zipflow", name=case.name)
    return placed


def bench_made(s, report, part, wanted, size):
    placed = containers_of(s, report, part, wanted, size)
    peers.bench_each(s, report, list(dict.fromkeys(path for path, *_ in placed)), placed)
    for path in {path for path, *_ in placed}:
        path.unlink()


def peers_of(part, wanted, size):
    """Later measurements of nvCOMP: (part, data, function that makes the array, choices)."""
    return [(part, case.data(), lambda case=case: next(iter(case.make(rows_of(case.kind, size)).values())), case.nvcomp) for case in wanted if case.nvcomp]


def of_part(s, part):
    return [case for case in cases.CASES if case.part == part and s.options.wants(case.name)]


def part_made(s, report, part):
    wanted = of_part(s, part)
    if wanted:
        bench_made(s, report, part, wanted, s.options.made)
    return peers_of(part, wanted, s.options.made)


def part_work(s, report):
    later = part_made(s, report, "work")
    if s.options.wants("o_comment"):
        inputs, sources, plain, kind = peers.lanes_data(s, "o_comment")
        what = peers.choices.LANES["o_comment"]
        name = "words over bitpack"
        path = peers.encode(s, "words", f'import "std.zf"; table t {{ c: {kind} = {what["ours"][name]}; }}\n', "t", inputs, sources)
        peers.bench_each(s, report, [path], [(path, "c", name, "o_comment")])
        later.append(("work", "o_comment", lambda: plain, what["nvcomp"][:2]))
    return later


def part_rle(s, report):
    return part_made(s, report, "rle")


def part_bitpack(s, report):
    return part_made(s, report, "bitpack")


def part_ans(s, report):
    later = part_made(s, report, "ans")
    wanted = [case for case in cases.chunks() if s.options.wants(case.name)]
    whole = s.options.bytes
    for volume in (whole // 128, whole // 16, whole) if wanted else ():
        s.options.bytes, first = volume, len(report.rows)
        try:
            bench_made(s, report, "chunks", wanted, min(s.options.made, volume))
            plain = wanted[0].make(min(s.options.made, volume))["u8"]
            peers.measure_nvcomp(s, report, wanted[0].data(), plain, cases.choices("ans s0 @64K", "ans s0 @256K"))
        finally:
            s.options.bytes = whole
        for row in report.rows[first:]:
            row["volume"] = volume
        report.save()
    return later


# ---- Columns of TPC-H -----------------------------------------------------------------------------------------------


def part_table2(s, report):
    peers.part_table2(s, report)
    return []


def column_of(s, nest):
    """The container of a nest's column."""
    arrays = s.tpch(nest.table, {nest.column: nest.kind})[nest.column]
    files = written(s, nest.column, arrays)
    program = f'import "std.zf"; table t {{ {nest.column}: {nest.kind} = {nest.codec}; }}\n'
    sources = {f"{nest.column}.{ending}": array for ending, array in arrays.items()}
    return peers.encode(s, f"fusion_{nest.column}", program, "t", inputs_of(nest.column, files), sources)


def streams_of(s, container, column):
    """{path: bytes} of a column's streams."""
    found, streams = json.loads(s.run(s.zfc, "inspect", "--json", "--columns", column, container)), {}
    for block in found["columns"][0]["blocks"]:
        for stream in block["streams"]:
            streams[stream["path"]] = streams.get(stream["path"], 0) + stream["bytes"]
    return streams


def fused(nest, streams, on, off):
    """The row of a nest, from what `zfc bench` says with fusion and without."""
    times, plain, copies = (r["decode_seconds"]["median"] for r in (on, off)), on["plain_bytes"], on["repeated"]
    with_fusion, without = times
    element = {"date32": 4, "f64": 8, "i64": 8}[nest.kind]
    elements = (streams[nest.groups] // element if nest.groups else on["rows"]) * copies
    inner, between = streams[nest.inner] * copies, elements * nest.between
    moved = [inner + between, off["read_bytes"] - inner + between + plain]  # by the kernel that unpacks, and by the other one
    copy = 2 * off["plain_bytes"] / off["copy_seconds"]["median"]
    kernels = [{"bytes": b, "seconds": t["median"], "fraction_of_limit": b / t["median"] / copy} for b, t in zip(moved, off.get("kernel_seconds", []))]
    return {"data": nest.column, "by": "zipflow", "name": nest.name, "codec": on["codec"], "ratio": on["ratio"], "kernels": on["kernels"],
            "plain_bytes": plain, "read_bytes": on["read_bytes"], "seconds_fused": with_fusion, "seconds_unfused": without,
            "gb_per_second": on["gb_per_second"], "fraction_of_limit": on["fraction_of_limit"], "gb_per_second_unfused": off["gb_per_second"],
            "speedup": without / with_fusion, "speedup_at_least": nest.at_least, "paper": nest.paper,
            "predicted": sum(moved) / (on["read_bytes"] + plain), "kernels_unfused": kernels, "verified": True}


def part_fusion(s, report):
    for nest in cases.NESTS:
        if not s.options.wants(nest.column):
            continue
        try:
            container = column_of(s, nest)
            if s.before is not None:  # both sides are tuned
                s.before([container])
                s.before([container], "--unfused")
            found = [peers.bench(s, report, [*more, container], volume=nest.volume)[str(container), nest.column] for more in ((), ("--unfused",))]
            bad = [r for r in found if not r.get("verified")]
            if bad:
                raise Failed(bad[0].get("message", "not measured"))
            report.add(fused(nest, streams_of(s, container, nest.column), *found))
        except (Failed, KeyError) as why:
            report.fail(why, data=nest.column, by="zipflow", name=nest.name)
    return []


# ---- Configurations -------------------------------------------------------------------------------------------------


def part_configurations(s, report):
    """Figure 22: kernels as they were tuned for this GPU, for others, or within less of the choices, on this one."""
    if not s.options.configurations:
        report.leave_out("no --configurations", part="configurations")
        return []
    known = {case.name: case for case in cases.CASES}
    by_name = s.options.by_configuration
    wanted = [known[name] for name in next(iter(by_name.values())) if name in known]
    placed = containers_of(s, report, "configurations", wanted, s.options.made)
    for path, column, name, label in placed:
        first = None  # GB/s of the configuration that is named first, where it ran
        for number, (configuration, chosen) in enumerate(by_name.items()):
            words = ["--choose", chosen[name]] if chosen.get(name) else ["--untuned"]  # what is kept of other parts is no default
            try:
                row = peers.bench(s, report, [*words, "--columns", column, path], limit=60)[str(path), column]
                if not row.get("verified"):
                    raise Failed(row.get("message", "not measured"))
                first = row["gb_per_second"] if number == 0 else first
                beside = {"normalised": row["gb_per_second"] / first} if first else {}
                report.add({"data": label, "by": "zipflow", "name": name, "configuration": configuration, "choices": chosen.get(name, ""),
                            "codec": row["codec"], "ratio": row["ratio"], "gb_per_second": row["gb_per_second"],
                            "fraction_of_limit": row["fraction_of_limit"], "verified": True} | beside)
            except (Failed, KeyError) as why:
                report.fail(why, data=label, by="zipflow", name=name, configuration=configuration)
    return []


# ---- All ------------------------------------------------------------------------------------------------------------

# In the order in which they run; nvCOMP's rows of parts that give some come before LAST, which take longest and have least to do with it.
PARTS = {"work": part_work, "rle": part_rle, "fusion": part_fusion, "table2": part_table2, "ans": part_ans, "bitpack": part_bitpack,
         "configurations": part_configurations, "tuning": tuning.part, "ratios": ratios.part}
LAST = ("tuning", "ratios")


def run_part(s, report, part, function):
    report.part, begin, first = part, time.monotonic(), len(report.rows)
    if s.left() <= 0:
        report.leave_out("the time is used up (--budget)", part=part)
        return []
    try:
        found = function(s, report)
    except Exception as why:  # of a part: the others run
        report.fail(f"{type(why).__name__}: {why}", by="speed.py", name=part)
        found = []
    print(f"== {part}: {len(report.rows) - first} rows, {time.monotonic() - begin:.1f} s", flush=True)
    return found


def options_of():
    parser = argparse.ArgumentParser(prog="speed.py", description="Measures what zipflow's kernels reach of a GPU's memory, beside nvCOMP.")
    parser.add_argument("--only", default="", help="only these parts, separated by commas: " + ", ".join(PARTS))
    parser.add_argument("--columns", default="", help="only these columns or rows, separated by semicolons")
    peers.add_programs(parser)
    parser.add_argument("--out", default="build/speed", help="directory for the results (default: build/speed)")
    parser.add_argument("--bytes", default=1 << 30, type=int, help="bytes of plain data that a measurement decodes (default: 1 GiB)")
    parser.add_argument("--made", default=1 << 24, type=int, help="bytes of a made column before it is repeated (default: 16 MiB)")
    parser.add_argument("--repeats", default=5, type=int, help="rounds of `zfc bench` that count (default: 5)")
    parser.add_argument("--scale", default=1.0, type=float, help="scale factor of TPC-H (default: 1)")
    parser.add_argument("--configurations", help="JSON: {configuration: {row of --columns: choices as zfc --choose takes them, or nothing}}")
    parser.add_argument("--tune", default=30, type=float, help="seconds to tune the kernels of a container before it is measured; 0: not (default: 30)")
    parser.add_argument("--exhaustive", default=40, type=float, help="seconds for all combinations of a column's kernels; 0: not (default: 40)")
    parser.add_argument("--patience", default=20, type=float, help="seconds for one of nvCOMP's rows (default: 20)")
    parser.add_argument("--budget", default=570, type=float, help="seconds for everything (default: 570)")
    options = parser.parse_args()
    options.corpora = None  # a part of peers.py that is not run here
    options.parts = [p for p in options.only.split(",") if p] or list(PARTS)
    for part in options.parts:
        if part not in PARTS:
            parser.error(f"there is no part {part}")
    if options.configurations:
        try:
            options.by_configuration = json.loads(pathlib.Path(options.configurations).read_text(encoding="utf-8"))
        except (OSError, ValueError) as why:
            parser.error(f"--configurations {options.configurations}: {why}")
        if not isinstance(options.by_configuration, dict) or not all(isinstance(c, dict) for c in options.by_configuration.values()):
            parser.error(f"--configurations {options.configurations} is not what configurations.py writes")
    named = [n for n in options.columns.split(";") if n]
    options.wants = lambda name: not named or name in named
    return options


def main():
    options, good = options_of(), True
    with tempfile.TemporaryDirectory(prefix="zf-speed-") as tree:
        s = peers.Session(options, pathlib.Path(tree))
        if options.nvcomp:
            try:
                s.worker = peers.Worker(s)
            except Exception as why:  # whatever is wrong with the library: ours are measured all the same
                print(f"no nvCOMP: {why}")
                good = False
        report, later = Report(s), []
        report.part = "start"
        tuning.prepare(s, report)
        try:  # what is measured, and on what, stands in the report also where no part tells
            report.learn(json.loads(s.run(s.zfc, "bench", "--json", f"--device={options.device}", "--bytes=1", "--repeats=5", "--generate=bitpack-1-u32")))
        except (Failed, ValueError) as why:
            report.fail(why, by="zipflow", name="bench")
        for part in (p for p in PARTS if p in options.parts and p not in LAST):
            later += run_part(s, report, part, PARTS[part])
        for part, data, make, wanted in later if s.worker is not None else ():
            report.part = part
            if s.left() > 0:
                peers.measure_nvcomp(s, report, data, make(), wanted)
            else:
                report.leave_out("the time is used up (--budget)", part=part, data=data, name="nvCOMP")
                good = False
        for part in (p for p in LAST if p in options.parts):
            run_part(s, report, part, PARTS[part])
        good = good and not any(row["why"].startswith("the time") for row in report.left_out)
        report.save()
        if s.worker is not None:
            s.worker.stop()
        good = good and report.good()
    if not report.rows and options.columns:
        print(f"no row of these parts is named by --columns {options.columns}")
    print(f"== {len(report.rows)} rows in {report.path}")
    if report.head["missed"]:
        print(f"== {len(report.head['missed'])} criteria are missed: {'; '.join(report.head['missed'])}", file=sys.stderr)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
