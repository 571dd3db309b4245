"""Errors: of the right class, with code, place and hint; they pickle; damaged files never crash or lie."""

import copy
import ctypes
import errno
import inspect
import io
import os
import pathlib
import pickle
import random
import re
import subprocess
import sys

import pyarrow as pa
import pytest

import zipflow as zf
from zipflow import _errors


def caught(kind, call, *arguments, **options):
    with pytest.raises(kind) as info:
        call(*arguments, **options)
    return info.value


def test_missing_file(tmp_path):
    error = caught(FileNotFoundError, zf.open, tmp_path / "none.zfd")
    assert isinstance(error, zf.ZipflowError) and isinstance(error, OSError) and error.errno == errno.ENOENT
    assert error.code == "ZF1201" and error.place == str(tmp_path / "none.zfd")
    assert str(error).startswith("[ZF1201] cannot open ")


def test_directory(tmp_path):
    error = caught(zf.FileError, zf.open, tmp_path)
    assert error.errno == errno.EISDIR and error.code == "ZF1201"


def test_existing_file(file, mixed):
    before = file.read_bytes()
    error = caught(FileExistsError, zf.write_table, mixed, file, overwrite=False)
    assert isinstance(error, zf.ExistsError) and error.code == "ZF1501" and error.errno == errno.EEXIST and file.read_bytes() == before


def test_no_directory(tmp_path, mixed):
    error = caught(OSError, zf.write_table, mixed, tmp_path / "no" / "t.zfd")
    assert isinstance(error, zf.ZipflowError) and error.errno == errno.ENOENT


@pytest.mark.parametrize("data", [b"", b"x", b"PAR1" * 100, bytes(4096)])
def test_other_files(data, tmp_path):
    (tmp_path / "t").write_bytes(data)
    for source in (data, tmp_path / "t", io.BytesIO(data)):
        error = caught(zf.InputError, zf.open, source)
        assert isinstance(error, ValueError) and error.code in ("ZF1202", "ZF1204", "ZF1205")


def test_damage(file, mixed):
    """Each changed byte gives an error with a code and a place, or the right table."""
    good, chosen = file.read_bytes(), random.Random(11)
    places = [chosen.randrange(len(good)) for _ in range(150)] + [8, 300, len(good) - 10]
    failed = 0
    for at in places:
        data = bytearray(good)
        data[at] ^= 1 << chosen.randrange(8)
        try:
            table = pa.table(zf.open(bytes(data)).read())
        except zf.InputError as error:
            assert error.code.startswith("ZF1") and error.place
            failed += 1
        else:
            assert table.equals(mixed)
    assert failed > 100


def test_damaged_block_has_a_place(file):
    data = bytearray(file.read_bytes())
    data[256 + 200] ^= 255
    error = caught(zf.InputError, zf.open(bytes(data)).read)
    assert error.code == "ZF1324" and "column" in error.place and "block 0" in error.place


