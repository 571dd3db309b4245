"""Columns on a real GPU, beside torch and CuPy: `python -m pytest on_gpu.py` with the package installed. script/gpu-test runs it.

ZF_TEST_DEVICE=cuda says that there is a GPU. Not run by CTest, whose machines have none: test_gpu_memory.py is.
"""

import datetime
import decimal
import gc
import os
import pathlib
import random
import subprocess
import sys
import threading

import numpy as np
import pyarrow as pa
import pytest

import device_arrays
import zipflow as zf

pytestmark = pytest.mark.skipif(not os.environ.get("ZF_TEST_DEVICE", "").startswith("cuda"), reason="ZF_TEST_DEVICE names no GPU")
cupy = pytest.importorskip("cupy")
torch = pytest.importorskip("torch")
ROWS = 100_003
RANGES = [slice(0, 0), slice(0, 1), slice(4095, 4097), slice(9_999, 60_001), slice(ROWS - 1, ROWS), slice(0, ROWS)]


def make(nullable):
    """A column of each type, by name: values, or None in one of seven rows."""
    chosen = random.Random(3)
    start = datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc)

    def fill(value):
        return [None if nullable and chosen.randrange(7) == 0 else value(k) for k in range(ROWS)]

    types = {name: getattr(pa, name)() for name in "int8 int16 int32 int64 uint8 uint16 uint32 uint64".split()}
    columns = {name: pa.array(fill(lambda k: chosen.randrange(100)), kind) for name, kind in types.items()}
    columns["float16"] = pa.array([None if v is None else np.float16(v) for v in fill(lambda k: k % 50 / 2)], pa.float16())
    columns["float32"] = pa.array(fill(lambda k: k / 8), pa.float32())
    columns["float64"] = pa.array(fill(lambda k: k * 0.01), pa.float64())
    columns["bool_"] = pa.array(fill(lambda k: chosen.randrange(3) == 0), pa.bool_())
    columns["date32"] = pa.array(fill(lambda k: datetime.date(1992, 1, 1) + datetime.timedelta(k % 2500)), pa.date32())
    columns["timestamp"] = pa.array(fill(lambda k: start + datetime.timedelta(seconds=k)), pa.timestamp("ns", "UTC"))
    columns["decimal"] = pa.array(fill(lambda k: decimal.Decimal(k * 7919 % 1_000_000) / 100), pa.decimal128(15, 2))
    columns["string"] = pa.array(fill(lambda k: f"text {k % 97} " * (k % 5)), pa.string())
    fields = [pa.field(name, column.type, nullable=nullable) for name, column in columns.items()]
    return pa.table(list(columns.values()), schema=pa.schema(fields))


@pytest.fixture(scope="module", params=[4096, 5000, 1_000_000])
def rows_per_block(request):
    return request.param


@pytest.fixture(scope="module", params=[False, True])
def path(request, rows_per_block, tmp_path_factory):
    at = tmp_path_factory.mktemp("gpu") / "t.zfd"
    zf.write_table(make(request.param), at, rows_per_block=rows_per_block)
    return at


@pytest.fixture(scope="module")
def numbers(tmp_path_factory):
    """A file of numbers without nulls: `steps` rise by 3, `codes` are small."""
    at = tmp_path_factory.mktemp("numbers") / "n.zfd"
    schema = pa.schema([pa.field("steps", pa.int64(), nullable=False), pa.field("codes", pa.int32(), nullable=False)])
    zf.write_table(pa.table([np.arange(3_000_000) * 3, (np.arange(3_000_000) % 113).astype("i4")], schema=schema), at)
    return at


def bits(buffer, count):
    raw = np.unpackbits(cupy.asnumpy(cupy.asarray(buffer)), bitorder="little")
    return raw[buffer.bit_offset:buffer.bit_offset + count]


