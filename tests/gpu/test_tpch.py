"""bench/tpch at a tiny scale: the columns of the queries, pipelines on the CPU and on the emulated GPU, nvCOMP's part with libraries that stand
for the driver and for nvCOMP, and that what is wrong is told. 77: there is no numpy, pyarrow or tpchgen-cli.

    test_tpch.py ROOT ZFC MEASURE LINKS FAKE_GPU FAKE_NVCOMP
"""

import contextlib
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

ROOT, ZFC, MEASURE, LINKS, GPU, NVCOMP = (pathlib.Path(word).resolve() for word in sys.argv[1:])
BENCH = ROOT / "bench/tpch"
sys.dont_write_bytecode = True
sys.path.insert(0, str(BENCH))
try:
    import numpy as np
    import pyarrow.parquet  # noqa: F401
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)
import encoding  # noqa: E402
import from_files  # noqa: E402
import links_checks  # noqa: E402
import plots  # noqa: E402
import queries  # noqa: E402
import tables  # noqa: E402

GENERATOR = ROOT / ".venv/bin/tpchgen-cli"
SETS = "q1,q13,q22"
SIZES = {"i32": 4, "i64": 8, "f64": 8, "u8": 1, "date32": 4}


def check(what, *said):
    if not what:
        print("FAILED:", *said)
        sys.exit(1)


def run(tree, *words, faults=""):
    """Runs the bench. Returns its exit status, the report, and what it printed."""
    os.environ["FAKE_NVCOMP"] = faults
    printed = io.StringIO()
    shutil.rmtree(tree / "out", ignore_errors=True)
    sys.argv = ["queries.py", "--zfc", str(ZFC), "--measure", str(MEASURE), "--links", str(LINKS), "--tpchgen", str(GENERATOR), "--data",
                str(tree / "data"), "--out", str(tree / "out"), "--scale", "0.001", "--repeats", "2", "--unit-bytes", "16384", "--small-staging", "1000000",
                "--piece-bytes", "8192", "--file-repeats", "3", *map(str, words)]
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        code = queries.main()
    path = tree / "out/queries.json"
    text = path.read_text() if path.exists() else "{}"
    check(str(tree) not in text, "the report names a directory of this machine")
    return code, json.loads(text), printed.getvalue()


def what_columns_take(tree, report):
    """Bytes of a set, from the files of plain rows."""
    declared = tables.declared()
    for row in report["results"]:
        plain = raw = 0
        for column in row["columns"]:
            table, _, name = column.partition(".")
            kind, _ = declared[table][name]
            files = [tree / f"data/sf0.001/{column}{ending}" for ending in ((".bytes", ".offsets") if kind == "string" else ("",))]
            sizes = [f.stat().st_size for f in files]
            plain, raw = plain + sum(sizes), raw + sizes[0] + sum(sizes[1:]) // 2
        check((row["plain_bytes"], row["raw_bytes"]) == (plain, raw), row["set"], row["plain_bytes"], row["raw_bytes"], plain, raw)
        stored = sum(c["stored_bytes"] for c in report["columns"] if c["column"] in row["columns"])
        check(row["stored_bytes"] == stored and abs(row["ratio"] * stored / raw - 1) < 1e-8, row["set"], row["stored_bytes"], stored)