def test_names_in_errors(tmp_path):
    """Errors of the library have the names of columns, not their identifiers in the program; long ones are cut between characters."""
    long = "größe " * 30
    table = pa.table({"unit price": [1.5, 2.5], long: [1, 2], "tags of it": [["a"], ["b"]], "a place": [{"y x": 1}, None]})
    zf.write_table(table, tmp_path / "t.zfd", {"unit price": "plain", long: "plain", "a place.y x": "plain"}, rows_per_block=1)
    good, seen = (tmp_path / "t.zfd").read_bytes(), set()
    for at in range(256, len(good) // 2, 256):
        data = bytearray(good)
        data[at + 40] ^= 1
        try:
            zf.open(bytes(data)).read()
        except zf.InputError as error:
            found = re.search("column (.*), (block|row)", error.place)
            seen.update([found[1]] if found else ())
    assert seen <= {"unit price", "größe " * 7 + "grö...", "tags of it", "tags of it.valid", "tags of it.values", "a place", "a place.y x"}, seen
    assert {"unit price", "tags of it.values", "a place.y x"} <= seen and any(name.startswith("größe") for name in seen), seen
    bad = pa.table({"unit price": [float("nan")]})
    error = caught(zf.InputError, zf.write_table, bad, tmp_path / "u.zfd", {"unit price": "float2int(bitpack)"})
    assert "column unit price, block 0" in error.place


def test_cut_file(file):
    data = file.read_bytes()
    for size in (len(data) - 1, len(data) // 2, 100):
        assert caught(zf.InputError, zf.open, data[:size]).code.startswith("ZF12")


class Failing(io.BytesIO):
    """A file object whose `read` raises `broken`, if that is set."""

    broken = None

    def read(self, *count):
        if self.broken:
            raise self.broken
        return super().read(*count)


def test_file_object_that_fails(file):
    source = Failing(file.read_bytes())
    f = zf.open(source)
    source.broken = RuntimeError("the network is down")
    error = caught(zf.FileError, f.read)
    assert error.code == "ZF1210" and error.__cause__ is source.broken and "RuntimeError" in str(error)
    source.broken = KeyboardInterrupt()
    assert caught(KeyboardInterrupt, f.read) is source.broken
    source.broken = None
    assert len(f.read()) == f.num_rows


STREAM = "import io\n\n" + inspect.getsource(Failing) + """
import sys, threading
import pyarrow as pa
import zipflow as zf

class Own(BaseException):
    pass

def read():
    try:
        pa.table(f.batches())
    except OSError as error:
        seen.append(str(error))
        for _ in range(1000):
            len(seen)

seen = []
source = Failing(open(sys.argv[1], "rb").read())
f = zf.open(source)
kind, code = {"exit": (SystemExit, 3), "own": (Own, "x"), "interrupt": (KeyboardInterrupt, "")}[sys.argv[2]]
source.broken = kind(code)
if sys.argv[3] == "thread":
    thread = threading.Thread(target=read)
    thread.start()
    thread.join()
    assert kind.__name__ in seen[0], seen
    sys.exit(5)
try:
    read()
except Own as error:
    sys.exit(4 if error is source.broken else 1)
"""


@pytest.mark.parametrize(("kind", "thread", "status"), [("exit", "main", 3), ("own", "main", 4), ("interrupt", "main", -2), ("exit", "thread", 5), ("own", "thread", 5)])
def test_what_ends_a_stream_of_a_file_object(file, kind, thread, status):
    """KeyboardInterrupt interrupts; others come to the main thread as they are, and to no thread that does not read."""
    done = subprocess.run([sys.executable, "-c", STREAM, str(file), kind, thread], capture_output=True, text=True, timeout=60)
    assert done.returncode == status, done.stderr


def test_file_object_that_reads_its_own_file(file):
    """It would wait for itself for ever."""
    class Own(io.BytesIO):
        file = None

        def read(self, *count):
            if self.file is not None:
                self.file.read(["number"])
            return super().read(*count)

    source = Own(file.read_bytes())
    f = zf.open(source)
    source.file = f
    error = caught(zf.FileError, f.read)
    assert type(error.__cause__) is zf.UsageError and "the File that reads it" in str(error.__cause__)
    source.file = None
    assert len(f.read()) == f.num_rows


def test_file_objects_that_lie(file):
    class Lying(io.BytesIO):
        answer = None

        def read(self, *count):
            return super().read(*count) if self.answer is None else self.answer

    for answer in (b"", b"x" * 10_000_000, "text", None.__class__, 5):
        source = Lying(file.read_bytes())
        f = zf.open(source)
        source.answer = answer
        assert caught(zf.FileError, f.read).code in ("ZF1210", "ZF1118")


def test_programs_of_others(tmp_path, file, mixed):
    """`programs="known"` admits the library's decoders alone: for each kind of source, in pickles and in forked children."""
    own = zf.Program("fn up(x: u32) = x + 1; algorithm mine(s: u32[]) -> u32[] fully_parallel "
                     "{ decode(i) = up(s[i]); encode(x) { for v in x { s.push(v - 1); } } } table t { a: u32 = mine(bitpack); }")
    table = pa.table([pa.array([1, 2, 3], pa.uint32())], schema=pa.schema([pa.field("a", pa.uint32(), nullable=False)]))
    path = tmp_path / "own.zfd"
    zf.write_table(table, path, own)
    sources = (lambda p: p, lambda p: p.read_bytes(), lambda p: open(p, "rb"))
    for source in sources:
        assert pa.table(zf.open(source(path)).read()).equals(table)
        assert pa.table(zf.open(source(file), programs="known").read()).equals(mixed)
        f = zf.open(source(path), programs="known")
        assert f.schema["a"].type == "u32"
        assert caught(zf.InputError, f.read).code == "ZF1218"
    for source in sources[:2]:
        assert caught(zf.InputError, pickle.loads(pickle.dumps(zf.open(source(path), programs="known"))).read).code == "ZF1218"
        f = zf.open(source(path), programs="known")
        child = os.fork()
        if child == 0:
            try:
                f.read()
            except zf.InputError as error:
                os._exit(0 if error.code == "ZF1218" else 2)
            except BaseException:  # noqa: BLE001
                os._exit(3)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    for wrong in ("none", None, 1, ["known"]):
        caught(zf.UsageError, zf.open, path, programs=wrong)


def test_codec_errors(tmp_path):
    table = pa.table({"a": [1.5], "b": ["x"], "n": [1]})
    error = caught(zf.InputError, zf.write_table, table, tmp_path / "t.zfd", {"b": "bitpack"})
    assert error.code == "ZF0311" and error.place == "the codec of column b"
    error = caught(zf.InputError, zf.write_table, table, tmp_path / "t.zfd", {"n": "bitpak"})
    assert error.code == "ZF0201" and error.place == "the codec of column n" and "bitpack" in error.hint
    error = caught(zf.InputError, zf.write_table, table, tmp_path / "t.zfd", {"a": "float2int(bitpack"})
    assert error.place == "the codec of column a"
    assert caught(zf.UsageError, zf.write_table, table, tmp_path / "t.zfd", {"c": "plain"}).hint == "it has a, b, n"
    caught(TypeError, zf.write_table, table, tmp_path / "t.zfd", {"a": 5})
    assert list(tmp_path.iterdir()) == []


def test_refused_values(tmp_path):
    """A codec that cannot hold the values names column and block; nothing is left."""
    error = caught(zf.InputError, zf.write_table, pa.table({"a": [1, 2]}), tmp_path / "t.zfd", {"a": "constant"})
    assert "a" in error.place and error.code and list(tmp_path.iterdir()) == []


def test_nulls_in_a_column_without(tmp_path):
    table = pa.table([pa.array([1, None, 3])], schema=pa.schema([pa.field("a", pa.int64(), nullable=False)]))
    error = caught(zf.InputError, zf.write_table, table, tmp_path / "t.zfd")
    assert error.place == "a" and "row 1 is null" in str(error)


def test_decimal_beyond_its_type(tmp_path):
    """128 bits that lie about their precision."""
    data = pa.Array.from_buffers(pa.decimal128(18, 2), 3, [None, pa.py_buffer((5).to_bytes(16, "little") * 2 + (1 << 64).to_bytes(16, "little"))])
    error = caught(zf.InputError, zf.write_table, pa.table({"m": data}), tmp_path / "t.zfd")
    assert error.place == "m" and "row 2 has more than 18 digits" in str(error)
    for value in (100_000, -100_000):
        data = pa.Array.from_buffers(pa.decimal128(5, 2), 2, [None, pa.py_buffer((99_999).to_bytes(16, "little") + value.to_bytes(16, "little", signed=True))])
        error = caught(zf.InputError, zf.write_table, pa.table({"m": data}), tmp_path / "t.zfd")
        assert "row 1 has more than 5 digits" in str(error)
    zf.write_table(pa.table({"m": data.slice(0, 1)}), tmp_path / "t.zfd")


def test_bad_indices(tmp_path):
    for index in (3, -1):
        data = pa.DictionaryArray.from_arrays(pa.array([0, index], pa.int8()), ["a", "b", "c"], safe=False)
        error = caught(zf.InputError, zf.write_table, pa.table({"d": data}), tmp_path / "t.zfd")
        assert error.place == "d" and "row 1" in str(error) and "dictionary" in str(error)


def test_null_entries(trip):
    data = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 2], pa.int8()), pa.array(["a", None, "c"]))
    assert trip(pa.table({"d": data}))["d"].to_pylist() == ["a", None, None, "c"]


