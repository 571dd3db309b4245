"""rans, tans, huffman through zfc: every shape of frequencies, at sizes around chunks and batches of rows, and chunks of 1 KiB to 1 MiB.
The stored bytes are read here, by decoders written a second time from the pages in dsl/std, straight from the bytes of the file.

    coders.py ZFC [--all]

--all: every coder with every size of chunks, instead of some of each.
"""

import collections
import heapq
import json
import os
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile

LANES = 32
CHUNK = 1024  # of columns that are read here: two batches of 16 rows of lanes
LENGTHS = [0, 1, 31, 32, 33, 513, 1023, 1024, 1025, 1535, 2 * 1024 + 700]
CHUNKS = [1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20]


# ---- Second decoders ----------------------------------------------------------------------------------------------


def numbers(form, data):
    return [v for (v,) in struct.iter_unpack("<" + form, data)]


class Lane:
    """Bits of a lane, the highest of a word first: one word from the begin, and in every k-th row one where that is used up."""

    def __init__(self, words, k):
        self.words, self.k = words, k
        self.bits, self.have = next(words), 32

    def row(self, number):
        if number % self.k == 0 and self.have <= 32:
            self.bits, self.have = self.bits << 32 | next(self.words), self.have + 32

    def read(self, n):
        self.have -= n
        if self.have < 0:
            raise SystemExit("a code has bits that did not come in")
        value, self.bits = self.bits >> self.have, self.bits & ((1 << self.have) - 1)
        return value


def chunks(rows):
    return [min(CHUNK, rows - at) for at in range(0, rows, CHUNK)]


