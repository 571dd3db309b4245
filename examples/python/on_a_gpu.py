"""Columns on a GPU, in torch and CuPy: on_a_gpu.py. Needs a GPU of NVIDIA, pyarrow, torch and CuPy."""

import tempfile

import cupy
import numpy as np
import pyarrow as pa
import torch

import zipflow as zf

ROWS = 1_000_000

with tempfile.TemporaryDirectory() as folder:
    path = f"{folder}/t.zfd"
    schema = pa.schema([pa.field("x", pa.int64(), nullable=False), pa.field("y", pa.float64()), pa.field("name", pa.string(), nullable=False)])
    zf.write_table(pa.table([np.arange(ROWS) * 3, [None if k % 10 == 0 else k / 8 for k in range(ROWS)], [f"row {k % 100}" for k in range(ROWS)]],
                            schema=schema), path)
    f = zf.open(path)

    # Numbers without nulls are tensors.
    g = f.read(device="cuda:0")
    x = torch.from_dlpack(g["x"])
    print("torch:", x.sum().item())
    assert cupy.asarray(g["x"]).data.ptr == x.data_ptr()  # one memory

    # Others are their buffers: values and a bitmap of validity, characters and offsets.
    y = g["y"]
    values = cupy.asarray(y.values)
    bits = cupy.unpackbits(cupy.asarray(y.validity), bitorder="little")
    valid = bits[y.validity.bit_offset:y.validity.bit_offset + len(y)].astype(bool)
    print("CuPy:", float(values[valid].sum()), "in", int(valid.sum()), "of", len(y), "rows")
    lengths = cupy.diff(cupy.asarray(g["name"].offsets))
    print("longest name:", int(lengths.max()), "bytes")

    # On a stream of torch, into memory of torch: rows are written behind the work that is on the stream.
    stream = torch.cuda.Stream()

    def allocate(nbytes, handle):
        with torch.cuda.stream(stream):
            return torch.empty(nbytes, dtype=torch.uint8, device="cuda:0")

    with torch.cuda.stream(stream):
        part = torch.from_dlpack(f.read(["x"], slice(1000, 2000), device="cuda:0", stream=stream, allocator=allocate)["x"])
        print("rows 1000 to 1999:", (part.double().mean()).item())
