"""`zfc wrap` finds the chunks of `.gz` and `.zst` files: members, blocks of BGZF, frames. Files that are damaged, cut or lie are refused.

Usage: test_found_chunks.py ZFC. Frames of libzstd are those of pyarrow, where Python has it; others are made here."""

import gzip
import io
import random
import struct
import sys
import unittest
import zlib

from zfc_case import Case, cache_of_module

try:
    import pyarrow
except ImportError:
    pyarrow = None

PROGRAM = """
table gz { c: u8 = gzip(check: 1, chunk: 65536); }
table zs { c: u8 = zstd(check: 1, chunk: 65536); }
table gz_long { c: u8 = gzip(chunk: 16777216); }
table gz_huge { c: u8 = gzip(chunk: 268435456); }
table zs_long { c: u8 = zstd(chunk: 16777216); }
table apart { c: u8 = zstd_split(steps: zstd_steps(rows: zstd_tables), literals: zstd_literals(code: zstd_codes)); }
table of_dictionary { c: u8 = zstd_split_dictionary(steps: zstd_steps(rows: zstd_tables), literals: zstd_literals(code: zstd_codes)); }
table both { a: u8 = gzip; b: u8 = zstd; }
algorithm wide(src: u8[] per chunk) -> u16[] non_parallel(chunk = 65536) {
    decode { while !src.at_end() { emit src.u16(); } }
    encode extern "nobody";
}
table broad { c: u16 = wide; }
table other { c: u8 = bitpack; }
"""
MAGIC = b"\x28\xb5\x2f\xfd"
EXTRA, NAME, COMMENT, CHECKED = 4, 8, 16, 2  # flags of a member


def setUpModule():
    cache_of_module()


def lines(count, first=0):
    return b"".join(b"%d is a number of %d bits\n" % (k, k.bit_length()) for k in range(first, first + count))


def member(plain, extra=None, name=None, comment=None, checked=False):
    flags = EXTRA * (extra is not None) | NAME * (name is not None) | COMMENT * (comment is not None) | CHECKED * checked
    head = b"\x1f\x8b\x08" + bytes([flags]) + bytes(4) + b"\0\xff"
    if extra is not None:
        head += struct.pack("<H", len(extra)) + extra
    for text in (name, comment):
        head += b"" if text is None else text + b"\0"
    if checked:
        head += struct.pack("<H", zlib.crc32(head) & 0xffff)
    maker = zlib.compressobj(6, zlib.DEFLATED, -15)
    return head + maker.compress(plain) + maker.flush() + struct.pack("<II", zlib.crc32(plain), len(plain))


def block(plain, before=b""):
    """A block of BGZF, whose field is behind the extra fields `before`."""
    bytes_of_it = len(member(plain, before + bytes(6)))
    return member(plain, before + b"BC\2\0" + struct.pack("<H", bytes_of_it - 1))


END = block(b"")  # of a file of BGZF


def skipped(data, kind=0):
    return struct.pack("<II", 0x184d2a50 + kind, len(data)) + data


def stored(plain, tells=True, checked=False):
    """A frame of blocks as they are, up to 1000 bytes each, the last of which repeats a byte if it can."""
    head = MAGIC + (struct.pack("<BI", 0xa0, len(plain)) if tells else b"\x00\x58")
    parts = [plain[at:at + 1000] for at in range(0, len(plain), 1000)] or [b""]
    for k, part in enumerate(parts):
        repeats = len(part) > 1 and part == part[:1] * len(part)
        word = (k == len(parts) - 1) | 2 * repeats | len(part) << 3
        head += word.to_bytes(3, "little") + (part[:1] if repeats else part)
    return head


def told(plain, level=3):
    """A frame that tells what it makes."""
    return pyarrow.Codec("zstd", level).compress(plain, asbytes=True)


def untold(plain):
    sink = pyarrow.BufferOutputStream()
    with pyarrow.CompressedOutputStream(sink, "zstd") as out:
        out.write(plain)
    return sink.getvalue().to_pybytes()


