"""Streams of Deflate, zlib and gzip: what we store is theirs, what others store decodes on every device, and what zlib refuses is
refused. zlib, which Python has, is the judge of all.

Usage: test_deflate.py ZFC INTERPRETER. With ZF_TEST_DATA, a directory that has bytes/, deflate/ and fuzz/, files of other writers
decode, too."""

import os
import pathlib
import random
import subprocess
import sys
import tarfile
import unittest
import zlib

from zfc_case import Case, byte_texts, cache_of_module, sampled

INTERPRETER = pathlib.Path(sys.argv[2])
GIVEN = pathlib.Path(os.environ.get("ZF_TEST_DATA") or "/nonexistent")
CODECS = {"deflate": "deflate", "zlib": "zlib(check: 1)", "gzip": "gzip(check: 1)"}
WINDOW_BITS = {"deflate": -15, "zlib": 15, "gzip": 31}
MOST = 65536  # rows of a chunk
ORDER = (16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15)
STRATEGIES = (zlib.Z_DEFAULT_STRATEGY, zlib.Z_FILTERED, zlib.Z_HUFFMAN_ONLY, zlib.Z_RLE, zlib.Z_FIXED)


def setUpModule():
    cache_of_module()


def packed(plain, form, level=6, strategy=0, memory=8, flush_every=0):
    maker = zlib.compressobj(level, zlib.DEFLATED, WINDOW_BITS[form], memory, strategy)
    out = b""
    for at in range(0, len(plain) if flush_every else 0, flush_every or 1):
        out += maker.compress(plain[at:at + flush_every]) + maker.flush(random.Random(at).choice((zlib.Z_SYNC_FLUSH, zlib.Z_FULL_FLUSH)))
    return out + maker.compress(b"" if flush_every else plain) + maker.flush()


def judged(data, form):
    """The bytes that zlib makes of a chunk, and whether it is good: the stream ends, nothing follows. gzip may have members."""
    plain = b""
    while True:
        reader = zlib.decompressobj(WINDOW_BITS[form])
        try:
            while data and not reader.eof:  # byte by byte, so that what is before an error is known
                plain += reader.decompress(data[:1])
                data = data[1:]
        except zlib.error:
            return plain, False
        if not reader.eof:
            return plain, False
        if not data:
            return plain, True
        if form != "gzip":
            return plain, False