def arrow_of(column):
    """The column's device array, brought to the host buffer by buffer."""
    one, kept = device_arrays.array_of(column)
    array, copies = one.array, []
    rows = array.offset + array.length
    kind = pa.field(column).type
    for number, at in enumerate(device_arrays.buffers_of(array)):
        if at is None:
            copies.append(None)
            continue
        if number == 0 or kind == pa.bool_():
            size = (rows + 7) // 8
        elif kind == pa.large_string():
            size = 8 * (rows + 1) if number == 1 else len(column.values)
        else:
            size = rows * kind.bit_width // 8
        memory = cupy.cuda.UnownedMemory(at, max(size, 1), kept)
        copies.append(pa.py_buffer(cupy.asnumpy(cupy.ndarray(size, "u1", cupy.cuda.MemoryPointer(memory, 0))).tobytes()))
    return pa.Array.from_buffers(kind, array.length, copies, array.null_count, array.offset)


def check_equal(on_gpu, on_cpu):
    """Every buffer of a column of a GPU, with that of the CPU."""
    count, name = len(on_cpu), on_cpu.name
    assert len(on_gpu) == count and on_gpu.null_count == on_cpu.null_count and on_gpu.nullable == on_cpu.nullable
    valid = np.ones(count, bool)
    if on_cpu.nullable:
        valid = np.unpackbits(np.asarray(on_cpu.validity), count=count, bitorder="little").astype(bool)
        assert (bits(on_gpu.validity, count) == valid).all(), name
    if on_cpu.format == "b":
        expected = np.unpackbits(np.asarray(on_cpu.values), count=count, bitorder="little")
        assert (bits(on_gpu.values, count) == expected)[valid].all(), name
    elif on_cpu.format == "u":
        assert on_gpu.format == "U"
        offsets, wanted = cupy.asnumpy(cupy.asarray(on_gpu.offsets)), np.asarray(on_cpu.offsets)
        assert (offsets - offsets[0] == wanted - wanted[0]).all(), name
        characters = cupy.asnumpy(cupy.asarray(on_gpu.values))
        assert bytes(characters[offsets[0]:offsets[-1]]) == bytes(np.asarray(on_cpu.values)[wanted[0]:wanted[-1]]), name
    else:
        values, wanted = cupy.asnumpy(cupy.asarray(on_gpu.values)), np.asarray(on_cpu.values)
        if on_cpu.format.startswith("d:"):
            wanted = np.ascontiguousarray(wanted.view("i8")[::2])
        assert values.dtype.itemsize == wanted.dtype.itemsize and len(values) == count
        same = values.view("u1").reshape(count, -1) == wanted.view("u1").reshape(count, -1) if count else np.ones((0, 1), bool)
        assert same.all(axis=1)[valid].all(), name


@pytest.mark.parametrize("rows", RANGES)
def test_values(path, rows):
    f = zf.open(path)
    on_cpu, on_gpu = f.read(rows=rows), f.read(rows=rows, device="cuda:0")
    for column in on_cpu.columns:
        check_equal(on_gpu[column.name], column)
        array = arrow_of(on_gpu[column.name])
        array.validate(full=True)
        assert array.cast(pa.field(column).type).equals(pa.array(column)), column.name


@pytest.mark.parametrize("rows", [slice(0, 0), slice(0, 20_011), slice(5, 6), slice(990, 12_100)])
def test_lists(tmp_path_factory, rows):
    chosen, count = random.Random(5), 20_011
    table = pa.table({
        "strings": pa.array([None if k % 7 == 3 else [f"v{j}" if j % 5 else None for j in range(k % 6)] for k in range(count)], pa.list_(pa.string())),
        "numbers": pa.array([[chosen.randrange(1000) for _ in range(k % 3)] for k in range(count)], pa.list_(pa.int32())),
        "flags": pa.array([[j % 2 == 0 for j in range(k % 5)] for k in range(count)], pa.list_(pa.bool_()))})
    at = tmp_path_factory.mktemp("lists") / "l.zfd"
    zf.write_table(table, at, rows_per_block=4095)
    f = zf.open(at)
    on_gpu, on_cpu = f.read(rows=rows, device="cuda:0"), f.read(rows=rows)
    for wanted in on_cpu.columns:
        column = on_gpu[wanted.name]
        offsets, expected = cupy.asnumpy(cupy.asarray(column.offsets)), np.asarray(wanted.offsets)
        assert (offsets == expected).all() and column.null_count == wanted.null_count
        check_equal(column.values, wanted.values)
        one, kept = device_arrays.array_of(column)
        assert one.array.n_children == 1 and one.array.children[0].contents.length == len(wanted.values)
        del kept


