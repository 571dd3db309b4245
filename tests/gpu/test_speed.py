"""bench/speed on the emulated GPU and the CPU, with libraries that stand for driver and nvCOMP: each part in small, what its figures are made of, what
fails, its plots and its tables.

    test_speed.py ROOT ZFC FAKE_GPU FAKE_NVCOMP
"""

import argparse
import contextlib
import io
import json
import os
import pathlib
import shutil
import sys
import tempfile
import xml.etree.ElementTree

ROOT, ZFC, GPU, NVCOMP = sys.argv[1:]
sys.dont_write_bytecode = True
sys.path[:0] = [str(pathlib.Path(ROOT) / "bench"), str(pathlib.Path(ROOT) / "bench/speed")]
try:
    import numpy as np
    import pyarrow  # noqa: F401
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)
GENERATOR = pathlib.Path(ROOT) / ".venv/bin/tpchgen-cli"
if not GENERATOR.exists() and not shutil.which("tpchgen-cli"):
    print("skipped: there is no tpchgen-cli")
    sys.exit(77)
import cases  # noqa: E402
import configurations  # noqa: E402
import made  # noqa: E402
import page  # noqa: E402
import peers  # noqa: E402
import speed  # noqa: E402
import speed_plots  # noqa: E402
import speed_tables  # noqa: E402
import tuning  # noqa: E402


def check(what, *said):
    if not what:
        print("FAILED:", *said)
        sys.exit(1)


def run(parts, columns, *words, device="cpu", searches=True):
    """Runs parts of it. Returns the exit status, the report, and what was printed."""
    printed, complained = io.StringIO(), io.StringIO()
    with tempfile.TemporaryDirectory() as out, contextlib.redirect_stdout(printed), contextlib.redirect_stderr(complained):
        sys.argv = ["speed.py", "--only", parts, "--columns", ";".join(columns), "--zfc", ZFC, "--tpchgen", str(GENERATOR) if GENERATOR.exists() else "tpchgen-cli",
                    "--device", device, "--libcuda", GPU, "--out", out, "--bytes", "80000", "--made", "40000", "--scale", "0.001", "--repeats", "5", "--tune", "0", *words]
        code = speed.main()
        files = sorted(p.name for p in pathlib.Path(out).iterdir())
        text = (pathlib.Path(out) / "speed.json").read_text()
    check(files == ["log.txt", *(["search.json"] if "tuning" in parts and searches else []), "speed.json"], files)
    check("zf-speed-" not in text, "the report names a directory of this machine")
    missed = json.loads(text)["missed"]  # also where all is well: the status is not of speeds
    check(complained.getvalue() == (f"== {len(missed)} criteria are missed: {'; '.join(missed)}\n" if missed else ""), missed, complained.getvalue())
    return code, json.loads(text), printed.getvalue()


def same(found, wanted):
    return abs(found / wanted - 1) < 1e-6  # `zfc bench` prints nine digits


