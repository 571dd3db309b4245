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


class FirstByte(Case):
    """The time before the first byte, apart from decoding."""

    def test_cold_and_cached(self):
        path = self.encode()
        for how, environment in (("cold", {"ZIPFLOW_CACHE_DIR": str(self.dir / "new")}), ("cached", {"ZIPFLOW_CACHE_DIR": str(self.dir / "new")}),
                                 ("cold", {"ZIPFLOW_CACHE_DIR": ""})):
            self.environment.update(environment)
            out = self.run_zfc("decode", "-f", "-v", "--device", "cpu", "-o", self.dir / "out", path).stdout
            self.assertRegex(out, r"(?m)^before the first byte: device \d+\.\d ms, code \d+\.\d ms \(" + how + r"\), loading it \d+\.\d ms$")
            self.assertRegex(out, r"(?m)\d compiling \(" + how + r"\), ")
        module = self.dir / "m.zfm"
        self.run_zfc("compile", "-q", "-f", "--target", "host", "-o", module, path)
        self.assertIn("(at hand)", self.run_zfc("decode", "-f", "--device", "cpu", "--module", module, "-o", self.dir / "out", path).stdout)

    def test_reports(self):
        path = self.encode()
        for device in ("cpu", "emu"):
            for verb in (("pipeline", path), ("bench", "--bytes", 4096, "--repeats", 5, path)):
                for turn in ("cold", "cached"):
                    if turn == "cold":
                        for at in (self.dir / "cache").rglob("*"):
                            at.unlink() if at.is_file() else None
                    said = json.loads(self.run_zfc(*verb, "--json", "--device", device).stdout)
                    for before in [r["before_first_byte"] for r in said.get("results", [said])]:
                        self.assertEqual(before["codes"], before["compiled"] + before["cached"])
                        self.assertGreater(before["compiled" if turn == "cold" else "cached"], 0, (device, verb, turn))
                        self.assertGreater(before["compile"], 0)
                        self.assertGreaterEqual(min(before["device"], before["load"]), 0)
            said = json.loads(self.run_zfc("bench", "--json", "--general", "--bytes", 4096, "--repeats", 5, "--device", device, path).stdout)
            self.assertEqual({r["before_first_byte"]["codes"] for r in said["results"]}, {0}, "kernels for all values are got otherwise")
        self.assertIsNone(json.loads(self.run_zfc("pipeline", "--plan", "--json", path).stdout)["before_first_byte"])

    def test_threads_change_nothing(self):
        """Files, modules and errors are the same whatever the number of threads that compile."""
        path = self.encode()
        outputs, modules, encoded = [], [], []
        for threads in (1, 2, 8):
            out, module = self.dir / f"out{threads}", self.dir / f"m{threads}.zfm"
            self.run_zfc("decode", "-q", "--no-cache", "--threads", threads, "--device", "cpu", "-o", out, path)
            outputs.append({p.name: p.read_bytes() for p in sorted(out.iterdir())})
            self.run_zfc("compile", "-q", "--no-cache", "--threads", threads, "-o", module, path)
            modules.append(module.read_bytes())
            again = self.dir / f"t{threads}.zfd"
            self.run_zfc("encode", "-q", "--no-cache", "--threads", threads, "-c", self.program, "-o", again, self.text)
            encoded.append(again.read_bytes())
        self.assertEqual(outputs[0], outputs[1])
        self.assertEqual(outputs[0], outputs[2])
        self.assertTrue(modules[0] == modules[1] == modules[2], "modules differ")
        self.assertEqual(set(encoded), {path.read_bytes()}, "files differ")
        data = bytearray(path.read_bytes())
        for at in range(300, len(data) - 4000, 512):  # blocks of all columns
            data[at] ^= 0x10
        bad, said = self.file("bad.zfd", bytes(data)), set()
        for threads in (1, 2, 8):
            result = self.zfc("decode", "-q", "--no-cache", "--threads", threads, "--device", "cpu", "-o", self.dir / "no", bad, env=self.environment)
            self.assertEqual(result.returncode, 1)
            said.add(result.stderr)
        self.assertEqual(len(said), 1, said)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]])
