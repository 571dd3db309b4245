"""Columns of lists come back with their nulls, empty lists and types; sliced, in batches, by rows; data that lies is refused."""

import array
import decimal
import random

import numpy as np
import pyarrow as pa
import pytest
from test_failures import caught

import zipflow as zf

ROWS = 3000
# Type of the values, and some of them.
VALUES = [(pa.int32(), [1, -5, 70000]), (pa.uint8(), [0, 255]), (pa.float64(), [0.5, -2.25]), (pa.bool_(), [True, False]), (pa.string(), ["", "köln", "zip"]),
          (pa.binary(), [b"", b"\xff\x00"]), (pa.decimal128(30, 2), [decimal.Decimal("1.25"), decimal.Decimal("-300.00")]), (pa.date32(), [0, 20000]),
          (pa.timestamp("ns", "Europe/Berlin"), [10**18, 0]), (pa.duration("s"), [86400, 1]), (pa.float16(), [np.float16(1.5)])]
IDS = [str(kind) for kind, _ in VALUES]


def lists(values, rows, nulls=True, null_values=True, seed=0):
    draw, most = random.Random(seed), [None] * null_values
    return [None if nulls and draw.random() < 0.15 else [draw.choice(values + most) for _ in range(draw.randrange(5))] for _ in range(rows)]


def same(out, table):
    out.validate(full=True)
    assert out.num_rows == table.num_rows
    for name in table.column_names:
        assert out[name].combine_chunks().equals(pa.array(table[name].combine_chunks(), out[name].type)), name


@pytest.mark.parametrize("kind, values", VALUES, ids=IDS)
def test_values(trip, kind, values):
    for nulls, null_values in ((True, True), (False, False)):
        field = pa.field("x", pa.list_(pa.field("value", kind, nullable=null_values)), nullable=nulls)
        table = pa.table([pa.array(lists(values, 400, nulls, null_values), field.type)], schema=pa.schema([field], {"a": "b"}))
        out = trip(table)
        same(out, table)
        assert out.schema.equals(table.schema, check_metadata=True)


def test_sizes_slices_batches_and_ranges(tmp_path):
    """Blocks of any number of rows, and of values; tables that begin within a list array, or have several chunks."""
    whole = pa.table({"k": pa.array(range(ROWS), pa.int32()), "n": pa.array(lists([1, 2, 3], ROWS), pa.list_(pa.int64())),
                      "s": pa.array(lists(["", "a", "bcd"], ROWS, seed=1), pa.list_(pa.string())), "b": pa.array(lists([True, False], ROWS, seed=2))})
    joined = pa.concat_tables([whole.slice(5, 100), whole.slice(0, 0), whole.slice(2000, 999)])
    for number, (table, rows_per_block) in enumerate(((whole, 0), (whole, 700), (whole.slice(17, 901), 64), (joined, 33), (whole.slice(0, 0), 0), (whole.slice(9, 1), 1))):
        path = tmp_path / f"{number}.zfd"
        sizes = zf.write_table(table, path, rows_per_block=rows_per_block)
        with zf.open(path) as file:
            assert {name: plain for name, (plain, _) in sizes.items()} == {field.name: field.plain_bytes for field in file.schema}
            assert all(0 <= sizes[field.name][1] < field.stored_bytes for field in file.schema)  # without their part of the index
            same(pa.table(file.read()), table)
            for begin, end in ((0, 0), (0, 1), (table.num_rows - 1, table.num_rows), (31, 66), (1, 700), (99, 101)):
                begin, end = min(max(begin, 0), table.num_rows), min(max(end, 0), table.num_rows)
                same(pa.table(file.read(["n", "b", "s"], rows=slice(begin, end))), table.select(["n", "b", "s"]).slice(begin, end - begin))