def data():
    """Every made column at several sizes; runs are as long as their names say."""
    for case in (*cases.CASES, *cases.chunks()):
        for rows in (1, 2, 1023, 5000):
            arrays = case.make(rows)
            kind = case.kind.rstrip("?")
            check(set(arrays) == {kind} | ({"valid"} if "?" in case.kind else set()), case.name, arrays)
            check(len(arrays[kind]) == rows and arrays[kind].dtype == made.TYPES[kind], case.name, rows)
            check(all(np.array_equal(arrays[e], case.make(rows)[e]) for e in arrays), case.name, "is another one each time")
    names = [case.name for case in (*cases.CASES, *cases.chunks())]
    check(len(set(names)) == len(names) and set(cases.AT_LEAST) <= set(names) and len(made.RUNS) == 14, "names")
    for name, lengths in made.RUNS.items():
        values = made.runs("u32", lengths)(100000)["u32"]
        ends = np.flatnonzero(np.diff(values)) + 1
        found = np.diff(np.concatenate([[0], ends, [len(values)]]))
        check(np.array_equal(found, made.cut(lengths(100000), 100000)) and found.sum() == 100000, name, "neighbours are one run")
        kind, _, most = name.partition("-")
        if kind == "even" and "+" not in name:
            check(set(found[:-1]) == {int(most)}, name)
        if kind == "random" and "+" not in name:
            check(found.max() <= int(most) and len(np.unique(found)) > 0.8 * int(most), name)
    outlier = made.cut(made.outlier(100000), 100000)
    check(set(np.unique(outlier[:-1])) == {1, 1024}, "outlier")
    for width in (1, 7, 64):
        values = made.bits("u64", width)(50000)["u64"]
        check(int(values.max()).bit_length() == width, width)
    alone = made.hundredths(0)(9000)["f64"]
    odd = np.mean(np.round(made.hundredths(3)(9000)["f64"] * 100) / 100 != made.hundredths(3)(9000)["f64"])
    check(np.array_equal(np.round(alone * 100) / 100, alone) and 0.02 < odd < 0.04, odd)


def on_the_emulator():
    """Rows of made columns; fusion, whose kernels are timed alone; configurations."""
    names = ["bitpack-7-u32", "alp-1-f64", "nullable-bitpack-10-i32", "even-4, u32", "even-4, u32, over bitpacks", "l_shipdate", "l_orderkey"]
    with tempfile.TemporaryDirectory() as tree:
        chosen = pathlib.Path(tree) / "configurations.json"
        chosen.write_text(json.dumps({"native": {"bitpack-7-u32": ""}, "other": {"bitpack-7-u32": "0:THREADS=128"}}))
        code, report, printed = run("work,rle,fusion,configurations", names, "--configurations", str(chosen), device="emu")
    rows = {r["name"]: r for r in report["results"] if r["part"] != "configurations"}
    check(code == 0 and all(r["verified"] for r in report["results"]) and len(rows) == 7, printed)
    native, other = (r for r in report["results"] if r["part"] == "configurations")
    check((native["configuration"], native["normalised"], other["configuration"], other["choices"]) == ("native", 1, "other", "0:THREADS=128"), native, other)
    check(same(other["normalised"], other["gb_per_second"] / native["gb_per_second"]) and other["fraction_of_limit"] > 0, other)
    check("work: bitpack-7-u32 (at_least)" in report["missed"] and "rle: rle, mean" in report["missed"], report["missed"])
    check(report["device"]["name"] == "emu" and report["commit"] and report["command"].startswith("bench/speed/speed.py --only"), report)
    check([rows[n].get("at_least") for n in names[:5]] == [.91, .85, .85, .86, None], rows)
    check(rows["even-4, u32, over bitpacks"]["family"] == "rle over bitpack" and rows["even-4, u32, over bitpacks"]["data"] == "even-4, u32", rows)
    check(3 < rows["even-4, u32, over bitpacks"]["ratio"] / rows["even-4, u32"]["ratio"] < 4, rows)
    for name in ("dictionary over bitpack", "rle over bitpack"):
        row = rows[name]
        moved, bare = sum(k["bytes"] for k in row["kernels_unfused"]), row["read_bytes"] + row["plain_bytes"]
        check(same(row["speedup"], row["seconds_unfused"] / row["seconds_fused"]) and row["kernels"] == 1 and len(row["kernels_unfused"]) == 2, row)
        check(same(row["predicted"], moved / bare) and all(k["seconds"] > 0 and k["fraction_of_limit"] > 0 for k in row["kernels_unfused"]), row)
        between = (moved - bare) // 2  # what is written, and read again
        if "dictionary" in name:
            check(between == row["plain_bytes"], "a code of four bytes for each date of four", row)
        else:  # an order has 1 to 7 lines, a count of four bytes each, beside their keys of eight
            check(row["plain_bytes"] / 8 / 7 * 4 < between < row["plain_bytes"] / 8 * 4 and between % 4 == 0, row)
    shown(report, {"fusion.svg", "rle-u32.svg", "configurations.svg"})
    check(speed_tables.configurations(report["results"])[1][0][1].endswith(" 100%"), "configurations")
    heads, lines = speed_tables.work(report["results"])
    check([line[5] for line in lines] == ["91%", "85%", "85%"] and heads[5] == "wanted", lines)
    check([line[3] for line in speed_tables.rle(report["results"])[1]] == ["86%", "88%"], "means")


