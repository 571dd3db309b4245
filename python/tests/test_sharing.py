"""Memory that others use: Arrow capsules, DLPack, the buffer protocol. It outlives files and tables, and is freed by whom comes last."""

import gc
import threading

import conftest
import pyarrow as pa
import pytest

import zipflow as zf
from zipflow import _runtime

numpy = pytest.importorskip("numpy")


def alive():
    gc.collect()
    return _runtime.storages()


@pytest.fixture(autouse=True)
def nothing_left():
    before = alive()
    yield
    assert alive() == before


def test_capsules_outlive_the_file(file, mixed):
    f = zf.open(file)
    table = f.read()
    stream, pair = table.__arrow_c_stream__(), table["text"].__arrow_c_array__()
    f.close()
    del f, table

    class Holder:
        def __arrow_c_stream__(self, requested_schema=None):
            return stream

        def __arrow_c_array__(self, requested_schema=None):
            return pair

    assert pa.table(Holder()).equals(mixed) and pa.array(Holder()).to_pylist() == mixed["text"].to_pylist()


def test_capsules_that_nobody_takes(file):
    before = alive()
    table = zf.open(file).read()
    kept = [table.__arrow_c_stream__(), table.__arrow_c_schema__(), table["text"].__arrow_c_array__(), table["number"].__dlpack__(),
            table["number"].__dlpack__(max_version=(1, 0)), table["number"].__dlpack__(copy=True), memoryview(table["number"])]
    del table
    assert alive() == before + 4  # the stream holds all columns
    del kept
    assert alive() == before


def test_no_copy(file):
    column = zf.open(file).read(["number"])["number"]
    address = numpy.asarray(memoryview(column)).__array_interface__["data"][0]
    assert pa.array(column).buffers()[1].address == address == numpy.from_dlpack(column).__array_interface__["data"][0]
    assert address % 64 == 0


def test_release_on_another_thread(file):
    before = alive()
    table = pa.table(zf.open(file).read())
    box = [table]
    del table
    thread = threading.Thread(target=box.clear)
    thread.start()
    thread.join()
    assert alive() == before


def test_arrow_capsules(file):
    column = zf.open(file).read(["number"])["number"]
    assert pa.array(column).equals(pa.array(column.__class__.__arrow_c_array__(column) and column))
    with pytest.raises(TypeError):
        column.__arrow_c_array__(wrong=1)
    stream = zf.open(file).read(["number"]).__arrow_c_stream__(None)
    assert type(stream).__name__ == "PyCapsule" and "arrow_array_stream" in repr(stream)


NUMBERS = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(), pa.float32(), pa.float64()]


@pytest.mark.parametrize("kind", NUMBERS, ids=str)
def test_dlpack(tmp_path, kind):
    values = [k % 100 for k in range(1000)]
    zf.write_table(pa.table({"x": pa.array(values, kind)}), tmp_path / "t.zfd", {"x": "bitpack" if pa.types.is_integer(kind) else "plain"})
    column = zf.open(tmp_path / "t.zfd").read()["x"]  # nullable, without a null
    assert column.__dlpack_device__() == (1, 0)
    array = numpy.from_dlpack(column)
    assert array.dtype == kind.to_pandas_dtype() and array.tolist() == values
    assert memoryview(column).format == numpy.dtype(kind.to_pandas_dtype()).char.replace("l", "q").replace("L", "Q") and len(column) == 1000
    del column
    gc.collect()
    assert array.tolist() == values


def test_dlpack_arguments(file):
    column = zf.open(file).read(["number"])["number"]
    assert '"dltensor"' in repr(column.__dlpack__())
    assert '"dltensor"' in repr(column.__dlpack__(max_version=(0, 8)))
    assert '"dltensor_versioned"' in repr(column.__dlpack__(stream=None, max_version=(1, 0), dl_device=(1, 0), copy=None))
    assert '"dltensor_versioned"' in repr(column.__dlpack__(max_version=(2, 1)))
    for wrong, kind in (({"stream": 1}, BufferError), ({"dl_device": (2, 0)}, BufferError), ({"dl_device": 1}, TypeError),
                        ({"max_version": 1}, TypeError), ({"unknown": 1}, TypeError)):
        with pytest.raises(kind):
            column.__dlpack__(**wrong)
    with pytest.raises(TypeError):
        column.__dlpack__(None)


def test_dlpack_is_read_only_unless_copied(file):
    column = zf.open(file).read(["number"])["number"]
    shared, own = numpy.from_dlpack(column), numpy.from_dlpack(column, copy=True)
    assert not shared.flags.writeable and own.flags.writeable
    first = int(shared[0])
    own[0] = first + 1
    assert shared[0] == first


@pytest.mark.parametrize("name, words", [("quarter", r"nulls: its memory is in .values and .validity"), ("text", r"`u`.*in .values and .offsets"),
                                         ("flag", "`b`")])
def test_dlpack_refuses(file, name, words):
    column = zf.open(file).read([name])[name]
    with pytest.raises(BufferError, match=words):
        column.__dlpack__()
    with pytest.raises(BufferError, match=words):
        memoryview(column)
    assert numpy.from_dlpack(column.values).tobytes() == bytes(memoryview(column.values))


def test_dates_and_decimals_refuse(tmp_path):
    import datetime
    import decimal

    zf.write_table(pa.table({"d": [datetime.date(2024, 1, 1)], "t": pa.array([1], pa.timestamp("us")), "m": [decimal.Decimal("1.5")]}), tmp_path / "t.zfd")
    for column in zf.open(tmp_path / "t.zfd").read().columns:
        with pytest.raises(BufferError, match=f"column {column.name} has Arrow's type"):
            column.__dlpack__()


def test_buffers(file, mixed):
    table = zf.open(file).read()
    quarter = table["quarter"]
    bits = numpy.unpackbits(numpy.asarray(quarter.validity), count=conftest.ROWS, bitorder="little")
    assert [value if bit else None for value, bit in zip(numpy.asarray(quarter.values).tolist(), bits)] == mixed["quarter"].to_pylist()
    assert all(value == 0 for value, bit in zip(numpy.asarray(quarter.values), bits) if not bit)  # the element of a null is 0
    assert quarter.null_count == mixed["quarter"].null_count and table["number"].validity is None and table["number"].offsets is None
    text = table["text"]
    offsets = numpy.asarray(text.offsets)
    assert bytes(memoryview(text.values))[offsets[1]:offsets[2]].decode() == mixed["text"][1].as_py()


def test_buffer_is_read_only(file):
    column = zf.open(file).read(["number"])["number"]
    for exporter in (column, column.values):
        view = memoryview(exporter)
        assert view.readonly and view.ndim == 1 and view.contiguous and view.itemsize == 8 and view.shape == (conftest.ROWS,)
        with pytest.raises(TypeError):
            view[0] = 1
        with pytest.raises((BufferError, TypeError)):
            import io
            io.BytesIO(b"").readinto(exporter)


def test_types_cannot_be_made():
    for kind in (zf.Column, _runtime.Column, _runtime.Buffer, _runtime.Container, _runtime.Home):
        with pytest.raises(TypeError):
            kind()
        with pytest.raises(TypeError):
            object.__new__(kind)


def test_only_columns_are_exported(file):
    with pytest.raises(TypeError):
        _runtime.export_stream(("x",), 1, None)
    with pytest.raises(ValueError, match="different numbers of rows"):
        _runtime.export_stream((zf.open(file).read(["number"])["number"],), 1, None)
