"""Cells and lines of the tables that page.py writes, and the records that they are of."""

import pathlib
import re
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent / "speed")]
import rows as of_rows  # noqa: E402


def origin(path, record):
    """The records of a table."""
    device = record.get("device")
    if isinstance(device, dict):
        device = device.get("description", "")
    if not device or device == "cuda":
        device = (record.get("machine") or {}).get("nvidia_smi", [""])[0]
    return f"`bench/results/{path.parent.name}/{path.name}`: {device}; commit {record.get('commit', '?')}, {record['date'][:10]}."


def table(heads, rows):
    sides = "|".join([""] + ["---"] * len(heads) + [""])
    return "\n".join(["| " + " | ".join(heads) + " |", sides] + ["| " + " | ".join(row) + " |" for row in rows])


def speed(row):
    """GB/s; of strings that of the characters alone."""
    return f"{of_rows.speed(row):.0f}"


def ratio(row):
    return f"{row['ratio']:.2f}"


def codec(row):
    """The codec; of rows that failed nobody may know it."""
    return f"`{row['codec']}`" if "codec" in row else ""


def short(row):
    """The codec without the names of its streams, but for those that are not given in order."""
    return re.sub(r"(?<!nullable\()\b(?!slots: )\w+: (?!\w+\[)", "", codec(row))


def limit(row):
    return f"{100 * row['fraction_of_limit']:.0f}%"


def good(rows, **what):
    return of_rows.good(having(rows, **what))


def having(rows, **what):
    return [r for r in rows if all(r.get(k) == v for k, v in what.items())]


def lines_of(rows, width, leading, cells):
    """Lines of a table: `leading` cells say what a row is, and `cells` what was measured of it, if it was."""
    return [[*leading(r), *cells(r)] if r.get("verified") else of_rows.failed_cells(width, r, *leading(r)) for r in rows]


def choice(row):
    """The results of nvCOMP."""
    if "chunk_bytes" not in row:  # it failed before
        return row.get("codec", "")
    size = row["chunk_bytes"] >> 10
    decoder = ", not validated" if "not validated" in row.get("decoder", "") else ""
    return f"{row['codec']}, {size} KiB{decoder}" if size < 1024 else f"{row['codec']}, {size >> 10} MiB{decoder}"


def of_part(record, *parts):
    """Rows of bench/speed's parts."""
    return [r for r in record.get("results", []) if r.get("part") in parts] if record.get("bench") == "speed" else []


def newest_of_part(records, part, devices=("h200",)):
    found = [records.newest(device, lambda r: of_part(r, part)) for device in devices]
    return max((f for f in found if f), key=lambda pair: pair[1]["date"], default=None)


def is_of_numbers(row):
    """Whether no stage of its codec is a coder of bytes or of strings."""
    return not re.search(r"\b(tans|rans|huffman|strings|words|fsst\w*)\b", row.get("codec", "strings"))


def between(values, unit="%"):
    """The range of parts of the limit, in words."""
    least, most = (f"{100 * v:.0f}" for v in (min(values), max(values)))
    return least + ("" if least == most else f" to {most}") + unit


def listed(names):
    """"a, b and c"."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
