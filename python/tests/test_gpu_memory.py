"""Columns in a GPU's memory, against a driver made for the purpose (tests/support/fake_cuda.c): whose memory, streams and lives they have.

Its kernels do nothing, so no test looks at values: on_gpu.py does, on a real GPU.
"""

import ctypes
import gc
import os
import pathlib
import subprocess
import sys
import threading

import numpy as np
import pyarrow as pa
import pytest

import device_arrays
import zipflow as zf

LIBRARY = pathlib.Path(zf.__file__).parents[2] / "lib" / "libfake_gpu.so"
os.environ["ZIPFLOW_CUDA_LIBRARY"] = str(LIBRARY)  # before the first use of a GPU in this process
ROWS = 10_007


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    assert LIBRARY.exists()
    at = tmp_path_factory.mktemp("gpu") / "t.zfd"
    flat = pa.schema([pa.field("number", pa.int64(), nullable=False), pa.field("half", pa.float16(), nullable=False), pa.field("quarter", pa.float64()),
                      pa.field("text", pa.string(), nullable=False), pa.field("flag", pa.bool_()), pa.field("price", pa.decimal128(15, 2), nullable=False)])
    zf.write_table(pa.table([pa.array(range(ROWS)), pa.array(np.arange(ROWS) % 9, pa.float16()), pa.array([None if k % 7 == 0 else k / 4 for k in range(ROWS)]),
                             pa.array([f"text {k % 19}" for k in range(ROWS)]), pa.array([None if k % 5 == 0 else k % 2 == 0 for k in range(ROWS)]),
                             pa.array(range(ROWS), pa.decimal128(15, 2))], schema=flat), at, rows_per_block=1000)
    return at


class Memory:
    """Memory as an allocator returns it, of the host here. Aligned to 256."""

    alive = 0

    def __init__(self, nbytes, *, short=0, away=0, step=None, read_only=False):
        self._all = np.full(nbytes + 1024, 0xA5, "u1")
        at = self._all.ctypes.data
        self.address = at + -at % 256 + 256 + away
        self.nbytes, self._step, self._read_only = nbytes - short, step, read_only
        Memory.alive += 1

    def __del__(self):
        Memory.alive -= 1

    def bytes(self, count):
        return ctypes.string_at(self.address, count)

    @property
    def __cuda_array_interface__(self):
        return {"shape": (self.nbytes,), "typestr": "|u1", "data": (self.address, self._read_only), "strides": self._step, "version": 3}


class Array:
    """An array on a GPU as others have it, of the host's memory here."""

    def __init__(self, typestr, shape, *, strides=None, read_only=False, away=0):
        self._memory = Memory(int(typestr[2:]) * int(np.prod(shape)), away=away)
        self.__cuda_array_interface__ = {"shape": shape, "typestr": typestr, "data": (self._memory.address, read_only), "strides": strides, "version": 3}