def beside_peers():
    """nvCOMP on the same bytes; volumes; configurations; what is not known is left out, what fails is a row."""
    known = cases.CASES
    cases.CASES = (*known, cases.Case("work", "none", "of tomorrow", "u32", "tomorrow", made.bits("u32", 7)))
    with tempfile.TemporaryDirectory() as tree:
        chosen = pathlib.Path(tree) / "configurations.json"
        chosen.write_text(json.dumps({"native": {"bitpack-7-u32": ""}, "none": {"bitpack-7-u32": "0:NOTHING=7"}}))
        names = ["bitpack-7-u32", "of tomorrow", "8 bits", "1 : 2 : 1, over tans", "1 : 2 : 1, over tans in chunks of 4 KiB"]
        code, report, printed = run("work,bitpack,ans,configurations", names, "--nvcomp", NVCOMP, "--configurations", str(chosen))
    cases.CASES = known
    check([r["name"] for r in report["left_out"]] == ["of tomorrow"], report["left_out"], printed)
    bad = [r for r in report["results"] if not r["verified"]]
    check(code == 1 and [(r["part"], r["configuration"]) for r in bad] == [("configurations", "none")], printed)
    theirs = [r for r in report["results"] if r["by"] == "nvcomp"]
    check({(r["part"], r["data"]) for r in theirs} == {("work", "bitpack-7-u32"), ("bitpack", "8 bits"), ("ans", "1 : 2 : 1")}, theirs)
    check({r["column_plain_bytes"] for r in theirs if "volume" not in r} == {40000}, theirs)
    volumes = {(r["by"], r["volume"]): r["plain_bytes"] for r in report["results"] if "volume" in r}
    check({v for _, v in volumes} == {625, 5000, 80000} and all(v <= plain < v + 40000 for (_, v), plain in volumes.items()), volumes)
    code, late, printed = run("work,ratios", ["bitpack-7-u32"], "--budget", "0")
    check(code == 1 and [r["part"] for r in late["left_out"]] == ["work", "ratios"] and not any(r["verified"] for r in late["results"]), printed)
    shown(report, {"bitpack.svg", "ans.svg", "chunks.svg", "configurations.svg"})
    check(speed_tables.widths(report["results"])[1][0][-1].endswith("%") and len(speed_tables.chunks(report["results"])[1]) == 2, "tables")


def columns():
    """Columns of table 2: speeds, and what others store."""
    names = ["l_shipdate", "o_shippriority", "l_shipmode", "l_shipmode, numbered"]
    code, report, printed = run("table2,ratios", names, "--nvcomp", NVCOMP)
    check(code == 0, printed)
    check([r["at_least"] for r in report["results"] if "at_least" in r] == [.92], printed)
    stored = {(r["data"], r["by"], r["name"]): r for r in report["results"] if r["part"] == "ratios"}
    check({by for _, by, _ in stored} >= {"zipflow", "Parquet", "Parquet, zstd 9"}, sorted(stored))
    for (name, by, nest), row in stored.items():
        check(same(row["ratio"], row["plain_bytes"] / row["stored_bytes"]), row)
        ours = next(r for r in report["results"] if r["part"] == "table2" and r["data"] == name and r["by"] == "zipflow")
        check(row["plain_bytes"] == ours["column_plain_bytes"], name, by, row, ours)
        twin = [r for r in report["results"] if r["part"] == "table2" and r["data"] == name and r.get("name") == nest]
        check(by != "zipflow" or same(twin[0]["ratio"], row["ratio"]), row)
    shown(report, {"ratios.svg", "table2.svg"})
    heads, lines = speed_tables.ratios([r for r in report["results"] if r["part"] == "ratios"])
    check(len(lines) == 5 and lines[0][0] == "l_shipdate" and heads[4] == "Parquet", lines)
    heads, lines, said = speed_tables.beside_nvcomp(report["results"], 50e9)
    check("Geometric means" in said and len(lines) == 4, said)
    row = next(r for r in report["results"] if r["part"] == "table2")
    check(same(speed_tables.whole(row, 50e9), (row["column_stored_bytes"] / 50e9 + row["decode_seconds"]["median"] / row["repeated"]) / row["column_plain_bytes"]),
          "seconds to copy and decode")
    on_a_page(report)


