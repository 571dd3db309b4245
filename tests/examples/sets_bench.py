"""bench/sets/sets_run.py with tens of sets: all counts are right, on the CPU and the emulated GPU, and wrong ones are noticed. 77: there
is no numpy.

    sets_bench.py ROOT ZFC
"""

import contextlib
import io
import json
import os
import pathlib
import sys
import tempfile

ROOT, ZFC = (pathlib.Path(word).resolve() for word in sys.argv[1:])
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "bench/sets"))
try:
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)
import sets_data  # noqa: E402
import sets_run  # noqa: E402
import verdict  # noqa: E402
from verdict import check  # noqa: E402


def ran(tree, *words):
    """The exit status of a run, and its rows."""
    report = tree / "report.json"
    with contextlib.redirect_stdout(io.StringIO()):
        status = sets_run.main([str(tree / "run"), str(ZFC), "--small", "--json", str(report), *words])
    return status, json.loads(report.read_text())["rows"]


def counted(tree):
    sets_run.DENSITIES = [0.1, 0.004]
    for device in ("cpu", "emu"):
        status, rows = ran(tree, "--device", device, *(["--repeat", "2"] if device == "emu" else []))
        check(status == 0 and all(row["right"] for row in rows), f"wrong counts on {device}:", [row["fault"] for row in rows])
        check([row["layout"] for row in rows] == [*sets_data.LAYOUTS] * 4, "layouts are missing")
        check(len({row["point"] for row in rows}) == 4, "points are missing")
        if device == "emu":
            check(all((row["device"]["squares"] > 0) == (row["layout"] != "sorted") for row in rows), "squares of batmap and bitmap alone")
            check(all(len(row["device"]["seconds"]) == 2 for row in rows), "runs that are timed")
    check(any(row["missing"] > 0 for row in rows), "every element found a slot: nothing was corrected")


def damaged(tree, name, replaced):
    kept = getattr(sets_run, name)
    setattr(sets_run, name, replaced(kept))
    status, rows = ran(tree, "--points", "headline", "--layouts", "batmap")
    setattr(sets_run, name, kept)
    check(status == 1 and not rows[0]["right"], f"a wrong count was not noticed: {name}")


def one_more(query):
    def changed(*words):
        counts, said = query(*words)
        counts[3, 5] += 1
        return counts, said

    return changed


def moved(query):
    """Rows and columns still have their sums."""

    def changed(*words):
        counts, said = query(*words)
        counts = np.triu(counts) + np.triu(counts, 1).T
        counts[np.ix_([1, 2], [3, 4])] += [[1, -1], [-1, 1]]
        counts[np.ix_([3, 4], [1, 2])] += [[1, -1], [-1, 1]]
        return np.triu(counts), said

    return changed


def sampled_all(tree):
    """With enough pairs in the sample also counts are noticed whose rows have the right sums."""
    kept, sets_run.SAMPLE = sets_run.SAMPLE, 20_000
    damaged(tree, "query", moved)
    sets_run.SAMPLE = kept


with tempfile.TemporaryDirectory() as name:
    scratch = pathlib.Path(name)
    os.environ["ZIPFLOW_CACHE_DIR"] = f"{name}/cache"
    counted(scratch)
    damaged(scratch, "query", one_more)
    damaged(scratch, "corrected", lambda kept: lambda counts, sets, missing: kept(counts, sets, ()))
    sampled_all(scratch)
verdict.end()
