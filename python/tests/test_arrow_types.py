"""Round trips of every type through pyarrow, with nulls, empty, sliced and in batches."""

import datetime
import decimal
import random
import subprocess
import sys

import conftest
import numpy
import pyarrow as pa
import pytest

import zipflow as zf

CHOSEN = random.Random(3)
DAY = datetime.date(2024, 2, 29)
NOON = datetime.datetime(2024, 2, 29, 12, 0, 0, 250_001)


def integers(kind):
    low, high = (-(2 ** (kind.bit_width - 1)), 2 ** (kind.bit_width - 1) - 1) if str(kind).startswith("int") else (0, 2 ** kind.bit_width - 1)
    return [low, high] + [CHOSEN.randint(low, high) for _ in range(98)]


VALUES = {kind: integers(kind) for kind in (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())}
VALUES |= {
    pa.float32(): [0.0, -0.0, 1.5, float("inf"), float("-inf"), -2.25e-30] + [k / 8 for k in range(94)],
    pa.float64(): [0.0, -0.0, 0.1, float("inf"), float("-inf"), 1e-300] + [k / 100 for k in range(94)],
    pa.bool_(): [CHOSEN.random() < 0.5 for _ in range(100)],
    pa.date32(): [datetime.date(1, 1, 1), datetime.date(9999, 12, 31)] + [DAY + datetime.timedelta(k) for k in range(98)],
    pa.timestamp("us"): [datetime.datetime(1900, 1, 1)] + [NOON + datetime.timedelta(seconds=k) for k in range(99)],
    pa.decimal128(18, 2): [decimal.Decimal(f"{s}9999999999999999.99") for s in ("", "-")] + [decimal.Decimal(k).scaleb(-2) for k in range(-49, 49)],
    pa.decimal128(1, 0): [decimal.Decimal(k % 19 - 9) for k in range(100)],
    pa.string(): ["", "a", "näme", "日本語", "🙂", "a\0b", "x" * 5000] + [f"word {k % 13}" for k in range(93)],
}
# Types that only the schema of the file tells from a plain number or text.
VALUES |= {pa.timestamp(unit, zone): [k * 1_000_003 - 5 for k in range(100)] for unit, zone in
           (("s", None), ("ms", None), ("ns", None), ("us", "Europe/Berlin"), ("ns", "+05:30"), ("s", "UTC"))}
VALUES |= {pa.duration(unit): [k * 999_983 - 7 for k in range(100)] for unit in ("s", "ms", "us", "ns")}
VALUES |= {pa.time32("s"): [k * 863 for k in range(100)], pa.time32("ms"): [k * 863_001 for k in range(100)],
           pa.time64("us"): [k * 863_000_001 for k in range(100)], pa.time64("ns"): [k * 863_000_000_001 for k in range(100)],
           pa.date64(): [k * 86_400_000 for k in range(-50, 50)], pa.float16(): [k / 4 for k in range(-50, 50)],
           pa.binary(): [b"", b"a", b"\xff\x00\x80"] + [bytes([k, 255 - k]) for k in range(97)],
           pa.decimal128(38, 2): VALUES[pa.decimal128(18, 2)], pa.decimal128(38, 18): [decimal.Decimal(k).scaleb(-18) for k in range(100)]}

OF_THEIR_OWN = set(VALUES)
# Other layouts of the same values.
VALUES |= {kind: VALUES[pa.string()] for kind in (pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string()), pa.dictionary(pa.uint32(), pa.large_string()),
                                                  pa.dictionary(pa.int64(), pa.string_view(), ordered=True))}