def test_out(path):
    before = Memory.alive
    with zf.open(path) as f:
        number, half = Array("<i8", (ROWS,), strides=(8,)), Array("<f2", (ROWS + 1,))  # of whole words
        g = f.read(["number", "half", "quarter"], device="cuda:0", out={"number": number, "half": half})
        for name, out in (("number", number), ("half", half)):
            assert g[name].__cuda_array_interface__["data"] == (out._memory.address, False)
        quarter = {"values": Array("<f8", (1000,)), "validity": Array("|u1", (256,))}
        p = f.read_async(["quarter"], slice(0, 1000), device="cuda:0", out={"quarter": quarter})
        got = p.result()["quarter"]
        assert got.values.__cuda_array_interface__["data"][0] == quarter["values"]._memory.address
        assert got.validity.__cuda_array_interface__["data"][0] == quarter["validity"]._memory.address
        made = []
        both = f.read(["number", "quarter"], device="cuda:0", out={"number": number}, allocator=lambda nbytes, _: made.append(Memory(nbytes)) or made[-1])
        assert len(made) == 2 and both["number"].__cuda_array_interface__["data"][0] == number._memory.address
        for wrong, says in ((Array("<i8", (ROWS - 1,)), "shape"), (Array("<i8", (ROWS + 1, 1)), "shape"), (Array("|u1", (8 * ROWS - 1,)), "shape"), (Array("<i4", (ROWS,)), "int32"), (Array("<f8", (ROWS,)), "float64"), (Array(">i8", (ROWS,)), "highest byte"),
                            (Array("<i8", (ROWS,), strides=(16,)), "contiguous"), (Array("<i8", (ROWS,), strides=(8, 8)), "contiguous"), (Array("<i8", (ROWS,), read_only=True), "read-only"),
                            (Array("<i8", (ROWS,), away=8), "256"), (np.zeros(ROWS, "i8"), "cuda_array_interface"), (Array("<c8", (ROWS,)), "`<c8`")):
            with pytest.raises(zf.UsageError, match=says) as caught:
                f.read(["number"], device="cuda:0", out={"number": wrong})
            assert caught.value.place == "number"
        with pytest.raises(zf.UsageError, match="overlaps"):
            f.read(["number", "quarter"], device="cuda:0", out={"number": number, "quarter": _as(number, "<f8")})
        assert len(f.read(["number"], slice(1003, 1003), device="cuda:0", out={"number": Array("<i8", (0,))})["number"]) == 0
        with pytest.raises(zf.UsageError, match="all rows of a tile"):  # the rows of a tile before them have no place
            f.read(["number"], slice(1003, 2000), device="cuda:0", out={"number": Array("<i8", (997,))})
    del g, p, got, both, number, half, quarter, made, wrong, out, caught
    gc.collect()
    zf.open(path).read(["number"], slice(0, 1), device="cuda:0")
    assert Memory.alive == before


def _as(array, typestr):
    """The same memory as another type."""
    other = Array.__new__(Array)
    other._memory = array._memory
    other.__cuda_array_interface__ = array.__cuda_array_interface__ | {"typestr": typestr}
    return other


def test_shape(path):
    with zf.open(path) as f:
        g = f.read(device="cuda")
        assert isinstance(g, zf.DeviceTable) and g.device == "cuda:0" and len(g) == ROWS
        assert g.column_names == f.schema.names and "on cuda:0" in repr(g) and g.nbytes > 0
        assert [c.format for c in g.columns] == ["l", "e", "g", "U", "b", "d:15,2,64"]
        assert f.read(["text"], device="cuda:0", binary=True)["text"].format == "Z"
    number = g["number"]  # the file is closed
    assert number.device == "cuda:0" and len(number) == ROWS and number.nbytes == 8 * ROWS and not number.nullable and number.null_count == 0
    assert number.__dlpack_device__() == (2, 0) and number.validity is None and number.offsets is None
    interface = number.__cuda_array_interface__
    assert interface["shape"] == (ROWS,) and interface["typestr"] == "<i8" and interface["version"] == 3 and not interface["data"][1]
    assert g["half"].__cuda_array_interface__["typestr"] == "<f2"
    assert g["text"].offsets.__cuda_array_interface__["typestr"] == "<i8" and len(g["text"].offsets) == ROWS + 1
    assert g["flag"].values.__cuda_array_interface__["typestr"] == "|u1" and len(g["flag"].validity) == (ROWS + 7) // 8
    for name in ("text", "flag", "price"):
        assert not hasattr(g[name], "__cuda_array_interface__")
        with pytest.raises(BufferError, match=name):
            g[name].__dlpack__()
    for column in g.columns:  # nothing of it is the host's
        for interface in ("__arrow_c_array__", "numpy", "__array__"):
            assert not hasattr(column, interface)
        with pytest.raises(TypeError):
            memoryview(column)
        with pytest.raises(TypeError):
            memoryview(column.values)


@pytest.mark.parametrize("rows", [slice(0, 0), slice(0, 1), slice(999, 1001), slice(1003, 5000), slice(1045, 1500), slice(ROWS - 1, ROWS), slice(0, ROWS)])
def test_rows(path, rows):
    count = rows.stop - rows.start
    g = zf.open(path).read(rows=rows, device="cuda:0")
    assert len(g) == count and all(len(c) == count for c in g.columns)
    assert g["number"].__cuda_array_interface__["shape"] == (count,) and len(g["number"].values) == count and g["number"].nbytes == 8 * count
    assert len(g["text"].offsets) == count + 1
    for name in ("quarter", "flag"):
        bits = g[name].validity
        assert 0 <= bits.bit_offset < 32 and len(bits) == (bits.bit_offset + count + 7) // 8
        assert 0 <= g[name].null_count <= count
    assert len(zf.open(path).read([], rows, device="cuda:0")) == count


