"""The table of the golden containers: its program, and the values of its rows, by formulas.

python3 table.py DIRECTORY writes table.zf and table.csv there. v1.zfd was made of them once, with
`zfc encode -c table.zf table.csv --rows-per-block 4096 --format 1 -o v1.zfd`, and stays. make.py makes files of later versions.
"""
import datetime
import pathlib
import struct
import sys

ROWS = 5000  # two blocks, the second short


def mixed(k):
    """Bits that look random."""
    k = (k + 1) * 2654435761 & 0xffffffff
    return k ^ k >> 15


def word(k):
    return ("", "a", "zip", "flow", "köln", "in person", "x" * 9)[mixed(k) % 7]


# Name, type, codec, value of row k (None: null).
COLUMNS = (
    ("packed", "u32", "bitpack", lambda k: mixed(k) % 1000),
    ("small", "u8", "dictionary(codes: bitpack)", lambda k: mixed(k) % 5 * 50),
    ("runs", "i64", "rle(values: bitpack, counts: bitpack)", lambda k: k // 37 * 1000),
    ("deep", "u32", "rle(rle(rle(bitpack, bitpack), bitpack), bitpack)", lambda k: k // 100 % 4),
    ("steps", "i32", "delta(zigzag(bitpack)) | bitpack", lambda k: (k * k) % 4099 - 2000),
    ("walks", "i64", "delta_stride(start: bitpack, stride: bitpack, count: bitpack)", lambda k: k * 8 + k // 700 * 10**6),
    ("flags", "bool", "set_gaps(rle(bitpack, bitpack))", lambda k: mixed(k) % 11 == 0),
    ("patched", "i64", "pfor(bitpack, bitpack, delta)", lambda k: 10**12 + k if mixed(k) % 50 == 0 else mixed(k) % 60),
    ("decimals", "f64", "alp(ints: bitpack, gaps: bitpack)", lambda k: mixed(k) % 1000 / 4),
    ("prices", "f64", "float2int(bitpack)", lambda k: mixed(k) % 1000 / 100),
    ("planes", "f32", "byte_stream_split(rle(plain, bitpack))", lambda k: k / 8),
    ("layout", "i32", "gpu_for", lambda k: mixed(k) % 300 - 100),
    ("days", "date32", "gpu_dfor(block_starts: delta(bitpack))", lambda k: 8000 + k // 3),
    ("money", "decimal(15, 2)", "rle(values: delta(zigzag(bitpack)), counts: rle(bitpack, bitpack))", lambda k: k // 9 * 125),
    ("ranges", "u8", "rans(chunk: 700)", lambda k: mixed(k) % 7 * (mixed(k) % 3)),
    ("states", "u8", "tans(chunk: 700)", lambda k: mixed(k) % 9 * (mixed(k) % 2)),
    ("prefix", "u8", "huffman(chunk: 700)", lambda k: mixed(k) % 4 * (mixed(k) % 5)),
    ("amounts", "i64", "multiples(times: bitpack, codes: bitpack, entries: delta(rle(bitpack, bitpack)), most: 9)",
     lambda k: (mixed(k) % 9 + 1) * (100 + mixed(k) % 13)),
    ("texts", "string", "strings(lengths: bitpack)", word),
    ("symbols", "string", "strings(lengths: bitpack, bytes: fsst(sample: 1024, chunk: 300))", word),
    ("coded", "string?", "nullable(validity: rle, values: dictionary(codes: bitpack, entries: strings))",
     lambda k: None if k % 5 == 0 else word(k)),
    ("holes", "i32?", "nullable(validity: rle, values: delta(bitpack))", lambda k: None if k // 40 % 3 == 0 else k * 2),
    ("doubts", "bool?", "plain(values: rle(values: nullable, counts: bitpack))",
     lambda k: None if k // 30 % 4 == 0 else k // 15 % 2 == 0),
)

# Types that the first version's file lacks.
MORE = (
    ("halves", "u16", "delta(bitpack)", lambda k: k * 3 % 60000 + mixed(k) % 5),
    ("wide", "u64", "bitpack", lambda k: 2**63 + mixed(k) * 2**20),
    ("signed", "i8", "rle(values: plain, counts: bitpack)", lambda k: k // 13 % 256 - 128),
    ("shorts", "i16", "bitpack", lambda k: mixed(k) % 65536 - 32768),
    ("times", "timestamp", "delta(zigzag(bitpack))", lambda k: 10**15 + k * 10**6 + mixed(k) % 1000),
    ("sparse", "u64?", "nullable(validity: rle, values: bitpack)", lambda k: None if k % 100 > 90 else mixed(k)),
    ("faint", "f32?", "nullable(values: plain)", lambda k: None if k % 7 == 3 else float("inf") if k % 500 == 0 else -k / 8),
    ("lost", "string?", "nullable(values: strings)", lambda k: None if k // 900 == 1 else word(k + 3)),  # a block of nulls
)
NEWEST = COLUMNS + MORE
NEWEST_ROWS = 2000

# The column of a file with chunks that another program compressed.
WRAPPED = (("bytes", "u8", "lz4(chunk: 600)", lambda k: k * 7 % 16 * 5),)


def lists(k, value):
    """A list of 0 to 6 values, of which value(n) is the n-th."""
    return [value(7 * k + n) for n in range(mixed(k) % 7 if k % 4 else 0)]


# Columns of lists, some null or empty, and one of their values null; and a column that is no list.
LISTED = (
    ("numbers", "list<i32>", "delta(bitpack), values: zigzag(bitpack)", lambda k: lists(k, lambda n: mixed(n) % 2000 - 1000)),
    ("rows", "u32", "delta(bitpack)", lambda k: k),
    ("phrases", "list<string?>?", "delta(bitpack), validity: rle, values: nullable(validity: rle, values: strings(lengths: bitpack))",
     lambda k: None if k % 9 == 5 else lists(k, lambda n: None if n % 6 == 2 else word(n))),
    ("answers", "list<bool>?", "plain, validity: plain, values: plain",
     lambda k: None if k // 20 % 3 == 1 else lists(k, lambda n: mixed(n) % 3 == 0)),
    ("sums", "list<decimal(15, 2)?>", "rle(values: delta(bitpack), counts: bitpack), values: nullable(values: bitpack)",
     lambda k: lists(k // 3, lambda n: None if n % 8 == 1 else mixed(n))),
)

# The columns and rows of each kept file.
FILES = {
    "v1.zfd": (COLUMNS, ROWS),
    "v2.zfd": (NEWEST, NEWEST_ROWS),
    "v2_chunks.zfd": (WRAPPED, NEWEST_ROWS),
    "v2_lists.zfd": (LISTED, NEWEST_ROWS),
}

FORMATS = {"u8": "B", "u16": "H", "u32": "I", "u64": "Q", "i8": "b", "i16": "h", "i32": "i", "i64": "q", "f32": "f", "f64": "d", "date32": "i",
           "timestamp": "q", "decimal(15, 2)": "q"}


def bitmap(bits):
    out = bytearray((len(bits) + 7) // 8)
    for k, bit in enumerate(bits):
        out[k // 8] |= bit << k % 8
    return bytes(out)


# The columns that may have blocks of any number of rows: the codec of `amounts` refuses few numbers.
ANY_ROWS = tuple(column for column in COLUMNS if column[0] != "amounts")


def packed(base, values):
    """Numbers as little-endian elements; nulls are 0."""
    return struct.pack(f"<{len(values)}{FORMATS[base]}", *[v or 0 for v in values])


def raw_column(name, kind, values):
    """The files of a column's rows, by their names."""
    files, base = {}, kind.rstrip("?")
    if kind.endswith("?"):
        files[f"{name}.valid"] = bitmap([v is not None for v in values])
    if base.startswith("list<") or base == "string":
        rows = [v or [] for v in values] if base != "string" else [(v or "").encode() for v in values]
        ends = [0]
        for row in rows:
            ends.append(ends[-1] + len(row))
        files[f"{name}.offsets"] = struct.pack(f"<{len(ends)}q", *ends)
        if base == "string":
            files[f"{name}.bytes"] = b"".join(rows)
        else:
            files.update(raw_column(f"{name}.values", base[len("list<"):-1], [value for row in rows for value in row]))
    elif base == "bool":
        files[f"{name}.bool"] = bitmap([bool(v) for v in values])
    else:
        files[f"{name}.{base.split('(')[0]}"] = packed(base, values)
    return files


def raw_files(end=ROWS, begin=0, columns=COLUMNS):
    """The files that `zfc decode` writes for rows begin to end, by their names."""
    files = {}
    for name, kind, _, value in columns:
        files.update(raw_column(name, kind, [value(k) for k in range(begin, end)]))
    return files


def field(kind, value):
    base = kind.rstrip("?")
    if value is None:
        return ""
    if base == "bool":
        return "true" if value else "false"
    if base == "date32":
        return (datetime.date(1970, 1, 1) + datetime.timedelta(days=value)).isoformat()
    return f"{value // 100}.{value % 100:02d}" if base.startswith("decimal") else str(value)


def write(directory, rows=ROWS, columns=COLUMNS):
    """Writes table.zf, and table.csv with the first rows."""
    with open(directory / "table.zf", "w", encoding="utf-8") as out:
        out.write("table golden {\n" + "".join(f"    {name}: {kind} = {codec};\n" for name, kind, codec, _ in columns) + "}\n")
    with open(directory / "table.csv", "w", encoding="utf-8", newline="") as out:
        out.write(",".join(column[0] for column in columns) + "\n")
        for k in range(rows):
            fields = [field(kind, value(k)) for _, kind, _, value in columns]
            out.write(",".join(f'"{text}"' if kind == "string?" and text == "" and value(k) is not None else text
                               for text, (_, kind, _, value) in zip(fields, columns)) + "\n")


if __name__ == "__main__":
    write(pathlib.Path(sys.argv[1]))
