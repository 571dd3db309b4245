"""Formats of others in dsl/std: what we store is theirs, and what they store decodes on every device.

Usage: test_formats.py ZFC INTERPRETER. LZ4 and Snappy are compared with liblz4 and libsnappy in pyarrow, where Python has it. The
formats of integers are compared with readers and writers that are here, made from the formats' documents; writers choose their
runs by chance, so that every kind of run occurs, also those that our encoders do not make."""

import pathlib
import random
import struct
import subprocess
import sys
import unittest

from lz_blocks import plain_of, sequences_of_split, varint
from zfc_case import Case, cache_of_module

try:
    import pyarrow
except ImportError:
    pyarrow = None

INTERPRETER = pathlib.Path(sys.argv[2])
TYPES = {"i8": "b", "u8": "B", "i16": "h", "u16": "H", "i32": "i", "u32": "I", "i64": "q", "u64": "Q"}
WIDTHS = list(range(1, 25)) + [26, 28, 30, 32, 40, 48, 56, 64]  # of ORC


def setUpModule():
    cache_of_module()


def packed(kind, values):
    return struct.pack(f"<{len(values)}{TYPES[kind]}", *values)


def bits_of(kind):
    return 8 * int(kind[1:]) // 8


def fits(kind, value):
    """The value whose lowest bits a number of the type keeps."""
    value &= (1 << bits_of(kind)) - 1
    return value - (1 << bits_of(kind)) if kind[0] == "i" and value >> bits_of(kind) - 1 else value


def zigzag(value):
    return value << 1 if value >= 0 else (-value << 1) - 1


def unzigzag(code):
    return code >> 1 ^ -(code & 1)


class Reader:
    """Bytes, from the first on."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def byte(self):
        self.at += 1
        return self.data[self.at - 1]

    def signed(self):
        value = self.byte()
        return value - 256 if value > 127 else value

    def take(self, count):
        self.at += count
        assert self.at <= len(self.data), "bytes are missing"
        return self.data[self.at - count:self.at]

    def varint(self):
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def highest_first(self, count, width):
        number = int.from_bytes(self.take((count * width + 7) // 8), "big")
        number >>= -count * width % 8
        return [number >> (count - 1 - k) * width & (1 << width) - 1 for k in range(count)]

    def lowest_first(self, count, width):
        number = int.from_bytes(self.take((count * width + 7) // 8), "little")
        return [number >> k * width & (1 << width) - 1 for k in range(count)]

    def ended(self):
        return self.at == len(self.data)


def highest_first(values, width):
    number = 0
    for value in values:
        number = number << width | value
    number <<= -len(values) * width % 8
    return number.to_bytes((len(values) * width + 7) // 8, "big")


def lowest_first(values, width):
    return sum(value << k * width for k, value in enumerate(values)).to_bytes((len(values) * width + 7) // 8, "little")


def length_bytes(count):
    """The bytes that LZ4 adds to a length of 15 in a token."""
    return b"" if count < 15 else bytes([255] * ((count - 15) // 255)) + bytes([(count - 15) % 255])


def lz4_block(steps):
    """A block of steps: literals, then a copy (length, distance) or None, as the last has."""
    out = b""
    for literals, copy in steps:
        length = copy[0] - 4 if copy else 0
        out += bytes([min(len(literals), 15) << 4 | min(length, 15)]) + length_bytes(len(literals)) + literals
        out += copy[1].to_bytes(2, "little") + length_bytes(length) if copy else b""
    return out


def snappy_block(steps):
    """The same."""
    out = varint(sum(len(literals) + (copy[0] if copy else 0) for literals, copy in steps))
    for literals, copy in steps:
        out += bytes([60 << 2, len(literals) - 1]) + literals if literals else b""
        out += bytes([copy[0] - 1 << 2 | 2]) + copy[1].to_bytes(2, "little") if copy else b""
    return out


def copied(steps):
    out = bytearray()
    for literals, copy in steps:
        out += literals
        for _ in range(copy[0] if copy else 0):
            out.append(out[-copy[1]])
    return bytes(out)


# ---- Readers ------------------------------------------------------------------------------------------------------------------

def physical(kind):
    """The type in which a format computes: Parquet's INT32 or INT64, and 64 bits in ORC."""
    return "i64" if bits_of(kind) == 64 else "i32"


