"""`zfc query`: params, inputs, all kinds of results, rows, files and errors, compared with values computed here. Usage: test_query.py ZFC [unittest arguments]"""

import array
import csv
import datetime
import io
import json
import pathlib
import random
import struct
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import zfc_case  # noqa: E402

ROWS = 9001  # three blocks of 4096, ten of 1000; no whole tile at the end, no multiple of 8
EPOCH = datetime.date(1970, 1, 1)
MODES = ["AIR", "RAIL", "SHIP", "", "a \"quoted\", one"]
TABLE = """
table lineitem {
    l_orderkey: i64 = delta(bitpack);
    l_quantity: u8 = bitpack;
    l_price: f64 = float2int(bitpack) | plain;
    l_discount: f64? = nullable(values: plain);
    l_tax: f32 = plain;
    l_shipdate: date32 = dictionary(codes: bitpack);
    l_receipt: timestamp? = nullable(values: bitpack);
    l_cost: decimal(9, 2)? = nullable(values: bitpack);
    l_mode: string = dictionary(codes: bitpack, entries: strings);
    l_comment: string? = nullable(values: strings);
    l_returned: bool = plain;
    l_late: bool? = nullable;
    l_hash: u64 = plain;
    l_supp: u16 = rle(bitpack, bitpack);
    l_line: i16? = nullable(values: bitpack);
}
"""


def chance(chosen, part, value):
    return None if chosen.random() < part else value


def make_rows(count=ROWS):
    chosen = random.Random(11)
    rows, supp = [], 0
    for k in range(count):
        if chosen.random() < 0.05:
            supp = chosen.randrange(60)
        rows.append({
            "l_orderkey": 3 * k - 5000, "l_quantity": chosen.randrange(1, 51), "l_price": chosen.randrange(90_000, 10_500_000) / 100,
            "l_discount": chance(chosen, 0.2, chosen.randrange(11) / 100), "l_tax": struct.unpack("f", struct.pack("f", chosen.random()))[0],
            "l_shipdate": 8035 + chosen.randrange(2500), "l_receipt": chance(chosen, 0.1, 700_000_000_000_000 + 1_000_000 * chosen.randrange(10**8)),
            "l_cost": chance(chosen, 0.3, chosen.randrange(-10**7, 10**7)), "l_mode": chosen.choice(MODES),
            "l_comment": chance(chosen, 0.25, chosen.choice(["", "AIR", "furiously", "pending deposits " * 3])),
            "l_returned": chosen.random() < 0.4, "l_late": chosen.choice([None, False, True]),
            "l_hash": chosen.getrandbits(64), "l_supp": supp, "l_line": chance(chosen, 0.4, chosen.randrange(-3, 8)),
        })
    return rows


def field(name, value):
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + value.replace('"', '""') + '"'
    if name == "l_shipdate":
        return str(EPOCH + datetime.timedelta(days=value))
    if name == "l_receipt":
        return str(datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=value))
    if name == "l_cost":
        return f"{'-' if value < 0 else ''}{abs(value) // 100}.{abs(value) % 100:02}"
    return repr(value)


def as_text(rows, names):
    return "\n".join([",".join(names)] + [",".join(field(name, row[name]) for name in names) for row in rows]) + "\n"


def wrapped(value):
    """An integer as an i64."""
    return (value + 2**63) % 2**64 - 2**63


def tree_sum(rows):
    """A sum of floats as docs/internals/queries.md adds it up: `rows` are (number of the row in the table, value)."""
    total, tile, lanes = 0.0, None, [0.0] * 32

    def fold():
        width = 16
        while width > 0:
            for lane in range(width):
                lanes[lane] += lanes[lane + width]
            width //= 2
        return lanes[0]

    for row, value in rows:
        if tile is not None and row // 1024 != tile:
            total += fold()
            lanes = [0.0] * 32
        tile = row // 1024
        lanes[row % 32] += value
    return total + fold() if tile is not None else total


