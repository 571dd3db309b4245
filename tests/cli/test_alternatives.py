"""Alternatives `a | b | c`: which one a block takes, how that is shown, and that blocks which took different ones decode together.
Usage: test_alternatives.py ZFC [unittest arguments]"""

import array
import csv
import itertools
import json
import os
import random
import sys
import unittest

sys.dont_write_bytecode = True
import zfc_case  # noqa: E402

BLOCK = 4096
ALONE = {  # what each block is made for
    "runs": "rle(bitpack, bitpack)",
    "steps": "delta(bitpack)",
    "few": "dictionary(bitpack)",
    "small": "bitpack",
    "ramps": "delta_stride(bitpack, bitpack, bitpack)",
}
# Blocks of `c` in this order; the last one is short.
ORDER = ["runs", "ramps", "steps", "few", "few", "small", "runs"]


def block_of(kind, rows, chosen):
    if kind == "runs":
        return [value for value in (chosen.randrange(-2**31, 2**31) for _ in range(rows)) for _ in range(chosen.choice([1, 9]))][:rows]
    if kind == "steps":
        return list(itertools.accumulate((chosen.randrange(100000) for _ in range(rows)), initial=-2**31))[:rows]
    if kind == "few":
        values = [chosen.randrange(-2**31, 2**31) for _ in range(4)]
        return [chosen.choice(values) for _ in range(rows)]
    if kind == "ramps":
        return [start + step * k for start, step in ((chosen.randrange(2**30), chosen.randrange(1000)) for _ in range(rows // 64 + 1))
                for k in range(64)][:rows]
    return [chosen.randrange(300) for _ in range(rows)]


class Case(zfc_case.Case):
    def write(self, columns, program, *more):
        """A container of columns of i32."""
        inputs = []
        for name, values in columns.items():
            path = self.dir / f"{name}.raw"
            path.write_bytes(array.array("i", values).tobytes())
            inputs.append(f"{name}={path}")
        text = " ".join(f"{name}: i32 = {codec};" for name, codec in program.items())
        self.file("t.zf", f"table t {{ {text} }}\n")
        self.container = self.dir / "t.zfd"
        return self.zfc("encode", "-f", "-c", self.dir / "t.zf", "-o", self.container, "--rows-per-block", BLOCK, *more, *inputs)

    def inspected(self, *more):
        return {column["column"]: column for column in json.loads(self.good("inspect", "--json", *more, self.container))["columns"]}


class Chosen(Case):
    def setUp(self):
        super().setUp()
        chosen = random.Random(3)
        self.values = [v for k, kind in enumerate(ORDER) for v in block_of(kind, BLOCK if k + 1 < len(ORDER) else 1000, chosen)]

    def write_all(self):
        """The column with its alternatives, `c`, and each alternative on its own."""
        names = {f"c_{kind}": codec for kind, codec in ALONE.items()}
        result = self.write({name: self.values for name in ["c", *names]}, {"c": " | ".join(ALONE.values()), **names})
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_smallest_is_taken(self):
        self.write_all()
        columns = self.inspected()
        for k, kind in enumerate(ORDER):
            sizes = {name: columns[f"c_{name}"]["blocks"][k]["bytes"] for name in ALONE}
            least = min(sizes, key=sizes.get)
            self.assertEqual(least, kind, sizes)  # the block is what it is made for
            self.assertGreater(sorted(sizes.values())[1] - sizes[least], 256, sizes)  # by more than padding
            block = columns["c"]["blocks"][k]
            self.assertEqual(block["codec"], columns[f"c_{kind}"]["blocks"][k]["codec"])
            self.assertEqual(block["branches"], [list(ALONE).index(kind)])
            self.assertEqual(block["bytes"], sizes[least])
            self.assertEqual(columns[f"c_{kind}"]["blocks"][k]["branches"], [])

    def test_which_is_shown(self):
        self.write_all()
        text = self.good("inspect", "--columns", "c", self.container)
        for line in ("    2 as rle(values: bitpack, counts: bitpack): blocks 0, 6\n", "    1 as delta_stride(start: bitpack, stride: bitpack, count: bitpack): block 1\n",
                     "    2 as dictionary(codes: bitpack): blocks 3, 4\n", "    1 as delta(deltas: bitpack): block 2\n",
                     "    1 as bitpack: block 5\n"):
            self.assertIn(line, text)
        self.assertNotIn(" as ", self.good("inspect", "-v", "--columns", "c_few", self.container))
        lines = self.good("inspect", "-v", "--columns", "c", self.container).splitlines()
        shown = [lines[k + 1].strip() for k, line in enumerate(lines) if line.startswith("    block ") and "rows" in line]
        self.assertEqual(shown[:2] + shown[3:4], ["as rle(values: bitpack, counts: bitpack)",
                                                   "as delta_stride(start: bitpack, stride: bitpack, count: bitpack)", "as dictionary(codes: bitpack)"])
        column = self.inspected("--columns", "c")["c"]
        for alternative in column["alternatives"]:
            taken = [block for block in column["blocks"] if block["branches"] == alternative["branches"]]
            self.assertEqual(len(taken), alternative["blocks"])
            self.assertEqual({block["codec"] for block in taken}, {alternative["codec"]})

    def test_decode_together(self):
        self.write_all()
        module = self.dir / "t.zfm"
        general = self.dir / "general.zfm"
        self.good("compile", "-q", "--target", "host", "-o", module, self.container)
        self.good("compile", "-q", "--target", "host", "-o", general, self.dir / "t.zf")
        ways = [(), ("--device", "emu"), ("--module", module), ("--module", general)]
        for way in ways:
            self.good("verify", "-q", "--columns", "c", *way, self.container)
            for first, last in ((0, len(self.values)), (BLOCK - 3, BLOCK + 5), (100, 3 * BLOCK + 1), (5 * BLOCK - 1, len(self.values)),
                                (2 * BLOCK, 3 * BLOCK), (6 * BLOCK + 10, 6 * BLOCK + 10)):
                self.good("decode", "-q", "-f", "--columns", "c", "--rows", f"{first}..{last}", *way, "-o", self.dir / "out", self.container)
                got = (self.dir / "out/c.i32").read_bytes()
                self.assertEqual(got, array.array("i", self.values[first:last]).tobytes(), f"{way}, {first}..{last}")

    def test_within_a_nest(self):
        """Each edge chooses alone: runs whose values climb, or whose values are few."""
        chosen = random.Random(4)
        climbing = list(itertools.accumulate(chosen.randrange(10**6) for _ in range(BLOCK // 2)))
        few = [chosen.choice([5, -2**31, 2**31 - 1]) for _ in range(BLOCK // 2)]
        values = [v for half in (climbing, few, climbing) for v in half for _ in range(2)]
        program = {"c": "rle(values: delta(bitpack) | dictionary(bitpack), counts: rle(bitpack, bitpack) | bitpack) | plain"}
        self.assertEqual(self.write({"c": values}, program).returncode, 0)
        column = self.inspected()["c"]
        codecs = [block["codec"] for block in column["blocks"]]
        self.assertIn("rle(values: delta(deltas: bitpack)", codecs[0])
        self.assertIn("rle(values: dictionary(codes: bitpack)", codecs[1])
        self.assertEqual(codecs[0], codecs[2])
        for way in ((), ("--device", "emu")):
            self.good("decode", "-q", "-f", *way, "-o", self.dir / "out", self.container)
            self.assertEqual((self.dir / "out/c.i32").read_bytes(), array.array("i", values).tobytes())


class OfOtherTypes(Case):
    """Strings, nulls and chunks: blocks of one column that are delivered together and were made in different ways."""

    PROGRAM = """table t {
    s: string = dictionary(codes: bitpack, entries: strings) | rle(values: strings(bitpack), counts: bitpack) | strings(lengths: bitpack);
    n: i32? = rle(values: nullable(values: bitpack), counts: bitpack) | nullable(values: bitpack);
    b: bool = set_gaps(bitpack) | roaring | plain;
    c: i32 = gpu_rfor | gpu_for | bitpack;
}
"""

    def rows(self):
        chosen = random.Random(6)
        rows, run = [], []
        for k in range(4 * BLOCK + 77):
            block = k // BLOCK
            if k % 50 == 0 or block == 3:
                run = [f"row {chosen.randrange(10**6)} {'x' * chosen.randrange(20)}", chosen.choice(["", str(chosen.randrange(99))])]
            few = chosen.choice(["AIR", "TRUCK", "", "a \"quoted\" one"])
            rows.append([few if block % 2 == 0 else run[0], run[1], str(chosen.random() < (0.01, 0.5, 0.001, 0.2, 0.9)[block]).lower(),
                         str(k // 60 if block % 2 == 0 else chosen.randrange(1000))])
        return rows

    def test_decode_together(self):
        rows = self.rows()
        with open(self.dir / "t.csv", "w", newline="") as out:
            csv.writer(out).writerows([["s", "n", "b", "c"], *rows])
        container, module = self.dir / "t.zfd", self.dir / "t.zfm"
        self.good("encode", "-q", "-c", self.file("t.zf", self.PROGRAM), "-o", container, "--rows-per-block", BLOCK, self.dir / "t.csv")
        for column in json.loads(self.good("inspect", "--json", container))["columns"]:
            self.assertGreater(len({block["codec"] for block in column["blocks"]}), 1, f"{column['column']}: all blocks took the same")
        self.good("compile", "-q", "--target", "host", "-o", module, container)
        for way in ((), ("--module", module)):
            self.good("verify", "-q", *way, container)
            for first, last in ((0, len(rows)), (BLOCK - 9, BLOCK + 11), (3, 3 * BLOCK + 1), (4 * BLOCK - 1, len(rows))):
                self.good("decode", "-q", "-f", "--format", "csv", "--rows", f"{first}..{last}", *way, "-o", self.dir / "out", container)
                with open(self.dir / "out/t.csv", newline="") as got:
                    self.assertEqual(list(csv.reader(got))[1:], rows[first:last], f"{way}, {first}..{last}")


class Refused(Case):
    def test_of_equal_ones_the_first(self):
        values = [random.Random(1).randrange(-2**31, 2**31) for _ in range(BLOCK)]
        self.assertEqual(self.write({"c": values}, {"c": "byte_stream_split | plain | zigzag"}).returncode, 0)
        self.assertEqual(self.inspected()["c"]["blocks"][0]["codec"], "byte_stream_split")

    def test_all_refuse(self):
        result = self.write({"c": [1, 2, 3]}, {"c": "constant | rle(values: constant, counts: plain)"})
        self.assertEqual(result.returncode, 1)
        self.assertIn("ZF0602", result.stderr)
        self.assertIn("the values differ", result.stderr)
        self.assertFalse(self.container.exists())

    def test_what_cannot_be_stored_never_wins(self):
        """`plain` of strings and of nullable values would be smaller here, but files hold neither."""
        self.file("t.zf", "table t { s: string = strings(bytes: rle) | plain; n: i32? = plain | nullable(values: dictionary); }\n")
        chosen = random.Random(4)
        numbers = chosen.sample(range(-2**31, 2**31), 4000)
        rows = [["abcdefghijklmnopqrstuvwxyz" if k % 2 else "", "" if k % 97 == 5 else n] for k, n in enumerate(numbers)]
        self.file("t.csv", "s,n\n" + "".join(f"{s},{n}\n" for s, n in rows))
        self.container = self.dir / "t.zfd"
        self.good("encode", "-c", self.dir / "t.zf", "-o", self.container, self.dir / "t.csv")
        self.assertEqual([c["blocks"][0]["branches"] for c in self.inspected().values()], [[0], [1]])
        self.good("decode", "--format", "csv", "-o", self.dir / "out", self.container)
        with open(self.dir / "out" / "t.csv", newline="") as file:
            self.assertEqual(list(csv.reader(file))[1:], [[s, str(n)] for s, n in rows])

    def test_why_each_refused(self):
        self.file("t.zf", """table t {
    s: string = plain
        | raw(plain)
        | strings(lengths: constant,
                  bytes: plain);
}
algorithm raw(values: string[]) -> string[] fully_parallel { decode(i) = values[i]; encode(x) { values.append(x); } }
""")
        self.file("t.csv", "s\nab\nc\n")
        result = self.zfc("encode", "-c", self.dir / "t.zf", "-o", self.dir / "t.zfd", self.dir / "t.csv")
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("ZF0602", result.stderr)
        self.assertIn("column s, block 0", result.stderr)
        why = r"`plain<string>`: its stream `values` is of strings, which cannot be stored as they are; give it a codec, such as `strings`, "
        self.assertRegex(result.stderr, why + r"\S*t\.zf:2:17; values: " + why + r"\S*t\.zf:3:15; lengths: `constant<u32>` refuses: ")
        self.assertFalse((self.dir / "t.zfd").exists())

    def test_a_wrong_encoder(self):
        """What does not decode to its source counts as refused, and -v says so."""
        wrong = "algorithm wrong(s: u8[]) -> i32[] fully_parallel { decode(i) = 7; encode(x) { s.push(1); } }\n"
        self.file("wrong.zf", wrong + "table t { c: i32 = wrong | plain; }\n")
        source = self.file("t.csv", "c\n" + "7\n" * BLOCK + "8\n" * BLOCK)
        container = self.dir / "t.zfd"
        result = self.zfc("encode", "-v", "-c", self.dir / "wrong.zf", "-o", container, "--rows-per-block", BLOCK, source)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("block 1: the encoded block decodes to another value", result.stderr)
        self.assertNotIn("block 0:", result.stderr)
        blocks = json.loads(self.good("inspect", "--json", container))["columns"][0]["blocks"]
        self.assertEqual([block["codec"] for block in blocks], ["wrong", "plain"])
        self.good("verify", "-q", container)

    def test_alternatives_that_fail_are_told(self):
        """A refusal or failure of an alternative is no error if another takes the block; -v reports it."""
        bad = "algorithm oob(rest: i32[]) -> i32[] fully_parallel { decode(i) = rest[i]; encode(x) { for i in 0..x.len { rest.push(x[i + 1]); } } }\n"
        self.file("bad.zf", bad + "table t { c: i32 = oob | constant | plain; }\n")
        source = self.file("t.csv", "c\n1\n2\n")
        words = ("encode", "-c", self.dir / "bad.zf", "-o", self.dir / "t.zfd", source)
        said = self.zfc(*words, "-v").stderr
        self.assertRegex(said, r"column c, block 0: `oob`: encode leaves its bounds: .*; another alternative is taken")
        self.assertRegex(said, r"column c, block 0: `constant<i32>` refuses: .*; another alternative is taken")
        self.assertNotIn("alternative", self.zfc(*words, "-f").stderr)

    def test_columns_of_one_codec_share_code(self):
        self.file("same.zf", "table t { a: i32 = delta(bitpack); bb: i32 = delta(bitpack); ccc: i32 = delta(bitpack); }\n")
        self.file("one.zf", "table t { a: i32 = delta(bitpack); }\n")
        kept = []
        for name in ("one", "same"):
            cache = self.dir / name
            env = {**os.environ, "ZIPFLOW_CACHE_DIR": str(cache)}
            source = self.file("t.csv", "a,bb,ccc\n1,1,1\n2,2,2\n")
            self.good("encode", "-q", "-f", "-c", self.dir / f"{name}.zf", "-o", self.dir / "t.zfd", source, env=env)
            kept.append(len(list(cache.rglob("*.zfo"))))
        self.assertGreater(kept[0], 0)
        self.assertEqual(kept[0], kept[1])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
