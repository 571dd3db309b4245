"""bench/tpch/tpch_run.py at scale factor 0.01: its queries give DuckDB's answers, and a wrong answer is noticed. 77: there is no duckdb or
tpchgen-cli.

    tpch_answers.py ROOT ZFC
"""

import contextlib
import io
import json
import pathlib
import sys
import tempfile

ROOT, ZFC = (pathlib.Path(word).resolve() for word in sys.argv[1:])
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "bench/tpch"))
try:
    import duckdb  # noqa: F401
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)
import tpch_run  # noqa: E402
import verdict  # noqa: E402
from verdict import check  # noqa: E402

if not (pathlib.Path(sys.executable).parent / "tpchgen-cli").exists():
    print("skipped: no tpchgen-cli")
    sys.exit(77)


def ran(tree, *words):
    """The exit status of a run, and {query: whether its answer is right}."""
    with contextlib.redirect_stdout(io.StringIO()):
        status = tpch_run.main([str(tree / "run"), str(ZFC), "--scale", "0.01", "--json", str(tree / "report.json"), *words])
    return status, json.loads((tree / "report.json").read_text())["queries"]


with tempfile.TemporaryDirectory() as scratch:
    status, report = ran(pathlib.Path(scratch))
    check(status == 0 and [*report] == [*tpch_run.SQL] and all(one["right"] for one in report.values()), "other answers than DuckDB's:", report)
    check(report["q1"]["rows"] == 4 and report["q15"]["rows"] > 90, "too few groups:", report)
    tpch_run.SQL["q6"] = tpch_run.SQL["q6"].replace("< 24", "<= 24")
    status, report = ran(pathlib.Path(scratch), "--only", "q6,q14")
    check(status == 1 and [one["right"] for one in report.values()] == [False, True], "a wrong answer is not noticed:", report)
verdict.end()