def bits(flags):
    out = bytearray((len(flags) + 7) // 8)
    for k, flag in enumerate(flags):
        out[k // 8] |= bool(flag) << k % 8
    return bytes(out)


class Case(zfc_case.Case):
    def zfc_to(self, out, *words):
        return subprocess.run([zfc_case.ZFC, *map(str, words)], stdout=out, stderr=subprocess.PIPE, text=True, timeout=self.SECONDS)

    def encode(self, program, text, name="t.zfd", *options):
        self.good("encode", self.file("in.csv", text), "-c", program, "-o", self.dir / name, "-f", *options)
        return self.dir / name

    def results(self, *words, **options):
        report = json.loads(self.good("query", "--json", *words, **options))
        return report["results"]


class Lineitem(Case):
    """Each part of this query, over blocks of several sizes and all ranges of rows."""

    QUERY = """
query all_kinds(lineitem) {
    param least: i64 = 10;
    param modes: u32;
    param share: f64 = 0.5;
    param late: bool = false;
    input weights: f32[];
    input marks: bool[];
    input signs: i16[];
    result rows: i64 = sum;
    result charge: i64 = sum;
    result money: f64 = sum;
    result money_of: f64[modes, 2] = sum;
    result count_of: i64[6, modes, 2] = sum;
    result hashes: u64 = sum;
    result mixed: u64 = xor;
    result first: i64 = min;
    result cheapest: f64 = min;
    result cheapest_of: f64[modes] = min;
    result latest: i64 = max;
    result biggest: u64 = max;
    result any_late: bool = any;
    result late_of: bool[60] = any;
    result all_good: bool = all;
    result good_of: bool[60] = all;
    result key_of: i64[9100] = set;
    result small_of: i8[9100] = set;
    result hit: bool = mask;
    result id: u64 = select;
    result tax: f32 = select;
    result narrow: i8 = select;
    result flag: bool = select;
    fn mode() = l_mode == "AIR" ? 0 : l_mode == "RAIL" ? 1 : 2;
    fn weighed(v: f64) -> f64 { return v * weights[l_quantity % 4]; }
    each {
        let charged = l_quantity * l_line + least;
        rows += 1;
        if l_quantity > least { charge += charged; } else if l_line == null { charge -= 1; } else { charge += signs[l_supp % 3]; }
        money += weighed(l_price) * (1 - l_discount);
        money_of[mode(), l_returned ? 1 : 0] += l_price * share;
        for k in 0..6 { count_of[k, mode(), l_late ? 1 : 0] += l_line.value * k; }
        hashes += l_hash;
        mixed ^= l_hash >> l_quantity;
        first = min(first, l_receipt);
        cheapest = min(cheapest, l_discount);
        if mode() < 2 { cheapest_of[mode()] = min(cheapest_of[mode()], l_price); }
        latest = max(latest, l_cost + 3);
        biggest = max(biggest, l_hash);
        any_late = any_late || l_late && l_comment == l_mode;
        late_of[l_supp] = late_of[l_supp] || l_late;
        all_good = all_good && l_price > 0 && !(l_discount > 1);
        good_of[l_supp] = good_of[l_supp] && l_comment != "furiously";
        if row < 9100 { key_of[row] = l_orderkey; small_of[(row * 11) % 9100] = (l_line.value + l_cost.value) as i8; }
        hit = l_shipdate >= 9000 && l_comment == "AIR" || marks[l_supp] && !l_returned || late;
        if l_cost == null && l_line > 2 { select id = row as u64, tax = l_tax as f32, narrow = (l_cost.value - l_line.value) as i8, flag = l_late == null; }
    }
}
"""
    WEIGHTS = [0.1, 1.0, -2.5, 1e-3]
    MARKS = [k % 3 == 1 for k in range(60)]
    SIGNS = [-1, 300, 7]

    def setUp(self):
        super().setUp()
        self.rows = make_rows()
        self.program = self.file("q.zf", TABLE + self.QUERY)
        self.weights = self.file("weights.f32", array.array("f", self.WEIGHTS).tobytes())
        self.marks = self.file("marks.bool", bits(self.MARKS))
        self.signs = self.file("signs.i16", array.array("h", self.SIGNS).tobytes())
        self.words = ["--param", "modes=3", "--input", f"weights={self.weights}", "--input", f"marks={self.marks}", "--input", f"signs={self.signs}"]

    def container(self, rows, *options):
        return self.encode(self.program, as_text(rows, list(rows[0])) if rows else ",".join(make_rows(1)[0]) + "\n", "t.zfd", *options)

    def expected(self, begin, end, least=10, share=0.5, late=False):
        weights = array.array("f", self.WEIGHTS)
        out = {"rows": 0, "charge": 0, "hashes": 0, "mixed": 0, "first": None, "cheapest": None, "cheapest_of": [None] * 3, "latest": None,
               "biggest": None, "any_late": False, "late_of": [False] * 60, "all_good": True, "good_of": [True] * 60, "key_of": [0] * 9100,
               "small_of": [0] * 9100, "hit": [], "id": [], "tax": [], "narrow": [], "flag": []}
        counts, money, money_of = [0] * 36, [], {}
        for number in range(begin, end):
            row = self.rows[number]
            mode = {"AIR": 0, "RAIL": 1}.get(row["l_mode"], 2)
            line, cost, discount = row["l_line"], row["l_cost"], row["l_discount"]
            out["rows"] += 1
            if row["l_quantity"] > least:
                out["charge"] += 0 if line is None else row["l_quantity"] * line + least
            else:
                out["charge"] += -1 if line is None else self.SIGNS[row["l_supp"] % 3]
            if discount is not None:
                money.append((number, row["l_price"] * weights[row["l_quantity"] % 4] * (1 - discount)))
            money_of.setdefault((mode, int(row["l_returned"])), []).append((number, row["l_price"] * share))
            for k in range(6):
                counts[(k * 3 + mode) * 2 + bool(row["l_late"])] += (line or 0) * k
            out["hashes"] = (out["hashes"] + row["l_hash"]) % 2**64
            out["mixed"] ^= row["l_hash"] >> row["l_quantity"]
            for name, value, choose in (("first", row["l_receipt"], min), ("cheapest", discount, min), ("biggest", row["l_hash"], max),
                                        ("latest", None if cost is None else cost + 3, max)):
                if value is not None:
                    out[name] = value if out[name] is None else choose(out[name], value)
            if mode < 2:
                least_of = out["cheapest_of"][mode]
                out["cheapest_of"][mode] = row["l_price"] if least_of is None else min(least_of, row["l_price"])
            supp = row["l_supp"]
            out["any_late"] |= row["l_late"] is True and row["l_comment"] == row["l_mode"]
            out["late_of"][supp] |= row["l_late"] is True
            out["all_good"] &= row["l_price"] > 0 and not (discount is not None and discount > 1)
            out["good_of"][supp] &= row["l_comment"] is not None and row["l_comment"] != "furiously"
            if number < 9100:
                out["key_of"][number] = row["l_orderkey"]
                out["small_of"][number * 11 % 9100] = ((line or 0) + (cost or 0) + 128) % 256 - 128
            out["hit"].append(row["l_shipdate"] >= 9000 and row["l_comment"] == "AIR" or self.MARKS[supp] and not row["l_returned"] or late)
            if cost is None and line is not None and line > 2:
                out["id"].append(number)
                out["tax"].append(row["l_tax"])
                out["narrow"].append(-line)
                out["flag"].append(row["l_late"] is None)
        out["money"] = tree_sum(money)
        out["money_of"] = {"shape": [3, 2], "values": [tree_sum(money_of.get((mode, back), [])) for mode in range(3) for back in range(2)]}
        out["count_of"] = {"shape": [6, 3, 2], "values": counts}
        return out

    def check(self, got, wanted):
        self.assertEqual(sorted(got), sorted(wanted))
        for name, value in wanted.items():
            if name in ("hashes", "mixed", "biggest") and value is not None and value > 2**63 - 1:
                value = str(value)
            self.assertEqual(got[name], value, name)

    def test_results(self):
        self.assertGreater(len(self.expected(0, ROWS)["id"]), 100)
        for rows_per_block in (4096, 1000):
            container = self.container(self.rows, "--rows-per-block", rows_per_block)
            for begin, end in ((0, ROWS), (0, 1), (1023, 1025), (1000, 5000), (4095, 4097), (777, ROWS), (ROWS, ROWS), (50, 50)):
                with self.subTest(rows_per_block=rows_per_block, rows=(begin, end)):
                    got = self.results(self.program, container, "--rows", f"{begin}..{end}", *self.words)
                    self.check(got, self.expected(begin, end))
            self.check(self.results(self.program, container, *self.words), self.expected(0, ROWS))
            self.check(self.results(self.program, container, "--rows", "8000..", *self.words), self.expected(8000, ROWS))
            self.check(self.results(f"{self.program}:all_kinds", container, "--rows", "..3", "--threads", "1", *self.words), self.expected(0, 3))

    def test_params(self):
        container = self.container(self.rows[:3000])
        got = self.results(self.program, container, *self.words, "--param", "least=49", "--param", "share=1e-3", "--param", "late=true")
        self.check(got, self.expected(0, 3000, least=49, share=1e-3, late=True))
        got = self.results(self.program, container, *self.words, "--param", "least=-9223372036854775808")
        self.assertEqual(got["charge"], wrapped(sum(row["l_quantity"] * row["l_line"] - 2**63 for row in self.rows[:3000] if row["l_line"] is not None)))

    def test_no_rows(self):
        container = self.container([])
        self.check(self.results(self.program, container, *self.words), self.expected(0, 0))
        text = self.good("query", self.program, container, *self.words)
        for line in ("rows 0", "money 0", "first null", "cheapest null", "any_late false", "all_good true", "hit: 0 of 0 rows", "id,tax,narrow,flag",
                     "late_of: no row changed an element"):
            self.assertIn(line, text.splitlines())

    def test_text(self):
        container = self.container(self.rows)
        wanted = self.expected(0, ROWS)
        lines = self.good("query", self.program, container, *self.words).splitlines()
        for line in (f"rows {ROWS}", f"charge {wanted['charge']}", f"hashes {wanted['hashes']}", f"first {field('', wanted['first'])}",
                     f"count_of[1, 2, 0] {wanted['count_of']['values'][10]}", f"cheapest_of[1] {wanted['cheapest_of'][1]}", "all_good true",
                     f"hit: {sum(wanted['hit'])} of {ROWS} rows", "key_of[0] -5000", "key_of: 8001 elements more; -o writes all"):
            self.assertIn(line, lines)
        self.assertFalse([line for line in lines if line.startswith("cheapest_of[2]")], "an element to which no row gave a value")
        first = lines.index("id,tax,narrow,flag") + 1
        got = list(csv.reader(io.StringIO("\n".join(lines[first:]))))
        self.assertEqual([int(row[0]) for row in got], wanted["id"][:1000])
        self.assertEqual([row[3] for row in got], [field("", value) for value in wanted["flag"][:1000]])
        self.assertEqual(self.good("query", "-q", self.program, container, *self.words), "")

    def test_files(self):
        container = self.container(self.rows)
        wanted = self.expected(0, ROWS)
        out = self.dir / "out"
        self.assertEqual(self.good("query", self.program, container, *self.words, "-o", out), "")
        codes = {"key_of": ("i64", "q"), "small_of": ("i8", "b"), "id": ("u64", "Q"), "tax": ("f32", "f"), "narrow": ("i8", "b"), "money": ("f64", "d"),
                 "cheapest_of": ("f64", "d"), "hashes": ("u64", "Q"), "rows": ("i64", "q"), "money_of": ("f64", "d")}
        for name, (ending, code) in codes.items():
            values = wanted[name]["values"] if isinstance(wanted[name], dict) else wanted[name]
            values = values if isinstance(values, list) else [values]
            self.assertEqual((out / f"{name}.{ending}").read_bytes(), array.array(code, [value or 0 for value in values]).tobytes(), name)
        for name in ("hit", "flag", "late_of", "good_of"):
            self.assertEqual((out / f"{name}.bool").read_bytes(), bits(wanted[name]), name)
        self.assertEqual((out / "cheapest_of.valid").read_bytes(), bits([True, True, False]))
        self.assertEqual((out / "first.valid").read_bytes(), b"\x01")
        self.assertEqual(sorted(path.name for path in out.glob("*.valid")), sorted(f"{name}.valid" for name in ("first", "cheapest", "cheapest_of", "latest", "biggest")))
        self.assertEqual(len(list(out.iterdir())), len(wanted) + 5)
        # What exists is kept without -f, and nothing of the rest is written.
        (out / "rows.i64").write_bytes(b"kept")
        (out / "id.u64").unlink()
        self.bad(1, "query", self.program, container, *self.words, "-o", out, says=["rows.i64", "exists"])
        self.assertEqual((out / "rows.i64").read_bytes(), b"kept")
        self.assertFalse((out / "id.u64").exists())
        self.good("query", self.program, container, *self.words, "-o", out, "-f")
        self.assertEqual((out / "rows.i64").read_bytes(), struct.pack("<q", ROWS))
        # A file that the query reads is no output.
        self.bad(1, "query", self.program, container, *self.words, "-o", self.dir / "weights.f32", says="weights.f32")
        report = json.loads(self.good("query", self.program, container, *self.words, "-o", out, "-f", "--json"))
        self.assertEqual(report["rows"], ROWS)
        self.assertGreaterEqual(report["seconds"], 0)


class LineitemOnDevice(Lineitem):
    """The same on the emulated GPU."""

    def setUp(self):
        super().setUp()
        self.words += ["--device", "emu"]


class Joins(Case):
    """Results of a query are inputs of the next."""

    PROGRAM = """
table supplier { s_suppkey: u32 = bitpack; s_nation: u8 = bitpack; s_region: u8 = bitpack; }
table lineorder { lo_suppkey: u32 = bitpack; lo_revenue: i64 = bitpack; lo_year: i32 = bitpack; }
query nation_of_supplier(supplier) {
    param region: u8;
    param suppliers: u32;
    result nation: u8[suppliers + 1] = set;
    result member: bool[suppliers + 1] = any;
    each {
        if s_region == region { nation[s_suppkey] = (s_nation + 1) as u8; }
        member[s_suppkey] = member[s_suppkey] || s_region == region;
    }
}
query revenue_of_nations(lineorder) {
    input of_supplier: u8[];
    input member: bool[];
    result revenue: i64[7, 25] = sum;
    result members: i64 = sum;
    result others: bool = mask;
    each {
        let nation = of_supplier[lo_suppkey];
        if nation > 0 { revenue[lo_year - 1992, nation - 1] += lo_revenue; }
        if member[lo_suppkey] { members += 1; }
        others = !member[lo_suppkey];
    }
}
query of_others(lineorder) {
    input others: bool[];
    input member: bool[];
    result revenue: i64 = sum;
    each { if others[row] { revenue += lo_revenue; } }
}
"""

    def test_join(self):
        chosen = random.Random(3)
        program = self.file("ssb.zf", self.PROGRAM)
        suppliers = [(k, chosen.randrange(25), chosen.randrange(5)) for k in range(1, 201)]
        orders = [(chosen.randrange(1, 201), chosen.randrange(-5, 10**6), 1992 + chosen.randrange(7)) for _ in range(5000)]
        text = "s_suppkey,s_nation,s_region\n" + "".join(f"{a},{b},{c}\n" for a, b, c in suppliers)
        container = self.encode(f"{program}:supplier", text, "s.zfd")
        text = "lo_suppkey,lo_revenue,lo_year\n" + "".join(f"{a},{b},{c}\n" for a, b, c in orders)
        facts = self.encode(f"{program}:lineorder", text, "o.zfd")
        out = self.dir / "one"
        self.good("query", f"{program}:nation_of_supplier", container, "--param", "region=2", "--param", "suppliers=200", "-o", out)
        inputs = ["--input", f"of_supplier={out / 'nation.u8'}", "--input", f"member={out / 'member.bool'}"]
        got = self.results(f"{program}:revenue_of_nations", facts, *inputs)
        nation = {key: place for key, place, region in suppliers if region == 2}
        revenue = [0] * 175
        for key, value, year in orders:
            if key in nation:
                revenue[(year - 1992) * 25 + nation[key]] += value
        self.assertEqual(got["revenue"], {"shape": [7, 25], "values": revenue})
        self.assertEqual(got["members"], sum(key in nation for key, _, _ in orders))
        self.assertEqual(got["others"], [key not in nation for key, _, _ in orders])
        # A mask is an input of a bit for each row.
        self.good("query", f"{program}:revenue_of_nations", facts, *inputs, "-o", self.dir / "two")
        got = self.results(f"{program}:of_others", facts, "--input", f"others={self.dir / 'two/others.bool'}", "--input", f"member={out / 'member.bool'}")
        self.assertEqual(got["revenue"], sum(value for key, value, _ in orders if key not in nation))


class Floats(Case):
    """Sums of floats are one tree of additions, whatever blocks and batches hold the rows."""

    PROGRAM = """
table t { v: f64 = plain; w: f32 = plain; g: u8 = bitpack; }
query sums(t) {
    result whole: f64 = sum;
    result narrow: f64 = sum;
    result minus: f64 = sum;
    result of: f64[3, 4] = sum;
    result some: f64 = sum;
    each {
        whole += v;
        narrow += w;
        minus -= v;
        of[g % 3, g % 4] += v;
        if g == 77 { some += v * w; }
    }
}
"""

    def test_tree(self):
        program = self.file("f.zf", self.PROGRAM)
        chosen = random.Random(8)
        count = 140_000  # beyond a batch of 131,072 rows
        v = array.array("d", [chosen.choice([1, -1]) * chosen.random() * 10.0**chosen.randrange(-12, 13) for _ in range(count)])
        w = array.array("f", [chosen.random() for _ in range(count)])
        g = bytes(chosen.randrange(100) for _ in range(count))
        files = [f"v={self.file('v.f64', v.tobytes())}", f"w={self.file('w.f32', w.tobytes())}", f"g={self.file('g.u8', g)}"]
        found = []
        for rows_per_block, ranges in ((4096, [(0, count), (500, 140_000), (131_071, 131_073), (1, 33)]), (1000, [(0, count), (999, 3001)])):
            container = self.dir / f"{rows_per_block}.zfd"
            self.good("encode", *files, "-c", program, "-o", container, "--rows-per-block", rows_per_block)
            for begin, end in ranges:
                out = self.dir / f"{rows_per_block}-{begin}"
                self.good("query", program, container, "--rows", f"{begin}..{end}", "-o", out)
                rows = range(begin, end)
                wanted = {"whole": [tree_sum((r, v[r]) for r in rows)], "narrow": [tree_sum((r, w[r]) for r in rows)],
                          "minus": [tree_sum((r, -v[r]) for r in rows)], "some": [tree_sum((r, v[r] * w[r]) for r in rows if g[r] == 77)],
                          "of": [tree_sum((r, v[r]) for r in rows if (g[r] % 3, g[r] % 4) == (a, b)) for a in range(3) for b in range(4)]}
                for name, values in wanted.items():
                    got = (out / f"{name}.f64").read_bytes()
                    self.assertEqual(got, struct.pack(f"<{len(values)}d", *values), (name, rows_per_block, begin))
                found.append(wanted["whole"])
        self.assertNotEqual(found[0], [sum(v)], "the order of additions makes no difference here")

    def test_not_a_number(self):
        program = self.file("n.zf", """
table t { v: f64 = plain; }
query q(t) {
    result whole: f64 = sum;
    result lo: f64 = min;
    result hi: f64 = max;
    result same: f64 = select;
    result zero: f64 = sum;
    each { whole += v; lo = min(lo, v); hi = max(hi, v); select same = v; zero += -0.0; }
}
""")
        infinity = float("inf")
        container = self.dir / "n.zfd"
        values = struct.pack("<5d", 1.0, infinity, -infinity, -0.0, float("nan"))
        self.good("encode", f"v={self.file('v.f64', values)}", "-c", program, "-o", container)
        self.good("query", program, container, "-o", self.dir / "out")
        nan = struct.pack("<Q", 0x7ff8 << 48)
        self.assertEqual((self.dir / "out/whole.f64").read_bytes(), nan)
        self.assertEqual((self.dir / "out/same.f64").read_bytes(), values[:32] + nan)
        self.assertEqual((self.dir / "out/zero.f64").read_bytes(), bytes(8))
        got = self.results(program, container)
        self.assertEqual((got["whole"], got["lo"], got["hi"]), ("nan", "-inf", "inf"))
        self.assertEqual(got["same"], [1.0, "inf", "-inf", -0.0, "nan"])
        none = self.results(program, container, "--rows", "4..5")
        self.assertEqual((none["whole"], none["lo"], none["hi"]), ("nan", None, None))


class Words(Case):
    """Columns, params, inputs and results may have the names of words of queries."""

    def test_words(self):
        program = self.file("w.zf", """
table query { query: u32 = bitpack; input: i8 = plain; result: u16? = nullable(values: bitpack); each: bool = plain; select: i64 = plain; row: u8 = plain; }
query each(query) {
    param fn_: i64 = 2;
    result mask: i64 = sum;
    result set: i64 = select;
    result lowest: i64 = min;
    each {
        if each { mask += query * fn_ + input + result; }
        lowest = min(lowest, select);
        if row > 2 { select set = select; }
    }
}
query input(query) {
    param param_: u8 = 1;
    result rows: i64 = sum;
    each { rows += param_; }
}
""")
        rows = [(5, -3, None, True, 10**12, 1), (6, 4, 7, True, -8, 2), (7, 1, 2, False, 9, 3), (2**32 - 1, -128, 65535, True, 11, 255)]
        text = "query,input,result,each,select,row\n" + "".join(",".join(field("", value) for value in row) + "\n" for row in rows)
        container = self.encode(program, text)
        got = self.results(f"{program}:each", container)
        self.assertEqual(got, {"mask": sum(2 * a + b + c for a, b, c, d, _, _ in rows if d and c is not None), "set": [9, 11], "lowest": -8})
        self.assertEqual(self.results(f"{program}:input", container, "--param", "param_=3"), {"rows": 12})


class Operands(Case):
    """Operands that an operation looks at more than once are evaluated once, and signs are those of the result's type."""

    def test_once(self):
        program = self.file("o.zf", """
table t { a: i64? = nullable(values: plain); b: i64 = plain; x: i64? = nullable(values: plain); }
query less(t) {
    result n: i64 = sum;
    result f: f64 = sum;
    result u: u64 = sum;
    each { n -= b as u8; f -= (b as u8) as f64; u -= b as u16 as u64; }
}
query effects(t) {
    result n: i64 = sum;
    result sums: i64 = sum;
    result holds: i64 = sum;
    result at: i64[8] = sum;
    input k: u8[];
    fn counted(v) -> i64 {
        n += 1;
        return v;
    }
    each {
        sums += (counted(b) > 1 ? a : b > 2 ? a : x) + 1;
        if (counted(b) > 1 ? a : x) == 3 { holds += 1; }
        at[(counted(b) > 1 ? x : a)] += -(counted(b) > 2 ? a : x);
        holds += k[(counted(b) > 0 ? a : x)];
        holds += (counted(1) > 0 ? a : x) as i32;
        let later = counted(b);
    }
}
query order(t) {
    result sums: i64 = sum;
    fn next(var v: i64) -> i64? {
        v += 1;
        return v > 1 ? v : null;
    }
    each {
        var v: i64 = b;
        sums += v * next(v);
    }
}
""")
        rows = [(1, 1, 5), (None, 2, 0), (3, 3, None)]
        container = self.encode(program, "a,b,x\n1,1,5\n,2,0\n3,3,\n")
        self.assertEqual(self.results(f"{program}:less", container), {"n": -6, "f": -6.0, "u": str(2**64 - 6)})
        k = self.file("k.u8", bytes(range(10, 20)))
        sums = holds = 0
        at = [0] * 8
        for a, b, x in rows:
            first = a if b > 1 else x
            sums += 0 if first is None else first + 1
            holds += first == 3
            place, value = (x if b > 1 else a), (a if b > 2 else x)
            if place is not None and value is not None:
                at[place] -= value
            holds += 0 if a is None else 10 + a + a
        wanted = {"n": 7 * len(rows), "sums": sums, "holds": holds, "at": at}
        self.assertEqual(self.results(f"{program}:effects", container, "--input", f"k={k}"), wanted)
        self.assertEqual(self.results(f"{program}:order", container), {"sums": sum(b * (b + 1) for _, b, _ in rows)})

    def test_nested(self):
        text = "x"
        for _ in range(60):  # each level once: twice would be 2^60 nodes
            text = f"(f ? {text} + 1 : x)"
        program = self.file("d.zf", f"""
table t {{ f: bool = plain; x: i64? = nullable(values: plain); }}
query q(t) {{ result n: i64 = sum; each {{ n += {text}; }} }}
""")
        container = self.encode(program, "f,x\ntrue,1\nfalse,2\ntrue,\n")
        self.assertEqual(self.results(f"{program}:q", container), {"n": 63})


class Errors(Case):
    """What is refused: exit status, code, and place."""

    PROGRAM = """table scaled { cost: decimal(9, 2) = plain; }
table t { k: i64 = plain; v: u32 = bitpack; n: i32? = nullable(values: bitpack); y: bool = plain; }
query one(t) {
    param least: u8;
    param real: f32 = 1.5;
    param yes: bool = true;
    input words: u32[];
    input flags: bool[];
    result r: i64[4] = sum;
    result s: u8[4] = set;
    each {
        if k >= least { r[v] += words[v]; }
        if y {
            s[v] = k as u8;
        }
        if flags[v] || yes { r[0] += 1; }
    }
}
query two(t) {
    param size: u32;
    result r: i64[size, 1000] = sum;
    each { r[0, 0] += k / (v - 3) as i64; }
}
query floats(t) {
    param size: u32;
    result r: f64[size] = sum;
    each { r[v] += 1.0; }
}
query prices(scaled) {
    result r: i64 = sum;
    each { r += cost; }
}
query needs(t) {
    result r: i64 = sum;
    each {
        require n != 3;
        r += 1;
    }
}
"""

    def setUp(self):
        super().setUp()
        self.program = self.file("e.zf", self.PROGRAM)
        rows = [(k, k % 3, k, k < 3) for k in range(5000)]
        self.container = self.with_rows(rows)
        self.words = self.file("words.u32", array.array("I", [10, 20, 30, 40]).tobytes())
        self.flags = self.file("flags.bool", b"\x05")
        self.given = ["--param", "least=0", "--input", f"words={self.words}", "--input", f"flags={self.flags}"]

    def with_rows(self, rows, name="e.zfd"):
        text = "k,v,n,y\n" + "".join(",".join(field("", value) for value in row) + "\n" for row in rows)
        return self.encode(f"{self.program}:t", text, name, "--rows-per-block", "4096")

    def refused(self, status, says, *words, query="one", container=None, program=None):
        return self.bad(status, "query", f"{program or self.program}:{query}", container or self.container, *words, says=says)

    def test_what_is_good(self):
        got = self.results(f"{self.program}:one", self.container, *self.given)
        self.assertEqual(got["s"], [0, 1, 2, 0])

    def test_names(self):
        self.refused(2, ["ZF1101", "no query `three`"], query="three")
        self.bad(2, "query", self.program, self.container, says=["ZF1101", "name a query"])
        self.bad(1, "query", self.dir / "none.zf", self.container, says="none.zf")
        self.refused(1, "none.zfd", *self.given, container=self.dir / "none.zfd")
        self.bad(2, "query", self.program)
        wrong = self.file("wrong.zf", "table t { k: i64 = plain; }\nquery q(t) { result r: i64 = sum; each { r = 1; } }\n")
        self.bad(1, "query", wrong, self.container, says=["wrong.zf:2:42", "ZF0532"])

    def test_params(self):
        rest = self.given[2:]
        self.refused(2, ["ZF1101", "the param `least` of `one` has no value"], *rest)
        self.refused(2, ["ZF1101", "`one` has no param `most`"], *self.given, "--param", "most=3")
        self.refused(2, ["ZF1101", "`one` has no param `words`"], *self.given, "--param", "words=3")
        self.refused(2, ["given twice"], *self.given, *self.given)
        for value in ("256", "-1", "", "x", "1x", "1.5", " 1", "0x10", "+1", "99999999999999999999"):
            self.refused(2, ["ZF1101", f"`{value}` is no value of the param `least`, which is u8"], "--param", f"least={value}", *rest)
        for value in ("", "x", "1.5x", "1 ", " 1", "1e39", "-1e999", "1e-60", "-1e-999"):
            self.refused(2, ["ZF1101", f"`{value}` is no value of the param `real`, which is f32"], *self.given, "--param", f"real={value}")
        for value in ("3e38", "-2", "1e-40", "-0.0", "inf"):
            self.good("query", f"{self.program}:one", self.container, *self.given, "--param", f"real={value}")
        for value in ("1", "True", "", "yes"):
            self.refused(2, ["ZF1101", f"`{value}` is no value of the param `yes`, which is bool"], *self.given, "--param", f"yes={value}")
        for word in ("least", "=3"):
            self.refused(2, "--param needs NAME=VALUE", "--param", word, *rest)
        self.refused(2, ["ZF1101", "a length of the result `r` of `two` is 0"], "--param", "size=0", query="two")
        self.refused(2, ["ZF1101", "a length of the result `r` of `two`"], "--param", "size=4294967295", query="two")
        self.refused(2, ["ZF1101", "`r` has 65 sums of floats, more than 64"], "--param", "size=65", query="floats")
        self.good("query", f"{self.program}:floats", self.container, "--param", "size=64")

    def test_lengths(self):
        # Results of one element count, too: once none is left, a length must not be taken for a small one.
        program = self.file("l.zf", """
table t { k: i64 = plain; }
query whole(t) { result big: i64[134217728] = sum; each { big[0] += k; } }
query over(t) { result big: i64[134217728] = sum; result one: i64 = sum; each { big[0] += k; one += k; } }
query negative(t) {
    param n: i64 = -1;
    result big: i64[134217726] = sum;
    result one: i64 = sum;
    result many: i64[n] = sum;
    each { big[0] += k; one += k; many[row * 1000000] += 1; }
}
query after(t) {
    param n: i64 = 2;
    result big: i64[134217726] = sum;
    result one: i64 = sum;
    result many: i64[n] = sum;
    each { big[0] += k; one += k; many[row] += 1; }
}
""")
        container = self.encode(program, "k\n1\n2\n3\n", "l.zfd")
        self.refused(2, ["ZF1101", "no room for the result `one` of `over`"], query="over", program=program, container=container)
        self.refused(2, ["ZF1101", "a length of the result `many` of `negative` is negative"], query="negative", program=program, container=container)
        self.refused(2, ["ZF1101", "a length of the result `many` of `after` is 2"], query="after", program=program, container=container)
        self.refused(1, ["ZF1301", "row 1"], "--param", "n=1", query="after", program=program, container=container)

    def test_inputs(self):
        self.refused(2, ["ZF1101", "the input `flags` of `one` is not given"], *self.given[:4])
        self.refused(2, ["ZF1101", "`one` has no input `more`"], *self.given, "--input", f"more={self.words}")
        self.refused(2, ["ZF1101", "`one` has no input `least`"], *self.given, "--input", f"least={self.words}")
        odd = self.file("odd.u32", b"12345")
        self.refused(2, ["ZF1101", "`words` has 5 bytes, which are no whole number of u32"], "--param", "least=0", "--input", f"words={odd}", *self.given[4:])
        self.refused(1, "missing.u32", "--param", "least=0", "--input", f"words={self.dir / 'missing.u32'}", *self.given[4:])
        self.refused(2, "--input needs NAME=FILE", *self.given, "--input", "words")
        self.refused(1, ["ZF2024", "/dev/zero has more bytes"], "--param", "least=0", "--input", "words=/dev/zero", "--input-memory", "1M", *self.given[4:])
        self.refused(1, ["ZF2024", "more bytes than"], *self.given, "--input-memory", "4")
        self.refused(2, "--input-memory", *self.given, "--input-memory", "none")

    def test_rows(self):
        for rows in ("0..5001", "5001..", "6000..6001"):
            self.refused(2, ["ZF1106", "5000"], *self.given, "--rows", rows)
        self.refused(2, ["ZF1106", "row 5000 is asked for"], *self.given, "--rows", "0..5001")
        for rows in ("3..2", "x", "1..x", "-1..3"):
            self.refused(2, f"not `{rows}`", *self.given, "--rows", rows)

    def test_columns(self):
        other = self.file("other.zf", "table t { k: i32 = plain; v: u32 = bitpack; y: bool = plain; }\n")
        container = self.dir / "other.zfd"
        self.good("encode", self.file("o.csv", "k,v,y\n1,2,true\n"), "-c", other, "-o", container)
        self.refused(2, ["ZF1105", "`one` reads the column `k` as i64, and the container has it as i32"], *self.given, container=container)
        self.refused(2, ["ZF1105", "`needs` reads a column `n`, which the container does not have"], query="needs", container=container)
        # Its other columns and its codecs are nobody's business.
        plain = self.file("plain.zf", "table other { z: u8 = plain; n: i32? = rle(values: nullable(values: plain), counts: plain); }\n")
        self.good("encode", self.file("p.csv", "z,n\n1,2\n"), "-c", plain, "-o", self.dir / "p.zfd")
        self.assertEqual(self.results(f"{self.program}:needs", self.dir / "p.zfd"), {"r": 1})
        for kind in ("decimal(9, 3)", "decimal(12, 2)", "i64"):
            scaled = self.file("scaled.zf", f"table t {{ cost: {kind} = plain; }}\n")
            self.good("encode", self.file("s.csv", "cost\n3\n"), "-c", scaled, "-o", self.dir / "s.zfd", "-f")
            self.refused(2, ["ZF1105", f"reads the column `cost` as decimal(9, 2), and the container has it as {kind}"], query="prices", container=self.dir / "s.zfd")
        for kind in ("i32", "decimal(9, 2)?", "list<i32>"):
            codec = "plain, values: plain" if "list" in kind else "nullable(values: plain)" if "?" in kind else "plain"
            mixed = self.file("mixed.zf", f"table t {{ n: {kind} = {codec}; }}\n")
            source = ["n.offsets=" + str(self.file("n.offsets", struct.pack("<2q", 0, 1))), "n.values=" + str(self.file("n.i32", bytes(4)))] if "list" in kind else [self.file("m.csv", "n\n3\n")]
            self.good("encode", *source, "-c", mixed, "-o", self.dir / "m.zfd", "-f")
            self.refused(2, ["ZF1105", "n"], query="needs", container=self.dir / "m.zfd")

    def test_places(self):
        # An input that is too short, in the second block; the row is that of the table.
        rows = [(k, 3 if k == 4500 else 0, 0, False) for k in range(5000)]
        container = self.with_rows(rows, "late.zfd")
        short = self.file("short.u32", array.array("I", [1, 2, 3]).tobytes())
        given = ["--param", "least=0", "--input", f"words={short}", *self.given[4:]]
        self.refused(1, ["ZF1301", "V01 in the query `one`", "row 4500", "e.zf:12:33"], *given, container=container)
        self.refused(1, ["ZF1301", "row 4500"], *given, "--rows", "4200..4900", container=container)
        self.good("query", f"{self.program}:one", container, *given, "--rows", "..4500")
        # An index beyond a result.
        container = self.with_rows([(1, 0, 0, False), (1, 4, 0, True)], "beyond.zfd")
        five = self.file("five.u32", bytes(20))
        given = ["--param", "least=2", "--input", f"words={five}", *self.given[4:]]
        self.refused(1, ["ZF1301", "V01", "row 1", "e.zf:14:"], *given, container=container)
        # A second row for an element.
        container = self.with_rows([(1, 2, 0, True), (1, 1, 0, True), (1, 2, 0, False), (1, 2, 0, True)], "twice.zfd")
        self.refused(1, ["ZF1328", "V28", "row 3", "e.zf:14:13"], *self.given, container=container)
        # A division by 0, and a bit beyond an input.
        container = self.with_rows([(1, 1, 0, False), (1, 3, 0, False)], "zero.zfd")
        self.refused(1, ["V07", "row 1", "e.zf:22:"], "--param", "size=1", query="two", container=container)
        container = self.with_rows([(0, 8, 0, False)], "bit.zfd")
        self.refused(1, ["ZF1301", "row 0", "e.zf:16:"], "--param", "least=9", *self.given[2:], container=container)
        # A condition of the query itself; nothing is written.
        out = self.dir / "out"
        self.refused(1, ["row 3", "e.zf:36:"], "-o", out, query="needs")
        self.assertFalse(out.exists())

    def test_damage(self):
        damaged = bytearray(self.container.read_bytes())
        damaged[-3000] ^= 0x40  # within a block
        path = self.file("damaged.zfd", bytes(damaged))
        self.refused(1, "ZF1324", *self.given, container=path)
        self.refused(1, "ZF1", *self.given, container=self.file("cut.zfd", self.container.read_bytes()[:-9]))
        self.refused(1, "ZF1", *self.given, container=self.file("text.zfd", "no container"))

    def test_outputs(self):
        with open("/dev/full", "w") as full:
            for words in ((), ("--json",)):
                result = self.zfc_to(full, "query", f"{self.program}:one", self.container, *self.given, *words)
                self.assertEqual(result.returncode, 1, result.stderr)
        self.file("dir", "a file")
        self.refused(1, "dir is a file: -o names a directory", *self.given, "-o", self.dir / "dir")
        self.refused(1, "cannot make directory", *self.given, "-o", self.dir / "no/such")


def setUpModule():
    zfc_case.cache_of_module()


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
