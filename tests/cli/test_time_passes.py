"""`--time-passes`, and what is said of the time before the first byte: zfc's path, and the tree's.

    python3 tests/cli/test_time_passes.py build/dev/bin/zfc .
"""

import json
import os
import sys
import unittest

import zfc_case

PROGRAM = """
table t {
    a: i32 = bitpack;
    b: i64 = delta(bitpack);
    c: u8 = dictionary(bitpack);
}
"""
GROUPS = ("program", "plan", "code", "device", "blocks")


class Case(zfc_case.Case):
    def setUp(self):
        super().setUp()
        self.program = self.file("t.zf", PROGRAM)
        self.text = self.file("t.csv", "a,b,c\n" + "".join(f"{i % 100},{i * 3},{i % 5}\n" for i in range(9000)))
        self.environment = {**os.environ, "ZIPFLOW_CACHE_DIR": str(self.dir / "cache")}

    def run_zfc(self, *words):
        result = self.zfc(*words, env=self.environment)
        self.assertEqual(result.returncode, 0, result.stderr + result.stdout)
        return result

    def passes(self, *words):
        """What a run says of its passes, in JSON, and its output."""
        result = self.run_zfc(*words, "--json", "--time-passes")
        said = json.loads(result.stderr)["time_passes"]
        self.check(said)
        return said["passes"], result.stdout

    def check(self, said):
        hair, passes = 1e-6, said["passes"]
        self.assertEqual([n for n in passes if "." not in n], list(GROUPS))
        for name, p in passes.items():
            self.assertLessEqual(p["wall"], said["whole"] + hair, name)
            self.assertLessEqual(p["wall"], p["sum"] + hair, name)
            self.assertEqual(p["count"] == 0, p["sum"] == 0, name)
            within = [q for n, q in passes.items() if n.startswith(name + ".")]
            for what in ("count", "sum") if within else ():
                self.assertAlmostEqual(sum(q[what] for q in within), p[what], 6, (name, what))
        self.assertLessEqual(said["other"], said["whole"])
        self.assertGreaterEqual(said["other"] + sum(passes[g]["wall"] for g in GROUPS), said["whole"] - hair)

    def encode(self):
        path = self.dir / "t.zfd"
        self.run_zfc("encode", "-q", "-f", "-c", self.program, "-o", path, self.text)
        return path


class Passes(Case):
    def test_a_second_run_has_its_code_from_the_cache(self):
        path = self.encode()
        for at in (self.dir / "cache").rglob("*"):
            if at.is_file():
                at.unlink()
        decode = ("decode", "-f", "--device", "cpu", "-o", self.dir / "out", path)
        first, _ = self.passes(*decode)
        second, _ = self.passes(*decode)
        for name in ("optimise", "emit", "keep"):
            self.assertGreater(first["code." + name]["count"], 0, name)
            self.assertEqual(second["code." + name]["count"], 0, name)
        for name in ("lower", "find", "link"):
            self.assertEqual(first["code." + name]["count"], second["code." + name]["count"], name)
            self.assertGreater(second["code." + name]["count"], 0, name)
        for said in (first, second):
            for name in ("program.parse", "program.check", "plan.graph", "plan.plan", "code.llvm", "device.start", "blocks.decode"):
                self.assertGreater(said[name]["count"], 0, name)
            self.assertEqual(said["program.read"]["count"], 0, "the file carries its program")

    def test_one_thread_adds_up(self):
        path = self.encode()
        result = self.run_zfc("decode", "-f", "--json", "--time-passes", "--no-cache", "--threads", 1, "--device", "cpu", "-o",
                              self.dir / "out", path)
        said = json.loads(result.stderr)["time_passes"]
        for name, p in said["passes"].items():
            self.assertLessEqual(p["sum"], said["whole"], name)

    def test_the_emulated_gpu(self):
        path = self.encode()
        said, _ = self.passes("decode", "-f", "--device", "emu", "-o", self.dir / "out", path)
        for name in ("device.start", "device.load", "device.first_copy", "device.first_launch"):
            self.assertGreater(said[name]["count"], 0, name)
        self.assertEqual(said["device.first_launch"]["count"], 1)
        self.assertEqual(said["device.first_copy"]["count"], 1)

    def test_every_verb_that_compiles(self):
        path, module = self.encode(), self.dir / "m.zfm"
        verbs = {
            "encode": (["encode", "-f", "-c", self.program, "-o", self.dir / "again.zfd", self.text], "blocks.encode"),
            "explain": (["explain", self.program], "program.read"),
            "compile": (["compile", "-f", "--target", "host", "-o", module, path], "code.emit"),
            "verify": (["verify", path], "blocks.decode"),
            "pipeline": (["pipeline", "--device", "cpu", path], "code.link"),
            "bench": (["bench", "--device", "cpu", "--bytes", 4096, "--repeats", 5, "--columns", "a", path], "code.link"),
        }
        for verb, (words, name) in verbs.items():
            with self.subTest(verb):
                said, out = self.passes(*words)
                self.assertGreater(said[name]["count"], 0, name)
                json.loads(out)  # standard output is what it is without the option
        said, _ = self.passes("decode", "-f", "--device", "cpu", "--module", module, "-o", self.dir / "out", path)
        self.assertEqual(said["code"]["count"], 0, "a module has its code")

    def test_code_for_gpus(self):
        result = self.run_zfc("explain", "--no-cache", "--emit", "ptx", "--time-passes", f"{self.program}:t")
        self.assertIn(".visible .entry", result.stdout)
        self.assertRegex(result.stderr, r"instructions, object or PTX +\d")

    def test_the_table(self):
        path = self.encode()
        result = self.run_zfc("decode", "-f", "-q", "--time-passes", "--device", "cpu", "-o", self.dir / "out", path)
        self.assertEqual(result.stdout, "")
        lines = result.stderr.splitlines()
        self.assertRegex(lines[0], r"^pass +ms +all threads +processor +times$")
        self.assertRegex(result.stderr, r"(?m)^code +\d+\.\d{3} +\d+\.\d% +\d+\.\d{3} +\d+\.\d{3} +\d+$")
        self.assertRegex(result.stderr, r"(?m)^  linking +\d+\.\d{3} ")
        self.assertNotIn("reading", result.stderr, "what there was none of")
        self.assertRegex(lines[-1], r"^whole +\d+\.\d{3}$")
        quiet = self.run_zfc("decode", "-f", "-q", "--device", "cpu", "-o", self.dir / "out", path)
        self.assertEqual(quiet.stderr, "")

    def test_a_failure_is_told_of_with_its_passes(self):
        bad = self.file("bad.zf", "table t { a: i32 = nothing; }")
        result = self.zfc("explain", "--time-passes", bad, env=self.environment)
        self.assertEqual(result.returncode, 1)
        self.assertIn("nothing", result.stderr)
        self.assertIn("parsing", result.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]])