class Found(Case):
    def setUp(self):
        super().setUp()
        self.codec = self.file("p.zf", PROGRAM)

    def words(self, table, name, *more):
        return ("wrap", "-c", f"{self.codec}:{table}", f"c={self.dir / name}", "-o", self.dir / "t.zfd", *more)

    def check(self, table, packed, plain, *devices, ranges=()):
        """The file is stored as it is, and decodes."""
        self.file("c.packed", packed)
        self.good(*self.words(table, "c.packed", "-f", "-q"))
        self.assertIn(packed, (self.dir / "t.zfd").read_bytes())
        for device in ("cpu", *devices):
            for begin, end in (ranges if device == "emu" and ranges else [(0, len(plain))]):
                self.good("decode", self.dir / "t.zfd", "-o", self.dir / "out", "-f", "-q", "--device", device, "--rows", f"{begin}..{end}")
                same = (self.dir / "out" / "c.u8").read_bytes() == plain[begin:end]
                self.assertTrue(same, f"rows {begin} to {end} on {device}")

    def refuse(self, table, packed, *says, name="c.packed", status=1):
        self.file(name, packed)
        self.bad(status, *self.words(table, name), says=says)
        self.assertFalse((self.dir / "t.zfd").exists())
        self.assertEqual([path.name for path in self.dir.iterdir() if "zfd" in path.name], [])

    # ---- gzip ----

    def test_bgzf(self):
        plain = lines(12000)
        blocks = [block(plain[at:at + 65280], b"XY\3\0abc" * (at % 7)) for at in range(0, len(plain), 65280)]
        border = 65280
        self.check("gz", b"".join(blocks) + END, plain)
        for end, notes in ((END, 0), (b"", 1), (member(b""), 1)):
            self.file("c.gz", blocks[0] + end)
            result = self.zfc(*self.words("gz", "c.gz", "-f"))
            self.assertEqual((result.returncode, result.stderr.count("no empty block of BGZF at its end, so it may be cut")), (0, notes))
        self.check("gz", END + blocks[0] + END + END + blocks[1] + END + END, plain[:2 * border])

    def test_members(self):
        plain = lines(1500)
        parts = [plain[:4000], plain[4000:4001], plain[4001:30000], plain[30000:]]
        packed = (member(b"") + member(parts[0], b"AB\1\0z", b"a name", b"a comment", True) + gzip.compress(parts[1]) + member(b"", name=b"none") +
                  block(parts[2]) + member(parts[3], b"\xff" * 5) + member(b"") + END)
        self.check("gz", packed, plain, "emu", ranges=[(3990, 4010)])
        file = io.BytesIO()
        for part in parts:
            with gzip.GzipFile("x.txt", "wb", 9, file) as out:
                out.write(part)
        self.check("gz", file.getvalue(), plain)

    def test_one_member(self):
        plain = lines(4000)
        packed = gzip.compress(plain)
        self.refuse("gz", packed, "ZF1508", f"the largest member makes {len(plain)} bytes", "at most 65536", f"`chunk: {len(plain)}` among the arguments of `gzip`",
                    "c.packed, byte 0")
        self.refuse("gz", member(b"abc") + packed, "ZF1508", "c.packed, byte 23")
        self.check("gz_long", packed, plain)

    def test_long(self):
        """Long chunks have a note; no chunk is above the limit."""
        plain = bytes(2_000_000)
        self.file("c.gz", gzip.compress(plain))
        blocks = [(k == 15) | 2 | 125_000 << 3 for k in range(16)]  # each repeats a zero
        self.file("c.zst", MAGIC + b"\x00\x58" + b"".join(word.to_bytes(3, "little") + b"\0" for word in blocks))
        for table, name, advice in (("gz_long", "c.gz", "bgzip"), ("zs_long", "c.zst", "--filter=zstd")):
            result = self.zfc(*self.words(table, name, "-f"))
            self.assertEqual(result.returncode, 0, result.stderr)
            for text in ("zfc wrap: note: column `c` has chunks of up to 2.0 MB", "a GPU decodes slowly", advice):
                self.assertIn(text, result.stderr)
            self.assertEqual(self.zfc(*self.words(table, name, "-f", "-q")).stderr, "")
        self.file("c.gz", member(plain[:65537]))
        self.assertIn("`chunk: 65537` is enough", self.zfc(*self.words("gz_huge", "c.gz", "-f")).stderr)
        self.file("c.gz", member(plain[:1 << 20]))
        self.assertNotIn("slowly", self.zfc(*self.words("gz_long", "c.gz", "-f")).stderr)
        (self.dir / "t.zfd").unlink()

    def test_unread_checksums(self):
        """Without `check: 1` a block of BGZF that only its checksum tells to be wrong is wrapped, which a note says; with it, refused."""
        packed = bytearray(block(b"price 1234"))
        packed[-8] ^= 1
        self.file("c.gz", bytes(packed) + END)
        self.file("check.zf", "table t { c: u8 = gzip; }\ntable sure { c: u8 = gzip(check: 1); }\n")
        wrap = ("wrap", f"c={self.dir / 'c.gz'}", "-o", self.dir / "t.zfd", "-f")
        run = self.zfc(*wrap, "-c", f"{self.dir / 'check.zf'}:t")
        self.assertEqual((run.returncode, "`gzip(check: 1)` compares them in each decode" in run.stderr), (0, True), run.stderr)
        self.assertEqual(self.zfc(*wrap, "-q", "-c", f"{self.dir / 'check.zf'}:t").stderr, "")
        self.bad(1, *wrap, "-c", f"{self.dir / 'check.zf'}:sure", says=("V06", "column c, block 0, chunk 0"))
        (self.dir / "t.zfd").unlink()

    def test_too_long(self):
        """Chunks above 2^24 decode on CPUs. GPUs refuse them by name, encoders too. Those above 2^28 are not wrapped."""
        plain = bytes((1 << 24) + 77)
        self.file("c.gz", gzip.compress(plain))
        self.refuse("gz_long", gzip.compress(plain), "ZF1508", f"`chunk: {len(plain)}` among the arguments of `gzip`")
        result = self.zfc(*self.words("gz_huge", "c.gz"))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("chunks of up to 16.8 MB, which a GPU refuses, since `chunk` is above 16777216; `bgzip`", result.stderr)
        self.good("decode", self.dir / "t.zfd", "-o", self.dir / "out", "-q", "--device", "cpu")
        self.assertTrue((self.dir / "out" / "c.u8").read_bytes() == plain)
        self.good("verify", self.dir / "t.zfd", "-q")
        words = ("decode", self.dir / "t.zfd", "-o", self.dir / "none", "-q", "--device", "emu")
        self.bad(1, *words, says=("ZF1412", "`gzip` has chunks of up to 268435456 elements", "16777216", "t.zfd: column c, block 0",
                                  "hint: decode it on the CPU, or wrap shorter chunks", "bgzip"))
        result = self.zfc("compile", self.dir / "t.zfd", "-o", self.dir / "t.zfm")
        self.assertIn("compute capability 9.0: chunks of more than 16777216 elements are in files of `zfc wrap` only, for CPUs", result.stderr)
        self.good("decode", self.dir / "t.zfd", "--module", self.dir / "t.zfm", "-o", self.dir / "out", "-q", "-f", "--rows", f"{len(plain) - 9}..")
        self.assertEqual((self.dir / "out" / "c.u8").read_bytes(), bytes(9))
        self.bad(1, "compile", f"{self.codec}:gz_huge", "-o", self.dir / "none.zfm", says="no code for any target: chunks of more than 16777216")
        self.file("c.u8", b"abc")
        words = ("encode", "-c", f"{self.codec}:gz_huge", f"c={self.dir / 'c.u8'}", "-o", self.dir / "e.zfd")
        self.bad(2, *words, says=("column `c` has a codec with chunks of more elements than are encoded", "give `gzip` chunks of at most 16777216"))
        (self.dir / "t.zfd").unlink()
        blocks = [(k == 2048) | 2 | (1 << 17) << 3 for k in range(2049)]  # each repeats a zero
        frame = MAGIC + b"\x00\x58" + b"".join(word.to_bytes(3, "little") + b"\0" for word in blocks)
        self.refuse("zs_long", frame, "ZF1508", "the largest frame makes 268566528 bytes; a chunk of any codec has at most 268435456", "--filter=zstd")

    def test_gzip_damage(self):
        plain = lines(300)
        half = len(plain) // 2
        for make in (member, block):
            first, second = make(plain[:half]), make(plain[half:])
            packed = first + second
            for cut in (len(first) + 1, len(first) + 9, len(first) + 200, len(packed) - 1):
                self.refuse("gz", packed[:cut], "ZF1510", f"the file ends inside the member that begins at byte {len(first)}",
                            f"c.packed, byte {cut}")
            for more in (b"x", b"\0" * 700, b"garbage behind the file", b"\x1fx"):
                self.refuse("gz", packed + more, "ZF1510", "no member of gzip begins", f"c.packed, byte {len(packed)}")
            chosen = random.Random(7)
            for _ in range(4):
                changed = bytearray(packed)
                changed[chosen.randrange(len(first) + 40, len(packed) - 8)] ^= 1 << chosen.randrange(8)
                self.refuse("gz", bytes(changed), "c.packed", "byte")
            for at in (len(packed) - 8, len(packed) - 4, len(first) - 4):
                self.refuse("gz", packed[:at] + bytes([packed[at] ^ 1]) + packed[at + 1:], "c.packed", "byte")
        self.refuse("gz", packed[:16] + struct.pack("<H", len(first)) + packed[18:], "ZF1510", "byte")  # the field of BGZF lies
        self.refuse("gz", packed[:16] + b"\xff\xff" + packed[18:], "ZF1510", "the file ends inside", f"byte {len(packed)}")

    def test_nothing(self):
        self.refuse("gz", b"", "ZF1510", "the file is empty", "c.gz, byte 0", name="c.gz")
        for packed in (END, member(b"") * 3):
            self.refuse("gz", packed, "ZF1510", "the file decodes to no bytes", "c.packed, byte 0")
        for packed in (skipped(b"abc"), stored(b""), skipped(b"") + stored(b"", False)):
            self.refuse("zs", packed, "ZF1510", "the file decodes to no bytes", "c.packed, byte 0")
        for packed in (b"PAR1" * 9, b"\x1f", MAGIC[:3], b"BZh91AY"):
            self.refuse("gz", packed, "ZF1510", "neither as gzip nor as zstd", "need their sizes", "c.zst, byte 0", name="c.zst")

    # ---- zstd ----

    def test_made_frames(self):
        plain = lines(200) + b"z" * 800
        parts = [plain[:3000], plain[3000:3001], plain[3001:]]
        frames = [stored(parts[0]), stored(parts[1], False), stored(parts[2], False)]
        packed = skipped(b"first") + frames[0] + stored(b"") + skipped(bytes(300), 15) + frames[1] + frames[2] + stored(b"", False) + skipped(b"")
        self.check("zs", packed, plain, "emu", ranges=[(2990, 3010)])

    @unittest.skipUnless(pyarrow, "pyarrow has libzstd")
    def test_frames_of_others(self):
        plain = lines(12000)
        parts = [plain[at:at + 65536] for at in range(0, len(plain), 65536)]
        for make in (told, untold):
            self.check("zs", b"".join(map(make, parts)), plain)
        mixed = skipped(b"index") + told(parts[0]) + untold(parts[1]) + skipped(b"") + told(b"") + stored(parts[2]) + untold(b"") + skipped(b"end")
        self.check("zs", mixed, b"".join(parts[:3]))

    @unittest.skipUnless(pyarrow, "pyarrow has libzstd")
    def test_zstd_damage(self):
        plain = lines(300)
        half = len(plain) // 2
        for make in (told, untold):
            first, second = make(plain[:half]), make(plain[half:])
            packed = first + second
            for cut in (len(first) + 1, len(first) + 5, len(first) + 8, len(first) + 100, len(packed) - 1):
                self.refuse("zs", packed[:cut], "ZF1510", f"the file ends inside the frame that begins at byte {len(first)}",
                            f"c.packed, byte {cut}")
            for more in (b"\0" * 40, b"garbage", first[1:]):
                self.refuse("zs", packed + more, "ZF1510", "no frame of zstd begins", f"c.packed, byte {len(packed)}")
            chosen = random.Random(5)
            for _ in range(4):  # literals and their code: some changes only make other bytes
                changed = bytearray(packed)
                changed[chosen.randrange(len(first) + 12, len(first) + 40)] ^= 1 << chosen.randrange(8)
                self.file("c.packed", bytes(changed))
                result = self.zfc(*self.words("zs", "c.packed", "-f", "-q"))
                self.assertIn(result.returncode, (0, 1), result.stderr)
                self.assertEqual(result.returncode == 1, "c.packed" in result.stderr and "byte" in result.stderr)
                self.assertEqual((self.dir / "t.zfd").exists(), result.returncode == 0)
                (self.dir / "t.zfd").unlink(missing_ok=True)

    def test_frames_that_lie(self):
        frame = stored(b"abcdef")
        self.refuse("zs", frame[:5] + b"\7" + frame[6:], "ZF1510", "says that it makes 7 bytes; its blocks make 6", "c.packed, byte 0")
        self.refuse("zs", frame + MAGIC + b"\x23" + struct.pack("<I", 77) + b"\1\1\0\0", "ZF1510", "needs the dictionary 77",
                    "zstd_split_dictionary", f"c.packed, byte {len(frame) + 5}")
        self.refuse("zs", frame + skipped(b"abc")[:-1], "ZF1510", "the file ends inside the frame that begins at byte")
        self.refuse("zs", frame[:9] + b"\7" + frame[10:], "ZF1510", "no block can begin like this", "c.packed, byte 9")
        self.refuse("zs", frame[:4] + b"\xa8" + frame[5:], "ZF1510", "must be 0", "c.packed, byte 4")

    # ---- operands ----

    def test_two_columns(self):
        plain = lines(100)
        self.file("a.gz", member(plain[:10]) + member(plain[10:]))
        self.file("b.zst", stored(plain))
        words = ("wrap", "-c", f"{self.codec}:both", f"a={self.dir / 'a.gz'}", f"b={self.dir / 'b.zst'}", "-o", self.dir / "t.zfd")
        self.good(*words)
        self.good("decode", self.dir / "t.zfd", "-o", self.dir / "out", "-q")
        for name in ("a.u8", "b.u8"):
            self.assertEqual((self.dir / "out" / name).read_bytes(), plain)
        self.bad(1, *words, says="ZF1501")
        self.file("b.zst", stored(plain[1:]))
        self.bad(1, *words, "-f", says=("ZF1508", f"column `b` has {len(plain) - 1} rows"))
        for text in (b"neither of both", b"", member(b"abc")):  # a column that is not there is told before what its file is
            self.bad(2, *words[:4], f"d={self.file('d', text)}", *words[5:], "-f", says=("ZF1101", "the table has no column `d`"))

    def test_damaged_dictionary(self):
        """The file is named, besides the column."""
        self.file("c.zst", stored(b"ab"))
        for listed in (False, True):
            if listed:
                self.file("c.zst.sizes", f"{len(stored(b'ab'))} 2\n")
            wrong = self.file("d.dict", b"\x37\xa4\x30\xec" + bytes(40))
            self.bad(1, *self.words("of_dictionary", "c.zst", "--dictionary", f"c={wrong}"),
                     says=("error[ZF1512]: the dictionary is wrong: ", f"at: column c, the dictionary {wrong}\n"))

    def test_lists_first(self):
        """A list beside the file, or by --sizes, says where chunks are."""
        packed = member(b"abc") + member(b"defg")
        self.file("c.gz", packed)
        self.file("c.gz.sizes", f"{len(packed)} 7\n")
        self.good(*self.words("gz", "c.gz"))
        self.file("c.gz.sizes", "1 7\n")
        self.bad(1, *self.words("gz", "c.gz", "-f"), says=("ZF2026", "the sizes add up to 1 bytes"))
        self.bad(1, *self.words("gz", "c.gz", "-f", "--sizes", f"c={self.dir / 'none'}"), says=("ZF2001", "none"))

    def test_codecs(self):
        """Codecs of other chunks, and of none."""
        self.refuse("zs", member(b"abc"), "ZF13", "chunk 0", "hint: 23 bytes from byte 0 on are damaged, or are not for the column's codec", "c.packed")
        self.refuse("gz", stored(b"ab") + stored(b"c"), "ZF13", "chunk 0", "14 bytes from byte 0 on are")
        # Ten bytes as they are, and a literal of one bit, of whose stream two are there: taken apart, a stage of its own finds it.
        wrong = MAGIC + struct.pack("<BI", 0xa0, 11) + b"\x50\0\0" + b"0123456789" + b"\x3d\0\0\x12\xc0\0\x80\x10\6\0"
        for table in ("zs", "apart"):
            self.refuse(table, stored(b"ab") + wrong + stored(b"c"), "ZF1306", "chunk 1", f"hint: {len(wrong)} bytes from byte 14 on are")
        self.refuse("broad", member(b"abcd"), "ZF2026", "column `c` has no rows of one byte", "--sizes", status=2)
        self.refuse("other", member(b"abcd"), "ZF1509", "no program of chunks", status=2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