def test_other_layouts(trip):
    """Large lists, lists of one length, and lists of entries of a dictionary."""
    rows = lists([1, 2], 50)
    fixed = [None if k % 4 == 1 else [k, None] for k in range(50)]
    table = pa.table({"large": pa.array(rows, pa.large_list(pa.int16())), "fixed": pa.array(fixed, pa.list_(pa.int16(), 2)),
                      "coded": pa.array(rows, pa.list_(pa.int16())), "none": pa.array([[]] * 50, pa.list_(pa.float32()))})
    coded = table["coded"].combine_chunks()
    table = table.set_column(2, "coded", pa.ListArray.from_arrays(coded.offsets, coded.values.dictionary_encode(), mask=coded.is_null()))
    for some in (table, table.slice(3, 40)):
        out = trip(some)
        out.validate(full=True)
        assert out.schema.equals(some.schema)
        assert all(out[name].to_pylist() == some[name].to_pylist() for name in table.column_names)


def test_values_of_null_lists_are_left_out(trip):
    """A null list may have values in Arrow."""
    data = pa.ListArray.from_arrays(pa.array([0, 2, 5, 6], pa.int32()), pa.array([1, 2, 3, 4, 5, 6]), mask=pa.array([False, True, False]))
    column = trip(pa.table({"x": data}))["x"].combine_chunks()
    assert column.to_pylist() == [[1, 2], None, [6]] and column.values.to_pylist() == [1, 2, 6]


def test_fields_and_columns(tmp_path):
    table = pa.table({"a": pa.array([["x", None], None, []], pa.list_(pa.string()))})
    zf.write_table(table, tmp_path / "t.zfd", {"a": "strings"})
    with zf.open(tmp_path / "t.zfd") as file:
        field = file.schema["a"]
        assert (field.type, field.format, field.nullable, field.rows, len(file.schema)) == ("list<string?>?", "+l", True, 3, 1)
        assert "values: nullable(validity: rle" in field.codec and "a: list<string?>? = " in repr(file.schema)
        assert pa.schema(file.schema).equals(table.schema) and pa.ipc.read_schema(pa.py_buffer(file.arrow_schema)).equals(table.schema)
        assert file.sizes()["a"]["offsets"] == 32 and "`+l`, nullable" in file.explain("a")
        column = file.read()["a"]
        assert (len(column), column.null_count, column.format, len(column.values), column.values.name) == (3, 1, "+l", 2, pa.list_(pa.string()).value_field.name)
        assert np.asarray(column.offsets).tolist() == [0, 2, 2, 2] and np.asarray(column.values.offsets).tolist() == [0, 1, 1]
        values = column.values
        del column
        assert pa.array(values).to_pylist() == ["x", None]
        assert pa.schema(file.read()).equals(table.schema)
        with pytest.raises(TypeError, match="`\\+l`"):
            file.read(rows=slice(0, 1))["a"].numpy()
    bad = pa.table({"a": pa.array([[b"\xff"]], pa.list_(pa.binary()))}).cast(pa.schema([pa.field("a", pa.list_(pa.binary()))]))
    zf.write_table(bad, tmp_path / "b.zfd")
    assert zf.open(tmp_path / "b.zfd").read()["a"].values.format == "z"


def test_strings_that_are_not_utf8(tmp_path):
    text = pa.Array.from_buffers(pa.string(), 2, [None, pa.array([0, 1, 3], pa.int32()).buffers()[1], pa.py_buffer(b"a\xff\xfe")])
    data = pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), text)
    zf.write_table(pa.table({"x": data}), tmp_path / "t.zfd")
    with zf.open(tmp_path / "t.zfd") as file:
        assert "x.values, row 1" in caught(zf.InputError, file.read).place
        assert file.read(rows=slice(0, 1))["x"].values.format == "u"
        assert pa.table(file.read(binary=True))["x"].to_pylist() == [[b"a"], [b"\xff\xfe"]]


