"""examples/published through zfc: made columns of several lengths are encoded, decoded on the CPU and on the emulated GPU, and compared.
The stored streams are also read here, by decoders written a second time from the papers, straight from the bytes of the file.

    published.py ZFC EXAMPLES
"""

import json
import os
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile

LENGTHS = [0, 1, 7, 4096, 4097, 20000]
CHUNK = 4096  # of gorilla


class Bits:
    """Bits of a stream, the least significant of a byte first."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def read(self, n):
        value = (int.from_bytes(self.data[self.at // 8 : (self.at + n + 7) // 8], "little") >> self.at % 8) & ((1 << n) - 1)
        self.at += n
        return value

    def align(self):
        self.at = (self.at + 7) // 8 * 8


def bitshuffle(streams, rows):
    bits = Bits(streams["planes"])
    padded = (rows + 7) // 8 * 8
    planes = [[bits.read(1) for _ in range(padded)] for _ in range(32)]
    values = [sum(planes[b][i] << b for b in range(32)) for i in range(rows)]
    return [v - (v >> 31 << 32) for v in values]


def elias_fano(streams, rows, low):
    upper, lower = Bits(streams["upper"]), Bits(streams["lower"])
    values, high = [], 0
    while len(values) < rows:
        if upper.read(1):
            values.append(high << low | lower.read(64))
        else:
            high += 1
    return values


SHARES = [(240, 0), (120, 0), (60, 1), (30, 2), (20, 3), (15, 4), (12, 5), (10, 6), (8, 7), (7, 8), (6, 10), (5, 12), (4, 15), (3, 20), (2, 30), (1, 60)]


def simple8b(streams, rows):
    values = []
    for (word,) in struct.iter_unpack("<Q", streams["words"]):
        count, width = SHARES[word >> 60]
        values += [word >> j * width & ((1 << width) - 1) for j in range(count)]
    return values


def stream_vbyte(streams, rows):
    control, data, values = Bits(streams["control"]), streams["data"], []
    at = 0
    for _ in range(rows):
        n = control.read(2) + 1
        values.append(int.from_bytes(data[at : at + n], "little"))
        at += n
    return values


def gorilla(streams, rows):
    bits, values = Bits(streams["src"]), []
    while len(values) < rows:
        last = bits.read(64)
        values.append(last)
        for _ in range(min(CHUNK, rows - len(values) + 1) - 1):
            if bits.read(1):
                if bits.read(1):
                    lead, length = bits.read(5), bits.read(6) + 1
                last ^= bits.read(length) << (64 - lead - length)
            values.append(last)
        bits.align()
    return [struct.unpack("<d", struct.pack("<Q", v))[0] for v in values]


def walk(n, rng):
    value, values = 200, []
    for _ in range(n):
        value += rng.choice((-40, -1, 0, 0, 0, 1, 1, 1))
        values.append(value)
    return values


def prices(n, rng):
    value, values = 71.5, []
    for _ in range(n):
        value += rng.choice((0, 0, 0, 0.25, -0.25, 1 / 3))
        values.append(value)
    return [float("-inf") if i % 1000 == 3 else -0.0 if i % 1000 == 5 else v for i, v in enumerate(values)]


FORMS = {"i32": "i", "i64": "q", "u32": "I", "f64": "d"}

# codec: type; a column of n; the second decoder
MADE = {
    "bitshuffle": ("i32", walk, bitshuffle),
    "elias_fano": ("i64", lambda n, rng: sorted(rng.randrange(100 * n) for _ in range(n)), elias_fano),
    "simple8b": ("u32", lambda n, rng: [0 if 300 < i < 900 else 1 << rng.randrange(1, 32) if i % 500 == 3 else rng.randrange(6) for i in range(n)], simple8b),
    "stream_vbyte": ("u32", lambda n, rng: [rng.randrange(1 << 8 * rng.randrange(5)) for _ in range(n)], stream_vbyte),
    "gorilla": ("f64", prices, gorilla),
}


def run(*command, fails=None):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if (done.returncode != 0 if fails is None else fails not in done.stderr or done.returncode == 0):
        raise SystemExit(f"{' '.join(map(str, command))}: {done.returncode}, {fails or 'success'} was expected\n{done.stdout}{done.stderr}")
    return done.stdout


def streams_of(container, said):
    """The stored bytes of each stream of a column of one block, and its params."""
    data = container.read_bytes()
    (block,) = said["columns"][0]["blocks"]
    streams = {s["path"]: data[block["offset"] + s["offset"] :][: s["bytes"]] for s in block["streams"]}
    return streams, block["params"]


def through(zfc, tree, program, columns):
    """Columns, their raw elements by name, through zfc and back: on the CPU and on the emulated GPU."""
    container = tree / "t.zfd"
    for column, plain in columns.items():
        (tree / column).write_bytes(plain)
    run(zfc, "encode", "-q", "-f", "-c", program, "-o", container, *(f"{column}={tree / column}" for column in columns))
    said = json.loads(run(zfc, "inspect", "--json", container))
    for device in ("cpu", "emu"):
        out = tree / device
        shutil.rmtree(out, ignore_errors=True)
        run(zfc, "decode", "-q", "--device", device, "-o", out, container)
        for column in said["columns"]:
            name = column["column"]
            if (out / f"{name}.{column['type']}").read_bytes() != columns[name]:
                raise SystemExit(f"{column['codec']}, {device}: {column['rows']} rows of {name} came back changed")
    return container, said


def pack(kind, values):
    return struct.pack(f"<{len(values)}{FORMS[kind]}", *values)


def main():
    zfc, examples = sys.argv[1], pathlib.Path(sys.argv[2]).resolve() / "published"
    codecs = {p.stem for p in examples.glob("*.zf")} - {"published"}
    if codecs != set(MADE):
        raise SystemExit(f"programs {sorted(codecs)}, columns for {sorted(MADE)}")
    with tempfile.TemporaryDirectory() as name:
        tree = pathlib.Path(name)
        os.environ["ZIPFLOW_CACHE_DIR"] = str(tree / "cache")
        bare = tree / "bare.zf"  # streams are stored as they are, for the second decoders
        for codec, (kind, make, decode) in MADE.items():
            bare.write_text(f'import "{examples / codec}.zf";\ntable bare {{\n    c: {kind} = {codec};\n}}\n')
            for n in LENGTHS:
                plain = pack(kind, make(n, random.Random(f"{codec} {n}")))
                container, said = through(zfc, tree, bare, {"c": plain})
                if n > 0:
                    streams, params = streams_of(container, said)
                    if pack(kind, decode(streams, n, *params.values())) != plain:
                        raise SystemExit(f"{codec}: the stored bytes of {n} values are not as published")
        n, rng, own = LENGTHS[-1], random.Random("published"), f"{examples / 'published.zf'}"
        climbing = sorted(rng.randrange(50 * n) for _ in range(n))
        through(zfc, tree, f"{own}:postings", {"document": pack("i64", climbing), "word": pack("u32", climbing)})
        readings = {"celsius": pack("i32", walk(n, rng)), "volts": pack("i32", walk(n, rng)), "price": pack("f64", prices(n, rng))}
        through(zfc, tree, f"{own}:readings", readings)
        (tree / "falling").write_bytes(pack("i64", [5, 9, 2]))
        (tree / "word").write_bytes(pack("u32", [5, 9, 2]))
        run(zfc, "encode", "-f", "-c", f"{own}:postings", "-o", tree / "f.zfd", f"document={tree / 'falling'}", f"word={tree / 'word'}", fails="do not climb")
    print(f"{len(MADE)} codecs, {len(LENGTHS)} lengths each")


if __name__ == "__main__":
    main()
