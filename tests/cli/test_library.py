"""Algorithms of the library on data that they are for. Usage: test_library.py ZFC [unittest arguments]

With ZF_TEST_DATA, a directory that has doubles/ (files of the ALP project: *.bin, samples/*.csv), alp also gets real columns."""

import array
import json
import math
import os
import pathlib
import random
import struct
import sys
import unittest

sys.dont_write_bytecode = True
import zfc_case  # noqa: E402

REAL = pathlib.Path(os.environ.get("ZF_TEST_DATA") or "/nonexistent") / "doubles"
FORMS = {"f64": "d", "f32": "f", "i64": "q", "i16": "h", "u32": "I"}
SPECIAL = [math.inf, -math.inf, -0.0, 0.0, 5e-324, 2.2250738585072009e-308, 1.7976931348623157e308, 0.1 + 0.2, 1e300, -9.5e18, 2.0**63]


class Case(zfc_case.Case):
    def round_trip(self, columns, program, rows_per_block=0):
        """Encodes columns given as bytes, decodes them on both devices; what `inspect` says of each."""
        inputs = []
        for name, content in columns.items():
            path = self.dir / f"{name}.raw"
            path.write_bytes(content)
            inputs.append(f"{name}={path}")
        text = " ".join(f"{name}: {kind} = {codec};" for name, (kind, codec) in program.items())
        container = self.dir / "t.zfd"
        self.good("encode", "-q", "-f", "-c", self.file("t.zf", f"table t {{ {text} }}\n"), "-o", container,
                  *(["--rows-per-block", rows_per_block] if rows_per_block else []), *inputs)
        for device in ("cpu", "emu"):
            self.good("decode", "-q", "-f", "--device", device, "-o", self.dir / "out", container)
            for name, content in columns.items():
                got = (self.dir / f"out/{name}.{program[name][0]}").read_bytes()
                self.assertTrue(got == content, f"{name} on {device}: other bytes")
        return {column["column"]: column for column in json.loads(self.good("inspect", "--json", container))["columns"]}

    def elements(self, column, path):
        return sum(stream["elements"] for block in column["blocks"] for stream in block["streams"] if stream["path"] == path)


def stored(column):
    """Bytes of streams."""
    return sum(stream["bytes"] for block in column["blocks"] for stream in block["streams"])


