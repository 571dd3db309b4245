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
