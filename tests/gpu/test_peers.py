"""bench/peers/peers.py with a driver and an nvCOMP that lie in tests/support: what fails, dies or hangs is a row that says so, and the
others are measured.

    test_peers.py ROOT ZFC FAKE_GPU FAKE_NVCOMP
"""

import contextlib
import io
import json
import os
import pathlib
import sys
import tempfile

ROOT, ZFC, GPU, NVCOMP = sys.argv[1:]
sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(ROOT) / "bench/peers"))
try:
    import numpy as np
    import pyarrow  # noqa: F401
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)
import choices  # noqa: E402
import data  # noqa: E402
import orc_runs  # noqa: E402
import peers  # noqa: E402

SIZE, BYTES = 100_001, 400_000


def run(*words, faults="", library=NVCOMP):
    """Runs a part. Returns its exit status, the report, and what it printed."""
    os.environ["FAKE_NVCOMP"] = faults
    printed = io.StringIO()
    with tempfile.TemporaryDirectory() as out, contextlib.redirect_stdout(printed):
        sys.argv = ["peers.py", *words, "--zfc", ZFC, "--device", "cpu", "--libcuda", GPU, "--nvcomp", library, "--out", out,
                    "--bytes", str(BYTES), "--made", str(SIZE)]
        code = peers.main()
        text = (pathlib.Path(out) / f"{words[0]}.json").read_text()
    assert "zf-peers-" not in text, "the report names a directory of this machine"
    return code, json.loads(text), printed.getvalue()