def test_decreasing_offsets(tmp_path):
    offsets = pa.py_buffer(b"".join(k.to_bytes(4, "little") for k in (0, 3, 1, 4)))
    data = pa.Array.from_buffers(pa.string(), 3, [None, offsets, pa.py_buffer(b"abcd")])
    assert "offset" in str(caught(zf.UsageError, zf.write_table, pa.table({"s": data}), tmp_path / "t.zfd"))
    entries = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), data, safe=False)
    error = caught(zf.InputError, zf.write_table, pa.table({"d": entries}), tmp_path / "t.zfd")
    assert error.place == "d" and "row 1 of a dictionary" in str(error) and "decrease" in str(error)


@pytest.mark.parametrize("size, offset", [(13, 4), (16, 1), (2**31 - 1, 0)])
def test_views_beyond_their_buffer(tmp_path, size, offset):
    """A view that ends one byte, or far, beyond the bytes that its buffer has."""
    good = (16).to_bytes(4, "little") + b"abcd" + bytes(8)
    bad = size.to_bytes(4, "little") + b"abcd" + bytes(4) + offset.to_bytes(4, "little")
    data = [pa.Array.from_buffers(pa.string_view(), 2, [None, pa.py_buffer(good + view), pa.py_buffer(b"abcdefghijklmnop")]) for view in (good, bad)]
    zf.write_table(pa.table({"v": data[0]}), tmp_path / "t.zfd")
    assert pa.table(zf.open(tmp_path / "t.zfd").read())["v"].to_pylist() == ["abcdefghijklmnop"] * 2
    for array, name in ((data[1], "v"), (pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), data[1], safe=False), "d")):
        error = caught(zf.InputError, zf.write_table, pa.table({name: array}), tmp_path / "u.zfd")
        assert error.place == name and "row 1 of the Arrow data is an invalid view" in str(error)


