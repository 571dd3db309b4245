"""Dictionaries, views and rows of one length: what they are in memory, what a file keeps of them, and files whose schema lies."""

import decimal

import numpy as np
import pyarrow as pa
import pytest
from conftest import plain
from test_failures import caught

import zipflow as zf
from zipflow import _ipc, _runtime

TEXT = ["", "köln", "a longer string than twelve bytes", "x" * 300]


def same(out, table):
    """Equal in everything: types, metadata, entries of dictionaries and their order."""
    out.validate(full=True)
    assert out.schema.equals(table.schema, check_metadata=True)
    for name in table.column_names:
        one, other = out[name].combine_chunks(), table[name].combine_chunks()
        if pa.types.is_dictionary(one.type):
            assert one.dictionary.equals(other.dictionary) and one.indices.equals(other.indices), name
        assert one.to_pylist() == other.to_pylist(), name


def coded(entries, indices, kind=pa.int8(), ordered=False, values=pa.string()):
    return pa.DictionaryArray.from_arrays(pa.array(indices, kind), pa.array(entries, values), ordered=ordered)


def test_dictionaries_come_back(trip):
    """Entries in their order, unused ones too; index type; order."""
    table = pa.table({"plain": coded(["b", "a", "never"], [1, 0, None, 1]), "ordered": coded(["low", "high", "middle"], [2, 1, 0, None], pa.uint16(), True),
                      "days": coded([3, 1, 2], [0, 2, 2, 1], pa.int64(), values=pa.date32()), "flags": coded([True, False], [1, None, 0, 1], pa.uint8(), values=pa.bool_()),
                      "sums": coded([decimal.Decimal("1.5"), decimal.Decimal("-2.0")], [1, 1, 0, 0], values=pa.decimal256(30, 1)),
                      "views": coded(TEXT, [3, 2, 1, 0], pa.int32(), values=pa.string_view()), "five": coded([b"12345", b"abcde"], [1, 0, 1, None], values=pa.binary(5)),
                      "none": coded([], [None] * 4), "floats": coded([-0.0, 0.0, float("nan")], [2, 1, 0, 0], values=pa.float64())})
    for some, ranges in ((table, (slice(None), slice(1, 1))), (table.slice(1, 2), (slice(0, 1),))):
        for rows in ranges:
            out = trip(some, plain(some.schema), rows=rows)
            wanted = some.slice(0, 1) if rows.stop == 1 and rows.start == 0 else some.slice(0, 0) if rows.stop == 1 else some
            assert out.drop(["floats"]).schema.equals(wanted.drop(["floats"]).schema, check_metadata=True)
            same(out.drop(["floats", "none"]), wanted.drop(["floats", "none"]))
            assert out["none"].to_pylist() == wanted["none"].to_pylist()
            one, other = out["floats"].combine_chunks(), wanted["floats"].combine_chunks()
            assert one.indices.equals(other.indices) and bytes(one.dictionary.buffers()[1])[:24] == bytes(other.dictionary.buffers()[1])[:24]


def test_dictionaries_of_batches(trip):
    """Batches with other dictionaries: entries behind those of the first, in the order of the rows."""
    table = pa.table({"x": pa.chunked_array([coded(["a", "b"], [1, 0]), coded(["c", "never", "a"], [2, 0, None]), coded(["d"], [0])])})
    out = trip(table)["x"].combine_chunks()
    assert out.to_pylist() == ["b", "a", "a", "c", None, "d"] and out.dictionary.to_pylist() == ["a", "b", "c", "d"]


def test_null_and_double_entries(trip):
    data = coded(["a", None, "b", "a"], [1, 3, 2, 0, None])
    out = trip(pa.table({"x": data}))["x"].combine_chunks()
    assert out.to_pylist() == [None, "a", "b", "a", None] and out.null_count == 2 and out.dictionary.to_pylist() == ["a", "b", "a"]
    many = trip(pa.table({"x": coded(["a", "b", "a", *map(str, range(60))], [2, 0, 1])}))["x"].combine_chunks()
    assert len(many.dictionary) == 63 and many.indices.to_pylist() == [0, 0, 1]  # the first of equals, however many entries there are


