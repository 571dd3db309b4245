"""Tables that hypothesis makes, of every type: they come back equal, with schemas, metadata, chunks, slices, nulls and dictionaries.

ZF_TEST_TABLES=1000 makes so many, and makes one that fails smaller; ZF_TEST_TURN chooses others.
"""

import datetime
import decimal
import os

import pyarrow as pa
import pytest
from conftest import plain

import zipflow as zf

pytest.importorskip("hypothesis", reason="script/bootstrap installs it")
from hypothesis import HealthCheck, Phase, given, seed, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

TABLES = int(os.environ.get("ZF_TEST_TABLES", "60"))
# A table that fails is made smaller only on demand: it takes minutes.
PHASES = list(Phase) if "ZF_TEST_TABLES" in os.environ else [Phase.generate]
TURN = int(os.environ.get("ZF_TEST_TURN", "0"))


def integers(kind):
    bits, is_signed = kind.bit_width, pa.types.is_signed_integer(kind)
    return st.integers(-(1 << bits - 1), (1 << bits - 1) - 1) if is_signed else st.integers(0, (1 << bits) - 1)


def decimals(kind):
    most = 10 ** min(kind.precision, 18) - 1
    return st.integers(-most, most).map(lambda k: decimal.Decimal(k).scaleb(-kind.scale))


def times(kind):
    return st.integers(0, 86400 * {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit] - 1)


LONG_WORDS = st.integers(0, 300).map(lambda k: f"{k} is a string, 日本語, of more than twelve bytes"[:12 + k % 40])
WORDS = st.sampled_from(["", "a", "köln", "a\0b", "🙂" * 3]) | st.text(max_size=14) | LONG_WORDS
DATA = st.sampled_from([b"", b"\xff\x00", b"\x80" * 13]) | st.binary(max_size=14) | LONG_WORDS.map(str.encode)
LONG = st.integers(-(1 << 63), (1 << 63) - 1)


def values(kind):
    """Values of a flat type, as pa.array takes them."""
    if pa.types.is_integer(kind):
        return integers(kind)
    if pa.types.is_floating(kind):
        return st.floats(width=kind.bit_width)
    if pa.types.is_boolean(kind):
        return st.booleans()
    if pa.types.is_null(kind):
        return st.none()
    if pa.types.is_decimal(kind):
        return decimals(kind)
    if pa.types.is_date32(kind):
        return st.dates()
    if pa.types.is_date64(kind):
        return st.dates(datetime.date(1800, 1, 1))
    if pa.types.is_time(kind):
        return times(kind)
    if pa.types.is_fixed_size_binary(kind):
        return st.binary(min_size=kind.byte_width, max_size=kind.byte_width)
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        return LONG
    return DATA if "binary" in str(kind) else WORDS


@st.composite
def decimal_types(draw):
    make, most = draw(st.sampled_from([(pa.decimal32, 9), (pa.decimal64, 18), (pa.decimal128, 38), (pa.decimal256, 38)]))
    precision = draw(st.integers(1, most))
    return make(precision, draw(st.integers(0, min(precision, 18))))


