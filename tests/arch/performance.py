"""The tables of docs/performance.md, docs/internals/measurements.md and README.md are what bench/page.py makes of the records; a figure that was changed, a record that is newer and
a table that is missing are noticed. Rows of records as bench/peers writes them come out as they should, and so do those that failed. Commits that records
name are in the repository, or bench/README.md says what they were. A record of changes that are in no commit makes no table.

Usage: performance.py ROOT
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(sys.argv[1]) / "bench"))
sys.dont_write_bytecode = True
import record_text  # noqa: E402

ROOT = pathlib.Path(sys.argv[1])
PAGE, SHORT, SAFETY = "docs/internals/measurements.md", "docs/performance.md", "docs/safety.md"
CHOOSING, ROADMAP, KERNELS = "docs/choosing.md", "docs/internals/roadmap.md", "docs/internals/gpu-kernels.md"
PAGES = ("README.md", PAGE, SHORT, SAFETY, CHOOSING, ROADMAP, KERNELS)


def page(tree, *words):
    return subprocess.run([sys.executable, ROOT / "bench/page.py", tree, *words], capture_output=True, text=True)


def check(what, *said):
    if not what:
        print(*said)
        sys.exit(1)


def row(by, data, name, codec, ratio, speed, **more):
    return {"by": by, "data": data, "name": name, "codec": codec, "ratio": ratio, "gb_per_second": speed, "fraction_of_limit": 0.5, "kernels": 1,
            "verified": True, **more}


def failed(by, data, name, why):
    return {"by": by, "data": data, "name": name, "verified": False, "message": why}


def record(part, rows):
    return {"bench": f"peers {part}", "date": "2999-01-01T00:00:00Z", "commit": "abc", "device": {"description": "a GPU"}, "results": rows}


def theirs(data, codec, chunk, ratio, speed, **more):
    return row("nvcomp", data, None, codec, ratio, speed, chunk_bytes=chunk << 10, **more)


MADE = {
    "lanes": (record("lanes", [
        row("zipflow", "symbols3", "tans", "tans(x)", 5.19, 1234.4), row("zipflow", "o_comment", "words", "w", 4, 800, characters_gb_per_second=700.2),
        theirs("symbols3", "ans s0", 256, 5.1, 1400, decoder="types named, not validated"), theirs("symbols3", "ans s0", 1024, 5.3, 1300),
        theirs("symbols3", "zstd", 64, 3.8, 44), {"by": "nvcomp", "data": "symbols3", "codec": "lz4", "verified": False, "message": "no"},
        failed("zipflow", "l_comment", "huffman", "it | died\nat once"), {"by": "peers.py", "name": "lanes", "verified": False, "message": "KeyError"}]),
        ["three symbols (.25, .5, .25), bytes | tans | `tans(x)` | 5.19 | 1 | 1234 | 50% |", "| nvCOMP | ans s0, 256 KiB, not validated | 5.10 |  | 1400 |",
         "| nvCOMP | ans s0, 1 MiB | 5.30 |", "| nvCOMP | zstd, 64 KiB |", "| words | `w` | 4.00 | 1 | 700 |",
         "| three symbols (.25, .5, .25), bytes | nvCOMP | lz4 | failed: no |  |  |  |", "| l_comment, characters | huffman |  | failed: it / died at once |", "Ended early: peers.py, lanes, failed: KeyError."], []),
    "table2": (record("table2", [
        row("zipflow", "l_tax", "the paper's", "float2int(bitpack)", 15.99, 3427), row("zipflow", "l_tax", "ours", "o", 21.5, 1700),
        theirs("l_tax", "ans s0", 256, 1.88, 1299), theirs("l_tax", "gdeflate L5", 1024, 12.04, 5), theirs("l_tax", "snappy", 32, 1.01, 2000),
        failed("zipflow", "l_discount", "the paper's", "wrong bytes"), row("zipflow", "l_quantity", "the paper's", "b", 5, 3000), failed("zipflow", "l_quantity", "ours", "late"), row("zipflow", "l_orderkey", "ours", "o", 9, 8),
        theirs("l_quantity", "ans s0", 256, 3, 1000), {**theirs("l_quantity", "zstd", 64, 1, 1), "verified": False, "message": "stopped after 40 s"}]),
        ["| l_tax | 15.99 | 1 | 3427 | 50% | 21.50, 1700 | ans s0, 256 KiB: 1.88, 1299 | gdeflate L5, 1 MiB: 12.04, 5 |", "| l_discount | failed: wrong bytes |",
         "| 50% | failed: late | ans s0, 256 KiB: 3.00, 1000; 1 of 2 failed: stopped after 40 s |", "Not measured there: l_orderkey, o_orderkey,"], ["snappy"]),
    "checks": (record("checks", [
        row("zipflow", "symbols3", "tans", "t", 5, 1200.2, form="lanes", gb_per_second_without=1260, cost_percent=4.96),
        row("zipflow", "bitpack-7-u32", "bitpack-7-u32", "bitpack", 5, 3000, form="map", gb_per_second_without=2990, cost_percent=-0.3),
        {**failed("zipflow", "delta-5-i64", "delta-5-i64", "late"), "form": "scan"}]),
        ["| scan | delta-5-i64 | failed: late |", "| lanes | tans (symbols3) | 1200 | 1260 | 5.0% |", "| map | bitpack-7-u32 | 3000 | 2990 | -0.3% |"], []),
    "links": ({"bench": "tpch queries", "scale": 10, "date": "2999-01-01T00:00:00Z", "device": {"description": "a GPU"}, "results": [], "links": {
        "parameters": {"bytes_per_second": 5.5e10, "copy": 3e-6, "queue": 4e-5, "start": 1e-4, "hand_over": 1e-5, "end": 4e-5, "beside": 0.12},
        "check": {"error_percent": {"given": {"mean": 1.5, "most": 2}, "johnson": {"mean": 2.5, "most": 4}}, "slower": ["q2"], "gain_mean": 0.99, "sets": [
            {"set": "q2", "given": {"error_percent": -2}, "johnson": {"error_percent": 1}, "gain_measured": 0.9}]},
        "links": {key: {"name": name, "bytes_per_second": 1e10, "gain_mean": gain, "sets": [{"set": "q2", "johnson": 0.00125, "gain": gain}]}
                  for key, name, gain in (("here", "here", 0.95), ("pcie3", "PCIe 3", 1.002))}}},
        ["| set | model, FIFO | model, Johnson | gain, measured | gain, model | PCIe 3 |", "| q2 | -2.0% | +1.0% | -10.0% | -5.0% | 1.25 ms, +0.2% |",
         "| mean | 1.5% | 2.5% | -1.0% | -5.0% | +0.2% |", "slower than FIFO here in: q2.", "55.0 GB/s and 3.0 us besides, longer by 12%", "40.0 us to queue a unit",
         "150.0 us a set", "2.5% on the mean and 4.0% at most for Johnson's", "PCIe 3 10.0."], ["here |"]),
}



def queries(**part):
    return {"bench": "tpch queries", "date": "2999-01-01T00:00:00Z", "commit": "abc", "scale": 10.0, "device": {"description": "a GPU"}, "results": [], **part}


def way(seconds, amount):
    return {"runs": 3, "bytes": amount, "seconds": {"median": seconds}}


def of_query(name, johnson, beside, **more):
    """A set of 12 ms of copies and 3 of decodes."""
    return {"set": name, "columns": ["a", "b"], "verified": True, "raw_bytes": 8e9, "ratio": 4.0, "copy_bound": 0.012, "decode_bound": 0.003,
            "seconds": {m: {"median": t} for m, t in {"johnson": johnson, **{k: v * johnson for k, v in beside.items()}}.items()}, "johnson_beside": beside, **more}


MADE["lanes"][0]["results"] += [row("zipflow", "corpora", "fsst", "f", 1.7, 60), row("zipflow", "corpora", "fsst_groups", "g", 1.7, 900), theirs("corpora", "ans s0", 256, 1.9, 1000)]
MADE["lanes"][1].extend(["How many times as fast `fsst_groups` is as `fsst`: texts of many kinds, characters, 15.",
                         "texts of many kinds, characters: 1000 GB/s at a ratio of 1.90, `fsst_groups` 900 at 1.70."])
MADE["made"] = ({"bench": "decode", "date": "2999-01-01T00:00:00Z", "commit": "abc", "device": {"description": "a GPU"}, "results": [
    {"column": name, "codec": "c", "ratio": 2, "kernels": 1, "gb_per_second": 9, "fraction_of_limit": of, "verified": True, "source": "made.zfd"} for name, of in (("a", .5), ("b", .25))] + [
    {"column": "d", "codec": "c", "verified": False, "message": "late", "source": "made.zfd"}]}, ["| d | `c` | failed: late |", "Farthest from the limit: b 25%, a 50%."], [])
MADE["pipeline"] = (queries(nvcomp={"gpu": {}}, results=[
    of_query("q1", 0.0128, {"raw": 3.9, "small": 1.05, "nvcomp": 2.0}), of_query("q2", 0.0125, {"raw": 3.8, "small": 1.02, "nvcomp": 1.5}),
    of_query("q3", 0.0126, {"raw": 3.9, "small": 1.01}, verified=False, nvcomp={"verified": False, "message": "no time"}),
    {"set": "q4", "verified": False, "message": "no"}]),
    ["| q1 | 2 | 8000 | 4.00 | 49.92 | 25.60 |", "Each of 3 query sets takes at most", "plus 0.20 ms.",
     "| q3 | 2 | 8000 | 4.00 | 49.14 | failed: no time |", "| q4 | failed: no |",
     "3.87 times faster than raw copies (geometric mean, of 3 measured, 1 failed). The ratios are 4.00, so 96.7% of the ideal gain is reached.", "at most 5% longer (q1)",
     "- 1.73 times faster than nvCOMP: geometric mean of 2 of 4 queries, at least 1.50 times.", ".json`, commit "], [])
MADE["files"] = (queries(files={"results": [
    {"set": "q1", "verified": True, "doubtful": ["raw_cold"], "ways": {
        "zipflow_memory": way(0.01, 4e8), "zipflow_warm": way(0.02, 4e8), "zipflow_cold": way(0.4, 4e8), "raw_warm": way(0.05, 2e9), "raw_cold": way(1, 2e9)}},
    {"set": "q2", "verified": False, "message": "no"}]}),
    ["| q1 | zipflow | 400 | 10.00 (40.0) | 20.00 (20.0) | 400.00 (1.0) |  |", "| q1 | plain rows | 2000 |  | 50.00 (40.0) | 1000.00? (2.0) |  |", "| q2 | failed: no |"],
    ["`cp`"])
MADE["encoding"] = (queries(encoding={
    "table": "lineitem", "rows": 60000000, "threads": 16, "seconds": 20.0, "source_bytes": 8e9, "file_bytes": 2e9, "gb_per_second": 0.4, "columns": [
        {"column": "l_tax", "codec": "c(d)", "type": "f64", "plain_bytes": 480e6, "stored_bytes": 30e6, "encode_seconds": 4.04, "verify_seconds": 1}]}),
    ["Encoded lineitem, 60000000 rows of 1 columns, 8.00 GB, with 16 threads in 20.0 s (0.40 GB/s) to 2.00 GB.", "| l_tax | `c(d)` | 480 | 16.00 | 4.0 | 1.0 |"],
    [])

MADE["first_byte_gpu"] = ({"bench": "first byte", "date": "2999-01-01T00:00:00Z", "commit": "abc", "device": {"description": "a GPU"}, "start": 12.34, "cores": 2,
                          "load_before": 0.5, "load_after": 0.7, "columns": [
    {"table": "orders", "column": "o_x", "cold": {"before": 100.04, "processor": 90, "code.optimise": 50, "code.emit": 30, "device": 5, "load": 20},
     "cached": {"before": 10, "processor": 9, "program.parse": 1.5, "program.check": 2.5, "device": 5, "load": 0.1}}],
    "tables": [{"table": "orders", "columns": 6, "threads": 2, "cold": {"before": 300, "processor": 500, "device": 0, "load": 0},
                "cached": {"before": 20, "processor": 19, "device": 0, "load": 0}}]},
    ["A process that does nothing: 12.3 ms; load 0.5 before and 0.7 after; 2 cores.",
     "On a GPU:", "| o_x | 100.0 | 90.0 | 50.0 | 30.0 | 5.0 | 20.0 | 10.0 | 9.0 | 4.0 | 0.1 |", "| orders, 6 columns, 2 threads | 300.0 |"], [])

MADE["gpu_blocks"] = (record("blocks", [
    row("zipflow", "l_comment, characters", "lz4", "lz4", 2.2, 190.4, chunk_bytes=1 << 16, gb_per_second_at_least=180),
    row("zipflow", "l_comment, characters", "lz4(chunk: 1048576)", "lz4(chunk: 1048576)", 2.3, 80, chunk_bytes=1 << 20),
    row("zipflow", "l_comment, characters", "lz_split", "lz_split", 3.2, 320), row("zipflow", "l_comment, characters", "snappy", "snappy", 2.5, 200, chunk_bytes=1 << 16),
    row("zipflow", "l_comment, characters", "deflate", "deflate", 4.2, 40, chunk_bytes=1 << 16, gb_per_second_at_least=60), theirs("l_comment, characters", "deflate L4", 64, 4.3, 50),
    failed("zipflow", "l_partkey, i64", "orc_rle1", "late"), row("zipflow", "l_partkey, i64", "orc_rle1 of orc_rle1.zf", "orc_rle1", 4, 250.3, program="orc_rle1.zf"),
    {**failed("zipflow", "l_partkey, i64", "rice of rice.zf", "lost"), "program": "rice.zf"},
    theirs("l_comment, characters", "lz4 i8", 64, 2.1, 110), theirs("l_comment, characters", "lz4 i32", 64, 2.1, 120), theirs("l_comment, characters", "lz4 i8", 1024, 2.2, 50),
    {**theirs("l_comment, characters", "snappy", 64, 1, 1), "verified": False, "message": "no"}]),
    ["| l_comment, characters | `lz4`, 64 KiB | 2.20 | 190 | 50% | lz4 i32, 64 KiB | 2.10 | 120 |", "| `lz4`, 1 MiB | 2.30 | 80 | 50% | lz4 i8, 1 MiB | 2.20 | 50 |",
     "| `lz_split` | 3.20 | 320 | 50% |  |  |  |", "| `snappy`, 64 KiB | 2.50 | 200 | 50% | failed: no |  |  |", "| l_partkey, i64 | `orc_rle1` | failed: late |  |  |  |  |  |",
     "GB/s: `orc_rle1` (l_partkey, i64) 250; `rice` (l_partkey, i64) failed: lost."], [])

agrees = page(ROOT, "--check")
check(agrees.returncode == 0, agrees.stdout, agrees.stderr)
with tempfile.TemporaryDirectory() as place:
    tree = pathlib.Path(place)
    shutil.copytree(ROOT / "bench/results", tree / "bench/results")
    shutil.copytree(ROOT / "tests/fuzz/results", tree / "tests/fuzz/results")
    (tree / "docs/internals").mkdir(parents=True)
    for name in PAGES:
        shutil.copy(ROOT / name, tree / name)
    text = (ROOT / PAGE).read_text()
    at = text.index("| bitpack-7-u32 |")
    digit = next(k for k in range(at + 20, len(text)) if text[k].isdigit())
    (tree / PAGE).write_text(text[:digit] + str(9 - int(text[digit])) + text[digit + 1:])
    check(page(tree, "--check").returncode == 1, "a changed figure is not noticed")
    (tree / PAGE).write_text(text)
    check(page(tree, "--check").returncode == 0, "the copied page")
    for name, before in ((SHORT, "| u32, 7 significant bits | `bitpack` | "), (SHORT, "**Entropy coders** (`tans`, `rans`, `huffman`): "), ("README.md", "| l_extendedprice | `float2int(bitpack)` | "),
                         (CHOOSING, "columns of TPC-H on an H200, zipflow decodes "), (CHOOSING, "- LZ4: `l_comment` in chunks of "), (ROADMAP, "| `lz4`, 64 KiB | l_comment "), (ROADMAP, "| zstd-text | 40% of the library | "),
                         (KERNELS, "| `orc_rle2` | l_partkey, i64 | ")):
        whole = (tree / name).read_text()
        at = whole.rindex(before) + len(before)
        (tree / name).write_text(whole[:at] + str(9 - int(whole[at])) + whole[at + 1:])
        other = page(tree, "--check")
        check(other.returncode == 1 and other.stdout.startswith(f"{name} does not agree"), f"a changed figure of {name} is not noticed", other.stdout, other.stderr)
        (tree / name).write_text(whole)
    (tree / PAGE).write_text(text.replace("<!-- table: cpu -->", ""))
    check(page(tree, "--check").returncode == 1, "a table that is missing is not noticed")
    for part, (made, wanted, unwanted) in MADE.items():
        (tree / PAGE).write_text(text)
        path = tree / f"bench/results/h200/2999-01-01-{part}.json"
        path.write_text(json.dumps(made))
        check(page(tree, "--check").returncode == 1, f"{part}: a newer record is not noticed")
        check(page(tree).returncode == 0 and page(tree, "--check").returncode == 0, f"{part}: the page is not renewed")
        said = next(said for said in ((tree / name).read_text() for name in (PAGE, SHORT)) if f"<!-- table: {part} -->" in said)
        table = said[said.index(f"<!-- table: {part} -->"):]
        table = table[:table.index("<!-- end -->")]
        check(all(w in table for w in wanted) and not any(w in table for w in unwanted) and path.name in table, part, table)
        if part == "pipeline":
            short = (tree / SHORT).read_text()
            check("plus 0.20 ms. The worst case is q1: it takes 12.8 ms, which is 0.20 ms above 1.05 times its bound." in short, "the query that takes longest beside its bounds", short)
            check("fixed costs: " not in short and "staging buffers" not in short, "figures that the record does not have", short)
        if part == "gpu_blocks":  # other pages have sentences of that record
            for name, wanted in ((CHOOSING, "- LZ4: `l_comment` in chunks of 64 KiB 59% faster, `l_comment` in chunks of 1 MiB 60% faster.\n- Deflate: `l_comment` in chunks of 64 KiB 20% slower."),
                                 (ROADMAP, "| `lz4`, 64 KiB | l_comment 190 (180) |"), (ROADMAP, "| `deflate`, 64 KiB | l_comment 40 (60, missed) |"),
                                 (KERNELS, "| `lz4`, 64 KiB | l_comment, characters | 190 | 196 | -3% |"), (SHORT, "nvCOMP decodes `deflate` of `l_comment` 25% faster ([above]")):
                check(wanted in (tree / name).read_text(), name, wanted, (tree / name).read_text())
        path.unlink()
    path, found = tree / "bench/results/h200/2999-01-01-parts.json", "| o_comment | `w` | 4.00 | 1200 | ans s0, 256 KiB | 1.90 | 1300 | `2999-01-01-parts` |"
    for best, is_lost in ((1200, True), (1400, False)):  # the fastest of ours may be in another part of the record than the columns of table 2
        rows = [row("zipflow", "o_comment", "the paper's", "s", 5, 1000, part="table2"), theirs("o_comment", "ans s0", 256, 1.9, 1300, part="table2"),
                row("zipflow", "o_comment", "words over bitpack", "w", 4, best, part="work")]
        rows = [r | {"decode_seconds": {"median": 0.01}, "plain_bytes": 1 << 30} for r in rows]
        path.write_text(json.dumps({"bench": "speed", "date": "2999-01-01T00:00:00Z", "commit": "abc", "device": {"description": "a GPU"}, "results": rows}))
        renewed = page(tree)
        check(renewed.returncode == 0 and (found in (tree / SHORT).read_text()) == is_lost, best, renewed.stderr, (tree / SHORT).read_text())
        path.unlink()
    path = tree / "bench/results/h200/2999-01-01-lanes.json"
    path.write_text(json.dumps(MADE["lanes"][0] | {"commit": "abc-dirty"}))
    refused = page(tree)
    check(refused.returncode == 1 and "bench/results/h200/2999-01-01-lanes.json is of abc-dirty" in refused.stderr, "a record of uncommitted changes", refused.stderr)
    path.unlink()
    step = {"columns": 88, "mutated": 10000, "not_opened": 1, "refused_by_the_host": 2, "failed_in_a_kernel": 3, "same_as_cpu": 4, "canaries_touched": 0,
            "contexts_lost": 0, "slowest_by_the_good_one": [3.25, 7]}
    trials = {"right": 1, "refused": 1200, "wrong": 0, "other_rows": 3, "lost": 4, "hung": 5, "others": 0}
    damaged = [{"by": "zipflow", "data": "forms", "name": "mended", "trials": trials, "outside": 0}, {"by": "zipflow", "data": "states", "message": "it died"},
               {"by": "nvcomp", "data": "symbols", "codec": "lz4", "decoder": "", "trials": trials, "outside": 2}]
    for name, made, wanted in (("hostile", {"steps": [{"step": "hostile", "result": step}, {"step": "hostile_strings", "result": step}, {"step": "devices", "result": []}]}, "| 88 | 10,000 | 1 | 2 | 3 | 4 | 0 | 0 | 3.2 |"),
                               ("damage", {"bench": "peers damage", "results": damaged}, "| zipflow | `forms`, mended | 1,213 | 1 | 1,200 | 3 | 0 | 4 | 5 | 0 |\n| nvCOMP | `lz4` |")):
        path = tree / f"bench/results/h100/2999-01-01-{name}.json"
        path.write_text(json.dumps({"commit": "abc", "date": "2999-01-01T00:00:00Z", "device": "cuda", "machine": {"nvidia_smi": ["a GPU"]}, **made}))
        check(page(tree).returncode == 0 and wanted in (tree / SAFETY).read_text(), name, (tree / SAFETY).read_text())
    shutil.rmtree(tree / "tests/fuzz/results")
    (tree / "tests/fuzz/results").mkdir()

    def fuzz_run(date, cpu, since, kinds, commit="abc"):
        target = {"target": "text", "cpu_seconds": cpu, "executions": 1200, "edges": 10 * int(date[-1]), "features": 9, "cpu_seconds_since_finding": since,
                  "findings": [{"kind": kind} for kind in kinds], "kinds": kinds}
        (tree / f"tests/fuzz/results/{date}-x.json").write_text(json.dumps({"date": date, "commit": commit, "machine": {"cores": 16}, "targets": [target]}))

    fuzz_run("2999-01-01", 600, 60, [], commit="abc-dirty")
    check(page(tree).returncode == 1, "a run of fuzzing with uncommitted changes")
    fuzz_run("2999-01-01", 600, 60, ["it is wrong"])
    fuzz_run("2999-01-02", 120, 120, [])
    # (when it was mended; CPU minutes since the last finding, or since it was mended)
    for mended, minutes in (([], "3.0"), (["2999-01-01T12"], "2.0"), (["2999-01-03"], "0.0"), (["2998-01-01"], "3.0")):
        (tree / "tests/fuzz/results/mended.json").write_text(json.dumps([{"target": "text", "date": date, "commit": "abcdef", "finding": "Wrong."} for date in mended]))
        said = (page(tree), (tree / SAFETY).read_text())[1]
        check(f"| `text` | 12.0 | 2,400 | 3.3 | 20 | 9 | 1 | {minutes} |" in said and ("- `text`: Wrong. Mended in abcdef." in said) == bool(mended), mended, said)


def broken(rows, which, why="it died"):
    """The same rows, of which some failed: what is left of them is what they were of."""
    return [{k: r[k] for k in ("part", "data", "by", "name", "at_least", "family") if k in r} | {"verified": False, "message": why} if which(r) else r for r in rows]


def table_of(said, title):
    """Lines of a part of a page, by what stands above it."""
    lines = said[said.index(f"**{title}**"):].splitlines()[1:]
    return lines[:next((k for k, line in enumerate(lines) if line.startswith(("**", "<!-- end"))), None)]


with tempfile.TemporaryDirectory() as place:  # a newer record most of which failed: the page says so, and does not show an older one or a short table
    tree = pathlib.Path(place)
    shutil.copytree(ROOT / "bench/results", tree / "bench/results")
    shutil.copytree(ROOT / "tests/fuzz/results", tree / "tests/fuzz/results")
    (tree / "docs/internals").mkdir(parents=True)
    for name in PAGES:
        shutil.copy(ROOT / name, tree / name)
    measured = json.loads((ROOT / "bench/results/h200/2026-11-26-speed.json").read_text())
    work, runs, fusion, tuning = ([r for r in measured["results"] if r["part"] == part] for part in ("work", "rle", "fusion", "tuning"))
    searches = json.loads((ROOT / "bench/results/h200/2026-11-26-speed-combinations.json").read_text())
    search = next(r for r in searches["results"] if r["name"] == "search beside all combinations")
    rows = [*broken(work, lambda r: r != work[0]), *broken(runs, lambda r: r in [x for x in runs if x["family"] == "rle"][:3]), *broken(fusion, lambda r: True),
            *broken(tuning, lambda r: r["data"] == "l_tax"), *broken([search], lambda r: True), {"part": "tuning", "by": "speed.py", "name": "tuning", "verified": False, "message": "x" * 99},
            {"part": "rle", "by": "zipflow", "data": "rle_1.zfd", "name": "tune", "verified": False, "message": "it hung"}]
    runs_of_2 = [r for r in runs if r["name"] == "even-2, u32, over bitpacks"]
    rows = [r for r in rows if r["name"] != "even-64, u32, over bitpacks"]
    (tree / "bench/results/h200/2999-01-01-speed.json").write_text(json.dumps({**measured, "date": "2999-01-01T00:00:00Z", "results": rows}))
    check(page(tree).returncode == 0, "a record most of which failed")
    short = (tree / SHORT).read_text()
    check("| u32, 7 significant bits |  | failed: it died |  |  | 1 |" in short and "| u32, runs of length 64 |  | failed: not measured |  |  | 1 |" in short, short)
    check(f"| u32, runs of length 2 | `rle(bitpack, bitpack)` | {runs_of_2[0]['ratio']:.2f} | {runs_of_2[0]['gb_per_second']:.0f} |" in short, short)
    check("\n1. `bench/results/h200/2999-01-01-speed.json`: NVIDIA H200" in short, short)
    check("On an NVIDIA H200, variants that were tuned on an NVIDIA H100 80GB HBM3 reach 91 to 100% of the speed" in short, short)
    of_h100 = max(path for path in (ROOT / "bench/results/h100").glob("*.json") if '"after_fraction_of_limit"' in path.read_text() and '"bitpack-7-u32"' in path.read_text())
    seven = next(row["after_gb_per_second"] for row in json.loads(of_h100.read_text())["results"] if row["column"] == "bitpack-7-u32")
    check("On an NVIDIA H100 80GB HBM3, 27 generated numeric columns reach 88 to 100% of that GPU's limit without tuning. `bitpack` decodes u32 of 7 significant bits at "
          f"{seven:.0f} GB/s (record `{of_h100.name}`)" in short, short)
    said = (tree / PAGE).read_text()
    lines = table_of(said, "Targets and results")
    check(sum("| failed: it died |" in line for line in lines) == len(work) - 1 and any(work[0]["data"] in line and "failed" not in line for line in lines), "\n".join(lines))
    lines = table_of(said, "Runs (the paper's figure 13)")
    check(any(line.startswith("| mean |") and "of 25 measured, 3 failed" in line and "of 27 measured (" in line for line in lines) and sum("failed: it died" in line for line in lines) == 3, "\n".join(lines))
    check("Not measured there" not in "".join(lines), lines)  # it has another row of that data
    check(sum("failed: it died" in line for line in table_of(said, "Fusion (figure 18)")) == len(fusion), "fusion")
    lines = "\n".join(table_of(said, "Tuning (table 3)"))
    check("| l_tax: without results | failed: it died |" in lines and ", of 23 measured, 1 failed | 90% |" in lines, lines)
    check(f"| {search['data']}: search beside all combinations | failed: it died |" in lines and f"| {search['data']}, kernel" not in lines, lines)
    mine = said.index("2999-01-01-speed.json`", said.index("**Targets and results"))  # each table names its record
    of_table2 = max(path for path in (ROOT / "bench/results/h200").glob("*-speed*.json") if '"part":"table2"' in path.read_text())
    check(mine < said.index(f"/{of_table2.name}`", mine) < said.index("**Runs"), "two records of one table")
    check("There is no record" not in said and "On a GPU:" not in said, "a section without a record is left out")
    check("Not tuned: rle_1.zfd, failed: it hung." in said and "| rle_1.zfd" not in said, "a container that was not tuned")
    check("Ended early: tuning, tuning, failed: " + "x" * 60 + "...." in said, "a part that ended early")


pages = "".join(path.read_text() for path in [ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")])
for path in sorted((ROOT / "bench/results").glob("*/*.json")):
    check(path.stem in pages, f"{path.name} is quoted by no page: history keeps it, the tree does not")
    check(path.stat().st_size <= record_text.MOST, f"{path.name} has more than {record_text.MOST} bytes: bench/record_text.py")


def git(*words):
    return subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True)


if shutil.which("git") and git("rev-parse", "--is-shallow-repository").stdout.strip() == "false":  # a tree from an archive has no history
    explained = (ROOT / "bench/README.md").read_text()
    for path in sorted([*(ROOT / "bench/results").glob("*/*.json"), *(ROOT / "tests/fuzz/results").glob("2*.json")]):
        commit = json.loads(path.read_text()).get("commit", "").removesuffix("-dirty")
        check(not commit or commit[:7] in explained or git("cat-file", "-e", f"{commit}^{{commit}}").returncode == 0,
              f"{path.name} names {commit}, which is not in the repository, nor does bench/README.md say what it was")
print("the page agrees with the records")
