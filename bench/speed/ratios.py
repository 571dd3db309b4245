"""The sizes of table 2's columns: zipflow's nests, Parquet with and without zstd, DuckDB's own storage. No device is asked.

Parquet and DuckDB are given the same numbers as zipflow: doubles are doubles, flags bytes, texts strings. For Parquet the smallest of all encodings that
it has for a column's type counts; of DuckDB the smallest file of several sizes of block, less what one without rows takes, but at least a block.
"""

import concurrent.futures
import json
import os
import pathlib
import sys

import numpy as np

sys.dont_write_bytecode = True
import peers  # noqa: E402
from peers import Failed  # noqa: E402

PARQUET = {"i32": "int32", "i64": "int64", "f64": "double", "date32": "date32", "u8": "uint8", "string": "large_string"}
ENCODINGS = {"i32": ("PLAIN", "DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT"), "f64": ("PLAIN", "BYTE_STREAM_SPLIT"),
             "string": ("PLAIN", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"), "u8": ("PLAIN", "DELTA_BINARY_PACKED")}
ENCODINGS |= {"i64": ENCODINGS["i32"], "date32": ENCODINGS["i32"]}
ZSTD = 9
DUCKDB = {"i32": "INTEGER", "i64": "BIGINT", "f64": "DOUBLE", "date32": "DATE", "u8": "UTINYINT", "string": "VARCHAR"}
BLOCKS = (1 << 14, 1 << 16, 1 << 18)  # bytes of DuckDB's; the last is its default


def arrow(arrays, kind):
    """A column as pyarrow has it."""
    import pyarrow as pa

    if kind == "string":
        offsets, text = np.ascontiguousarray(arrays["offsets"]), np.ascontiguousarray(arrays["bytes"])
        return pa.LargeStringArray.from_buffers(len(offsets) - 1, pa.py_buffer(offsets), pa.py_buffer(text))
    values = pa.array(next(iter(arrays.values())))
    return values.cast(pa.date32()) if kind == "date32" else values


def parquet(s, name, column, kind, compression):
    """The row of the smallest encoding, which is read again and compared."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table, least = pa.table({"c": column}), None
    path = s.tree / f"{name}.{compression}.parquet"
    for encoding in ("dictionary", *ENCODINGS[kind]):
        how = {"use_dictionary": True} if encoding == "dictionary" else {"use_dictionary": False, "column_encoding": {"c": encoding}}
        pq.write_table(table, path, compression=compression, compression_level=ZSTD if compression == "zstd" else None, **how)
        file = pq.ParquetFile(path).metadata
        stored = sum(file.row_group(k).column(0).total_compressed_size for k in range(file.num_row_groups))
        if least is None or stored < least[0]:
            if not pq.read_table(path).column("c").combine_chunks().equals(pa.chunked_array([column]).combine_chunks()):
                raise Failed(f"Parquet's {encoding} reads otherwise")
            least = stored, encoding
    path.unlink()
    return {"codec": least[1].lower(), "stored_bytes": least[0]}


def duckdb_file(s, name, column, kind):
    """The row of the smallest file."""
    import duckdb
    import pyarrow as pa

    least, rows = None, pa.table({"c": column})
    for block in BLOCKS:
        sizes = []
        for count in (0, len(rows)):
            path = s.tree / f"{name}.{block}.{count}.duckdb"
            with duckdb.connect() as db:
                db.execute(f"ATTACH '{path}' AS f (BLOCK_SIZE {block}, STORAGE_VERSION 'latest')")
                given = rows.slice(0, count)  # found by its name
                db.execute(f"CREATE TABLE f.t (c {DUCKDB[kind]})")
                db.execute("INSERT INTO f.t SELECT c FROM given")
                db.execute("CHECKPOINT f")
                if count and not same(db.sql("SELECT c FROM f.t").to_arrow_table(), given):
                    raise Failed("DuckDB reads otherwise")
                used = db.execute("SELECT DISTINCT compression FROM pragma_storage_info('f.t') WHERE segment_type <> 'VALIDITY'").fetchall()
                db.execute("DETACH f")
            sizes.append(path.stat().st_size)
            path.unlink()
        stored = max(block, sizes[1] - sizes[0])
        if least is None or stored < least[0]:
            least = stored, "+".join(sorted(n for (n,) in used)), block
    return {"codec": f"{least[1].lower()}, blocks of {least[2] >> 10} KiB", "stored_bytes": least[0]}


def same(found, given):
    """Whether DuckDB's rows are those that it was given."""
    return found.column(0).cast(given.column(0).type).combine_chunks().equals(given.column(0).combine_chunks())


def ours(s, report, nests, sources):
    """Rows of zipflow's containers, by `zfc inspect`."""
    for nest, (text, tables) in nests.items():
        for table, columns in tables.items():
            name = f"{table}_{'ours' if nest == 'ours' else 'paper'}"
            path = s.tree / f"{name}.zfd"
            try:
                if not path.exists():  # else part table2 made it
                    path = peers.encode(s, name, text, table, [s.tree / "tpch" / f"{table}.csv"], peers.decoded_files(columns, sources[table]), limit=900)
                found = {c["column"]: c for c in json.loads(s.run(s.zfc, "inspect", "--json", path))["columns"]}
            except (Failed, ValueError) as why:
                report.fail(why, data=table, by="zipflow", name=nest)
                continue
            for column in columns:
                add(report, column, "zipflow", nest, {k: found[column][k] for k in ("codec", "plain_bytes", "stored_bytes")})
    for column in (c for c in peers.choices.NUMBERED if c in sources.get("lineitem", ())):
        path = peers.encode_numbered(s, column, sources["lineitem"])
        for found in json.loads(s.run(s.zfc, "inspect", "--json", path))["columns"]:
            add(report, f"{column}, numbered", "zipflow", found["column"], {k: found[k] for k in ("codec", "plain_bytes", "stored_bytes")})


def add(report, column, by, name, row):
    report.add({"data": column, "by": by, "name": name, **row, "ratio": row["plain_bytes"] / row["stored_bytes"], "verified": True})


def part(s, report):
    """`--only ratios`; needs pyarrow, and takes DuckDB where it is installed."""
    import importlib.util

    root = pathlib.Path(peers.ROOT) / "examples/tpch"
    nests = {"the paper's": peers.table2_program(root / "tpch.zf", True, s.options.wants),
             "ours": peers.table2_program(root / "tpch_ours.zf", False, s.options.wants)}
    tables = nests["the paper's"][1]
    sources = {table: s.tpch(table, columns) for table, columns in tables.items()}
    ways = {"Parquet": lambda *c: parquet(s, *c, "none"), f"Parquet, zstd {ZSTD}": lambda *c: parquet(s, *c, "zstd")}
    if importlib.util.find_spec("duckdb"):
        import duckdb

        report.head["duckdb"] = duckdb.__version__
        ways["DuckDB"] = lambda *c: duckdb_file(s, *c)
    else:
        report.leave_out("duckdb is not installed", part="ratios", name="DuckDB")
    jobs = []
    ours(s, report, nests, sources)
    with concurrent.futures.ThreadPoolExecutor(max(1, (os.cpu_count() or 2) // 2)) as pool:
        for table, columns in sources.items():
            for column, arrays in columns.items():
                kind = "u8" if "," in column else tables[table][column]  # numbered beforehand
                for by, way in ways.items():
                    plain = arrays["bytes"] if kind == "string" else next(iter(arrays.values()))
                    jobs.append((column, by, plain.nbytes, pool.submit(way, column.replace(", ", "_"), arrow(arrays, kind), kind)))
        for column, by, plain, job in jobs:
            try:
                add(report, column, by, by, {**job.result(), "plain_bytes": plain})
            except Exception as why:  # of this row
                report.fail(f"{type(why).__name__}: {why}", data=column, by=by, name=by)
    return []
