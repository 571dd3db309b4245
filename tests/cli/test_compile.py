"""The text of a program bounds how much code is compiled for it. Usage: test_compile.py ZFC [unittest arguments]"""

import array
import re
import sys
import unittest

sys.dont_write_bytecode = True
import zfc_case  # noqa: E402

MANY = 14000  # instructions of a column that LLVM optimised, which takes it a second or two

# Codecs whose terms, written out, are far more than that.
FRONT = """
algorithm front(shared: u8[], rest: u32[], suffixes: u8[]) -> u8[] group_parallel {{
    groups = rest.len;
    size(g) = shared[g] + rest[g] as u64;
    decode(g, j) {{
        let first = g / {n} * {n};
        let s = first + max(t in 0..{n}: first + t <= g && shared[first + t] <= j ? t : 0);
        return suffixes[sum(k in 0..s: rest[k] as u64) + j - shared[s]];
    }}
    encode(x) {{
        var from: u64 = 0;
        var before: u64 = 0;
        var g: u64 = 0;
        for row in x.parts {{
            var n: u64 = 0;
            if g % {n} > 0 {{ while n < min(255, min(row.len, from - before)) && row[n] == x[before + n] {{ n += 1; }} }}
            shared.push(n as u8);
            rest.push((row.len - n) as u32);
            suffixes.append(row[n..row.len]);
            before = from;
            from += row.len;
            g += 1;
        }}
    }}
}}
table t {{ c: string = strings(bitpack, front(bitpack, bitpack)); }}
"""
# `rows` terms of pairs; the encoder makes the same sums.
PAIRS = """
algorithm pairs(a: u64[]) -> u64[] fully_parallel {{
    fn row(v, k) -> u64 = sum(b in 0..8, c in 0..8: (v ^ b) * c + k) - min(b in 0..8, c in 0..8: v ^ b ^ c ^ k);
    fn rows(v, k) -> u64 = row(v, k) + row(v, k + 1) + row(v, k + 2) + row(v, k + 3) + row(v, k + 4) + row(v, k + 5);
    fn each(v) -> u64 = {each};
    decode(i) = a[i] + each(i % 7);
    encode(x) {{ for i in 0..x.len {{ a.push(x[i] - each(i % 7)); }} }}
}}
table t {{ c: u64 = pairs; }}
"""


def pairs(count):
    return PAIRS.format(each=" + ".join(f"rows(v, {8 * k})" for k in range(count)))


def setUpModule():
    zfc_case.cache_of_module()


class Compile(zfc_case.Case):
    def instructions(self, program, target):
        text = self.good("explain", "--emit=llvm", "--target", target, program)
        return len(re.findall(r"^  \S", text, re.MULTILINE))

    def round_trip(self, program, rows, files, devices=("cpu", "emu")):
        table, container = self.file("t.csv", "c\n" + "".join(f"{row}\n" for row in rows)), self.dir / "t.zfd"
        self.good("encode", "-q", "-f", "-c", program, "-o", container, table)
        for device in devices:
            self.good("decode", "-q", "-f", "--device", device, "-o", self.dir / device, container)
            for name, content in files.items():
                self.assertEqual((self.dir / device / name).read_bytes(), content, f"{device} {name}")

    def is_small(self, program):
        for target in ("host", "nvptx"):
            self.assertLess(self.instructions(program, target), MANY, target)

    def test_reduction_in_groups(self):
        names = [f"{k // 40:03} some name {k // 3 % 17:02} {k % 3}" for k in range(300)]
        program = self.file("t.zf", FRONT.format(n=64))
        self.is_small(program)
        self.round_trip(program, names, {"c.bytes": "".join(names).encode()})

    def test_pairs(self):
        """3 times 6 rows of pairs are more than LLVM optimises in a second, 16 times more than this compiler writes out at all."""
        numbers = [k * k + (1 << 40) for k in range(300)]
        files = {"c.u64": array.array("Q", numbers).tobytes()}
        program = self.file("t.zf", pairs(3))
        self.is_small(program)
        self.round_trip(program, numbers, files)
        self.round_trip(self.file("t.zf", pairs(16)), numbers, files, ["cpu"])

    def test_short_reductions_are_written_out(self):
        """Where the module is small, terms are code of their own, which vectorises: no loop."""
        program = self.file("t.zf", PAIRS.format(each="row(v, 0)"))
        self.assertNotIn("reduce", self.good("explain", "--emit=llvm", program))

    def test_the_planes_of_a_number_are_written_out(self):
        """Also where the module is large: four planes in a loop took a third of the speed of a GPU."""
        program = self.file("t.zf", 'import "std.zf";\ntable t { c: u8 = delta(dictionary(codes: byte_stream_split)); }\n')
        self.assertNotIn("reduce", self.good("explain", "--emit=llvm", "--target=nvptx", program))


class Loads(zfc_case.Case):
    def test_adjacent_bytes_are_not_loaded_as_if_aligned(self):
        """Bytes from any place on become a vector, of which LLVM 19 alone makes a load that wants an aligned address."""
        program = self.file("t.zf", 'import "std.zf";\ntable t { c: u8 = dictionary(codes: byte_stream_split); }\n')
        for shaping in ([], ["--arch", "80"]):
            ptx = self.good("explain", "--emit=ptx", "--no-cache", *shaping, program)
            self.assertIn("ld.global.nc.u32", ptx)
            self.assertNotRegex(ptx, r"ld\.\S*v4")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
