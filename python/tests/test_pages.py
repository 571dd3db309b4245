"""docs/start-python.md does what it shows: each line is run, and prints what the page says. An example of docs/api-python.md runs, too."""

import doctest
import pathlib
import re

DOCS = pathlib.Path(__file__).parents[2] / "docs"


def test_start(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = re.sub(r"^```.*$", "", (DOCS / "start-python.md").read_text(), flags=re.M)
    test = doctest.DocTestParser().get_doctest(text, {}, "start-python.md", "start-python.md", 0)
    assert len(test.examples) > 20
    out = []
    doctest.DocTestRunner(optionflags=doctest.IGNORE_EXCEPTION_DETAIL).run(test, out=out.append)
    assert not out, "".join(out)


def lineitem(path):
    """A file with the columns that the README reads."""
    import datetime
    import decimal

    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"l_tax": pa.array([decimal.Decimal(k % 9) / 100 for k in range(1000)], pa.decimal128(15, 2)),
                             "l_shipdate": pa.array([datetime.date(1995, 1, 1 + k % 31) for k in range(1000)])}), path)


def readme():
    """The lines of the README's Python."""
    text = (DOCS.parent / "README.md").read_text()
    return re.search(r"```python\n(.*?)```", text, re.DOTALL)[1].splitlines()


def test_readme(tmp_path, monkeypatch, capsys):
    """The README's eight lines run, but for those that need torch and a GPU (on_gpu.py)."""
    monkeypatch.chdir(tmp_path)
    lineitem("lineitem.parquet")
    lines = [line.replace(", torch,", ",") for line in readme()]
    here = [line for line in lines if "torch" not in line and "device=" not in line]
    assert len(lines) == 8 and len(here) == 6
    names = {}
    exec("\n".join(here), names)
    assert names["t"].column_names == ["l_tax", "l_shipdate"] and "decimal(15, 2)" in capsys.readouterr().out


def test_chunks_of_others(tmp_path, monkeypatch):
    """The example of docs/api-python.md writes what it says."""
    import zipflow as zf

    monkeypatch.chdir(tmp_path)
    names = {}
    exec(re.search(r"### Chunks of other programs\n.*?```python\n(.*?)```", (DOCS / "api-python.md").read_text(), re.DOTALL)[1], names)
    with zf.open("log.zfd") as f:
        assert f.read()["log"].numpy().tobytes() == names["text"] and len(names["chunks"]) > 1


def test_reference():
    """docs/api-python.md names every public name."""
    import zipflow as zf

    page = (DOCS / "api-python.md").read_text()
    for name in zf.__all__:
        assert re.search(rf"`(zf\.)?{name}\b", page), name
        value = getattr(zf, name)
        if isinstance(value, type) and not issubclass(value, Exception):
            for member in vars(value):
                assert member.startswith("_") or re.search(rf"\b{member}\b", page), f"{name}.{member}"


def test_queries(tmp_path, monkeypatch):
    """The example of docs/api-python.md gives the revenues of its rows."""
    import decimal

    import pyarrow as pa

    import zipflow as zf

    monkeypatch.chdir(tmp_path)
    prices = pa.array([decimal.Decimal(k) / 100 for k in range(1000)], pa.decimal128(12, 2))
    fields = [pa.field("store", pa.uint16(), nullable=False), pa.field("price", prices.type, nullable=False)]
    zf.write_table(pa.table([pa.array([k % 10 for k in range(1000)], pa.uint16()), prices], schema=pa.schema(fields)), "sales.zfd")
    names = {}
    text = re.search(r"## Queries\n.*?```python\n(.*?)```", (DOCS / "api-python.md").read_text(), re.DOTALL)[1]
    exec(text.replace("cuda:0", "emu"), names)
    found = names["found"]
    assert found["revenue"].tolist() == [sum(range(store, 1000, 10)) for store in range(10)] + [0] * 90
    assert found["cheapest"].tolist() == [*range(10)] + [None] * 90
