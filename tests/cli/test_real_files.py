"""Files that other programs wrote decode by our formats: streams of ORC, pages of Parquet, blocks of LZ4 and Snappy.

Usage: test_real_files.py ZFC. Without pyarrow, which writes files here and says what is in them, nothing is tested. With ZF_TEST_DATA,
a directory that has orc/, parquet/, lz4/, snappy/ and fuzz/, files of other writers decode, too."""

import os
import pathlib
import random
import struct
import sys
import tarfile
import unittest

from lz_blocks import plain_of, sequences_of
from zfc_case import Case, cache_of_module, sample

try:
    import pyarrow
    import pyarrow.orc
    import pyarrow.parquet
    from foreign_files import OrcFile, ParquetFile, Piece, exactly, snappy_plain
except ImportError:
    pyarrow = None

GIVEN = pathlib.Path(os.environ.get("ZF_TEST_DATA") or "/nonexistent")
LETTERS = {"u8": "B", "u32": "I", "i32": "i", "u64": "Q", "i64": "q"}
ROWS = 6000


def setUpModule():
    cache_of_module()


def columns(chosen):
    """Columns that need every kind of run: repeats, steps, bits, few large values; and nulls, booleans, texts, times."""
    numbers = {
        "repeats": [chosen.randrange(9) for _ in range(300) for _ in range(20)],
        "steps": [7 * k - 10**12 for k in range(ROWS)],
        "rises": [k * 40 + chosen.randrange(30) for k in range(ROWS)],
        "falls": [-k * 900 - chosen.randrange(800) for k in range(ROWS)],
        "small": [chosen.randrange(-90, 90) for _ in range(ROWS)],
        "few_large": [chosen.randrange(50) if chosen.randrange(70) else chosen.randrange(1 << 40) for _ in range(ROWS)],
        "wide": [chosen.randrange(-1 << 63, 1 << 63) for _ in range(ROWS)],
        "turns": [chosen.choice((3, 3, 3, 3, k, -k, 1 << 30)) for k in range(ROWS)],
    }
    table = {name: pyarrow.array(values, pyarrow.int64()) for name, values in numbers.items()}
    nulls = [None if chosen.randrange(5) == 0 else chosen.randrange(2000) for _ in range(ROWS)]
    table["nulls"] = pyarrow.array(nulls, pyarrow.int32())
    table["shorts"] = pyarrow.array([k // 50 % 300 for k in range(ROWS)], pyarrow.int16())
    table["bytes"] = pyarrow.array([chosen.choice((1, 1, 1, 1, -5, k % 100)) for k in range(ROWS)], pyarrow.int8())
    table["flags"] = pyarrow.array([k % 700 < 300 or chosen.randrange(9) == 0 for k in range(ROWS)])
    table["days"] = pyarrow.array([18000 + k // 7 for k in range(ROWS)], pyarrow.date32())
    table["few_texts"] = pyarrow.array([chosen.choice(("air", "rail", "ship", "truck", "")) for _ in range(ROWS)])
    table["texts"] = pyarrow.array([f"{chosen.randrange(1 << 60):x}"[:chosen.randrange(17)] for _ in range(ROWS)])
    return pyarrow.table(table)


@unittest.skipUnless(pyarrow, "pyarrow reads the files")
class RealFiles(Case):
    def decode(self, pieces, *wanted):
        """All pieces of a codec are chunks of one file, which decodes on every device. Says how many pieces there were of each codec
        and type; of those in `wanted` there are some."""
        groups = {}
        for piece in pieces:
            groups.setdefault((piece.codec, piece.kind), []).append(piece)
        for (codec, kind), group in groups.items():
            rows = sum(piece.rows for piece in group)
            program = self.file("f.zf", f"table t {{ c: {kind} = {codec}(chunk: 1048576); }}\n")
            self.file("c", b"".join(piece.data for piece in group))
            self.file("c.sizes", "".join(f"{len(piece.data)} {piece.rows}\n" for piece in group))
            self.good("wrap", "-c", program, f"c={self.dir / 'c'}", "-o", self.dir / "t.zfd", "-f", "-q")
            for device in ("cpu", "emu"):
                (self.dir / "out" / f"c.{kind}").unlink(missing_ok=True)
                self.good("decode", self.dir / "t.zfd", "-o", self.dir / "out", "-f", "-q", "--device", device)
                found = struct.unpack(f"<{rows}{LETTERS[kind]}", (self.dir / "out" / f"c.{kind}").read_bytes())
                at = 0
                for piece in group:
                    good = piece.check(list(found[at:at + piece.rows]))
                    self.assertTrue(good, f"{piece.what}: {codec} of {kind} on {device}")
                    at += piece.rows
        for codec, kind in wanted:
            self.assertGreater(len(groups.get((codec, kind), ())), 0, f"{codec} of {kind}")

    def orc(self, name, **options):
        path = self.dir / name
        pyarrow.orc.write_table(columns(random.Random(1)), path, **options)
        return OrcFile(path).pieces()

    def test_orc(self):
        pieces = [*self.orc("new.orc", file_version="0.12", compression="zstd", dictionary_key_size_threshold=0.5),
                  *self.orc("old.orc", file_version="0.11", compression="snappy")]
        kinds = {piece.data[0] >> 6 for piece in pieces if piece.codec == "orc_rle2"}
        self.assertEqual(kinds, {0, 1, 2, 3})  # also of runs with exceptions
        self.decode(pieces, ("orc_rle1", "i64"), ("orc_rle1", "u64"), ("orc_rle2", "i64"), ("orc_rle2", "u64"), ("orc_byte_rle", "u8"),
                    ("snappy", "u8"))

    def parquet(self, name, **options):
        path = self.dir / name
        pyarrow.parquet.write_table(columns(random.Random(2)), path, **options)
        return ParquetFile(path).pieces()

    def test_parquet(self):
        integers = {name: "DELTA_BINARY_PACKED" for name in ("repeats", "steps", "rises", "falls", "small", "few_large", "wide", "turns", "nulls")}
        pieces = [*self.parquet("codes.parquet", compression="snappy", data_page_version="1.0", data_page_size=8192),
                  *self.parquet("deltas.parquet", compression="lz4", data_page_version="2.0", use_dictionary=["few_texts", "shorts"],
                                column_encoding={**integers, "texts": "DELTA_LENGTH_BYTE_ARRAY", "flags": "RLE"})]
        self.decode(pieces, ("parquet_hybrid", "u8"), ("parquet_hybrid", "u32"), ("delta_binary_packed", "i32"),
                    ("delta_binary_packed", "i64"), ("lz4", "u8"), ("snappy", "u8"))

    @unittest.skipUnless((GIVEN / "orc").is_dir(), "ZF_TEST_DATA has no orc/")
    def test_given_orc(self):
        pieces = []
        for path in sorted((GIVEN / "orc").glob("*.orc")):
            if not path.name.startswith(("corrupt", "version1999")):
                pieces += OrcFile(path).pieces()
        self.decode(pieces, ("orc_rle1", "i64"), ("orc_rle1", "u64"), ("orc_rle2", "i64"), ("orc_rle2", "u64"), ("orc_byte_rle", "u8"),
                    ("lz4", "u8"), ("snappy", "u8"))

    @unittest.skipUnless((GIVEN / "parquet").is_dir(), "ZF_TEST_DATA has no parquet/")
    def test_given_parquet(self):
        pieces = []
        for path in sorted((GIVEN / "parquet").glob("*.parquet")):
            if not path.name.startswith(("datapage_v1-corrupt",)):
                pieces += ParquetFile(path).pieces()
        self.decode(pieces, ("parquet_hybrid", "u8"), ("parquet_hybrid", "u32"), ("delta_binary_packed", "i32"),
                    ("delta_binary_packed", "i64"), ("lz4", "u8"), ("snappy", "u8"))

    @unittest.skipUnless((GIVEN / "lz4").is_dir() and (GIVEN / "snappy").is_dir(), "ZF_TEST_DATA has no lz4/ and snappy/")
    def test_given_texts(self):
        """Files of LZ4's frame format, block by block, and a raw block of Snappy."""
        pieces = []
        for path in sorted((GIVEN / "lz4").glob("*.lz4")):
            frame, plain = path.read_bytes(), path.with_suffix("").read_bytes()
            at = 7 + (8 if frame[4] & 8 else 0)  # behind the content's size, where there is one
            checksum = 4 if frame[4] & 16 else 0
            while size := int.from_bytes(frame[at:at + 4], "little"):
                block, at = frame[at + 4:at + 4 + (size & (1 << 31) - 1)], at + 4 + (size & (1 << 31) - 1) + checksum
                rows = len(block) if size >> 31 else len(plain_of(sequences_of(block)))
                if not size >> 31:
                    pieces.append(Piece(path.name, "lz4", "u8", block, rows, exactly(list(plain[:rows]))))
                plain = plain[rows:]
            self.assertEqual(plain, b"")
        for path in sorted((GIVEN / "snappy").glob("*.rawsnappy")):
            plain = list(path.with_suffix("").read_bytes())
            pieces.append(Piece(path.name, "snappy", "u8", path.read_bytes(), len(plain), exactly(plain)))
        self.decode(pieces, ("lz4", "u8"), ("snappy", "u8"))

    @unittest.skipUnless((GIVEN / "fuzz").is_dir(), "ZF_TEST_DATA has no fuzz/")
    def test_given_blocks(self):
        """A sample of blocks that fuzzers made. Each is refused, or has the bytes that readers of its format find."""
        seen = set()
        for codec, archive, plain_in in (("lz4", "lz4-block.tar", lambda block: plain_of(sequences_of(block))),
                                         ("snappy", "snappy-xerial.tar", snappy_plain)):
            program = self.file("f.zf", f"table t {{ c: u8 = {codec}(chunk: 1048576); }}\n")
            with tarfile.open(GIVEN / "fuzz" / archive) as members:
                blocks = [(member.name, members.extractfile(member).read()) for member in members if member.isfile()]
            every, turn = sample()
            for name, block in blocks[turn % every::every]:
                try:
                    plain = plain_in(block)
                except (IndexError, ValueError, OSError):
                    plain = None
                if plain == b"":
                    continue  # a chunk has rows
                self.file("c", block)
                self.file("c.sizes", f"{len(block)} {len(plain or bytes(5000))}\n")
                words = ("wrap", "-c", program, f"c={self.dir / 'c'}", "-o", self.dir / "t.zfd", "-f", "-q")
                seen.add((codec, plain is None))
                if plain is None:
                    self.bad(1, *words, says=("error[ZF13", "chunk 0"))
                else:
                    self.good(*words)
                    (self.dir / "out" / "c.u8").unlink(missing_ok=True)
                    self.good("decode", self.dir / "t.zfd", "-o", self.dir / "out", "-f", "-q")
                    self.assertEqual((self.dir / "out" / "c.u8").read_bytes(), plain, name)
        self.assertIn(("lz4", True), seen)
        self.assertIn(("snappy", True), seen)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