class RawSchema(ctypes.Structure):
    """ArrowSchema of Arrow's C data interface."""


RawSchema._fields_ = [("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_void_p), ("flags", ctypes.c_int64),
                      ("n_children", ctypes.c_int64), ("children", ctypes.c_void_p), ("dictionary", ctypes.POINTER(RawSchema)),
                      ("release", ctypes.c_void_p), ("private_data", ctypes.c_void_p)]


def changed(table, change):
    """A table whose stream says something else of its first column: change(schema)."""
    capsule = table.__arrow_c_stream__()
    pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))
    get_schema = ctypes.c_void_p.from_address(pointer_of(capsule, b"arrow_array_stream"))  # the first member of ArrowArrayStream
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(RawSchema))
    theirs = kind(get_schema.value)

    @kind
    def ours(stream, out):
        failed = theirs(stream, out)
        if not failed:
            change(ctypes.cast(out.contents.children, ctypes.POINTER(ctypes.POINTER(RawSchema)))[0].contents)
        return failed

    get_schema.value = ctypes.cast(ours, ctypes.c_void_p).value

    class Table:
        kept = ours, table

        def __arrow_c_stream__(self, requested_schema=None):
            return capsule

    return Table()


@pytest.mark.parametrize("index", [b"f", b"b", b"u", b"tdD", b""])
def test_indices_of_other_types(tmp_path, index):
    """A producer whose dictionary has indices that are no integers: pyarrow makes none."""
    data = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), ["a", "b"])
    table = changed(pa.table({"d": data}), lambda schema: setattr(schema, "format", index))
    error = caught(zf.UsageError, zf.write_table, table, tmp_path / "t.zfd")
    assert error.place == "d" and f"indices of a dictionary have Arrow's type `{index.decode()}`" in str(error)
    assert list(tmp_path.iterdir()) == []