def test_a_program(tmp_path):
    program = zf.Program("table t { a: list<i32> = plain, values: plain; b: list<string?>? = delta(bitpack), validity: plain, values: nullable(values: strings); }")
    assert list(program.columns) == ["a", "b"] and program.columns["b"][0] == "list<string?>?"
    good = pa.table([pa.array([[1], []], pa.list_(pa.int32())), pa.array([None, ["x", None]], pa.list_(pa.string()))], names=["a", "b"])
    sizes = zf.write_table(good, tmp_path / "t.zfd", program)
    assert sizes["a"][0] == 2 * 8 + 4
    same(pa.table(zf.open(tmp_path / "t.zfd").read()), good)
    other = good.set_column(0, "a", pa.array([1, 2], pa.int32()))
    assert "is of lists" in str(caught(zf.UsageError, zf.write_table, other, tmp_path / "u.zfd", program))
    null = good.set_column(0, "a", pa.array([[1], None], pa.list_(pa.int32())))
    assert "row 1 is null" in str(caught(zf.InputError, zf.write_table, null, tmp_path / "u.zfd", program))
    inner = good.set_column(0, "a", pa.array([[1], [2, None]], pa.list_(pa.int32())))
    error = caught(zf.InputError, zf.write_table, inner, tmp_path / "u.zfd", program)
    assert error.place == "a.values" and "row 2 is null" in str(error)


@pytest.mark.parametrize("kind", [pa.list_(pa.list_(pa.int32())), pa.list_(pa.struct([("a", pa.int32())])), pa.list_view(pa.int8())], ids=str)
def test_refused(tmp_path, kind):
    error = caught(zf.UnsupportedError, zf.write_table, pa.table({"pairs": pa.nulls(2, kind)}), tmp_path / "t.zfd")
    assert error.place == "pairs" and "pairs" in str(error)
    name = {"list<item: list<item: int32>>": "list<list<int32>>", "list<item: struct<a: int32>>": "list<struct<int32>>"}.get(str(kind), "list_view<int8>")
    assert f"has Arrow's type {name}, which is not supported" in str(error) and error.hint


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("offsets", [[0, 3, 1, 4], [-1, 0, 1, 2], [0, 1, 2, 5], [0, 0, 2**31 - 1, 2**31 - 1]], ids=str)
def test_offsets_that_lie(tmp_path, large, offsets):
    kind = pa.large_list(pa.int8()) if large else pa.list_(pa.int8())
    memory = array.array("q" if large else "i", [0, 1, 2, 4])
    data = pa.Array.from_buffers(kind, 3, [None, pa.py_buffer(memory)], children=[pa.array([1, 2, 3, 4], pa.int8())])
    table = pa.table({"x": data})
    memory[:] = array.array(memory.typecode, offsets)  # behind the back of pyarrow, which looks at them when it makes the table
    error = caught(zf.InputError, zf.write_table, table, tmp_path / "t.zfd")
    assert error.place == "x" and "offsets of row" in str(error)
    assert not (tmp_path / "t.zfd").exists()


def test_parts_are_no_columns(tmp_path):
    """Names of parts of lists, which the library's columns have: unknown columns, and no other column's rows."""
    table = pa.table({"a": pa.array([[1, 2], None, []], pa.list_(pa.int32())), "n": pa.array([10, 20, 30]), "m": pa.array([7, 8, 9])})
    zf.write_table(table, tmp_path / "p.zfd")
    f = zf.open(tmp_path / "p.zfd")
    for name in ("a.values", "a.valid", "zz"):
        for call in (f.read, f.sizes):
            error = caught(zf.ColumnError, call, [name])
            assert error.hint == ("it has a, n, m" if name == "zz" else "did you mean a?") and name in str(error) and error.code == "ZF1105"
        with pytest.raises(zf.ColumnError):
            f.read([name], device="cuda:0")
    assert pa.table(f.read(["m", "a"])).to_pydict() == {"m": [7, 8, 9], "a": [[1, 2], None, []]}
