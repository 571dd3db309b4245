"""A table to a file, and columns of it back: first_minute.py [FILE.parquet]

Without an argument it makes a table. Needs pyarrow. With a GPU and torch the last lines run, too.
"""

import sys
import tempfile
import time

import pyarrow as pa
import pyarrow.parquet as pq

import zipflow as zf


def orders(rows=1_000_000):
    return pa.table({"key": pa.array(range(0, 4 * rows, 4)),
                     "price": pa.array([k * 7919 % 99991 / 100 for k in range(rows)]),
                     "status": pa.array([("open", "paid", "sent")[k % 3] for k in range(rows)])})


def step(name, begin):
    print(f"{name:<28} {(time.perf_counter() - begin) * 1e3:9.1f} ms")


table = pq.read_table(sys.argv[1]) if len(sys.argv) > 1 else orders()
with tempfile.TemporaryDirectory() as folder:
    path = f"{folder}/table.zfd"

    begin = time.perf_counter()
    zf.write_table(table, path)  # codecs are chosen; every block is decoded and compared before it is written
    step("write_table", begin)

    begin = time.perf_counter()
    f = zf.open(path)  # the index only
    step("open", begin)
    print(f)  # types, codecs, ratios

    names = f.schema.names[:2]
    begin = time.perf_counter()
    some = f.read(names, slice(0, 1000))  # rows of columns
    step("read 1000 rows", begin)
    print(pa.table(some).slice(0, 3))

    begin = time.perf_counter()
    back = pa.table(f.read())  # Arrow, without a copy
    step("read all", begin)
    assert back.equals(table)

    try:
        import torch
    except ImportError:
        torch = None
    if torch is None or not torch.cuda.is_available():
        print("there is no torch with a GPU here: the columns stay in host memory")
    else:
        begin = time.perf_counter()
        g = f.read(names, device="cuda")  # decoded on the GPU, and checked
        step("read to the GPU", begin)
        column = torch.as_tensor(g[names[1]].values, device="cuda")  # no copy
        print(column.device, column.dtype, column.shape)
