"""Kernels lowered in every way that may be chosen: columns of all forms give the bytes that the CPU gives, whole and in part, under
every value of every choice, beside changing values of the others; damaged rows fail in the same way, but for those that nobody wanted.
The emulated GPU watches each access.

Usage: test_choices.py ZFC PATCH_CONTAINER"""

import hashlib
import json
import os
import re
import subprocess
import sys
import unittest

from zfc_case import Case, sample

PATCH = sys.argv[2]
EMULATORS = ("emu", "emu64")  # waves of 32 lanes, of 64
TURN = int(os.environ.get("ZF_TEST_TURN", "0"))

PROGRAM = """\
algorithm two_tables(high: u16[], low: u16[], hundreds: u32[], ones: u16[]) -> u32[] fully_parallel {
    decode(i) = hundreds[high[i]] + ones[low[i]] as u32;
    encode(x) { for v in x { high.push(hundreds.intern(v / 100 * 100) as u16); low.push(ones.intern((v % 100) as u16) as u16); } }
}
// Codes of elements that follow each other backwards, lie five bytes apart, are as wide as each element says, or have words of
// their own: a neighbour's may be in the words of another's, and need not.
algorithm backwards(starts: u32[], widths: u8[], data: u32[]) -> u32[] fully_parallel {
    decode(i) {
        let width = widths[i / 32];
        require width <= 32;
        return data.bits(32 * (starts[i / 32] as u64) + (31 - i % 32) * width, width) as u32;
    }
    encode(x) {
        for g in 0..(x.len + 31) / 32 {
            starts.push(data.len as u32);
            let width = bit_width(max(x[g * 32 .. min(x.len, g * 32 + 32)]));
            widths.push(width);
            for k in 0..32 { data.push_bits(g * 32 + 31 - k < x.len ? x[g * 32 + 31 - k] : 0, width); }
        }
    }
}
algorithm apart(starts: u32[], data: u32[]) -> u32[] fully_parallel {
    decode(i) = data.bits(32 * (starts[i / 8] as u64) + i % 8 * 40, 8) as u32;
    encode(x) {
        for g in 0..(x.len + 7) / 8 {
            starts.push(data.len as u32);
            for k in 0..8 {
                data.push_bits(g * 8 + k < x.len ? x[g * 8 + k] & 255 : 0, 8);
                data.push_bits(0xffffffff, 32);
            }
        }
    }
}
algorithm each_its_own(starts: u32[], widths: u8[], data: u32[]) -> u32[] fully_parallel {
    decode(i) {
        let width = widths[i];
        require width <= 8;
        return data.bits(32 * (starts[i / 8] as u64) + i % 8 * 8, width) as u32;
    }
    encode(x) {
        for k in 0..x.len {
            if k % 8 == 0 { starts.push(data.len as u32); }
            widths.push(bit_width(x[k] & 255));
            data.push_bits(x[k] & 255 | ~(255 >> (8 - bit_width(x[k] & 255))) & 255, 8);
        }
        for k in x.len..(x.len + 7) / 8 * 8 { data.push_bits(0, 8); }
    }
}
algorithm in_own_words(starts: u32[], data: u32[]) -> u32[] fully_parallel {
    decode(i) = data.bits(32 * (starts[i] as u64) + i % 8 * 4, 4) as u32;
    encode(x) {
        for k in 0..x.len {
            starts.push(data.len as u32);
            data.push_bits(0, (k % 8 * 4) as u8);
            data.push_bits(x[k] & 15, (32 - k % 8 * 4) as u8);
        }
    }
}
table t {
    words: u32 = in_own_words;
    backwards: u32 = backwards;
    apart: u32 = apart;
    own: u32 = each_its_own;
    packed: u32 = bitpack;
    bytes: u8 = bitpack;
    shorts: i16 = bitpack;
    wide: i64 = bitpack;
    coded: i32 = dictionary(codes: bitpack, entries: plain);
    flags: u8 = dictionary(codes: bitpack);
    edge: i32 = dictionary(codes: bitpack);
    made: i32 = dictionary(codes: bitpack, entries: delta(bitpack));
    pair: u32 = two_tables(high: bitpack, low: bitpack);
    price: f64 = float2int(bitpack);
    bits: bool = dictionary(codes: bitpack);
    scan: i32 = delta(bitpack);
    segments: i32 = gpu_dfor;
    segments_wide: i32 = gpu_dfor;
    blocks: i32 = gpu_for;
    blocks_narrow: i32 = gpu_for;
    runs: i32 = rle(bitpack, bitpack);
    chunks: i32 = gpu_rfor;
    letters: u8 = rle;
    patched: i32 = pfor;
    tree: i64 = delta(rle(bitpack, bitpack));
    some: i32? = nullable(values: bitpack);
}
"""
ROWS = 20500  # two blocks and a bit of 8192, and no whole tile of any form
ROUNDS = 6  # as many as a choice has values, at most


