"""Reads that have begun: results, futures, asyncio; on the driver of test_gpu_memory.py, whose kernels do nothing."""

import asyncio
import gc
import io
import os

import numpy
import pyarrow as pa
import pytest
from test_failures import caught
from test_gpu_memory import Memory, path, told  # noqa: F401: fixtures

import zipflow as zf

NAMES = ["number", "text", "quarter"]


def test_on_the_cpu(path):
    f = zf.open(path)
    wanted = pa.table(f.read(NAMES, slice(5, 900)))
    pending = f.read_async(NAMES, slice(5, 900), threads=1)
    futures = pending.futures
    assert list(futures) == NAMES and pa.table(pending.result()).equals(wanted) and pending.done() and "number, text" in repr(pending)
    assert all(pa.array(futures[name].result()).equals(wanted[name].combine_chunks()) for name in NAMES) and pending.futures == futures
    assert not futures["text"].cancel() and pa.table(pending.result()).equals(wanted)
    assert pa.table(f.read_async(["text"], binary=True).result()).schema.field("text").type == pa.binary()
    for early in (lambda: pending["number"], lambda: pa.table(pending), pending.unverified):
        assert isinstance(caught(zf.UsageError, early), ValueError)


def test_done(path):
    """It is known without `futures`, whose thread would know it a moment later."""
    f = zf.open(path)
    pending = f.read_async(NAMES, device="cuda:0")
    pending.result()
    assert pending.done() and pending._futures is None
    on_cpu = f.read_async(NAMES)
    on_cpu.result()
    assert on_cpu.done()


def test_asyncio(path):
    async def main():
        columns = f.read_async(NAMES).futures
        return await asyncio.gather(*(asyncio.wrap_future(future) for future in columns.values()))

    f = zf.open(path)
    assert [pa.array(column) for column in asyncio.run(main())] == [pa.array(column) for column in f.read(NAMES).columns]


def test_what_is_known_at_once(path):
    f = zf.open(path)
    for kind, call in ((zf.ColumnError, lambda: f.read_async(["x"])), (zf.UsageError, lambda: f.read_async(stream=1)), (zf.UsageError, lambda: f.read_async(device="tpu")),
                       (TypeError, lambda: f.read_async(rows=3)), (zf.UsageError, lambda: zf.open(io.BytesIO(path.read_bytes())).read_async())):
        caught(kind, call)
    f.close()
    with pytest.raises(ValueError, match="closed"):
        f.read_async()


def test_a_column_that_fails(path):
    """Its future has the exception, other columns come, and the result raises."""
    data = bytearray(path.read_bytes())
    data[len(data) // 64] ^= 1  # of the first column
    f = zf.open(bytes(data))
    pending = f.read_async(["text", "number"])
    error = caught(zf.InputError, pending.result)
    assert error.code == caught(zf.InputError, f.read, ["number"]).code and "number" in error.place
    assert pending.futures["number"].exception() is error and len(pending.futures["text"].result()) == f.num_rows


def test_on_a_gpu(path, told):
    """The stream waits, and the host does not; later the result has the same memory, which goes back in order."""
    told.pop()
    f = zf.open(path)
    f.read(NAMES, device="cuda:0")
    told.clear()
    pending = f.read_async(NAMES, slice(3, 3000), device="cuda:0", stream=0x70)
    f.close()
    early = pending.unverified()
    assert isinstance(early, zf.DeviceTable) and early.column_names == NAMES and len(early) == 2997
    assert [stream for symbol, stream in told if symbol == "cuStreamWaitEvent"].count(0x70) >= len(NAMES)
    interface = early["number"].__cuda_array_interface__
    assert interface["shape"] == (2997,) and numpy.from_dlpack(early["number"], device="cpu").shape == (2997,)
    assert interface["stream"] == early["text"].offsets.__cuda_array_interface__["stream"] == 0x70
    for source in (early["number"], early["text"].offsets, early["quarter"].validity):
        for stream, order in ((0x90, [("cuEventRecord", 0x70), ("cuStreamWaitEvent", 0x90)]), (2, [("cuEventRecord", 0x70), ("cuStreamWaitEvent", 2)]), (0x70, []), (-1, [])):
            told.clear()
            source.__dlpack__(stream=stream)
            assert told == order
    for export in (early["number"].__arrow_c_device_array__, early.__arrow_c_device_array__, early.__arrow_c_device_stream__):
        assert "unverified" in str(caught(zf.UsageError, export))
    table = pending.result()
    assert early["number"].__cuda_array_interface__ == interface | {"stream": None}
    early["number"].__arrow_c_device_array__()
    told.clear()
    early["number"].__dlpack__(stream=0x90)
    assert not told
    assert table["number"].__cuda_array_interface__ == interface | {"stream": None} and [column.format for column in table.columns] == [column.format for column in early.columns]
    assert all(len(future.result()) == 2997 for future in pending.futures.values())
    del pending, table
    gc.collect()
    told.clear()
    del early, source, export
    gc.collect()
    assert [pair for pair in told if pair[0] == "cuMemFreeAsync"] == [("cuMemFreeAsync", 0x70)] * 5  # 1 + 2 + 2 parts
    assert [os.path.realpath(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")].count(os.path.realpath(path)) == 0


def test_nobody_waits(path, told):
    """A read that is dropped ends; one whose unverified rows are still there has all its kernels."""
    told.pop()
    f = zf.open(path)
    f.read(NAMES, device="cuda:0")
    told.clear()
    f.read(NAMES, device="cuda:0")
    launches = sum(symbol == "cuLaunchKernel" for symbol, _ in told)
    for keep in (False, True):
        told.clear()
        before = Memory.alive
        pending = zf.open(path).read_async(NAMES, device="cuda:0", allocator=lambda nbytes, stream: Memory(nbytes))
        table = pending.unverified() if keep else None
        del pending
        zf.open(path)
        assert not keep or sum(symbol == "cuLaunchKernel" for symbol, _ in told) == launches > 0
        assert Memory.alive == before + 5 * keep and (table is None or len(table) == 10_007)
        del table
        gc.collect()
        zf.open(path).read(["number"], device="cuda:0")  # drops what other threads released
        assert Memory.alive == before


def test_a_gpu_that_fails(path, told):
    driver = told.pop()
    f = zf.open(path)
    f.read(["number"], device="cuda:0")
    driver.failing, driver.result = b"cuLaunchKernel", 1
    pending = f.read_async(["number"], device="cuda:0", allocator=lambda nbytes, stream: Memory(nbytes))
    error = caught(zf.DeviceError, pending.result)
    assert pending.futures["number"].exception().code == error.code
    assert caught(zf.DeviceError, pending.result).code == error.code  # again
    del pending, error  # whose frames hold the read
    gc.collect()
    f.read(["number"], device="cuda:0")
    assert Memory.alive == 0


def test_a_fork(path, told):
    told.pop()
    pending = zf.open(path).read_async(["number"], device="cuda:0")
    child = os.fork()
    if child == 0:
        good = False
        try:
            pending.result()
        except zf.DeviceError as error:
            good = "before a fork" in str(error)
        finally:
            os._exit(0 if good else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0 and len(pending.result()) == 10_007
