"""Elements that kernels make before they are known to be needed, and count where lanes share them: nothing is read that the program does not
read, nothing divided by zero, no program refused, and as much work counted as one thread takes. Usage: test_early.py ZFC
PATCH_CONTAINER [unittest arguments]"""

import array
import random
import re
import signal
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
import zfc_case  # noqa: E402

PATCH = sys.argv[2]
SEGMENTS = "for i in 0..x.len { steps.push(i % 16 == 0 ? x[i] - 7 : x[i] - x[i - 1]); }"
SUM = "sum(k in i / 16 * 16 ..= i: steps[k])"
PROGRAMS = {
    "a table that an arm alone reads, beside a segmented sum": f"""
algorithm made(steps: i32[], codes: u32[], entries: i32[]) -> i32[] fully_parallel {{
    decode(i) = (codes[i / 16] as u64 < entries.len ? entries[codes[i / 16]] : 7) + {SUM};
    encode(x) {{ {SEGMENTS} for i in 0..(x.len + 15) / 16 {{ codes.push(4000000000); }} entries.push(1); }}
}}""",
    "a place that a statement sets": f"""
algorithm made(steps: i32[], entries: i32[]) -> i32[] fully_parallel {{
    decode(i) {{ var a: u64 = 0; if i % 3 == 1 {{ a = i % 2; }} return entries[a] + {SUM}; }}
    encode(x) {{ {SEGMENTS} entries.push(7); entries.push(7); }}
}}""",
    "a place that a loop sets": f"""
algorithm made(steps: i32[], entries: i32[]) -> i32[] fully_parallel {{
    decode(i) {{ var a: u64 = 0; for k in 0..i % 3 {{ a = 1 - a; }} return entries[a] + {SUM}; }}
    encode(x) {{ {SEGMENTS} entries.push(7); entries.push(7); }}
}}""",
    "a place that is required": f"""
algorithm made(steps: i32[], codes: u32[], entries: i32[]) -> i32[] fully_parallel {{
    decode(i) {{ let c = codes[i / 16]; require c as u64 < entries.len; return entries[c] + {SUM}; }}
    encode(x) {{ {SEGMENTS} for i in 0..(x.len + 15) / 16 {{ codes.push(0); }} entries.push(7); }}
}}""",
    "groups without exceptions": """
algorithm made(values: i32[], sizes: u8[] in 1..=8, first: u32[], entries: i32[8]) -> i32[] group_parallel {
    groups = sizes.len;
    size(g) = sizes[g];
    decode(g, j, i) { let v = values[i]; return j < first[g] ? v : entries[j - first[g]]; }
    encode(x) {
        for k in 0..x.len { values.push(x[k]); }
        for b in 0..(x.len + 4) / 5 { sizes.push(min(5, x.len - b * 5) as u8); first.push(0xffffffff); }
        for k in 0..8 { entries.push(k as i32); }
    }
}""",
    "some groups with exceptions": """
algorithm made(values: i32[], sizes: u8[] in 1..=8, first: u32[], last: i32[]) -> i32[] group_parallel {
    groups = sizes.len;
    size(g) = sizes[g];
    decode(g, j, i) { let v = values[i]; return j < first[g] ? v : last[g * 2 + (j - first[g])]; }
    encode(x) {
        for k in 0..x.len { values.push(x[k]); }
        for b in 0..(x.len + 4) / 5 {
            let n = min(5, x.len - b * 5);
            sizes.push(n as u8);
            first.push(b % 7 == 3 && n == 5 ? 3 : 0x80000000);
            last.push(x[b * 5 + (n == 5 ? 3 : 0)]);
            last.push(x[b * 5 + (n == 5 ? 4 : 0)]);
        }
    }
}""",
    "quotients of exceptions that are not there": """
algorithm made(values: i32[], sizes: u8[] in 1..=8, first: u8[] in 0..=8, total: u64[]) -> i32[] group_parallel {
    groups = sizes.len;
    size(g) = sizes[g];
    decode(g, j, i) { let v = values[i]; return j < first[g] ? v : (total[g] / (j - first[g] + 1)) as i32; }
    encode(x) {
        for k in 0..x.len { values.push(x[k]); }
        for b in 0..(x.len + 4) / 5 { sizes.push(min(5, x.len - b * 5) as u8); first.push(6); total.push(100); }
    }
}""",
}
# 1,024 rows of one element, of which each row's size takes a hundred terms.
ROWS = """
algorithm made(values: i32[] per chunk, sizes: u8[] per chunk) -> i32[] non_parallel(chunk = 1024) {
    decode { emit r in 0..sizes.len, j in 0..sizes[r] as u64 + sum(m in 0..100: m & r & 0): values[r]; }
    encode(x) { for c in chunks(x) { for k in 0..c.len { values.push(c[k]); sizes.push(1); } } }
}"""