def read_huffman(streams, params, rows):
    codes, code, last = {}, 0, 0
    order = list(zip(streams["slots.lengths"], streams["slots.symbols"]))
    if order != sorted(order) or len(order) != len(set(streams["slots.symbols"])):
        raise SystemExit("codes are not by length and symbol")
    for n, symbol in order:
        code, last = code << (n - last), n
        codes[n, code] = symbol
        code += 1
    if code != 1 << last:
        raise SystemExit("bits are left that begin no code")
    words, out = iter(numbers("I", streams["words"])), bytearray()
    for count in chunks(rows):
        lanes = [Lane(words, params["k"]) for _ in range(LANES)]
        for i in range(count):
            lane, n, code = lanes[i % LANES], 0, 0
            lane.row(i // LANES)
            while (n, code) not in codes:
                n, code = n + 1, code << 1 | lane.read(1)
            if n * params["k"] > 32:
                raise SystemExit("a code is too long for so many rows")
            out.append(codes[n, code])
    return bytes(out), next(words, None) is None


def read_rans(streams, params, rows):
    bits, freqs = params["bits"], numbers("H", streams["slots.freqs"])
    first = [sum(freqs[:s]) for s in range(256)]
    symbol_of = [s for s in range(256) for _ in range(freqs[s])]
    words, states, out = iter(numbers("H", streams["words"])), iter(numbers("I", streams["states"])), bytearray()
    for count in chunks(rows):
        x = [next(states) for _ in range(LANES)]
        for i in range(count):
            v = x[i % LANES]
            if i // LANES % params["k"] == 0 and v < 1 << 16:
                v = v << 16 | next(words)
            slot = v % (1 << bits)
            s = symbol_of[slot]
            x[i % LANES] = freqs[s] * (v >> bits) + slot - first[s]
            out.append(s)
    return bytes(out), next(words, None) is None


def read_tans(streams, params, rows):
    size, freqs, rows_of = 1 << params["log"], numbers("H", streams["slots.entries.freqs"]), {}
    at = 0
    for s in range(256):
        places = sorted(int(f"{place:0{params['log']}b}"[::-1], 2) for place in range(at, at + freqs[s]))
        rows_of.update((row, (s, freqs[s] + k)) for k, row in enumerate(places))
        at += freqs[s]
    words, states, out = iter(numbers("I", streams["words"])), iter(numbers("H", streams["states"])), bytearray()
    for count in chunks(rows):
        x, lanes = [size + next(states) for _ in range(LANES)], [Lane(words, params["k"]) for _ in range(LANES)]
        for i in range(count):
            lane = i % LANES
            lanes[lane].row(i // LANES)
            s, y = rows_of[x[lane] - size]
            n = params["log"] + 1 - y.bit_length()
            x[lane] = y << n | lanes[lane].read(n)
            out.append(s)
        if any(v != size for v in x):
            raise SystemExit("a lane does not end where its encoder began")
    return bytes(out), next(words, None) is None


def check_lengths(streams, params, plain):
    """The code costs what Huffman's own does, or a hundredth more: codes of up to 11 bits lose nothing on what is tried here."""
    counts = collections.Counter(plain)
    length = dict(zip(streams["slots.symbols"], streams["slots.lengths"]))
    heap, best = sorted(counts.values()), 0
    while len(heap) > 1:
        pair = heapq.heappop(heap) + heapq.heappop(heap)
        best += pair
        heapq.heappush(heap, pair)
    cost = sum(n * length[s] for s, n in counts.items())
    if not best <= cost <= best * 1.01:
        raise SystemExit(f"codes cost {cost} bits where {best} are possible")


# codec; how its streams are read; what its params may be
CODERS = {
    "rans": ("rans(slots: rans_slots, chunk: {})", read_rans),
    "rans8": ("rans(slots: rans_slots, bits: 8, chunk: {})", read_rans),
    "tans": ("tans(slots: tans_slots(tans_symbols), chunk: {})", read_tans),
    "huffman": ("huffman(slots: huffman_table, chunk: {})", read_huffman),
}
# Other chunk programs, whose elements are others: their type, and bytes of one.
OTHERS = {"gpu_rfor": ("gpu_rfor(chunk: {})", "i32", 4), "roaring": ("roaring(chunk: {})", "bool", 1)}


# ---- Data ---------------------------------------------------------------------------------------------------------


def zipf(symbols):
    return range(symbols), [1 / (i + 2) for i in range(symbols)]


# values and how often
SHAPES = {
    "one": ([200], [1]),
    "two": ([0, 255], [9, 1]),
    "three": ([65, 78, 82], [1, 2, 1]),
    "few": (range(16), [20 - i for i in range(16)]),
    "zipf": zipf(64),
    "wide": zipf(256),
    "even": (range(256), [1] * 256),
}


# Code is compiled for each number of rows that share a question, which takes longer than all else: rans
# has one for each number of bits.
TRIED = {"rans": ("one", "even"), "rans8": ("two", "wide"), "tans": ("one", "two", "zipf", "wide"), "huffman": tuple(SHAPES)}


def sample(shape, rows):
    return bytes(random.Random(rows).choices(*SHAPES[shape], k=rows))


# ---- Through zfc --------------------------------------------------------------------------------------------------


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def through(zfc, tree, program, columns, on_emu):
    """Columns, their bytes by name, encoded and decoded by the CPU, and some by the emulated GPU. Returns the container, and what
    zfc says of it."""
    container = tree / "t.zfd"
    for column, plain in columns.items():
        (tree / column).write_bytes(plain)
    run(zfc, "encode", "-q", "-f", "-c", program, "-o", container, *(f"{column}={tree / column}" for column in columns))
    said = json.loads(run(zfc, "inspect", "--json", container))
    for device, wanted in (("cpu", list(columns)), ("emu", on_emu)):
        if not wanted:
            continue
        out = tree / "out"
        shutil.rmtree(out, ignore_errors=True)
        run(zfc, "decode", "-q", "--format", "npy", "--device", device, "--columns", ",".join(wanted), "-o", out, container)
        for column in wanted:
            decoded = (out / f"{column}.npy").read_bytes()
            if decoded[10 + int.from_bytes(decoded[8:10], "little") :] != columns[column]:
                raise SystemExit(f"{device}: {len(columns[column])} bytes of {column} came back changed")
    return container.read_bytes(), {column["column"]: column for column in said["columns"]}


def check_streams(data, said, plain, coder, ways):
    for block in said["blocks"]:
        streams = {s["path"]: data[block["offset"] + s["offset"] :][: s["bytes"]] for s in block["streams"]}
        part = plain[block["first_row"] :][: block["rows"]]
        read, ended = CODERS[coder][1](streams, block["params"], len(part))
        if read != part or not ended:
            raise SystemExit(f"{said['column']}, {len(part)} rows: read again it is something else, or words are left")
        if coder == "huffman" and len(set(part)) > 1:
            check_lengths(streams, block["params"], part)
        if "k" in block["params"]:
            ways[coder].add(block["params"]["k"])


def program_of(tree, name, columns):
    path = tree / f"{name}.zf"
    path.write_text("table t {\n" + "".join(f"    {column}: {kind} = {codec};\n" for column, (kind, codec) in columns.items()) + "}\n")
    return path


def check_shapes(zfc, tree):
    names = {f"{coder}_{shape}": (coder, shape) for coder in CODERS for shape in TRIED[coder]}
    program = program_of(tree, "shapes", {name: ("u8", CODERS[coder][0].format(CHUNK)) for name, (coder, _) in names.items()})
    ways = collections.defaultdict(set)
    for number, rows in enumerate(LENGTHS):
        columns = {name: sample(shape, rows) for name, (_, shape) in names.items()}
        on_emu = [name for k, name in enumerate(names) if k % 2 == 0 and k * 3 % len(LENGTHS) == number]
        data, said = through(zfc, tree, program, columns, on_emu)
        for name, (coder, _) in names.items():
            check_streams(data, said[name], columns[name], coder, ways)
    if any(ways[coder] != {2, 4, 8, 16} for coder in ("tans", "huffman")):
        raise SystemExit(f"not all numbers of rows were met that share a question: {dict(ways)}")


def check_chunks(zfc, tree, whole):
    """Chunks that are whole, and one behind them: of each size by itself, for a large one takes much data."""
    for number, chunk in enumerate(CHUNKS):
        rows = chunk + 4 * 1024 + 33
        made = {}
        for k, (name, (codec, *_)) in enumerate(list(CODERS.items()) + list(OTHERS.items())):
            if name == "roaring" and chunk > 1 << 16:  # it refuses them
                continue
            if whole or (k + number) % 3 == 0:
                made[name] = (OTHERS[name][1] if name in OTHERS else "u8", codec.format(chunk))
        columns = {}
        for name in made:
            plain = sample("three" if name in OTHERS else "zipf", rows)
            if name == "roaring":
                plain = bytes(v == 78 for v in plain)
            if name == "gpu_rfor":
                plain = b"".join(struct.pack("<i", v) for v in plain)
            columns[name] = plain
        through(zfc, tree, program_of(tree, f"chunks{chunk}", made), columns, list(columns))


TEXTS = {
    "chars": "strings(lengths: bitpack, bytes: huffman(slots: huffman_table, chunk: 4096))",
    "prose": "strings(lengths: bitpack, bytes: words(tokens: bitpack(packed: u8[] = huffman(slots: huffman_table)), entries: strings))",
}


def check_texts(zfc, tree):
    """Bytes of strings, and tokens of words, as coders' results."""
    rng = random.Random("texts")
    words = ["".join(rng.choices("etaoinshrdlu", k=rng.randrange(2, 9))) for _ in range(400)]
    rows = [" ".join(rng.choices(words, k=rng.randrange(5))) for _ in range(3000)]
    (tree / "texts.csv").write_text(",".join(TEXTS) + "\n" + "".join(",".join(row for _ in TEXTS) + "\n" for row in rows))
    program = program_of(tree, "texts", {name: ("string", codec) for name, codec in TEXTS.items()})
    run(zfc, "encode", "-q", "-f", "-c", program, "-o", tree / "t.zfd", tree / "texts.csv")
    for device in ("cpu", "emu"):
        run(zfc, "decode", "-q", "-f", "--format", "csv", "--device", device, "-o", tree / "texts", tree / "t.zfd")
        decoded = (tree / "texts/t.csv").read_text().replace('"', "").splitlines()[1:]
        if decoded != [",".join(row for _ in TEXTS) for row in rows]:
            raise SystemExit(f"{device}: texts came back changed")


def main():
    zfc, whole = sys.argv[1], "--all" in sys.argv[2:]
    with tempfile.TemporaryDirectory() as name:
        tree = pathlib.Path(name)
        os.environ["ZIPFLOW_CACHE_DIR"] = str(tree / "cache")
        check_shapes(zfc, tree)
        check_chunks(zfc, tree, whole)
        check_texts(zfc, tree)
    print("good")


main()
