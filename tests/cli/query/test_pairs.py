"""`zfc query` over pairs, and reductions over ranges that data bound: results and errors, compared with values computed here. Usage: test_pairs.py ZFC [unittest arguments]"""

import array
import itertools
import json
import pathlib
import random
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from zfc_case import Case, cache_of_module  # noqa: E402


class Lazy(Case):
    """Elements that no pair reads need not exist, also where squares of pairs read for many."""

    def test_places(self):
        n, m = 66, 7
        x = array.array("i", [k * 37 % 11 - 4 for k in range(n * m)])
        y = array.array("i", [k * 53 % 13 - 6 for k in range(n * m)])
        files = ["--input", f"x={self.file('x.i32', x.tobytes())}", "--input", f"y={self.file('y.i32', y.tobytes())}"]
        wanted = [[sum(x[a * m + k] * y[b * m + k] for k in range(m)) for b in range(n)] for a in range(n)]
        for term in ("k < m ? x[a * m + k] * y[b * m + k] : 0", "(k < m && x[a * m + k] > -100 && y[b * m + k] > -100) ? x[a * m + k] * y[b * m + k] : 0"):
            program = self.file("lazy.zf", f"""
query products(pairs) {{
    param n: u32; param m: i64; input x: i32[]; input y: i32[]; result s: i64[n, n] = sum;
    each a in 0..n, b in 0..n {{ s[a, b] += sum(k in 0..m + 1: {term}); }}
}}
""")
            for device in ([], ["--device", "emu"]):
                report = json.loads(self.good("query", "--json", *device, "--param", f"n={n}", "--param", f"m={m}", *files, f"{program}:products"))
                self.assertEqual(report["results"]["s"]["values"], [value for row in wanted for value in row])


def setUpModule():
    cache_of_module()