def test_more_entries_than_indices(trip):
    """200 entries in two batches of int8: wider indices, as offsets become wider."""
    for kind, wide in ((pa.int8(), pa.int16()), (pa.uint8(), pa.uint16())):
        parts = [coded([f"{letter}{k}" for k in range(100)], list(range(100)), kind) for letter in "abc"]
        out = trip(pa.table({"x": pa.chunked_array(parts)}))["x"].combine_chunks()
        assert out.type == pa.dictionary(wide, pa.string()) and out.to_pylist() == [value for part in parts for value in part.to_pylist()]
    parts = [coded([str(k) for k in range(100)], list(range(100))), coded([str(k) for k in range(100, 128)], list(range(28)))]
    assert trip(pa.table({"x": pa.chunked_array(parts)}))["x"].type == parts[0].type  # 128 entries are the most of int8


def test_order_that_changes(tmp_path):
    """An order that batches do not share is refused, and so is one that a file cannot keep. Without order both are written."""
    quick = {"x": "plain(strings)"}
    good = pa.chunked_array([coded(["a", "b", "c"], [1], ordered=True), coded(["a", "b"], [0], ordered=True)])
    zf.write_table(pa.table({"x": good}), tmp_path / "g.zfd", quick)
    assert pa.table(zf.open(tmp_path / "g.zfd").read())["x"].combine_chunks().dictionary.to_pylist() == ["a", "b", "c"]
    for entries in (["b", "a"], ["a", "b", "c", "d"], ["a", "c"], ["ab"]):
        wrong = pa.chunked_array([coded(["a", "b", "c"], [1], ordered=True), coded(entries, [0], ordered=True)])
        error = caught(zf.UnsupportedError, zf.write_table, pa.table({"x": wrong}), tmp_path / "w.zfd", quick)
        assert error.place == "x" and "another order" in str(error)
    numbers = pa.chunked_array([coded([1, 2], [1], ordered=True, values=pa.int64()), coded([1, 3], [1], ordered=True, values=pa.int64())])
    assert "another order" in str(caught(zf.UnsupportedError, zf.write_table, pa.table({"x": numbers}), tmp_path / "w.zfd", {"x": "plain"}))
    large = ["x" * 600_000, "y" * 600_000]
    error = caught(zf.UnsupportedError, zf.write_table, pa.table({"x": coded(large, [0], ordered=True)}), tmp_path / "w.zfd", quick)
    assert error.place == "x" and "1200032 bytes" in str(error) and not (tmp_path / "w.zfd").exists()
    zf.write_table(pa.table({"x": coded(large, [1, 0])}), tmp_path / "l.zfd", quick)
    assert zf.open(tmp_path / "l.zfd").nbytes < 1_300_000  # the entries are not kept, and come by the rows
    assert pa.table(zf.open(tmp_path / "l.zfd").read())["x"].to_pylist() == large[::-1]


def test_what_a_file_keeps_is_hidden(tmp_path):
    table = pa.table({"a": pa.array([1]), "x": coded(["b"], [0])}).replace_schema_metadata({"key": "value"})
    zf.write_table(table, tmp_path / "t.zfd")
    with zf.open(tmp_path / "t.zfd") as f:
        assert f.metadata == {"key": b"value"} and f.schema["x"].dictionary == "u" and f.schema["a"].dictionary is None
        assert "dictionary of `u`" in f.explain("x")
        zf.write_table(f.read(), tmp_path / "again.zfd")
    same(pa.table(zf.open(tmp_path / "again.zfd").read()), table)
    error = caught(zf.UsageError, zf.write_table, table.replace_schema_metadata({"zipflow:x": ""}), tmp_path / "t.zfd")
    assert "zipflow:x" in str(error)


def test_entries_that_are_no_text(tmp_path):
    """Entries that no row uses are read, too, so they are text where the type is."""
    words = pa.array([b"ok", b"\xff"]).view(pa.string())
    table = pa.table({"good": coded(["a", "b"], [0, 1]), "x": pa.DictionaryArray.from_arrays(pa.array([0, 0], pa.int8()), words),
                      "l": pa.ListArray.from_arrays([0, 1, 2], pa.DictionaryArray.from_arrays(pa.array([0, 0], pa.int8()), words))})
    zf.write_table(table, tmp_path / "t.zfd")
    with zf.open(tmp_path / "t.zfd") as f:
        assert f.read(["good"])["good"].dictionary is not None
        for name in ("x", "l"):
            error = caught(zf.InputError, f.read, [name])
            assert "entry 1 of the column's dictionary is not UTF-8" in str(error) and f"column {name}" in error.place and "binary=True" in error.hint
            with pytest.raises((OSError, pa.ArrowInvalid), match="not UTF-8"):
                pa.RecordBatchReader.from_stream(f.batches([name])).read_all()
        assert f.read(["x"], binary=True)["x"].dictionary.values is not None and pa.array(f.read(["x"], binary=True)["x"]).dictionary.to_pylist() == [b"ok", b"\xff"]