class Exceptions(Case):
    def test_alp_of_special_values(self):
        chosen = random.Random(2)
        nans = [struct.unpack("<d", struct.pack("<Q", 0x7ff0000000000000 | chosen.getrandbits(52) | 1 | chosen.getrandbits(1) << 63))[0]
                for _ in range(20)]
        values = [chosen.choice(SPECIAL + nans) if k % 41 == 0 else chosen.randrange(-10**6, 10**6) / 100 for k in range(9000)]
        doubles = struct.pack("<9000d", *values)
        singles = struct.pack("<9000I", *(chosen.getrandbits(32) if k % 50 == 0 else struct.unpack("<I", struct.pack("<f", chosen.randrange(3000) / 10))[0]
                                          for k in range(9000)))
        columns = self.round_trip({"d": doubles, "s": singles, "only": struct.pack("<9000d", *(nans * 450))},
                                  {"d": ("f64", "alp(bitpack, bitpack)"), "s": ("f32", "alp(bitpack, bitpack)"), "only": ("f64", "alp(bitpack, bitpack)")},
                                  rows_per_block=4096)
        self.assertEqual({block["params"]["digits"] for block in columns["d"]["blocks"]}, {2})
        self.assertEqual({block["params"]["digits"] for block in columns["s"]["blocks"]}, {1})
        self.assertEqual(self.elements(columns["only"], "exceptions"), 9000)
        self.assertLessEqual(self.elements(columns["d"], "exceptions"), 9000 // 41 + 1)  # some of those chosen are decimals
        self.assertGreater(self.elements(columns["d"], "exceptions"), 150)
        self.assertLess(stored(columns["d"]), 9000 * (21 / 8 + (8 + 1) / 41) * 1.02)  # 21 bits a value; one in 41 whole, with a gap
        self.assertLess(stored(columns["s"]), 9000 * (12 / 8 + (4 + 1) / 50) * 1.02)

    def test_pfor_of_outliers(self):
        chosen = random.Random(3)
        wide = [chosen.randrange(-2**63, 2**63) if chosen.random() < 0.01 else chosen.randrange(-500, 500) for _ in range(20000)]
        ends = [chosen.choice([-2**15, 2**15 - 1]) if chosen.random() < 0.02 else 1000 + chosen.randrange(60) for _ in range(20000)]
        columns = {"wide": array.array("q", wide).tobytes(), "ends": array.array("h", ends).tobytes(),
                   "equal": array.array("q", [-5] * 20000).tobytes(), "uniform": array.array("h", [chosen.randrange(-2**15, 2**15) for _ in range(20000)]).tobytes()}
        shown = self.round_trip(columns, {name: ("i64" if name in ("wide", "equal") else "i16", "pfor(bitpack, bitpack)") for name in columns}, 4096)
        outliers = sum(not -500 <= value < 500 for value in wide)
        self.assertEqual(self.elements(shown["wide"], "exceptions"), outliers)
        self.assertEqual(self.elements(shown["ends"], "exceptions"), sum(not 1000 <= value < 1060 for value in ends))
        self.assertEqual(self.elements(shown["equal"], "exceptions"), 0)
        self.assertEqual(self.elements(shown["uniform"], "exceptions"), 0)
        self.assertEqual({block["params"]["values.width"] for block in shown["wide"]["blocks"]}, {10})
        self.assertEqual({block["params"]["values.width"] for block in shown["ends"]["blocks"]}, {6})

    def test_sets(self):
        chosen = random.Random(4)
        members = sorted(chosen.sample(range(5000, 45000), 20000))
        flags = [chosen.random() < 0.02 for _ in range(20000)]
        shown = self.round_trip({"m": array.array("I", members).tobytes(), "w": array.array("I", members).tobytes()},
                                {"m": ("u32", "members"), "w": ("u32", "members(words: u64[] = plain)")}, 4096)
        self.assertEqual([block["params"]["base"] for block in shown["m"]["blocks"]], members[::4096])
        source = self.file("flags.csv", "f\n" + "".join(f"{str(flag).lower()}\n" for flag in flags))
        container = self.dir / "flags.zfd"
        self.good("encode", "-q", "-c", self.file("f.zf", "table t { f: bool = set_gaps(bitpack); }\n"), "-o", container, source)
        for device in ("cpu", "emu"):
            self.good("decode", "-q", "-f", "--device", device, "-o", self.dir / "out", container)
            self.assertEqual((self.dir / "out/f.bool").read_bytes(), bytes(sum(flags[at + b] << b for b in range(8)) for at in range(0, 20000, 8)))
        column = json.loads(self.good("inspect", "--json", container))["columns"][0]
        self.assertLess(stored(column), (sum(flags) + 1) * 9 / 8 + 8)  # 9 bits a gap


class Coders(Case):
    def test_tans_takes_what_symbols_are_worth(self):
        """The order of a symbol's rows: any other costs 0.05 to 0.08 bits a byte. Chunks take 2560 bits at most beside that."""
        chosen = random.Random(9)
        weights = {"even": [1] * 50, "steep": [1 / (i + 2) for i in range(64)], "most": [900, *([1] * 30)], "many": [1] * 196}
        rows = 4 * 32768
        columns = {name: bytes(chosen.choices(range(len(each)), each, k=rows)) for name, each in weights.items()}
        shown = self.round_trip(columns, {name: ("u8", "tans(slots: tans_slots(tans_symbols), give: 0)") for name in columns})
        for name, content in columns.items():
            counts = [content.count(value) for value in set(content)]
            entropy = -sum(n * math.log2(n / rows) for n in counts)
            self.assertLess(8 * stored(shown[name]), entropy + 4 * 2560 + 4096 + 0.01 * rows, name)

    def test_tans_of_tables_of_each_size(self):
        for log in (5, 8, 12):
            chosen = random.Random(log)
            content = {"few": bytes(chosen.choices([3, 200, 7], [50, 1, 20], k=5000)), "one": b"x" * 5000,
                       "all": bytes(chosen.choices(range(min(256, 1 << log)), k=5000))}
            nest = f"tans(slots: tans_slots(tans_symbols), log: {log})"
            shown = self.round_trip(content, {name: ("u8", nest) for name in content})
            self.assertEqual({block["params"]["slots.log"] for name in content for block in shown[name]["blocks"]}, {log})


class Digits(Case):
    """split, multiples, interleave, numerals."""
    CODED = "tans(slots: tans_slots(tans_symbols))"

    def test_split_takes_the_logarithm_of_what_there_is(self):
        chosen = random.Random(5)
        counts = {"even": [chosen.randrange(100000) for _ in range(200000)], "steep": [int(chosen.expovariate(1e-4)) for _ in range(200000)],
                  "thirds": [3 * chosen.randrange(60000) + chosen.choice([1, 2]) for _ in range(200000)]}
        nest = f"split({self.CODED}, bitpack)"
        shown = self.round_trip({name: array.array("I", values).tobytes() for name, values in counts.items()},
                                {"even": ("u32", nest), "steep": ("u32", nest), "thirds": ("u32", f"split(by: 3, high: u32[] = {nest}, low: bitpack)")})
        entropy = {"even": math.log2(100000), "steep": math.log2(math.e * 1e4), "thirds": math.log2(120000)}
        for name, bits in entropy.items():
            self.assertLess(8 * stored(shown[name]) / 200000, bits + 0.25, name)
            self.assertGreater(8 * stored(shown[name]) / 200000, bits - 0.05, name)
        self.assertEqual({block["params"]["radix"] for block in shown["thirds"]["blocks"]}, {3})
        self.assertEqual({block["params"]["radix"] for block in shown["even"]["blocks"]}, {512})

    def test_split_of_whole_ranges(self):
        for kind, form, ends in (("u8", "B", (0, 255)), ("i16", "h", (-2**15, 2**15 - 1)), ("i64", "q", (-2**63, 2**63 - 1)), ("u64", "Q", (0, 2**64 - 1))):
            chosen = random.Random(6)
            values = [*ends, *(chosen.randint(*ends) for _ in range(5000))]
            shown = self.round_trip({"c": array.array(form, values).tobytes()}, {"c": (kind, "split")})
            self.assertEqual(shown["c"]["blocks"][0]["params"]["radix"], 2 ** (8 * array.array(form).itemsize - 8))
        # 200 is no radix of an i8's digits but of its distances; 256 and 512 are none; a byte has no 10923 upper digits.
        program, values = {"c": ("i8", "split(by: 200)")}, array.array("b", range(-128, 128)).tobytes()
        self.assertEqual(self.round_trip({"c": values}, program)["c"]["blocks"][0]["params"]["radix"], 200)
        for kind, by, data in (("i8", 256, values), ("u8", 512, values), ("i16", 6, array.array("h", range(-2**15, 2**15)).tobytes())):
            (self.dir / "c.raw").write_bytes(data)
            self.bad(1, "encode", "-q", "-f", "-c", self.file("by.zf", f"table t {{ c: {kind} = split(by: {by}); }}\n"), "-o", self.dir / "by.zfd",
                     f"c={self.dir / 'c.raw'}", says=["ZF0602", "too large"])

    def test_multiples_of_prices(self):
        chosen = random.Random(7)
        prices = chosen.sample(range(900, 4000), 300)
        amounts = [chosen.choice(prices) * chosen.randint(1, 12) for _ in range(60000)]
        small = [10, 12, 20, 36, 12]
        shown = self.round_trip({"c": array.array("q", amounts).tobytes()}, {"c": ("i64", "multiples(times: bitpack, codes: bitpack, most: 12)")})
        entries = self.elements(shown["c"], "entries")
        self.assertLessEqual(entries, 330)  # some amounts have another price's divisors, too
        self.assertLess(8 * stored(shown["c"]) / 60000, 4 + 9 + 0.3)
        shown = self.round_trip({"c": array.array("q", small).tobytes()}, {"c": ("i64", "multiples(most: 3)")})
        self.assertEqual(self.elements(shown["c"], "entries"), 2)
        for most in (1, 2, 255):
            self.round_trip({"c": array.array("i", [0, 7, 0, 14, 14, 21]).tobytes()}, {"c": ("i32", f"multiples(most: {most})")})
        for kind, form, values in (("i32", "i", [-1, 5]), ("i64", "q", [160] * 10), ("u64", "Q", [2**63] * 3)):
            (self.dir / "c.raw").write_bytes(array.array(form, values).tobytes())
            self.bad(1, "encode", "-q", "-f", "-c", self.file("m.zf", f"table t {{ c: {kind} = multiples; }}\n"), "-o", self.dir / "m.zfd",
                     f"c={self.dir / 'c.raw'}", says=["ZF0602", "too large for so few"])
        self.round_trip({"c": array.array("q", [159] * 10).tobytes()}, {"c": ("i64", "multiples")})

    def test_interleave_finds_progressions(self):
        for rows in (0, 1, 3, 4, 5, 4095, 4096, 4097, 20002):
            values = [row % 4 * 25000 + row // 4 for row in range(rows)]
            shown = self.round_trip({"c": array.array("i", values).tobytes()}, {"c": ("i32", "interleave(n: 4, values: delta_stride)")})
            self.assertLessEqual(self.elements(shown["c"], "values.start"), 4)

    def test_numerals(self):
        chosen = random.Random(8)
        texts = {"name": [f"Customer#{row + 1:09}" for row in range(9000)],
                 "phone": [f"{chosen.randint(10, 34)}-{chosen.randint(100, 999)}-{chosen.randint(100, 999)}-{chosen.randint(1000, 9999)}" for _ in range(9000)],
                 "wide": [f"<{chosen.randrange(10**18):018}>" for _ in range(9000)], "same": ["always"] * 9000, "empty": [""] * 9000}
        source = self.file("n.csv", ",".join(texts) + "\n" + "".join(",".join(row) + "\n" for row in zip(*texts.values())))
        program = self.file("n.zf", "table t { name: string = strings(bitpack, numerals(delta_stride)); phone: string = strings(bitpack, numerals(bitpack));"
                            " wide: string = strings(bitpack, numerals); same: string = strings(bitpack, numerals(bitpack));"
                            " empty: string = strings(bitpack, numerals | plain); }\n")
        container = self.dir / "n.zfd"
        self.good("encode", "-q", "-c", program, "-o", container, "--rows-per-block", 4096, source)
        for device in ("cpu", "emu"):
            self.good("decode", "-q", "-f", "--device", device, "-o", self.dir / "out", container)
            for name, rows in texts.items():
                self.assertEqual((self.dir / f"out/{name}.bytes").read_bytes().decode(), "".join(rows), device)
        shown = {column["column"]: column for column in json.loads(self.good("inspect", "--json", container))["columns"]}
        self.assertEqual(self.elements(shown["name"], "bytes.numbers.start"), 3)  # one in each block
        self.assertEqual({block["params"]["bytes.numbers.width"] for block in shown["phone"]["blocks"]}, {38})
        for rows, why in ((["ab", "a"], "different lengths"), (["a1", "b1"], "something else than digits"), (["", "a"], "different lengths"),
                          (["0" * 19, "1" * 19], "too many places")):
            source = self.file("bad.csv", "c\n" + "".join(f'"{row}"\n' for row in rows))
            self.bad(1, "encode", "-q", "-f", "-c", self.file("bad.zf", "table t { c: string = strings(bitpack, numerals); }\n"), "-o", self.dir / "bad.zfd",
                     source, says=["ZF0602", why])


def decimals(values):
    """The least bits that a number of digits and 64 bits and a gap of 16 an exception give: what alp aims at."""
    def bits(d):
        power, whole = 10.0**d, []
        for value in values:
            n = math.floor(abs(value) * power + 0.5) if abs(value) * power < 2**62 else 0
            if struct.pack("<d", math.copysign(n / power, value) if n else 0.0) == struct.pack("<d", value):
                whole.append(int(math.copysign(n, value)))
        width = (max(whole) - min(whole)).bit_length() if whole else 0
        return len(values) * width + (len(values) - len(whole)) * 80
    return min(bits(d) for d in range(19))


@unittest.skipUnless(REAL.is_dir(), "ZF_TEST_DATA names no directory with doubles/")
class Doubles(Case):
    def real(self):
        for path in sorted(REAL.glob("samples/*.csv")):
            yield path.stem, [float(line) for line in path.read_text().split()]
        for path in sorted(REAL.glob("*.bin")):
            yield path.stem, list(array.array("d", path.read_bytes()))
        edges = REAL / "edge_case.csv"
        if edges.is_file():
            yield edges.stem, [float(line) for line in edges.read_text().split()]

    def test_alp(self):
        by_rows = {}
        for name, values in self.real():
            by_rows.setdefault(len(values), {})[name] = values
        self.assertTrue(by_rows)
        for group in by_rows.values():
            columns = {name: struct.pack(f"<{len(values)}d", *values) for name, values in group.items()}
            shown = self.round_trip(columns, {name: ("f64", "alp(ints: bitpack, gaps: bitpack)") for name in columns})
            for name, values in group.items():
                size = stored(shown[name])
                exceptions = self.elements(shown[name], "exceptions")
                print(f"{name}: {len(values)} doubles, {exceptions} exceptions, ratio of streams {8 * len(values) / max(size, 1):.2f}")
                if len(values) <= 1030:  # all of them are alp's sample
                    self.assertLessEqual(8 * size, 1.02 * decimals(values) + 512, name)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