class Pairs(Case):
    """Queries of pairs, which read inputs alone, on a CPU."""

    DEVICE = "cpu"

    PROGRAM = """
query common(pairs) {
    param sets: u32;
    param least: i64 = 1;
    input words: u64[];
    input start: u32[];
    input size: i32[];
    result count: i64[sets, sets] = sum;
    result parity: u64[sets] = xor;
    result most: i64 = max;
    result share: f64[sets] = min;
    result meets: bool[sets] = any;
    result always: bool = all;
    result place: u32[sets * sets] = set;
    result first: u32 = select;
    result second: u32 = select;
    fn shared(a, b) -> i64 = sum(k in 0..min(size[a], size[b]): popcount(words[start[a] + k] & words[start[b] + k]) as i64);
    each a in 0..sets, b in a..sets {
        let n = shared(a, b);
        count[a, b] += n;
        parity[a] ^= (n * b) as u64;
        most = max(most, n);
        share[b] = min(share[b], n as f64 / 7.0);
        meets[a] = meets[a] || n > 0 && a < b;
        always = always && n >= 0;
        place[a * sets + b] = (a + 10 * b) as u32;
        if a < b && n >= least { select first = a as u32, second = b as u32; }
    }
}
query found(pairs) {
    param n: i64;
    input first: u32[];
    input second: u32[];
    result chains: i64 = sum;
    each a in 0..n, b in 0..n { if second[a] == first[b] { chains += 1; } }
}
query bounds(pairs) {
    param lo: u8;
    param n: i32;
    param m: i64 = 1;
    result a_: i64 = select;
    result b_: i64 = select;
    each a in lo..=n / m, b in 2 * a..=n - a { select a_ = a, b_ = b; }
}
query fails(pairs) {
    param n: i64;
    input v: u8[];
    result one: u8[9] = set;
    each a in 0..n, b in 0..12 / (4 - a) {
        one[v[a + b]] = 1;
    }
}
query reads(t) { result n: i64 = sum; each { n += 1; } }
table t { c: u8 = plain; }
"""

    def zfc(self, *words, **options):
        device = ("--device", self.DEVICE) if words[0] == "query" and "--device" not in words else ()
        return super().zfc(*words, *device, **options)

    def results(self, *words):
        return json.loads(self.good("query", "--json", *words))["results"]

    def given(self, sizes, words):
        starts = [sum(sizes[:k]) for k in range(len(sizes))]
        sizes = [-3 if size == 0 else size for size in sizes]
        files = {"words": array.array("Q", words), "start": array.array("I", starts), "size": array.array("i", sizes)}
        return [word for name, of in files.items() for word in ("--input", f"{name}={self.file(name, of.tobytes())}")]

    def test_common(self):
        program, chosen = self.file("p.zf", self.PROGRAM), random.Random(4)
        sets = 23
        sizes = [chosen.choice((0, 1, 2, 5, 40)) for _ in range(sets)]
        words = [chosen.getrandbits(64) & chosen.getrandbits(64) for _ in range(sum(sizes))]
        of = [words[sum(sizes[:k]):sum(sizes[:k + 1])] for k in range(sets)]
        count = {(a, b): sum((x & y).bit_count() for x, y in zip(of[a], of[b])) for a in range(sets) for b in range(a, sets)}
        out = self.dir / "out"
        report = json.loads(self.good("query", "--json", f"{program}:common", "--param", f"sets={sets}", "--param", "least=9", *self.given(sizes, words), "-o", out))
        self.assertEqual(report["rows"], sets * (sets + 1) // 2)
        got = report.pop("results")
        brief = json.loads(self.good("query", "--json", "--no-results", f"{program}:common", "--param", f"sets={sets}", "--param", "least=9", *self.given(sizes, words)))
        self.assertEqual(set(brief), set(report))
        self.assertEqual(got["count"], {"shape": [sets, sets], "values": [count.get((a, b), 0) for a in range(sets) for b in range(sets)]})
        parity = [0] * sets
        for (a, b), n in count.items():
            parity[a] ^= n * b
        self.assertEqual(got["parity"], parity)
        self.assertEqual((got["most"], got["always"]), (max(count.values()), True))
        self.assertEqual(got["share"], [min(count[a, b] / 7 for a in range(b + 1)) for b in range(sets)])
        self.assertEqual(got["meets"], [any(count[a, b] for b in range(a + 1, sets)) for a in range(sets)])
        self.assertEqual(got["place"], [a + 10 * b if a <= b else 0 for a in range(sets) for b in range(sets)])
        pairs = [(a, b) for (a, b), n in count.items() if a < b and n >= 9]
        self.assertEqual(list(zip(got["first"], got["second"])), pairs)
        chains = sum(second == first for _, second in pairs for first, _ in pairs)
        inputs = [word for name in ("first", "second") for word in ("--input", f"{name}={out / name}.u32")]
        self.assertEqual(self.results(f"{program}:found", "--param", f"n={len(pairs)}", *inputs), {"chains": chains})

    def test_bounds(self):
        program = self.file("p.zf", self.PROGRAM)
        for lo, n in ((0, 0), (0, 7), (3, 7), (0, -1), (200, 7), (0, -2**31)):
            got = self.results(f"{program}:bounds", "--param", f"lo={lo}", "--param", f"n={n}")
            wanted = [(a, b) for a in range(lo, n + 1) for b in range(2 * a, n - a + 1)]
            self.assertEqual(list(zip(got["a_"], got["b_"])), wanted, (lo, n))

    def test_errors(self):
        program = self.file("p.zf", self.PROGRAM)
        self.good("encode", f"c={self.file('c', bytes(3))}", "-c", f"{program}:t", "-o", self.dir / "t.zfd")
        bounds = [f"{program}:bounds", "--param", "lo=0", "--param", "n=3"]
        self.bad(2, "query", *bounds, self.dir / "t.zfd", says=["ZF1101", "`bounds` is a query of pairs, which reads no container and no rows"])
        self.bad(2, "query", *bounds, "--rows", "0..1", says=["ZF1101", "no container and no rows"])
        self.bad(2, "query", f"{program}:reads", says=["ZF1101", "`reads` reads rows of the table `t`: give it a container"])
        self.bad(1, "query", *bounds, "--param", "m=0", says=["ZF1307", "V07 in the query `bounds`", f"at: before the first pair, {program}:43:20"])
        values = self.file("v", bytes([0, 1, 2, 0, 3, 9]))
        fails = [f"{program}:fails", "--input", f"v={values}", "--param"]
        self.bad(1, "query", *fails, "n=2", says=["ZF1328", f"at: pair 1, 0, {program}:50:9"], lacks="one[")
        self.bad(1, "query", f"{program}:fails", "--input", f"v={self.file('w', bytes([9]))}", "--param", "n=2", says=["ZF1301", f"at: pair 0, 0, {program}:50:13"])
        self.bad(1, "query", f"{program}:fails", "--input", f"v={self.file('w', bytes(0))}", "--param", "n=2", says=["ZF1301", f"at: pair 0, 0, {program}:50:13"])

    def test_bound_of_second(self):
        program = self.file("b.zf", "query q(pairs) { param n: i64; result r: i64 = sum; each a in 0..n, b in 0..12 / (4 - a) { r += 1; } }")
        self.assertEqual(self.good("query", program, "--param", "n=4"), "r 25\n")
        self.bad(1, "query", program, "--param", "n=5", says=["ZF1307", f"at: pairs of 4, {program}:1:77"])

    def test_long_sums_that_fail(self):
        """They end with the first check that fails, whether each thread makes a sum or squares do."""
        program = self.file("f.zf", "query q(pairs) { param n: i64; param m: i64; input v: u8[]; result r: i64 = sum; each a in 0..m, b in a..m { r += sum(k in 0..n: v[a + k] * v[b]); } }\n"
                                    "query s(pairs) { param n: i64; param m: i64; input v: u8[]; result r: i64 = sum; each a in 0..m, b in a..m { r += sum(k in 0..n: v[a + k] * v[b + k]); } }\n")
        given = ["--input", f"v={self.file('v', bytes(200))}", "--param"]
        for name, n, m in (("q", 2**40, 2), ("s", 2**40, 2), ("s", 2**30, 150)):
            self.bad(1, "query", f"{program}:{name}", *given, f"n={n}", "--param", f"m={m}", says=["ZF1301", "at: pair 0, 0,"])

    def test_failures_of_passes(self):
        """The first pair that fails is named, whichever of a sum, a row's condition and a result fails there, and whichever fails behind it."""
        program = self.file("p.zf", """
query q(pairs) {
    param n: i64 = 200; param zero: i64;
    input v: u8[]; input w: u8[];
    result some: bool = any; result most: i64 = max; result at: i64 = select;
    each a in 0..n, b in 0..20 {
        some = some || sum(k in 0..3: v[a + k] * k) > 5;
        if w[a] > 0 { select at = a; }
        most = max(most, 100 / (a - zero));
    }
}
""")
        def words(sums, row, result):
            return ["--param", f"zero={result}", "--input", f"v={self.file('v', bytes([1]) * (sums + 2))}", "--input", f"w={self.file('w', bytes([1]) * row)}", program]

        never = 1000
        report = json.loads(self.good("query", "--json", *words(never, never, never)))
        if self.DEVICE != "cpu":
            self.assertEqual(report["device"]["squares"], 4)
        for places in sorted(set(itertools.permutations((30, 170, never, never), 3))):
            first = min(places)
            code, line = (("ZF1301", 7), ("ZF1301", 8), ("ZF1307", 9))[places.index(first)]
            self.bad(1, "query", *words(*places), says=[code, f"at: pair {first}, 0, {program}:{line}:"])

    def test_late_failure(self):
        """The first pair that fails is named, also where it is one of many and a bound behind it fails."""
        program = self.file("l.zf", "query q(pairs) { param n: i64; input v: u8[]; result r: i64 = sum; each a in 0..n, b in 0..400 / (95 - a) { r += v[a + b]; } }")
        numbers = sum(400 // (95 - a) for a in range(95))
        for length, n, says in ((494, 95, None), (494, 96, ["ZF1307", "at: pairs of 95,"]), (400, 95, ["ZF1301", "at: pair 94, 306,"]), (400, 96, ["ZF1301", "at: pair 94, 306,"])):
            words = [program, "--input", f"v={self.file('v', bytes([1]) * length)}", "--param", f"n={n}"]
            if says:
                self.bad(1, "query", *words, says=says)
            else:
                self.assertEqual(self.results(*words), {"r": numbers})

    def test_many_first_numbers(self):
        program = self.file("m.zf", "query q(pairs) { param n: i64; result r: i64 = sum; result at: i64 = select; each a in 7..n, b in a..a + (a % 50000) / 49999 { r += b; if a > 0 { select at = a; } } }")
        wanted = [49999, 99999, 149999]
        self.assertEqual(self.results(program, "--param", "n=170000"), {"r": sum(wanted), "at": wanted})

    def test_table(self):
        """A table may be called `pairs`."""
        program = self.file("t.zf", "table pairs { c: u8 = plain; } query q(pairs) { result r: i64 = sum; each { r += c; } }")
        self.good("encode", f"c={self.file('c', bytes([3, 4]))}", "-c", program, "-o", self.dir / "t.zfd")
        self.assertEqual(self.good("query", program, self.dir / "t.zfd"), "r 7\n")


class PairsOnDevice(Pairs):
    """The same on the emulated GPU."""

    DEVICE = "emu"

    # Statements, and whether squares of pairs make their sum.
    SQUARES = {
        "r += sum(k in 0..size[a]: v[start[a] + k] * v[b + k]);": True,
        "r += sum(k in 0..=n % 9: v[start[a] + k % size[a]] * v[k % size[b] + start[b]]);": True,
        "let s = start[a]; let m = min(size[b], n); r += sum(k in 0..m: v[s - n + n + k] + a * k) / 2;": True,
        "r += of(a, b) + 1;": True,
        "if of(a, b) > 9 { r += a; }": True,
        "r += sum(k in 0..n: v[k] - v[a + k]);": True,
        "r += sum(k in 1..n: v[a + k] * v[b + k]);": False,
        "r += sum(k in 0..n: v[a + b + k]);": False,
        "r += sum(k in 0..n: v[a + 2 * k] * v[b + k]);": False,
        "r += sum(k in 0..n: v[a + k * k] * v[b + k]);": False,
        "r += sum(k in 0..n: v[a + (k + 1) % size[a]]);": False,
        "r += sum(k in 0..n: v[a + k % (size[a] + b)]);": False,
        "r += sum(k in 0..n: v[a + k % (n - 69)]);": False,  # n - 69 may be negative, as far as the compiler knows
        "r += sum(k in 0..n: v[a] * v[b + k]);": False,
        "r += sum(k in 0..n: v[a + k] / (1 + v[b + k]));": False,
        "r += sum(k in 0..n: bits[a + k] ? v[b + k] : 0);": False,
        "r += sum(k in 0..v[a + b]: v[a + k]);": True,
        "r += sum(k in 0..sum(j in 0..3: v[a + j]): v[a + k]);": False,
        "r += max(k in 0..n: v[a + k] * v[b + k]);": False,
        "if a < b { r += of(a, b); }": False,
        "some = some || of(a, b) > 3 && a < b;": True,
        "some = some || a < b && of(a, b) > 3;": False,
        "some = some || (a < b ? of(a, b) : 1) > 3;": False,
        "for j in 0..2 { r += of(a, b) * j; }": False,
    }

    def test_squares(self):
        head = "query q(pairs) { param n: i64; input v: u8[]; input start: u32[]; input size: u32[]; input bits: bool[]; result r: i64 = sum; result some: bool = any; " \
               "fn of(x, y) -> i64 = sum(k in 0..size[x]: v[start[x] + k] * v[start[y] + k]); each a in 0..n, b in a..n { "
        sizes = [1 + k % 11 for k in range(70)]
        files = {"v": bytes(k * 37 % 251 for k in range(6000)), "start": array.array("I", (sum(sizes[:k]) for k in range(70))).tobytes(), "size": array.array("I", sizes).tobytes(), "bits": b"\xa7" * 40}
        words = ["--param", "n=70", *(word for name, data in files.items() for word in ("--input", f"{name}={self.file(name, data)}"))]
        for text, squares in self.SQUARES.items():
            program = self.file("s.zf", head + text + " } }")
            report = json.loads(self.good("query", "--json", program, *words))
            self.assertEqual(report["device"]["squares"], 3 if squares else 0, text)
            self.assertEqual(report["results"], self.results(program, *words, "--device", "cpu"), text)

    def test_limits(self):
        program = self.file("m.zf", "query q(pairs) { param n: i64; result r: i64 = sum; each a in 0..n, b in 0..n * n { r += 1; } }")
        self.bad(1, "query", program, "--param", "n=3000000", says=["ZF1404", "`q` has more pairs than a device runs"])
        self.assertEqual(self.good("query", program, "--param", "n=-1"), "r 0\n")
        program = self.file("w.zf", "query q(pairs) { param n: i64; input v: u8[]; result r: i64 = sum; each a in 0..100, b in a..100 { r += sum(k in 0..n: v[k] * v[k % 3]); } }")
        words = [program, "--input", f"v={self.file('v', bytes([1, 2, 3]))}", "--param"]
        self.assertEqual(self.results(*words, "n=3"), {"r": 5050 * 14})
        self.bad(1, "query", *words, f"n={2**33}", says=["ZF1404", "a sum of `q` has more than 2^31 terms"])


class Ranges(Case):
    """Reductions in queries of rows: columns and inputs give their bounds, on every device."""

    PROGRAM = """
table t { k: i32 = plain; v: u8 = bitpack; }
query q(t) {
    param p: i64 = 70;
    input w: u32[];
    result sums: i64 = sum;
    result fixed: i64 = sum;
    result most: i64[4] = max;
    result shares: i64 = sum;
    result mixed: u64 = xor;
    result some: bool = any;
    each {
        sums += sum(j in 0..k: w[j]);
        fixed += sum(j in 0..100: j * v);
        most[v % 4] = max(most[v % 4], sum(j in v..=p, i in 0..j % 3: w[i] + j));
        if v > 3 {
            let share = 100 / v;
            shares += sum(j in 0..=k: share * j);
        }
        mixed ^= xor(j in 0..v: w[j] as u64 * (j as u64 + 1));
        some = some || any(j in 0..k: w[j] == p);
    }
}
"""

    def test_ranges(self):
        chosen, program = random.Random(5), self.file("r.zf", self.PROGRAM)
        rows = [(chosen.randrange(-9, 60), chosen.randrange(50)) for _ in range(3000)]
        w = array.array("I", [chosen.randrange(1000) for _ in range(60)])
        files = [f"k={self.file('k', array.array('i', [k for k, _ in rows]).tobytes())}", f"v={self.file('v', bytes(v for _, v in rows))}"]
        self.good("encode", "-q", "-c", f"{program}:t", "-o", self.dir / "t.zfd", *files)
        mixed, most = 0, [0] * 4
        for _, v in rows:
            for j in range(v):
                mixed ^= w[j] * (j + 1)
            most[v % 4] = max(most[v % 4], sum(w[i] + j for j in range(v, 71) for i in range(j % 3)))
        wanted = {"sums": sum(sum(w[:max(k, 0)]) for k, _ in rows), "fixed": sum(4950 * v for _, v in rows), "most": most,
                  "shares": sum(sum(100 // v * j for j in range(k + 1)) for k, v in rows if v > 3), "mixed": mixed,
                  "some": any(70 in w[:max(k, 0)] for k, _ in rows)}
        for device in ("cpu", "emu"):
            report = json.loads(self.good("query", "--json", "--device", device, program, self.dir / "t.zfd", "--input", f"w={self.file('w', w.tobytes())}"))
            self.assertEqual(report["results"], wanted, device)

    def test_last_element(self):
        """Ranges of reads that end with the input, and those of one element more."""
        program = self.file("e.zf", """
query to(pairs) {
    param base: i32;
    param hi: u8;
    input w: u16[];
    result r: i64 = sum;
    each a in 0..1, b in 0..1 { r += sum(j in 0..hi: w[base + j]); }
}
query to_and_with(pairs) {
    param base: i32;
    param hi: u8;
    input w: u16[];
    result r: i64 = sum;
    each a in 0..1, b in 0..1 { r += sum(j in a..=hi: w[j + base]); }
}
""")
        w = array.array("H", range(100, 110))
        given = ["--input", f"w={self.file('w', w.tobytes())}", "--param"]
        for base, hi in ((0, 10), (9, 1), (10, 0), (99, 0), (0, 11), (9, 2), (10, 1), (-1, 5), (-1, 0), (-2**31, 9)):
            for name, end in (("to", hi), ("to_and_with", hi + 1)):
                words = [f"{program}:{name}", *given, f"base={base}", "--param", f"hi={hi}"]
                if all(0 <= base + j < 10 for j in range(end)):
                    self.assertEqual(self.results(*words), {"r": sum(w[base + j] for j in range(end))}, words)
                else:
                    self.bad(1, "query", *words, says=["ZF1301", "pair 0, 0"])

    def results(self, *words):
        return json.loads(self.good("query", "--json", *words))["results"]


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