VALUES |= {kind: VALUES[pa.binary()] for kind in (pa.large_binary(), pa.binary_view(), pa.dictionary(pa.uint8(), pa.large_binary()))}
VALUES |= {pa.decimal64(15, 2): VALUES[pa.decimal128(18, 2)][2:], pa.decimal32(9, 2): VALUES[pa.decimal128(18, 2)][2:], pa.decimal256(38, 2): VALUES[pa.decimal128(18, 2)],
           pa.dictionary(pa.int8(), pa.timestamp("ns")): [k % 5 for k in range(100)], pa.dictionary(pa.int32(), pa.int64()): [k % 5 for k in range(100)],
           pa.dictionary(pa.int16(), pa.bool_()): VALUES[pa.bool_()], pa.dictionary(pa.uint64(), pa.decimal128(9, 2)): VALUES[pa.decimal128(18, 2)][2:],
           pa.dictionary(pa.uint16(), pa.binary(2)): [bytes([k % 7, 1]) for k in range(100)],
           pa.binary(3): [bytes([k, 255 - k, 0]) for k in range(100)], pa.binary(0): [b""] * 100, pa.null(): [None] * 100,
           pa.list_(pa.float32(), 3): [[k, k / 2, -k] for k in range(100)], pa.list_(pa.string(), 2): [[str(k), "ä"] for k in range(100)], pa.list_(pa.int8(), 0): [[]] * 100,
           pa.large_list(pa.bool_()): [[True] * (k % 4) for k in range(100)], pa.list_(pa.string_view()): [["a longer string than twelve bytes", "s"]] * 100,
           pa.list_(pa.dictionary(pa.int8(), pa.string())): [["x", str(k % 3)] for k in range(100)], pa.list_(pa.null()): [[None] * (k % 3) for k in range(100)],
           pa.list_(pa.binary(2), 2): [[b"ab", bytes([k, 0])] for k in range(100)], pa.large_list(pa.decimal32(5, 1)): [[decimal.Decimal("1.5")]] * 100}
FORMS = list(VALUES.items())
IDS = [str(kind) for kind, _ in FORMS]
OWN = [form for form in FORMS if form[0] in OF_THEIR_OWN]  # test_any_table.py makes slices, nulls and empty tables of all


def simple(kind):
    return conftest.plain([pa.field("x", kind)])


def told(array):
    """Rows as text, which tells -0.0 from 0.0; nanoseconds as numbers, for which Python has no type."""
    array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    array = array.dictionary_decode() if str(array.type).find("timestamp") > 0 else array
    return list(map(repr, (array.view(pa.int64()) if str(array.type).find("[ns") >= 0 else array).to_pylist()))


def with_nulls(values):
    return [None if k % 3 == 1 else value for k, value in enumerate(values)]


def column(kind, values, nullable=True):
    plain = pa.array(values, kind.value_type).dictionary_encode().cast(kind) if pa.types.is_dictionary(kind) else pa.array(values, kind)
    return pa.table([plain], schema=pa.schema([pa.field("x", kind, nullable=nullable)]))


@pytest.mark.parametrize("kind, values", FORMS, ids=IDS)
def test_values(trip, kind, values):
    many = values * 23
    nullable = pa.types.is_null(kind)
    out = trip(column(kind, many, nullable), None if kind in OF_THEIR_OWN else simple(kind))
    out.validate(full=True)
    assert out.schema.field("x") == pa.field("x", kind, nullable=nullable)
    assert told(out["x"]) == told(column(kind, many)["x"])
    if kind not in OF_THEIR_OWN:
        some = column(kind, with_nulls(values)).slice(3, 50)
        out = trip(some, simple(kind))
        assert out.schema.equals(some.schema) and told(out["x"]) == told(some["x"]) and out["x"].null_count == some["x"].null_count


@pytest.mark.parametrize("kind, values", OWN, ids=str)
def test_nulls(trip, kind, values):
    for some in (with_nulls(values), [None] * 70, [*values[:9], None]):
        out = trip(column(kind, some), simple(kind))
        out.validate(full=True)
        assert out.schema.field("x") == pa.field("x", kind)
        assert told(out["x"]) == told(column(kind, some)["x"])
        assert out["x"].null_count == sum(value is None for value in some)


