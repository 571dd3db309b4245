"""Columns of lists through zfc: raw files in and out, in batches and through pipes, ranges, and what is refused.

Usage: test_list_files.py ZFC SOURCE"""

import array
import json
import os
import random
import sys
import threading
import unittest

from zfc_case import Case, cache_of_module

PROGRAM = """table t {
    id: u32 = bitpack;
    n: list<i64> = delta(bitpack), values: zigzag(bitpack);
    s: list<string?>? = delta(bitpack), validity: plain, values: nullable(values: strings(lengths: bitpack));
}
"""


def setUpModule():
    cache_of_module()


def bitmap(bits):
    out = bytearray((len(bits) + 7) // 8)
    for k, bit in enumerate(bits):
        out[k // 8] |= bit << k % 8
    return bytes(out)


def offsets(sizes):
    out = array.array("q", [0])
    for size in sizes:
        out.append(out[-1] + size)
    return out.tobytes()


class Lists(Case):
    def make(self, rows, long_list=0, long_text=0):
        """Rows of both lists; the values of null lists are written, too."""
        draw = random.Random(rows)
        self.n = [[draw.randrange(-9, 9) for _ in range(draw.randrange(4))] for _ in range(rows)]
        self.s = [[draw.choice((None, b"", b"a", b"zipflow" * 3)) for _ in range(draw.randrange(4))] for _ in range(rows)]
        self.valid = [draw.random() < 0.8 for _ in range(rows)]
        if long_list:
            self.n[rows // 2] = [k % 97 for k in range(long_list)]
        if long_text:
            self.s[rows // 3], self.valid[rows // 3] = [b"x" * long_text, None, b"y" * long_text], True
        self.files(self.n, self.s, self.valid)

    def files(self, n, s, valid):
        flat, text = [v for row in n for v in row], [v for row in s for v in row]
        self.given = [f"{name}={self.file(name, content)}" for name, content in (
            ("id", array.array("I", range(len(n))).tobytes()),
            ("n.offsets", offsets(map(len, n))),
            ("n.values", array.array("q", flat).tobytes()),
            ("s.offsets", offsets(map(len, s))),
            ("s.valid", bitmap(valid)),
            ("s.values.offsets", offsets(len(v or b"") for v in text)),
            ("s.values.bytes", b"".join(v or b"" for v in text)),
            ("s.values.valid", bitmap([v is not None for v in text])))]

    def setUp(self):
        super().setUp()
        self.program, self.zfd = self.file("t.zf", PROGRAM), self.dir / "t.zfd"

    def encode(self, *words, given=None):
        return self.good(*self.words(), *(self.given if given is None else given), *words)

    def words(self):
        return "encode", "-q", "-f", "-c", self.program, "-o", self.zfd

    def check(self, begin, end, device="cpu", *words):
        out = self.dir / "out"
        self.good("decode", self.zfd, "-q", "-f", "-o", out, "--device", device, "--rows", f"{begin}..{end}", *words)
        n, s = self.n[begin:end], [row if valid else [] for row, valid in zip(self.s, self.valid)][begin:end]
        text = [v for row in s for v in row]
        for name, content in (("id.u32", array.array("I", range(begin, end)).tobytes()), ("n.offsets", offsets(map(len, n))),
                              ("n.values.i64", array.array("q", [v for row in n for v in row]).tobytes()),
                              ("s.offsets", offsets(map(len, s))), ("s.valid", bitmap(self.valid[begin:end])),
                              ("s.values.offsets", offsets(len(v or b"") for v in text)), ("s.values.bytes", b"".join(v or b"" for v in text)),
                              ("s.values.valid", bitmap([v is not None for v in text]))):
            self.assertEqual((out / name).read_bytes(), content, f"{name}, rows {begin} to {end} on {device}")

    def test_round_trips(self):
        for rows in (0, 1, 7, 5000):
            self.make(rows)
            self.encode(*(("--rows-per-block", 900, "--zones") if rows == 5000 else ()))
            self.assertIn("all good", self.good("verify", self.zfd))
            for device in ("cpu", "emu"):
                self.check(0, rows, device)
                self.check(rows // 3, rows // 2, device)
            self.check(rows, rows)

    def test_lists_longer_than_a_batch(self):
        """A list of 5 MB beside short ones, and strings of 6 MB: batches have about 4 MiB of a column."""
        self.make(300, 640000, 6 << 20)
        self.encode()
        self.check(0, 300)
        self.check(149, 152)
        self.check(99, 101, "cpu", "--threads", 1)
        whole = self.zfd.read_bytes()
        self.encode("--input-memory", 32 << 20)
        self.assertEqual(self.zfd.read_bytes(), whole)
        self.bad(1, *self.words(), *self.given, "--input-memory", 4 << 20, says="--input-memory")

    def test_pipes(self):
        self.make(2000)
        self.encode()
        whole, threads, given = self.zfd.read_bytes(), [], []
        for word in self.given:
            name, _, path = word.partition("=")
            pipe = f"{path}.pipe"
            os.mkfifo(pipe)
            with open(path, "rb") as source:
                content = source.read()
            given.append(f"{name}={pipe}")
            threads.append(threading.Thread(target=lambda pipe=pipe, content=content: self.feed(pipe, content), daemon=True))
        for thread in threads:
            thread.start()
        self.encode(given=given)
        self.assertEqual(self.zfd.read_bytes(), whole)

    @staticmethod
    def feed(pipe, content):
        with open(pipe, "wb") as out:
            out.write(content)

    def test_npy(self):
        self.make(100)
        self.encode()
        whole, out = self.zfd.read_bytes(), self.dir / "npy"
        self.good("decode", self.zfd, "-q", "-o", out, "--format", "npy")
        names = ("id", "n.offsets", "n.values", "s.offsets", "s.valid", "s.values.offsets", "s.values.bytes", "s.values.valid")
        self.assertEqual(sorted(file.name for file in out.iterdir()), sorted(f"{name}.npy" for name in names))
        self.encode(given=[f"{name}={out / name}.npy" for name in names])
        self.assertEqual(self.zfd.read_bytes(), whole)

    def test_input_that_does_not_fit(self):
        self.make(10)
        count, values = len(self.n), sum(map(len, self.n))
        given = dict(word.split("=", 1) for word in self.given)

        def refused(says, **changed):
            words = [f"{name}={path}" for name, path in {**given, **{k.replace("__", "."): v for k, v in changed.items()}}.items() if path]
            for kind in ("files", "a pipe"):
                if kind == "a pipe":  # all inputs are read whole
                    os.path.exists(self.dir / "id.pipe") or os.mkfifo(self.dir / "id.pipe")
                    threading.Thread(target=self.feed, args=(self.dir / "id.pipe", (self.dir / "id").read_bytes()), daemon=True).start()
                    words = [f"id={self.dir / 'id.pipe'}" if word.startswith("id=") else word for word in words]
                self.bad(1, *self.words(), *words, says=says)

        falling = array.array("q", offsets(map(len, self.n)))
        falling[4], falling[5] = falling[5] + 1, falling[4]
        refused("offset 5 of column `n`", n__offsets=self.file("a", falling.tobytes()))
        refused(f"the last offset of column `n` (n.offsets={self.dir / 'b'}) is {values - 1}, but it has {values} values",
                n__offsets=self.file("b", array.array("q", [0] * count + [values - 1]).tobytes()))
        refused(f"to the {values} values", n__offsets=self.file("c", array.array("q", [0] * count + [values + 1]).tobytes()))
        refused("column `n` (n.offsets=", n__offsets=self.file("d", array.array("q", [0] * count + [values, values]).tobytes()))
        refused("no input gives the offsets of the lists of column `n`", n__offsets=None)
        refused("no input gives column `n.values`", n__values=None)
        refused("no input gives column `s.values`", s__values__bytes=None)
        refused("the validity bitmap of `s` has 9 bytes", s__valid=self.file("e", bytes(9)))
        refused("column `n` is not nullable", n__valid=self.file("f", bytes(2)))
        refused("column `n` is of lists: it has no elements of its own", n=self.file("g", b""))
        refused("the table has no column `m.values`", m__values=self.file("h", b""))

    def test_what_is_refused(self):
        self.make(10)
        self.encode()
        text, out = self.file("n.csv", "id,n\n1,2\n"), self.dir / "no"
        self.bad(1, *self.words(), text, says="lists have no form in delimited text")
        for columns in ((), ("--columns", "n"), ("--columns", "n.values")):
            self.bad(2, "pipeline", self.zfd, "--rows", "2..5", *columns, says="`n.values` is a part of lists")
        self.good("pipeline", self.zfd, "-q", "--device", "cpu", "--rows", "2..5", "--columns", "id", "--verify")
        self.bad(2, *self.words(), *self.given, text, "--field", "n=x", says="column `n` is of lists")
        self.bad(2, *self.words(), *self.given, "--format", 1, says="version 1 of the format has no place for columns of lists")
        decode = ("decode", self.zfd, "-q", "-o", out)
        self.bad(2, *decode, "--format", "csv", says="column `n` is of lists")
        self.good(*decode, "--format", "csv", "--columns", "id")
        self.bad(2, *decode, "--columns", "n.values", "--rows", "0..5", says="`n.values` is a part of lists")
        for names in ("n,n.values", "n.values,n", "n,n"):
            self.bad(2, *decode, "--columns", names, says="twice")
        self.file("w.zf", "table t { a: list<u8> = plain, values: lz4(chunk: 64); }\n")
        self.file("chunks", b"abc")
        self.file("chunks.sizes", "3 3\n")
        self.bad(2, "wrap", "-c", self.dir / "w.zf", "-o", self.dir / "w.zfd", f"a={self.dir / 'chunks'}", says="its rows are lists")

    def test_other_verbs(self):
        """Commands take the parts of lists for the columns that they are."""
        self.make(3000)
        self.encode("--unfused", "s.values.values")
        shown = json.loads(self.good("inspect", self.zfd, "--json"))
        self.assertEqual([(c["name"], c["type"], c["rows"]) for c in shown["columns"]][1:3],
                         [("n", "list<i64>", 3000), ("n.values", "i64", sum(map(len, self.n)))])
        self.assertIn(f"1 block, {sum(map(len, self.n))} values", self.good("inspect", self.zfd, "--columns", "n"))
        self.assertEqual([c["name"] for c in json.loads(self.good("inspect", self.zfd, "--json", "--columns", "s"))["columns"]], ["s", "s.valid", "s.values"])
        self.assertIn("n.values: i64 = zigzag", self.good("explain", f"{self.program}:t.n.values"))
        self.good("bench", self.zfd, "--repeats", 5, "--device", "cpu")
        for device in ("cpu", "emu"):
            self.good("pipeline", self.zfd, "--device", device, "--verify", "-q")
        module = self.dir / "t.zfm"
        self.good("compile", self.program, "-o", module, "-q")
        self.good("decode", self.zfd, "-q", "-o", self.dir / "by-module", "--module", module)
        self.assertIn("list<string?>?", self.good("inspect", module))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
