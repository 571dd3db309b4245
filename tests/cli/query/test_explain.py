"""`zfc explain FILE.zf:QUERY`: which columns the kernels of a query make, compared with what a run on the emulated GPU does. Usage: test_explain.py ZFC
[unittest arguments]"""

import json
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import zfc_case  # noqa: E402

PROGRAM = """
table t {
    a: i32 = bitpack;
    s: string = dictionary(bitpack, strings(bitpack));
    w: string = strings(bitpack);
    d: i64 = delta(bitpack);
    r: u16 = rle(bitpack, bitpack);
    x: f64 = plain;
    b: bool = plain;
    two: u8 = dictionary(bitpack) | plain;
}
query maps(t) { result n: i64[3] = sum; each { if b { n[two & 1] += a; } } }
query states(t) { result n: i64 = sum; each { if s == "x" { n += d * r; } } }
query words(t) { result n: i64 = sum; each { if s == "y" && ends(w, "5") { n += 1; } } }
query several(t) { result n: i64 = sum; each { if s == w { n += 1; } if s == "x" || a > 3 { n += 2; } if a > 3 { if s == "y" { n += 3; } } } }
query assigned(t) { result n: i64 = sum; each { var k = 0; if s == "x" { k = a; } n += k; } }
query kept(t) { result n: i64 = sum; each { require a < 9; if a > 3 && s == "y" { n += 1; } } }
query order(t) { result f: f64 = sum; each { f += x; } }
query chosen(t) { param least: i64 = 2; input keys: bool[]; result id: u64 = select; each { if keys[a] && a > least { select id = row as u64; } } }
query nothing(t) { result n: i64 = sum; each { n += 1; } }
query pair(pairs) { param n: u32 = 2; result c: i64 = sum; each i in 0..n, j in i..n { c += j; } }
"""
FUSED = {"maps": {"a": True, "b": True, "two": True}, "states": {"s": True, "d": False, "r": False}, "words": {"s": True, "w": False}, "several": {"s": True, "w": False, "a": True}, "assigned": {"s": True, "a": True}, "kept": {"s": True, "a": True}, "order": {"x": True}, "chosen": {"a": True}, "nothing": {}}


class Explain(zfc_case.Case):
    def setUp(self):
        super().setUp()
        self.program = self.file("t.zf", PROGRAM)

    def report(self, name, *words):
        return json.loads(self.good("explain", "--json", *words, f"{self.program}:{name}"))

    def test_columns(self):
        rows = "".join(f"{i % 7},{'xyz'[i % 3]},w{i},{i * 3},{i // 40},{i / 4},{'true' if i % 2 else 'false'},{i % 5}\n" for i in range(3000))
        container = self.dir / "t.zfd"
        self.good("encode", "-q", "-c", self.program, "-o", container, self.file("t.csv", "a,s,w,d,r,x,b,two\n" + rows))
        for name, columns in FUSED.items():
            found = {column["name"]: column for column in self.report(name)["columns"]}
            self.assertEqual({column: of["fused"] for column, of in found.items()}, columns, name)
            for of in found.values():
                self.assertEqual(of["why"] is None, of["fused"])
                self.assertEqual(of["by_entries"], of["name"] == "s" and name not in ("several", "assigned", "kept"), (name, of))
            inputs = ["--input", f"keys={self.file('keys.bool', bytes([255]))}"] if name == "chosen" else []
            ran = json.loads(self.good("query", "--json", "--device", "emu", *inputs, f"{self.program}:{name}", container))["device"]
            self.assertEqual((ran["fused"], ran["decoded"]), (sum(columns.values()), len(columns) - sum(columns.values())), name)

    def test_rows(self):
        for name, why in (("maps", None), ("order", "sums of floats"), ("chosen", "`select`")):
            report = self.report(name, "--target", "emu")
            self.assertEqual((report["target"], report["tile"]), ("emu", 2048 if why is None else 1024))
            self.assertEqual(report["one_row_a_lane"] is None, why is None)
            self.assertIn(why or "", report["one_row_a_lane"] or "")
        self.assertEqual(self.report("pair")["table"], "pairs")

    def test_text(self):
        text = self.good("explain", f"{self.program}:chosen")
        for line in ("query chosen(t)", "param least: i64, with a default", "input keys: bool[]", "result id: u64, select", "  a: i32 = bitpack", "fused: the"):
            self.assertIn(line, text)
        text = self.good("explain", f"{self.program}:states")
        for line in ("d: i64 = delta(deltas: bitpack)\n    decoded first (form scan): a row", "fused: the query's kernel makes its elements; a condition on it alone may be evaluated once for each entry", "decoded first (form groups): a row"):
            self.assertIn(line, text)
        self.assertIn("query pair(pairs)", self.good("explain", f"{self.program}:pair"))
        self.assertIn("dictionary(codes: bitpack)", self.good("explain", f"{self.program}:maps"))

    def test_refused(self):
        for words in (["--emit", "ptx"], ["--choices"], ["--shaping", "3"]):
            self.bad(2, "explain", *words, f"{self.program}:maps", says=["ZF2014", "is a query"])
        self.bad(2, "explain", "--target", "host", f"{self.program}:maps", says=["ZF2014", "a CPU decodes all columns"])
        self.bad(1, "explain", f"{self.program}:map", says=["ZF2013", "query `map`", "maps"])


def setUpModule():
    zfc_case.cache_of_module()


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