@pytest.mark.parametrize("kind, values", OWN, ids=str)
def test_slices(trip, kind, values):
    """Arrays with offsets that are no multiples of 8, in several batches, one of them empty."""
    some = with_nulls(values)
    table = column(kind, some)
    parts = [table.slice(3, 20), table.slice(50, 0), table.slice(77, 9), table.slice(5, 1)]
    out = trip(pa.concat_tables(parts), simple(kind))
    out.validate(full=True)
    wanted = some[3:23] + some[77:86] + some[5:6]
    assert told(out["x"]) == told(column(kind, wanted)["x"])


@pytest.mark.parametrize("kind, values", OWN, ids=str)
def test_empty(trip, kind, values):
    out = trip(column(kind, []), simple(kind))
    assert out.schema.field("x") == pa.field("x", kind) and len(out) == 0


def test_struct_offset(trip):
    """A batch that is a slice of a struct: its own offset goes to its columns."""
    whole = pa.StructArray.from_arrays([pa.array(range(100)), pa.array([str(k) for k in range(100)])], names=["a", "b"])

    class Sliced:
        def __arrow_c_stream__(self, requested_schema=None):
            part = whole.slice(13, 40)
            return pa.ChunkedArray.__arrow_c_stream__(pa.chunked_array([part]), requested_schema)

    out = trip(Sliced())
    assert out["a"].to_pylist() == list(range(13, 53)) and out["b"].to_pylist() == [str(k) for k in range(13, 53)]


def test_large_batch(trip):
    """More rows than are converted at once."""
    count = (1 << 20) + 77
    numbers = pa.array(numpy.arange(count, dtype="i4"))
    table = pa.table({"x": numbers, "s": pa.array(list("0123456789")).take(pa.array(numpy.arange(count) % 10))})
    out = trip(table, {"x": "bitpack", "s": "plain(strings)"})
    assert out.combine_chunks().equals(table.combine_chunks())


@pytest.mark.parametrize("name", ["日本語", "a b", "table", "1", "_", "a.b", "Ünï", "🙂", "x" * 300, "a\"b\\c'd", "null", "i64", "a;}"])
def test_names(trip, name):
    codecs = {name: "bitpack", name + " 2": "strings"}
    out = trip(pa.table({name: [1, 2], name + " 2": ["a", None]}), codecs, columns=[name + " 2", name])
    assert out.column_names == [name + " 2", name] and out[name].to_pylist() == [1, 2]


def test_similar_names(trip):
    names = ["a b", "a_b", "a-b", "c_table", "table", "ä", "ö", "c0", ""[:0] + "é"]
    out = trip(pa.table({name: [k] for k, name in enumerate(names)}), dict.fromkeys(names, "plain"))
    assert out.column_names == names and [out[name][0].as_py() for name in names] == list(range(len(names)))


def test_an_identifier_is_the_column_of_that_name(tmp_path):
    names = ["a b", "a_b", "a_b_1", "a-b", "table", "c_table"]
    zf.write_table(pa.table({name: [k] for k, name in enumerate(names)}), tmp_path / "t.zfd")
    with zf.open(tmp_path / "t.zfd") as f:
        own = {field.identifier: field.name for field in f.schema}
        assert len(own) == len(names) and all(own.get(name, name) == name for name in names)


def test_names_before_identifiers(tmp_path):
    """The program names columns itself; each has the name of another as its identifier."""
    (tmp_path / "t.zf").write_text("table t { x: i32 = plain; y: i32 = plain; }\n")
    (tmp_path / "t.csv").write_text("y,x\n1,2\n")
    words = ("encode", "-q", "-c", tmp_path / "t.zf", tmp_path / "t.csv", "-o", tmp_path / "t.zfd", "--field=x=y", "--field=y=x")
    subprocess.run([sys.executable, "-m", "zipflow", *map(str, words)], check=True)
    with zf.open(tmp_path / "t.zfd") as f:
        assert f.schema.names == ["y", "x"] and [field.identifier for field in f.schema] == ["x", "y"]
        assert [pa.array(f.read([name])[name]).to_pylist() for name in "xy"] == [[2], [1]] and pa.table(f.read()).to_pydict() == {"y": [1], "x": [2]}
        assert f.schema["x"].identifier == "y" and f.sizes(["x"])["x"]["values"] == 4


