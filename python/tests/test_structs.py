"""Structs are columns of their fields in a file, and structs again in Arrow: with nulls, lists and dictionaries inside, sliced, in batches."""

import itertools
import random
import subprocess
import sys

import pyarrow as pa
import pytest

import zipflow as zf
from conftest import ROWS

POINT = pa.struct([pa.field("x", pa.int64(), nullable=False), pa.field("y", pa.float32(), metadata={"unit": "m"})])
DEEP = pa.struct([pa.field("where", POINT), pa.field("tags", pa.list_(pa.string())), pa.field("code", pa.dictionary(pa.int8(), pa.string())),
                  pa.field("inner", pa.struct([pa.field("deeper", POINT, nullable=False), pa.field("none", pa.null())]), nullable=False)])


def points(rows):
    return [None if k % 7 == 0 else {"x": k, "y": None if k % 3 == 0 else k / 2} for k in range(rows)]


def table_of(rows=ROWS, nulls=True):
    whole = points(rows)
    full = [one or {"x": 0, "y": None} for one in whole]
    deep = [None if nulls and k % 11 == 5 else {"where": whole[k], "tags": None if k % 5 == 0 else ["t"] * (k % 4), "code": None if k % 6 == 0 else f"c{k % 9}",
                                      "inner": {"deeper": full[k], "none": None}} for k in range(rows)]
    return pa.table([pa.array(range(rows)), pa.array(whole, POINT), pa.array(full, POINT), pa.array(deep, DEEP), pa.array([{} if k % 3 else None for k in range(rows)], pa.struct([])),
                     pa.array([{}] * rows, pa.struct([]))],
                    schema=pa.schema([pa.field("id", pa.int64()), pa.field("point", POINT), pa.field("full", POINT, nullable=False), pa.field("deep", DEEP, metadata={"a": "b"}),
                                      pa.field("empty", pa.struct([])), pa.field("always", pa.struct([]), nullable=False)]))


def check(out, wanted):
    out.validate(full=True)
    assert out.schema.equals(wanted.schema, check_metadata=True)
    assert out.equals(wanted)


@pytest.fixture(scope="module")
def table():
    return table_of()


@pytest.fixture(scope="module")
def path(table, tmp_path_factory):
    at = tmp_path_factory.mktemp("structs") / "t.zfd"
    zf.write_table(table, at, rows_per_block=999)
    return at


@pytest.mark.parametrize("rows", [slice(0, ROWS), slice(0, 0), slice(998, 1001), slice(1003, 5002)])
def test_structs_come_back(path, table, rows):
    wanted = table.slice(rows.start, rows.stop - rows.start)
    with zf.open(path) as f:
        assert pa.schema(f).equals(table.schema, check_metadata=True)
        t = f.read(rows=rows)
        assert pa.schema(t).equals(table.schema, check_metadata=True)
        check(pa.table(t), wanted)
        check(pa.RecordBatchReader.from_stream(f.batches(rows=rows)).read_all(), wanted)
        for name in ("point", "full", "deep", "empty", "always"):
            assert pa.array(t[name]).equals(wanted[name].combine_chunks()) and t[name].null_count == wanted[name].null_count
        check(pa.table(f.read_async(["deep", "id"], rows).result()), wanted.select(["deep", "id"]))


def test_batches_of_uneven_blocks(tmp_path):
    """Columns whose blocks end at different rows: others begin anywhere in their block, and so does what says which structs are there."""
    rows = [None if k % 7 == 3 else {"x": k, "text": chr(97 + k % 26) * 60_000} for k in range(700)]
    kind = pa.struct([pa.field("x", pa.int32(), nullable=False), ("text", pa.string())])
    table = pa.table({"s": pa.array(rows, kind)})
    zf.write_table(table, tmp_path / "t.zfd", {"s.text": "plain(strings)"})
    with zf.open(tmp_path / "t.zfd") as f:
        assert f.schema["s.text"].blocks > 2 and f.schema["s"].fields[0].blocks == 1
        batches = list(pa.RecordBatchReader.from_stream(f))
        assert len(batches) > 2 and any(len(batch) % 8 for batch in batches[:-1])
        check(pa.Table.from_batches(batches), table)


