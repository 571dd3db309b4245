"""Modules for CPUs of each level decode what is decoded here without them: bits of every width, at distances and places of every
kind, LZ4 blocks, and coders. The machine runs code of the levels that it has; what it has no module for is skipped.

Usage: test_levels.py ZFC"""

import pathlib
import random
import struct
import unittest

from zfc_case import Case, cache_of_module

ROWS = 64 * 5 + 37
FLAGS = {"x86-64-v2": {"ssse3", "sse4_2", "popcnt"}, "x86-64-v3": {"avx2", "bmi2", "fma"}, "x86-64-v4": {"avx512f", "avx512bw", "avx512dq", "avx512vl"}}
FIELDS = [(8, 1, 7), (13, 5, 7), (25, 0, 25), (32, 7, 25), (32, 8, 16), (31, 3, 28), (40, 4, 36), (57, 7, 50), (64, 0, 57), (64, 9, 55), (3, 2, 1),
          (24, 16, 8), (65, 1, 64)]  # bits from one to the next, before the first, of an element
PROGRAM = """
algorithm fields(packed: u32[], param stride: u8 in 1..=128, param from: u8 in 0..=64, param count: u8 in 1..=64) -> u64[] fully_parallel {
    decode(i) = packed.bits(i * stride + from, count);
    encode(x) {
        packed.push_bits(0xffffffffffffffff >> (64 - from), from);
        for v in x {
            packed.push_bits(v, count);
            packed.push_bits(0xffffffffffffffff, stride - count);
        }
    }
}
"""


def setUpModule():
    cache_of_module()


def levels():
    """The levels whose code runs here."""
    path = pathlib.Path("/proc/cpuinfo")
    lines = [line for line in path.read_text().splitlines() if line.startswith("flags")] if path.exists() else []
    flags = set(lines[0].split()) if lines else set()
    return [level for level, needed in FLAGS.items() if needed <= flags]


class Levels(Case):
    def compare(self, columns, program=""):
        """`columns`: name to type, codec and values (or bytes)."""
        table = "".join(f"    {name}: {kind} = {codec};\n" for name, (kind, codec, _) in columns.items())
        text = self.file("t.zf", f"{program}table t {{\n{table}}}\n")
        inputs = []
        for name, (kind, _, values) in columns.items():
            code = {"u8": "B", "u32": "I", "u64": "Q", "i64": "q"}[kind]
            data = values if isinstance(values, bytes) else struct.pack(f"<{len(values)}{code}", *values)
            columns[name] = (kind, data)
            inputs.append(f"{name}={self.file(name + '.raw', data)}")
        container = self.dir / "t.zfd"
        self.good("encode", "-q", "-c", text, "-o", container, *inputs)
        tried = 0
        for level in levels():
            module = self.dir / f"{level}.zfm"
            self.good("compile", "-q", "--target", "host", "--cpu", level, "-o", module, container)
            out = self.dir / level
            self.good("decode", "-q", "--module", module, "-o", out, container)
            for name, (kind, data) in columns.items():
                self.assertTrue((out / f"{name}.{kind}").read_bytes() == data, f"{name} by {level}")
            tried += 1
        if not tried:
            self.skipTest("no level of x86-64 is known here")

    def test_widths(self):
        chosen, columns = random.Random("widths"), {}
        for width in range(1, 58):
            kind = "u32" if width <= 32 and width % 2 == 1 else "i64"
            values = [0, (1 << width) - 1] + [chosen.getrandbits(width) for _ in range(ROWS - 2)]
            columns[f"w{width}"] = (kind, "bitpack", values)
        self.compare(columns)

    def test_fields(self):
        chosen, columns = random.Random("fields"), {}
        for stride, before, count in FIELDS:
            values = [chosen.getrandbits(count) for _ in range(ROWS)]
            columns[f"f{stride}_{before}_{count}"] = ("u64", f"fields(stride: {stride}, from: {before}, count: {count})", values)
        self.compare(columns, PROGRAM)

    def test_chunks(self):
        chosen = random.Random("chunks")
        words = [chosen.randbytes(chosen.randint(1, 40)) for _ in range(50)]
        text = b"".join(chosen.choice(words) for _ in range(4000))[:30000]
        symbols = bytes(min(chosen.getrandbits(6), chosen.getrandbits(6)) for _ in range(30000))
        self.compare({"lz4": ("u8", "lz4(chunk: 4096)", text), "snappy": ("u8", "snappy(chunk: 1000)", text), "tans": ("u8", "tans(chunk: 4096)", symbols),
                      "rans": ("u8", "rans(chunk: 2000)", symbols), "huffman": ("u8", "huffman", symbols)})


if __name__ == "__main__":
    import sys

    unittest.main(argv=sys.argv[:1])