def test_entries_that_lie(tmp_path):
    """Entries that anybody may have made are refused, or are entries; never stray reads."""
    words = pa.table({"x": coded(["abc", "de"], [1, 0]), "n": coded([7, 8], [1, 0], values=pa.int32())})
    zf.write_table(words, tmp_path / "t.zfd")
    with zf.open(tmp_path / "t.zfd") as f:
        container, owner = f._opened()
        text, number = f.schema["x"], f.schema["n"]
        f.read()

        def read(field, entries):
            column = container.decode(zf.Column, field._number, 0, 2, 1, field._arrow, entries, None)
            return pa.array(column)

        assert text._entries == b"\2" + bytes(7) + b"".join(k.to_bytes(8, "little") for k in (0, 3, 5)) + b"abcde"
        assert read(text, text._entries).dictionary.to_pylist() == ["abc", "de"] and read(text, None).dictionary.to_pylist() == ["de", "abc"]
        assert read(number, number._entries).dictionary.to_pylist() == [7, 8]
        for field in (text, number):
            good, refused = field._entries, 0
            for at in range(len(good)):
                for value in (0, 1, 127, 255):
                    try:
                        out = read(field, good[:at] + bytes([value]) + good[at + 1:])
                        assert out.to_pylist() == words[field.name].to_pylist()
                    except zf.InputError as error:
                        refused += "entries of a dictionary" in str(error) or "UTF-8" in str(error)
                if at < len(good) - 1:
                    caught(zf.InputError, read, field, good[:at]) if field is number or at < 32 else None
            assert refused > 8


def test_columns_of_layouts(trip, tmp_path):
    """The memory of indices and entries, views, rows of one length."""
    table = pa.table({"d": coded(["b", "a"], [1, 0, None]), "v": pa.array(TEXT[:3], pa.string_view()), "w": pa.array([b"ab", None, b"cd"], pa.binary(2)),
                      "e": pa.array([[1, 2], [3, 4], [5, 6]], pa.list_(pa.float32(), 2)), "m": pa.array([[1, 2], None, [5, 6]], pa.list_(pa.int16(), 2)), "n": pa.nulls(3)})
    zf.write_table(table, tmp_path / "t.zfd", plain(table.schema))
    with zf.open(tmp_path / "t.zfd") as f:
        assert [field.format for field in f.schema] == ["c", "vu", "w:2", "+w:2", "+w:2", "n"]
        t = f.read()
    same(pa.table(t), table)
    d, v, w, e, m, n = t.columns
    assert np.asarray(d.values).tolist() == [1, 0, 0] and pa.array(d.dictionary).to_pylist() == ["b", "a"] and "2 entries of `u`, 1 nulls" in repr(d)
    assert d.nbytes == 3 + 1 + 3 * 4 + 2 and t["w"].dictionary is None
    assert bytes(memoryview(w.values)) == b"ab\0\0cd" and w.offsets is None and w.null_count == 1
    assert np.asarray(v.offsets).tolist() == [0, 0, 5, 38] and v.nbytes == 38 + 32 + 48 + 1
    assert e.numpy().tolist() == [[1, 2], [3, 4], [5, 6]] and e.numpy().dtype == np.float32 and e.offsets is None and len(e.values) == 6
    view, tensor = memoryview(e), np.from_dlpack(e)
    assert (view.ndim, view.shape, view.strides, view.format, view.readonly) == (2, (3, 2), (8, 4), "f", True) and tensor.shape == (3, 2)
    assert tensor.ctypes.data == e.numpy().ctypes.data == np.asarray(e.values).ctypes.data and np.from_dlpack(e, copy=True).tolist() == e.numpy().tolist()
    assert np.asarray(m.values.values).tolist() == [1, 2, 0, 0, 5, 6] and m.values.null_count == 2
    assert n.values is None and n.validity is None and n.null_count == 3 and n.nbytes == 0
    for column, words in ((d, "is a dictionary"), (m, "1 nulls"), (v, "`vu`.*offsets"), (w, "`w:2`"), (n, "`n`")):
        with pytest.raises(BufferError, match=words):
            column.__dlpack__()
        with pytest.raises((TypeError, BufferError), match="dictionary|null|NumPy"):
            column.numpy()
    inner = trip(pa.table({"x": pa.array([[1, None]], pa.list_(pa.int8(), 2))}))
    assert inner["x"].to_pylist() == [[1, None]]
    zf.write_table(inner, tmp_path / "i.zfd")
    with pytest.raises(BufferError, match="1 nulls"):
        zf.open(tmp_path / "i.zfd").read()["x"].numpy()


