"""Files: lazy, by columns and rows, from paths, bytes and file objects; what they say about themselves."""

import io
import mmap
import os
import pathlib
import subprocess
import sys

import conftest
import pyarrow as pa
import pytest

import zipflow as zf


def test_facts(file, mixed):
    with zf.open(file) as f:
        assert len(f) == f.num_rows == conftest.ROWS and f.nbytes == os.path.getsize(file) and not f.closed
        assert f.schema.names == mixed.column_names and len(f.schema) == 4 and "text" in f.schema and "tex" not in f.schema
        field = f.schema["quarter"]
        assert (field.name, field.type, field.nullable, field.rows, field.blocks) == ("quarter", "f64?", True, conftest.ROWS, 11)
        assert field.codec.startswith("nullable(") and field.stored_bytes > 0 and field.ratio == field.plain_bytes / field.stored_bytes
        assert f.schema[0].name == "number" and [field.name for field in f.schema] == f.schema.names
        assert pa.schema(f.schema) == pa.schema(f) == mixed.schema
        assert f.table_name == "data" and f.metadata == {}
        assert pa.ipc.read_schema(pa.py_buffer(f.arrow_schema)) == mixed.schema
    assert f.closed


def test_repr(file):
    f = zf.open(file)
    head, names, *rows = repr(f).splitlines()
    assert head == f"{file}: table data, 10,007 rows, 4 columns, {f.nbytes:,} bytes"
    assert names.split() == ["column", "type", "rows", "bytes", "ratio", "codec"] and len(rows) == 4
    field = f.schema["quarter"]
    assert rows[1].split()[:5] == ["quarter", "f64?", "10,007", f"{field.stored_bytes:,}", f"{field.ratio:.2f}"]
    assert f.explain("quarter").splitlines()[:2] == ["quarter: f64?", f"  codec    {field.codec}"]
    assert "10,007 in 11 blocks, blocks of different numbers of rows" in f.explain("quarter")


def test_columns(file, mixed):
    f = zf.open(file)
    table = f.read(["text", "number"])
    assert table.column_names == ["text", "number"] and table.num_columns == 2 and len(table) == table.num_rows == conftest.ROWS
    assert pa.table(table).equals(mixed.select(["text", "number"])) and pa.schema(table) == mixed.select(["text", "number"]).schema
    assert table["number"].name == "number" and "text" in table and list(table) == ["text", "number"]
    assert table.nbytes == sum(column.nbytes for column in table.columns)
    empty = f.read([])
    assert empty.num_columns == 0 and len(empty) == conftest.ROWS
    for wrong, kind in ((["txt"], zf.ColumnError), (["txt"], KeyError), ("text", TypeError), (["text", "text"], ValueError), ([1], TypeError)):
        with pytest.raises(kind):
            f.read(wrong)
    with pytest.raises(zf.ColumnError, match="did you mean text") as caught:
        f.read(["txet"])
    assert caught.value.code == "ZF1105"


@pytest.mark.parametrize("rows", [slice(None), slice(0, 0), slice(5, 3), slice(1000), slice(999, 1001), slice(1, 10_006), slice(-7, None), slice(None, -10_000),
                                  slice(10_006, 99_999), slice(20_000, None), slice(7, 8, 1)])
def test_rows(file, mixed, rows):
    begin, end, _ = rows.indices(conftest.ROWS)
    out = pa.table(zf.open(file).read(rows=rows))
    out.validate(full=True)
    assert out.equals(mixed.slice(begin, max(end - begin, 0)))


def test_code_before_decodes(file, mixed):
    """Code of several columns is got over several threads, once; what is wrong is found as without."""
    f = zf.open(file)
    f.read(["text"])
    assert f._coded == set()  # one column gets its code itself
    assert pa.table(f.read(["text", "flag"])).equals(mixed.select(["text", "flag"])) and len(f._coded) == 2
    assert pa.table(f.read(rows=slice(3, 50))).equals(mixed.slice(3, 47)) and len(f._coded) == 4
    far = zf.open(open(file, "rb"))
    assert pa.table(far.read()).equals(mixed) and far._coded == set()
    data = bytearray(file.read_bytes())
    data[600] ^= 1
    places = []
    for names in (["number"], None):
        with pytest.raises(zf.InputError) as caught:
            zf.open(bytes(data)).read(names)
        places.append(caught.value.place)
    assert places[0] == places[1] and "number" in places[0]


def test_wrong_rows(file):
    f = zf.open(file)
    with pytest.raises(ValueError, match="step of 1, not 2"):
        f.read(rows=slice(0, 10, 2))
    with pytest.raises(ValueError, match="step of 1, not -1"):
        f.read(rows=slice(None, None, -1))
    with pytest.raises(TypeError, match="rows must be a slice, not int"):
        f.read(rows=5)
    with pytest.raises(ValueError):
        f.read(threads=-1)


def test_sizes(file):
    f = zf.open(file)
    sizes = f.sizes(["number", "quarter", "text", "flag"])
    assert {name: (s["values"], s["offsets"], s["validity"]) for name, s in sizes.items() if name != "text"} == {
        "number": (8 * conftest.ROWS, 0, 0), "quarter": (8 * conftest.ROWS, 0, 1251), "flag": (1251, 0, 1251)}
    assert (sizes["text"]["offsets"], sizes["text"]["validity"]) == (8 * (conftest.ROWS + 1), 0)
    assert f.sizes(["number"], slice(3, 8))["number"]["values"] == 40


