"""LZ formats at the edges of matches: every distance and length at which a decoder may change its way, literals at the borders of
their lengths, matches that read what the match before made. Blocks are made here and by liblz4 and libsnappy, where Python has them.

Usage: test_matches.py ZFC LZ_SPLIT.zf"""

import json
import os
import pathlib
import random
import re
import sys
import unittest

from lz_blocks import lz4_of, plain_of, sequences_of, snappy_of, split_of
from zfc_case import Case, cache_of_module

try:
    import pyarrow
except ImportError:
    pyarrow = None

GIVEN = pathlib.Path(os.environ.get("ZF_TEST_DATA") or "/nonexistent")
PAGE = pathlib.Path(sys.argv[2]).read_text()
DISTANCES = (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 255, 256, 257, 511, 512, 2047, 2048, 4095, 65535)
LENGTHS = (4, 5, 7, 8, 14, 15, 16, 17, 18, 19, 31, 32, 33, 63, 64, 65, 127, 128, 129, 145, 146, 255, 256, 272, 273, 274, 275, 530)
LITERALS = (0, 1, 14, 15, 16, 31, 32, 59, 60, 61, 127, 142, 143, 255, 256, 257, 269, 270, 271, 525)


def setUpModule():
    cache_of_module()


def edges():
    """Sequences of a block each."""
    chosen = random.Random(7)
    for distance in DISTANCES:
        block = [(chosen.randbytes(distance), 0, 0)]  # joined to what follows
        block += [(b"", distance, length) for length in LENGTHS]  # each reads what the one before made
        block += [(chosen.randbytes(chosen.randrange(1, 4)), distance, length) for length in LENGTHS]
        yield join(block)
    for count in LITERALS:
        yield join([(chosen.randbytes(max(count, 1)), 1, 4), (chosen.randbytes(count), min(count + 2, 40), 20), (chosen.randbytes(count), 3, 400)])
    mixed = [(chosen.randbytes(600), 0, 0)]
    for _ in range(900):
        mixed.append((chosen.randbytes(chosen.choice((0, 0, 0, 1, 2, 15, 40))), chosen.choice(DISTANCES[:-5]), chosen.choice(LENGTHS)))
    yield join(mixed)
    yield join([(b"a", 1, 100_000)])
    yield join([(chosen.randbytes(5), 5, 70_000), (b"b", 65_535, 9)])


def join(block):
    """Literals of the first sequence become those of the next; the last has literals alone."""
    first, rest = block[0], block[1:]
    if first[2] == 0:
        rest[0] = (first[0] + rest[0][0], *rest[0][1:])
        block = rest
    return [*block, (b"the end", 0, 0)]


