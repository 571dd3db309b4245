"""Bytes of the streams of TPC-H columns, as `zfc inspect` accounts for them, against what counts and widths imply: the column's nest is
followed here over the source's values, with algorithms written a second time, which count bits and make none.

    stream_bytes.py ZFC ROOT [--data DIRECTORY] [--columns NAMES]     (default: scale factor 0.01, every column; 77: no tpchgen-cli)

For columns under rans the bytes' entropy is implied. The difference may be 2%, or 64 bytes of tiny columns. `words` looks
for entries that are better than words as they are: these are what is implied at most, of 512 KiB of text a tenth less; at least a third.
"""

import argparse
import collections
import csv
import datetime
import json
import math
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SIZES = {"i32": 4, "i64": 8, "f64": 8, "date32": 4, "u8": 1, "u16": 2, "u32": 4}
EPOCH = datetime.date(1970, 1, 1)
READ = {"f64": float, "date32": lambda t: (datetime.date.fromisoformat(t) - EPOCH).days, "string": str.encode, "u8": ord, "i32": int, "i64": int}


def parse(text):
    """`name(stream: type[] = child, ...)` as (name, {stream: (type or None, child)})."""
    tokens = re.findall(r"\w+|[():=,]|\[\]", text)

    def node():
        name, children = tokens.pop(0), {}
        if tokens and tokens[0] == "(":
            while tokens.pop(0) != ")":
                if tokens[0] == ")":
                    continue
                stream, kind = tokens.pop(0), None
                assert tokens.pop(0) == ":", text
                if tokens[1] == "[]":
                    kind = tokens[0]
                    del tokens[:3]
                children[stream] = (kind, node())
                if tokens[0] == ")":
                    tokens.pop(0)
                    return name, children
        return name, children

    return node()


def runs(values):
    kept, counts = [], []
    for v in values:
        if kept and kept[-1] == v:
            counts[-1] += 1
        else:
            kept.append(v)
            counts.append(1)
    return kept, counts


def strides(values):
    start, stride, count, i = [], [], [], 0
    while i < len(values):
        d = values[i + 1] - values[i] if i + 1 < len(values) else 0
        n = 1
        while i + n < len(values) and values[i + n] - values[i + n - 1] == d:
            n += 1
        start.append(values[i])
        stride.append(d)
        count.append(n)
        i += n
    return start, stride, count


def numbered(values):
    first = {}
    return [first.setdefault(v, len(first)) for v in values], list(first)


def digits(values):
    """The decimals of which the fewest digits give every value back."""
    for d in range(19):
        ints = [round(v * 10**d) for v in values]
        if all(n / 10**d == v for n, v in zip(ints, values)):
            return ints
    raise ValueError("no decimals")


def tokens_of(rows):
    return [token for row in rows for token in re.findall(rb"[^ .]*[ .]|[^ .]+$", row)]