@pytest.mark.parametrize("rows", [slice(0, 20_011), slice(990, 12_100)])
def test_embeddings(tmp_path_factory, rows):
    """Lists of one length have two dimensions, where they lie."""
    kind = pa.list_(pa.field("v", pa.float32(), nullable=False), 24)
    wanted = np.random.default_rng(7).integers(-8, 8, (20_011, 24)).astype("f4")
    data = pa.FixedSizeListArray.from_arrays(pa.array(wanted.ravel()), type=kind)
    at = tmp_path_factory.mktemp("embeddings") / "e.zfd"
    zf.write_table(pa.table([data], schema=pa.schema([pa.field("e", kind, nullable=False)])), at, rows_per_block=4095)
    column = zf.open(at).read(rows=rows, device="cuda:0")["e"]
    tensor, array = torch.from_dlpack(column), cupy.asarray(column)
    assert tensor.shape == (rows.stop - rows.start, 24) and tensor.data_ptr() == array.data.ptr == column.values.__cuda_array_interface__["data"][0]
    assert (tensor.cpu().numpy() == wanted[rows]).all() and (cupy.asnumpy(array) == wanted[rows]).all()


@pytest.mark.parametrize("rows", RANGES)
def test_cudf(path, rows):
    """libcudf takes columns and tables as they are: the addresses are those of the columns, but for booleans, which it copies."""
    pylibcudf = pytest.importorskip("pylibcudf")
    f = zf.open(path)
    names = [name for name in f.read(rows=rows).column_names if name != "float16"]  # libcudf has no halves
    on_cpu, g = pa.table(f.read(names, rows)), f.read(names, rows, device="cuda:0")
    taken = {name: pylibcudf.Column.from_arrow(g[name]) for name in names}
    table = pylibcudf.Table.from_arrow(g)
    for k, name in enumerate(names):
        column = g[name]
        one, kept = device_arrays.array_of(column)
        buffers = device_arrays.buffers_of(one.array)
        for c in (taken[name], table.columns()[k]):
            assert (c.size(), c.offset(), c.null_count()) == (len(column), one.array.offset, column.null_count) or column.format == "b"
            if column.format == "b" or len(column) == 0:
                continue
            assert c.data().ptr == buffers[-1]
            if column.offsets is not None:
                assert c.child(0).data().ptr == buffers[1]
            if column.null_count:
                assert c.null_mask().ptr == buffers[0]
    del g, column, one, kept
    gc.collect()
    torch.cuda.empty_cache()
    whole = table.to_arrow().rename_columns(names)
    for name in names:
        wanted = on_cpu[name].combine_chunks()
        for found in (taken[name].to_arrow(), whole[name].combine_chunks()):
            assert found.cast(wanted.type).equals(wanted), name


def test_first_minute(numbers):
    """torch and CuPy take a column where it is."""
    column = zf.open(numbers).read(["steps"], device="cuda:0")["steps"]
    at = column.__cuda_array_interface__["data"][0]
    expected = np.arange(3_000_000) * 3
    tensors = torch.from_dlpack(column), torch.as_tensor(column, device="cuda"), cupy.from_dlpack(column), cupy.asarray(column)
    for tensor in tensors:
        assert (tensor.data_ptr() if isinstance(tensor, torch.Tensor) else tensor.data.ptr) == at
        assert (tensor.cpu().numpy() if isinstance(tensor, torch.Tensor) else cupy.asnumpy(tensor)).tolist() == expected.tolist()
    assert int(tensors[0].sum()) == int(expected.sum())
    assert (np.from_dlpack(column, device="cpu") == expected).all()


def test_views(numbers):
    """Users of the memory keep it: the file is closed, and the table and the column are gone."""
    f = zf.open(numbers)
    tensor = torch.from_dlpack(f.read(["codes"], slice(17, 2_000_000), device="cuda:0")["codes"])[5:]
    array = cupy.asarray(f.read(["codes"], device="cuda:0")["codes"].values)
    f.close()
    del f
    gc.collect()
    for _ in range(3):  # memory that was given back would be used again
        zf.open(numbers).read(["steps"], device="cuda:0")
    assert (tensor.cpu().numpy() == (np.arange(22, 2_000_000) % 113)).all()
    assert (cupy.asnumpy(array) == np.arange(3_000_000) % 113).all()


