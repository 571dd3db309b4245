"""`zfc encode` reads regular files in batches of rows: results and errors are those of inputs that are read whole, which pipes are, and memory is
bounded. Usage: test_batches.py ZFC [unittest arguments]"""

import array
import random
import resource
import struct
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
from zfc_case import Case, cache_of_module  # noqa: E402

MIB = 1 << 20
PROGRAM = """table t {
    id: i64 = delta(bitpack);
    flag: bool = plain;
    price: decimal(9, 2)? = nullable(values: bitpack);
    name: string = strings(lengths: bitpack);
    note: string? = nullable(values: strings);
    at: timestamp? = nullable(values: bitpack);
}
"""
NAMES = ("id", "flag", "price", "name", "note", "at")


def setUpModule():
    cache_of_module()


def npy(code, elements, rows):
    header = f"{{'descr': '{code}', 'fortran_order': False, 'shape': ({rows},), }}".encode()
    header += b" " * (63 - (len(header) + 10) % 64) + b"\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header + elements


def bitmap(bits):
    out = bytearray((len(bits) + 7) // 8)
    for k, bit in enumerate(bits):
        out[k // 8] |= bool(bit) << k % 8
    return bytes(out)


class Batches(Case):
    ROWS = 150_003

    def setUp(self):
        super().setUp()
        self.file("t.zf", PROGRAM)
        self.encoding = ["encode", "-q", "-f", "-c", self.dir / "t.zf", "-o", self.dir / "t.zfd"]

    def rows(self, count):
        rng = random.Random(7)
        for k in range(count):
            yield (3 * k + rng.randrange(3), k % 5 == 0, None if k % 7 == 0 else rng.randrange(100000), "n" * rng.randrange(12),
                   None if k % 3 == 0 else f"note {rng.randrange(1000)}", None if k % 11 == 0 else 1_700_000_000_000_000 + k * 1_000_000)

    @staticmethod
    def line(row, names):
        ident, flag, price, name, note, at = row
        fields = {"id": str(ident), "flag": "true" if flag else "false", "price": "" if price is None else f"{price // 100}.{price % 100:02}", "name": name,
                  "note": "" if note is None else f'"{note}"', "at": "" if at is None else f"2023-11-14T22:13:20.{at % 1_000_000:06}"}
        return ",".join(fields[n] for n in names) + "\n"

    def text(self, name, rows, names):
        return self.file(name, ",".join(names) + "\n" + "".join(self.line(row, names) for row in rows))

    def decoded(self, *inputs, stdin=None):
        self.good(*self.encoding, *inputs, stdin=stdin)
        self.good("decode", "-q", "-f", "-o", self.dir / "out", self.dir / "t.zfd")
        return {path.name: path.read_bytes() for path in (self.dir / "out").iterdir()}

    def whole(self, *inputs):
        """A pipe among the inputs: all of them are read whole."""
        cat = subprocess.Popen(["cat", inputs[0]], stdout=subprocess.PIPE)
        result = self.decoded("/dev/stdin", *inputs[1:], stdin=cat.stdout)
        cat.stdout.close()
        cat.wait()
        return result

    def test_texts(self):
        """Texts of several batches, one after the other and side by side, with rows of other lengths."""
        rows = list(self.rows(self.ROWS))
        left, right = ("id", "flag"), ("name", "note", "price", "at")
        cut = 70_001
        parts = [self.text("a.csv", rows[:cut], left), self.text("b.csv", rows[cut:], left), self.text("c.csv", rows[:9], right), self.text("d.csv", rows[9:], right)]
        self.assertGreater((self.dir / "d.csv").stat().st_size, 4 * MIB)
        together = self.decoded(*parts)
        self.assertEqual(together, self.decoded(self.text("all.csv", rows, NAMES)))
        self.assertEqual(together, self.whole(*parts))
        self.assertEqual(together["id.i64"], array.array("q", [row[0] for row in rows]).tobytes())
        self.assertEqual(together["name.bytes"], "".join(row[3] for row in rows).encode())
        self.assertEqual(together["note.valid"], bitmap([row[4] is not None for row in rows]))

    def test_raw(self):
        """Raw and .npy files beside a text: batches of another number of rows each, so that bitmaps begin within a byte."""
        rows = list(self.rows(self.ROWS))
        expected = self.decoded(self.text("all.csv", rows, NAMES))
        for name, content in expected.items():
            self.file(name, content)
        notes = [row[4] or "" for row in rows]
        at = struct.unpack(f"<{len(rows)}q", expected["at.timestamp"])
        times = [-2**63 if row[5] is None else at[k] for k, row in enumerate(rows)]
        inputs = [self.text("name.csv", rows, ("name",)), f"id={self.dir / 'id.i64'}", f"flag={self.file('flag.npy', npy('|b1', bytes(row[1] for row in rows), len(rows)))}",
                  f"price={self.dir / 'price.decimal'}", f"price.valid={self.dir / 'price.valid'}",
                  f"note.bytes={self.dir / 'note.bytes'}", f"note.offsets={self.dir / 'note.offsets'}",
                  f"note.valid={self.file('note.valid.npy', npy('|b1', bytes(row[4] is not None for row in rows), len(rows)))}",
                  f"at={self.file('at.npy', npy('<M8[us]', array.array('q', times).tobytes(), len(rows)))}"]
        self.assertEqual("".join(notes).encode(), expected["note.bytes"])
        for more in ((), ("--input-memory", "900K")):
            self.assertEqual(self.decoded(*more, *inputs), expected)

    def fails(self, code, *inputs, says):
        (self.dir / "t.zfd").unlink(missing_ok=True)
        self.bad(1, *self.encoding, *inputs, says=[f"error[{code}]", *says])
        self.assertEqual([path.name for path in self.dir.iterdir() if path.name == "t.zfd" or path.name.startswith(".t.zfd")], [])

    def test_errors_in_later_batches(self):
        rows, far = self.ROWS, self.ROWS - 5
        self.file("t.zf", "table t { n: decimal(3, 0)? = nullable(values: bitpack); s: string = strings; b: bool = plain; }\n")
        numbers, flags, offsets = array.array("q", bytes(8 * rows)), bytearray(rows), array.array("q", range(0, 40 * rows + 1, 40))
        files = {name: self.dir / name for name in ("n", "n.valid", "s.bytes", "s.offsets", "b")}

        def put():
            for name, content in (("n", numbers.tobytes()), ("n.valid", b"\xff" * (rows // 8 + 1)), ("s.bytes", b"x" * 40 * rows), ("s.offsets", offsets.tobytes()), ("b", flags)):
                files[name].write_bytes(content)
            return [f"{name}={path}" for name, path in files.items()]

        self.good(*self.encoding, *put())
        numbers[far] = 1000
        self.fails("ZF2002", *put(), says=["1000 has more digits than decimal(3, 0) has", f"column n, row {far}"])
        numbers[far] = 0
        flags[far] = 7
        self.fails("ZF2002", *put(), says=["a boolean of column `b` that is 7", f"byte {far}"])
        flags[far] = 1
        offsets[far] = 5
        self.fails("ZF2017", *put(), says=[f"offset {far} of column `s` is 5", f"s.offsets={files['s.offsets']}: byte {8 * far}"])
        offsets[far] = 40 * far
        offsets[rows] -= 1
        self.fails("ZF2017", *put(), says=[f"the last offset of column `s` (s.offsets={files['s.offsets']}) is {40 * rows - 1}, but it has {40 * rows} bytes"])
        offsets[rows] += 1
        put()
        files["n.valid"].write_bytes(b"\xff" * (rows // 8))
        self.fails("ZF2010", *[f"{name}={path}" for name, path in files.items()], says=["the validity bitmap of `n`"])
        inputs = put()[:-1]
        text = self.file("b.csv", "b\n" + "1\n" * (far - 1) + "2\n" + "1\n" * (rows - far))
        self.fails("ZF2002", *inputs, text, says=["`2` is not a boolean", f"b.csv: line {far + 1}, field 1 (b)"])
        for count in (far, rows + 70_000):
            text = self.file("b.csv", "b\n" + "1\n" * count)
            self.fails("ZF2006", *inputs, text, says=[f"column `b` ({text}) has {count} rows, but `n` (n={files['n']}) has {rows}"])
        self.file("b.csv", "b\n" + "1\n" * rows)
        self.good(*self.encoding, *inputs, text)


class Memory(Case):
    SECONDS = 120

    def under(self, size, *words, stdin=None):
        return self.zfc(*words, stdin=stdin, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (size, size)))

    def least(self):
        """The least address space in which this zfc, with its libraries, comes as far as main."""
        low, high = 1 * MIB, 2048 * MIB
        while high - low > 4 * MIB:
            middle = (low + high) // 2
            low, high = (low, middle) if self.under(middle, "--version").returncode == 0 else (middle, high)
        return high

    def test_a_table_larger_than_the_memory(self):
        """Raw files and texts of several times the memory that there is. The same bytes from a pipe, which is read whole, are too many."""
        self.file("t.zf", "table t { n: i64 = bitpack; s: string = strings(lengths: bitpack); }\n")
        size, most = 320 * MIB, self.least() + 160 * MIB
        numbers, offsets, text = self.dir / "n", self.dir / "s.offsets", self.dir / "t.csv"
        with open(numbers, "wb") as file:
            file.truncate(size)  # without room on the disk
        with open(offsets, "wb") as file:
            file.truncate(size + 8)
        words = ["encode", "-q", "-f", "--threads", "1", "--rows-per-block", 1 << 14, "-c", self.dir / "t.zf", "-o", self.dir / "t.zfd"]
        self.good(*words, self.file("few.csv", "n,s\n1,a\n2,bc\n"))  # compiling takes memory, too: its code is cached
        raw = [f"n={numbers}", f"s.offsets={offsets}", f"s.bytes={self.file('s.bytes', b'')}"]
        result = self.under(most, *words, *raw)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(f"{size // 8:,}".replace(",", ""), self.good("inspect", "--json", self.dir / "t.zfd"))
        line = b"".join(b"%d,%s\n" % (k, b"some words " * 30) for k in range(1000))
        with open(text, "wb") as file:
            file.write(b"n,s\n")
            for _ in range(200 * MIB // len(line)):
                file.write(line)
        result = self.under(most, *words, text)
        self.assertEqual(result.returncode, 0, result.stderr)
        for inputs, path in (([f"n=/dev/stdin", *raw[1:]], numbers), (["/dev/stdin"], text)):
            cat = subprocess.Popen(["cat", path], stdout=subprocess.PIPE)
            result = self.under(most, *words, *inputs, stdin=cat.stdout)
            cat.stdout.close()
            cat.wait()
            self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
            self.assertIn("no memory", result.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