def who_can_tune():
    """A program or a device without tuning says so; whatever else ends badly is an error, and stands in the report."""
    def stand_in(tree, text):
        program = pathlib.Path(tree) / "zfc"
        program.write_text(f"#!/bin/sh\n{text}\n")
        program.chmod(0o755)
        return peers.Session(argparse.Namespace(out=tree, budget=60, zfc=program, tpchgen="", device="emu", tune=1), pathlib.Path(tree))

    rows = []
    report = argparse.Namespace(head={}, fail=lambda why, **row: rows.append(str(why)))
    lacks = "echo 'zfc: no verb `tune`' >&2; "
    wrong = ["echo 'zfc tune: what?' >&2; exit 2", lacks + "exit 1", "kill -ABRT $$", lacks + "kill -ABRT $$"]
    for text, wanted in [("exit 0", True), (lacks + "exit 2", False), *((w, None) for w in wrong)]:
        with tempfile.TemporaryDirectory() as tree:
            s = stand_in(tree, text)
            try:
                found = tuning.known(s)
            except peers.Failed:
                found = None
            check(found == wanted, text, found)
            tuning.prepare(s, report)
            check((s.before is not None) == (wanted is True), text)
            s.log.close()
    check(len(rows) == len(wrong) and "zfc tune: what?" in rows[0], rows)
    with tempfile.TemporaryDirectory() as tree:  # what zfc itself says
        s = stand_in(tree, f"exec {pathlib.Path(ZFC).resolve()} \"$@\"")
        check(tuning.known(s), "on the emulated GPU")
        s.options.device = "cpu"
        check(not tuning.known(s), "on the CPU")
        try:
            s.run(s.zfc, "tuna")
        except peers.Failed as why:
            check(why.code == 2 and tuning.CANNOT[0].replace("tune", "tuna") in str(why), why)
        s.log.close()


def search():
    """Kernels are tuned before they are measured, and what that brings."""
    code, report, printed = run("rle,fusion,tuning", ["l_extendedprice", "even-4, u32", "o_shippriority", "bitpack-3-u8"], "--tune", "1", device="emu")
    check(code == 0 and all(r["verified"] for r in report["results"]), printed)
    rows = [r for r in report["results"] if r["part"] == "tuning"]
    check(not report["left_out"], report["left_out"])
    check([(t["kernels"], t["container"][:3], t.get("options")) for t in report["tuned"]] ==
          [(1, "rle", None), (1, "fus", None), (2, "fus", ["--unfused"])], report["tuned"])
    check([r["name"] for r in report["results"] if r["part"] == "fusion"] == ["float2int over bitpack"], report)
    names = ["tuning", *["without results"] * 2, "without results, mean", "search beside all combinations"]
    fewer = [r for r in rows if "configuration" in r]
    check(fewer and fewer == rows[len(names):], rows)
    for r in fewer:
        within = tuning.RESTRICTED[r["configuration"]]
        for kind, value in (text.split("=") for text in r["choices"].split(",")):
            check(kind not in within or within[kind] == (None,) or int(value) in within[kind], r)
        check(0 < r["part_of_best"] <= 1 and 0 < r["combinations"] < rows[4]["combinations"], r, rows[4])
    rows = rows[:len(names)]
    check([r["name"] for r in rows] == names, rows)
    check(rows[0]["kernels"] == 2 and 0 < rows[0]["mean_probes"] <= 16, rows[0])
    check(same(rows[1]["untuned_part"], rows[1]["gb_per_second_untuned"] / rows[1]["gb_per_second"]), rows)
    check(same(rows[3]["untuned_part"], (rows[1]["untuned_part"] + rows[2]["untuned_part"]) / 2), rows)
    check(all(0 < r["part_of_best"] <= 1 and r["probes"] <= r["combinations"] for r in rows[4:]), rows)
    check(all(isinstance(r["all"], bool) for r in rows[4:]), rows)
    code, report, printed = run("tuning", ["o_shippriority", "bitpack-3-u8"], "--exhaustive", "0", device="emu", searches=False)
    check(code == 0 and not any("combinations" in r for r in report["results"]), printed)
    cells = speed_tables.tuning(rows + fewer)[1]
    check([line[2] for line in cells] == ["60 s, 10", "80%", "80%", "90%", "97%", *[""] * len(fewer)] and "fewer choices" in cells[-1][0], cells)


