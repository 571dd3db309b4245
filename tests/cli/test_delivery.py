"""Columns that are more than their elements: nullable ones and strings, in every form that zfc reads and writes. Usage: test_delivery.py ZFC [unittest arguments]"""

import csv
import json
import random
import shutil
import struct
import sys
import unittest

sys.dont_write_bytecode = True
import zfc_case  # noqa: E402

ROWS = 9001  # three blocks of 4096, the last one short; no multiple of 8


def bits(flags):
    """A bitmap, least significant bit first; spare bits are 0."""
    out = bytearray((len(flags) + 7) // 8)
    for k, flag in enumerate(flags):
        out[k // 8] |= bool(flag) << k % 8
    return bytes(out)


def array(descr, elements):
    """A .npy file of one dimension."""
    count = len(elements) // int(descr[2:])
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': ({count},), }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + elements


class Case(zfc_case.Case):
    PROGRAM = """table t {
    a: i32? = nullable(validity: rle(plain, bitpack), values: bitpack);
    b: bool? = nullable;
    d: date32? = rle(values: nullable(values: delta), counts: bitpack);
    n: i64? = nullable(values: bitpack) | plain(nullable);
}
"""

    def setUp(self):
        super().setUp()
        self.program = self.file("t.zf", self.PROGRAM)
        self.container = self.dir / "t.zfd"

    def rows(self):
        """Rows of text: what CSV says of them, None for null."""
        chosen = random.Random(5)
        rows, day = [], None
        for k in range(ROWS):
            if chosen.random() < 0.3:
                day = None if chosen.random() < 0.3 else f"{1992 + k % 7}-01-{1 + k % 28:02}"
            rows.append([None if k // 50 % 3 == 0 else str(chosen.randrange(-5, 1000)),
                         chosen.choice([None, "true", "false"]), day, None])
        return rows

    def write(self, name, header, rows):
        with open(self.dir / name, "w", newline="") as out:
            out.write(header + "\n")
            for row in rows:
                out.write(",".join("" if field is None else field for field in row) + "\n")
        return self.dir / name

    def read(self, path):
        with open(path, newline="") as file:
            return list(csv.reader(file))[1:]

    def encoded(self, *inputs):
        self.good("encode", "-q", "-f", "--rows-per-block", 4096, "-c", self.program, "-o", self.container, *inputs)
        self.good("verify", "-q", self.container)

    def come_back_as_arrays(self):
        """The .npy output of `decode` can be encoded, and makes the same raw files."""
        shutil.rmtree(self.dir / "arrays", ignore_errors=True)
        self.good("decode", "-q", "--format", "npy", "-o", self.dir / "arrays", self.container)
        self.good("decode", "-q", "-f", "-o", self.dir / "before", self.container)
        inputs = [f"{path.name[:-len('.npy')]}={path}" for path in (self.dir / "arrays").iterdir()]
        for given in (inputs, inputs[::-1]):
            self.encoded(*given)
            self.good("decode", "-q", "-f", "-o", self.dir / "after", self.container)
            for path in (self.dir / "before").iterdir():
                self.assertEqual((self.dir / "after" / path.name).read_bytes(), path.read_bytes(), path.name)

    def same_on_emulator(self, ranges=(f"0..{ROWS}", "0..1", "4095..4097", "1003..1004", f"2777..{ROWS - 3}", "5000..5000")):
        """All rows, rows of one tile, of several blocks, none: the files that the emulator gives are the CPU's."""
        for number, rows in enumerate(ranges):
            emulator = ("emu", "emu64")[number % 2]
            for device in ("cpu", emulator):
                out = self.dir / f"{device}{number}"
                self.good("decode", "-q", "--rows", rows, "--device", device, "-o", out, self.container)
            host = {path.name: path.read_bytes() for path in (self.dir / f"cpu{number}").iterdir()}
            emulated = {path.name: path.read_bytes() for path in (self.dir / f"{emulator}{number}").iterdir()}
            self.assertEqual(host, emulated, rows)


class Nulls(Case):
    def test_an_empty_field_is_null(self):
        rows = self.rows()
        self.encoded(self.write("t.csv", "a,b,d,n", rows))
        wanted = [["" if field is None else field for field in row] for row in rows]
        for k, (begin, end) in enumerate([(0, ROWS), (1, 2), (4095, 4097), (4093, 8200), (8192, ROWS), (17, 17), (8, ROWS)]):
            out = self.dir / f"out{k}"
            self.good("decode", "-q", "--format", "csv", "--rows", f"{begin}..{end}", "-o", out, self.container)
            self.assertEqual(self.read(out / "t.csv"), wanted[begin:end], f"{begin}..{end}")

    def test_raw_files(self):
        rows = self.rows()
        values = struct.pack(f"<{ROWS}i", *(int(row[0] or 7) for row in rows))  # what stands under a null does not matter
        flags = [row[0] is not None for row in rows]
        program = self.file("one.zf", "table t { a: i32? = nullable(values: bitpack); }\n")
        raw, valid = self.file("a.raw", values), self.file("a.valid", bits(flags))
        self.good("encode", "-q", "-c", program, "-o", self.container, f"a={raw}", f"a.valid={valid}")
        out = self.dir / "out"
        self.good("decode", "-q", "-o", out, self.container)
        self.assertEqual((out / "a.valid").read_bytes(), bits(flags))
        zeros = struct.pack(f"<{ROWS}i", *(int(row[0] or 0) for row in rows))
        self.assertEqual((out / "a.i32").read_bytes(), zeros)
        begin, end = 4091, 8211
        self.good("decode", "-q", "-o", self.dir / "part", "--rows", f"{begin}..{end}", self.container)
        self.assertEqual((self.dir / "part" / "a.valid").read_bytes(), bits(flags[begin:end]))
        self.assertEqual((self.dir / "part" / "a.i32").read_bytes(), zeros[4 * begin:4 * end])

    def test_arrays_come_back(self):
        rows = self.rows()
        for count in (0, 1, 8, ROWS):
            self.encoded(self.write("t.csv", "a,b,d,n", rows[len(rows) - count:]))
            self.come_back_as_arrays()

    def test_no_rows_and_only_nulls(self):
        for count in (0, 1, 8, 4096):
            self.encoded(self.write("t.csv", "a,b,d,n", [[None] * 4] * count))
            out = self.dir / f"out{count}"
            self.good("decode", "-q", "-o", out, self.container)
            self.assertEqual((out / "a.valid").read_bytes(), bytes((count + 7) // 8))
            self.assertEqual((out / "n.i64").read_bytes(), bytes(8 * count))

    def test_modules_decode_them(self):
        rows = self.rows()
        self.encoded(self.write("t.csv", "a,b,d,n", rows))
        module = self.dir / "t.zfm"
        self.good("compile", "-q", "--target", "host", "-o", module, f"{self.program}:t")
        self.good("decode", "-q", "--format", "csv", "--module", module, "-o", self.dir / "out", self.container)
        self.assertEqual(self.read(self.dir / "out" / "t.csv"), [["" if field is None else field for field in row] for row in rows])

    def test_where_they_cannot_be(self):
        program = self.file("p.zf", "table t { a: i32? = plain; }\n")
        source = self.write("a.csv", "a", [["1"], [None]])
        self.bad(1, "encode", "-q", "-c", program, "-o", self.container, source, says=["ZF0804", "cannot be stored", "`nullable`"])

    def test_on_the_emulated_gpu(self):
        self.encoded(self.write("t.csv", "a,b,d,n", self.rows()))
        self.same_on_emulator()


class Strings(Case):
    PROGRAM = """table t {
    a: string = strings(lengths: bitpack);
    b: string = dictionary(codes: bitpack, entries: strings(lengths: bitpack));
    c: string? = nullable(values: strings(lengths: bitpack));
    d: string = strings(lengths: bitpack, bytes: words(tokens: bitpack, entries: strings(lengths: bitpack)));
    e: string = rle(values: strings, counts: bitpack) | dictionary(codes: bitpack, entries: strings);
}
"""

    def rows(self):
        chosen = random.Random(6)
        words = ["the", "quick", "brown", "fox", "jumps.", "over,", 'a "lazy"', "dog"]
        rows, run = [], ""
        for k in range(ROWS):
            length = chosen.choice([0, 1, 5, 15, 16, 17, 33, 127, 128, 129]) if k % 900 else 20000
            run = f"run {k}" if chosen.random() < 0.2 else run
            rows.append(["".join(chosen.choice("abc,\n\u00e9") for _ in range(length)), chosen.choice(words),
                         chosen.choice([None, "", "x" * (k % 40)]),
                         " ".join(chosen.choice(words) for _ in range(chosen.randrange(8))), run])
        return rows

    def write(self, name, header, rows):
        with open(self.dir / name, "w", newline="") as out:
            out.write(header + "\n")
            for row in rows:
                out.write(",".join("" if field is None else '"' + field.replace('"', '""') + '"' for field in row) + "\n")
        return self.dir / name

    def decoded(self, out):
        """Rows from raw files: strings, or None where there is none."""
        columns = []
        for name in "abcde":
            raw, text = (out / f"{name}.offsets").read_bytes(), (out / f"{name}.bytes").read_bytes()
            offsets = struct.unpack(f"<{len(raw) // 8}q", raw)
            self.assertEqual((offsets[0], offsets[-1]), (0, len(text)))
            columns.append([text[begin:end].decode() for begin, end in zip(offsets, offsets[1:])])
            if name != "c":
                continue
            valid = (out / "c.valid").read_bytes()
            for k, text in enumerate(columns[-1]):
                if not valid[k // 8] >> k % 8 & 1:
                    self.assertEqual(text, "")
                    columns[-1][k] = None
        return [list(row) for row in zip(*columns)]

    def test_texts_come_back(self):
        rows = self.rows()
        self.encoded(self.write("t.csv", "a,b,c,d,e", rows))
        ranges = [(0, ROWS), (1, 2), (4095, 4097), (4093, 8200), (8192, ROWS), (17, 17), (1024, 2048), (1023, 1025), (900, 901)]
        for k, (begin, end) in enumerate(ranges):
            out = self.dir / f"out{k}"
            self.good("decode", "-q", "--rows", f"{begin}..{end}", "-o", out, self.container)
            self.assertEqual(self.decoded(out), rows[begin:end], f"{begin}..{end}")
        again = self.dir / "again"
        self.good("decode", "-q", "--format", "csv", "-o", again, self.container)
        first = (again / "t.csv").read_bytes()
        self.encoded(again / "t.csv")
        self.good("decode", "-q", "-f", "--format", "csv", "-o", again, self.container)
        self.assertEqual((again / "t.csv").read_bytes(), first)

    def test_raw_files(self):
        texts = [row[0].encode() for row in self.rows()]
        flags = [k % 3 > 0 for k in range(ROWS)]
        offsets = [0]
        for text in texts:
            offsets.append(offsets[-1] + len(text))
        program = self.file("one.zf", "table t { a: string? = nullable(values: strings(lengths: bitpack)); }\n")
        inputs = [f"a.offsets={self.file('o', struct.pack(f'<{ROWS + 1}q', *offsets))}", f"a.bytes={self.file('b', b''.join(texts))}",
                  f"a.valid={self.file('v', bits(flags))}"]
        self.good("encode", "-q", "-c", program, "-o", self.container, *inputs)
        out = self.dir / "out"
        self.good("decode", "-q", "-o", out, self.container)
        self.assertEqual((out / "a.valid").read_bytes(), bits(flags))
        kept = [text if flag else b"" for text, flag in zip(texts, flags)]  # what stands under a null goes
        self.assertEqual((out / "a.bytes").read_bytes(), b"".join(kept))

    def test_arrays_come_back(self):
        rows = self.rows()
        for count in (0, 1, 8, ROWS):
            self.encoded(self.write("t.csv", "a,b,c,d,e", rows[len(rows) - count:]))
            self.come_back_as_arrays()

    def test_arrays_that_do_not_fit(self):
        program = self.file("fit.zf", "table t { a: string? = nullable(values: strings); }\n")
        good = {"offsets": array("<i8", struct.pack("<3q", 0, 3, 6)), "bytes": array("|u1", b"abcdef"), "valid": array("|b1", b"\1\0")}
        begin = len(good["offsets"]) - 24

        def encode(status=1, says=(), **other):
            inputs = [f"a.{part}={self.file(f'{part}.npy', content)}" for part, content in {**good, **other}.items()]
            words = ["encode", "-q", "-f", "-c", program, "-o", self.container, *inputs]
            return self.bad(status, *words, says=says) if status else self.good(*words)

        encode(0)
        self.good("decode", "-q", "--format", "csv", "-o", self.dir / "out", self.container)
        self.assertEqual((self.dir / "out" / "t.csv").read_text(), "a\nabc\n\n")
        encode(says=["ZF2009", "elements of type <u8, but offsets need <i8\n", "offsets.npy"], offsets=array("<u8", bytes(24)))
        encode(says=["ZF2009", "elements of type |b1, but the bytes of strings need |u1\n", "bytes.npy"], bytes=array("|b1", bytes(6)))
        encode(says=["ZF2009", "elements of type |u1, but validity needs |b1\n", "valid.npy"], valid=array("|u1", b"\3"))
        for rows in (0, 1, 3, 8):
            encode(says=["ZF2006", f"valid.npy) has {rows} row{'s' * (rows != 1)}, but", "bytes.npy) has 2\n"], valid=array("|b1", b"\1" * rows))
        encode(says=["ZF2002", "the validity of a row of column `a` that is 2, not 0 or 1", f"valid.npy: byte {len(good['valid']) - 1}\n"],
               valid=array("|b1", b"\1\2"))
        encode(says=["ZF2017", "offset 1", f"offsets.npy: byte {begin + 8}\n"], offsets=array("<i8", struct.pack("<3q", 0, 7, 6)))
        encode(says=["ZF2010", "rows + 1"], offsets=array("<i8", b""))
        for part in good:
            encode(says=["ZF2009", "shape and size of the file differ"], **{part: good[part] + bytes(8)})
            encode(says=["ZF2009", "cut short"], **{part: good[part][:11]})
            encode(says=["ZF2009", "does not begin as one"], **{part: good[part][begin:]})

    def test_no_rows_and_only_nulls(self):
        for count in (0, 1, 4096):
            self.encoded(self.write("t.csv", "a,b,c,d,e", [["", "", None, "", ""]] * count))
            out = self.dir / f"out{count}"
            self.good("decode", "-q", "-o", out, self.container)
            self.assertEqual(self.decoded(out), [["", "", None, "", ""]] * count)

    def test_modules_decode_them(self):
        rows = self.rows()
        self.encoded(self.write("t.csv", "a,b,c,d,e", rows))
        module, out = self.dir / "t.zfm", self.dir / "out"
        self.good("compile", "-q", "--target", "host", "-o", module, f"{self.program}:t")
        self.good("decode", "-q", "--module", module, "-o", out, self.container)
        self.assertEqual(self.decoded(out), rows)

    def test_on_the_emulated_gpu(self):
        self.encoded(self.write("t.csv", "a,b,c,d,e", self.rows()))
        self.same_on_emulator()

    def test_rows_that_a_warp_copies_in_other_ways(self):
        """Batches of 128 strings: none longer than 64 bytes, or one; together 2032 bytes or more; together more than a MiB."""
        chosen = random.Random(7)
        lengths = [15] * 128 + [16] * 127 + [0] + [16] * 127 + [1] + [64] + [0] * 127 + [65] + [7] * 127 + [9001] * 150 + [0] * 100
        lengths += [chosen.choice([0, 3, 40]) for _ in range(120)]
        rows = [["".join(chosen.choices("abcdefgh", k=length)), "", None, "", ""] for length in lengths]
        self.encoded(self.write("t.csv", "a,b,c,d,e", rows))
        self.same_on_emulator((f"0..{len(rows)}", "100..700"))

    def test_groups_longer_than_their_strings(self):
        text = """algorithm cut(tokens: u32[], entries: string[], param n: u64) -> u8[] group_parallel {
    groups = tokens.len;
    size(g) = n;
    decode(g, j) = entries[tokens[g]][j];
    encode(x) {
        n = 4;
        for k in 0..x.len / 4 { tokens.push(entries.intern(x[4 * k .. 4 * k + (k == SHORT ? 3 : 4)])); }
    }
}
table t { c: u8 = cut(entries: strings); }
"""
        values = [(k // 4 * 7 + k) % 200 for k in range(16000)]
        source = self.file("c.raw", bytes(values))
        short = self.file("short.zf", text.replace("SHORT", "2000"))
        self.bad(1, "encode", "-q", "-c", short, "-o", self.container, f"c={source}", says=["ZF1301", "row 4096", "short.zf:4"])
        whole = self.file("whole.zf", text.replace("SHORT", "9999"))
        self.good("encode", "-q", "-c", whole, "-o", self.container, f"c={source}")
        self.good("decode", "-q", "-o", self.dir / "out", "--rows", "4093..13001", self.container)
        self.assertEqual((self.dir / "out" / "c.u8").read_bytes(), bytes(values[4093:13001]))

    def test_other_verbs(self):
        self.encoded(self.write("t.csv", "a,b,c,d,e", self.rows()))
        self.assertEqual(self.good("inspect", self.container).count(" with offsets)"), 5)
        for column in json.loads(self.good("inspect", "--json", self.container))["columns"]:
            offsets = (column["ratio_with_offsets"] - column["ratio"]) * column["stored_bytes"]
            self.assertAlmostEqual(offsets, 8 * (ROWS + 1), places=1)
        self.assertIn("strings", self.good("bench", "--bytes", 1000000, "--repeats", 5, self.container))
        self.good("explain", f"{self.program}:t")
        program = self.file("p.zf", "table t { a: string = plain; }\n")
        source = self.write("a.csv", "a", [["x"]])
        self.bad(1, "encode", "-q", "-c", program, "-o", self.dir / "p.zfd", source, says=["ZF0804", "cannot be stored", "`strings`"])

    def test_raw_files_that_do_not_fit(self):
        """Offsets end where the bytes do, and a bitmap where the rows do."""
        program = self.file("fit.zf", "table t { a: string? = nullable(values: strings); }\n")
        valid = f"a.valid={self.file('v', bits([True, True]))}"
        for offsets, content in [((0, 3, 5), b"abcdef"), ((0, 3, 7), b"abcdef"), ((0,), b"abcde"), ((0, 4, 3), b"abc")]:
            o, b = f"a.offsets={self.file('o', struct.pack(f'<{len(offsets)}q', *offsets))}", f"a.bytes={self.file('b', content)}"
            self.bad(1, "encode", "-q", "-c", program, "-o", self.container, o, b, valid, says=["ZF2017"])
            if offsets[-1] < len(content) and list(offsets) == sorted(offsets):
                self.bad(1, "encode", "-q", "-c", program, "-o", self.container, o, b, valid, says=[o, b, str(offsets[-1])])
        o, b = f"a.offsets={self.file('o', struct.pack('<3q', 0, 3, 6))}", f"a.bytes={self.file('b', b'abcdef')}"
        self.bad(1, "encode", "-q", "-c", program, "-o", self.container, o, valid, says=["has offsets but no bytes", "a.bytes=FILE"])
        for size in (0, 2, 8):
            wrong = f"a.valid={self.file('w', bytes([3] * size))}"
            self.bad(1, "encode", "-q", "-c", program, "-o", self.container, o, b, wrong, says=["ZF2010", f"{size} bytes"])
        self.good("encode", "-q", "-c", program, "-o", self.container, o, b, valid)


if __name__ == "__main__":
    del sys.argv[1]
    unittest.main()
