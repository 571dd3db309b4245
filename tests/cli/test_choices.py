"""Kernels lowered in every way that may be chosen: columns of all forms give the bytes that the CPU gives, whole and in part, under
every value of every choice, beside changing values of the others. The emulated GPU watches each access.

Usage: test_choices.py ZFC"""

import json
import sys
import unittest

from zfc_case import Case

PROGRAM = """\
table t {
    packed: u32 = bitpack;
    bytes: u8 = bitpack;
    shorts: i16 = bitpack;
    wide: i64 = bitpack;
    coded: i32 = dictionary(codes: bitpack, entries: plain);
    flags: u8 = dictionary(codes: bitpack);
    price: f64 = float2int(bitpack);
    bits: bool = dictionary(codes: bitpack);
    scan: i32 = delta(bitpack);
    segments: i32 = gpu_dfor;
    runs: i32 = rle(bitpack, bitpack);
    letters: u8 = rle;
    patched: i32 = pfor;
    tree: i64 = delta(rle(bitpack, bitpack));
    some: i32? = nullable(values: bitpack);
}
"""
ROWS = 20500  # two blocks and a bit of 8192, and no whole tile of any form
ROUNDS = 6  # as many as a choice has values, at most


def row(k):
    return [k * 7919 % 90000, k * 31 % 101, k * 17 % 3000 - 1500, k * 104729 % (1 << 33) - 5, k * 13 % 50 * 1000003, k % 3 * 7 + 65,
            f"{k * 37 % 10007 / 100:.2f}", "true" if k * 5 % 7 < 3 else "false", k * k % 5003, k * 3 - k % 11, k // 37 % 1000, k // 20 % 7 + 97,
            1 << 30 if k % 97 == 0 else k % 120, k // 50 * 3, "" if k * 11 % 13 < 4 else k % 777]


class Choices(Case):
    SECONDS = 600

    def setUp(self):
        super().setUp()
        self.program = self.file("t.zf", PROGRAM)
        names = [line.split(":")[0].strip() for line in PROGRAM.splitlines() if ":" in line]
        text = ",".join(names) + "\n" + "".join(",".join(map(str, row(k))) + "\n" for k in range(ROWS))
        self.container = self.dir / "t.zfd"
        self.good("encode", "-q", "-c", self.program, "-o", self.container, "--rows-per-block", 8192, self.file("t.csv", text))

    def decoded(self, column, device, *words):
        out = self.dir / "out"
        self.good("decode", "-q", "-f", "-o", out, "--device", device, "--columns", column, *words, self.container)
        found = {path.name: path.read_bytes() for path in out.iterdir()}
        for path in out.iterdir():
            path.unlink()
        return found

    def spaces(self):
        report = json.loads(self.good("explain", "--choices", "--json", "--target", "emu", self.program))
        return {column["column"]: column["kernels"] for column in report["columns"]}

    def test_every_value(self):
        forms = set()
        for column, kernels in self.spaces().items():
            ranges = [(), ("--rows", "1..700"), ("--rows", "8191..16500")]
            plain = [self.decoded(column, "cpu", *words) for words in ranges]
            wanted = {(kernel["kernel"], name, value) for kernel in kernels for name, choice in kernel["choices"].items()
                      for value in choice["values"] if name != "REGISTERS"}
            tried = set()
            for turn in range(ROUNDS * 3):
                if turn >= ROUNDS and tried == wanted:
                    break
                chosen = [(kernel["kernel"], name, choice["values"][turn * (1 + at // 2) % len(choice["values"])]) for kernel in kernels
                          for at, (name, choice) in enumerate(sorted(kernel["choices"].items())) if name != "REGISTERS"]
                if turn >= ROUNDS:  # what did not come by beside the others, alone
                    chosen = [sorted(wanted - tried)[0]]
                text = ",".join([f"{kernel}:{name}={value}" for kernel, name, value in chosen]  # few registers: any block may have them
                                + [f"{kernel['kernel']}:REGISTERS=32" for kernel in kernels])
                if self.zfc("explain", "--choices", "--target", "emu", "--choose", text, f"{self.program}:t.{column}").returncode == 2:
                    self.assertLess(turn, ROUNDS, f"{column}: {text} alone is not legal")
                    continue
                for words, expected in zip(ranges, plain) if turn % 3 == 0 else [(ranges[0], plain[0])]:
                    self.assertEqual(self.decoded(column, "emu", "--choose", text, *words), expected, f"{column}: {text} {words}")
                tried.update(chosen)
            self.assertEqual(tried, wanted, column)
            forms.update(kernel["form"] for kernel in kernels)
        self.assertGreaterEqual(forms, {"map", "scan", "groups", "patches"})


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