def test_behind_the_stream(numbers):
    """Memory of torch that a late kernel still writes to: the rows come behind it."""
    stream = torch.cuda.Stream()
    f, seen = zf.open(numbers), []
    f.read(device="cuda:0")  # code is compiled, and torch's is loaded
    torch.cuda._sleep(1000)
    torch.empty(8, dtype=torch.uint8, device="cuda").fill_(1)
    room = f.sizes(["steps"])["steps"]["values"]

    def allocate(nbytes, handle):
        assert handle == stream.cuda_stream
        with torch.cuda.stream(stream):
            seen.append(torch.empty(nbytes, dtype=torch.uint8, device="cuda"))
        return seen[-1]

    with torch.cuda.stream(stream):
        old = torch.empty(room, dtype=torch.uint8, device="cuda")
        torch.cuda.synchronize()
        torch.cuda._sleep(1_000_000_000)  # about half a second
        old.fill_(0xA5)
        at = old.data_ptr()
        del old  # back to torch, for later work on this stream
    assert not stream.query()
    g = f.read(["steps"], device="cuda:0", stream=stream, allocator=allocate)
    assert seen[0].data_ptr() == at, "torch gave other memory: the test shows nothing"
    torch.cuda.synchronize()
    assert (torch.from_dlpack(g["steps"]).cpu().numpy() == np.arange(3_000_000) * 3).all()


def test_given_back_in_order(numbers):
    """A late kernel reads a column that nobody holds any more: its memory goes to others only behind it."""
    f = zf.open(numbers)
    torch.empty(8, dtype=torch.int64, device="cuda").copy_(torch.from_dlpack(f.read(["steps"], slice(0, 8), device="cuda:0")["steps"]))
    torch.cuda._sleep(1000)
    stream = torch.cuda.Stream()
    g = f.read(["steps"], device="cuda:0", stream=stream)
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        late = torch.empty(3_000_000, dtype=torch.int64, device="cuda")
        torch.cuda._sleep(1_000_000_000)
        late.copy_(torch.from_dlpack(g["steps"]))
        del g
    assert not stream.query()
    others = [f.read(["codes"], device="cuda:0", stream=torch.cuda.Stream()) for _ in range(8)]
    torch.cuda.synchronize()
    assert (late.cpu().numpy() == np.arange(3_000_000) * 3).all()
    for other in others:
        assert (torch.from_dlpack(other["codes"]).cpu().numpy() == np.arange(3_000_000) % 113).all()


def test_streams_of_consumers(numbers):
    """A late kernel on a stream that torch names to DLPack reads a column that nobody holds any more."""
    f = zf.open(numbers)
    g = f.read(["steps"], device="cuda:0")
    torch.empty(8, dtype=torch.int64, device="cuda").copy_(torch.from_dlpack(f.read(["steps"], slice(0, 8), device="cuda:0")["steps"]))
    stream = torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        late = torch.empty(3_000_000, dtype=torch.int64, device="cuda")
        torch.cuda._sleep(1_000_000_000)
        late.copy_(torch.from_dlpack(g["steps"]))  # names this stream
        assert not stream.query()
        del g  # waits, since the stream may be gone by then
    other = f.read(["steps"], slice(5, 3_000_000), device="cuda:0")  # by the default stream, in the memory that went back
    torch.cuda.synchronize()
    assert (late.cpu().numpy() == np.arange(3_000_000) * 3).all() and len(other) == 2_999_995