GROUPS = """
algorithm made(values: i32[], param n: u64) -> i32[] group_parallel {
    groups = n * 1000000 / 1000000;
    size(g) = g < values.len ? 1 : 0;
    decode(g, j) = values[g];
    encode(x) { n = x.len; values.append(x); }
}"""

SLOW = """
algorithm made(s: i32[]) -> i32[] fully_parallel {
    decode(i) {
        var t: u64 = i;
        for k in 0..60000 - 59997 { t = t * 3 + (t >> 7) ^ k; }
        return t == 12345 ? 1 : s[i];
    }
    encode(x) { s.append(x); }
}"""


def setUpModule():
    zfc_case.cache_of_module()


class Early(zfc_case.Case):
    def container(self, program, rows):
        source = self.file("p.zf", program + "\ntable t { c: i32 = made; }\n")
        chosen = random.Random(7)
        values = self.file("c.raw", array.array("i", [chosen.randrange(-2**30, 2**30) for _ in range(rows)]).tobytes())
        # Tests change the text of the program, and version 1 has no hashes of it.
        self.good("encode", "-q", "-f", "--format", "1", "-c", source, "-o", self.dir / "t.zfd", f"c={values}")
        return self.dir / "t.zfd", values.read_bytes()

    def test_programs(self):
        for what, program in PROGRAMS.items():
            for rows in (1, 4999, 20011):
                with self.subTest(what, rows=rows):
                    container, wanted = self.container(program, rows)
                    for device in ("cpu", "emu"):
                        self.good("decode", "-q", "-f", "--device", device, "-o", self.dir / "out", container)
                        self.assertEqual((self.dir / "out/c.i32").read_bytes(), wanted, device)

    def test_work_of_rows(self):
        """The program in the container is changed to take three times as much: more than its chunk may, if what measures a row and what
        makes its elements are both counted, as one thread does."""
        container, _ = self.container(ROWS, 1024)
        for device in (("cpu",), ("emu", "--chunk-threads", 1), ("emu", "--chunk-threads", 32)):
            self.good("decode", "-q", "-f", "--device", *device, "-o", self.dir / "out", container)
        subprocess.run([PATCH, container, b"m in 0..100".hex(), b"m in 0..300".hex()], check=True)
        for device in (("cpu",), ("emu", "--chunk-threads", 1), ("emu", "--chunk-threads", 32)):
            self.bad(1, "decode", "-q", "-f", "--device", *device, "-o", self.dir / "out", container, says="V10: more work than a block or chunk")

    def test_an_interrupt_ends_a_slow_decode(self):
        """The program in the container is changed to take ten thousand times as long: a decode of a minute or more ends with the signal."""
        rows, out = 1_000_000, self.dir / "out"
        container, wanted = self.container(SLOW, rows)
        self.good("decode", "-q", "-o", out, container)
        self.assertEqual((out / "c.i32").read_bytes(), wanted)
        (out / "c.i32").unlink()
        subprocess.run([PATCH, container, b"60000 - 59997".hex(), b"60000 - 10000".hex()], check=True)
        for number in (signal.SIGINT, signal.SIGTERM):
            process = subprocess.Popen([zfc_case.ZFC, "decode", "-q", "--threads", "1", "-o", out, container], stderr=subprocess.PIPE)
            time.sleep(1)  # by then it decodes, or else still compiles
            self.assertIsNone(process.poll())
            process.send_signal(number)
            process.communicate(timeout=30)
            self.assertEqual((process.returncode, list(out.iterdir())), (-number, []))

    def test_groups_are_counted(self):
        """The program in the container is changed to have a million times as many groups: the error says how many, and how many it may
        have."""
        container, wanted = self.container(GROUPS, 1000)
        for device in ("cpu", "emu"):
            self.good("decode", "-q", "-f", "--device", device, "-o", self.dir / "out", container)
            self.assertEqual((self.dir / "out/c.i32").read_bytes(), wanted, device)
        subprocess.run([PATCH, container, b"/ 1000000".hex(), b"/ 0x00001".hex()], check=True)
        for device in ("cpu", "emu"):
            message = self.bad(1, "decode", "-q", "-f", "--device", device, "-o", self.dir / "out", container, says="error[ZF1325]").stderr
            most = re.search(r"number of groups 1000000000; a block of its size may have (\d+)\n  at: .*column c, block 0, ", message)
            self.assertTrue(most, message)
            self.assertLess(int(most.group(1)), 10 ** 9)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