def test_tensors(path):
    column = zf.open(path).read(["number"], device="cuda:0")["number"]
    assert '"dltensor"' in repr(column.__dlpack__()) and '"dltensor_versioned"' in repr(column.__dlpack__(max_version=(1, 1), dl_device=(2, 0)))
    for stream in (None, -1, 1, 2, 1 << 40):
        column.__dlpack__(stream=stream)
    for wrong, kind in (({"stream": 0}, BufferError), ({"stream": -2}, BufferError), ({"stream": "x"}, TypeError), ({"dl_device": (2, 1)}, BufferError),
                        ({"copy": True}, BufferError), ({"dl_device": (1, 0), "copy": False}, BufferError), ({"dl_device": 1}, TypeError)):
        with pytest.raises(kind):
            column.__dlpack__(**wrong)
    on_host = np.from_dlpack(column, device="cpu")  # a copy
    assert on_host.shape == (ROWS,) and on_host.ctypes.data != column.__cuda_array_interface__["data"][0]
    assert len(np.from_dlpack(column.values, device="cpu")) == ROWS


@pytest.mark.parametrize("rows", [slice(9984, 10_000), slice(9985, 10_000), slice(9472, 9984), slice(9471, 9985), slice(5, 10_000), slice(9999, 10_000), slice(0, 10_000)])
def test_bitmaps_are_padded(tmp_path, rows):
    """libcudf copies a bitmap by 64 bytes, from the word in which the rows begin: as many lie in the memory."""
    flags = [None if k % 5 == 0 else k % 2 == 0 for k in range(10_000)]
    schema = pa.schema([pa.field("always", pa.bool_(), nullable=False), pa.field("flag", pa.bool_()), pa.field("number", pa.int32())])
    zf.write_table(pa.table([[k % 3 == 0 for k in range(10_000)], flags, list(range(9_999)) + [None]], schema=schema), tmp_path / "t.zfd")
    made = []
    g = zf.open(tmp_path / "t.zfd").read(rows=rows, device="cuda:0", allocator=lambda nbytes, _: made.append(Memory(nbytes)) or made[-1])
    bitmaps = [column.values for column in g.columns if column.format == "b"] + [column.validity for column in g.columns if column.nullable]
    assert len(bitmaps) == 4 and len(made) == 5
    for bitmap in bitmaps:
        at, count = bitmap.__cuda_array_interface__["data"][0], (bitmap.bit_offset + rows.stop - rows.start + 7) // 8
        assert 0 <= bitmap.bit_offset < 32 and len(bitmap) == count
        memory, = (m for m in made if m.address <= at < m.address + m.nbytes)
        assert at + -(-count // 64) * 64 <= memory.address + memory.nbytes


@pytest.mark.parametrize("rows", [slice(0, 0), slice(0, 1), slice(999, 1001), slice(1003, 5000), slice(1012, 1500), slice(0, ROWS)])
def test_arrow(path, rows):
    """Device arrays: buffers lie in the column's memory, and one offset serves validity and values."""
    g = zf.open(path).read(rows=rows, device="cuda:0")
    schema = pa.schema(g)
    assert schema.names == g.column_names and schema.field("text").type == pa.large_string() and schema.field("number").type == pa.int64()
    for column in g.columns:
        one, kept = device_arrays.array_of(column)
        array, buffers = one.array, device_arrays.buffers_of(one.array)
        assert (one.device_type, one.device_id, one.sync_event) == (2, 0, None)
        assert array.length == len(column) and array.null_count == column.null_count and array.n_children == 0 and 0 <= array.offset < 32
        values = column.values.__cuda_array_interface__["data"][0]
        width = {"l": 8, "e": 2, "g": 8, "d:15,2,64": 8}.get(column.format, 0)
        assert buffers[-1] == values - array.offset * width
        assert (buffers[0] or 0) % 4 == 0 and (column.format != "b" or values % 4 == 0)  # libcudf reads bitmaps by words
        if column.offsets is not None:
            assert buffers[1] == column.offsets.__cuda_array_interface__["data"][0] - 8 * array.offset
        if column.null_count:
            assert buffers[0] == column.validity.__cuda_array_interface__["data"][0] and array.offset == column.validity.bit_offset
        else:
            assert buffers[0] is None
        del kept
    made = []  # and copies them by 64 bytes
    zf.open(path).read(["flag"], rows, device="cuda:0", allocator=lambda nbytes, _: made.append(Memory(nbytes)) or made[-1])
    assert len(made) == 2 and all(memory.nbytes % 64 == 0 and memory.nbytes > 0 for memory in made)
    stream, capsule = device_arrays.stream_of(g)
    out = device_arrays.DeviceArray()
    assert stream.device_type == 2 and stream.get_next(stream, out) == 0 and out.array.length == len(g)
    assert out.array.n_children == g.num_columns and (out.device_type, out.device_id) == (2, 0)
    again = device_arrays.DeviceArray()
    assert stream.get_next(stream, again) == 0 and not again.array.release
    whole, kept = device_arrays.array_of(g)  # a struct of the columns
    assert (whole.device_type, whole.device_id, whole.array.length, whole.array.n_children) == (2, 0, len(g), g.num_columns)
    for k, column in enumerate(g.columns):
        one, alone = device_arrays.array_of(column)
        child = whole.array.children[k].contents
        assert device_arrays.buffers_of(child) == device_arrays.buffers_of(one.array) and child.offset == one.array.offset
    whole = device_arrays.DeviceArray.from_buffer_copy(whole)  # moved out of the capsule
    ctypes.memset(ctypes.addressof(device_arrays.array_at(kept)) + device_arrays.Array.release.offset, 0, 8)
    del kept, alone, one, child
    whole.array.release(ctypes.pointer(whole.array))
    del g, capsule
    gc.collect()
    assert out.array.children[0].contents.length == rows.stop - rows.start
    out.array.release(ctypes.pointer(out.array))


def test_arrow_lives(path):
    """Arrays keep the memory, also when a consumer has moved them out of their capsule."""
    f = zf.open(path)
    g = f.read(["number"], device="cuda:0", allocator=lambda n, s: Memory(n))
    one, kept = device_arrays.array_of(g["number"])
    moved = device_arrays.DeviceArray.from_buffer_copy(one)
    ctypes.memset(ctypes.addressof(one) + device_arrays.Array.release.offset, 0, 8)
    del g, kept
    gc.collect()
    assert Memory.alive == 1
    moved.array.release(ctypes.pointer(moved.array))
    gc.collect()
    assert Memory.alive == 0
    column = f.read(["number"], device="cuda:0")["number"]
    column.__arrow_c_device_array__(None, later=None)
    column.__arrow_c_device_array__(requested_schema=column.__arrow_c_schema__())
    table = f.read(["number"], device="cuda:0")
    for call in (column.__arrow_c_device_array__, table.__arrow_c_device_array__, table.__arrow_c_device_stream__):
        with pytest.raises(NotImplementedError, match="later"):
            call(later=1)


class Driver(ctypes.Structure):
    """zf_fake_cuda of tests/support/fake_cuda.h: what it is told to do, and whom it tells."""

    _fields_ = [("numbers", ctypes.c_int * 7), ("total", ctypes.c_size_t), ("free", ctypes.c_size_t), ("no_pools", ctypes.c_bool), ("failing", ctypes.c_char_p),
                ("result", ctypes.c_int), ("stuck", ctypes.c_int), ("fault", ctypes.c_int), ("kernel", ctypes.c_void_p), ("called", ctypes.c_void_p),
                ("on_stream", ctypes.c_void_p), ("on_event", ctypes.c_void_p), ("destroyed", ctypes.c_void_p)]


@pytest.fixture
def told():
    """Calls of the driver on streams: (symbol, stream)."""
    driver, seen = Driver.in_dll(ctypes.CDLL(str(LIBRARY)), "zf_fake_cuda_state"), []
    on_stream = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_void_p)(lambda symbol, stream: seen.append((symbol.decode(), stream or 0)))
    on_event = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p)(lambda symbol, stream, _: seen.append((symbol.decode(), stream or 0)))
    seen.append(driver)
    driver.on_stream, driver.on_event = (ctypes.cast(call, ctypes.c_void_p) for call in (on_stream, on_event))
    yield seen
    driver.on_stream = driver.on_event = driver.failing = driver.destroyed = None