def runs_of(plain):
    """Bytes that the fake library makes of a chunk."""
    ends = np.flatnonzero(np.diff(plain)) + 1
    lengths = np.diff(np.concatenate([[0], ends, [len(plain)]]))
    return 2 * int(np.sum(-(-lengths // 255)))


def check(what, *said):
    if not what:
        print("FAILED:", *said)
        sys.exit(1)


def good():
    code, report, printed = run("lanes", "--only", "symbols3")
    check(code == 0, code, printed)
    rows = report["results"]
    check(all(r["verified"] for r in rows), printed)
    ours = {r["name"]: r for r in rows if r["by"] == "zipflow"}
    unknown = {r["name"] for r in report["left_out"] if r.get("name")}
    check(set(ours) | unknown == set(choices.LANES["symbols3"]["ours"]), ours, unknown)
    check(4.3 < ours["tans"]["ratio"] < 5.4 and ours["tans"]["plain_bytes"] == 4 * SIZE, ours["tans"])
    theirs = [r for r in rows if r["by"] == "nvcomp"]
    check({(r["codec"], r["chunk_bytes"]) for r in theirs} ==
          {(" ".join([c, *w]), k) for c, w, k in choices.LANES["symbols3"]["nvcomp"]}, theirs)
    plain = data.symbols3(SIZE)
    for r in theirs:
        chunk = r["chunk_bytes"]
        stored = sum(runs_of(plain[k:k + chunk]) for k in range(0, SIZE, chunk))
        check((r["column_stored_bytes"], r["chunks"], r["repeated"], r["plain_bytes"]) == (stored, 4 * -(-SIZE // chunk), 4, 4 * SIZE), r)
        check(abs(r["ratio"] - SIZE / stored) < 1e-9 and r["ratio_with_sizes"] < r["ratio"], r)
        check(abs(r["gb_per_second"] * r["decode_seconds"]["median"] * 1e9 / r["plain_bytes"] - 1) < 1e-9 and r["fraction_of_limit"] > 0, r)
    check(report["nvcomp"]["version"] == 6000 and report["gpu"]["name"] == "Fake GPU 0" and report["commit"] and report["counted"], report)


def faults():
    code, report, printed = run("lanes", "--only", "symbols3", "--patience", "3", faults="Bitcomp:die,Cascaded:wrong,Gdeflate:status,Zstd:hang")
    check(code == 1, printed)
    bad = {r["codec"].split()[0]: r["message"] for r in report["results"] if not r["verified"]}
    check(set(bad) == {"bitcomp", "cascaded", "gdeflate", "zstd"}, bad)
    check("ended with 9" in bad["bitcomp"] and "what was timed is wrong" in bad["cascaded"] and "chunks failed" in bad["gdeflate"] and
          "stopped after 3" in bad["zstd"], bad)
    check(sum(r["verified"] and r["by"] == "nvcomp" for r in report["results"]) == 10, printed)
    code, report, printed = run("lanes", "--only", "symbols64", faults="ANS:refuse")
    check([r["message"] for r in report["results"] if not r["verified"]][:1] == ["ans CompressGetMaxOutputChunkSize: not supported (11)"], printed)
    check({r["codec"] for r in report["results"] if r["verified"] and r["by"] == "nvcomp"} == {"gdeflate L1", "zstd"}, printed)


def what_is_missing():
    code, report, printed = run("lanes", "--only", "symbols64", library="/nonexistent/libnvcomp.so")
    check(code == 1 and any(r["verified"] and r["by"] == "zipflow" for r in report["results"]), printed)
    choices.LANES["symbols64"]["ours"] = {"tans": choices.TANS, "of tomorrow": "tomorrow", "not of bytes": "float2int"}
    code, report, printed = run("lanes", "--only", "symbols64")
    check(code == 0 and {r["name"] for r in report["left_out"]} == {"of tomorrow", "not of bytes"}, printed)
    code, report, printed = run("lanes", "--only", "symbols64", "--budget", "0")
    check(code == 1 and not any(r["verified"] for r in report["results"]), printed)


def checks():
    code, report, printed = run("checks", "--only", "symbols3,bitpack-7-u32")
    check(code == 0, printed)
    rows = {r["name"]: r for r in report["results"]}
    check({"tans", "rans", "bitpack over tans", "bitpack-7-u32"} == set(rows), rows)
    for r in rows.values():
        wanted = 100 * (min(r["seconds_with_checks"]) / min(r["seconds_without"]) - 1)
        check(len(r["seconds_with_checks"]) == len(r["seconds_without"]) == 4 and abs(r["cost_percent"] - wanted) < 1e-6, r)


def damage():
    code, report, printed = run("damage", "--only", "library,snappy,lz4,zstd,deflate,gdeflate", "--every", "14", "--patience", "8",
                                faults="Snappy:odd-die,LZ4:empty-hang,Deflate:odd-beside,Zstd:odd-status,Gdeflate:die")
    check(code == 1, printed)
    ours = {r["name"]: r for r in report["results"] if r["by"] == "zipflow"}
    check(set(ours) == {"damaged", "mended"} and all(r["verified"] and r["columns"] == 2 and r["outside"] == 0 for r in ours.values()), printed)
    check(ours["damaged"]["trials"]["wrong"] == ours["mended"]["trials"]["wrong"] == ours["damaged"]["trials"]["other_rows"] == 0, printed)
    check(ours["mended"]["trials"]["right"] > 0 and sum(ours["damaged"]["trials"].values()) == 2 * 23, printed)
    theirs = {r["codec"].split()[0]: r for r in report["results"] if r["by"] == "nvcomp"}
    check(not theirs["gdeflate"]["verified"] and "ended with 9" in theirs["gdeflate"]["message"], printed)
    for codec, result, way, times in (("snappy", "lost", "size-minus-1", 2), ("lz4", "hung", "size-0", 1), ("zstd", "refused", "size-minus-1", 2),
                                      ("deflate", "wrong", "size-minus-1", 2)):
        of = theirs[codec]["ways"]
        check(theirs[codec]["verified"] and of[way][result] == times and theirs[codec]["trials"][result] >= times, of)
        check(sum(sum(way.values()) for way in of.values()) == 24 and of["flip-1-bit"]["wrong"] > 0 and of["none"]["right"] == 1, of)
        check((theirs[codec]["outside"] >= 2) == (codec == "deflate"), theirs[codec])


def packed():
    """A packed gpu_damage names its tables from the directory that was unpacked. Its words before a failure are in the report."""
    global ZFC
    built = ZFC
    with tempfile.TemporaryDirectory() as tree:
        directory = pathlib.Path(tree)
        (directory / "bin").mkdir()
        (directory / "dsl").mkdir()
        ZFC = str(directory / "bin/zfc")
        pathlib.Path(ZFC).touch()
        program = directory / "bin/gpu_damage"
        for there, says in (("dsl", None), ("elsewhere", "nothing here")):
            program.write_text(f"#!/bin/sh\n[ -d {there} ] || {{ echo nothing here; exit 2; }}\n"
                               'echo \'{"columns": 1, "outside": 0, "failures": 0, "damaged": {}, "mended": {}}\'\n')
            program.chmod(0o755)
            code, report, printed = run("damage", "--only", "library")
            check((code == 0) == (says is None) and (says is None or says in json.dumps(report)), printed)
    ZFC = built


def made_lineitem(s, table, columns):
    """Columns that stand for those of TPC-H."""
    random = np.random.Generator(np.random.PCG64(11))
    words, rows = [b"carefully ", b"ironic ", b"packages ", b"sleep. "], SIZE // 4
    text = np.frombuffer(b"".join(words[k] for k in random.integers(0, len(words), rows)), np.uint8)
    whole = {"l_comment": {"offsets": np.zeros(1, np.int64), "bytes": text}, "l_returnflag": {"offsets": np.zeros(1, np.int64), "bytes": np.frombuffer(b"ANR", np.uint8)[random.integers(0, 3, 2 * SIZE)]},
             "l_orderkey": {"i64": np.repeat(np.arange(rows), 4)}, "l_partkey": {"i64": random.integers(1, 200_001, rows)}, "l_linenumber": {"i64": np.arange(rows) % 7 + 1},
             "l_shipdate": {"date32": random.integers(8_000, 10_500, rows).astype(np.int32)}}
    check(table == "lineitem", table)
    return {name: whole[name] for name in columns}


# Programs for --programs: LZ4 blocks whose rows are all alike, a program that the compiler refuses, and one that is right. No file has packbits, which the library has, or Rice codes.
OTHERS = {
    "lz4.zf": "algorithm lz4_block(src: u8[] per chunk) -> u8[] non_parallel(chunk = 65536) { decode { src.skip(src.len); emit k in 0..out.len: 7; } }\n",
    "parquet_delta.zf": "algorithm delta_binary_packed<T: signed>(page: u8[] per chunk) -> T[] sideways { }\n",
    "orc_rle1.zf": 'import "twins.zf"; algorithm orc_rle1<T: signed>(src: u8[] per chunk) -> T[] non_parallel(chunk = 1000) {\n'
                   " decode { while !src.at_end() { let v = twin(src.varint()) as T; emit v; } } encode(x) { for c in chunks(x) { for v in c { src.push_varint(v as u64); } } } }\n",
    "twins.zf": "fn twin(v: u64) -> u64 = v;\n",
}


def wanted_of(row):
    return row.get("gb_per_second_at_least") or 0


def blocks():
    import pyarrow
    kept, peers.Session.tpch = peers.Session.tpch, made_lineitem
    try:
        code, report, printed = run("blocks")
        check(code == 0 and not report["left_out"], code, printed)
        rows = {(r["data"], r["name"]): r for r in report["results"] if r["by"] == "zipflow"}
        cases = {(of, case[0]): case for of, all_of in choices.BLOCKS.items() for case in all_of}
        written = {(of, f"{codec} of {file}") for file, uses in choices.PROGRAMS.items() for of, codec, *_ in uses}  # bench/peers/programs
        check(set(rows) == set(cases) | written and all(r["verified"] for r in report["results"]), printed)
        for key, (codec, library, chunk, wanted) in cases.items():
            r = rows[key]
            check(r.get("gb_per_second_at_least") == wanted and r.get("chunks_by") == library and r.get("chunk_bytes", 0) == chunk and r["type"] in r["data"] + " u8", r)
            whole = 8 * orc_runs.RUN if library in orc_runs.MODES else 8  # bytes of what is made at once
            check(SIZE - whole < r["column_plain_bytes"] <= SIZE and BYTES <= r["plain_bytes"] * (2 if chunk == choices.M else 1) < BYTES + 3 * SIZE, r)
        slow = [f"{of}, {name}" for (of, name), r in rows.items() if wanted_of(r) > r["gb_per_second"]]
        check(sorted(report["missed"]) == sorted(slow) and slow, report["missed"])
        text = made_lineitem(None, "lineitem", ["l_comment"])["l_comment"]["bytes"][:SIZE]
        of = {chunk: sum(len(pyarrow.Codec("lz4_raw").compress(text[k:k + chunk], asbytes=True)) for k in range(0, SIZE, chunk)) for chunk in (1 << 16, 1 << 20)}
        for name, chunk in (("lz4", 1 << 16), ("lz4(chunk: 1048576)", 1 << 20)):  # stored as they are, with a directory
            check(of[chunk] < rows["l_comment, characters", name]["column_stored_bytes"] < of[chunk] + 1000, name, of, rows["l_comment, characters", name])
        theirs = {(r["data"], r["codec"], r["chunk_bytes"], r["plain_bytes"]) for r in report["results"] if r["by"] == "nvcomp"}
        copies = {False: 4, True: 2}
        check(theirs == {(of, " ".join([c, *w]), k, copies[k == choices.M] * SIZE) for of, all_of in choices.BLOCKS_NVCOMP.items() for c, w, k in all_of}, theirs)
        with tempfile.TemporaryDirectory() as directory:
            for name, program in OTHERS.items():
                (pathlib.Path(directory) / name).write_text(program)
            os.chmod(directory, 0o555)
            names = ["lz4_block of lz4.zf", "orc_rle1 of orc_rle1.zf", "delta_binary_packed of parquet_delta.zf", "packbits of packbits.zf"]
            code, report, printed = run("blocks", "--only", ",".join(names), "--programs", directory)
        bad = {r["name"]: r["message"] for r in report["results"] if not r["verified"]}
        check(code == 1 and set(bad) == {"lz4_block of lz4.zf"} and "differs from the source: c.u8" in bad["lz4_block of lz4.zf"], printed)
        good_ones = [(r["data"], r["name"], r["program"]) for r in report["results"] if r["verified"] and r["by"] == "zipflow"]
        check(sorted(good_ones) == [(of, "orc_rle1 of orc_rle1.zf", "orc_rle1.zf") for of in ("l_partkey, i64", "l_shipdate sorted, i64")], printed)
        check({r["name"] for r in report["left_out"]} == {names[2]}, report["left_out"])
    finally:
        peers.Session.tpch = kept


for test in (good, faults, what_is_missing, checks, blocks, damage, packed):
    test()
    print(f"{test.__name__}: good")