def missed_by_little():
    """Rows that miss their criteria by so little that both round to the same, and rows that just reach them."""
    def row(part, data, of, **more):
        return {"part": part, "data": data, "by": "zipflow", "name": data, "codec": "c", "ratio": 2, "gb_per_second": 99.6, "fraction_of_limit": of, "verified": True, **more}
    def rows(e):
        """Below by e, and above where that is it."""
        return [row("work", "a", .5 - e, at_least=.5), row("work", "b", .9, characters_gb_per_second=800 - e, characters_at_least=800),
                row("rle", "c", .88 - e, at_least=.88, family="rle"), {**row("rle", "c", .8 - e, family="rle over bitpack"), "name": "c, over bitpacks"},
                row("fusion", "d", .9, speedup=2.2 - e, speedup_at_least=2.2, predicted=2, paper=2, gb_per_second_unfused=5, kernels_unfused=[{"fraction_of_limit": of} for of in (.9, .85 - e)]),
                row("tuning", "e", 1, seconds=60 + e, seconds_at_most=60, kernels=3, mean_probes=10 + e, probes_at_most=10), row("tuning", "f", 1, untuned_part=.8 - e, part_at_least=.8),
                row("tuning", "g", 1, part_of_best=.97 - e, part_at_least=.97, kernel=0, probes=3, combinations=9)]
    def shown(rows):
        return [cell for section in (speed_tables.work, speed_tables.rle, speed_tables.fusion, speed_tables.tuning) for line in section(rows)[1] for cell in line]
    found = [cell for cell in shown(rows(1e-4)) if "below" in cell or "above" in cell]
    check(found == ["50%, below", "800, below", "88%, below", "88%, below, of 1 measured", "80%, below, of 1 measured (wanted: 80%)", "2.20, below", "90%, 85%, below", "60.0 s, above, 10.0 probes a kernel, above",
                    "80%, below", "97.0%, below, 3 probes of 9 that were measured"], found)
    check(not any("below" in cell or "above" in cell for cell in shown(rows(0))), shown(rows(0)))
    check(speed.criteria.missed(rows(1e-4)) == [
        "work: a (at_least)", "work: b (characters_at_least)", "rle: c (at_least)", "fusion: d (speedup_at_least)", "fusion: d, unfused kernel 1", "tuning: e (seconds_at_most)",
        "tuning: e (probes_at_most)", "tuning: f (part_at_least)", "tuning: g, kernel 0 (part_at_least)", "rle: rle, mean", "rle: rle over bitpack, mean"], speed.criteria.missed(rows(1e-4)))
    check(speed.criteria.missed(rows(0)) == [] and speed.criteria.missed([{**r, "verified": False} for r in rows(1)]) == [], "what is reached, what was not measured")
    beside = [{**row("table2", "h", 1), "gb_per_second": 2.4999, "ratio": 1.2999}, {**row("table2", "h", 1), "by": "nvcomp", "gb_per_second": 1, "ratio": 1}]
    said = speed_tables.beside_nvcomp(beside, 50e9)[2]
    check("2.50 times as fast to decode, below (wanted: 2.5), 1.30 times the ratio, below (wanted: 1.3)" in said, said)


