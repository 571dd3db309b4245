#!/usr/bin/env python3
"""Encodes tables of generate.py --format npy by ssb.zf, decodes them, and compares each column. Prints a line a column: plain bytes, stored bytes, ratio.

    roundtrip.py DATA ZFC OUT [--tables lineorder,date] [--device cpu] [--json]

OUT has TABLE.zfd afterwards. Plain bytes of texts are their characters. The exit status is 1 if a column differs.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent


def run(*words, environment=None):
    result = subprocess.run([str(word) for word in words], capture_output=True, text=True, env=environment)
    if result.returncode != 0:
        raise ValueError(f"{words[0]} {words[1]}: {result.stderr}{result.stdout}")
    return result.stdout


def program(directory, table, columns, source):
    """ssb.zf with the columns of a table that there are, as a file."""
    text = source.read_text()
    begin = text.index(f"table {table} {{")
    head, body = text[:begin], text[begin : text.index("}", begin) + 1]
    kept = [line for line in body.splitlines() if not re.match(r"\s+\w+:", line) or re.match(r"\s+(\w+):", line)[1] in columns]
    missing = set(columns) - set(re.findall(r"^\s+(\w+):", body, re.MULTILINE))
    if missing:
        raise ValueError(f"{source.name} lacks {', '.join(sorted(missing))}")
    path = directory / "chosen.zf"
    path.write_text(re.sub(r"^table .*?^}\n", "", head, flags=re.MULTILINE | re.DOTALL) + "\n".join(kept) + "\n")
    return path


def files_of(name, kind):
    return [f"{name}.offsets", f"{name}.bytes"] if kind == "text" else [name]


def trip(data, zfc, out, table, columns, device, source=HERE / "ssb.zf"):
    """Encodes and decodes a table. Returns the columns that differ, and what zfc inspect says."""
    out.mkdir(parents=True, exist_ok=True)
    file = out / f"{table}.zfd"
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        names = [part for name, kind in columns.items() for part in files_of(name, kind)]
        run(zfc, "encode", "-q", "-f", "-c", program(scratch, table, columns, source), "-o", file, *(f"{name}={data}/{table}.{name}.npy" for name in names))
        run(zfc, "decode", "-q", "--device", device, "--format", "npy", "-o", scratch / "back", file)
        differ = [name for name in names if not same(data / f"{table}.{name}.npy", scratch / "back" / f"{name}.npy")]
    return differ, json.loads(run(zfc, "inspect", "--json", file))


def same(left, right):
    a, b = np.load(left, mmap_mode="r"), np.load(right, mmap_mode="r")
    return a.dtype == b.dtype and a.shape == b.shape and bool((a == b).all())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("zfc")
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--tables", type=lambda text: text.split(","))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    about = json.loads((options.data / "ssb.json").read_text())
    if about["format"] != "npy":
        parser.error(f"{options.data} has {about['format']}: generate.py --format npy")
    failed, report = False, {}
    for table in options.tables or about["columns"]:
        differ, report[table] = trip(options.data, options.zfc, options.out, table, about["columns"][table], options.device)
        failed |= bool(differ)
        for name in differ:
            print(f"{table}.{name} differs", file=sys.stderr)
        if not options.json:
            for column in report[table]["columns"]:
                print(f"{column['name']:24} {column['plain_bytes']:14} {column['stored_bytes']:14} {column['plain_bytes'] / column['stored_bytes']:10.2f}")
    if options.json:
        print(json.dumps(report))
    return failed


if __name__ == "__main__":
    sys.exit(main())