def words_of(values, bits):
    """The bytes that bitpack makes; only what is read as bytes below it needs them."""
    low = min(values)
    width, packed, have, out = (max(values) - low).bit_length(), 0, 0, bytearray()
    for v in values:
        packed |= (v - low) << have
        have += width
        while have >= bits:
            out += (packed & ((1 << bits) - 1)).to_bytes(bits // 8, "little")
            packed >>= bits
            have -= bits
    if have > 0:
        out += packed.to_bytes(bits // 8, "little")
    return [int.from_bytes(out[i : i + bits // 8], "little") for i in range(0, len(out), bits // 8)]


def implied(node, values, size):
    """Bytes of all streams of the nest over these values, whose plain size is `size` each."""
    name, children = node

    def below(stream, values, size):
        kind, child = children.get(stream, (None, ("plain", {})))
        return implied(child, values, SIZES.get(kind, size))

    if name == "plain":
        return sum(map(len, values)) if size is None else len(values) * size
    if name == "bitpack":
        if "packed" in children:
            kind = children["packed"][0]
            return below("packed", words_of(values, 8 * SIZES[kind]), SIZES[kind])
        width = (max(values) - min(values)).bit_length() if values else 0
        return (len(values) * width + 31) // 32 * 4
    if name == "float2int":
        return below("ints", digits(values), 8)
    if name == "dictionary":
        codes, entries = numbered(values)
        return below("codes", codes, 4) + below("entries", entries, size)
    if name == "delta":
        return below("deltas", [b - a for a, b in zip(values, values[1:])], size)
    if name == "rle":
        kept, counts = runs(values)
        return below("values", kept, size) + below("counts", counts, 4)
    if name == "delta_stride":
        start, stride, count = strides(values)
        return below("start", start, size) + below("stride", stride, size) + below("count", count, 4)
    if name == "strings":
        text = values if children.get("bytes", (None, ("", {})))[1][0] == "words" else list(b"".join(values))
        return below("lengths", [len(v) for v in values], 4) + below("bytes", text, 1)
    if name == "words":
        codes, entries = numbered(tokens_of(values))
        return below("tokens", codes, 4) + below("entries", entries, None)
    if name == "rans":
        total = len(values)
        entropy = -sum(n * math.log2(n / total) for n in collections.Counter(values).values()) / 8
        chunks = (total + CHUNK - 1) // CHUNK
        return entropy + chunks * 32 * 4 + (256 * 2 if "slots" in children else 4 * SLOTS)  # first states; frequencies or the table
    raise ValueError(f"{name} is not known here")


CHUNK, SLOTS = 16384, 2048  # of rans: bytes a chunk, rows of its table


def check(zfc, root, text, table, wanted, tree):
    container = tree / f"{table}.zfd"
    subprocess.run([zfc, "encode", "-q", "-f", "-c", f"{root}/examples/tpch/tpch.zf:{table}", "-o", container, text], check=True)
    said = json.loads(subprocess.run([zfc, "inspect", "--json", container], check=True, capture_output=True, text=True).stdout)
    bad = checked = 0
    for column in said["columns"]:
        name = column["column"]
        if wanted and name not in wanted:
            continue
        with open(text, newline="", encoding="utf-8") as file:
            rows = csv.reader(file)
            at = next(rows).index(name)
            values = [READ[column["type"]](row[at]) for row in rows]
        nest, expected = parse(column["codec"]), 0
        for block in column["blocks"]:
            first = block["first_row"]
            expected += implied(nest, values[first : first + block["rows"]], SIZES.get(column["type"]))
        stream, seek = column["bytes"]["stream"], column["bytes"].get("seek", 0)
        searched = "words(" in column["codec"] and expected / 3 <= stream <= expected * (1 if column["plain_bytes"] < 1 << 19 else 0.9)
        good = (searched or "words(" not in column["codec"] and abs(stream - expected) <= max(64, 0.02 * expected)) and len(values) == column["rows"]
        small = len(values) < 4096 or seek <= max(0.1 * column["stored_bytes"], 0.002 * column["plain_bytes"])
        print(f"{name:<16} stream {stream:>11}, implied {expected:>13.0f} ({100 * (stream / max(1, expected) - 1):+.2f}%), seek {seek:>8}, "
              f"stored {column['stored_bytes']:>11}, plain {column['plain_bytes']:>11}, ratio {column['ratio']:>8.2f}"
              f"{'' if good else '  STREAM'}{'' if small else '  SEEK'}", flush=True)
        bad += not good or not small
        checked += 1
    return checked, bad


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("zfc")
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("--data", type=pathlib.Path)
    parser.add_argument("--columns", default="")
    options = parser.parse_args()
    wanted = [c for c in options.columns.split(",") if c]
    with tempfile.TemporaryDirectory() as name:
        tree = pathlib.Path(name)
        data = options.data
        if data is None:
            maker = options.root / ".venv/bin/tpchgen-cli"
            maker = str(maker) if maker.exists() else shutil.which("tpchgen-cli")
            if maker is None:
                print("there is no tpchgen-cli")
                return 77
            data = tree
            subprocess.run([maker, "csv", "-s", "0.01", "--output-dir", data], check=True, stdout=subprocess.DEVNULL)
        checked = bad = 0
        for text in sorted(data.glob("*.csv")):
            if wanted and not any(re.search(rf"\b{c}\b", text.open().readline()) for c in wanted):
                continue
            counts = check(options.zfc, options.root, text, text.stem, wanted, tree)
            checked, bad = checked + counts[0], bad + counts[1]
    print(f"{checked} columns, {bad} of them bad")
    return bad > 0 or checked != (len(wanted) or 61)


if __name__ == "__main__":
    sys.exit(main())
