#!/usr/bin/env python3
"""The first minute of a data person: a Parquet file to a file of zipflow, and columns to the GPU, beside what people do today.

    python_minute.py LINEITEM.parquet [--device cuda:0] [--runs 7] [--out FILE.json]

Needs the package zipflow, pyarrow, and on a GPU torch. LINEITEM.parquet is lineitem of TPC-H (tpchgen-cli parquet). Steps of a GPU:

- `first`: the first read of the process, which loads the driver and compiles.
- `again`: the median of later reads.
- `copy`: the same plain bytes from pinned memory to the GPU by torch: the link alone, once somebody has decoded them.
- `parquet`: pyarrow reads the columns of the Parquet file over all cores, torch copies them to the GPU.

The first read of each set is compared with the Parquet file's values; later ones are timed alone. Files are in the page cache. Rates are
of plain bytes.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import time

SETS = {
    "two columns": ["l_tax", "l_shipdate"],
    "numbers": ["l_orderkey", "l_partkey", "l_suppkey", "l_linenumber", "l_quantity", "l_extendedprice", "l_discount", "l_tax", "l_shipdate",
                "l_commitdate", "l_receiptdate"],
}


def timed(function, *arguments, **words):
    begin = time.perf_counter()
    result = function(*arguments, **words)
    return time.perf_counter() - begin, result


def median(runs, function):
    return statistics.median(timed(function)[0] for _ in range(runs))


def as_numbers(column):
    """The values of an Arrow column as NumPy numbers: decimals as their digits, dates as days."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    column = column.combine_chunks()
    if pa.types.is_decimal(column.type):
        whole = np.frombuffer(column.buffers()[1], "i8")[::2]  # the low half of each
        return whole[column.offset:column.offset + len(column)].copy()
    if pa.types.is_date(column.type):
        column = pc.cast(column, pa.int32())
    return column.to_numpy()


def gpu(options, file, path, record):
    """Columns to the GPU: this package, the link alone, and Parquet by way of the host."""
    import numpy as np
    import pyarrow.parquet as pq
    import torch

    record["gpu"] = torch.cuda.get_device_name()
    record["driver"] = subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], capture_output=True,
                                      text=True).stdout.split()[:1]
    torch.zeros(1, device=options.device)  # the driver, and torch's start
    torch.cuda.synchronize()
    for name, columns in SETS.items():
        first, table = timed(file.read, columns, device=options.device)
        host = pq.read_table(path, columns=columns)
        numbers = {column: as_numbers(host[column]) for column in columns}
        for column in columns:
            got = torch.as_tensor(table[column].values, device=options.device).cpu().numpy()
            if not (got == numbers[column]).all():
                sys.exit(f"{column}: the GPU's values are not those of {path}")
        plain = sum(table[column].values.__cuda_array_interface__["shape"][0] * numbers[column].itemsize for column in columns)
        stored = sum(file.schema[column].stored_bytes for column in columns)
        pinned = {column: torch.from_numpy(np.array(values)).pin_memory() for column, values in numbers.items()}
        del table, host

        def again():
            file.read(columns, device=options.device)

        def again_torch():  # on the default stream, which is torch's current one here
            file.read(columns, device=options.device, allocator=lambda n, s: torch.empty(n, dtype=torch.uint8, device=options.device))

        def copy():
            for values in pinned.values():
                values.to(options.device, non_blocking=True)
            torch.cuda.synchronize()

        def parquet():
            for column in pq.read_table(path, columns=columns).columns:
                torch.from_numpy(np.ascontiguousarray(as_numbers(column))).to(options.device)
            torch.cuda.synchronize()

        for warm in (again, again_torch, copy, parquet):
            warm()
        seconds = {"first": first, "again": median(options.runs, again), "again, torch's memory": median(options.runs, again_torch),
                   "copy": median(options.runs, copy), "parquet": median(max(3, options.runs // 2), parquet)}
        record["gpu_reads"].append({
            "columns": columns, "what": name, "plain_bytes": plain, "stored_bytes": stored, "seconds": {k: round(v, 6) for k, v in seconds.items()},
            "gigabytes_per_second": {k: round(plain / v / 1e9, 3) for k, v in seconds.items()},
            "times_sooner_than_copy": round(seconds["copy"] / seconds["again, torch's memory"], 2),
            "times_sooner_than_parquet": round(seconds["parquet"] / seconds["again, torch's memory"], 2)})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parquet", type=pathlib.Path)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--commit", default="unknown", help="of the package")
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    load = os.getloadavg()[0]
    steps = {}
    steps["import pyarrow"], pq = timed(lambda: __import__("pyarrow.parquet").parquet)
    steps["import zipflow"], zf = timed(lambda: __import__("zipflow"))
    steps["read Parquet"], source = timed(pq.read_table, options.parquet)
    path = options.parquet.with_suffix(".zfd")
    steps["write_table"], stored = timed(zf.write_table, source, path)
    steps["write_table again"] = timed(zf.write_table, source, path)[0]
    steps["open"], file = timed(zf.open, path)
    steps["print"], _ = timed(str, file)
    steps["read two columns"], two = timed(file.read, SETS["two columns"])
    steps["read two columns again"] = timed(file.read, SETS["two columns"])[0]
    steps["explain"] = timed(file.explain, "l_tax")[0]
    import pyarrow as pa

    if not pa.table(two).equals(source.select(SETS["two columns"])):
        sys.exit("the two columns are not those of the Parquet file")
    plain, cores = sum(b for b, _ in stored.values()), len(os.sched_getaffinity(0))
    record = {
        "bench": "python minute", "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"), "commit": options.commit,
        "command": f"bench/python_minute.py lineitem.parquet --device {options.device} --runs {options.runs}",
        "cores": cores, "python": platform.python_version(), "pyarrow": pa.__version__, "load_before": round(load, 2), "rows": len(file),
        "parquet_bytes": options.parquet.stat().st_size, "plain_bytes": plain, "stored_bytes": file.nbytes,
        "seconds": {k: round(v, 5) for k, v in steps.items()},
        "write_megabytes_per_second_and_core": round(plain / steps["write_table again"] / 1e6 / cores, 1), "gpu_reads": [],
    }
    if options.device != "cpu":
        gpu(options, file, options.parquet, record)
    text = json.dumps(record, indent=1) + "\n"
    if options.out:
        options.out.write_text(text)
    for name, seconds in record["seconds"].items():
        print(f"{name:<24} {seconds * 1e3:10.1f} ms")
    print(f"{'write_table again':<24} {record['write_megabytes_per_second_and_core']:10.1f} MB/s a core, {plain:,} bytes plain, "
          f"{record['parquet_bytes']:,} in Parquet, {file.nbytes:,} stored")
    for read in record["gpu_reads"]:
        print(f"{read['what']}, {read['plain_bytes']:,} bytes plain, {read['stored_bytes']:,} stored:")
        for name, seconds in read["seconds"].items():
            print(f"  {name:<22} {seconds * 1e3:10.2f} ms  {read['gigabytes_per_second'][name]:8.2f} GB/s")


if __name__ == "__main__":
    main()