def what_failed():
    """Every table shows rows that failed, and counts them beside its means; also rows that name nothing but what they were to be."""
    def row(part, data, name=None, **more):
        return {"part": part, "data": data, "by": "zipflow", "name": name or data, "verified": False, "message": "a | b\n c", **more}
    def lines(section, *rows):
        return section(list(rows))[1]
    good = {"codec": "tans(x)", "ratio": 2, "gb_per_second": 10, "fraction_of_limit": .5, "verified": True, "plain_bytes": 2e6}
    said = "failed: a / b c"
    check(lines(speed_tables.work, row("work", "w")) == [["w", said, *[""] * 5]], "work")
    check(lines(speed_tables.work, row("table2", "w", "the paper's", at_least=.9), row("table2", "v", "the paper's")) == [["w", said, *[""] * 5]], "of columns those with a criterion")
    check(lines(speed_tables.rle, row("rle", "r", "r, over bitpacks"), row("rle", "r", family="rle") | good) == [
        ["r", "10", "50%", "", said, "", ""], ["mean", "", "50%, below, of 1 measured", "88%", "", "of 0 measured, 1 failed (wanted: 80%)", ""]], "runs")
    check(lines(speed_tables.widths, row("bitpack", "2 bits"))[0][:3] == ["1 to 8", "", said], "widths")
    check(lines(speed_tables.entropy, row("ans", "1 : 1", "1 : 1, over rans"), row("ans", "1 : 1", by="nvcomp")) == [["1 : 1", "", said, f"1 of 1 {said}"]], "coders")
    check(lines(speed_tables.chunks, row("ans", "x", "x, over tans in chunks of 4 KiB", volume=1 << 20))[0] == ["4 KiB", said], "chunks")
    check(lines(speed_tables.fusion, row("fusion", "c", "n")) == [["n, c", said, *[""] * 6]], "fusion")
    check(lines(speed_tables.configurations, row("configurations", "c", configuration="A"), row("configurations", "d")) == [["c", said], ["d", said]], "configurations")
    heads, cells, text = speed_tables.beside_nvcomp([row("table2", "a"), row("table2", "a", by="nvcomp") | good, row("table2", "b") | good, row("table2", "b", by="nvcomp") | good], 1e9)
    check(cells[0] == ["a", said, "", "", ""] and "of 1 columns measured, 1 failed" in text, text)
    heads, cells = speed_tables.ratios([row("ratios", "a", "ours") | good, row("ratios", "a", by="P"), row("ratios", "b", "ours"), row("ratios", "b", by="P") | good])
    check(cells[0] == ["a", "2.0", "", "2.00", said] and cells[1] == ["b", "", "", said, "2.00 (tans(x))"] and cells[2][-1] == "of 0 measured, 2 failed", cells)


def which_kernels_are_partners():
    """Kernels of two runs belong together by number and shape, wherever they stand; what one run lacks is left out and said."""
    def kernel(number, shape, of):
        return {"kernel": number, "shape": shape, "of": of}
    left = []
    report = argparse.Namespace(leave_out=lambda why, **row: left.append((row["data"], row["kernel"], str(why))))
    found = tuning.partners(report, [kernel(0, "a", "all"), kernel(1, "b", "all"), kernel(2, "c", "all")], [kernel(2, "c", "search"), kernel(1, "b", "search"), kernel(0, "z", "search")], "x")
    check([(a["kernel"], a["of"], b["kernel"], b["of"]) for a, b in found] == [(n, "all", n, "search") for n in (1, 2)], found)
    check([row[:2] for row in left] == [("x", 0), ("x", 0)] and left[0][2].endswith(": a") and left[1][2].endswith(": z"), left)


