"""Round trips of other libraries' own tables: Polars, DuckDB, pandas, NumPy. Each is left out where it is not installed."""

import datetime
import decimal

import numpy as np
import pyarrow as pa
import pytest
from conftest import plain

import zipflow as zf

ROWS = 200
NOON = datetime.datetime(2024, 2, 29, 12, 0, 0, 250_001)


def some(values):
    """Values again and again, every seventh missing."""
    return [None if k % 7 == 3 else values[k % len(values)] for k in range(ROWS)]


def test_polars(tmp_path):
    polars = pytest.importorskip("polars")
    kinds = {"i8": (polars.Int8, [-128, 127]), "u64": (polars.UInt64, [0, 2**64 - 1]), "f32": (polars.Float32, [0.5, -0.0]), "f64": (polars.Float64, [float("inf"), 1e-300]),
             "b": (polars.Boolean, [True, False]), "s": (polars.String, ["", "a longer string than twelve bytes", "ä"]), "z": (polars.Binary, [b"", b"\xff"]),
             "d": (polars.Date, [datetime.date(2024, 2, 29)]), "t": (polars.Time, [datetime.time(1, 2, 3, 4)]), "us": (polars.Datetime("us"), [NOON]),
             "ns": (polars.Datetime("ns", "Europe/Berlin"), [NOON]), "ms": (polars.Duration("ms"), [datetime.timedelta(1)]), "m": (polars.Decimal(20, 2), [decimal.Decimal("-1.25")]),
             "c": (polars.Categorical, ["u", "v"]), "e": (polars.Enum(["never", "low", "high"]), ["high", "low"]), "l": (polars.List(polars.Int32), [[1, None], []]),
             "a": (polars.Array(polars.Float32, 3), [[1.0, 2.0, 3.0]]), "ls": (polars.List(polars.String), [["x", None]]), "n": (polars.Null, [None])}
    frame = polars.DataFrame({name: some(values) for name, (_, values) in kinds.items()}, schema={name: kind for name, (kind, _) in kinds.items()})
    for name, sent in (("whole", frame), ("parts", polars.concat([frame[3:50], frame[:0], frame[20:21]], rechunk=False))):
        path = tmp_path / f"{name}.zfd"
        zf.write_table(sent, path, plain(sent.to_arrow().schema))
        back = polars.DataFrame(zf.open(path).read())
        assert back.schema == sent.schema and back.equals(sent), name
    series = polars.Series(zf.open(tmp_path / "whole.zfd").read(["e"])["e"])
    assert series.dtype == kinds["e"][0] and series.to_list() == frame["e"].to_list()


def test_duckdb(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    rows = duckdb.sql("""select range as k, (range % 100)::tinyint as t, range::utinyint as u, range / 7 as f, range % 2 = 0 as b, case when range % 5 > 0 then 'n' || (range % 3) end as s,
        date '2024-02-29' + range::int as d, timestamp '2024-02-29 12:00:00' + range * interval 1 second as ts, timestamptz '2024-02-29 12:00:00+01' as tz, time '01:02:03' as ti,
        (range / 100)::decimal(15, 2) as m, sum(range::decimal(15, 2)) over (order by range) as wide, ['a', null, 'b' || range] as l, [range::float, 1]::float[2] as e,
        ('\\x00\\xFF' || range)::blob as z, ('x' || range % 2)::enum('x1', 'x0', 'never') as en from range(200)""")
    zf.write_table(rows, tmp_path / "d.zfd", plain(rows.to_arrow_table().schema))
    back = pa.table(zf.open(tmp_path / "d.zfd").read())  # noqa: F841: DuckDB finds it by its name
    arrow, again = rows.to_arrow_table(), duckdb.sql("select * from back")
    direct = duckdb.sql("select * from arrow")  # by Arrow alone DuckDB has text for enums
    assert again.columns == rows.columns and again.types == direct.types
    without_zone = "* replace (epoch_us(tz) as tz)"  # for which DuckDB needs another package
    assert again.project(without_zone).fetchall() == rows.project(without_zone).fetchall()
    assert back["en"].type == arrow["en"].type and back["en"].chunk(0).dictionary.to_pylist() == ["x1", "x0", "never"]
    assert duckdb.sql("select sum(k), max(s), count(s) from back").fetchall() == [(19900, "n2", 160)]


def test_pandas(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({
        "i": np.arange(ROWS, dtype="i2"), "f": some([0.5, -0.0]), "s": some(["", "ä"]), "b": [k % 2 == 0 for k in range(ROWS)], "t": pandas.date_range("2024-02-29", periods=ROWS, freq="h", tz="Europe/Berlin"),
        "d": pandas.to_timedelta(np.arange(ROWS), "s"), "o": pandas.Categorical(some(["low", "high"]), ["never", "low", "high"], ordered=True),
        "c": pandas.Categorical.from_codes(np.arange(ROWS) % 3, ["z", "a", "m"]), "n": pandas.array(some([1, 2]), "Int64")}, index=pandas.Index(np.arange(ROWS) * 2, name="key"))
    empty = frame[:0].drop(columns=["o", "c"])  # a stream without batches has no categories
    for number, sent in enumerate((frame, frame[5:60], empty)):
        path = tmp_path / f"{number}.zfd"
        table = pa.Table.from_pandas(sent)
        zf.write_table(table, path, plain(table.schema))
        pandas.testing.assert_frame_equal(pa.table(zf.open(path).read()).to_pandas(), sent, check_freq=False)
    zf.write_table(frame, tmp_path / "own.zfd", plain(pa.Table.from_pandas(frame).schema))  # by its own stream
    pandas.testing.assert_frame_equal(pa.table(zf.open(tmp_path / "own.zfd").read()).to_pandas(), frame, check_freq=False)


@pytest.mark.parametrize("kind", ["i1", "u2", "i4", "u8", "f2", "f4", "f8", "M8[D]", "M8[s]", "M8[ms]", "M8[us]", "M8[ns]", "m8[s]", "m8[ns]", "?"])
def test_numpy(tmp_path, kind):
    bits = np.random.default_rng(3).integers(0, 256, (ROWS, np.dtype(kind).itemsize), "u1")
    wanted = bits.view("u1").ravel() % 2 == 0 if kind == "?" else np.arange(ROWS).astype(kind) if kind[0] in "Mm" else bits.view(kind).ravel()
    zf.write_table(pa.table({"x": pa.array(wanted)}), tmp_path / "n.zfd", {"x": "plain"})
    for rows in (slice(None), slice(3, 77)):
        back = zf.open(tmp_path / "n.zfd").read(rows=rows)["x"].numpy()
        assert back.dtype == wanted.dtype and back.tobytes() == np.ascontiguousarray(wanted[rows]).tobytes()


def test_numpy_of_two_dimensions(tmp_path):
    wanted = np.random.default_rng(3).random((ROWS, 17), "f4")
    zf.write_table(pa.table({"x": pa.FixedSizeListArray.from_arrays(pa.array(wanted.ravel()), 17)}), tmp_path / "n.zfd", {"x": "plain"})
    back = zf.open(tmp_path / "n.zfd").read(rows=slice(5, 100))["x"]
    assert (back.numpy() == wanted[5:100]).all() and (np.from_dlpack(back) == wanted[5:100]).all()
