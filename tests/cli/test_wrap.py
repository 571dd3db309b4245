"""`zfc wrap`: chunks that other programs compressed decode on every device; lists and chunks that lie are refused.

Usage: test_wrap.py ZFC. Chunks of liblz4 and libsnappy are those of pyarrow, where Python has it; others are made here."""

import json
import random
import sys
import unittest

from lz_blocks import lz4_of
from zfc_case import Case, cache_of_module

try:
    import pyarrow
except ImportError:
    pyarrow = None

LENGTHS = (65536, 1, 7, 4095, 4097, 30000)  # of plain chunks, in turn


def setUpModule():
    cache_of_module()


def words(count):
    """Text that compresses."""
    numbers = random.Random(count)
    return b" ".join(numbers.choice((b"alpha", b"beta", b"gamma", b"delta", b"epsilon")) for _ in range(count))


def lz4_block(data):
    """A block with a match of all but its begin and its last five bytes, if the data repeats; else literals alone."""
    period = next((d for d in range(1, min(64, len(data) - 9)) if data[d:] == data[:-d]), None)
    if period is None:
        return lz4_of([(data, 0, 0)])
    return lz4_of([(data[:period], period, len(data) - period - 5), (data[-5:], 0, 0)])


class Wrapped(Case):
    def setUp(self):
        super().setUp()
        self.codec = self.file("lz.zf", "table lz { c: u8 = lz4(chunk: 65536); }\ntable sn { c: u8 = snappy(chunk: 65536); }\n")

    def write(self, data, compress, lengths=LENGTHS, gap=0):
        """The chunks and their list; with a gap, the list says where they are."""
        chunks, lines, at, turn = b"", [], 0, 0
        while at < len(data):
            plain = data[at:at + lengths[turn % len(lengths)]]
            packed = compress(plain)
            chunks += b"\xaa" * gap
            lines.append(f"{len(packed)} {len(plain)}" + (f" {len(chunks)}" if gap else ""))
            chunks += packed
            at += len(plain)
            turn += 1
        self.file("c", chunks)
        self.file("c.sizes", "# bytes, rows\n" + "\n".join(lines) + "\n")
        return chunks, lines

    def wrap(self, table, *more):
        return self.good("wrap", "-c", f"{self.codec}:{table}", f"c={self.dir / 'c'}", "-o", self.dir / "t.zfd", "-f", *more)

    def check(self, data, ranges, *devices):
        for device in devices or ("cpu", "emu"):
            for begin, end in ranges:
                out = self.dir / "out"
                self.good("decode", self.dir / "t.zfd", "-o", out, "-f", "-q", "--device", device, "--rows", f"{begin}..{end}")
                same = (out / "c.u8").read_bytes() == data[begin:end]
                self.assertTrue(same, f"rows {begin} to {end} on {device}")
        self.good("verify", self.dir / "t.zfd", "-q")

    def of_library(self, codec, table):
        data = words(30000)
        packed, _ = self.write(data, lambda plain: pyarrow.Codec(codec).compress(plain, asbytes=True))
        self.wrap(table, "-q")
        border = LENGTHS[0]
        self.check(data, [(0, len(data)), (border - 1, border), (border - 2, border + 9), (border + 3, border + 5000)])
        self.assertIn(packed, (self.dir / "t.zfd").read_bytes())  # they are not touched

    @unittest.skipUnless(pyarrow, "pyarrow has liblz4")
    def test_lz4_of_others(self):
        self.of_library("lz4_raw", "lz")

    def stored(self):
        """Bytes of the streams of the column."""
        columns = json.loads(self.good("inspect", self.dir / "t.zfd", "--json"))["columns"]
        return sum(stream["bytes"] for block in columns[0]["blocks"] for stream in block["streams"])

    @unittest.skipUnless(pyarrow, "pyarrow has liblz4")
    def test_ten_thousand(self):
        """Chunks of 80 to 160 bytes: stored as they are, beside a directory."""
        lengths = [80 + k * 37 % 81 for k in range(10_000)]
        data = words(220_000)[:sum(lengths)]
        codec = pyarrow.Codec("lz4_raw")
        packed, lines = self.write(data, lambda plain: codec.compress(plain, asbytes=True), lengths)
        self.assertEqual(len(lines), 10_000)
        self.wrap("lz", "-q")
        self.check(data, [(0, len(data))])
        self.assertEqual(self.stored(), len(packed))
        container = (self.dir / "t.zfd").read_bytes()
        self.assertIn(packed, container)
        self.assertLess(len(container) - len(packed), 10_000 * 3 * 4 + 8192)  # three fields of at most four bytes a chunk

    def test_hundred_thousand(self):
        """Chunks of one to three bytes, each of literals."""
        data = (bytes(range(200)) * 1000)[:199_999]
        packed, lines = self.write(data, lz4_block, (1, 2, 3))
        self.assertEqual(len(lines), 100_000)
        self.wrap("lz", "-q")
        self.check(data, [(0, len(data))], "cpu")
        self.check(data, [(100_000, 104_000), (len(data) - 5, len(data))], "emu")  # 2,000 of them
        self.assertEqual(self.stored(), len(packed))

    @unittest.skipUnless(pyarrow, "pyarrow has libsnappy")
    def test_snappy_of_others(self):
        self.of_library("snappy", "sn")

    def test_blocks_and_gaps(self):
        data = b"0123456789" * 900 + bytes(range(256)) * 4 + b"x" * 5000
        for gap, rows in ((0, 1), (3, 5000), (1, 20000)):
            self.write(data, lz4_block, (900, 33, 1), gap)
            shown = json.loads(self.wrap("lz", "--json", "--rows-per-block", rows, "--zones"))
            self.assertEqual(shown["rows"], len(data))
            inspected = json.loads(self.good("inspect", self.dir / "t.zfd", "--json"))
            blocks = inspected["columns"][0]["blocks"]
            self.assertEqual(sum(block["rows"] for block in blocks), len(data))
            self.assertEqual(len(blocks) > 1, rows < len(data))
            self.assertIn("uneven chunks", inspected["features"])
            self.check(data, [(0, len(data)), (899, 901), (8990, 9100)] if rows > 1 else [(899, 950)])

    def test_modules(self):
        data = b"abcdefg" * 3000
        self.write(data, lz4_block, (5000, 77))
        self.wrap("lz")
        self.good("compile", self.dir / "t.zfd", "-o", self.dir / "own.zfm", "-q")
        self.good("decode", self.dir / "t.zfd", "--module", self.dir / "own.zfm", "-o", self.dir / "out", "-q", "--rows", "4999..9000")
        self.assertEqual((self.dir / "out" / "c.u8").read_bytes(), data[4999:9000])
        self.good("compile", f"{self.codec}:lz", "-o", self.dir / "even.zfm", "-q")  # for files of `zfc encode`
        self.bad(1, "decode", self.dir / "t.zfd", "--module", self.dir / "even.zfm", "-o", self.dir / "none", "-q",
                 says=("ZF1410", "chunks of any length"))

    def test_two_columns(self):
        self.codec = self.file("two.zf", "table t { a: u8 = lz4; b: u8 = lz4; }\n")
        self.write(b"abcd" * 500, lz4_block, (100,))
        other = self.file("b", (self.dir / "c").read_bytes())
        sizes = self.file("list", (self.dir / "c.sizes").read_text())
        self.good("wrap", "-c", self.codec, f"b={other}", f"a={self.dir / 'c'}", "--sizes", f"b={sizes}", "-o", self.dir / "t.zfd")
        self.good("decode", self.dir / "t.zfd", "-o", self.dir / "out", "-q")
        for name in ("a.u8", "b.u8"):
            self.assertEqual((self.dir / "out" / name).read_bytes(), b"abcd" * 500)
        words = ("wrap", "-c", self.codec, f"b={other}", f"a={self.dir / 'c'}", "--sizes", f"b={sizes}", "-f", "-o", self.dir / "t.zfd")
        self.bad(2, *words, "--sizes", f"b={sizes}", says="--sizes names `b` twice")
        self.file("list", "5 4\n")
        self.file("b", lz4_block(b"abcd"))
        self.bad(1, "wrap", "-c", self.codec, f"b={other}", f"a={self.dir / 'c'}", "--sizes", f"b={sizes}", "-f", "-o",
                 self.dir / "t.zfd", says=("ZF1508", "has 2000 rows, column `b` 4"))

    def refuse(self, lines, *says, status=1):
        self.file("c.sizes", "\n".join(lines) + "\n")
        self.bad(status, "wrap", "-c", f"{self.codec}:lz", f"c={self.dir / 'c'}", "-o", self.dir / "t.zfd", says=says)
        self.assertFalse((self.dir / "t.zfd").exists())

    def test_lies(self):
        data = words(3000)
        _, lines = self.write(data, lz4_block, (1000,))
        size = int(lines[0].split()[0])
        self.refuse([f"{size} 999", *lines[1:]], "ZF1303", "chunk 0", f"{size} bytes for 999 rows")
        self.refuse([f"{size} 1001", *lines[1:]], "ZF1304", "chunk 0")
        self.refuse([*lines[:2], f"{size - 1} 1000", f"{size + 1} 1000", *lines[4:]], "chunk 2", f"{size - 1} bytes for 1000 rows")
        self.refuse([f"{size} 0", *lines[1:]], "ZF2026", "a chunk without rows", "c.sizes:1")
        self.refuse([*lines[:2], "# none", f"{size} 0", *lines[3:]], "a chunk without rows", "c.sizes:4")
        self.refuse([f"{size} 65537", *lines[1:]], "ZF1508", "`lz4` has at most 65536", "chunk: N")
        self.refuse(lines[:-1], "ZF2026", "the sizes add up to")
        self.refuse([*lines, "1 1"], "ZF2026", "not inside the file of chunks", f"c.sizes:{len(lines) + 1}")
        self.refuse(["", "12", *lines], "ZF2026", "a line that is no chunk", "c.sizes:2")
        self.refuse(["12 x"], "ZF2026", "a line that is", "c.sizes:1")
        self.refuse(["1 2 3 4"], "ZF2026", "c.sizes:1")
        self.refuse(["12 -3"], "ZF2026", "c.sizes:1")
        self.refuse([f"{size} 1000 {2 ** 62}"], "ZF2026")
        for line in (f"{2 ** 64 - 1} 1000", f"{size} {10 ** 19}", f"{size} 1000 {10 ** 18}", f"{10 ** 40}"):
            self.refuse([line], "ZF2026", "a number that is too large", "c.sizes:1")
        self.refuse([f"{2 ** 64 - 1}x 1"], "ZF2026", "a line that is not of numbers", "c.sizes:1")
        packed = bytearray((self.dir / "c").read_bytes())
        packed[2 * size] ^= 0xf0  # the token of the third chunk
        self.file("c", bytes(packed))
        self.refuse(lines, "ZF13", "chunk 2")

    def test_requirements(self):
        """The condition of a `require` that does not hold is quoted, in one line, without its comments; a long one is cut."""
        many = " || ".join(f"src[0] == {k}" for k in range(100, 120))
        self.file("own.zf", "algorithm own(src: u8[] per chunk) -> u8[] non_parallel(chunk = 64) {\n    decode {\n        require src[0] < 200;\n"
                  "        require src[0] != 7 &&   // seven; nine\n                src[0]\n!= 9 // nine\n            ;\n"
                  f"        require src[0] < 100 || {many};\n        emit k in 0..out.len: src[k];\n    }}\n    encode extern \"nobody\";\n}}\n"
                  "table mine { c: u8 = own; }\ntable zs { c: u8 = zstd; }\n")
        needs = b"\x28\xb5\x2f\xfd\x23" + (77).to_bytes(4, "little") + b"\1\x09\0\0?"  # the dictionary 77
        for table, chunk, rows, quoted in (("mine", b"\xc8", 1, "src[0] < 200"), ("mine", b"\7", 1, "src[0] != 7 && src[0] != 9"),
                                           ("mine", b"\x99", 1, f"src[0] < 100 || {many}"[:120] + "..."),
                                           ("zs", needs, 1, "src.le(form & 3 == 3 ? 4 : form & 3) == 0")):
            self.file("c", chunk)
            self.file("c.sizes", f"{len(chunk)} {rows}\n")
            self.bad(1, "wrap", "-c", f"{self.dir / 'own.zf'}:{table}", f"c={self.dir / 'c'}", "-o", self.dir / "t.zfd",
                     says=(f"error[ZF1306]: V06: a `require` that does not hold: `{quoted}`\n", "chunk 0, row 0"))

    def test_params(self):
        """Codecs with params that have values: the decoder reads these, the defaults too."""
        more = ("algorithm more(src: u8[] per chunk, param by: u8, param plus: u8 = 5) -> u8[] non_parallel(chunk = 64) {\n"
                "    decode { while out.pos < out.len { emit (src.next() ^ by) + plus; } }\n    encode extern \"more\";\n}\n")
        self.file("c", b"abcdef")
        self.file("c.sizes", "2 2\n4 4\n")
        for codec, plain in (("more(by: 1)", b"ehgjil"), ("more(by: 3, plus: 250)", b"\\[Za`_")):
            self.codec = self.file("more.zf", f"{more}table lz {{ c: u8 = {codec}; }}\n")
            self.good("wrap", "-c", self.codec, f"c={self.dir / 'c'}", "-o", self.dir / "t.zfd", "-f", "-q")
            for device in ("cpu", "emu"):
                self.good("decode", self.dir / "t.zfd", "-o", self.dir / "out", "-f", "-q", "--device", device)
                self.assertEqual((self.dir / "out" / "c.u8").read_bytes(), plain)

    def test_refused_codecs(self):
        self.file("c", b"x")
        self.file("c.sizes", "1 1\n")
        form = "the codec must be `non_parallel`"
        shifted = ("algorithm shifted(src: u8[] per chunk, param by: u8) -> u8[] non_parallel(chunk = 64) {\n"
                   "    decode { while out.pos < out.len { emit src.next() ^ by; } }\n    encode extern \"shifted\";\n}\n")
        for codec, why, hint in (("bitpack", "no program of chunks", form), ("lz4(src: bitpack)", "a codec of its own", form),
                                 ("lz4 | plain", "alternatives", "name one codec"), ("rans", "not just one stream", form),
                                 ("shifted", "a param without a value", "give it one in the codec")):
            self.codec = self.file("other.zf", f"{shifted}table lz {{ c: u8 = {codec}; }}\n")
            self.bad(2, "wrap", "-c", self.codec, f"c={self.dir / 'c'}", "-o", self.dir / "t.zfd", says=("ZF1509", why, f"hint: {hint}"))
            self.assertFalse((self.dir / "t.zfd").exists())
        for row, emit, why in (("string", "src[0..1]", "its rows are strings"), ("u8?", "src[0]", "its rows may be null")):
            self.codec = self.file("other.zf", f"algorithm own(src: u8[] per chunk) -> {row}[] non_parallel(chunk = 64) {{\n"
                                   f"    decode {{ while out.pos < out.len {{ emit {emit}; }} }}\n    encode extern \"own\";\n}}\n"
                                   f"table lz {{ c: {row} = own; }}\n")
            self.bad(2, "wrap", "-c", self.codec, f"c={self.dir / 'c'}", "-o", self.dir / "t.zfd",
                     says=("ZF1509", why, "hint: a column of wrapped chunks has rows of one size"))
            self.assertFalse((self.dir / "t.zfd").exists())

    def test_usage(self):
        self.write(b"abc" * 100, lz4_block)
        c = f"c={self.dir / 'c'}"
        out = ("-o", self.dir / "t.zfd")
        self.bad(2, "wrap", c, *out, says="-c FILE.zf")
        self.bad(2, "wrap", "-c", f"{self.codec}:lz", c, says="-o OUT.zfd")
        self.bad(2, "wrap", "-c", f"{self.codec}:lz", self.dir / "c", *out, says="COLUMN=CHUNKS")
        self.bad(2, "wrap", "-c", f"{self.codec}:lz", c, "--sizes", "d=x", *out, says="--sizes needs COLUMN=FILE")
        self.bad(1, "wrap", "-c", f"{self.codec}:lz", c, "--sizes", f"c={self.dir / 'none'}", *out, says=("ZF2001", "none"))
        self.bad(2, "wrap", "-c", f"{self.codec}:lz", f"d={self.dir / 'c'}", *out, says="`d`")
        self.wrap("lz")
        self.bad(1, "wrap", "-c", f"{self.codec}:lz", c, *out, says="ZF1501")
        self.bad(2, "wrap", "-c", f"{self.codec}:lz", c, "-f", "-o", self.dir / "c", says="ZF2014")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
