"""Columns in Polars and DuckDB, without a copy: frames.py. Needs pyarrow, and Polars or DuckDB."""

import tempfile

import pyarrow as pa

import zipflow as zf

with tempfile.TemporaryDirectory() as folder:
    path = f"{folder}/sales.zfd"
    zf.write_table(pa.table({"shop": [k % 7 for k in range(100_000)], "cents": [k * 31 % 9973 for k in range(100_000)]}), path)

    with zf.open(path) as f:
        sales = f.read(["shop", "cents"])  # the file may be closed: the table keeps its memory

    try:
        import duckdb

        best = duckdb.sql("select shop, sum(cents) as total from sales group by shop order by total desc, shop limit 1").fetchall()[0]
        print("DuckDB: shop", best[0], "has", best[1])
    except ImportError:
        print("DuckDB is not installed")

    try:
        import polars as pl

        frame = pl.DataFrame(sales).group_by("shop").agg(pl.col("cents").sum().alias("total")).sort("total", "shop", descending=[True, False])
        print("Polars: shop", frame["shop"][0], "has", frame["total"][0])
        zf.write_table(frame, f"{folder}/totals.zfd")  # Polars exports Arrow, too
        assert len(zf.open(f"{folder}/totals.zfd")) == 7
    except ImportError:
        print("Polars is not installed")