UNITS = st.sampled_from(["s", "ms", "us", "ns"])
NUMBERS = st.sampled_from([pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(), pa.float16(), pa.float32(), pa.float64(), pa.bool_()])
TIMES = st.sampled_from([pa.date32(), pa.date64(), pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")]) | UNITS.map(pa.duration)
TIMES |= st.builds(pa.timestamp, UNITS, st.sampled_from([None, "UTC", "Europe/Berlin", "+05:30"]))
TEXT = st.sampled_from([pa.string(), pa.large_string(), pa.binary(), pa.large_binary()]), st.sampled_from([pa.string_view(), pa.binary_view()]), st.integers(0, 20).map(pa.binary)
FLAT = st.one_of(NUMBERS, NUMBERS, TIMES, decimal_types(), *TEXT)
INDICES = st.sampled_from([pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()])
CODED = st.builds(pa.dictionary, INDICES, FLAT, st.booleans())
METADATA = st.none() | st.dictionaries(st.sampled_from([b"k", b"\xc3\xa4", b"unit"]), st.binary(max_size=5), min_size=1, max_size=2)


@st.composite
def fields(draw, name, kinds):
    kind = draw(kinds)
    return pa.field(name, kind, nullable=pa.types.is_null(kind) or draw(st.booleans()), metadata=draw(METADATA))


@st.composite
def list_types(draw):
    field = draw(fields(draw(st.sampled_from(["item", "element", "ä"])), FLAT | CODED | st.just(pa.null())))
    size = draw(st.integers(0, 4))
    return draw(st.sampled_from([pa.list_(field), pa.large_list(field), pa.list_(field, size)]))


@st.composite
def struct_types(draw, kinds):
    """No to three fields. Ordered dictionaries have the entries of all chunks, so they are columns of their own here."""
    names = draw(st.lists(st.sampled_from(["x", "y.z", "日本語", "", "struct"]), max_size=3, unique=True))
    kinds = kinds.filter(lambda kind: not (pa.types.is_dictionary(one := kind.value_type if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind) else kind) and one.ordered))
    return pa.struct([draw(fields(name, kinds)) for name in names])


SIMPLE = FLAT | CODED | list_types() | st.just(pa.null())
STRUCTS = struct_types(SIMPLE)
KINDS = SIMPLE | STRUCTS | struct_types(SIMPLE | STRUCTS)


@st.composite
def arrays(draw, field, rows, entries=None):
    """An array of some rows; `entries`: of an ordered dictionary."""
    kind, null = field.type, st.none() if field.nullable else st.nothing()
    if pa.types.is_dictionary(kind):
        if entries is None:
            entries = draw(dictionaries(kind))
        indices = st.integers(0, len(entries) - 1) | null if len(entries) else st.none()
        return pa.DictionaryArray.from_arrays(pa.array(draw(st.lists(indices, min_size=rows, max_size=rows)), kind.index_type), entries, ordered=kind.ordered)
    if not pa.types.is_nested(kind):
        return pa.array(draw(st.lists(values(kind) | null, min_size=rows, max_size=rows)), kind)
    valid = draw(st.lists(st.booleans() if field.nullable else st.just(True), min_size=rows, max_size=rows))
    bits = pa.array(valid, pa.bool_()).buffers()[1]
    if pa.types.is_struct(kind):
        before = draw(st.integers(0, 3))  # children that begin elsewhere
        parts = [draw(arrays(part, rows + before)).slice(before) for part in kind]
        return pa.Array.from_buffers(kind, rows, [None if all(valid) else bits], children=parts)
    if pa.types.is_fixed_size_list(kind):
        inner = draw(arrays(kind.value_field, rows * kind.list_size, entries))
        return pa.Array.from_buffers(kind, rows, [None if all(valid) else bits], children=[inner])
    sizes = draw(st.lists(st.integers(0, 3), min_size=rows, max_size=rows))
    ends = [draw(st.integers(0, 2))]
    for size in sizes:
        ends.append(ends[-1] + size)
    inner = draw(arrays(kind.value_field, ends[-1] + draw(st.integers(0, 2)), entries))
    offsets = pa.array(ends, pa.int64() if pa.types.is_large_list(kind) else pa.int32()).buffers()[1]
    return pa.Array.from_buffers(kind, rows, [None if all(valid) else bits, offsets], children=[inner])


@st.composite
def dictionaries(draw, kind):
    """Entries, at least one: rows that are not null need them."""
    entries = draw(st.lists(values(kind.value_type), min_size=1, max_size=6, unique_by=repr))
    return pa.array(entries, kind.value_type)


@st.composite
def columns(draw, field, rows):
    """Rows in chunks that are slices of longer arrays. An ordered dictionary is that of all chunks."""
    kind = field.type.value_type if pa.types.is_nested(field.type) and not pa.types.is_struct(field.type) else field.type
    entries = draw(dictionaries(kind)) if pa.types.is_dictionary(kind) and kind.ordered else None
    chunks, left = [], rows
    while left > 0 or not chunks:
        some = draw(st.integers(0, left)) if len(chunks) < 3 else left
        before, behind = draw(st.integers(0, 9)), draw(st.integers(0, 2))
        chunks.append(draw(arrays(field, before + some + behind, entries)).slice(before, some))
        left -= some
    return pa.chunked_array(chunks, field.type)


@st.composite
def tables(draw):
    rows = draw(st.integers(0, 24))
    names = draw(st.lists(st.sampled_from(["a", "b c", "日本語", "table", "x.values", "🙂", "a.b"]), min_size=1, max_size=4, unique=True))
    schema = pa.schema([draw(fields(name, KINDS)) for name in names], metadata=draw(METADATA))
    return pa.table([draw(columns(field, rows)) for field in schema], schema=schema)


def told(array):
    """Rows as Python has them; floats by their bits, times as numbers."""
    kind = array.type
    if isinstance(array, pa.ChunkedArray):
        return [value for chunk in array.chunks for value in told(chunk)]
    if pa.types.is_dictionary(kind):
        entries = told(array.dictionary)
        return [None if index is None else entries[index] for index in array.indices.to_pylist()]
    if pa.types.is_struct(kind):
        parts = [told(array.field(k)) for k in range(kind.num_fields)]  # without the nulls of the structs
        return [[part[row] for part in parts] if there else None for row, there in enumerate(array.is_valid().to_pylist())]
    if pa.types.is_nested(kind):
        return [None if not value.is_valid else told(value.values) for value in array]
    plain = {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}
    if pa.types.is_floating(kind) or pa.types.is_temporal(kind):
        array = array.view(plain[kind.bit_width])
    return array.to_pylist()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tables")


COUNT = [0]


@seed(TURN)
@settings(max_examples=TABLES, database=None, deadline=None, suppress_health_check=list(HealthCheck), phases=PHASES)
@given(table=tables(), data=st.data())
def test_tables_come_back(folder, table, data):
    COUNT[0] += 1
    path = folder / "t.zfd"
    zf.write_table(table, path, plain(table.schema), rows_per_block=data.draw(st.sampled_from([0, 0, 1, 5, 16])), threads=1)
    begin = data.draw(st.integers(0, table.num_rows))
    end = data.draw(st.integers(begin, table.num_rows))
    with zf.open(path) as f:
        assert pa.schema(f).equals(table.schema, check_metadata=True)
        for out, wanted in ((f.read(threads=1), table), (f.read(rows=slice(begin, end), threads=1), table.slice(begin, end - begin))):
            out = pa.table(out)
            out.validate(full=True)
            assert out.schema.equals(table.schema, check_metadata=True)
            for name in table.column_names:
                assert told(out[name]) == told(wanted[name]), name


def test_how_many():
    assert COUNT[0] >= TABLES
