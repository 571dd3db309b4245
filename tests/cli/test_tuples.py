"""Tuples of shaping values: what `zfc explain` and `zfc bench` report of blocks with general code, and the option that gives more
tuples code of their own. Usage: test_tuples.py ZFC [unittest arguments]"""

import array
import json
import re
import sys
import unittest

sys.dont_write_bytecode = True
import zfc_case  # noqa: E402

BLOCK, WIDTHS, ROWS = 4096, 13, 12 * 4096 + 100
PROGRAM = "table t { a: i32 = bitpack; b: i32 = bitpack; c: i32 = dictionary(bitpack) | bitpack; d: i32 = plain; }\n"
GENERAL = (WIDTHS - 8, 4 * BLOCK + 100)  # blocks and rows beyond the eighth tuple
SENTENCE = (f"{WIDTHS} tuples of shaping values occur, {GENERAL[0]} without code of their own: {GENERAL[0]} of {WIDTHS} blocks "
            f"({GENERAL[1]} of {ROWS} rows) run the general code, which is slower; --shaping-tuples {WIDTHS} gives each tuple its own\n")


def setUpModule():
    zfc_case.cache_of_module()


def ints(values):
    return array.array("i", values).tobytes()


def without_sources(shown):
    """Encoders have places of their refusals: the number of a source in the upper 32 bits. A text comes with the library's sources, a file does not."""
    return re.sub(r"\bi64 (\d{10,})\b", lambda found: f"i64 {int(found[1]) & 0xffffffff}", shown)


