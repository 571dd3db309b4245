"""Blocks of any number of rows: any rows of them decode on every device.

Usage: test_uneven.py ZFC SOURCE"""

import array
import json
import pathlib
import sys
import unittest

from zfc_case import Case, cache_of_module

sys.path.insert(0, str(pathlib.Path(sys.argv[2]) / "tests/golden/containers"))
import table  # noqa: E402

ROWS = (3 * 4096, 4096, 5001)  # of the parts
LENGTHS = (10, 8300, 11)       # of their strings: the second has 34 MB, more than twice what a block should have
BLOCKS = [ROWS[0], 2021, 2021, 54, ROWS[2]]  # 2021 strings of 8300 bytes are the most below 16 MiB


def setUpModule():
    cache_of_module()


class Numbers(Case):
    """The columns of the golden table, in blocks that begin at any row."""

    def encode(self, rows, *words):
        table.write(self.dir, rows, table.ANY_ROWS)
        self.good("encode", "-c", self.dir / "table.zf", self.dir / "table.csv", "-o", self.dir / "t.zfd", "-f", "-q", *words)

    def check(self, rows, device, begin, end, *words):
        """Rows of a decode are those that the formulas give."""
        out = self.dir / "out"
        self.good("decode", self.dir / "t.zfd", "-o", out, "-f", "-q", "--device", device, "--rows", f"{begin}..{end}", *words)
        for name, content in table.raw_files(end, begin, table.ANY_ROWS).items():
            self.assertEqual((out / name).read_bytes(), content, f"{name}, rows {begin} to {end} of {rows} on {device}")

    def test_every_place_of_a_row(self):
        for size, rows in ((1, 40), (7, 300), (4095, 5000), (4097, 5000)):
            self.encode(rows, "--rows-per-block", size)
            shown = json.loads(self.good("inspect", self.dir / "t.zfd", "--json"))
            self.assertEqual(shown["features"], ["uneven blocks", "programs"])
            self.assertEqual([block["first_row"] for block in shown["columns"][0]["blocks"]], list(range(0, rows, size)))
            self.good("verify", self.dir / "t.zfd", "-q")
            for device in ("cpu", "emu"):
                self.check(rows, device, 0, rows, "--threads", 3)
                middle = size * (rows // size // 2)
                self.check(rows, device, max(0, middle - 3), min(rows, middle + 5))
                self.check(rows, device, size, min(rows, 2 * size))  # one block, which begins within a byte

    def test_pipeline(self):
        self.encode(900, "--rows-per-block", 41)
        for device in ("cpu", "emu"):
            for words in ((), ("--unit", 4096)):  # a unit has many blocks, or one
                self.good("pipeline", self.dir / "t.zfd", "--device", device, "--verify", "-q", *words)


class Uneven(Case):
    def setUp(self):
        super().setUp()
        offsets, at = array.array("q", [0]), 0
        for rows, length in zip(ROWS, LENGTHS):
            for _ in range(rows):
                at += length
                offsets.append(at)
        self.offsets, self.all = offsets, sum(ROWS)
        period = bytes(range(32, 127)) * 11
        self.bytes = (period * (at // len(period) + 1))[:at]
        valid = bytearray(b"\xff" * ((self.all + 7) // 8))
        for k in range(0, self.all, 7):
            valid[k // 8] &= ~(1 << k % 8) & 255
        self.valid = valid
        self.file("t.zf", "table t { s: string = strings; n: string? = nullable(values: strings); k: u16 = bitpack; }\n")
        self.file("s.offsets", offsets.tobytes())
        self.file("s.bytes", self.bytes)
        self.file("n.valid", bytes(valid))
        self.file("k.u16", array.array("H", [k % 1000 for k in range(self.all)]).tobytes())
        self.zfd = self.dir / "t.zfd"

    def encode(self, *words):
        return self.zfc("encode", "-c", self.dir / "t.zf", "-o", self.zfd, "-f", "-q", *words,
                        *[f"{to}={self.dir / name}" for to, name in (
                            ("s.offsets", "s.offsets"), ("s.bytes", "s.bytes"), ("n.offsets", "s.offsets"), ("n.bytes", "s.bytes"),
                            ("n.valid", "n.valid"), ("k", "k.u16"))])

    def is_valid(self, row):
        return self.valid[row // 8] >> row % 8 & 1 == 1

    def check_rows(self, begin, end, device):
        out = self.dir / "out"
        self.good("decode", self.zfd, "-o", out, "-f", "-q", "--rows", f"{begin}..{end}", "--device", device)
        first, last = self.offsets[begin], self.offsets[end]
        where = f"rows {begin} to {end} on {device}"
        self.assertEqual((out / "s.bytes").read_bytes(), self.bytes[first:last], where)
        expected = b"".join(self.bytes[self.offsets[k]:self.offsets[k + 1]] for k in range(begin, end) if self.is_valid(k))
        self.assertEqual((out / "n.bytes").read_bytes(), expected, where)
        bits = (out / "n.valid").read_bytes()
        self.assertEqual([bits[k // 8] >> k % 8 & 1 == 1 for k in range(end - begin)], [self.is_valid(k) for k in range(begin, end)],
                         where)

    def test_blocks_by_bytes(self):
        self.assertEqual(self.encode().returncode, 0)
        shown = json.loads(self.good("inspect", self.zfd, "--json"))
        self.assertEqual(shown["features"], ["uneven blocks", "programs"])
        columns = {column["column"]: column for column in shown["columns"]}
        for name in "sn":
            self.assertEqual(columns[name]["rows_per_block"], 0)
            self.assertEqual([block["rows"] for block in columns[name]["blocks"]], BLOCKS)
        self.assertGreater(columns["k"]["rows_per_block"], 0)
        self.good("verify", self.zfd, "--device", "cpu")
        borders = (ROWS[0], ROWS[0] + ROWS[1])
        for device in ("cpu", "emu"):
            for border in borders:
                self.check_rows(border - 3, border + 2, device)
            self.check_rows(borders[0] + 4090, borders[1] + 1, device)
            self.check_rows(self.all - 1, self.all, device)
        self.check_rows(borders[0] - 2, borders[1] + 2, "cpu")

    def test_even_where_asked(self):
        for words, version in ((("--format", "1"), 1), (("--rows-per-block", "4096"), 2)):
            self.assertEqual(self.encode(*words).returncode, 0)
            shown = json.loads(self.good("inspect", self.zfd, "--json"))
            self.assertEqual((shown["format"], shown["features"]), (version, ["programs"] if version == 2 else []))
            self.assertGreater(shown["columns"][0]["rows_per_block"], 0)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
