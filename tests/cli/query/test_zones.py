"""`zfc query` over containers with zones: what is read, and that skipping changes no answer. Usage: test_zones.py ZFC PATCH_CONTAINER
[unittest arguments]"""

import array
import json
import pathlib
import random
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import zfc_case  # noqa: E402

PATCH = sys.argv[2]


class Case(zfc_case.Case):
    def report(self, *words):
        return json.loads(self.good("query", "--json", *words))

    def encode(self, program, text, name="t.zfd", *options):
        self.good("encode", self.file("in.csv", text), "-c", program, "-o", self.dir / name, "-f", "--zones", *options)
        return self.dir / name


class Sorted(Case):
    """A sorted column, of which a filter takes a thousandth."""

    ROWS, BLOCK = 200_000, 4096
    PROGRAM = """
table t { day: i32 = delta(bitpack); v: u16 = bitpack; w: f64 = plain; s: string = strings(bitpack); }
query some(t) {
    param first: i32 = 1000;
    result n: i64 = sum;
    result total: f64 = sum;
    each { if day >= first && day < first + 2 { n += v; total += w; } }
}
query every_row(t) { result n: i64 = sum; each { n += v; if day == 3 { n += 1; } } }
query hits(t) { result hit: bool = mask; result any_hit: bool = any; each { hit = day == 77; any_hit = any_hit || day == 77; } }
query rows(t) { result n: i64 = sum; each { if row >= 140000 && row < 140010 { n += v; } } }
query words(t) { result n: i64 = sum; each { if day >= 1000 && s == "w3" { n += v; } } }
query fails(t) { result n: i64 = sum; each { if day >= 1500 && day < 1502 { n += 1 / (v / 1000); } } }
query joined(t) { input year_of: u8[]; result n: i64 = sum; each { if year_of[day] == 3 { n += v; } } }
query never(t) { param on: bool = false; result n: i64 = sum; each { if on && v > 3 { n += 1; } } }
"""

    def setUp(self):
        super().setUp()
        chosen = random.Random(5)
        self.rows = [(k // 100, chosen.randrange(900), chosen.random()) for k in range(self.ROWS)]
        self.program = self.file("t.zf", self.PROGRAM)
        self.text = "day,v,w,s\n" + "".join(f"{day},{v},{w!r},w{v % 7}\n" for day, v, w in self.rows)
        self.container = self.encode(self.program, self.text, "t.zfd", "--rows-per-block", self.BLOCK)

    def both(self, query, *words, container=None):
        """The reports with and without skipping. They have the same results, and account for the same blocks."""
        given = f"{self.program}:{query}", container or self.container, *words
        skipped, full = self.report(*given), self.report(*given, "--no-skip")
        self.assertEqual(skipped["results"], full["results"])
        self.assertEqual((full["rows_skipped"], full["bytes_skipped"]), (0, 0))
        self.assertEqual(skipped["bytes_read"] + skipped["bytes_skipped"], full["bytes_read"])
        self.assertEqual(skipped["rows"], full["rows"])
        return skipped, full

    def blocks(self, container):
        return [column["blocks"] for column in json.loads(self.good("inspect", "--json", "-v", container))["columns"]]

    def test_a_thousandth(self):
        skipped, full = self.both("some")
        self.assertEqual(skipped["results"]["n"], sum(v for day, v, _ in self.rows if day in (1000, 1001)))
        self.assertGreaterEqual(skipped["rows_skipped"], self.ROWS - 2 * self.BLOCK)
        self.assertLess(skipped["bytes_read"], full["bytes_read"] / 20)
        blocks = self.blocks(self.container)[:3]
        self.assertEqual(full["bytes_read"], sum(block["bytes"] for column in blocks for block in column))
        # Only the blocks with those rows, of every column.
        read = sum(b["bytes"] for column in blocks for b in column if b["first_row"] < 100_200 and b["first_row"] + b["rows"] > 100_000)
        self.assertEqual(skipped["bytes_read"], read)
        self.assertIn(f"{skipped['rows_skipped']} of them skipped; {read} stored bytes read", self.zfc("query", "-v", f"{self.program}:some", self.container).stderr)

    def test_blocks_that_are_skipped_are_not_read(self):
        damaged = bytearray(self.container.read_bytes())
        for column in self.blocks(self.container):
            for block in column:
                if block["first_row"] + block["rows"] <= 100_000 or block["first_row"] >= 100_200:
                    damaged[block["offset"] + block["bytes"] // 2] ^= 0x11
        path = self.file("damaged.zfd", bytes(damaged))
        self.assertEqual(self.report(f"{self.program}:some", path)["results"], self.report(f"{self.program}:some", self.container)["results"])
        self.bad(1, "query", f"{self.program}:some", path, "--no-skip", says="ZF1324")

    def test_others(self):
        self.assertEqual(self.both("every_row")[0]["rows_skipped"], 0)  # a statement outside of any condition
        hits = self.both("hits")[0]
        self.assertEqual(sum(hits["results"]["hit"]), 100)
        self.assertGreater(hits["rows_skipped"], self.ROWS - 2 * self.BLOCK)
        rows = self.both("rows")[0]
        self.assertEqual(rows["results"]["n"], sum(v for _, v, _ in self.rows[140_000:140_010]))
        self.assertGreater(rows["rows_skipped"], self.ROWS // 2)
        years = self.file("years.u8", bytes(day // 100 for day in range(2000)))
        joined = self.both("joined", "--input", f"year_of={years}")[0]
        self.assertEqual(joined["results"]["n"], sum(v for day, v, _ in self.rows if day // 100 == 3))
        self.assertGreaterEqual(joined["rows_skipped"], self.ROWS - 10_000 - 2 * self.BLOCK)
        self.assertEqual(self.both("never")[0]["rows_skipped"], self.ROWS)
        self.assertEqual(self.both("never", "--param", "on=true")[0]["rows_skipped"], 0)
        some = self.both("some", "--param", "first=500", "--rows", "49000..50150")[0]
        self.assertEqual((some["rows"], some["results"]["n"]), (1150, sum(v for _, v, _ in self.rows[50_000:50_150])))
        self.assertGreater(some["rows_skipped"], 100)

    def test_zones_of_one_block(self):
        whole = self.encode(self.program, self.text, "whole.zfd", "--rows-per-block", self.ROWS)
        skipped, full = (self.report(f"{self.program}:some", whole, *words) for words in ((), ("--no-skip",)))
        self.assertEqual(skipped["results"], full["results"])
        self.assertEqual((skipped["rows_skipped"], skipped["bytes_skipped"]), (self.ROWS - 65536, 0))
        self.assertEqual(2 * skipped["bytes_read"], full["bytes_read"])  # by one batch of rows, and by two

    def test_batches_are_blocks(self):
        large = self.encode(self.program, self.text, "large.zfd", "--rows-per-block", 144 * 1024)
        day, v, w, s = ([block["bytes"] for block in column] for column in self.blocks(large))
        self.assertEqual(self.report(f"{self.program}:some", large, "--no-skip")["bytes_read"], sum(day + v + w))
        words = self.report(f"{self.program}:words", large, "--no-skip")
        self.assertEqual(words["bytes_read"], sum(day + v + s))
        self.assertEqual(words["results"]["n"], sum(v for day, v, _ in self.rows if day >= 1000 and v % 7 == 3))

    def test_devices(self):
        """Rows run from the first to the last that may matter, which are all of those in one range."""
        for query, *words in (("some",), ("hits",), ("rows",), ("some", "--rows", "99000..100150"), ("every_row",), ("never",)):
            given = f"{self.program}:{query}", self.container, *words
            on_cpu = self.report(*given)
            for more in ((), ("--decode-first",), ("--no-skip",)):
                on_device = self.report(*given, "--device", "emu", *more)
                self.assertEqual(on_device["results"], on_cpu["results"], (query, words, more))
                self.assertEqual(on_device["rows_skipped"], 0 if more == ("--no-skip",) else on_cpu["rows_skipped"], (query, words, more))

    def test_failure_behind_skipped_rows(self):
        for words in ((), ("--no-skip",), ("--device", "emu"), ("--device", "emu", "--no-skip")):
            self.bad(1, "query", f"{self.program}:fails", self.container, *words, says=["V07", "row 150000, ", "t.zf:"])

    def test_without_zones(self):
        self.good("encode", self.file("in.csv", self.text), "-c", self.program, "-o", self.dir / "no.zfd", "--rows-per-block", self.BLOCK)
        self.assertEqual(self.both("some", container=self.dir / "no.zfd")[0]["rows_skipped"], 0)


class Random(Case):
    """Random queries over random rows, of which conditions exclude some."""

    COLUMNS = {"a": "i32", "b": "u8", "c": "i64?", "d": "f64", "e": "f64?", "f": "bool", "g": "bool?", "s": "string", "u": "string?", "h": "f32"}
    CODECS = {"i64?": "nullable(values: plain)", "f64?": "nullable(values: plain)", "bool?": "nullable", "string": "strings", "string?": "nullable(values: strings)"}
    WORDS = ["", "ab", "abc", "b", "longer than eight", "longer then", "zz"]
    RESULTS = ["n += 1", "n += a * b", "total += d", "total += e * 0.1", "low = min(low, d)", "high = max(high, c)", "odd ^= a + row", "at[b] += a", "some = some || g",
               "every = every && a < 900", "of[b & 3] = of[b & 3] && f", "select id = row, v = d", "n += a / b", "n += tab[b]", "require b != 3 || a < 2000", "key[a & 1023] = b as u8"]

    def rows(self, chosen):
        """Values that wander, so that zones differ."""
        rows, a, b, d, word = [], 0, 0, 0.0, 0
        for k in range(chosen.choice([900, 5000, 12_000])):
            a += chosen.randrange(-2, 5)
            if chosen.random() < 0.02:
                b, d, word = chosen.randrange(12), chosen.choice([-1e9, 0.5, 3.25, 1e300, float("inf")]), chosen.randrange(len(self.WORDS))
            late = k // 400 % 3 == 1
            row = {"a": a, "b": b, "c": None if late or chosen.random() < 0.1 else a * 3, "d": float("nan") if chosen.random() < 0.01 else d + b / 8,
                   "e": None if late else d, "f": b > 5, "g": None if b < 2 else b > 8, "s": self.WORDS[word], "u": None if late else self.WORDS[word], "h": b / 4}
            rows.append(row)
        return rows

    def condition(self, chosen, depth=2):
        def number():
            return chosen.choice(["a", "b", "c", "row", "p", "tab[b]", "a + 3", "b * a", "c - a", "min(a, 50)", "a % 7", "a / b"])

        def real():
            return chosen.choice(["d", "e", "h", "d * 2.0", "e + h", "a as f64"])

        if depth > 0 and chosen.random() < 0.5:
            first, second = self.condition(chosen, depth - 1), self.condition(chosen, depth - 1)
            return chosen.choice([f"({first} && {second})", f"({first} || {second})", f"!({first})", f"({first} && {second})"])
        kind, sign = chosen.randrange(6), chosen.choice(["<", "<=", "==", "!=", ">", ">="])
        if kind < 2:
            return f"{number()} {sign} {chosen.choice([0, 3, 9, 50, 400, 3000, 20000])}"
        if kind == 2:
            return f"{real()} {sign} {chosen.choice(['0.0', '0.5', '3.5', '1e9', '1e301'])}"
        if kind == 3:
            return f"{chosen.choice('su')} {chosen.choice(['==', '!='])} {chosen.choice(['u', *map(json.dumps, self.WORDS)])}"
        return chosen.choice(["f", "g", "c == null", "e != null", "u == null"])

    def program(self, chosen, queries):
        lines = ["table t {", *(f"    {name}: {kind} = {self.CODECS.get(kind, 'plain')};" for name, kind in self.COLUMNS.items()), "}"]
        for k in range(queries):
            lines += [f"query q{k}(t) {{", "    param p: i64 = 7;", "    input tab: u8[];", "    result n: i64 = sum;", "    result total: f64 = sum;", "    result low: f64 = min;",
                      "    result high: i64 = max;", "    result odd: i64 = xor;", "    result at: i64[12] = sum;", "    result some: bool = any;", "    result every: bool = all;",
                      "    result of: bool[4] = all;", "    result hit: bool = mask;", "    result key: u8[1024] = set;", "    result id: i64 = select;", "    result v: f64 = select;", "    each {"]
            narrow = chosen.random() < 0.6
            if not narrow and chosen.random() < 0.5:
                lines.append(f"        hit = {self.condition(chosen, 1)};")
            for _ in range(chosen.randrange(1, 4)):
                inner = f"if {self.condition(chosen)} {{ {chosen.choice(self.RESULTS)}; }}"
                least = chosen.randrange(0, 9000)
                lines.append(f"        if a >= {least} && a < {least + 300} {{ {inner} }}" if narrow else f"        {inner}")
            lines += ["    }", "}"]
        return "\n".join(lines) + "\n"

    def text(self, rows):
        def field(value):
            return "" if value is None else json.dumps(value) if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else repr(value)

        return ",".join(self.COLUMNS) + "\n" + "".join(",".join(field(row[name]) for name in self.COLUMNS) + "\n" for row in rows)

    def outcome(self, *words):
        result = self.zfc("query", "--json", *words)
        report = json.loads(result.stdout) if result.returncode == 0 else {"rows_skipped": 0}
        return (report["rows_skipped"], result.returncode, report.get("results"), result.stderr)

    def test_same_answers(self):
        seed = 100 + zfc_case.sample()[1]
        chosen, skipped, failed = random.Random(seed), 0, 0
        for round_number in range(2):
            program = self.file("r.zf", self.program(chosen, 10))
            container = self.encode(program, self.text(self.rows(chosen)), "r.zfd", "--rows-per-block", chosen.choice([60, 250, 1000, 4096]))
            tab = self.file("tab.u8", bytes(chosen.randrange(60) for _ in range(chosen.choice([5, 12]))))
            for k in range(10):
                words = [f"{program}:q{k}", container, "--input", f"tab={tab}", *chosen.choice([[], ["--rows", "130..800"]])]
                first, second = self.outcome(*words), self.outcome(*words, "--no-skip")
                self.assertEqual(first[1:], second[1:], f"seed {seed}, round {round_number}: {words}\n{program.read_text()}")
                skipped += first[0] > 0
                failed += first[1] != 0
        self.assertGreater(skipped, 0, f"seed {seed}: too few queries skip rows")
        self.assertLess(failed, 16, f"seed {seed}: too many queries fail")


class Damage(Case):
    """Rows that zones exclude have a code that is no entry."""

    PROGRAM = """
table t { a: i32 = plain; b: i32 = dictionary(plain, plain); }
query q(t) { result n: i64 = sum; each { if a > 3 && b > 8 { n += 1; } } }
"""

    def encode_damaged(self, rows, excluded, block):
        """The middle of three pieces of a column a is 0, and the second row there of b has a bad code. Returns the container and this row."""
        program = self.file("t.zf", self.PROGRAM)
        a = array.array("i", [5]) * rows + array.array("i", [0]) * excluded + array.array("i", [5]) * rows
        b = array.array("i", [100]) * rows + array.array("i", [7, 9, 9]) + array.array("i", [7]) * (excluded - 3) + array.array("i", [100]) * rows
        container = self.dir / "t.zfd"
        self.good("encode", "-f", f"a={self.file('a.i32', a.tobytes())}", f"b={self.file('b.i32', b.tobytes())}", "-c", program, "-o", container,
                  "--zones", "--rows-per-block", block)
        entries = sorted(set(b), key=b.index) if block > rows else [7, 9]
        codes = array.array("I", [entries.index(7), entries.index(9), entries.index(9)])
        damaged = array.array("I", [codes[0], 255, codes[2]])
        subprocess.run([PATCH, container, codes.tobytes().hex(), damaged.tobytes().hex(), "blocks"], check=True)
        return program, container, rows + 1

    def test_blocks(self):
        """No device brings a block that zones exclude."""
        rows = 131072
        program, container, row = self.encode_damaged(rows, rows, rows)
        for words in ([], ["--device", "emu"], ["--device", "emu", "--decode-first"], ["--device", "emu", "--from-host"]):
            report = self.report(f"{program}:q", container, *words)
            self.assertEqual((report["results"], report["rows_skipped"]), ({"n": 2 * rows}, rows))
            for name in ("bytes_read", "bytes_skipped"):
                self.assertEqual(report[name], self.report(f"{program}:q", container)[name])
        for words in ([], ["--device", "emu"], ["--device", "emu", "--decode-first"], ["--device", "emu", "--from-host"]):
            self.bad(1, "query", f"{program}:q", container, "--no-skip", *words, says=["ZF1301", f"column b, block 1, row {row}"])

    def test_within_a_block(self):
        """A GPU runs all rows of a block, a CPU its batches that matter. The CPU finds all the same which row the GPU reports."""
        batch = 1 << 20
        program, container, row = self.encode_damaged(batch, batch, 3 * batch)
        words = ["query", f"{program}:q", container, "--rows", f"{batch - 1024}..{2 * batch + 1024}"]
        self.good(*words)
        for more in (["--no-skip"], ["--device", "emu"], ["--device", "emu", "--decode-first"]):
            self.bad(1, *words, *more, says=["ZF1301", f"column b, block 0, row {row}"])


def setUpModule():
    zfc_case.cache_of_module()


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