def of_several_gpus():
    """The choices of several tuners become a file of configurations: rows that all have, and of which one chose something else."""
    def report(gpu, **chosen):
        rows = [{"by": "zipflow", "verified": True, "source": "w.zfd", "column": f"c{k}", "name": name} for k, name in enumerate(chosen)]
        each = [{"column": f"c{k}", "kernel": 0, "chosen": text} for k, text in enumerate(chosen.values())]
        unfused = {"container": "w.zfd", "options": ["--unfused"], "each": [{"column": "c0", "kernel": 0, "chosen": "L=16"}]}
        return {"device": {"description": f"{gpu}, compute capability 9.0"}, "results": rows, "tuned": [{"container": "w.zfd", "each": each}, unfused]}
    one, two, three, other = "bitpack-1-u32", "bitpack-7-u32", "bitpack-3-i64", "the paper's"
    found = configurations.configurations([report("A", **{one: "L=2", two: "L=4", three: "", other: "L=8"}), report("B", **{one: "", two: "L=4", three: "", "more": "L=1", other: ""})])
    check(found == {"A": {one: "0:L=2"}, "B": {one: ""}}, found)
    try:
        configurations.configurations([report("A", **{one: ""})] * 2)
        check(False, "two reports of one GPU")
    except SystemExit as why:
        check("two reports are of A" in str(why), why)


def which_is_compared():
    """Beside nvCOMP's soonest stands what decodes fastest of ours that are sooner, faster and no larger; else our soonest."""
    def row(ratio, speed):
        return {"ratio": ratio, "gb_per_second": speed}
    theirs = row(2, 1000)
    large, fast, small = row(1.9, 9000), row(2.1, 3000), row(4, 1500)
    check(speed_tables.ours_beside([large, fast, small], theirs, 50e9) is fast, "the fastest that is no larger")
    check(speed_tables.ours_beside([large, small], theirs, 50e9) is small, "the only one")
    slow = row(8, 900)
    check(speed_tables.ours_beside([large, slow], theirs, 50e9) is slow, "none is faster and no larger: the soonest")


def shown(report, wanted):
    """Its plots are SVG."""
    found = speed_plots.plots(report)
    check(set(found) == wanted, set(found), wanted)
    for name, text in found.items():
        xml.etree.ElementTree.fromstring(text)
        check("nan" not in text and text.count("<title>") > 0, name)


def refused(records, what):
    """The reason that a page gives for a refusal."""
    try:
        what(records)
    except SystemExit as why:
        return str(why)
    return ""