def test_streams_of_consumers(path, told):
    """Memory goes back behind the work on every stream that a consumer of DLPack named, which may be destroyed by then."""
    driver = told.pop()
    f = zf.open(path)
    follow, wait = [("cuEventRecord", 1), ("cuStreamWaitEvent", 0x70)], [("cuCtxSynchronize", 0)]
    for name, streams, before in (("number", [0x80], wait), ("number", [1, 0x80, 0x90, 0x80, 0x70, -1], wait), ("number", [None, 1], follow), ("number", [-1, 0x70], []),
                                  ("number", [2], wait), ("quarter", [0x80], wait)):
        column = f.read([name], device="cuda:0", stream=0x70)[name]
        source = column if name == "number" else column.values
        tensors = [source.__dlpack__(stream=stream) for stream in streams]
        told.clear()
        driver.destroyed = 0x80  # from now on its use ends the process
        del column, source
        gc.collect()
        assert not told
        tensors.clear()
        driver.destroyed = None
        parts = 1 if name == "number" else 2
        assert told == before + [("cuMemFreeAsync", 0x70)] * parts
    column = f.read(["number"], device="cuda:0", stream=0x70)["number"]
    tensor = column.__dlpack__(stream=0x80)
    driver.failing, driver.result = b"cuCtxSynchronize", 900  # a capture of a graph forbids it: work may go on
    told.clear()
    del column, tensor
    gc.collect()
    assert not told


