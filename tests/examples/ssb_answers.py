"""bench/ssb/ssb_run.py at scale factor 0.01: the 13 queries with each program of codecs give DuckDB's answers, on the CPU and the
emulated GPU, and a wrong answer is noticed; ssb_fused.zf is decoded on both. 77: there is no numpy, pyarrow or duckdb.

    ssb_answers.py ROOT ZFC
"""

import contextlib
import io
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT, ZFC = (pathlib.Path(word).resolve() for word in sys.argv[1:])
BENCH = ROOT / "bench/ssb"
sys.dont_write_bytecode = True
sys.path.insert(0, str(BENCH))
try:
    import duckdb  # noqa: F401
    import numpy as np
    import pyarrow  # noqa: F401
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)
import roundtrip  # noqa: E402
import ssb_queries  # noqa: E402
import ssb_run  # noqa: E402
import verdict  # noqa: E402
from verdict import check  # noqa: E402

SCALE = 0.01


def ran(tree, *words):
    """The exit status of a run, and its report."""
    report = tree / "report.json"
    with contextlib.redirect_stdout(io.StringIO()):
        status = ssb_run.main([str(tree / "run"), str(ZFC), "--scale", str(SCALE), "--json", str(report), *words])
    return status, json.loads(report.read_text())


def answered(tree):
    status, report = ran(tree)
    rows = report["queries"]
    wrong = [f"{row['codecs']} {row['query']}" for row in rows if not row["right"]]
    check(status == 0 and not wrong, "other answers than DuckDB's:", wrong)
    check([row["query"] for row in rows] == [*ssb_queries.QUERIES] * len(ssb_run.CODECS), "queries are missing")
    check(sum(row["groups"] > 1 for row in rows) >= 6 * len(ssb_run.CODECS), "too few queries have groups")
    stored = {row["codecs"]: row["stored_bytes"] for row in rows if row["query"] == "q4.1"}
    check(stored["ssb"] < stored["ssb_fused"] < stored["ssb_plain"] // 2, "stored bytes:", stored)
    check(all(len(ssb_run.read_by(plan.query)) in (4, 6) for plan in ssb_run.PLANS.values()), "columns that a query reads")


def emulated(tree):
    """All queries with codecs that are maps, in both ways, and one of each form with the smallest codecs."""
    for words in (["--codecs", "ssb_fused", "--ways", "fused,decoded,host"], ["--codecs", "ssb", "--only", "q1.1,q2.1,q3.1,q4.1"]):
        status, report = ran(tree, "--device", "emu", "--repeat", "2", *words)
        wrong = [f"{row['codecs']} {row['way']} {row['query']}" for row in report["queries"] if not row["right"]]
        check(status == 0 and not wrong, "other answers than DuckDB's on emu:", wrong)
        check(all(len(row["device"]["seconds"]) == 2 for row in report["queries"]), "--repeat")
        alone = [row["device"]["decoded"] == 0 for row in report["queries"] if (row["codecs"], row["way"]) == ("ssb_fused", "fused")]
        check(all(alone), "a column of ssb_fused.zf is decoded before a query")


def beside(tree):
    """Another build runs each query on the first one's tables, with a cache of its own."""
    status, report = ran(tree, "--device", "emu", "--codecs", "ssb_fused", "--only", "q1.1,q2.1", "--beside", str(ZFC))
    rows = report["queries"]
    check(status == 0 and [row["query"] for row in rows] == ["q1.1", "q1.1", "q2.1", "q2.1"], "builds beside each other")
    check(["times_as_long" in row for row in rows] == [False, True] * 2 and all(row["right"] for row in rows), "times beside each other")
    check(any((tree / "run/cache0").rglob("*.zfo")), "the other build has no cache of its own")


def wrong_answer(tree):
    """A sum that differs by one, and a group too many."""
    file = tree / "run/answers.json"
    kept = json.loads(file.read_text())
    for name, change in (("q1.1", lambda rows: rows[0].__setitem__(-1, rows[0][-1] + 1)), ("q2.1", lambda rows: rows.pop())):
        changed = json.loads(json.dumps(kept))
        change(changed["queries"][name]["answer"])
        (tree / "changed.json").write_text(json.dumps(changed))
        status, report = ran(tree, "--codecs", "ssb_fused", "--only", f"{name},q4.1", "--answers", str(tree / "changed.json"))
        check(status == 1 and [row["right"] for row in report["queries"]] == [False, True], name, "is changed, which is not noticed")


def decoded(tree):
    data = tree / "run/data"
    columns = {table: {name: None for name in names} for table, names in ssb_run.columns_read().items()}
    for device in ("cpu", "emu"):
        differ, _ = roundtrip.trip(data, ZFC, tree / device, "lineorder", columns["lineorder"], device, BENCH / "ssb_fused.zf")
        check(not differ, device, differ)


with tempfile.TemporaryDirectory() as scratch:
    for step in (answered, emulated, beside, wrong_answer, decoded):
        step(pathlib.Path(scratch))
verdict.end()