def parts_besides(tree, report, device, printed):
    """Reads from files, and the time of encoding."""
    data = tree / "data/sf0.001"
    rows = {r["set"]: r for r in report["results"]}
    wanted = {w for _, ways in from_files.WAYS for w in ways if w} - ({"raw_memory"} if device == "cpu" else set())
    for row in report["files"]["results"]:
        ways = row["ways"]
        check(row["verified"] and set(ways) | set(row["left_out"]) == wanted and not set(ways) & set(row["left_out"]), device, row)
        check(set(row["left_out"]) == (set() if row["set"] == "table2" else {"cp_warm", "cp_cold"}), row["left_out"])
        # Files that live in memory alone cannot be cold, which is said.
        disk = subprocess.run(["stat", "-f", "-c", "%T", data], capture_output=True, text=True).stdout.strip() in ("ext2/ext3", "xfs", "btrfs")
        check(set(row["doubtful"]) in ((set(),) if disk else (set(), {w for w in ways if "_cold" in w})), disk, row["doubtful"])
        for name, way in ways.items():
            read = way["bytes"]
            if name.startswith("raw"):
                check(read == rows[row["set"]]["raw_bytes"], name, read)
            elif name.startswith("cp"):
                files = {column.partition(".")[0] for column in rows[row["set"]]["columns"]}
                check(read == sum(next(data.glob(f"{f}.????????.zfd")).stat().st_size for f in files), name, read)
            else:  # without what the index has of a column
                check(0.5 < read / row["stored_bytes"] < 1 and read == ways["zipflow_warm"]["bytes"], name, read, row["stored_bytes"])
            check(way["runs"] == (None if name == "raw_memory" else 3) and way["seconds"]["least"] > 0, name, way)
            check(name.endswith("memory") or 0 <= way["resident"] <= 1, name, way)
            if name.startswith("zipflow"):  # what a GPU's kept units need is done in a run that does not count
                check((way["checked_units"] == 0) == (name == "zipflow_memory" and device != "cpu"), device, name, way)
            if "?" not in printed:
                check(f"{1e3 * way['seconds']['median']:.2f} ({read / way['seconds']['median'] / 1e9:.1f})" in printed, name, way, printed)
        check(abs(row["beside"]["raw_cold"] * ways["zipflow_cold"]["seconds"]["median"] / ways["raw_cold"]["seconds"]["median"] - 1) < 1e-8, row["beside"])
    part = report["encoding"]
    sizes = {name: sum((data / f"lineitem.{name}{e}").stat().st_size for e in ((".bytes", ".offsets") if kind == "string" else ("",)))
             for name, (kind, _) in encoding.columns().items()}
    check(len(sizes) == 16 and part["source_bytes"] == sum(sizes.values()) and abs(part["gb_per_second"] * part["seconds"] * 1e9 / part["source_bytes"] - 1) < 1e-8, part)
    offsets = {"l_comment": 8 * (part["rows"] + 1)}
    check({c["column"]: c["plain_bytes"] + offsets.get(c["column"], 0) for c in part["columns"]} == sizes, part, sizes)
    codecs = {c["column"]: c["codec"] for c in part["columns"]}
    stored = {c["column"].partition(".")[2]: c["codec"] for c in report["columns"] if c["column"].startswith("lineitem.")}
    check(codecs["l_comment"].startswith("strings(") and all(codecs[name] == codec for name, codec in stored.items()), codecs, stored)
    check(part["rows"] == sizes["l_linenumber"] // 4 and part["threads"] == 16 and part["seconds"] > 0, part)
    check(part["file_bytes"] > sum(c["stored_bytes"] for c in part["columns"]) > 0 and encoding.line(part) in printed, part, printed)


def left_out(tree):
    """Parts that are not wanted, or for which there is no time; what is not as the name of a way says."""
    code, report, _ = run(tree, "--device", "cpu", "--only", "q6", "--without", "files,encoding")
    check(code == 0 and "files" not in report and "encoding" not in report, report)
    code, report, _ = run(tree, "--device", "cpu", "--only", "q6", "--from-files", "q6,q1", "--file-seconds", "0.000001")
    found = report["files"]["results"]
    check(code == 0 and [r["set"] for r in found] == ["q6"] and found[0]["ways"] == {} and "encoding" in report, found)
    check(set(found[0]["left_out"].values()) == {"the time was used up", "the files have other columns, too"}, found)
    code, report, printed = run(tree, "--device", "cpu", "--only", "q6", "--from-files", "q6", "--sink", "/nowhere")
    check(code == 1 and not report["files"]["results"][0]["verified"] and "q6 from files: " in printed and "encoding" in report, printed)
    for name, resident, wanted in (("raw_cold", 0.02, True), ("raw_cold", 0.0, False), ("raw_cold", None, True), ("cp_warm", 0.9, True), ("cp_warm", 1.0, False),
                                   ("zipflow_warm_small", 0.5, True), ("zipflow_memory", None, False)):
        check(from_files.doubtful(name, {"resident": resident}) == wanted, name, resident)


def what_is_missing(tree):
    """Programs that are not there, and sets that nobody knows, are told in a line, before anything is made."""
    for script, words, said in (("tpch/queries.py", ["--zfc", "nowhere"], "there is no"), ("tpch/queries.py", ["--pack", "nowhere"], "script/pack makes it"),
                                ("tpch/queries.py", ["--zfc", ZFC, "--measure", "nowhere"], "a build with tests makes it"),
                                ("tpch/queries.py", ["--zfc", ZFC, "--measure", MEASURE, "--links", LINKS, "--tpchgen", "nowhere", "--only", "q6", "--data", "none", "--device", "cpu"],
                                 "nowhere: script/bootstrap installs it"),
                                ("tpch/queries.py", ["--zfc", ZFC, "--only", "q6,q99"], "there is no set q99"),
                                ("speed/speed.py", ["--zfc", "nowhere"], "there is no"), ("speed/speed.py", ["--pack", "nowhere"], "script/pack makes it")):
        out = tree / "nothing"
        told = subprocess.run([sys.executable, ROOT / "bench" / script, *map(str, words), "--out", str(out)], capture_output=True, text=True, cwd=tree)
        check(told.returncode != 0 and said in told.stderr and "Traceback" not in told.stderr, script, words, told.stderr)


def good(tree, device, *words, only=SETS):
    code, report, printed = run(tree, "--device", device, "--only", only, *words)
    check(code == 0 and all(r["verified"] for r in report["results"]), device, code, printed)
    check([r["set"] for r in report["results"]] == only.split(",") and report["device"]["name"] == device, report)
    methods = {"apart", "given", "johnson", "small"} | ({"raw"} if device != "cpu" else set()) | ({"nvcomp"} if "--nvcomp" in words else set())
    for row in report["results"]:
        check(set(row["seconds"]) == methods, device, row["set"], row["seconds"])
        check(sorted(row["order"]) == sorted(row["columns"]) and row["units"] >= len(row["columns"]), row)
        check(row["decode_bound"] > 0 and all(t["least"] <= t["median"] <= t["most"] for t in row["seconds"].values()), row)
        beside = row["johnson_beside"]["apart"] * row["seconds"]["johnson"]["median"]
        check(abs(beside / row["seconds"]["apart"]["median"] - 1) < 1e-8, row)  # of nine digits
    what_columns_take(tree, report)
    if "--without" not in words:
        parts_besides(tree, report, device, printed)
    found = report["results"]
    check(len(plots.table(report).splitlines()) == 2 + len(found) and printed.startswith("| set |"), printed)
    for name, text in plots.plots(report).items():
        drawn = xml.etree.ElementTree.fromstring(text)
        bars = [e for e in drawn.iter() if e.tag.endswith("rect") and len(e)]
        groups, series = sum(r["set"] != "table2" for r in found), len(methods - {"small"})
        wanted = groups * {"times.svg": series, "speedups.svg": series - 1, "bounds.svg": 3}.get(name, 0) or len(found) * 6
        check(len(bars) == wanted, name, len(bars))
    check(("links" in report) == (device != "cpu") and ("gains.svg" in plots.plots(report)) == ("links" in report), device, "links")
    return report


def measure(tree, *words, lines):
    """Runs tpch_measure on the CPU. Returns its exit status, and its sets."""
    sets = tree / "some-sets"
    sets.write_text("".join(f"{line}\n" for line in lines))
    found = subprocess.run([MEASURE, "--device", "cpu", "--repeats", "2", *words, sets, *sorted((tree / "data/sf0.001").glob("*.zfd"))], capture_output=True, text=True)
    return found.returncode, json.loads(found.stdout)["sets"] if found.stdout else found.stderr


def orders(tree):
    """Those that are named are measured; a list that names something else, or nothing, is refused."""
    for listed in ("johnson", "apart,given", "given,given,johnson,apart"):
        code, found = measure(tree, "--orders", listed, lines=["q lineitem.l_quantity"])
        check(code == 0 and found[0]["verified"] and {"apart", "given", "johnson"} & set(found[0]) == set(listed.split(",")), listed, found)
    for listed in ("", ",", "jonson", "johnson,", ",johnson", "johnson,,given", "johnsongiven", "john", "johnson, given"):
        code, said = measure(tree, "--orders", listed, lines=["q lineitem.l_quantity"])
        check(code == 2 and "usage: tpch_measure" in said, listed, code, said)


def damage(tree):
    """A block that is damaged is told, and other sets are measured; of a file that cannot be opened is said why."""
    path = next((tree / "data/sf0.001").glob("customer.*.zfd"))
    columns = json.loads(subprocess.run([ZFC, "inspect", "--json", path], capture_output=True, text=True, check=True).stdout)["columns"]
    block = next(c for c in columns if c["column"] == "c_acctbal")["blocks"][0]
    kept = path.read_bytes()
    for at, told in ((block["offset"] + block["streams"][0]["offset"], "c_acctbal"), (9, "customer")):
        path.write_bytes(kept[:at] + bytes([kept[at] ^ 1]) + kept[at + 1 :])
        code, report, printed = run(tree, "--device", "cpu", "--only", "q6,q10", "--from-files", "q6,q10", "--without", "encoding")
        from_file = {r["set"]: r for r in report.get("files", {}).get("results", [])}
        verified = {r["set"]: r["verified"] for r in report.get("results", [])}
        check(code == 1 and verified in ({}, {"q6": True, "q10": False}) and told in printed and "ZF1" in printed, code, verified, printed)
        check((verified == {}) == (at == 9), at, verified)
        if verified:
            found = measure(tree, "--orders", "given", lines=[f"q{n} customer.c_acctbal" for n in range(600)])  # more than there may be columns
            check(found[0] == 1 and len(found[1]) == 600 and all(not r["verified"] and told in r["message"] for r in found[1]), found)
            check(from_file["q6"]["verified"] and not from_file["q10"]["verified"] and told in from_file["q10"]["message"], from_file)
    path.write_bytes(kept)


def wrong_rows(tree):
    """An encoder whose rows are not the source's is told before anything is measured."""
    data = tree / "data/sf0.001"
    source = data / "customer.c_acctbal"
    for timing in data.glob("customer.*.json"):
        timing.unlink()  # to be encoded again
    kept, real = source.read_bytes(), queries.tables.inputs
    changed = tree / "changed"
    changed.write_bytes(np.frombuffer(kept, "f8")[::-1].tobytes())
    queries.tables.inputs = lambda directory, table, columns: [w.replace(str(source), str(changed)) for w in real(directory, table, columns)]
    code, _, printed = run(tree, "--device", "cpu", "--only", "q22", "--without", "files,encoding")
    queries.tables.inputs = real
    check(code == 1 and "a decode on the CPU differs from the source (customer.c_acctbal)" in printed, code, printed)


def peer(tree):
    """nvCOMP's part: on a slow link everything that compresses is decoded, and what is wrong is told."""
    report = good(tree, "cpu", "--libcuda", GPU, "--nvcomp", NVCOMP, "--sample", "20000", "--without", "encoding,files")
    check(not (tree / "data/sf0.001/lineitem.l_comment.bytes").exists(), "what only encoding wants was made")
    check(report["nvcomp"]["nvcomp"]["version"] == 6000 and {p["part"] for p in report["nvcomp"]["parts"]} >= {"orders.o_comment.bytes", "orders.o_comment.offsets"}, report["nvcomp"])
    script = ("import sys; sys.path.insert(0, sys.argv.pop(1)); import nvcomp_pipeline as n; n.Bench.link_rate = lambda self: 1e5; "
              "n.STREAMS = (1, 3); sys.exit(n.main())")
    words = [sys.executable, "-c", script, BENCH, GPU, NVCOMP, tree / "data/sf0.001", tree / "data/sf0.001/sets", 2, 60, 20000, 2000]
    for faults, verified in (("", True), ("ANS:wrong,Cascaded:wrong,Bitcomp:wrong,Snappy:wrong,Gdeflate:wrong,LZ4:wrong,Zstd:wrong,Deflate:wrong", None)):
        result = subprocess.run([str(w) for w in words], capture_output=True, text=True, env={**os.environ, "FAKE_NVCOMP": faults})
        found = json.loads(result.stdout)
        packed = [p for p in found["parts"] if p["codec"] != "copied as it is"]
        if verified is None:  # no candidate is right: all is copied
            check(result.returncode == 0 and not packed and all("wrong" in t.get("message", "") for p in found["parts"] for t in p["tried"]), result)
            continue
        check(result.returncode == 0 and len(packed) >= 3, result.stderr, found["parts"])
        check(all(p["stored_bytes"] < p["plain_bytes"] for p in packed), packed)
        check(all(s["verified"] for s in found["sets"]) and any(s["units"] > 100 and s["decode_bound_seconds"] > 0 for s in found["sets"]), found["sets"])
    late = subprocess.run([str(w) for w in words[:9] + [0] + words[10:]], capture_output=True, text=True, env={**os.environ, "FAKE_NVCOMP": ""})
    check(late.returncode == 1 and all("time is used up" in s["message"] for s in json.loads(late.stdout)["sets"]), late.stdout, late.stderr)
    # Wrong only once it is pipelined, since it is not the choice that was tried.
    script = script.replace("n.STREAMS = (1, 3);", "n.STREAMS = (1, 3); c = n.Bench.choose; n.Bench.choose = lambda s, p, *w: (c(s, p, *w), p.packed.__setitem__(slice(0, 9), 7));")
    words[2] = script
    result = subprocess.run([str(w) for w in words], capture_output=True, text=True, env={**os.environ, "FAKE_NVCOMP": ""})
    found = json.loads(result.stdout)
    check(result.returncode == 1 and not any(s["verified"] for s in found["sets"]), result.stderr, found["sets"])


def main():
    if not GENERATOR.exists():
        print("skipped: there is no tpchgen-cli")
        return 77
    planned = subprocess.run([sys.executable, BENCH / "columns.py", "--check"], capture_output=True, text=True)
    check(planned.returncode in (0, 77), planned.stdout, planned.stderr)
    print(f"columns of the queries: {planned.stdout.strip() or 'what plans read'}")
    sets = queries.sets_of(())
    check(len(sets) == 23 and len(sets["table2"]) == 24, sets)
    check({c for columns in sets.values() for c in columns} == {f"{t}.{c}" for t, columns in tables.declared().items() for c in columns}, "tables.zf")
    check(plots.charts.nice(7) == 1 and plots.charts.nice(11) == 2 and plots.charts.nice(0.3) == 0.05 and np.isclose(plots.charts.nice(47), 5), "steps of an axis")
    links_checks.all_of(LINKS)
    print("links: good", flush=True)
    with tempfile.TemporaryDirectory(prefix="zf-tpch-") as name:
        tree = pathlib.Path(name)
        what_is_missing(tree)
        peer(tree)
        print("peer: good", flush=True)
        report = good(tree, "emu", "--from-files", "q6", only="q6,q22")
        links_checks.report(LINKS, tree / "out/queries.json", report, links_checks.blocks(ZFC, (tree / "data/sf0.001").glob("*.zfd")))
        print("emu: good", flush=True)
        good(tree, "cpu", only="q1,table2")
        print("cpu, files and encoding: good", flush=True)
        left_out(tree)
        orders(tree)
        damage(tree)
        wrong_rows(tree)
    print("good")
    return 0


if __name__ == "__main__":
    sys.exit(main())
