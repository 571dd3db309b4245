#!/usr/bin/env python3
"""Encoding on one thread: columns of an Arrow table to files, each block decoded and compared, beside pyarrow's Parquet writer.

    encode.py LINEITEM.parquet [--runs 5] [--rows N] [--columns NAME...] [--build release] [--commit C] [--out FILE.json]

Needs the package zipflow and pyarrow. LINEITEM.parquet is lineitem of TPC-H (tpchgen-cli parquet). Each column is written by itself, and
all together, in turns; of each the run with the least processor time (user and system) counts, since others may use the machine. The codecs
are the defaults. Rates are bytes a second of processor time:

- `plain`: plain bytes as `write_table` reports them. Strings count their characters alone.
- `arrow`: bytes of Arrow's buffers as they are given. Strings have offsets of 4 bytes, or views of 16.
- `parquet`: the plain bytes by `pyarrow.parquet.write_table` with its defaults (Snappy), on one thread, which verifies nothing.

`utf8` columns are those of Arrow's type utf8; `--views` keeps the views that the Parquet file asks for.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import resource
import sys
import tempfile

from machine import processor


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def measured(function):
    begin = processor_seconds()
    result = function()
    return processor_seconds() - begin, result


def verified(zf, table, path):
    """Whether the file at `path` has the rows of a table."""
    import pyarrow as pa

    return pa.table(zf.open(path).read()).equals(table)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parquet", type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--rows", type=int)
    parser.add_argument("--columns", nargs="*")
    parser.add_argument("--views", action="store_true")
    parser.add_argument("--build", default="unknown", help="of the package: dev, release")
    parser.add_argument("--commit", default="unknown", help="of the package")
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    load = os.getloadavg()[0]
    import pyarrow as pa
    import pyarrow.parquet as pq
    import zipflow as zf

    pa.set_cpu_count(1)
    table = pq.read_table(options.parquet)
    if options.rows:
        table = table.slice(0, options.rows)
    if not options.views:
        table = table.cast(pa.schema([field.with_type(pa.string()) if field.type == pa.string_view() else field for field in table.schema]))
    columns = options.columns or table.column_names
    tables = {name: table.select([name]) for name in columns} | ({"all": table} if not options.columns else {})
    least, plain, stored, parquet = {}, {}, {}, {}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "table.zfd")
        for run in range(options.runs):
            for name, part in tables.items():
                zf.write_table(part, path, threads=1)  # makes encoders and decoders, which the next call finds
                seconds, sizes = measured(lambda: zf.write_table(part, path, threads=1))
                least[name] = min(seconds, least.get(name, seconds))
                plain[name], stored[name] = (sum(size[k] for size in sizes.values()) for k in (0, 1))
                if run == 0 and not verified(zf, part, path):
                    sys.exit(f"{name}: the file has other rows than the table")
                seconds, _ = measured(lambda: pq.write_table(part, os.path.join(folder, "table.parquet")))
                parquet[name] = min(seconds, parquet.get(name, seconds))
    record = {
        "bench": "encode", "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"), "commit": options.commit,
        "command": f"bench/encode.py {options.parquet.name} --runs {options.runs}" + " --views" * options.views, "build": options.build,
        "cores": len(os.sched_getaffinity(0)), "machine": processor(), "python": platform.python_version(), "pyarrow": pa.__version__,
        "load_before": round(load, 2), "rows": len(table), "threads": 1, "verified": True,
        "columns": {name: {
            "type": str(part.schema[0].type) if name != "all" else "all", "plain_bytes": plain[name], "arrow_bytes": part.nbytes,
            "stored_bytes": stored[name], "milliseconds": round(1e3 * least[name], 1),
            "megabytes_per_second": {"plain": round(plain[name] / least[name] / 1e6, 1), "arrow": round(part.nbytes / least[name] / 1e6, 1),
                                     "parquet": round(plain[name] / parquet[name] / 1e6, 1)},
            "times_parquet": round(parquet[name] / least[name], 2)} for name, part in tables.items()},
    }
    text = json.dumps(record, indent=1)
    print(text)
    if options.out:
        options.out.write_text(text + "\n")


if __name__ == "__main__":
    main()