class Counting(io.RawIOBase):
    """A file object without a descriptor, which keeps what was read."""

    def __init__(self, data):
        self.data, self.at, self.reads = data, 0, []

    def seek(self, offset, whence=0):
        self.at = offset + (0, self.at, len(self.data))[whence]
        return self.at

    def read(self, count=-1):
        part = self.data[self.at:self.at + count]
        self.reads.append((self.at, len(part)))
        return part


def sources(path):
    data = pathlib.Path(path).read_bytes()
    yield "path", path
    yield "text", str(path)
    yield "bytes", data
    yield "bytearray", bytearray(data)
    yield "memoryview", memoryview(b"x" + data)[1:]
    with open(path, "rb") as file:
        yield "mmap", mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    yield "BytesIO", io.BytesIO(data)
    yield "file", open(path, "rb")
    yield "object", Counting(data)


def test_sources(file, mixed):
    seen = []
    for name, source in sources(file):
        with zf.open(source) as f:
            assert pa.table(f.read()).equals(mixed), name
            assert pa.table(f.read(["text"], slice(5, 5000))).equals(mixed.select(["text"]).slice(5, 4995)), name
        seen.append(name)
    assert len(seen) == 9


def test_file_object_is_lazy(file):
    """At most two requests to open; a range of rows reads its blocks and no others."""
    source = Counting(pathlib.Path(file).read_bytes() + b"")
    f = zf.open(source)
    assert len(source.reads) <= 2
    source.reads.clear()
    f.read(["number"], slice(0, 10))
    assert sum(count for _, count in source.reads) <= 2 * f.schema["number"].stored_bytes / f.schema["number"].blocks


def test_short_reads(file, mixed):
    class Short(Counting):
        def read(self, count=-1):
            return super().read(min(count, 777))

    assert pa.table(zf.open(Short(file.read_bytes())).read()).equals(mixed)


def test_closed(file):
    f = zf.open(file)
    f.close()
    f.close()
    for use in (f.read, f.sizes, f.__enter__):
        with pytest.raises(ValueError, match="closed"):
            use()
    assert len(f) == conftest.ROWS  # the index was read


def test_not_sources(tmp_path):
    for wrong in (5, None, object(), [b"x"]):
        with pytest.raises(TypeError):
            zf.open(wrong)
    with pytest.raises(ValueError):
        zf.open("a\0b")


def test_import_is_light(file):
    """Import and open load neither LLVM, nor a driver, nor NumPy or pyarrow; a read loads the compiler."""
    program = f"""
import sys
import zipflow as zf
f = zf.open({str(file)!r})
repr(f), f.schema, f.explain("number")
def loaded(word): return any(word in line for line in open("/proc/self/maps"))
assert not loaded("libLLVM") and not loaded("_compile.abi3") and not loaded("libcuda"), "the compiler"
heavy = {{"numpy", "pyarrow", "re", "ctypes", "typing", "inspect"}} & set(sys.modules)
assert not heavy, heavy
f.read(["number"])
assert loaded("_compile.abi3") and not loaded("libcuda")
"""
    subprocess.run([sys.executable, "-S", "-c", program], check=True)


def test_numpy(file, mixed):
    numpy = pytest.importorskip("numpy")
    table = zf.open(file).read()
    assert table["number"].numpy().tolist() == mixed["number"].to_pylist() and table["number"].numpy().dtype == numpy.int64
    assert not table["number"].numpy().flags.writeable and not table["number"].numpy().flags.owndata
    with pytest.raises(TypeError, match="column quarter has .* nulls"):
        table["quarter"].numpy()
    with pytest.raises(TypeError, match="column text has Arrow's type `u`"):
        table["text"].numpy()


def test_numpy_of_units(tmp_path):
    numpy = pytest.importorskip("numpy")
    kinds = [pa.timestamp("s"), pa.timestamp("ms"), pa.timestamp("ns", "UTC"), pa.duration("ns"), pa.date64(), pa.float16()]
    names = ["M8[s]", "M8[ms]", "M8[ns]", "m8[ns]", "M8[ms]", "f2"]
    zf.write_table(pa.table({name + str(k): pa.array([86_400_000, 0], pa.int64()).cast(kind) if name != "f2" else pa.array([1.5, 0], kind)
                             for k, (kind, name) in enumerate(zip(kinds, names))}), tmp_path / "u.zfd")
    for column, name in zip(zf.open(tmp_path / "u.zfd").read().columns, names):
        assert column.numpy().dtype == numpy.dtype(name) and column.numpy()[0] == numpy.array([1.5 if name == "f2" else 86_400_000]).astype(name)[0]
    assert numpy.from_dlpack(column).dtype == numpy.float16 and memoryview(column).format == "e"


def test_numpy_of_other_types(tmp_path):
    numpy = pytest.importorskip("numpy")
    days = pa.array([1, None, 3], pa.int32()).cast(pa.date32())
    times = pa.array([5, None, 7], pa.timestamp("us"))
    flags = pa.array([True, False, True])
    zf.write_table(pa.table({"d": days, "t": times, "b": flags}), tmp_path / "n.zfd")
    table = zf.open(tmp_path / "n.zfd").read()
    assert table["d"].numpy().astype(str).tolist() == ["1970-01-02", "NaT", "1970-01-04"]
    assert table["t"].numpy().dtype == numpy.dtype("M8[us]") and numpy.isnat(table["t"].numpy()).tolist() == [False, True, False]
    assert table["b"].numpy().tolist() == [True, False, True]
