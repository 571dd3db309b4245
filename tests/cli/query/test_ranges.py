"""Conditions of queries that are ranges of numbers, compared with counts made here. Usage: test_ranges.py ZFC [unittest arguments]"""

import array
import json
import pathlib
import random
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import zfc_case  # noqa: E402


class Ranges(zfc_case.Case):
    """`x >= low && x <= high` is one comparison on a GPU, whatever the bounds are, and so is `x < high` there."""

    TYPES = {"a": ("i8", "b"), "b": ("i32", "i"), "c": ("u64", "Q"), "d": ("i64", "q")}
    ROWS = 9000

    def setUp(self):
        super().setUp()
        columns = "".join(f"{name}: {of} = plain;" for name, (of, _) in self.TYPES.items())
        params = "".join(f"param low_{name}: {of}; param high_{name}: {of}; result n_{name}: i64 = sum; result m_{name}: i64 = sum;" for name, (of, _) in self.TYPES.items())
        terms = "".join(f"if {name} >= low_{name} && {name} {op} high_{name} && w >= 2 && w <= 250 && w != 9 {{ {result}_{name} += 1; }}"
                        for name in self.TYPES for result, op in (("n", "<="), ("m", "<")))
        self.program = self.file("r.zf", f"table t {{ {columns} w: u8 = bitpack; }} query q(t) {{ {params} each {{ {terms} }} }}")

    def test_bounds(self):
        chosen = random.Random(5)
        ends = {name: (0, 2 ** int(of[1:]) - 1) if of[0] == "u" else (-(2 ** (int(of[1:]) - 1)), 2 ** (int(of[1:]) - 1) - 1) for name, (of, _) in self.TYPES.items()}
        values = {name: [chosen.choice([least, least + 1, most - 1, most, 0, 1, chosen.randrange(least, most + 1)]) for _ in range(self.ROWS)] for name, (least, most) in ends.items()}
        w = bytes(chosen.randrange(256) for _ in range(self.ROWS))
        files = [f"{name}={self.file(name, array.array(code, values[name]).tobytes())}" for name, (_, code) in self.TYPES.items()]
        self.good("encode", *files, f"w={self.file('w', w)}", "-c", self.program, "-o", self.dir / "r.zfd")
        bounds = [lambda least, most: (least, most), lambda least, most: (most, least), lambda least, most: (1, 0), lambda least, most: (1, 1),
                  lambda least, most: (least, least), lambda least, most: (most, most), lambda least, most: (least + 1, most - 1), lambda least, most: (most // 2, most)]
        found = set()
        for number, of in enumerate(bounds):
            given, wanted = [], {}
            for name, (least, most) in ends.items():
                low, high = of(least, most)
                given += ["--param", f"low_{name}={low}", "--param", f"high_{name}={high}"]
                rows = [value for k, value in enumerate(values[name]) if 2 <= w[k] <= 250 and w[k] != 9]
                wanted |= {f"n_{name}": sum(low <= value <= high for value in rows), f"m_{name}": sum(low <= value < high for value in rows)}
            for device in ("emu", "emu64" if number % 4 == 0 else "cpu"):
                report = json.loads(self.good("query", "--json", f"{self.program}:q", self.dir / "r.zfd", "--device", device, *given))
                self.assertEqual(report["results"], wanted, (number, device))
            found |= set(wanted.values())
        self.assertGreater(len(found), 15, "the bounds exclude the same rows")

    def test_failures(self):
        """A range that excludes all rows comes too late for a failure before it."""
        program = self.file("f.zf", """
table t { a: i32 = bitpack; b: i32 = bitpack; w: u8 = bitpack; }
query between(t) { param low: i32; param high: i32; result n: i64 = sum; each { if a >= 1 && a <= 9 && 10 / w > 1 && b >= low && b <= high { n += 1; } } }
query within(t) { param low: i32; param high: i32; result n: i64 = sum; each { if a >= 1 && a <= 9 && 10 / w >= low && 10 / w <= high { n += 1; } } }
query behind(t) { param low: i32; param high: i32; result n: i64 = sum; each { if a >= 1 && a <= 9 && b >= low && b <= high && 10 / w > 1 { n += 1; } } }
""")
        rows = range(self.ROWS)
        files = [f"{name}={self.file(f'f.{name}', array.array(code, map(of, rows)).tobytes())}"
                 for name, code, of in (("a", "i", lambda k: k % 11), ("b", "i", lambda k: k % 13), ("w", "B", lambda k: k % 7))]
        self.good("encode", *files, "-c", program, "-o", self.dir / "f.zfd")
        for device in ("cpu", "emu"):
            words = [self.dir / "f.zfd", "--device", device, "--param", "low=5", "--param", "high=4"]
            for query in ("between", "within"):
                self.bad(1, "query", f"{program}:{query}", *words, says=["row 7"])
            self.assertEqual(json.loads(self.good("query", "--json", f"{program}:behind", *words))["results"], {"n": 0})


def setUpModule():
    zfc_case.cache_of_module()


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