def read_packbits(kind, data, count):
    r, out = Reader(data), []
    while not r.ended():
        n = r.signed()
        if n >= 0:
            out += r.take(n + 1)
        elif n != -128:
            out += [r.byte()] * (1 - n)
    return out


def read_orc_byte_rle(kind, data, count):
    r, out = Reader(data), []
    while not r.ended():
        n = r.signed()
        out += [r.byte()] * (n + 3) if n >= 0 else r.take(-n)
    return out


def value_of(kind, code):
    return unzigzag(code) if kind[0] == "i" else code


def code_of(kind, value):
    return zigzag(value) if kind[0] == "i" else value


def read_orc_rle1(kind, data, count):
    r, out = Reader(data), []
    while not r.ended():
        n = r.signed()
        if n >= 0:
            step = r.signed()
            base = value_of(kind, r.varint())
            out += [base + k * step for k in range(n + 3)]
        else:
            out += [value_of(kind, r.varint()) for _ in range(-n)]
    return out


def read_orc_rle2(kind, data, count):
    r, out = Reader(data), []
    while not r.ended():
        head = r.byte()
        if head >> 6 == 0:
            value = value_of(kind, int.from_bytes(r.take((head >> 3 & 7) + 1), "big"))
            out += [value] * ((head & 7) + 3)
            continue
        w, n = WIDTHS[head >> 1 & 31], ((head & 1) << 8 | r.byte()) + 1
        if head >> 6 == 1:
            out += [value_of(kind, code) for code in r.highest_first(n, w)]
        elif head >> 6 == 3:
            base, step = value_of(kind, r.varint()), unzigzag(r.varint())
            out.append(base)
            if head >> 1 & 31 == 0:
                out += [base + k * step for k in range(1, n)]
            else:
                for by in [step] + [-by if step < 0 else by for by in r.highest_first(n - 2, w)]:
                    out.append(out[-1] + by)
        else:
            raise AssertionError("our encoder stores no run with exceptions")
    return out