@pytest.mark.parametrize("name", ["", "a\nb", "a\tb", "x" * 5000, "\x7f"])
def test_refused_names(tmp_path, name):
    with pytest.raises(zf.UsageError):
        zf.write_table(pa.table({name: [1]}), tmp_path / "t.zfd")
    assert not (tmp_path / "t.zfd").exists()


def test_same_names(tmp_path):
    with pytest.raises(zf.UsageError, match="two columns are called 'a'"):
        zf.write_table(pa.table([pa.array([1]), pa.array([2])], names=["a", "a"]), tmp_path / "t.zfd")


REFUSED = [pa.list_(pa.list_(pa.int32())), pa.list_(pa.struct([("a", pa.int32())])), pa.decimal256(39, 2), pa.decimal128(38, 19),
           pa.decimal128(5, -2), pa.timestamp("s", "x" * 200), pa.map_(pa.string(), pa.int32()), pa.list_(pa.list_(pa.float32()), 3), pa.month_day_nano_interval(), pa.list_view(pa.int8())]


@pytest.mark.parametrize("kind", REFUSED, ids=str)
def test_refused_types(tmp_path, kind):
    """The error names the column and the type, is NotImplementedError, and nothing is left behind."""
    table = pa.table([pa.array([1]), pa.array([], kind) if False else pa.nulls(1, kind)], names=["good", "wrong one"])
    with pytest.raises(zf.UnsupportedError, match="column 'wrong one' has Arrow's type") as caught:
        zf.write_table(table, tmp_path / "t.zfd")
    assert isinstance(caught.value, NotImplementedError) and caught.value.place == "wrong one"
    assert list(tmp_path.iterdir()) == []


def text(data):
    """Bytes that say of themselves that they are text."""
    return pa.array(data, pa.binary()).view(pa.string())


def test_bytes(trip, tmp_path):
    """Text that is not UTF-8 is an error with the row, never text that is none; as bytes it can be read."""
    data = [b"good", None, b"\xff\xfe", b""]
    table = pa.table({"x": text(data)})
    assert trip(table, binary=True)["x"].to_pylist() == data
    with pytest.raises(zf.InputError, match="a string is not UTF-8") as caught:
        trip(table)
    assert "column x, row 2" in caught.value.place and "binary" in caught.value.hint
    assert trip(table, rows=slice(0, 2))["x"].to_pylist() == ["good", None]
    with pytest.raises(zf.InputError, match="not UTF-8") as caught:
        trip(table, rows=slice(1, 4))
    assert "row 2" in caught.value.place


@pytest.mark.parametrize("wrong", [b"\x80", b"\xc0\x80", b"\xc3", b"\xe0\x80\x80", b"\xed\xa0\x80", b"\xf0\x80\x80\x80", b"\xf4\x90\x80\x80", b"\xf5\x80\x80\x80",
                                   b"\xe2\x82", b"a\xffb", b"\xe2\x28\xa1"])
def test_utf8(trip, wrong):
    with pytest.raises(UnicodeDecodeError):
        wrong.decode()
    rows = [b"ok"] * 1500 + [wrong]
    with pytest.raises(zf.InputError, match="not UTF-8") as caught:
        trip(pa.table({"x": text(rows)}), {"x": "plain(strings)"})
    assert "row 1500" in caught.value.place


@pytest.mark.parametrize("pair", ["é", "日", "🙂"])
def test_utf8_across_rows(trip, pair):
    """Halves of one character in two rows are UTF-8 together, and not alone."""
    data = pair.encode()
    with pytest.raises(zf.InputError, match="not UTF-8"):
        trip(pa.table({"x": text([data[:1], data[1:]])}))
    assert trip(pa.table({"x": [pair] * 3000}))["x"].to_pylist() == [pair] * 3000