def test_batches_of_many_blocks(path, table):
    with zf.open(path) as f:
        for begin in (0, 1, 1001):
            batches = list(pa.RecordBatchReader.from_stream(f.batches(["deep", "point"], slice(begin, None))))
            assert len(batches) > 5
            for batch in batches:
                batch.validate(full=True)
            check(pa.Table.from_batches(batches), table.select(["deep", "point"]).slice(begin))


def test_dotted_columns(path, table):
    flat = table.select(["point", "deep"]).flatten().flatten().flatten()
    with zf.open(path) as f:
        assert f.schema.names == table.column_names and "point.x" in f.schema and "deep.inner.deeper.y" in f.schema
        field = f.schema["point"]
        assert field.format == "+s" and field.nullable and field.type == "struct<x: i64?, y: f32?>?" and [one.name for one in field.fields] == ["point", "point.x", "point.y"]
        assert field.stored_bytes == sum(one.stored_bytes for one in field.fields) and f.schema["id"].fields == ()
        assert f.schema["deep"].type == ("struct<where: struct<x: i64?, y: f32?>?, tags: list<string?>?, code: string?, inner: struct<deeper: struct<x: i64?, y: f32?>, none: bool?>>?")
        assert "point.x" in f.explain("point") and "deep" in repr(f)
        names = ["point.x", "deep.where.y", "deep.code", "deep.tags"]
        t = f.read(names)
        for name in names:
            assert pa.table(t)[name].to_pylist() == flat[name].to_pylist(), name  # null where a struct around them is
        assert f.read(["point.x"])["point.x"].nullable and f.sizes(["point"])["point"]["values"] == ROWS * 12 + (ROWS + 7) // 8
        s = f.read(["deep"])["deep"]
        assert s.names == ["where", "tags", "code", "inner"] and len(s) == ROWS and list(s) == s.names and "where" in s and "x" not in s
        assert s["where"]["y"].name == "deep.where.y" and pa.array(s["where"]["y"]).to_pylist() == flat["deep.where.y"].to_pylist()
        assert s["inner"].name == "deep.inner" and not s["inner"].nullable and s["inner"].null_count == 0 and s["inner"].validity is None
        assert len(s.validity) == (ROWS + 7) // 8 and s.nbytes > 0 and "nulls" in repr(s) and s.fields[2].dictionary is not None
        with pytest.raises(zf.ColumnError, match="no field 'x'"):
            s["x"]
        with pytest.raises(zf.UnsupportedError, match="point"):
            f.read(["point"], out={"point": bytearray(8)})
        into = bytearray(8 * ROWS)
        f.read(["full.x"], out={"full.x": into})
        assert memoryview(into).cast("q").tolist() == table["full"].combine_chunks().field("x").to_pylist()


def test_slices(tmp_path):
    """Arrays that begin anywhere, at every level, and chunks of them."""
    source = random.Random(3)
    for trial in range(6):
        chunks = []
        for _ in range(4):
            rows, before = source.randrange(40), source.randrange(9)
            whole = table_of(rows + before + source.randrange(9) + 3, False)["deep"].combine_chunks()
            count = len(whole) - 3
            parts = [whole.field(k).slice(k, count) for k in range(4)]
            valid = pa.array([source.random() < .7 for _ in range(count)])
            again = pa.Array.from_buffers(DEEP, count, [valid.buffers()[1]], children=parts)
            chunks.append(again.slice(before, rows))
        table = pa.table({"deep": pa.chunked_array(chunks, DEEP)})
        batches = [pa.record_batch([chunk], names=["deep"]) for chunk in chunks]
        for given in (table, table.slice(3, 20), pa.RecordBatchReader.from_batches(table.schema, [batch.slice(1) for batch in batches])):
            wanted = given if isinstance(given, pa.Table) else pa.Table.from_batches([batch.slice(1) for batch in batches])
            zf.write_table(given, tmp_path / "t.zfd", rows_per_block=7)
            with zf.open(tmp_path / "t.zfd") as f:
                for out in (pa.table(f.read()), pa.RecordBatchReader.from_stream(f).read_all()):  # with the entries of all chunks
                    out.validate(full=True)
                    assert out.schema.equals(wanted.schema, check_metadata=True) and out.to_pylist() == wanted.to_pylist()


