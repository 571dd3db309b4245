#!/usr/bin/env python3
"""How small one column of strings becomes: zfc's nest, zstd, FSST, and what DuckDB and Vortex make of it.

    strings.py ZFC CSV [--column o_comment] [--codec FILE:TABLE] [--fsst LIBRARY] [--write FILE]

Characters are those of all rows, without quotes and separators; `ratio` is characters by stored bytes. zstd and FSST keep no lengths: beside
what they store alone stands the same with the rows' lengths, bit-packed from the shortest on, as zfc's nest keeps them. zfc's bytes are all
that the file has for the column: lengths, dictionary, seek states, headers. DuckDB's are those of its file, Vortex's those of its array.

Needs zstandard; takes duckdb and vortex-data where they are installed (DuckDB 1.1.3 has FSST by itself, later versions join it with
dictionaries). LIBRARY is the reference implementation: `c++ -O3 -shared -fPIC -o libfsst.so libfsst.cpp fsst_avx512.cpp` in github.com/cwida/fsst.
"""

import argparse
import csv
import ctypes
import importlib.metadata
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile

import zstandard

ROOT = pathlib.Path(__file__).resolve().parent.parent
KIB = 1 << 10
GROUP = 122880  # rows of DuckDB's row groups


class FsstDecoder(ctypes.Structure):
    """fsst_decoder_t of fsst.h."""

    _fields_ = [("version", ctypes.c_uint64), ("zero", ctypes.c_ubyte), ("len", ctypes.c_ubyte * 255), ("symbol", ctypes.c_uint64 * 255)]

    def decode(self, codes):
        out, at = b"", 0
        while at < len(codes):
            if codes[at] == 255:
                out, at = out + codes[at + 1 : at + 2], at + 2
            else:
                out, at = out + self.symbol[codes[at]].to_bytes(8, "little")[: self.len[codes[at]]], at + 1
        return out


def fsst(library, rows, group):
    """Bytes of codes and of tables, one table for each `group` rows; every thousandth row is decoded again."""
    lib, size, pointer = ctypes.CDLL(str(pathlib.Path(library).resolve())), ctypes.c_size_t, ctypes.c_void_p
    lib.fsst_create.restype, lib.fsst_create.argtypes = pointer, [size, pointer, pointer, ctypes.c_int]
    lib.fsst_compress.restype = size
    lib.fsst_compress.argtypes = [pointer, size, pointer, pointer, size, pointer, pointer, pointer]
    lib.fsst_export.argtypes, lib.fsst_destroy.argtypes = [pointer, pointer], [pointer]
    lib.fsst_decoder.restype, lib.fsst_decoder.argtypes = FsstDecoder, [pointer]
    codes = tables = 0
    for first in range(0, len(rows), group):
        part = rows[first : first + group]
        n, text = len(part), ctypes.create_string_buffer(b"".join(part))
        lengths, places, at = (size * n)(*map(len, part)), (size * n)(), ctypes.addressof(text)
        for k, row in enumerate(part):
            places[k] = at
            at += len(row)
        encoder = lib.fsst_create(n, lengths, places, 0)
        out, out_lengths, out_places = ctypes.create_string_buffer(2 * len(text) + 16), (size * n)(), (size * n)()
        if lib.fsst_compress(encoder, n, lengths, places, len(out), out, out_lengths, out_places) != n:
            sys.exit("fsst_compress had no room")
        decoder = lib.fsst_decoder(encoder)
        for k in range(0, n, 1000):
            if decoder.decode(ctypes.string_at(out_places[k], out_lengths[k])) != part[k]:
                sys.exit(f"fsst: row {first + k} decodes to another")
        codes += sum(out_lengths)
        tables += lib.fsst_export(encoder, ctypes.create_string_buffer(8 * KIB))
        lib.fsst_destroy(encoder)
    return codes + tables


def zstd(text, level, chunk):
    chunk = chunk or len(text)
    stored = 0
    for at in range(0, len(text), chunk):
        frame = zstandard.ZstdCompressor(level=level).compress(text[at : at + chunk])
        if zstandard.ZstdDecompressor().decompress(frame) != text[at : at + chunk]:
            sys.exit("zstd: decodes to another")
        stored += len(frame)
    return stored