def row(k):
    return [k * 5 % 16, k * 104729 % (1 << k // 60 % 33), k * 7 % 256, k * 11 % 256, k * 7919 % 90000, k * 31 % 101, k * 17 % 3000 - 1500, k * 104729 % (1 << 33) - 5, k * 13 % 50 * 1000003, k % 3 * 7 + 65,
            k % (1024 if k < 8192 else 1025 if k < 16384 else 7) * 4001, k * 31 % 300 * 9, k * 7919 % 90000,  # tables of 4 KiB, and a bit more
            f"{k * 37 % 10007 / 100:.2f}", "true" if k * 5 % 7 < 3 else "false", k * k % 5003, k * 3 - k % 11, k * 104729 % (1 << 3 + k // 700 % 26), k * k % 1000 << k // 32 % 9, k * 7 % (1 << 4 + k // 300 % 5), k // 37 % 1000, k // 9 * 7919 % 3000, k // 20 % 7 + 97,
            1 << 30 if k % 97 == 0 else k % 120, k // 50 * 3, "" if k * 11 % 13 < 4 else k % 777]


class Choices(Case):
    SECONDS = 600

    def setUp(self):
        super().setUp()
        self.program = self.file("t.zf", PROGRAM)
        names = [line.split(":")[0].strip() for line in PROGRAM.split("table t {")[1].splitlines() if ":" in line]
        text = ",".join(names) + "\n" + "".join(",".join(map(str, row(k))) + "\n" for k in range(ROWS))
        self.container = self.dir / "t.zfd"
        self.good("encode", "-q", "-c", self.program, "-o", self.container, "--rows-per-block", 8192, self.file("t.csv", text))

    def decoded(self, column, device, *words):
        out = self.dir / "out"
        self.good("decode", "-q", "-f", "-o", out, "--device", device, "--columns", column, *words, self.container)
        found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in out.iterdir()}  # bytes that differ take minutes to show
        for path in out.iterdir():
            path.unlink()
        return found

    def spaces(self, target):
        report = json.loads(self.good("explain", "--choices", "--json", "--target", target, self.program))
        return {column["column"]: column["kernels"] for column in report["columns"]}

    def test_every_value(self):
        forms = set()
        spaces = [self.spaces(target) for target in EMULATORS]
        every, _ = sample()
        for number, column in enumerate(spaces[0]):  # columns take turns
            if (number + TURN) % every:
                continue
            emulator = EMULATORS[(number + TURN) % len(EMULATORS)]
            kernels = spaces[(number + TURN) % len(EMULATORS)][column]
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
                if self.zfc("explain", "--choices", "--target", emulator, "--choose", text, f"{self.program}:t.{column}").returncode == 2:
                    self.assertLess(turn, ROUNDS, f"{column}: {text} alone is not legal")
                    continue
                for words, expected in zip(ranges, plain) if turn % 3 == 0 else [(ranges[0], plain[0])]:
                    self.assertEqual(self.decoded(column, emulator, "--choose", text, *words), expected, f"{emulator} {column}: {text} {words}")
                tried.update(chosen)
            self.assertEqual(tried, wanted, column)
            forms.update(kernel["form"] for kernel in kernels)
        if every == 1:
            self.assertGreaterEqual(forms, {"map", "scan", "groups", "patches", "warp"})
        self.assertTrue(forms)

    def test_tables(self):
        """Tables that are as large as there is room for them, and one element more."""
        plain = self.decoded("edge", "cpu")
        for text in ("0:TABLE=4,THREADS=1024", "0:TABLE=4,THREADS=32,L=16", "0:TABLE=4,PREFETCH=1", "0:TABLE=8,STAGE=1", "0:TABLE=8,STAGE=2,C=1"):
            self.assertEqual(self.decoded("edge", "emu", "--choose", text), plain, text)

    def test_cpus_have_no_choices(self):
        """A choice that no kernel would have is refused, not ignored."""
        for verb in (["decode", "-f", "-o", self.dir / "out"], ["bench", "--bytes", "1"]):
            done = self.zfc(*verb, "--device", "cpu", "--choose", "0:THREADS=64", self.container)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("error[ZF2014]: --choose is for kernels of GPUs, and the device is `cpu`\n", done.stderr)
            self.assertIn("hint: name a GPU by --device", done.stderr)

    def depths(self, *words):
        """For each block of the code of `blocks` for GPUs how many loads of the block each of its loads waits for, in their order."""
        waits, found = {}, [[]]
        text = self.good("explain", "--emit=llvm", "--target", "nvptx", *words, f"{self.program}:t.blocks",
                         env={**os.environ, "ZIPFLOW_OPTIMISE": "3"})  # loads are ordered in code that is optimised, also where tests take none
        for line in text.splitlines():
            if re.match(r"[\w.]+:", line):
                waits = {}
                found.append([])
            made = re.match(r"  (%[\w.]+) = (\w+)(.*)", line)
            if made is None or made[2] == "phi":
                continue
            name, operation, rest = made.groups()
            depth = max((waits[used] for used in re.findall(r"%[\w.]+", rest) if used in waits), default=0)
            if operation == "load":
                found[-1].append(depth)
            waits[name] = depth + (operation == "load")
        return found

    def test_order_of_loads(self):
        """In four steps of a map, loads that wait for the fewest go first: where each begins, then how wide it is, then its
        words, two for all neighbours. Without the choice each step has its own."""
        most = max((block for block in self.depths("--choose", "0:PREFETCH=1") if 2 in block), key=lambda block: block.count(0))
        self.assertEqual(most, sorted(most))
        self.assertEqual([most.count(0), most.count(2)], [4, 8], most)
        self.assertEqual({block.count(0) for block in self.depths("--choose", "0:PREFETCH=0") if 2 in block}, {1})


class Damaged(Case):
    """A code that no entry has, in row 5000 of the one block, its checksum right."""

    ENTRIES, ROW = 200, 5000  # codes are bytes
    CHOICES = [(), ("--choose", "0:L=1,THREADS=32"), ("--choose", "0:C=1,L=2,THREADS=512"), ("--choose", "0:TABLE=0"),
               ("--choose", "0:L=16,THREADS=1024")]  # tiles to 65,536 rows

    def setUp(self):
        super().setUp()
        rows = [k if k < self.ENTRIES else k * 31 % self.ENTRIES for k in range(ROWS)]
        marked = [11, 77, 13, 99, 150, 3, 8, 1]
        rows[self.ROW - 4:self.ROW + 4] = marked
        program = self.file("t.zf", "table t { c: u32 = dictionary(codes: bitpack); }\n")
        self.container, good = self.dir / "t.zfd", self.dir / "good.zfd"
        self.good("encode", "-q", "-c", program, "-o", good, "--rows-per-block", 1 << 15, self.file("t.csv", "c\n" + "".join(f"{v}\n" for v in rows)))
        self.container.write_bytes(good.read_bytes())
        subprocess.run([PATCH, self.container, bytes(marked).hex(), bytes([*marked[:4], 255, *marked[5:]]).hex(), "blocks"], check=True)
        self.rows = b"".join(v.to_bytes(4, "little") for v in rows)

    def decode(self, choice, *words):
        """The exit status; rows of a good run; what a bad one says."""
        out = self.dir / "out"
        result = self.zfc("decode", "-q", "-f", "-o", out, "--device", "emu", *choice, *words, self.container)
        found = b"".join(path.read_bytes() for path in out.iterdir()) if result.returncode == 0 else b""
        return result.returncode, found, result.stderr

    def test_wanted_rows(self):
        """Whole columns, and ranges that have the row, fail alike whatever is chosen."""
        for words in ((), ("--rows", "4990..5010"), ("--rows", "5000..5001")):
            found = {self.decode(choice, *words) for choice in self.CHOICES}
            self.assertEqual(len(found), 1, found)
            status, _, said = found.pop()
            self.assertEqual(status, 1, said)
            self.assertIn("V01", said)
            self.assertIn(str(self.ROW), said)

    def test_rows_that_nobody_wants(self):
        """A choice may notice a violation of other rows in a tile with requested rows, since the tile is what is chosen: then it is this error,
        else all wanted rows are right."""
        wanted = self.decode((), "--rows", "5000..5001")[1:]
        noticed = []
        for choice in self.CHOICES:
            for begin, end in ((0, 100), (4995, 5000), (5001, 5002), (10000, ROWS)):
                status, *found = self.decode(choice, "--rows", f"{begin}..{end}")
                noticed.append(status != 0)
                self.assertEqual(found, list(wanted) if status != 0 else [self.rows[4 * begin:4 * end], ""], (choice, begin, end))
        self.assertEqual(set(noticed), {False, True}, "these choices show both")
        self.assertEqual(noticed[:1], [False], "the tile of row 100 without choices")
        self.assertEqual(noticed[-4:], [True] * 4, "one tile for the block")


class BehindTheEnd(Case):
    """Neighbours of which the first ones' bits lie in the stream's last word, and the others' behind it."""

    PROGRAM = """\
algorithm late(starts: u32[], data: u32[]) -> u32[] fully_parallel {
    decode(i) = data.bits(32 * (starts[i / 4] as u64) + (20 + i % 4 * 6), 6) as u32;
    encode(x) {
        for g in 0..x.len / 4 {
            starts.push(data.len as u32);
            data.push_bits(0, 20);
            for k in 0..4 { data.push_bits(x[g * 4 + k] & 63, 6); }
            data.push_bits(0, 20);
        }
    }
}
table t { c: u32 = late; }
"""

    def test_behind_the_end(self):
        rows = 4096
        container = self.dir / "t.zfd"
        self.good("encode", "-q", "-c", self.file("t.zf", self.PROGRAM), "-o", container, self.file("t.csv", "c\n" + "".join(f"{k % 64}\n" for k in range(rows))))
        last = 2 * (rows // 4 - 1)
        before, after = (((last - 2).to_bytes(4, "little") + word.to_bytes(4, "little")).hex() for word in (last, last + 1))
        subprocess.run([PATCH, container, before, after, "blocks"], check=True)
        for choice in ((), ("--choose", "0:PREFETCH=1")):
            for device in ("cpu", "emu"):
                words = choice if device == "emu" else ()
                self.bad(1, "decode", "-q", "-f", "-o", self.dir / "out", "--device", device, *words, container, says=["V01", f"row {rows - 2}"])


class DamagedChunk(Case):
    """A chunk that no warp may walk, where a warp walks several: what lies before it is not its concern."""

    def test_rows_before_it(self):
        rows = [1000000 + k // 9 for k in range(8192)]
        container = self.dir / "t.zfd"
        self.good("encode", "-q", "-c", self.file("t.zf", "table t { c: i32 = gpu_rfor; }"), "-o", container,
                  self.file("t.csv", "c\n" + "".join(f"{v}\n" for v in rows)))
        head = rows[3 * 512].to_bytes(4, "little")  # of chunk 3: its smallest value, then the width, 57 values in six bits
        subprocess.run([PATCH, container, (head + bytes([6] * 4)).hex(), (head + bytes([33] * 4)).hex(), "blocks"], check=True)
        for choice in ((), ("--choose", "0:L=8"), ("--choose", "0:L=8,THREADS=32")):
            for begin, end in ((0, 1000), (511, 1536)):
                out = self.dir / "out"
                self.good("decode", "-q", "-f", "-o", out, "--device", "emu", *choice, "--rows", f"{begin}..{end}", container)
                (path,) = out.iterdir()
                self.assertEqual(path.read_bytes(), b"".join(v.to_bytes(4, "little") for v in rows[begin:end]), (choice, begin))
            for words in (("--rows", "1000..1537"), ()):
                self.bad(1, "decode", "-q", "-f", "-o", out, "--device", "emu", *choice, *words, container, says="V06")


class LaterTiles(Case):
    """Maps of bits ask for what later tiles read, which lie in later blocks of the launch; the emulator looks whether they do."""

    def test_many_blocks(self):
        rows, container = 100 * 4096 + 777, self.dir / "t.zfd"
        program = self.file("t.zf", 'import "std.zf";\ntable t { a: i32 = bitpack; b: i64 = bitpack; c: f64 = float2int(bitpack); d: u8 = bitpack; }\n')
        text = self.file("t.csv", "a,b,c,d\n" + "".join(f"{k * 7919 % 5003},{k % 77},{k % 1000 / 100},{k % 13}\n" for k in range(rows)))
        self.good("encode", "-q", "-c", program, "-o", container, "--rows-per-block", 4096, text)
        decoded = {}
        for device, *words in (["cpu"], ["emu"], ["emu", "--choose", "0:THREADS=1024"], ["emu", "--choose", "0:L=16"], ["emu", "--choose", "0:PREFETCH=0"]):
            out = self.dir / "-".join([device, *words]).replace(":", "")
            self.good("decode", "-q", "-o", out, "--device", device, *words, container)
            decoded[out.name] = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in out.iterdir()}
        self.assertEqual(len(decoded["cpu"]), 4)
        for name, found in decoded.items():
            self.assertEqual(found, decoded["cpu"], name)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
