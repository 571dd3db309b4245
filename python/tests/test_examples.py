"""examples/python: programs that need no GPU, and the cells of the notebook."""

import json
import pathlib
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "python"


def run(name, *words):
    done = subprocess.run([sys.executable, EXAMPLES / name, *map(str, words)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return done.stdout


def test_first_minute(tmp_path):
    said = run("first_minute.py")
    assert "1,000,000 rows" in said and all(step in said for step in ("write_table", "open", "read 1000 rows", "read all", "ratio"))
    pq.write_table(pa.table({"n": [1, 2, None], "s": ["a", "b", None]}), tmp_path / "t.parquet")
    assert "3 rows" in run("first_minute.py", tmp_path / "t.parquet")


def test_frames():
    said = run("frames.py")
    shop = max(range(7), key=lambda s: (sum(k * 31 % 9973 for k in range(s, 100_000, 7)), -s))
    for name in ("DuckDB", "Polars"):
        assert f"{name}: shop {shop} has" in said or f"{name} is not installed" in said


def test_notebook(tmp_path, monkeypatch):
    assert subprocess.run([sys.executable, EXAMPLES / "make_notebook.py", "--check"], capture_output=True, text=True).returncode == 0
    notebook = json.loads((EXAMPLES / "first_minute.ipynb").read_text())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ZIPFLOW_CUDA_LIBRARY", str(tmp_path / "none.so"))
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    names = {}
    for number, cell in enumerate(cells):
        exec(compile(cell, f"cell {number}", "exec"), names)
    assert len(cells) == 5 and len(names["f"]) == 200_000 and names["table"].num_rows == 5