def test_hidden_nulls(tmp_path):
    """A field that is not nullable may be null where its struct is, and nowhere else."""
    kind = pa.struct([pa.field("x", pa.int32(), nullable=False), pa.field("in", pa.struct([pa.field("y", pa.string(), nullable=False)]), nullable=False)])
    x, y = pa.array([1, None, 3], pa.int32()), pa.array(["a", None, "c"])
    inside = pa.Array.from_buffers(kind[1].type, 3, [None], children=[y])
    good = pa.Array.from_buffers(kind, 3, [pa.array([True, False, True]).buffers()[1]], children=[x, inside])
    table = pa.table({"s": good})
    zf.write_table(table, tmp_path / "t.zfd")
    with zf.open(tmp_path / "t.zfd") as f:
        out = pa.table(f.read())
        check(out, table)
        assert out["s"].chunk(0).field("x").null_count == 0 and f.read(["s.x"])["s.x"].null_count == 1
        check(pa.RecordBatchReader.from_stream(f).read_all(), table)
    bad = pa.Array.from_buffers(kind, 3, [pa.array([False, True, True]).buffers()[1]], children=[x, inside])
    with pytest.raises(zf.InputError, match="row 1 is null.*not nullable") as caught:
        zf.write_table(pa.table({"s": bad}), tmp_path / "u.zfd")
    assert caught.value.place in ("s.x", "s.in.y") and not (tmp_path / "u.zfd").exists()
    gone = pa.Array.from_buffers(kind[1].type, 3, [pa.array([True, False, True]).buffers()[1]], children=[y])
    zf.write_table(pa.table({"s": pa.Array.from_buffers(kind, 3, [pa.array([True, False, True]).buffers()[1]], children=[x, gone])}), tmp_path / "t.zfd")
    whole = pa.Array.from_buffers(kind, 3, [None], children=[pa.array([1, 2, 3], pa.int32()), gone])
    with pytest.raises(zf.InputError, match="row 4 of a struct is null") as caught:
        zf.write_table(pa.table({"s": pa.chunked_array([pa.array([{"x": 1, "in": {"y": "z"}}] * 3, kind), whole])}), tmp_path / "u.zfd")
    assert caught.value.place == "s.in.y"


def test_names(tmp_path):
    """Names with points, of any text, and those of which two would be one."""
    kind = pa.struct([pa.field("b.c", pa.int8()), pa.field("", pa.int8()), pa.field("struct", pa.int8()), pa.field("köln", pa.struct([pa.field("d.e", pa.int8())]))])
    table = pa.table({"a": pa.array([{"b.c": 1, "": 2, "struct": 3, "köln": {"d.e": 4}}, None], kind), "a.b": pa.array([1, 2]), ".": pa.array([{"x": 1}, {"x": 2}])})
    zf.write_table(table, tmp_path / "t.zfd", {"a.b.c": "plain", "a.köln.d.e": "plain"})
    with zf.open(tmp_path / "t.zfd") as f:
        check(pa.table(f.read()), table)
        assert f.schema["a.b.c"].codec.startswith("nullable") and "plain" in f.schema["a.b.c"].codec and len(f.schema["a"].fields) == 6
    one = pa.array([{"b": 1}])
    for columns in ({"a": one, "a.b": pa.array([1])}, {"a": pa.array([{"b.c": 1, "b": {"c": 2}}])}, {"a.b": one, "a": pa.array([{"b.b": 1}])},
                    {"a": pa.Array.from_buffers(pa.struct([("x", pa.int8()), ("x", pa.int8())]), 1, [None], children=[pa.array([1], pa.int8())] * 2)}):
        with pytest.raises(zf.UsageError, match="two columns are called 'a"):
            zf.write_table(pa.table(columns), tmp_path / "u.zfd")
    with pytest.raises(zf.UsageError, match="codecs names the column 'a'"):
        zf.write_table(table.select(["."]), tmp_path / "u.zfd", {"a": "plain"})