def test_pending(numbers):
    """A read that has begun: the stream waits for its rows, and the host does not."""
    stream = torch.cuda.Stream()
    f = zf.open(numbers)
    f.read(device="cuda:0")
    pending = f.read_async(["steps", "codes"], device="cuda:0", stream=stream)
    with torch.cuda.stream(stream):
        early = pending.unverified()
        total = torch.from_dlpack(early["steps"]).sum()
        codes = torch.from_dlpack(early["codes"]).clone()
    stream.synchronize()
    assert int(total) == 3 * sum(range(3_000_000)) and (codes.cpu().numpy() == np.arange(3_000_000) % 113).all()
    table = pending.result()
    assert torch.from_dlpack(table["steps"]).data_ptr() == torch.from_dlpack(early["steps"]).data_ptr()
    assert all(len(future.result()) == 3_000_000 for future in pending.futures.values())


def test_threads(numbers):
    f, failed = zf.open(numbers), []
    expected = np.arange(3_000_000) * 3

    def go(k):
        try:
            stream = torch.cuda.Stream()
            for turn in range(5):
                rows = slice(k * 1000, k * 1000 + 1_000_000 + turn)
                g = f.read(["steps"], rows, device="cuda:0", stream=stream if k % 2 else None)
                with torch.cuda.stream(stream):
                    assert (torch.from_dlpack(g["steps"]).cpu().numpy() == expected[rows]).all()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=go, args=(k,)) for k in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed, failed