def test_names_that_are_no_text(tmp_path):
    for change in (lambda schema: setattr(schema, "name", b"a\xff"), lambda schema: setattr(schema, "format", b"ts\xff:")):
        error = caught(zf.InputError, zf.write_table, changed(pa.table({"a": [1]}), change), tmp_path / "t.zfd")
        assert "is not UTF-8" in str(error) and "\\xff" in str(error)
    assert list(tmp_path.iterdir()) == []


def test_stream_that_fails(tmp_path, mixed):
    def batches():
        yield from mixed.to_batches(1000)[:3]
        raise RuntimeError("no more")

    reader = pa.RecordBatchReader.from_batches(mixed.schema, batches())
    assert "no more" in str(caught(zf.InputError, zf.write_table, reader, tmp_path / "t.zfd")) and list(tmp_path.iterdir()) == []


def test_stream_twice(tmp_path, mixed):
    capsule = mixed.__arrow_c_stream__()

    class Once:
        def __arrow_c_stream__(self, requested_schema=None):
            return capsule

    zf.write_table(Once(), tmp_path / "t.zfd")
    assert "taken" in str(caught(ValueError, zf.write_table, Once(), tmp_path / "t.zfd"))


def test_not_tables(tmp_path):
    for wrong in (5, None, [1, 2], {"a": 1}, "a.csv"):
        caught(TypeError, zf.write_table, wrong, tmp_path / "t.zfd")
    caught(zf.UsageError, zf.write_table, pa.chunked_array([[1, 2]]), tmp_path / "t.zfd")
    caught(zf.UsageError, zf.write_table, pa.table({}), tmp_path / "t.zfd")
    for options in ({"threads": 500}, {"rows_per_block": -1}, {"threads": -1}, {"rows_per_block": 1 << 32}, {"codecs": {"a": "plain\ud800"}}, {"codecs": {"\udcff": "plain"}}):
        caught(zf.UsageError, zf.write_table, pa.table({"a": [1]}), tmp_path / "t.zfd", **options)
    caught(zf.UsageError, zf.write_table, pa.table({"a": [1]}), "a\0b.zfd")
    assert list(tmp_path.iterdir()) == []


def test_values_of_arguments(file):
    """Wrong values are UsageErrors, which are ValueErrors; wrong types are TypeErrors."""
    with zf.open(file) as f:
        for options in ({"threads": 257}, {"threads": -1}, {"rows": slice(0, 9, 2)}, {"columns": ["\udc80"]}, {"columns": ["num\udc80ber"]}):
            for call in (f.read, f.batches, f.read_async):
                assert isinstance(caught(zf.UsageError, call, **options), ValueError)
        for options in ({"threads": "2"}, {"rows": 3}, {"columns": "number"}):
            caught(TypeError, f.read, **options)
    error = caught(zf.UsageError, zf.Program, "table t { a: i64 = plain; // \ud83d\n}")
    assert "the program is not UTF-8" in str(error) and "\\ud83d" in str(error)
    caught(zf.UsageError, zf.open, "a\0b")


def test_nearest_names_beside_lists(tmp_path):
    """The library's own error would name a part of a list, which is no column of a table."""
    zf.write_table(pa.table({"tags": [["a"]], "price": [1], "place": [{"latitude": 1}]}), tmp_path / "t.zfd")
    with zf.open(tmp_path / "t.zfd") as f:
        for name, hint in (("prize", "did you mean price?"), ("tag", "did you mean tags?"), ("place.latitud", "did you mean place.latitude?"), ("zzzz", "it has tags, price, place"),
                           ("tags.values", "did you mean tags?")):
            error = caught(zf.ColumnError, f.read, [name])
            assert error.hint.startswith(hint) and error.code == "ZF1105" and "values?" not in error.hint, error.hint