class Bits:
    """Bits of a stream, lowest first."""

    def __init__(self):
        self.value = self.count = 0

    def put(self, value, count):
        self.value |= (value & (1 << count) - 1) << self.count
        self.count += count

    def align(self):
        self.count += -self.count % 8

    def bytes(self):
        return self.value.to_bytes((self.count + 7) // 8, "little")


def codes_of(lengths):
    """The code of each symbol with its bits, first bit lowest, whether or not the lengths make a whole code."""
    code, codes = 0, {}
    for bits in range(1, 16):
        code <<= 1
        for symbol, length in enumerate(lengths):
            if length == bits:
                codes[symbol] = (int(f"{code & (1 << bits) - 1:0{bits}b}"[::-1], 2), bits)
                code += 1
    return codes


def whole_code(chosen, symbols, most):
    """Lengths of a complete code: leaves of a tree that grows by chance."""
    leaves = [0]
    while len(leaves) < symbols:
        k = chosen.randrange(len(leaves)) if chosen.randrange(4) else len(leaves) - 1
        if leaves[k] == most:
            k = leaves.index(min(leaves))
        leaves[k:k + 1] = [leaves[k] + 1] * 2
    return leaves


def lengths_among(chosen, all_symbols, wanted, most):
    """Lengths for as many symbols as wanted, chosen among all, the wanted ones in front."""
    others = [s for s in range(all_symbols) if s not in wanted]
    used = wanted + chosen.sample(others, min(len(others), chosen.choice((0, 1, 2, 5, 30, 200))))
    lengths = [0] * all_symbols
    for symbol, length in zip(used, whole_code(chosen, len(used), most) if len(used) > 1 else [1]):
        lengths[symbol] = length
    return lengths


def put_symbol(bits, codes, symbol):
    if symbol in codes:
        bits.put(*codes[symbol])


def put_symbols(chosen, bits, literals, distances, made):
    """Bytes and copies by chance, of symbols that have codes; seldom of distances that do not exist. The count of bytes then."""
    lengths_used = [s for s in literals if s > 256]
    bytes_used = [s for s in literals if s < 256]
    for _ in range(chosen.choice((0, 1, 5, 60, 300))):
        if lengths_used and distances and made > 0 and chosen.randrange(3) == 0:
            length = chosen.choice(lengths_used)
            more = 0 if length < 265 or length >= 285 else (length - 261) // 4
            added = chosen.choice((0, chosen.getrandbits(more), (1 << more) - 1)) if more else 0
            base = length - 254 if length < 265 else 258 if length == 285 else (4 + (length - 257) % 4 << more) + 3
            fitting = [s for s in distances if s < 30 and (s + 1 if s < 4 else (2 + s % 2 << s // 2 - 1) + 1) <= made]
            if not fitting and chosen.randrange(20):
                continue
            distance = chosen.choice(fitting or list(distances))
            bits.put(*literals[length])
            bits.put(added, more)
            bits.put(*distances[distance])
            far = 0 if distance < 4 else distance // 2 - 1
            first = distance + 1 if distance < 4 else (2 + distance % 2 << far) + 1
            most = min((1 << far) - 1, max(made - first, 0)) if chosen.randrange(50) else (1 << far) - 1
            bits.put(chosen.choice((0, most, chosen.randint(0, most))), far)
            made += base + added
        elif bytes_used:
            bits.put(*literals[chosen.choice(bytes_used)])
            made += 1
    return made


def put_code(chosen, bits, lengths, literal_count):
    """The lengths of two codes in front of a block, with runs where they fit, by chance."""
    runs, at = [], 0
    while at < len(lengths):
        same = 1
        while at + same < len(lengths) and lengths[at + same] == lengths[at]:
            same += 1
        if lengths[at] == 0 and same >= 11 and chosen.randrange(5):
            take = chosen.randint(11, min(same, 138))
            runs.append((18, take - 11, 7))
        elif lengths[at] == 0 and same >= 3 and chosen.randrange(5):
            take = chosen.randint(3, min(same, 10))
            runs.append((17, take - 3, 3))
        elif at > 0 and lengths[at - 1] == lengths[at] and same >= 3 and chosen.randrange(5):
            take = chosen.randint(3, min(same, 6))
            runs.append((16, take - 3, 2))
        else:
            take = 1
            runs.append((lengths[at], 0, 0))
        at += take
    if chosen.randrange(40) == 0:
        runs.insert(0, (16, 0, 2))  # nothing is before it
    if chosen.randrange(8) == 0 and runs[-1][0] > 15 and runs[-1][1] + 1 < 1 << runs[-1][2]:
        runs[-1] = (runs[-1][0], runs[-1][1] + 1, runs[-1][2])  # beyond the end
    own = lengths_among(chosen, 19, sorted({symbol for symbol, _, _ in runs}), 7)
    if chosen.randrange(30) == 0:
        own[chosen.randrange(19)] = chosen.randrange(8)  # perhaps no whole code
    given = max([4] + [k + 1 for k in range(19) if own[ORDER[k]]])
    bits.put(literal_count - 257, 5)
    bits.put(len(lengths) - literal_count - 1, 5)
    bits.put(given - 4, 4)
    for k in range(given):
        bits.put(own[ORDER[k]], 3)
    codes = codes_of(own)
    for symbol, value, count in runs:
        put_symbol(bits, codes, symbol)
        bits.put(value, count)


def made_stream(chosen):
    """A stream of blocks of every kind, mostly good."""
    bits, made = Bits(), 0
    blocks = chosen.choice((1, 1, 2, 4))
    for k in range(blocks):
        bits.put(k == blocks - 1, 1)
        kind = chosen.choice((0, 1, 2, 2, 2)) if chosen.randrange(60) else 3
        bits.put(kind, 2)
        if kind == 0:
            text = chosen.randbytes(chosen.choice((0, 1, 7, 300)))
            bits.align()
            bits.put(len(text), 16)
            bits.put(~len(text) ^ (chosen.randrange(40) == 0), 16)
            for byte in text:
                bits.put(byte, 8)
            made += len(text)
        elif kind == 1:
            literals = codes_of([8] * 144 + [9] * 112 + [7] * 24 + [8] * 8)
            distances = codes_of([5] * 32)
            if chosen.randrange(30):
                literals = {s: code for s, code in literals.items() if s < 286}
                distances = {s: code for s, code in distances.items() if s < 30}
            made = put_symbols(chosen, bits, literals, distances, made)
            bits.put(*literals[256])
        elif kind == 2:
            literal_count = chosen.choice((257, 286, chosen.randint(257, 286))) if chosen.randrange(30) else chosen.choice((287, 288))
            distance_count = chosen.choice((1, 30, chosen.randint(1, 30))) if chosen.randrange(30) else chosen.choice((31, 32))
            lengths = lengths_among(chosen, literal_count, [256] if chosen.randrange(30) else [], 15)
            far = lengths_among(chosen, distance_count, chosen.choice(([], [], [0], [0, 1])[:distance_count + 2]) if distance_count > 1 else [0], 15)
            if chosen.randrange(8) == 0:
                far = [0] * distance_count
            if chosen.randrange(30) == 0:
                chosen.choice((lengths, far))[0] = chosen.randrange(16)  # perhaps no whole code
            put_code(chosen, bits, lengths + far, literal_count)
            made = put_symbols(chosen, bits, codes_of(lengths), codes_of(far), made)
            put_symbol(bits, codes_of(lengths), 256)
    data = bits.bytes()
    if chosen.randrange(20) == 0:
        data = data[:chosen.randrange(len(data) + 1)]
    if chosen.randrange(20) == 0:
        data += bytes([chosen.randrange(256)])
    return data


class Deflate(Case):
    def program(self, form, most):
        codec = CODECS[form]
        codec = codec[:-1] + f", chunk: {most})" if codec.endswith(")") else f"{codec}(chunk: {most})"
        return self.file("f.zf", f"table t {{ c: u8 = {codec}; }}\n")

    def stored(self, form, plain):
        (self.dir / "streams").mkdir(exist_ok=True)
        run = subprocess.run([INTERPRETER, f"{self.program(form, max(len(plain), MOST))}:t.c", self.file("in", plain), self.dir / "streams"],
                             capture_output=True, text=True, check=False)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        return (self.dir / "streams" / "src").read_bytes()

    def wrap(self, form, chunks):
        self.program(form, max([MOST] + [rows for _, rows in chunks]))  # one program for nearly all
        self.file("c", b"".join(data for data, _ in chunks))
        self.file("c.sizes", "".join(f"{len(data)} {rows}\n" for data, rows in chunks))
        return self.zfc("wrap", "-c", self.dir / "f.zf", f"c={self.dir / 'c'}", "-o", self.dir / "t.zfd", "-f", "-q")

    def decodes(self, form, chunks, plain, devices=("cpu", "emu")):
        run = self.wrap(form, chunks)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        for device in devices:
            self.good("decode", self.dir / "t.zfd", "-o", self.dir / "out", "-f", "-q", "--device", device)
            found = (self.dir / "out" / "c.u8").read_bytes()
            self.assertTrue(found == plain, f"{form} on {device}: {len(found)} and {len(plain)} bytes")

    def as_judged(self, form, streams, devices=("cpu", "emu")):
        """Good streams decode, each bad one is refused at the rows that come with it, else at those that zlib makes. How many were
        good."""
        good = []
        for name, data, *rows in streams:
            plain, well = judged(data, form)
            if well and plain:
                good.append((data, plain))
            elif not well:
                run = self.wrap(form, [(data, rows[0] if rows else max(len(plain), 1))])
                self.assertEqual(run.returncode, 1, f"{name}: {run.stderr}")
                self.assertRegex(run.stderr, r"ZF13\d\d[\s\S]*chunk 0", name)
        self.decodes(form, [(data, len(plain)) for data, plain in good], b"".join(plain for _, plain in good), devices)
        return len(good)

    def test_ours(self):
        self.assertEqual(self.stored("deflate", b"abcabcabcabcabcabcX"), bytes.fromhex("4b4c4a46431100"))
        for form in CODECS:
            for plain in byte_texts(random.Random(form)):
                found, well = judged(self.stored(form, plain), form)
                self.assertTrue(well and found == plain, f"{form}, {len(plain)} bytes")

    def test_theirs(self):
        for form in CODECS:
            chosen = random.Random(form)
            plains, chunks = [], []
            for plain in byte_texts(chosen):
                for level, strategy, memory in chosen.sample([(level, s, m) for level in range(10) for s in STRATEGIES for m in (1, 9)], 4):
                    plains.append(plain)
                    chunks.append((packed(plain, form, level, strategy, memory, chosen.choice((0, 0, 700))), len(plain)))
            self.decodes(form, chunks, b"".join(plains))

    def test_far(self):
        """The farthest copy, and one that would be farther; more than a block of our encoder."""
        once = random.Random(2).randbytes(300)
        plain = once + bytes(32768 - 300) + once + bytes(7) + once + b"".join(k.to_bytes(2, "big") for k in range(16000))
        self.decodes("deflate", [(packed(plain, "deflate", 9), len(plain))], plain)
        bits = Bits()
        for value, count in [(0, 8), (40000, 16), (~40000, 16)] + [(0, 8)] * 40000 + [(3, 3), (0b1000000, 7), (0b01111, 5), (0, 14), (0, 7)]:
            bits.put(value, count)  # bytes as they are, and a copy of the distance's symbol 30, which is none
        self.as_judged("deflate", [("symbol 30", bits.bytes(), 40003)])
        self.file("c", plain)
        self.good("encode", "-c", self.program("deflate", MOST), f"c={self.dir / 'c'}", "-o", self.dir / "t.zfd", "-f", "-q")
        self.good("decode", self.dir / "t.zfd", "-o", self.dir / "out", "-f", "-q")
        self.assertTrue((self.dir / "out" / "c.u8").read_bytes() == plain)
        for most in (1, 63, 64):  # chunks whose bytes are too few for a code of their own, in no time for each
            self.file("c", plain[:5000])
            self.good("encode", "-c", self.program("gzip", most), f"c={self.dir / 'c'}", "-o", self.dir / "s.zfd", "-f", "-q")
            self.good("decode", self.dir / "s.zfd", "-o", self.dir / "out", "-f", "-q")
            self.assertTrue((self.dir / "out" / "c.u8").read_bytes() == plain[:5000])
        self.assertLess((self.dir / "t.zfd").stat().st_size - 16_000, 1.03 * len(packed(plain, "deflate")))  # the text of the program

    def test_members(self):
        """Headers with every field, several members in a chunk, blocks of BGZF."""
        chosen = random.Random(5)
        plains = [chosen.randbytes(50) * 3 for _ in range(6)]

        def member(plain, flags, wrong=b""):
            head = b"\x1f\x8b\x08" + bytes([flags]) + chosen.randbytes(4) + b"\x02\x03"
            head += (6).to_bytes(2, "little") + b"BC\x02\x00\xff\xff" if flags & 4 else b""
            head += b"name\x00" if flags & 8 else b""
            head += b"a comment\x00" if flags & 16 else b""
            head += ((zlib.crc32(head) & 0xffff) ^ len(wrong)).to_bytes(2, "little") if flags & 2 else b""
            ends = zlib.crc32(plain).to_bytes(4, "little") + len(plain).to_bytes(4, "little")
            return head + packed(plain, "deflate") + ends

        streams = [(f"flags {flags}", member(plains[flags % 6], flags), 150) for flags in (*range(32), 32, 64, 128)]
        streams.append(("members", b"".join(member(plain, 31 & 7 * k) for k, plain in enumerate(plains))))
        streams.append(("sum of a header", member(plains[0], 2, b"?"), 150))
        for at in (-1, -4, -5, -8):  # its length, its checksum
            data = bytearray(member(plains[0], 0))
            data[at] ^= 1
            streams.append((f"byte {at}", bytes(data)))
        streams.append(("a member cut", streams[-5][1] + streams[0][1][:-3]))
        self.assertGreater(self.as_judged("gzip", streams), 25)

    def test_zlib_heads(self):
        whole = packed(b"a text, a text", "zlib")
        heads = [bytes([a, b]) for a in (0x78, 0x08, 0x88, 0x79) for b in range(256) if (256 * a + b) % 31 in (0, 1) and b % 3 == 0]
        heads = random.Random(1).sample(heads, 12) + [b"\x78\x01", b"\x08\x1d", b"\x78\xbb"]
        streams = [(head.hex(), head + whole[2:], 14) for head in heads] + [("sum", whole[:-1] + b"?"), ("cut", whole[:-1]), ("more", whole + b"?")]
        self.assertGreater(self.as_judged("zlib", streams), 1)

    def test_made(self):
        """Streams of every kind of block, codes that are whole or not, symbols and distances that exist or not."""
        chosen = random.Random("made")
        streams = [(k, made_stream(chosen)) for k in range(200)]
        good = self.as_judged("deflate", streams)
        self.assertTrue(90 < good < 150, good)

    @unittest.skipUnless(GIVEN.exists(), "ZF_TEST_DATA")
    def test_given(self):
        for form in CODECS:
            with tarfile.open(GIVEN / "fuzz" / f"{form}.tar") as archive:
                members = [member for member in archive if member.isfile()]
                streams = [(member.name, archive.extractfile(member).read()) for member in sampled(members)]
            self.as_judged(form, streams, ("cpu",))
        files = sorted((GIVEN / "bytes").iterdir())
        plains = [file.read_bytes()[:200_000] for file in sampled(files)]
        self.decodes("deflate", [(packed(plain, "deflate", 9), len(plain)) for plain in plains], b"".join(plains), ("cpu",))
        for name in ("romeo.txt.deflate", "romeo.txt.fixed-huff.deflate", "distance-32768.deflate", "backref-crosses-blocks.deflate"):
            data = (GIVEN / "deflate" / name).read_bytes()
            self.decodes("deflate", [(data, len(judged(data, "deflate")[0]))], judged(data, "deflate")[0])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