def test_offsets_are_narrow(trip, tmp_path):
    """Offsets of strings have 32 bits where they fit: pyarrow's string, not large_string."""
    zf.write_table(pa.table({"x": ["a", "bc"]}), tmp_path / "t.zfd")
    column = zf.open(tmp_path / "t.zfd").read()["x"]
    assert column.format == "u" and memoryview(column.offsets).format == "i" and list(memoryview(column.offsets)) == [0, 1, 3]


def test_schema(tmp_path):
    """The file keeps the whole schema: layouts, dictionaries, metadata of fields."""
    kinds = list(VALUES)
    schema = pa.schema([pa.field(f"näme {k}", kind, nullable=k % 2 == 0 or pa.types.is_null(kind), metadata={"unit": "m" * k} if k % 3 else None) for k, kind in enumerate(kinds)],
                       metadata={"key": b"\x00\xff", "näme": "ä"})
    zf.write_table(schema.empty_table(), tmp_path / "s.zfd", {name: simple(kind)["x"] for name, kind in zip(schema.names, kinds)})
    with zf.open(tmp_path / "s.zfd") as f:
        assert pa.ipc.read_schema(pa.py_buffer(f.arrow_schema)).equals(schema, check_metadata=True)
        assert pa.schema(f).equals(schema, check_metadata=True) and pa.table(f.read()).schema.equals(schema, check_metadata=True)


def test_damaged_schema():
    """A schema that anybody may have made: every change of it says types of other columns, or nothing, and never raises."""
    from zipflow import _ipc

    text = ("u", "", 2, [], (), None)
    good = _ipc.encode([(form, f"c{k}", 2, [], (), None) for k, form in enumerate(("tsn:UTC", "d:38,2", "e", "ttu", "l"))] +
                       [("c", "c5", 3, [(b"a", b"b")], (), text), ("+w:3", "c6", 0, [], [("w:5", "in", 0, [], (), None)], None)], [(b"k", b"v")])
    fields = _ipc.fields(good, 7)
    assert [fields[f"c{k}"][0] for k in range(7)] == ["tsn:UTC", "d:38,2", "e", "ttu", "l", "c", "+w:3"] and _ipc.fields(good, 6) == {}
    assert fields["c5"][2:] == (3, b"\1\0\0\0\1\0\0\0a\1\0\0\0b", None, ("u", "", 0, None, None, None)) and fields["c6"][4][:2] == ("w:5", "in")
    changed = 0
    for at in range(8, len(good)):
        for value in (0, 1, 127, 128, 255):
            changed += _ipc.fields(good[:at] + bytes([value]) + good[at + 1:], 7) != fields
        assert _ipc.fields(good[:at], 7) in ({}, fields)
    assert changed > 100


def test_a_schema_that_repeats():
    """Many fields with one large metadata: a reader stops, and does not copy it a thousand times."""
    from zipflow import _ipc

    good = bytearray(_ipc.encode([("u", f"x{k}", 2, [], (), None) for k in range(999)] + [("u", "x", 2, [(b"k", b"v" * 100_000)], (), None)], [])[8:])
    assert len(_ipc.fields(bytes(8) + good, 1000)["x"][3]) > 100_000
    reader, writer = _ipc._Reader(bytes(good)), _ipc._Writer()
    vector = reader.child(reader.child(reader.follow(0), 2), 1)
    places, writer.out = reader.places(vector), good
    for k in range(999):
        writer.patch(vector + 4 + 4 * k, places[-1])  # every field is the last one
    assert _ipc.fields(bytes(8) + bytes(writer.out), 1000) == {}
    reader = _ipc._Reader(bytes(writer.out))
    with pytest.raises(ValueError, match="larger than it says"):  # and not for their one name alone
        list(map(reader.field, reader.places(vector)))


def test_a_schema_with_one_name_twice():
    """It says nothing of either field, and all of the others."""
    from zipflow import _ipc

    assert list(_ipc.fields(_ipc.encode([("u", name, 2, [], (), None) for name in "abca"], []), 4)) == ["b", "c"]