def test_lists(tmp_path):
    """Lists: offsets and validity as the CPU decodes them, the values in a column of their own."""
    rows = [None if k % 7 == 3 else [f"v{j}" if j % 5 else None for j in range(k % 4)] for k in range(5000)]
    numbers = [[j * k for j in range(k % 3)] for k in range(5000)]
    at = tmp_path / "lists.zfd"
    zf.write_table(pa.table({"text": pa.array(rows, pa.list_(pa.string())), "n": pa.array(numbers, pa.list_(pa.int32()))}), at, rows_per_block=999)
    f = zf.open(at)
    for some in (slice(0, 0), slice(0, 5000), slice(3, 4), slice(990, 2100)):
        g, host = f.read(rows=some, device="cuda:0"), pa.table(f.read(rows=some))
        schema = pa.schema(g)
        assert schema.field("text").type == pa.large_list(pa.large_string()) and schema.field("n").type == pa.large_list(pa.int32())
        for name in ("text", "n"):
            column, wanted = g[name], host[name].combine_chunks()
            assert len(column) == len(wanted) and column.null_count == wanted.null_count and column.values.format in ("U", "i")
            offsets = np.from_dlpack(column.offsets, device="cpu")
            assert offsets[0] == 0 and (np.diff(offsets) == [len(v) if v is not None else 0 for v in wanted.to_pylist()]).all()
            assert len(column.values) == offsets[-1] and not hasattr(column, "__cuda_array_interface__")
            if wanted.null_count:
                bits = np.unpackbits(np.from_dlpack(column.validity, device="cpu"), count=len(wanted), bitorder="little")
                assert (bits.astype(bool) == wanted.is_valid().to_numpy(zero_copy_only=False)).all()
            one, kept = device_arrays.array_of(column)
            child = one.array.children[0].contents
            assert one.array.n_children == 1 and one.array.offset == 0 and child.length == len(column.values)
            del kept
        kept = g["n"].values
        at_values = kept.__cuda_array_interface__["data"] if not kept.null_count else None
        del g
        gc.collect()
        assert len(kept) == sum(len(row) for row in numbers[some]) and (at_values is None or kept.__cuda_array_interface__["data"] == at_values)
    with pytest.raises(zf.UnsupportedError, match="allocator"):
        f.read(["n"], device="cuda:0", allocator=lambda n, s: Memory(n))