def test_programs(tmp_path, mixed):
    program = zf.Program("table t { number: i64 = delta(bitpack); quarter: f64? = nullable(values: plain); text: string = strings; flag: bool? = nullable; }")
    assert program.columns["number"] == ("i64", "delta(deltas: bitpack)") and list(program.columns) == mixed.column_names
    zf.write_table(mixed, tmp_path / "t.zfd", program)
    f = zf.open(tmp_path / "t.zfd")
    assert pa.table(f.read()).equals(mixed) and f.schema["number"].codec == "delta(deltas: bitpack)" and f.table_name == "t"
    error = caught(zf.InputError, zf.Program, "table t {\n  a: i64 = bitpack(;\n}", "mine.zf")
    assert error.place == "mine.zf:2:20" and error.code == "ZF0110"
    caught(TypeError, zf.Program, b"table t { a: i64 = plain; }")
    assert "differ in the columns a, flag" in str(caught(zf.UsageError, zf.write_table, mixed, tmp_path / "u.zfd", zf.Program("table t { a: i64 = plain; }")))
    caught(zf.UsageError, zf.write_table, mixed, tmp_path / "u.zfd", zf.Program("codec c: i64 = plain;"))
    assert pickle.loads(pickle.dumps(program)).columns == program.columns


@pytest.mark.parametrize("kind", ["i32", "u64", "f64", "string", "date32", "bool", "decimal(18, 0)"])
def test_programs_of_other_types(tmp_path, kind):
    """Data of another type than the program's is refused: its bytes are never taken for others."""
    codec = "strings" if kind == "string" else "plain"
    error = caught(zf.UsageError, zf.write_table, pa.table([pa.array([1])], schema=pa.schema([pa.field("a", pa.int64(), nullable=False)])), tmp_path / "t.zfd",
                   zf.Program(f"table t {{ a: {kind} = {codec}; }}"))
    assert error.place == "a" and "`l`" in str(error)


KINDS = [value for value in vars(_errors).values() if isinstance(value, type) and issubclass(value, zf.ZipflowError)]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_pickle(kind):
    error = _errors._build(kind, "what: 5", "ZF1208", "a.zfd: byte 7", "try again", errno.ENOENT if issubclass(kind, OSError) else None)
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(again) is kind and str(again) == str(error) == "[ZF1208] what: 5 (at a.zfd: byte 7)\ntry again"
        assert (again.code, again.place, again.hint) == (error.code, error.place, error.hint)
        assert getattr(again, "errno", None) == getattr(error, "errno", None)
    assert len(KINDS) == 13


def test_names_of_any_bytes(tmp_path):
    """A path that is no UTF-8 is quoted in errors."""
    path = os.fsencode(tmp_path) + b"/\xff.zfd"
    assert "\\xff" in str(caught(zf.NoFileError, zf.open, os.fsdecode(path)))
    zf.write_table(pa.table({"a": [1]}), os.fsdecode(path))
    assert len(zf.open(pathlib.Path(os.fsdecode(path))).read()) == 1


OTHERS = {"string": pa.array(["x"] * 1000), "list": pa.array([[1]] * 1000), "string_view": pa.array(["x" * 20] * 1000, pa.string_view()), "null": pa.nulls(1000)}