def test_values_that_null_lists_hide(trip):
    """Lists of one length have values where they are null: they are left out, even if they are null and must not be."""
    field = pa.field("x", pa.list_(pa.field("v", pa.int32(), nullable=False), 2))
    values = pa.array([1, 2, None, 4, 5, 6], pa.int32())
    data = pa.Array.from_buffers(field.type, 3, [pa.py_buffer(b"\5")], 1, children=[values])
    out = trip(pa.table([data], schema=pa.schema([field])))
    assert out["x"].to_pylist() == [[1, 2], None, [5, 6]] and out.schema.field("x") == field
    text = pa.Array.from_buffers(pa.list_(pa.string(), 2), 3, [pa.py_buffer(b"\5")], 1, children=[pa.array(["a", "b", "hidden", None, "c", "d"])])
    assert trip(pa.table({"x": text}))["x"].to_pylist() == [["a", "b"], None, ["c", "d"]]
    for kind, rows in ((pa.binary(2), [b"ab", b"cd"]), (pa.dictionary(pa.int8(), pa.string()), ["a", "b"]), (pa.dictionary(pa.int8(), pa.binary(1)), [b"a", b"b"])):
        inner = pa.field("v", kind, nullable=False)  # null lists get no empty strings, and no entries for them
        of = pa.array(rows, kind.value_type).dictionary_encode().cast(kind) if pa.types.is_dictionary(kind) else pa.array(rows, kind)
        lists = pa.Array.from_buffers(pa.list_(inner, 1), 2, [pa.py_buffer(b"\2")], 1, children=[of])
        out = trip(pa.table({"x": lists}))["x"].combine_chunks()
        out.validate(full=True)
        assert out.to_pylist() == [None, rows[1:]] and (not pa.types.is_dictionary(kind) or out.values.dictionary.to_pylist() == rows)
        assert trip(pa.table({"x": lists.slice(0, 1)}), rows=slice(0, 1))["x"].to_pylist() == [None]
    wrong = pa.Array.from_buffers(field.type, 3, [pa.py_buffer(b"\6")], 1, children=[values])
    error = caught(zf.InputError, trip, pa.table([wrong], schema=pa.schema([field])))
    assert error.place == "x.values" and "row 2 is null" in str(error)


@pytest.mark.parametrize("data, form, row", [
    (pa.array(["ab", "abc"]), "w:2", 1), (pa.array([True, None]), "n", None), (pa.array([decimal.Decimal(10**9 - 1), decimal.Decimal(3 * 10**9)], pa.decimal128(11, 0)), "d:9,0,32", 1),
    (pa.array([None, decimal.Decimal(-99), decimal.Decimal(-100)], pa.decimal128(12, 0)), "d:2,0", 2), (pa.array([decimal.Decimal(9), decimal.Decimal(10)], pa.decimal64(12, 0)), "d:1,0,64", 1),
    (coded([decimal.Decimal(5), decimal.Decimal(10**17)], [0, 1], values=pa.decimal128(38, 0)), ("c", "d:17,0"), None),
    (pa.array([[decimal.Decimal("1.5")], [decimal.Decimal("12.5")]], pa.list_(pa.decimal128(12, 1))), ("+l", "d:2,1"), None),
    (pa.array([[1, 2], [3]], pa.list_(pa.int32())), "+w:2", 1), (pa.array([[1], None], pa.list_(pa.int32())), "+w:2", 0),
    (pa.array([["ab"], ["c"]], pa.list_(pa.string())), ("+l", "w:2"), None), (coded(["ab", "abc"], [0, 0, 1]), ("c", "w:2"), None)], ids=str)
def test_schemas_that_rows_do_not_have(tmp_path, monkeypatch, data, form, row):
    encode = _ipc.encode

    def lie(field):
        outer, inner = form if isinstance(form, tuple) else (form, None)
        children = [(inner, *child[1:]) for child in field[4]] if inner else field[4]
        return (outer, *field[1:4], children, field[5] and (inner, *field[5][1:]))

    monkeypatch.setattr(_ipc, "encode", lambda fields, pairs: encode([lie(field) for field in fields], pairs))
    zf.write_table(pa.table({"x": data}), tmp_path / "t.zfd")
    error = caught(zf.InputError, zf.open(tmp_path / "t.zfd").read)
    assert "the rows do not have" in str(error) and f"`{form if isinstance(form, str) else form[1]}`" in str(error)
    assert (", row" not in error.place) if row is None else error.place.endswith(f"column x, row {row}")