def test_lists_of_one_length(tmp_path):
    """Embeddings: two dimensions and no offsets; where a list is null or lacks values, lists of any length."""
    value = pa.field("v", pa.float32(), nullable=False)
    schema = pa.schema([pa.field("e", pa.list_(value, 4), nullable=False), pa.field("some", pa.list_(value, 4)), pa.field("text", pa.list_(pa.string(), 1))])
    rows = [[k, 1, 2, 3] for k in range(3000)]
    zf.write_table(pa.table([rows, [None if k == 2999 else row for k, row in enumerate(rows)], [["a"]] * 3000], schema=schema), tmp_path / "e.zfd", rows_per_block=999)
    f = zf.open(tmp_path / "e.zfd")
    g, part = f.read(device="cuda:0"), f.read(rows=slice(990, 2110), device="cuda:0")
    assert [c.format for c in g.columns] == ["+w:4", "+L", "+w:1"] and [c.format for c in part.columns] == ["+w:4", "+w:4", "+w:1"]
    for column, count in ((g["e"], 3000), (part["e"], 1120), (part["some"], 1120)):
        interface = column.__cuda_array_interface__
        assert interface["shape"] == (count, 4) and interface["typestr"] == "<f4" and column.offsets is None and len(column) == count
        assert interface["data"] == column.values.__cuda_array_interface__["data"] and len(column.values) == 4 * count
        assert np.from_dlpack(column, device="cpu").shape == (count, 4)
        one, kept = device_arrays.array_of(column)
        assert one.array.n_buffers == 1 and one.array.length == count and one.array.children[0].contents.length == 4 * count
        del kept
    assert pa.schema(part).field("e").type == pa.list_(value, 4) and pa.schema(g).field("some").type == pa.large_list(value)
    into = Array("<f4", (3000, 4))
    assert f.read(["e"], device="cuda:0", out={"e": into})["e"].__cuda_array_interface__["data"][0] == into._memory.address
    with pytest.raises(zf.UnsupportedError, match="some.*none is null|none is null.*some"):
        f.read(["some"], device="cuda:0", out={"some": into})
    with pytest.raises(zf.UsageError, match="shape"):
        f.read(["e"], device="cuda:0", out={"e": Array("<f4", (4, 3000))})
    with pytest.raises(zf.UsageError, match="256"):
        f.read(["e"], device="cuda:0", out={"e": Array("<f4", (3000, 4), away=16)})
    for column in (g["some"], g["text"]):
        assert not hasattr(column, "__cuda_array_interface__")
        with pytest.raises(BufferError, match=column.name):
            column.__dlpack__()


def test_structs(tmp_path):
    """A GPU has the columns of structs."""
    table = pa.table({"s": pa.array([{"x": k, "y": [k]} if k % 3 else None for k in range(3000)]), "id": pa.array(range(3000))})
    zf.write_table(table, tmp_path / "t.zfd")
    with zf.open(tmp_path / "t.zfd") as f:
        assert f.schema.names == ["s", "id"]
        assert f.read(device="cuda:0").column_names == ["s", "s.x", "s.y", "id"] and f.read(["s.x", "s"], device="cuda:0").column_names == ["s.x", "s", "s.y"]
        g = f.read_async(["s"], device="cuda:0").result()
        assert [c.format for c in g.columns] == ["b", "l", "+L"] and pa.schema(g).names == ["s", "s.x", "s.y"]
        assert f.read(["s"], device="cuda:0", out={"s.x": Array("<i8", (3000,))})["s.x"].nullable


def test_plain_layouts(tmp_path):
    """Types that a GPU has in plain layouts."""
    words = pa.array(["a", None, "b"])
    table = pa.table({"d": words.dictionary_encode(), "v": words.cast(pa.string_view()), "w": pa.array([b"ab", None, b"cd"], pa.binary(2)), "n": pa.nulls(3)})
    zf.write_table(table.replace_schema_metadata({"k": "v"}), tmp_path / "t.zfd")
    g = zf.open(tmp_path / "t.zfd").read(device="cuda:0")
    assert [c.format for c in g.columns] == ["U", "U", "Z", "b"]
    assert pa.schema(g) == pa.schema({"d": pa.large_string(), "v": pa.large_string(), "w": pa.large_binary(), "n": pa.bool_()}) and pa.schema(g).metadata == {b"k": b"v"}