@pytest.mark.parametrize("column, form, comes", [
    (("u", "string", 0, 0), "tsn:", "u"), (("l", "i64", 0, 0), "tsn:UTC", "tsn:UTC"), (("l", "i64", 0, 0), "u", "l"), (("l", "i64", 0, 0), "tts", "l"),
    (("i", "i32", 0, 0), "ttu", "i"), (("i", "i32", 0, 0), "tts", "tts"), (("S", "u16", 0, 0), "e", "e"), (("s", "i16", 0, 0), "e", "s"),
    (("d:9,2", "i64", 3, 2), "d:38,2", "d:38,2"), (("d:9,2", "i64", 3, 2), "d:38,3", "d:9,2"), (("d:9,2", "i64", 3, 2), "d:39,2", "d:9,2"),
    (("d:9,2", "i64", 3, 2), "d:1,2", "d:9,2"), (("d:9,2", "i64", 3, 2), "tsn:", "d:9,2"), (("tsu:", "i64", 2, 0), "tsn:", "tsu:"),
    (("tsu:", "i64", 2, 0), "tsu:" + "x" * 200, "tsu:"), (("tsu:", "i64", 2, 0), "tsu:a\0b", "tsu:"),
    (("tsu:", "i64", 2, 0), "tsu:" + "Ж" * 50, "tsu:"), (("tsu:", "i64", 2, 0), "tsu:" + "Ж" * 48, "tsu:" + "Ж" * 48), (("tsu:", "i64", 2, 0), "tsu:\ud800", "tsu:"), (("tdD", "i32", 1, 0), "tts", "tdD"),
    (("d:9,2", "i64", 3, 2), "d:9,2,32", "d:9,2,32"), (("d:9,2", "i64", 3, 2), "d:10,2,32", "d:9,2"), (("d:9,2", "i64", 3, 2), "d:19,2,64", "d:9,2"),
    (("d:9,2", "i64", 3, 2), "d:9,2,48", "d:9,2"), (("u", "string", 0, 0), "w:7", "w:7"), (("u", "string", 0, 0), "w:-7", "u"), (("u", "string", 0, 0), "w:9999999999", "u"),
    (("u", "string", 0, 0), "vu", "vu"), (("l", "i64", 0, 0), "vu", "l"), (("b", "bool", 0, 0), "n", "n"), (("i", "i32", 0, 0), "n", "i")])
def test_schemas_that_lie(column, form, comes):
    """A schema never says a type of another width or kind than the column has."""
    from zipflow import _types

    assert _types.restore(*column, form) == comes


def test_a_long_zone_of_other_letters(tmp_path, monkeypatch):
    """A file keeps a schema that anybody may have made: its zone has few characters and many bytes."""
    from zipflow import _ipc

    encode = _ipc.encode
    monkeypatch.setattr(_ipc, "encode", lambda fields, pairs: encode([("tsu:" + "時" * 50, *field[1:]) for field in fields], pairs))
    zf.write_table(pa.table({"t": pa.array([5, 6], pa.timestamp("us"))}), tmp_path / "z.zfd")
    with zf.open(tmp_path / "z.zfd") as f:
        assert ("時" * 50).encode() in f.arrow_schema
        assert f.schema["t"].format == "tsu:" and pa.table(f.read())["t"].cast(pa.int64()).to_pylist() == [5, 6]


def test_half_floats(trip):
    back = trip(pa.table({"x": pa.array(numpy.arange(9, dtype="f2"))}))
    assert back["x"].to_numpy().tolist() == list(range(9))


def test_metadata(trip):
    table = pa.table({"x": [1]}).replace_schema_metadata({"key": b"\x00\xff", "other": "näme"})
    assert trip(table).schema.metadata == table.schema.metadata


def test_parquet(tmp_path, mixed):
    import pyarrow.parquet as pq

    pq.write_table(mixed, tmp_path / "m.parquet", row_group_size=3000)
    zf.write_table(tmp_path / "m.parquet", tmp_path / "m.zfd")
    assert pa.table(zf.open(tmp_path / "m.zfd").read()).equals(mixed) and conftest.ROWS == mixed.num_rows