ONE, TWO = pa.struct([("a", pa.int64())]), pa.struct([("b", pa.int64())])
S, T, N, B = pa.array([{"a": 1}], ONE), pa.array([{"b": 2}], TWO), pa.array([3]), pa.array([True])
WITHIN = [pa.field("b", ONE, False), pa.field("b", pa.int64())]


@pytest.mark.parametrize("name, columns", [
    ("s", [(S, "s", False), (N, "s", False)]), ("s", [(N, "s", True), (S, "s", False)]), ("s", [(S, "s", False), (T, "s", False)]), ("s", [(S, "s", True), (T, "s", False)]),
    ("s", [(S, "s", False), (B, "s", False)]), ("a.b", [(pa.StructArray.from_arrays([S, N], fields=WITHIN), "a", False)]),
    ("a.b", [(pa.StructArray.from_arrays([S, N], fields=WITHIN), "a", True)]), ("a.b", [(pa.StructArray.from_arrays([S], fields=WITHIN[:1]), "a", False), (N, "a.b", True)])])
def test_names_of_structs(name, columns, tmp_path):
    """A struct that is always there has no column of its own, and yet its name is no other's."""
    table = pa.table([array for array, _, _ in columns], schema=pa.schema([pa.field(name, array.type, null) for array, name, null in columns]))
    with pytest.raises(zf.UsageError, match=f"two columns are called '{name}'"):
        zf.write_table(table, tmp_path / "t.zfd")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kept", [
    [pa.field("s", ONE, False)], [pa.field("s", ONE), pa.field("s", ONE)], [pa.field("s", pa.bool_()), pa.field("s", ONE, False)],
    [pa.field("s", pa.struct([pa.field("a", pa.int64()), pa.field("a", ONE, False)]))]])
def test_schemas_that_lose_a_column(kept, tmp_path, monkeypatch):
    """A schema under which two columns would have one name is not believed: no column hides another."""
    from zipflow import _ipc

    table = pa.table({"s": pa.array([{"a": 1}, None, {"a": 3}], ONE)})
    monkeypatch.setattr(_ipc, "encode", lambda fields, pairs: pa.schema(kept).serialize().to_pybytes())
    zf.write_table(table, tmp_path / "t.zfd")
    flat = {"s": [True, False, True], "s.a": [1, None, 3]}
    with zf.open(tmp_path / "t.zfd") as f:
        assert f.schema.names == ["s", "s.a"] and f.schema["s"].fields == ()
        assert pa.table(f.read()).to_pydict() == flat and pa.RecordBatchReader.from_stream(f.batches()).read_all().to_pydict() == flat
        assert f.read(["s"]).column_names == ["s"] and f.schema["s"].type == "bool"


def test_refused(tmp_path):
    for kind in (pa.list_(POINT), pa.struct([("x", pa.list_(POINT))]), pa.struct([("m", pa.map_(pa.string(), pa.int8()))]), pa.struct([("p", pa.struct([("i", pa.month_day_nano_interval())]))])):
        with pytest.raises(zf.UnsupportedError, match="s"):
            zf.write_table(pa.table({"s": pa.nulls(2, kind)}), tmp_path / "t.zfd")
    deep = pa.array([1])
    for _ in range(70):
        deep = pa.StructArray.from_arrays([deep], ["a"])
    with pytest.raises(zf.UsageError, match="column 's' nests more than 64 types"):
        zf.write_table(pa.table({"s": deep}), tmp_path / "t.zfd")