def test_allocator(path):
    """Memory of an allocator is used as it is, and kept by its last user."""
    f = zf.open(path)
    made, streams = [], []

    def allocate(nbytes, stream):
        streams.append(stream)
        made.append(Memory(nbytes))
        return made[-1]

    g = f.read(["number", "quarter", "text"], slice(1003, 5000), device="cuda:0", allocator=allocate, stream=77)
    assert set(streams) == {77} and len(made) == 5  # values, values and validity, values and offsets
    at = g["number"].__cuda_array_interface__["data"][0]
    assert made[0].address <= at and at + 8 * 3997 <= made[0].address + made[0].nbytes
    kept = g["number"].values
    made.clear()
    assert Memory.alive == 5
    del g
    gc.collect()
    assert Memory.alive == 1 and len(kept) == 3997
    capsule = kept.__dlpack__()
    del kept
    assert Memory.alive == 1
    del capsule  # whose owner may be dropped a moment later, since other threads release capsules, too
    gc.collect()
    assert Memory.alive == 0
    for wrong, kind, words in ((lambda n, s: Memory(n, short=1), zf.UsageError, "are needed"), (lambda n, s: Memory(n, away=8), zf.UsageError, "256"),
                               (lambda n, s: Memory(n, step=(2,)), zf.UsageError, "gaps"), (lambda n, s: None, zf.UsageError, "NoneType, which has no __cuda_array_interface__"),
                               (lambda n, s: Memory(n, read_only=True), zf.UsageError, "written"), ("torch", zf.UsageError, "must be a function.*not str")):
        with pytest.raises(kind, match=words):
            f.read(["number"], device="cuda:0", allocator=wrong)

    class Wrong:
        def __init__(self, **changes):
            self.__cuda_array_interface__ = {"shape": (10**6,), "typestr": "|u1", "data": (1 << 20, False), "strides": None, "version": 3} | changes

    for changes in ({"shape": None}, {"typestr": 5}, {"typestr": "|x"}, {"data": None}, {"data": (1,)}, {"shape": ("a",)}, {"strides": 1}):
        with pytest.raises(zf.UsageError, match="Wrong, whose __cuda_array_interface__ is wrong") as caught:
            f.read(["number"], device="cuda:0", allocator=lambda n, s: Wrong(**changes))
        assert caught.value.place == "number"

    def stop(nbytes, stream):
        if Memory.alive == 2:
            raise KeyError("no more")
        return Memory(nbytes)

    with pytest.raises(KeyError):
        f.read(device="cuda:0", allocator=stop)
    gc.collect()
    assert Memory.alive == 0


def test_streams(path):
    """A stream object lives as long as the columns that were read on it."""

    class Stream:
        alive = 0

        def __init__(self, **members):
            Stream.alive += 1
            self.__dict__.update(members)

        def __del__(self):
            Stream.alive -= 1

    class Protocol(Stream):
        def __cuda_stream__(self):
            return 0, 99

    f, seen = zf.open(path), []
    for stream, handle in ((None, 1), (0, 1), (1, 1), (Stream(cuda_stream=5), 5), (Stream(ptr=6), 6), (Stream(ptr=0), 1), (Protocol(), 99)):
        f.read(["number"], device="cuda:0", stream=stream, allocator=lambda n, s: seen.append(s) or Memory(n))
        assert seen[-1] == handle
    for wrong, words in (("x", "not str"), (1.5, "not float"), (True, "not bool"), (-1, "address"), (1 << 64, "address"), (2, "per thread"), (Stream(ptr=2), "per thread"),
                         (Stream(ptr="x"), "not Stream"), (Stream(__cuda_stream__=7), r"\(version, address\): 7"), (Stream(__cuda_stream__=lambda: None), "None"),
                         (Stream(__cuda_stream__=(0, None)), "not Stream")):
        with pytest.raises(zf.UsageError, match=words):
            f.read(["number"], device="cuda:0", stream=wrong)
    stream = None
    gc.collect()
    alive = Stream.alive
    g = f.read(["number"], device="cuda:0", stream=Protocol())
    gc.collect()
    assert Stream.alive == alive + 1
    del g
    assert Stream.alive == alive


QUERY = """
table t { number: i64 = plain; }
query ask(t) {
    param groups: u32;
    input weights: i16[];
    result total: i64[groups, 2] = sum; result good: bool[groups] = all; result code: u8[groups] = set; result money: f64 = sum;
    each { total[0, 1] += number * weights[0]; good[0] = good[0] && number > 0; code[0] = 1; money += number as f64; }
}
"""