def test_digits_of_a_wider_program(tmp_path):
    """A type may have fewer digits than its column, as long as no row has more, and then it comes back. On a GPU it is the column's."""
    from zipflow import _types

    kind = pa.decimal128(3, 1)
    table = pa.table([pa.array([decimal.Decimal("99.9"), None, decimal.Decimal("-99.9")], kind)], schema=pa.schema([pa.field("x", kind)]))
    zf.write_table(table, tmp_path / "t.zfd", zf.Program("table t { x: decimal(15, 1)? = nullable(values: bitpack); }"))
    with zf.open(tmp_path / "t.zfd") as f:
        out = pa.table(f.read())
        assert out.equals(table) and out.schema.equals(table.schema) and pa.RecordBatchReader.from_stream(f).read_all().equals(table)
        assert _types.on_gpu(f.schema["x"]._arrow, f.schema["x"]._digits)[1] == "d:15,1,64"

def test_binary_and_gpu_fields(tmp_path):
    """Text as bytes keeps its layout; a GPU has plain layouts."""
    from zipflow import _types

    table = pa.table({"d": coded(["a"], [0]), "v": pa.array(["a"], pa.string_view()), "U": pa.array(["a"], pa.large_string()), "l": pa.array([["a"]], pa.list_(pa.string_view())),
                      "w": pa.array([b"ab"], pa.binary(2)), "n": pa.nulls(1), "e": pa.array([[1.0]], pa.list_(pa.float32(), 1)), "m": pa.array([decimal.Decimal(1)], pa.decimal32(5, 0))})
    zf.write_table(table, tmp_path / "t.zfd", plain(table.schema))
    with zf.open(tmp_path / "t.zfd") as f:
        out = pa.table(f.read(binary=True))
        assert [str(kind) for kind in out.schema.types[:4]] == ["dictionary<values=binary, indices=int8, ordered=0>", "binary_view", "large_binary", "list<item: binary_view>"]
        there = [_types.on_gpu(field._arrow) for field in f.schema]
        assert [field[1] for field in there] == ["U", "U", "U", "+L", "Z", "b", "+w:1", "d:5,0,64"] and not any(field[5] for field in there)
        assert [_types.on_gpu(_types.as_bytes(field._arrow))[1] for field in f.schema][:3] == ["Z", "Z", "Z"]


def test_metadata_of_fields(trip):
    inner = pa.field("v", pa.int32(), metadata={"unit": "m"})
    fields = [pa.field("a", pa.int64(), metadata={"k": b"\xff\x00", "ARROW:extension:name": "unknown"}), pa.field("l", pa.list_(inner), metadata={"l": ""}),
              pa.field("d", pa.dictionary(pa.int8(), pa.string()), metadata={"d": "d"}), pa.field("u", pa.uuid())]
    schema = pa.schema(fields, metadata={"s": "t"})
    table = pa.table([pa.array([1]), pa.array([[1]], fields[1].type), coded(["x"], [0]), pa.array([b"0123456789abcdef"], pa.uuid())], schema=schema)
    out = trip(table)
    assert out.schema.equals(schema, check_metadata=True) and out.schema.field("l").type.value_field.metadata == {b"unit": b"m"}
    assert out["u"].to_pylist() == table["u"].to_pylist() and out.schema.field("u").type == pa.uuid()


def test_memory_goes(tmp_path):
    """Entries, views and values go with the last user of any of them."""
    zf.write_table(pa.table({"d": coded(["a"], [0]), "v": pa.array(["a"], pa.string_view()), "e": pa.array([[1.0]], pa.list_(pa.float32(), 1))}), tmp_path / "t.zfd")
    before = _runtime.storages()
    with zf.open(tmp_path / "t.zfd") as f:
        t = f.read()
    assert _runtime.storages() == before + 5
    kept = [pa.table(t), t["d"].dictionary, t["e"].__dlpack__()]
    del t
    assert _runtime.storages() == before + 5
    del kept[0]
    assert _runtime.storages() == before + 3  # the entries, the lists and their values
    kept.clear()
    assert _runtime.storages() == before
