"""All 16 columns of lineitem encoded from files of plain rows: how long that takes."""

import json
import pathlib
import time

THREADS = 16
# Columns that the queries do not read, in the forms of the others.
REST = {"l_linenumber": ("i32", False), "l_comment": ("string", False)}
REST_CODECS = """\
    l_linenumber:    i32    = delta_stride(bitpack, bitpack, bitpack);
    l_comment:       string = prose;
"""
COUNTED = ("`zfc encode` with COLUMN=FILE for every column, from its start to its end: its code is compiled, every block encoded, decoded, compared "
           "with the source and written, the file synced. Sources are in the page cache where the machine has the memory. `encode_seconds` and "
           "`verify_seconds` are of all threads, added up; `source_bytes` are what is read (offsets have eight), a column's `plain_bytes` of strings "
           "the characters alone")


def columns():
    import tables  # it wants numpy, and to show a report nothing does

    return {**tables.declared()["lineitem"], **REST}


def program(text):
    """tables.zf with the whole lineitem."""
    begin = text.index("table lineitem {")
    end = text.index("}", begin)
    return text[:end] + REST_CODECS + text[end:]


def measured(s):
    """The part `encoding` of a report; `s` is a session of queries.py, and the files of plain rows are there."""
    import tables

    whole = columns()
    codecs, path = s.data / "lineitem-whole.zf", s.data / "lineitem-whole.zfd"
    codecs.write_text(program((tables.HERE / "tables.zf").read_text()))
    begin = time.monotonic()
    said = s.run(s.zfc, "encode", "--json", "-f", "--threads", THREADS, "-c", f"{codecs}:lineitem", "-o", path, *tables.inputs(s.data, "lineitem", whole))
    seconds = time.monotonic() - begin
    found = json.loads(said)
    kept = ("column", "codec", "plain_bytes", "stored_bytes", "encode_seconds", "verify_seconds")
    rows = [{**{k: c[k] for k in kept}, "type": whole[c["column"]][0]} for c in found["columns"]]
    sources = [word.partition("=")[2] for word in tables.inputs(s.data, "lineitem", whole)]
    read = sum(pathlib.Path(source).stat().st_size for source in sources)
    out = {"counted": COUNTED, "table": "lineitem", "rows": found["rows"], "threads": THREADS, "seconds": seconds, "source_bytes": read,
           "file_bytes": path.stat().st_size, "gb_per_second": read / seconds / 1e9, "columns": rows}
    path.unlink()
    return out


def line(part):
    return (f"encoded {part['table']}, {part['rows']} rows of {len(part['columns'])} columns, {part['source_bytes'] / 1e9:.2f} GB, with {part['threads']} threads "
            f"in {part['seconds']:.1f} s ({part['gb_per_second']:.2f} GB/s) to {part['file_bytes'] / 1e9:.2f} GB")