def test_queries(path):
    """Inputs and results in a GPU's memory, where kernels leave results as they begin."""
    total, money, weights = Array("<i8", (9, 2)), Array("<f8", (1,)), Array("<i2", (40,), read_only=True)
    with zf.prepare_query(QUERY, zf.open(path), device="cuda") as query:
        assert query.device == "cuda:0"
        got = query.run({"groups": 8}, {"weights": weights}, stream=5, out={"total": total, "money": money})
        assert got["total"] == (8, 2) and got["money"] == () and got["good"].tolist() == [True] * 8 and got["code"].tolist() == [0] * 8
        assert total._memory.bytes(8 * 18) == bytes(8 * 16) + b"\xa5" * 16 and money._memory.bytes(8) == bytes(8)
        for wrong, says in ((Array("<i8", (15,)), "has 120 bytes, and needs 128"), (Array("<u8", (16,)), "is i64"), (Array("<i8", (16,), read_only=True), "read-only"),
                            (Array("<i8", (16,), strides=(16,)), "contiguous"), (Array("<i8", (16,), away=4), "not aligned")):
            with pytest.raises(zf.UsageError, match=says):
                query.run({"groups": 8}, {"weights": weights}, out={"total": wrong})
        for wrong, says in ((Array("<i4", (40,)), "is i16"), (Array("<i2", (40,), strides=(4,)), "contiguous")):
            with pytest.raises(zf.UsageError, match=f"input 'weights' .*{says}"):
                query.run({"groups": 8}, {"weights": wrong})


def test_devices(path):
    f = zf.open(path)
    for name in ("gpu", "cuda:", "cuda:01", "cuda:-1", "CUDA:0", "emu", "", 0, "cuda:" + "9" * 5000):
        with pytest.raises(zf.UsageError, match="device"):
            f.read(["number"], device=name)
    with pytest.raises(zf.DeviceError, match="cuda:1"):
        f.read(["number"], device="cuda:1")
    for more in ({"stream": 1}, {"allocator": Memory}):
        with pytest.raises(zf.UsageError):
            f.read(["number"], **more)
    with pytest.raises(zf.ColumnError):
        f.read(["nobody"], device="cuda:0")
    assert isinstance(f.read(["number"], device="cpu"), zf.Table)


def test_damage(path, tmp_path):
    """A block whose checksum is wrong: the error of a CPU's read, and all memory goes back."""
    data = bytearray(path.read_bytes())
    for at in range(256, len(data) // 2):  # the first byte whose change a read notices, and opening does not
        data[at] ^= 1
        f = zf.open(bytes(data))
        try:
            f.read()
        except zf.InputError as error:
            wanted = error.code, error.place
            break
        data[at] ^= 1
    with pytest.raises(zf.InputError) as on_gpu:
        f.read(device="cuda:0", allocator=lambda n, s: Memory(n))
    assert (on_gpu.value.code, on_gpu.value.place) == wanted
    del on_gpu
    gc.collect()
    assert Memory.alive == 0


def test_threads(path):
    f, failed = zf.open(path), []

    def go(k):
        try:
            for rows in (slice(k, k + 100), slice(k * 500, k * 500 + 1500)):
                g = f.read(["number", "text"], rows, device="cuda:0")
                assert len(g["number"]) == rows.stop - rows.start
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=go, args=(k,)) for k in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


def test_file_object(path):
    with open(path, "rb") as source, zf.open(source) as f:
        assert len(f.read(["number"], slice(10, 20), device="cuda:0")["number"]) == 10


SCRIPT = """
import gc, sys
import zipflow as zf
f = zf.open(sys.argv[1])
g = f.read(device="cuda:0")
keep = [g["number"].values, g["text"].offsets.__dlpack__()]  # until the interpreter has ended
if sys.argv[2] == "table":
    sys.keep = g
elif sys.argv[2] == "file":
    sys.keep = f
elif sys.argv[2] == "fork":
    import os
    child = os.fork()
    if child == 0:
        try:
            g["quarter"].null_count
        except zf.DeviceError:
            del g, keep
            os._exit(0)
        os._exit(1)
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.parametrize("kept", ["table", "file", "nothing", "fork"])
def test_exit(path, kept):
    done = subprocess.run([sys.executable, "-c", SCRIPT, str(path), kept], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