class Matches(Case):
    def text(self, count):
        """Words by chance, each about 30 times."""
        chosen = random.Random(count)
        words = [bytes(chosen.randrange(97, 123) for _ in range(chosen.randrange(2, 9))) for _ in range(count // 30)]
        return b" ".join(chosen.choice(words) for _ in range(count))

    def wrapped(self, codec, chunks, plains, *devices):
        program = self.file("f.zf", f"table t {{ c: u8 = {codec}(chunk: 4194304); }}\n")
        self.file("c", b"".join(chunks))
        self.file("c.sizes", "".join(f"{len(chunk)} {len(plain)}\n" for chunk, plain in zip(chunks, plains)))
        self.good("wrap", "-c", program, f"c={self.dir / 'c'}", "-o", self.dir / "t.zfd", "-f", "-q")
        self.decoded(codec, plains, *devices)

    def decoded(self, what, plains, *devices):
        for device in devices or ("cpu", "emu"):
            (self.dir / "out" / "c.u8").unlink(missing_ok=True)
            self.good("decode", self.dir / "t.zfd", "-o", self.dir / "out", "-f", "-q", "--device", device)
            found, at = (self.dir / "out" / "c.u8").read_bytes(), 0
            for number, plain in enumerate(plains):
                self.assertTrue(found[at:at + len(plain)] == plain, f"{what} on {device}: block {number} of {len(plain)} bytes")
                at += len(plain)
            self.assertEqual(at, len(found))

    def test_blocks(self):
        for codec, write, library in (("lz4", lz4_of, "lz4_raw"), ("snappy", snappy_of, "snappy")):
            blocks = list(edges())
            plains = [plain_of(block) for block in blocks]
            chunks = [write(block) for block in blocks]
            for chunk, plain in zip(chunks, plains) if pyarrow else ():  # libraries read them alike
                self.assertEqual(pyarrow.Codec(library).decompress(chunk, len(plain), asbytes=True), plain)
            self.wrapped(codec, chunks, plains)

    def by_libraries(self, plains, *devices):
        fast, slow = pyarrow.Codec("lz4_raw", 1), pyarrow.Codec("lz4_raw", 12)
        self.wrapped("lz4", [(fast, slow)[k % 2].compress(plain, asbytes=True) for k, plain in enumerate(plains)], plains, *devices)
        self.wrapped("snappy", [pyarrow.Codec("snappy").compress(plain, asbytes=True) for plain in plains], plains, *devices)

    @unittest.skipUnless(pyarrow, "pyarrow has liblz4 and libsnappy")
    def test_sizes(self):
        chosen, text = random.Random(9), self.text(60_000)
        self.by_libraries([text[:1024], text[1024:5120], text[:1], chosen.randbytes(70_000), text[7:65_543], text[:262_144], b"ab" * 40_000])
        self.by_libraries([bytes(1 << 20), bytes(range(256)) * 16_384, text, chosen.randbytes(1 << 22)], "cpu")  # to 4 MiB

    @unittest.skipUnless(pyarrow and (GIVEN / "bytes").is_dir(), "ZF_TEST_DATA has no bytes/")
    def test_given(self):
        plains = [path.read_bytes()[:30_000] for path in sorted((GIVEN / "bytes").iterdir())]
        self.by_libraries(plains)
        self.encoded("lz_split", b"".join(plains))

    def encoded(self, codec, plain, plains=None, text="", devices=()):
        self.file("c", plain)
        self.good("encode", "-q", "-f", "-c", self.file("f.zf", f"{text}table t {{ c: u8 = {codec}; }}\n"), "-o", self.dir / "t.zfd", f"c={self.dir / 'c'}")
        self.decoded(codec, plains or [plain], *devices)

    def test_lz_split(self):
        """Our encoder finds such matches by itself."""
        plains = [plain_of(block) for block in edges()]
        for codec in ("lz_split(chunk: 4194304)", "lz_split", "lz_split(chunk: 1024, search: 3)"):
            self.encoded(codec, b"".join(plains), plains)
        self.encoded("lz_split(chunk: 3)", bytes(range(150)) * 2000, devices=["cpu"])  # 100,000 chunks
        text, sizes = self.text(9000), []
        for codec in ("lz4", "lz_split", "lz_split(search: 1)"):
            self.encoded(codec, text, devices=["cpu"])
            column = json.loads(self.good("inspect", self.dir / "t.zfd", "--json"))["columns"][0]
            sizes.append(sum(stream["bytes"] for block in column["blocks"] for stream in block["streams"]))
        self.assertLess(sizes[1], 0.9 * sizes[0])  # a greedy search in one table finds few long copies
        self.assertLess(sizes[1], 0.95 * sizes[2])
        for size in (0, 4, 899, 901, 1800):
            self.encoded("lz_split(chunk: 900)", (b"abcdefghijk" * 170)[:size])
        for size in (1, 15, 900):
            self.encoded("lz_split(chunk: 900)", random.Random(size).randbytes(size))

    def transcoded(self, sequences):
        """The library's decoder, with an encoder that stores these sequences."""
        streams = dict(zip(("tokens", "literals", "distances", "more"), split_of(sequences)))
        text, count = re.subn(r"(?s)    ///[^\n]*\n    fn choose.*", "    encode(x) { for c in chunks(x) {", PAGE[PAGE.index("algorithm lz_split("):])
        self.assertEqual(count, 1)
        constants = ""
        for name, values in streams.items():
            kind = "u16" if name == "distances" else "u8"
            constants += f"const {name.upper()}: {kind}[{len(values)}] = [{', '.join(map(str, values))}];\n"
            text += f" for k in 0..{len(values)} {{ {name}.push({name.upper()}[k]); }}"
        self.encoded("of_others(chunk: 1048576)", plain_of(sequences), text=constants + text.replace("lz_split", "of_others") + " } }\n}\n")

    def test_sequences(self):
        """Streams that other encoders write, of every length at every distance."""
        chosen = random.Random(3)
        near = [sequence for block, distance in zip(edges(), DISTANCES) if distance < 600 for sequence in block]
        self.transcoded([*near, (chosen.randbytes(20), 7, 100_000), (b"end", 0, 0)])

    @unittest.skipUnless(pyarrow, "pyarrow has liblz4")
    def test_transcoded(self):
        """The parse of liblz4's slowest encoder."""
        plain = self.text(9000)
        sequences = sequences_of(pyarrow.Codec("lz4_raw", 12).compress(plain, asbytes=True))
        self.assertEqual(plain_of(sequences), plain)
        self.transcoded(sequences)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
