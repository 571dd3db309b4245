"""zfc bench as a user runs it. Usage: test_bench_verb.py ZFC [unittest arguments]"""

import json
import os
import sys
import unittest

sys.dont_write_bytecode = True
from cli_table import TYPES, Case, as_raw, make_rows  # noqa: E402


class Bench(Case):
    def report(self, *words):
        return json.loads(self.good("bench", "--json", "--repeats", "5", *words))

    def check(self, result, plain_at_least):
        self.assertTrue(result["verified"])
        self.assertGreaterEqual(result["plain_bytes"], plain_at_least)
        self.assertGreater(result["read_bytes"], 0)
        for times in (result["decode_seconds"], result["copy_seconds"]):
            self.assertTrue(0 < times["least"] <= times["median"] <= times["most"], times)
        decode, copy = result["decode_seconds"]["median"], result["copy_seconds"]["median"]
        self.assertAlmostEqual(result["gb_per_second"] * decode * 1e9 / result["plain_bytes"], 1)
        self.assertAlmostEqual(result["percent_of_copy"] * decode / copy / 100, 1)
        moved = (result["plain_bytes"] + result["read_bytes"]) / decode
        self.assertAlmostEqual(result["fraction_of_limit"] / moved * (2 * result["plain_bytes"] / copy), 1)

    def test_characters(self):
        (self.dir / "words.zf").write_text('import "std.zf"; table t { c: string? = nullable(values: strings); }')
        (self.dir / "words.csv").write_text("c\n" + "seven..\n\n" * 500)
        container = self.dir / "words.zfd"
        self.good("encode", "-q", "-c", self.dir / "words.zf", "-o", container, self.dir / "words.csv")
        result = self.report("--bytes", "100000", "--device", "cpu", container)["results"][0]
        decode = result["decode_seconds"]["median"]
        self.assertAlmostEqual(result["characters_gb_per_second"] * decode * 1e9 / (result["repeated"] * 3500), 1)

    def test_container(self):
        container = self.encode(make_rows(10000), "--rows-per-block", "4096")
        sizes = {name: len(as_raw(make_rows(10000), name)) for name in TYPES}
        for more in [(), ("--threads", "3"), ("--checksums",), ("--general",)]:
            report = self.report("--bytes", "100000", "--device", "cpu", *more, container)
            self.assertEqual([r["column"] for r in report["results"]], list(TYPES))
            for result in report["results"]:
                self.check(result, 100000)
                size = sizes[result["column"]]
                self.assertEqual((result["rows"], result["blocks"], result["repeated"]), (10000, 3, -(-100000 // size)), result["column"])
                self.assertEqual(result["plain_bytes"], size * result["repeated"])
            self.assertEqual((report["checksums"], report["general_kernels"], report["threads"]),
                             ("--checksums" in more, "--general" in more, 3 if "3" in more else 1))
        for key in ("commit", "version", "llvm", "date", "counted", "load_before", "load_after"):
            self.assertIn(key, report)
        self.assertIn("--general", report["command"])
        self.assertEqual(report["device"]["name"], "cpu")
        some = self.report("--columns", "n,flag", "--bytes", "1", container)["results"]
        self.assertEqual([(r["column"], r["repeated"]) for r in some], [("n", 1), ("flag", 1)])

    def test_accelerator(self):
        """The emulator stands for all accelerators: copies of all blocks in one launch, every byte compared."""
        container = self.encode(make_rows(9000), "--rows-per-block", "4096")
        for more in [(), ("--general",), ("--unchecked",)]:
            report = self.report("--bytes", "80000", "--device", "emu", *more, container)
            self.assertEqual(report["unchecked_kernels"], "--unchecked" in more)
            self.assertEqual([r["column"] for r in report["results"]], list(TYPES))
            for result in report["results"]:
                self.check(result, 80000)
                self.assertEqual(result["blocks"], 3)
                self.assertGreater(result["repeated"], 1)
        self.assertEqual(report["device"]["name"], "emu")
        self.assertEqual(self.zfc("bench", "--device", "emu", "--checksums", container).returncode, 2)

    def test_unchecked(self):
        """Only `bench` has kernels without checks, says so, and gives them no file that lies."""
        container = self.encode(make_rows(3000))
        self.assertIn("decodes do not use these kernels", self.good("bench", "--unchecked", "--repeats", "5", "--bytes", "1", container))
        self.assertNotIn("decodes do not use these kernels", self.good("bench", "--repeats", "5", "--bytes", "1", container))
        module = self.dir / "t.zfm"
        self.good("compile", "-q", "-o", module, container)
        self.bad(2, "module's code has its checks", "bench", "--unchecked", "--module", module, container)
        for verb in (["decode", "-o", self.dir / "out"], ["verify"], ["compile", "-o", self.dir / "u.zfm"], ["explain"], ["encode"]):
            self.bad(2, "--unchecked", *verb, "--unchecked", container)
        data = bytearray(container.read_bytes())
        data[1000] ^= 1
        container.write_bytes(data)
        self.bad(1, "ZF1324", "bench", "--unchecked", "--columns", "id", "--device", "emu", "--repeats", "5", "--bytes", "1", container)

    def test_many_blocks(self):
        """Tiles find their blocks where those have different numbers of them: four and two, of so many that a warp asks once, twice
        and three times. All are of one width, so of one launch. Every copy's bytes are compared."""
        (self.dir / "m.zf").write_text('import "std.zf"; table t { c: u8 = delta(bitpack); }')
        (self.dir / "c").write_bytes(bytes(k * k // 11 & 255 for k in range(5121)))
        container = self.dir / "m.zfd"
        self.good("encode", "-q", "-c", self.dir / "m.zf", "-o", container, "--rows-per-block", "4096", f"c={self.dir}/c")
        for copies in (1, 16, 17, 100, 530):
            result = self.report("--device", "emu", "--bytes", str(5121 * copies), container)["results"][0]
            self.check(result, 5121 * copies)
            self.assertEqual((result["blocks"], result["repeated"], result["before_first_byte"]["codes"]), (2, copies, 1))

    def test_unfused(self):
        """A kernel a stage, whose bytes are the same; accelerators time each alone. The file says how trees were cut."""
        names = "dictionary-4-i32,float2int,rle-4-i32,delta-5-i32"
        kernels = {"dictionary-4-i32": 2, "float2int-20-f64": 2, "rle-4-i32": 3, "delta-5-i32": 2}
        for device in ("emu", "cpu"):
            for more in [(), ("--unfused",), ("--unfused", "--general")]:
                report = self.report("--device", device, "--bytes", "60000", *more, "--generate", names)
                self.assertEqual(report["unfused_kernels"], bool(more))
                self.assertEqual({r["column"]: r["kernels"] for r in report["results"]}, kernels if more else dict.fromkeys(kernels, 1))
                for result in report["results"]:
                    self.check(result, 60000)
                    times = result.get("kernel_seconds", [])
                    self.assertEqual(len(times), result["kernels"] if more and device == "emu" else 0)
                    self.assertTrue(all(0 < t["least"] <= t["median"] <= t["most"] for t in times))
        program = self.dir / "nests.zf"
        program.write_text('import "std.zf"; table t { runs: i32 = rle(bitpack, bitpack); tree: i32 = delta(rle(bitpack, bitpack)); }\n')
        (self.dir / "x").write_bytes(b"".join(bytes([k // 7 % 5, 0, 0, 0]) for k in range(9000)))
        container = self.dir / "nests.zfd"
        self.good("encode", "-q", "-c", program, "-o", container, f"runs={self.dir}/x", f"tree={self.dir}/x")
        self.assertIn("decodes do not use these kernels", self.good("bench", "--unfused", "--columns", "runs", "--repeats", "5", "--bytes", "1", container))
        self.bad(2, "more than one keeps a state", "bench", "--unfused", "--columns", "tree", "--device", "emu", "--repeats", "5", "--bytes", "1", container)
        self.bad(2, "a module's kernels cannot be split", "bench", "--unfused", "--module", self.dir / "t.zfm", container)
        self.bad(2, "--unfused", "decode", "--unfused", "-o", self.dir / "out", container)

    def test_checksums_read_whole_blocks(self):
        container = self.encode(make_rows(5000))
        read = [self.report("--columns", "id", "--bytes", "1", *more, container)["results"][0]["read_bytes"] for more in ((), ("--checksums",))]
        self.assertLess(read[0], read[1])
        self.assertEqual(read[1] % 256, 0)

    def test_generators(self):
        temporary = self.dir / "tmp"
        temporary.mkdir()
        names = self.bad(2, "no generator `none`", "bench", "--generate", "bitpack,none").split("there are\n")[1]
        names = [line.split()[0] for line in names.splitlines()]
        self.assertGreater(len(names), 10)
        report = json.loads(self.good("bench", "--json", "--repeats", "5", "--bytes", "200000", "--generate", "all", env={**os.environ, "TMPDIR": str(temporary)}))
        self.assertEqual([r["column"] for r in report["results"]], names)
        for result in report["results"]:
            self.check(result, 200000)
        ratios = {r["column"]: r["ratio"] for r in report["results"]}
        self.assertAlmostEqual(ratios["bitpack-7-u32"], 32 / 7, delta=0.2)
        self.assertAlmostEqual(ratios["delta-5-i64"], 64 / 5, delta=0.8)
        self.assertEqual(list(temporary.iterdir()), [])
        family = self.report("--bytes", "1000", "--generate", "bitpack-7,delta-5-i32")["results"]
        self.assertEqual([r["column"] for r in family], ["bitpack-7-u32", "bitpack-7-i64", "delta-5-i32"])

    def test_table(self):
        text = self.good("bench", "--repeats", "5", "--bytes", "1000", self.encode(make_rows(100)))
        lines = text.splitlines()
        self.assertIn("checksums left out", text)
        self.assertEqual(lines[3].split()[:3], ["column", "rows", "plain"])
        self.assertEqual([line.split()[0] for line in lines[4:]], list(TYPES))
        self.assertEqual([len(line.split(None, 8)) for line in lines[4:]], [9] * len(TYPES))

    def test_what_cannot_be_measured(self):
        container = self.encode(make_rows(0))
        self.bad(1, "ZF2018", "bench", container)
        container = self.encode(make_rows(3000))
        data = bytearray(container.read_bytes())
        data[1000] ^= 1  # a stream of the first column, whose checksum no longer holds
        container.write_bytes(data)
        result = self.zfc("bench", "--json", "--repeats", "5", "--bytes", "1", container)
        self.assertEqual(result.returncode, 1)
        self.assertIn("ZF1324", result.stderr)
        results = json.loads(result.stdout)["results"]
        self.assertEqual([r["verified"] for r in results], [False] + [True] * (len(TYPES) - 1))
        self.assertEqual((results[0]["column"], results[0]["code"]), ("id", "ZF1324"))

    def test_usage(self):
        container = self.encode(make_rows(5))
        for words in [(), ("--repeats", "4", container), ("--repeats", "9999", container), ("--bytes", "0", container), ("--bytes", "some", container),
                      ("--columns", "id"), ("--columns", "id", container, container), ("--columns", "idd", container), ("--generate", ""),
                      ("--generate", "bitpack-7-u32,"), ("--generate", "bitp"), ("--threads", "many", container)]:
            self.assertEqual(self.zfc("bench", *words).returncode, 2, words)
        self.bad(3, "ZF1103", "bench", "--device", "abacus", container)
        self.bad(1, "ZF12", "bench", self.program)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