@pytest.mark.parametrize("kind", [pa.int64(), pa.bool_(), pa.binary(16), pa.string(), pa.string_view(), pa.null(), pa.list_(pa.int64()), pa.list_(pa.int64(), 1)], ids=str)
def test_arrays_of_another_type_than_the_schema(tmp_path, kind):
    """Arrays with other buffers than the type of the stream's schema has, which a read would go beyond."""
    for name, array in OTHERS.items():
        if array.type == kind or (name == "string" and kind == pa.string_view()):  # as many buffers: nothing tells the two
            continue
        batches = [pa.record_batch([pa.nulls(2, kind)], names=["a"]), pa.record_batch([array], names=["a"])]

        class Stream:
            def __arrow_c_stream__(self, requested_schema=None, batches=batches):
                return pa.RecordBatchReader.from_batches(batches[0].schema, iter(batches)).__arrow_c_stream__()

        error = caught(zf.InputError, zf.write_table, Stream(), tmp_path / "t.zfd")
        assert "not of the type that its schema has" in str(error), (name, error)
        assert not (tmp_path / "t.zfd").exists()


@pytest.mark.parametrize("key, shown", [
    (b"", "''"), (b"k\n", r"'k\n'"), (b"k\r", r"'k\r'"), (b"a\0b", r"'a\x00b'"), (b"x" * 5000, f"'{'x' * 40}'..."), (b"\xff", r"b'\xff'"), ("k\x9b".encode(), r"'k\x9b'"),
    ("é".encode() * 2049, f"'{'é' * 40}'...")])
def test_keys_of_metadata(tmp_path, key, shown):
    """A key that a file does not keep is named; keys of a field may be any."""
    table = pa.table({"a": [1]})
    error = caught(zf.UsageError, zf.write_table, table.replace_schema_metadata({key: "v"}), tmp_path / "t.zfd")
    assert f"the key {shown}, which is" in str(error) and "replace_schema_metadata" in error.hint and not list(tmp_path.iterdir())
    of_field = pa.table([table["a"]], schema=pa.schema([pa.field("a", pa.int64(), metadata={key: "v"})]))
    zf.write_table(of_field, tmp_path / "t.zfd")
    assert pa.schema(zf.open(tmp_path / "t.zfd")).equals(of_field.schema, check_metadata=True)
    zf.write_table(table.replace_schema_metadata({"ä b" + "x" * 4092: "v"}), tmp_path / "t.zfd")


def test_parquet_files(tmp_path):
    """Errors of pyarrow about a Parquet file become those of the package."""
    error = caught(zf.NoFileError, zf.write_table, tmp_path / "none.parquet", tmp_path / "t.zfd")
    assert error.place == str(tmp_path / "none.parquet") and error.errno == 2
    for data in (b"", b"PAR1" + bytes(40) + b"PAR1", b"no Parquet at all" * 9):
        (tmp_path / "broken.parquet").write_bytes(data)
        assert caught(zf.InputError, zf.write_table, tmp_path / "broken.parquet", tmp_path / "t.zfd").place.endswith("broken.parquet")
    assert not (tmp_path / "t.zfd").exists()


@pytest.mark.parametrize("codecs", ["bitpack", ["plain"], 5])
def test_codecs_of_another_type(tmp_path, codecs):
    with pytest.raises(TypeError, match="codecs must be a mapping of columns to codecs, or a Program, not"):
        zf.write_table(pa.table({"a": [1]}), tmp_path / "t.zfd", codecs)


@pytest.mark.parametrize(("raised", "wanted"), [(KeyboardInterrupt(), KeyboardInterrupt), (KeyboardInterrupt("now"), KeyboardInterrupt),
                                                (ValueError("KeyboardInterrupt"), zf.InputError), (SystemExit(7), zf.InputError)])
def test_interrupt_in_a_producer(raised, wanted, tmp_path):
    """pyarrow makes text of what a generator of batches raises: an interrupt is one again, and no file is left."""
    def batches():
        yield pa.record_batch({"x": [1, 2]})
        raise raised

    reader = pa.RecordBatchReader.from_batches(pa.schema([("x", pa.int64())]), batches())
    assert type(caught(wanted, zf.write_table, reader, tmp_path / "t.zfd")) is wanted
    assert os.listdir(tmp_path) == []