def on_a_page(report):
    """A page takes each part from the newest record that has it, and refuses one of a tree with changes."""
    report = {**report, "commit": report["commit"].removesuffix("-dirty")}  # this tree may have some
    older = {**report, "date": "2020-01-01", "results": [r for r in report["results"] if r["part"] == "table2"]}
    records = page.Records(pathlib.Path("/nonexistent"))
    check(page.at_the_limit(records) is None and page.ratios(records) is None, "a page without records")
    measured = {**report, "date": "2020-01-01", "results": [r for r in report["results"] if r["part"] == "ratios"]}
    records.all = [(pathlib.Path("bench/results/h200/a.json"), older), (pathlib.Path("bench/results/h200/c.json"), measured), (pathlib.Path("bench/results/cpu/b.json"), {**report, "date": "2020-01-02"})]
    check("l_shipdate" in page.at_the_limit(records)[2] and "92%" in page.at_the_limit(records)[2], page.at_the_limit(records))
    path, good = records.all.pop()
    for place in (path, records.root / path):
        records.all.append((place, {**good, "commit": "0123456789ab-dirty"}))
        check(refused(records, page.ratios) == f"{path} is of 0123456789ab-dirty: nobody has the changes that it measured", refused(records, page.ratios))
        records.all.pop()
    records.all.append((path, good))
    check(page.ratios(records)[0].name == "b.json" and "Parquet" in page.ratios(records)[2], "ratios")
    rows = [{"part": "ratios", "data": data, "by": by, "name": by, "codec": "c", "plain_bytes": 9, "ratio": of, "verified": True} for data, by, of in (("a", "zipflow", 2), ("a", "P", 3), ("b", "zipflow", 2), ("b", "P", 1))]
    records.all.append((pathlib.Path("bench/results/cpu/d.json"), {**report, "date": "2020-01-03", "results": rows}))
    check("Smaller elsewhere than in both nests: a (P)." in page.ratios(records)[2], page.ratios(records))
    records.all.pop()
    check("l_shipdate" in page.table2(records)[2], page.table2(records))
    searched = lambda data, of, **more: {"part": "tuning", "data": data, "by": "zipflow", "name": "search beside all combinations", "kernel": 0, "part_of_best": of,
                                         "part_at_least": .97, "probes": 3, "combinations": 9, "verified": True, **more}
    cold = lambda data, of: {"part": "tuning", "data": data, "by": "zipflow", "name": "without results", "untuned_part": of, "part_at_least": .8, "verified": True}
    took = lambda seconds: {"part": "tuning", "data": "table 2", "by": "zipflow", "name": "tuning", "seconds": seconds, "kernels": 2, "mean_probes": 3, "seconds_at_most": 60,
                            "probes_at_most": 10, "verified": True}
    records.all = [(pathlib.Path("bench/results/h200/first.json"), {**older, "date": "2019-01-01", "results": [searched("four", .95, all=True), searched("two", .96, all=True), searched("five", .97)]}),
                   (pathlib.Path("bench/results/h200/old.json"), {**older, "results": [took(7), cold("one", .5), cold("two", .51), searched("one", .91, all=False), searched("two", .92, all=True)]}),
                   (pathlib.Path("bench/results/h200/new.json"), {**older, "date": "2020-01-03", "results": [took(8), cold("one", .52), searched("two", .93, all=False), searched("three", .94, all=True)]}),
                   (pathlib.Path("bench/results/h200/last.json"), {**older, "date": "2020-01-04", "results": [searched("six", .98, all=True)]})]
    found = page.at_the_limit(records)
    text = found[2]  # each column's newest search; what tuning took is of the newest that has any of it, though an older one has more columns
    check(all(part in text for part in ("91.0%, below, 3 probes of 9 of more", "93.0%, below, 3 probes of 9 of more", "94.0%, below, 3 probes of 9, all of them", "95.0%, below", "98.0%, 3 probes")), text)
    check(all(part in text for part in ("from nothing", "8.0 s", "without results", "52%")) and not any(part in text for part in ("7.0 s", "50%", "51%")), text)
    check("Not measured there: two." in text, text)
    parts = text.split("`bench/results/h200/")[1:]  # each record beside what is of it
    beside = {part.split("`")[0]: part for part in parts}
    check(list(beside) == ["new.json", "last.json", "old.json", "first.json"] and len(parts) == 4, text)
    check("| two, kernel 0" in beside["new.json"] and "| three, kernel 0" in beside["new.json"] and "8.0 s" in beside["new.json"] and "| four" not in beside["new.json"], text)
    check("| six, kernel 0" in beside["last.json"] and "| one, kernel 0" in beside["old.json"] and "| four, kernel 0" in beside["first.json"], text)
    records.all = records.all[:1]
    check("Tuning" in page.at_the_limit(records)[2] and page.first_byte_gpu(records) is None, "a page with few records")
    check(not any(part in text for part in ("92.0%", "96.0%", "97.0%")) and all(name in text for name in ("first.json", "new.json", "last.json")), text)


os.environ["FAKE_NVCOMP"] = ""
for test in (data, on_the_emulator, beside_peers, columns, who_can_tune, search, missed_by_little, what_failed, which_kernels_are_partners, of_several_gpus, which_is_compared):
    test()
    print(f"{test.__name__}: good")