class Tuples(zfc_case.Case):
    def setUp(self):
        super().setUp()
        self.program = self.file("t.zf", PROGRAM)
        self.container = self.dir / "t.zfd"
        widths = [k // BLOCK + 1 for k in range(ROWS)]
        a = ints((k * 2654435761 >> 7) % 2**widths[k] if k % BLOCK > 1 else (2**widths[k] - 1) * (k % BLOCK) for k in range(ROWS))
        b = ints((k * 2654435761 >> 7) % 2**(widths[k] % 3 + 1) if k % BLOCK > 1 else (2**(widths[k] % 3 + 1) - 1) * (k % BLOCK) for k in range(ROWS))
        c = ints((k % 3) * 10**8 % (2**31 - 1) if widths[k] % 2 else k % 2**(widths[k] + 1) for k in range(ROWS))
        self.good("encode", "-q", "-c", self.program, "-o", self.container, "--rows-per-block", BLOCK,
                  *(f"{name}={self.file(name, data)}" for name, data in (("a", a), ("b", b), ("c", c), ("d", b))))

    def tuples(self, *words):
        return {c["column"]: c["tuples"] for c in json.loads(self.good("explain", "--json", *words))["columns"]}

    def test_explain(self):
        shown = self.good("explain", self.container)
        self.assertEqual(shown.count("tuples of shaping values"), 1, shown)
        self.assertIn(SENTENCE, shown)
        self.assertIn(SENTENCE, self.good("explain", f"{self.container}:t.a"))
        for words in ((f"{self.container}:t.b",), ("--shaping-tuples", WIDTHS, self.container), (self.program,)):
            self.assertNotIn("tuples of shaping values", self.good("explain", *words))
        one = self.good("explain", "--shaping-tuples", WIDTHS - 1, f"{self.container}:t.a")
        self.assertIn(f"{WIDTHS} tuples of shaping values occur, 1 without code of its own: 1 of {WIDTHS} blocks (100 of {ROWS} rows) runs the", one)

    def test_explain_as_json(self):
        of = self.tuples(self.container)
        self.assertEqual(of["a"], {"occur": WIDTHS, "limit": 8, "general_tuples": GENERAL[0], "general_blocks": GENERAL[0], "general_rows": GENERAL[1]})
        self.assertEqual((of["b"]["occur"], of["b"]["general_blocks"]), (3, 0))
        self.assertGreater(of["c"]["occur"], 1)
        self.assertEqual(of["c"]["general_blocks"], 0)
        self.assertEqual(of["d"]["occur"], 0)
        self.assertEqual(self.tuples("--shaping-tuples", "3", self.container)["a"]["general_blocks"], WIDTHS - 3)
        self.assertEqual(set(self.tuples(self.program).values()), {None})

    def test_explain_of_a_file_is_that_of_its_program(self):
        text = self.file("carried.zf", self.good("inspect", "--program", self.container))
        for words in ((), ("--emit", "plan"), ("--emit", "llvm"), ("--choices",)):
            of_file = self.good("explain", *words, self.container).replace(SENTENCE, "")
            of_text = self.good("explain", *words, text)
            self.assertEqual(without_sources(of_file.replace("t.zf:", "")), without_sources(of_text.replace(f"{text}:", "")), words)
        self.bad(1, "explain", f"{self.container}:t.x", says="no table, column, codec or query `t.x`")
        self.bad(1, "explain", self.file("cut.zfd", self.container.read_bytes()[:-9]), says="error[ZF")

    def bench(self, *words):
        words = ("--bytes", "1", "--repeats", "5", *words)
        return self.good("bench", *words), {r["column"]: r["tuples"] for r in json.loads(self.good("bench", "--json", *words))["results"]}

    def test_bench(self):
        for device in ("cpu", "emu"):
            printed, of = self.bench("--device", device, "--columns", "a,b", self.container)
            self.assertEqual(printed.count("tuples of shaping values"), 1, printed)
            self.assertIn("  " + SENTENCE, printed)
            self.assertEqual(of["a"], {"occur": WIDTHS, "limit": 8, "general_tuples": GENERAL[0], "general_blocks": GENERAL[0], "general_rows": GENERAL[1]})
            self.assertEqual(of["b"], {"occur": 3, "limit": 8, "general_tuples": 0, "general_blocks": 0, "general_rows": 0})
        for option in (("--shaping-tuples", "40"), ("--general",)):
            printed, of = self.bench("--device", "cpu", *option, "--columns", "a", self.container)
            self.assertNotIn("tuples of shaping values", printed)
            self.assertEqual((of["a"]["occur"], of["a"]["general_blocks"]), (WIDTHS, 0))

    def test_bench_with_modules(self):
        module = self.dir / "t.zfm"
        self.good("compile", "-q", "--target", "host", "-o", module, self.container)
        printed, of = self.bench("--device", "cpu", "--module", module, "--columns", "a", self.container)
        self.assertNotIn("tuples of shaping values", printed)
        self.assertEqual((of["a"]["limit"], of["a"]["general_blocks"]), (0, 0))
        self.good("compile", "-q", "-f", "--target", "host", "-o", module, self.program)
        printed, of = self.bench("--device", "cpu", "--module", module, "--columns", "a", self.container)
        self.assertIn(f"{WIDTHS} of {WIDTHS} blocks ({ROWS} of {ROWS} rows) run the general code, which is slower; the module has no other\n", printed)
        self.assertEqual(of["a"]["general_rows"], ROWS)

    def test_rows_are_the_same(self):
        outs = []
        for device in ("cpu", "emu"):
            for count in ("1", "8", "256"):
                out = self.dir / f"{device}{count}"
                self.good("decode", "-q", "--device", device, "--shaping-tuples", count, "-o", out, self.container)
                self.good("verify", "-q", "--device", device, "--shaping-tuples", count, self.container)
                outs.append([(out / f"{name}.i32").read_bytes() for name in "abcd"])
        self.assertTrue(all(out == outs[0] for out in outs))
        self.good("pipeline", "--device", "cpu", "--shaping-tuples", "20", self.container)

    def test_bad_numbers(self):
        for value in ("0", "257", "x", "-1"):
            self.bad(2, "explain", f"--shaping-tuples={value}", self.container, says="--shaping-tuples needs a number from 1 to 256")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