def test_as_columns(path):
    """Readers that know no structs see the columns."""
    said = subprocess.run([sys.executable, "-m", "zipflow", "inspect", path], capture_output=True, text=True, check=True).stdout
    for name in ("point", "point.x", "point.y", "deep.inner.deeper.x", "always"):
        assert f"{name} " in said or f"{name}:" in said or f'"{name}"' in said, name


FLAT = {"s": pa.array([True, False, True]), "s.x": pa.array([1, None, 3]), "s.y": pa.array([1, 2, 3])}
FLAT_SCHEMA = pa.schema([pa.field("s", pa.bool_(), nullable=False), pa.field("s.x", pa.int64()), pa.field("s.y", pa.int64(), nullable=False)])


@pytest.mark.parametrize("form, parts, flags, believed", [
    ("+s", [("l", "x", 2), ("l", "y", 2)], 2, True), ("+s", [("l", "x", 0), ("l", "y", 0)], 2, True), ("+s", [("l", "x", 2)], 2, True), ("+s", [("tsn:", "x", 2), ("z", "y", 2)], 2, True),
    ("+s", [], 2, True), ("+s", [], 0, True), ("+s", [("l", "x", 2), ("l", "z", 2)], 2, False), ("+s", [("l", "x", 2), ("l", "x", 2)], 2, False), ("+s", [("+s", "x", 2)], 2, False),
    ("+s", [("l", "x", 0)], 0, False), ("+s", [("l", "x", 0)], 0, None), ("+l", [("+s", "x", 2)], 2, False), ("+s", [("+l", "x", 2)], 2, True)])
def test_schemas_that_lie(form, parts, flags, believed, tmp_path, monkeypatch):
    """A schema may say anything: it is believed where the columns fit, and no row is made up."""
    from zipflow import _ipc

    encode = _ipc.encode
    told = (form, "s", flags, [], [(kind, name, bits, [], (), None) for kind, name, bits in parts], None)
    monkeypatch.setattr(_ipc, "encode", lambda fields, pairs: encode([told], pairs))
    table = pa.table(FLAT, schema=FLAT_SCHEMA)
    zf.write_table(table.drop_columns(["s"]) if believed is None else table, tmp_path / "t.zfd")
    with zf.open(tmp_path / "t.zfd") as f:
        if believed is None:  # a null that no type has
            for read in (lambda: pa.table(f.read()), lambda: pa.array(f.read(["s"])["s"]), lambda: pa.RecordBatchReader.from_stream(f).read_all()):
                with pytest.raises((zf.InputError, OSError, pa.ArrowInvalid), match="row 1 of column s.x is null"):
                    read()
            assert pa.table(f.read(["s.x"])).equals(pa.table(FLAT, schema=FLAT_SCHEMA).select(["s.x"]))
            return
        out = pa.table(f.read())
        out.validate(full=True)
        assert pa.RecordBatchReader.from_stream(f).read_all().equals(out) and pa.schema(f).equals(out.schema)
        if not believed:
            assert out.equals(pa.table(FLAT, schema=FLAT_SCHEMA))
            return
        s = out["s"].to_pylist()
        assert [one is None for one in s] == ([False, True, False] if flags else [False] * 3)
        for name, place in itertools.product({name for _, name, _ in parts}, (0, 2)):
            value = s[place][name]
            assert (value if isinstance(value, int) or value is None else value.nanosecond) == FLAT[f"s.{name}"][place].as_py()
        assert set(out.column_names) == {"s", "s.x", "s.y"} - {f"s.{name}" for _, name, _ in parts}