def test_damage(numbers):
    """A damaged block is an error of the read, with its place, and the GPU goes on."""
    data, noticed = bytearray(numbers.read_bytes()), 0
    for at in range(300, len(data), len(data) // 40):
        bad = bytearray(data)
        bad[at] ^= 0x10
        try:
            zf.open(bytes(bad)).read()
        except zf.InputError as error:
            wanted, noticed = (error.code, error.place), noticed + 1
        else:
            continue  # padding
        with pytest.raises(zf.InputError) as on_gpu:
            zf.open(bytes(bad)).read(device="cuda:0")
        assert (on_gpu.value.code, on_gpu.value.place) == wanted
    assert noticed > 10
    good = zf.open(numbers).read(["codes"], device="cuda:0")["codes"]
    assert (cupy.asnumpy(cupy.asarray(good)) == np.arange(3_000_000) % 113).all()


def test_no_memory(numbers):
    """A GPU without memory: an error with the bytes, and the next read is good."""
    torch.cuda.empty_cache()
    free, _ = torch.cuda.mem_get_info()
    hog = torch.empty(free - (64 << 20), dtype=torch.uint8, device="cuda")
    kept = []
    try:
        with pytest.raises(zf.DeviceError, match="ZF1108"):
            for _ in range(1000):  # 24 MB each; the driver's pool may hold some that was free
                kept.append(zf.open(numbers).read(["steps"], device="cuda:0"))
    finally:
        del hog, kept
        torch.cuda.empty_cache()
    assert len(zf.open(numbers).read(["steps"], device="cuda:0")["steps"]) == 3_000_000


class Blocks(torch.utils.data.Dataset):
    """Rows of a file, in pieces, on the CPU: a worker opens the file anew."""

    def __init__(self, path):
        self.file = zf.open(path)

    def __len__(self):
        return len(self.file) // 100_000

    def __getitem__(self, k):
        return torch.from_numpy(np.array(self.file.read(["steps"], slice(k * 100_000, (k + 1) * 100_000))["steps"].numpy()))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_data_loader(numbers, method):
    zf.open(numbers).read(["codes"], device="cuda:0")  # this process has a GPU in use
    loader = torch.utils.data.DataLoader(Blocks(numbers), batch_size=None, num_workers=4, multiprocessing_context=method)
    assert torch.cat(list(loader)).tolist() == list(range(0, 9_000_000, 3))


def test_devices(numbers):
    column = zf.open(numbers).read(["codes"], device=torch.device("cuda", 0))["codes"]
    assert column.__dlpack_device__() == (2, 0)
    last = torch.cuda.device_count() - 1
    column = zf.open(numbers).read(["codes"], device=f"cuda:{last}")["codes"]
    assert torch.from_dlpack(column).device.index == last and torch.cuda.current_device() == 0
    assert (torch.from_dlpack(column).cpu().numpy() == np.arange(3_000_000) % 113).all()
    with pytest.raises(zf.DeviceError, match=f"cuda:{last + 1}"):
        zf.open(numbers).read(["codes"], device=f"cuda:{last + 1}")


QUERIES = """
table stores { store: u16 = bitpack; region: u8 = bitpack; }
table sales { store: u16 = bitpack; price: i64 = bitpack; }
query of_stores(stores) { param wanted: u8; param keys: u32; result chosen: bool[keys] = set; result region_of: u8[keys] = set;
    each { region_of[store] = region as u8; if region == wanted { chosen[store] = true; } } }
query of_sales(sales) { input chosen: bool[]; input region_of: u8[]; result revenue: i64[8] = sum; result least: i64[8] = min;
    each { if chosen[store] { revenue[region_of[store]] += price; least[region_of[store]] = min(least[region_of[store]], price); } } }
"""


def test_queries(tmp_path):
    """Results of a query stay on the GPU, and are inputs of another one: what they give on the CPU."""
    keys, chosen = 40, np.random.default_rng(2)
    stores = {"store": np.arange(keys, dtype="u2"), "region": (np.arange(keys) % 7).astype("u1")}
    sales = {"store": chosen.integers(0, keys, ROWS).astype("u2"), "price": chosen.integers(-500, 500, ROWS)}
    for name, columns in (("stores", stores), ("sales", sales)):
        fields = [pa.field(column, pa.array(values).type, nullable=False) for column, values in columns.items()]
        table = pa.table([pa.array(values) for values in columns.values()], schema=pa.schema(fields))
        zf.write_table(table, tmp_path / f"{name}.zfd", {column: "bitpack" for column in columns}, rows_per_block=4096)
    files = {name: tmp_path / f"{name}.zfd" for name in ("stores", "sales")}
    found = {"chosen": cupy.zeros(keys // 8, "u1"), "region_of": cupy.zeros(keys, "u1")}
    with zf.prepare_query(QUERIES, files, name="of_stores", device="cuda:0") as first:
        with zf.prepare_query(QUERIES, files, name="of_sales", device="cuda:0") as second:
            for wanted in (3, 6, 3):
                on_cpu = zf.query(QUERIES, files, {"wanted": wanted, "keys": keys}, name="of_stores")
                assert first.run({"wanted": wanted, "keys": keys}, out=found) == {"chosen": (keys,), "region_of": (keys,)}
                assert cupy.asnumpy(found["region_of"]).tolist() == on_cpu["region_of"].tolist()
                assert np.unpackbits(cupy.asnumpy(found["chosen"]), bitorder="little").tolist() == on_cpu["chosen"].tolist()
                got, there = zf.query(QUERIES, files, inputs=on_cpu, name="of_sales"), second.run(inputs=found)
                assert got["revenue"].tolist() == there["revenue"].tolist() and got["least"].tolist() == there["least"].tolist()
                assert int(got["revenue"][wanted]) == int(sales["price"][sales["store"] % 7 == wanted].sum())


def test_readme(tmp_path, monkeypatch):
    """The README's eight lines."""
    import test_pages

    monkeypatch.chdir(tmp_path)
    test_pages.lineitem("lineitem.parquet")
    names = {}
    exec("\n".join(test_pages.readme()), names)
    assert names["x"].is_cuda and names["x"].tolist() == [k % 9 for k in range(1000)]


@pytest.mark.parametrize("name", ["first_minute.py", "on_a_gpu.py", "data_loader.py"])
def test_example(name):
    path = pathlib.Path(__file__).resolve().parents[2] / "examples" / "python" / name
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and ("cuda:0" in done.stdout or "GPU: 100000 rows" in done.stdout or "longest name: 6" in done.stdout), done


SCRIPT = """
import sys
import torch
import zipflow as zf
f = zf.open(sys.argv[1])
g = f.read(["steps"], device="cuda:0")
keep = torch.from_dlpack(g["steps"])
if sys.argv[2] == "table":
    sys.keep = g
elif sys.argv[2] == "file":
    sys.keep = f
elif sys.argv[2] == "tensor":
    torch.keep = keep
del f, g
print(int(keep[5]))
"""


@pytest.mark.parametrize("kept", ["table", "file", "tensor", "nothing"])
def test_exit(numbers, kept):
    done = subprocess.run([sys.executable, "-c", SCRIPT, str(numbers), kept], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "15", "")