def duckdb_file(source, column, method):
    """Bytes of a DuckDB file that holds the column alone, and the methods that its segments have."""
    import duckdb

    with tempfile.TemporaryDirectory() as tree:
        path = pathlib.Path(tree) / "t.db"
        with duckdb.connect(str(path)) as db:
            db.execute(f"PRAGMA force_compression='{method}'")
            db.execute(f"CREATE TABLE t AS SELECT {column} FROM read_csv('{source}', header=true)")
            db.execute("CHECKPOINT")
            used = db.execute("SELECT DISTINCT compression FROM pragma_storage_info('t') WHERE segment_type = 'VARCHAR'").fetchall()
        return path.stat().st_size, "+".join(sorted(name for (name,) in used))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("zfc")
    parser.add_argument("csv")
    parser.add_argument("--column", default="o_comment")
    parser.add_argument("--codec", default=f"{ROOT}/examples/tpch/tpch.zf:orders")
    parser.add_argument("--fsst", metavar="LIBRARY")
    parser.add_argument("--write", metavar="FILE")
    options = parser.parse_args()
    with open(options.csv, newline="", encoding="utf-8") as file:
        lines = csv.reader(file)
        at = next(lines).index(options.column)
        rows = [line[at].encode() for line in lines]
    text = b"".join(rows)
    lengths = (len(rows) * (max(map(len, rows)) - min(map(len, rows))).bit_length() + 7) // 8
    results = []

    def add(what, stored, alone=None):
        """All bytes stored, lengths among them; those without lengths."""
        entry = {"what": what, "stored_bytes": stored, "ratio": round(len(text) / stored, 2)}
        if alone is not None:
            entry |= {"bytes_without_lengths": alone, "ratio_without_lengths": round(len(text) / alone, 2)}
        results.append(entry)
        print(f"{what:<48} {stored:>12} {entry['ratio']:>6.2f}   without lengths {entry.get('ratio_without_lengths', '-'):>6}", flush=True)

    with tempfile.TemporaryDirectory() as tree:
        container = pathlib.Path(tree) / "t.zfd"
        subprocess.run([options.zfc, "encode", "-q", "-c", options.codec, "-o", container, options.csv], check=True)
        said = subprocess.run([options.zfc, "inspect", "--json", "--columns", options.column, container], check=True, capture_output=True, text=True)
        (column,) = json.loads(said.stdout)["columns"]
    kept = sum(s["bytes"] for b in column["blocks"] for s in b["streams"] if s["path"] in ("lengths", "lengths.packed"))
    add(f"zfc: {options.column}", column["stored_bytes"], column["stored_bytes"] - kept)
    for level in (3, 19):
        for chunk in (None, 64 * KIB):
            alone = zstd(text, level, chunk)
            add(f"zstd -{level}" + (f" in chunks of {chunk // KIB} KiB" if chunk else ""), alone + lengths, alone)
    if options.fsst:
        for group in (len(rows), GROUP):
            alone = fsst(options.fsst, rows, group)
            add(f"FSST, {'one table' if group == len(rows) else f'a table for {group} rows'}", alone + lengths, alone)
    versions = {"zstd": ".".join(map(str, zstandard.ZSTD_VERSION))}
    if importlib.util.find_spec("duckdb"):
        import duckdb

        versions["duckdb"] = duckdb.__version__
        for method in ("fsst", "auto"):
            stored, used = duckdb_file(options.csv, options.column, method)
            if used != "Uncompressed":
                add(f"DuckDB {duckdb.__version__}, {method}: {used}", stored)
    if importlib.util.find_spec("vortex"):
        import pyarrow
        import vortex

        versions["vortex"] = importlib.metadata.version("vortex-data")
        made = vortex.compress(vortex.array(pyarrow.array([row.decode() for row in rows])))
        add(f"Vortex {versions['vortex']}: {made.id}", made.nbytes)
    report = {"bench": "strings", "command": "bench/strings.py ZFC CSV" + (" --fsst LIBRARY" if options.fsst else ""), "column": options.column,
              "commit": subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip(),
              "rows": len(rows), "characters": len(text), "codec": column["codec"], "versions": versions, "results": results}
    if options.write:
        pathlib.Path(options.write).write_text(json.dumps(report, indent=1) + "\n")
    else:
        print(json.dumps(report))


if __name__ == "__main__":
    main()