def read_parquet_hybrid(kind, data, count):
    r, out = Reader(data), []
    width = r.byte()
    while len(out) < count:
        head = r.varint()
        if head & 1:
            out += r.lowest_first(8 * (head >> 1), width)
        else:
            out += [int.from_bytes(r.take((width + 7) // 8), "little")] * (head >> 1)
    assert r.ended() and len(out) - count < 8, "only the last group has more values than there are"
    return out[:count]


def read_delta_binary_packed(kind, data, count):
    r = Reader(data)
    block, minis, total = r.varint(), r.varint(), r.varint()
    assert block % 128 == 0 and block % minis == 0 and block // minis % 32 == 0 and total == count
    out = [unzigzag(r.varint())]
    while len(out) < count:
        least, widths = unzigzag(r.varint()), r.take(minis)
        for w in widths:
            if len(out) < count:
                for by in r.lowest_first(block // minis, w)[:count - len(out)]:
                    out.append(fits(physical(kind), out[-1] + least + by))
    assert r.ended()
    return out


# ---- Writers, which choose by chance ------------------------------------------------------------------------------------------

def write_packbits(kind, chosen):
    out, rows = b"", []
    for _ in range(chosen.randrange(1, 60)):
        n = chosen.randrange(1, 129)
        case = chosen.randrange(3)
        if case == 0:
            out += b"\x80"
        elif case == 1 and n > 1:
            value = chosen.randrange(256)
            out, rows = out + bytes([257 - n, value]), rows + [value] * n
        else:
            values = [chosen.randrange(256) for _ in range(n)]
            out, rows = out + bytes([n - 1, *values]), rows + values
    return out, rows


def write_orc_byte_rle(kind, chosen):
    out, rows = b"", []
    for _ in range(chosen.randrange(1, 60)):
        if chosen.randrange(2):
            n, value = chosen.randrange(3, 131), chosen.randrange(256)
            out, rows = out + bytes([n - 3, value]), rows + [value] * n
        else:
            values = [chosen.randrange(256) for _ in range(chosen.randrange(1, 129))]
            out, rows = out + bytes([256 - len(values), *values]), rows + values
    return out, rows


def range_of(kind):
    return (-(1 << bits_of(kind) - 1), (1 << bits_of(kind) - 1) - 1) if kind[0] == "i" else (0, (1 << bits_of(kind)) - 1)


def any_value(kind, chosen):
    low, high = range_of(kind)
    return chosen.choice((low, high, max(low, chosen.randrange(-9, 10)), chosen.randint(low, high), min(high, chosen.randrange(300))))


def within(kind, values):
    low, high = range_of(kind)
    return all(low <= value <= high for value in values)


def write_orc_rle1(kind, chosen):
    out, rows = b"", []
    for _ in range(chosen.randrange(1, 40)):
        base, step, n = any_value(kind, chosen), chosen.randrange(-128, 128), chosen.randrange(3, 131)
        values = [base + k * step for k in range(n)]
        if within(kind, values):
            out += bytes([n - 3, step & 255]) + varint(code_of(kind, base))
        else:
            values = [any_value(kind, chosen) for _ in range(chosen.randrange(1, 129))]
            out += bytes([256 - len(values)]) + b"".join(varint(code_of(kind, value)) for value in values)
        rows += values
    return out, rows


def width_above(bits):
    return next(w for w in WIDTHS if w >= bits)


def orc_head(kind, w, n):
    return bytes([kind << 6 | WIDTHS.index(w) << 1 | n - 1 >> 8, n - 1 & 255])


def exceptions(kind, chosen):
    """A run of bits above a base, of which some values have more bits."""
    n = chosen.choice((1, 5, 300, 512, chosen.randrange(1, 513)))
    high = range_of(kind)[1]
    w, more = chosen.choice(WIDTHS[:12]), chosen.choice(WIDTHS[:16])
    if bits_of(kind) < w + more + 2:
        w, more = 1, 2
    places = sorted(chosen.sample(range(n), min(n, chosen.randrange(1, 12))))
    entries, last = [], 0
    for k, place in enumerate(places):
        gap = place - last
        while gap > 255:
            entries.append((255, 0))
            gap -= 255
        entries.append((gap, chosen.randrange(1, 1 << more)))
        last = place
    if len(entries) > 31:
        return b"", []
    base = chosen.choice((0, 1, chosen.randrange(min(high, 1 << 20))))
    if kind[0] == "i" and chosen.randrange(2):
        base = -base
    low = [chosen.randrange(1 << w) for _ in range(n)]
    values, at = list(low), 0
    for gap, patch in entries:
        at += gap
        if patch:
            values[at] |= patch << w
    values = [base + value for value in values]
    if not within(kind, values):
        return b"", []
    gap_bits = max(1, max(gap for gap, _ in entries).bit_length())
    entry = gap_bits + more
    entry = entry if entry <= 24 else (entry + 1) // 2 * 2 if entry <= 32 else (entry + 7) // 8 * 8
    sign, size = base < 0, abs(base).bit_length() // 8 + 1
    head = orc_head(2, w, n) + bytes([size - 1 << 5 | WIDTHS.index(more), gap_bits - 1 << 5 | len(entries)])
    stored = (abs(base) | (sign << 8 * size - 1)).to_bytes(size, "big")
    return head + stored + highest_first(low, w) + highest_first([gap << more | patch for gap, patch in entries], entry), values


def write_orc_rle2(kind, chosen):
    out, rows = b"", []
    for _ in range(chosen.randrange(1, 25)):
        case, values, run = chosen.randrange(5), [], b""
        if case == 0:
            value, n = any_value(kind, chosen), chosen.randrange(3, 11)
            code = code_of(kind, value)
            size = max(1, (code.bit_length() + 7) // 8)
            run, values = bytes([size - 1 << 3 | n - 3]) + code.to_bytes(size, "big"), [value] * n
        elif case == 1:
            values = [any_value(kind, chosen) for _ in range(chosen.choice((1, 2, 9, 511, 512)))]
            codes = [code_of(kind, value) for value in values]
            w = width_above(max(1, max(codes).bit_length()))
            run = orc_head(1, w, len(values)) + highest_first(codes, w)
        elif case == 2:
            run, values = exceptions(kind, chosen)
        else:
            n, base, sign = chosen.randrange(2, 513), any_value(kind, chosen), chosen.choice((1, -1))
            steps = [chosen.randrange(1 << chosen.choice((1, 5, 9))) for _ in range(n - 1)]
            if case == 3:
                steps = steps[:1] * (n - 1)
            values = [base]
            for step in steps:
                values.append(values[-1] + sign * step)
            if not within(kind, values) or (sign < 0 and steps[0] == 0):
                continue
            w = width_above(max(2, max(steps[1:], default=0).bit_length()))  # a width of 1 has the code of none
            head = bytes([3 << 6 | n - 1 >> 8, n - 1 & 255]) if case == 3 else orc_head(3, w, n)
            run = head + varint(code_of(kind, base)) + varint(zigzag(sign * steps[0]))
            run += b"" if case == 3 else highest_first(steps[1:], w)
        out, rows = out + run, rows + values
    return out, rows


def write_parquet_hybrid(kind, chosen):
    width = chosen.choice((0, 1, 3, 7, 8, bits_of(kind)))
    out, rows = bytes([width]), []
    for _ in range(chosen.randrange(1, 30)):
        if chosen.randrange(2):
            value, n = chosen.randrange(1 << width), chosen.choice((1, 7, 8, 9, 500))
            out, rows = out + varint(n << 1) + value.to_bytes((width + 7) // 8, "little"), rows + [value] * n
        else:
            values = [chosen.randrange(1 << width) for _ in range(8 * chosen.choice((1, 2, 63)))]
            out, rows = out + varint(len(values) // 8 << 1 | 1) + lowest_first(values, width), rows + values
    return out, rows


def write_delta_binary_packed(kind, chosen):
    minis = chosen.choice((1, 2, 4, 8))
    block = 128 * chosen.choice((1, 2, 4)) if minis <= 4 else 256
    rows = [any_value(kind, chosen) if chosen.randrange(2) else chosen.randrange(100) for _ in range(chosen.choice((1, 2, 33, 129, 1000)))]
    out = varint(block) + varint(minis) + varint(len(rows)) + varint(zigzag(rows[0]))
    each = block // minis
    for begin in range(1, len(rows), block):
        by = [fits(physical(kind), rows[k] - rows[k - 1]) for k in range(begin, min(len(rows), begin + block))]
        least = min(by)
        above = [(step - least) & (1 << bits_of(physical(kind))) - 1 for step in by]
        parts = [above[m * each:(m + 1) * each] for m in range(minis)]
        widths = [max(part, default=0).bit_length() if part else chosen.randrange(65) for part in parts]
        out += varint(zigzag(least)) + bytes(widths)
        out += b"".join(lowest_first(part + [0] * (each - len(part)), w) for part, w in zip(parts, widths) if part)
    return out, rows


SIGNED, UNSIGNED = ("i8", "i16", "i32", "i64"), ("u8", "u16", "u32", "u64")
FORMATS = {
    "packbits": (("u8",), read_packbits, write_packbits),
    "orc_byte_rle": (("u8",), read_orc_byte_rle, write_orc_byte_rle),
    "orc_rle1": (SIGNED + UNSIGNED, read_orc_rle1, write_orc_rle1),
    "orc_rle2": (SIGNED + UNSIGNED, read_orc_rle2, write_orc_rle2),
    "parquet_hybrid": (UNSIGNED, read_parquet_hybrid, write_parquet_hybrid),
    "delta_binary_packed": (SIGNED, read_delta_binary_packed, write_delta_binary_packed),
}
EXAMPLES = (  # of the pages in dsl/std
    ("lz4", "u8", b"abcabcabcabcabcabcX, end.", b"\x3babc\x03\x00\x70X, end."),
    ("snappy", "u8", b"abcabcabcabcabcabcX", b"\x13\x08abc\x3a\x03\x00\x00X"),
    ("packbits", "u8", [7, 7, 7, 7, 1, 2], bytes.fromhex("fd07010102")),
    ("orc_byte_rle", "u8", [5, 5, 5, 5, 9], bytes.fromhex("0105ff09")),
    ("orc_rle1", "i32", [7, 7, 7, 7, 100], bytes.fromhex("01000effc801")),
    ("orc_rle2", "u32", [10000] * 5, bytes.fromhex("0a2710")),
    ("parquet_hybrid", "u32", [4] * 8, bytes.fromhex("031004")),
    ("delta_binary_packed", "i32", [1, 2, 3, 4, 5], bytes.fromhex("80010405020200000000")),
)


def texts(chosen):
    """Bytes of several kinds, with their edges."""
    words = [bytes(chosen.randrange(97, 123) for _ in range(chosen.randrange(2, 9))) for _ in range(30)]
    yield from (b"", b"a", b"ab" * 6, b"abcd" * 3, b"x" * 12, b"x" * 13, bytes(65536), bytes(range(256)) * 3)
    yield b" ".join(chosen.choice(words) for _ in range(9000))[:chosen.randrange(40000, 50000)]
    yield chosen.randbytes(20000)
    yield chosen.randbytes(300) + chosen.randbytes(40000) + chosen.randbytes(12) * 2 + b"long" * 5000
    for length in (59, 60, 61, 255, 256, 257, 269, 270, 271):  # of literals, then matches of many lengths
        literals = chosen.randbytes(length)
        yield literals + literals[:chosen.randrange(4, length)] + chosen.randbytes(20) + literals


def columns_of(kind, chosen):
    """Values of several kinds, with their edges."""
    low, high = range_of(kind)
    yield from ([low], [high, low, high, low, high], [low] * 700, list(range(0, 127)), [high] * 9 + [low] * 10 + [3] * 11)
    yield [any_value(kind, chosen) for _ in range(1500)]
    yield list(range(100, 0, -1)) + [fits(kind, 100 - 200 * (k % 2)) if kind[0] == "i" else k * 200 % 256 for k in range(50)]  # steps that wrap
    yield [chosen.randrange(3) for _ in range(2000)]
    yield [fits(kind, k * 7 // 50 * chosen.choice((0, 1))) for k in range(3000)]
    values = []
    while len(values) < 4000:
        values += [any_value(kind, chosen)] * chosen.choice((1, 2, 3, 7, 8, 9, 10, 11, 127, 128, 129, 130, 131, 512, 513))
    yield values[:4000]
    values = [0]
    for _ in range(3000):
        values.append(min(high, values[-1] + chosen.randrange(3)))
    yield values
    yield [fits(kind, 5 * k if k // 40 % 2 else chosen.randrange(1 << 60)) for k in range(2500)]


class Formats(Case):
    def program(self, kind, codec):
        return self.file("f.zf", f"table t {{ c: {kind} = {codec}; }}\n")

    def streams(self, kind, codec, plain, *names):
        """The chunks that the interpreter's run of the encoder stores in streams, whose rows are all in one chunk."""
        (self.dir / "streams").mkdir(exist_ok=True)
        run = subprocess.run([INTERPRETER, f"{self.program(kind, codec)}:t.c", self.file("in", plain), self.dir / "streams"],
                             capture_output=True, text=True, check=False)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertIn("equal", run.stdout)
        return [(self.dir / "streams" / name).read_bytes() for name in names]

    def stored(self, kind, codec, plain):
        return self.streams(kind, codec, plain, "page" if codec.startswith("delta") else "src")[0]

    def split(self, plain):
        """Streams of lz_split, distances as numbers."""
        tokens, literals, distances, more = self.streams("u8", "lz_split(search: 8)", plain, "tokens", "literals", "distances", "more")
        return tokens, literals, struct.unpack(f"<{len(distances) // 2}H", distances), more

    def test_split(self):
        found = self.split(b"abcabcabcabcabcabcX, end.")
        self.assertEqual(found, (b"\x3c\x70", b"abcX, end.", (3, 1), b""))
        for plain in texts(random.Random(3)):
            self.assertTrue(plain_of(sequences_of_split(*self.split(plain))) == plain, f"{len(plain)} bytes")

    def test_examples(self):
        for codec, kind, values, wanted in EXAMPLES:
            self.assertEqual(self.stored(kind, codec, values if isinstance(values, bytes) else packed(kind, values)), wanted, codec)

    def test_ours(self):
        """Encoders store what the formats' documents say."""
        for codec, (kinds, read, _) in FORMATS.items():
            for kind in kinds:
                for k, values in enumerate(columns_of(kind, random.Random(codec + kind))):
                    found = read(kind, self.stored(kind, codec, packed(kind, values)), len(values))
                    if bits_of(kind) == 64:  # readers compute in 64 bits
                        found = [fits(kind, value) for value in found]
                    self.assertEqual(found, values, f"{codec} of {kind}, column {k}")

    @unittest.skipUnless(pyarrow, "pyarrow has liblz4 and libsnappy")
    def test_ours_by_libraries(self):
        for codec, library in (("lz4", "lz4_raw"), ("snappy", "snappy")):
            for plain in texts(random.Random(codec)):
                if plain:
                    found = pyarrow.Codec(library).decompress(self.stored("u8", codec, plain), len(plain), asbytes=True)
                    self.assertTrue(found == plain, f"{codec}, {len(plain)} bytes")

    def decode_wrapped(self, kind, codec, chunks, plain):
        """Chunks (bytes, rows) of others, wrapped, on every device."""
        self.program(kind, f"{codec}(chunk: 65536)")
        self.file("c", b"".join(data for data, _ in chunks))
        self.file("c.sizes", "".join(f"{len(data)} {rows}\n" for data, rows in chunks))
        self.good("wrap", "-c", self.dir / "f.zf", f"c={self.dir / 'c'}", "-o", self.dir / "t.zfd", "-f", "-q")
        for device in ("cpu", "emu"):
            self.good("decode", self.dir / "t.zfd", "-o", self.dir / "out", "-f", "-q", "--device", device)
            found = (self.dir / "out" / f"c.{kind}").read_bytes()
            self.assertTrue(found == plain, f"{codec} of {kind} on {device}: {len(found)} and {len(plain)} bytes")

    @unittest.skipUnless(pyarrow, "pyarrow has liblz4 and libsnappy")
    def test_theirs_by_libraries(self):
        for codec, library in (("lz4", "lz4_raw"), ("snappy", "snappy")):
            plains = [plain for plain in texts(random.Random(library)) if plain]
            chunks = [(pyarrow.Codec(library).compress(plain, asbytes=True), len(plain)) for plain in plains]
            self.decode_wrapped("u8", codec, chunks, b"".join(plains))

    def test_laxer_than_libraries(self):
        """Chunks that docs/safety.md calls laxer than the libraries: ends of LZ4 blocks, and long varints of Snappy."""
        taken = {
            "lz4": ((b"\x50abcde\1\0", b"abcdeeeee"),  # it ends with a match
                    (b"\x54abcde\1\0\x40wxyz", b"abcdeeeeeeeeewxyz"),  # and with four literals
                    (b"\x50abcde\1\0\x70tuvwxyz", b"abcdeeeeetuvwxyz")),  # a match begins within the last twelve bytes
            "snappy": ((b"\x83" + b"\x80" * 4 + b"\0\x08abc", b"abc"), (b"\x83" + b"\x80" * 8 + b"\0\x08abc", b"abc")),  # 6 and 10 bytes
        }
        for codec, pairs in taken.items():
            for data, plain in pairs if pyarrow else ():
                with self.assertRaises(OSError, msg=f"{codec} {data}"):
                    pyarrow.Codec("lz4_raw" if codec == "lz4" else codec).decompress(data, len(plain), asbytes=True)
            self.decode_wrapped("u8", codec, [(data, len(plain)) for data, plain in pairs], b"".join(plain for _, plain in pairs))
        if pyarrow:  # the libraries take the same with ends as they should be, and five bytes
            for library, data, plain in (("lz4_raw", b"\x50abcde\1\0\x80stuvwxyz", b"abcdeeeeestuvwxyz"), ("snappy", b"\x83\x80\x80\x80\0\x08abc", b"abc")):
                self.assertEqual(pyarrow.Codec(library).decompress(data, len(plain), asbytes=True), plain)

    def test_copies(self):
        """Copies from every distance and of every length about the width of a vector, with little or nothing behind them. Chunks follow
        each other without a gap, so that a byte too many is one of the next chunk, or lies outside."""
        chosen = random.Random("copies")
        behind = [0, 1, 2, 14, 15, 16, 17, 30, 31, 32, 33, 47, 100]
        for codec, block, lengths in (("lz4", lz4_block, [*range(4, 68), 80, 97, 300]), ("snappy", snappy_block, range(1, 65))):
            chunks, plain = [], b""
            for distance in range(1, 41):
                for length in lengths:
                    before = chosen.randbytes(distance + chosen.choice([0, 0, 1, 20]))
                    steps = [(before, (length, distance)), (chosen.randbytes(chosen.choice(behind)), None)]
                    chunks.append((block(steps), len(copied(steps))))
                    plain += copied(steps)
            self.decode_wrapped("u8", codec, chunks, plain)

    def test_theirs(self):
        """Every kind of run, by writers that choose by chance."""
        for codec, (kinds, _, write) in FORMATS.items():
            for kind in kinds:
                chosen = random.Random(kind + codec)
                made = [(data, rows) for data, rows in (write(kind, chosen) for _ in range(24)) if rows]
                chunks = [(data, len(rows)) for data, rows in made]
                self.decode_wrapped(kind, codec, chunks, packed(kind, [value for _, rows in made for value in rows]))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
