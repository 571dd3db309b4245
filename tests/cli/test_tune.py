"""zfc tune: kernels searched on the emulated GPU, files of what was found, records, replaying them. Usage: test_tune.py ZFC [unittest arguments]"""

import collections
import copy
import itertools
import json
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
import zfc_case  # noqa: E402

HEAD = "zipflow tuned kernels, format 1\n"
ROWS = 9000
MACHINE = {"registers": 65536, "threads": 2048, "blocks": 32, "shared_bytes": 233472, "warp": 32}


def setUpModule():
    """A cache of the module's own."""
    global CACHE
    CACHE = zfc_case.cache_of_module()


class Tune(zfc_case.Case):
    PROGRAM = """table t {
    a: i32 = bitpack;
    b: i64 = rle(values: delta(bitpack), counts: bitpack);
    c: i32? = nullable(values: delta(bitpack));
    s: string = strings(lengths: bitpack);
    e: u8 = bitpack(packed: u8[] = rans) | plain;
}
"""

    def setUp(self):
        super().setUp()
        program = self.file("t.zf", self.PROGRAM)
        lines = ["a,b,c,s,e"]
        for k in range(ROWS):
            lines.append(f"{k * 7919 % 5000},{k // 5 * 3},{'' if k % 11 == 0 else k},text{k % 90},{(k * 31 >> 3) % 3 + 60}")
        text = self.file("t.csv", "\n".join(lines) + "\n")
        self.container = self.dir / "t.zfd"
        self.good("encode", "-c", program, "-o", self.container, "--rows-per-block", 4096, text)

    def tune(self, *words):
        return self.good("tune", self.container, "--device", "emu", *words)

    def test_unfused(self):
        """Kernels of a stage each have shapes of their own, which are what `bench --unfused` uses."""
        program = self.file("d.zf", "table t {\n    d: i32 = dictionary(bitpack);\n}\n")
        text = self.file("d.csv", "d\n" + "".join(f"{k * 7919 % 50}\n" for k in range(ROWS)))
        container = self.dir / "d.zfd"
        self.good("encode", "-c", program, "-o", container, text)
        kernels = {}
        for more in ((), ("--unfused",)):
            found = self.dir / f"found{len(more)}.txt"
            self.good("tune", container, "--device", "emu", "--probes", 2, "-o", found, *more)
            kernels[more] = [line.partition(": ")[2] for line in found.read_text().splitlines() if line.startswith("kernel ")]
        self.assertEqual([len(of) for of in kernels.values()], [1, 2], kernels)
        self.assertTrue(all("work" in of or of.startswith("bitpack") for of in kernels[("--unfused",)]), kernels)
        self.assertNotIn("work", kernels[()][0])

    def test_kernels_alike(self):
        """Kernels of one plan that have one shape are searched once: decodes look choices up by it."""
        program = self.file("alike.zf", "table t { a: u32 = rle(bitpack, bitpack); }\n")
        container = self.dir / "alike.zfd"
        self.good("encode", "-q", "-c", program, "-o", container, "--unfused", "all", self.file("alike.csv", "a\n" + "".join(f"{k % 8}\n" * (k % 5 + 1) for k in range(ROWS // 3))))
        record = json.loads(self.good("tune", container, "--device", "emu", "--probes", 3, "--unfused", "--json"))
        shapes = [(k["kernel"], k["shape"].split(";")[0]) for k in record["kernels"]]
        self.assertEqual(shapes, [(0, "map u32: bitpack<u32, u32>(u32)"), (2, "groups u32: rle<u32>(work u32, work u32)")])

    def test_copies(self):
        """A block that is measured several times over, of every kind of column."""
        record = json.loads(self.tune("--bytes", 3 << 17, "--probes", 2, "--json"))
        self.assertEqual(sorted({k["column"] for k in record["kernels"]}), ["a", "b", "c", "e", "s"])

    def test_found_is_what_decodes(self):
        """Each kind of kernel is searched; what was found decodes to the same, and only where it is asked for."""
        found = self.dir / "found.txt"
        table = self.tune("-o", found, "--probes", 6)
        self.assertIn("say nothing of a GPU", table)
        self.assertTrue(table.startswith("emu: a GPU emulated on the CPU"), table)
        text = found.read_text()
        self.assertTrue(text.startswith(HEAD + "device a GPU emulated on the CPU"), text)
        for form in ("map i32: bitpack", "groups i64: rle", "scan string: strings"):
            self.assertIn(f"kernel {form}", text)
        self.good("decode", self.container, "--device", "cpu", "-o", self.dir / "cpu")
        # A search may leave everything as it is: what it may say is said for it.
        chosen = text.replace("choice default", "choice REGISTERS=64").replace("REGISTERS=64", "THREADS=32")
        self.file("chosen.txt", chosen)
        for name in (found, self.dir / "chosen.txt"):
            out = self.dir / f"emu-{name.stem}"
            result = self.zfc("decode", self.container, "--device", "emu", "--tuned", name, "-v", "-o", out)
            self.assertEqual(result.returncode, 0, result.stderr)
            if name.stem == "chosen":
                self.assertIn("kernels are lowered as was found best on a GPU emulated on the CPU", result.stderr)
            for path in sorted((self.dir / "cpu").iterdir()):
                self.assertEqual(path.read_bytes(), (out / path.name).read_bytes(), path.name)
        self.bad(2, "decode", self.container, "--device", "emu", "--tuned", self.dir / "chosen.txt", "--untuned", "-o", self.dir / "untuned",
                 says=["ZF1101", "`untuned` ignores it"])
        self.assertEqual(list(CACHE.glob("tuned/*")), [], "times of an emulator are kept")
        self.bad(1, "tune", self.container, "--device", "emu", "--columns", "a", "-o", found, says="exists already")
        self.tune("--columns", "a", "--probes", 1, "-o", found, "-f")
        self.assertEqual(found.read_text().count("kernel "), 1)

    def test_inputs_are_no_outputs(self):
        """Not with -f, nor by another name."""
        program, table = self.file("p.zf", "table t {\n    a: i32 = bitpack;\n}\n"), self.file("known.txt", HEAD + "device somebody's\n")
        link = self.dir / "link.zfd"
        link.symlink_to(self.container)
        for read in (self.container, program, table):
            before, words = pathlib.Path(read).read_bytes(), [program if read == program else self.container, "--tuned", table]
            for output in [read] + [link] * (read == self.container):
                self.bad(2, "tune", *words, "--device", "emu", "--probes", 1, "-f", "-o", output, says="is also an input")
            self.assertEqual(pathlib.Path(read).read_bytes(), before, read)
        self.file("inner.zf", "codec c: i32 = bitpack;\n")
        imported = self.file("imported.zf", 'import "inner.zf";\n')
        importing = self.file("importing.zf", 'import "imported.zf";\nimport "inner.zf";\ntable t { a: i32 = c; }\n')
        for read in (imported, self.dir / "inner.zf"):
            before = read.read_bytes()
            for operand in (importing, f"{importing}:t"):
                self.bad(2, "tune", operand, "--device", "emu", "--probes", 1, "-f", "-o", read, says=["ZF2014", "is also an input"])
            self.assertEqual(read.read_bytes(), before)

    def test_record(self):
        record = json.loads(self.tune("--columns", "a,b", "--json", "--probes", 3))
        self.assertEqual([record["tune"], record["exhaustive"], record["device"]["emulated"]], ["kernels", False, True])
        self.assertEqual([k["column"] for k in record["kernels"]], ["a", "b"])
        for kernel in record["kernels"]:
            self.assertLessEqual(kernel["probes"], 3)
            self.assertEqual(kernel["measured"][0]["choice"], kernel["default"])
            self.assertEqual(kernel["measured"][0]["why"], "as it is by default")
            self.assertEqual(len(kernel["measured"]), kernel["probes"])
            self.assertEqual(sum(len(m["seconds"]) for m in kernel["measured"]), kernel["readings"])
            for measured in kernel["measured"]:
                self.assertTrue(measured["runs"] and all(s > 0 for s in measured["seconds"]), measured)
                for name, value in measured["choice"].items():
                    self.assertIn(value, kernel["space"][name])

    def test_reasons(self):
        """For a choice whose values have no order the record, and -v, name the other values that were tried."""
        other = {"WALK": "another way to walk", "STAGE": "another way to stage words", "PREFETCH": "prefetching or not",
                 "TABLE": "another size of tables in shared memory"}
        program = self.file("ways.zf", "table t { d: i32 = dictionary(bitpack); f: u8 = fsst; }\n")
        result = self.zfc("tune", program, "--device", "emu", "--probes", 8, "--json", "-v")
        self.assertEqual(result.returncode, 0, result.stderr)
        told = set()
        for kernel in json.loads(result.stdout)["kernels"]:
            for measured in kernel["measured"]:
                for name in (name for name, why in other.items() if why == measured["why"]):
                    self.assertNotEqual(measured["choice"].get(name), kernel["default"].get(name), measured)
                    told.add(name)
        self.assertEqual(told, set(other))
        for why in other.values():
            self.assertIn(f"({why})\n", result.stderr)

    def test_exhaustive(self):
        """Every combination that can differ, once, but the default and the fastest three times; a search that asks the record finds nothing that is not there."""
        text = self.tune("--columns", "a", "--exhaustive", "--json")
        record = json.loads(text)
        (kernel,) = record["kernels"]
        choices = [tuple(m["choice"].items()) for m in kernel["measured"]]
        self.assertEqual(len(choices), len(set(choices)))
        # A tile has at least 64 outputs, and what is staged at once, a tile or a step, 128.
        space = [kernel["space"][name] for name in ("L", "C", "THREADS", "STAGE", "PREFETCH")]
        legal = [way for vectors, each, threads, way, _ in itertools.product(*space)
                 if vectors * each * threads >= 64 and (way == 0 or (vectors if way == 1 else 1) * each * threads >= 128)]
        self.assertEqual(len(choices), len(legal))
        medians = [statistics.median(m["seconds"]) for m in kernel["measured"]]
        best = min(medians) if min(medians) * 1.01 < medians[0] else medians[0]  # the default stays where nothing is faster by more than noise
        self.assertEqual([kernel["seconds"], kernel["default_seconds"]], [best, medians[0]])
        readings = [len(m["seconds"]) for m in kernel["measured"]]
        self.assertEqual([readings[0], readings[medians.index(min(medians))], max(readings)], [3, 3, 3])
        self.assertEqual([kernel["probes"], kernel["readings"]], [len(choices), sum(readings)])
        path = self.file("record.json", text)
        self.assertIn("\n1 kernel: ", self.good("tune", "--replay", path))
        replayed = json.loads(self.good("tune", "--replay", path, "--json", "--probes", 4))
        self.assertLessEqual(replayed["mean_probes"], 4)
        self.assertTrue(0 < replayed["mean_part_of_best"] <= 1)

    def test_none_of_what_is_by_default(self):
        """A kernel is tried without its default features, too, and each combination once."""
        program = self.file("p.zf", "table t {\n    p: i32 = pfor;\n}\n")
        text = self.file("p.csv", "p\n" + "".join(f"{1 << 30 if k % 97 == 0 else k % 120}\n" for k in range(ROWS)))
        container = self.dir / "p.zfd"
        self.good("encode", "-c", program, "-o", container, text)
        told = self.zfc("tune", container, "--device", "emu", "-v", "--exhaustive", "--budget", "4s").stderr
        tried = re.findall(r"^p kernel 0: (\S+)", told, re.M)
        self.assertEqual(tried[0], "default")
        self.assertLessEqual(max(collections.Counter(tried).values()), 3, tried)
        self.assertEqual(collections.Counter(tried)["default"], 3, tried)
        self.assertTrue(any("STAGE=0" in words.split(",") for words in tried), tried)

    def kernel(self, name, seconds, registers, limit):
        """A record of a map: `seconds` of L, threads and registers that it has."""
        threads, vectors = [32, 64, 128, 256, 512, 1024], [1, 2, 4, 8, 16]
        bounds = [0, 32, 40, 48, 56, 64, 72, 80, 96, 112, 128, 160, 192, 224, 255]
        measured = []
        for t in threads:
            for l in vectors:
                taken = registers(l)
                for r in bounds:
                    if r != 0 and r >= taken or t * r > 65536:
                        continue
                    has = min(taken, r or 255)
                    blocks = min(32, 2048 // t, 65536 // (t * ((has + 7) // 8 * 8)))
                    runs = blocks > 0
                    measured.append({"choice": {"L": l, "THREADS": t, "REGISTERS": r}, "runs": runs, "registers": has, "local_bytes": 0,
                                     "shared_bytes": 0, "blocks_at_once": blocks, "why": "each",
                                     "seconds": [seconds(l, t, taken, has, blocks * t / 2048)] if runs else []})
        return {"column": name, "kernel": 0, "shape": "map i32: made;", "space": {"L": vectors, "THREADS": threads, "REGISTERS": bounds},
                "default": {"L": 4, "THREADS": 256, "REGISTERS": 0}, "known": None, "multiprocessor": MACHINE, "least_seconds": limit,
                "measured": measured}

    def test_replay(self):
        """Kernels as GPUs have them: at the limit; small blocks win; many vectors win, for more registers; few registers win."""
        us = 1e-6
        kernels = [
            self.kernel("limit", lambda l, t, taken, has, part: 101 * us * (1 + 0.3 * (part < 0.5)), lambda l: 24 + l, 100 * us),
            self.kernel("blocks", lambda l, t, taken, has, part: us * (110 + t / 8), lambda l: 30, 100 * us),
            self.kernel("vectors", lambda l, t, taken, has, part: us * (90 + 80 / l + 20 * (1 - part) + (taken - has)), lambda l: 20 + 2 * l,
                        60 * us),
            self.kernel("registers", lambda l, t, taken, has, part: us * (100 + 150 * (1 - part) + (taken - has) / 4), lambda l: 62, 60 * us),
        ]
        path = self.file("made.json", json.dumps({"tune": "kernels", "kernels": kernels}))
        replayed = json.loads(self.good("tune", "--replay", path, "--json"))
        self.assertEqual(replayed["count"], 4)
        self.assertGreaterEqual(replayed["least_part_of_best"], 0.97, replayed)
        self.assertLess(replayed["mean_probes"], 11, replayed)
        by_name = {k["column"]: k for k in replayed["kernels"]}
        self.assertEqual([by_name["limit"]["probes"], by_name["limit"]["choice"]], [1, "default"])
        self.assertIn("REGISTERS=", by_name["registers"]["choice"])
        self.assertLess(replayed["default_mean_part_of_best"], replayed["mean_part_of_best"])

    def test_replay_of_several_readings(self):
        """A reading that was lucky is no best: medians are compared, of the record as of the search."""
        for readings, other in (([50, 90, 90, 90, 90], 90.5), ([50, 90], 80), ([90, 50, 90, 90, 90], 91), ([100, 90, 80], 95)):
            kernel = {"column": "a", "kernel": 0, "shape": "map i32: made;", "space": {"L": [2, 8]}, "default": {"L": 8}, "known": None,
                      "multiprocessor": MACHINE, "least_seconds": 0,
                      "measured": [{"choice": {"L": l}, "runs": True, "registers": 30, "local_bytes": 0, "shared_bytes": 0, "blocks_at_once": 8,
                                    "why": "each", "seconds": [s * 1e-6 for s in seconds]} for l, seconds in ((8, [other]), (2, readings))]}
            replayed = json.loads(self.good("tune", "--replay", self.file("several.json", json.dumps({"tune": "kernels", "kernels": [kernel]})), "--json"))
            median = (sorted(readings)[len(readings) // 2] + sorted(readings)[(len(readings) - 1) // 2]) / 2
            best = min(median, other)
            (kernel,) = replayed["kernels"]
            self.assertAlmostEqual(kernel["default_part_of_best"], best / other, places=6)
            self.assertAlmostEqual(kernel["part_of_best"], best / (median if kernel["choice"] == "L=2" else other), places=6)

    def test_replay_of_whole_seconds(self):
        """A number without a fraction is one, too."""
        measured = [{"choice": {"L": l}, "runs": True, "registers": 30, "local_bytes": 0, "shared_bytes": 0, "blocks_at_once": 8, "why": "each",
                     "seconds": [seconds]} for l, seconds in ((8, 2), (2, 1))]
        kernel = {"column": "a", "kernel": 0, "shape": "map i32: made;", "space": {"L": [2, 8]}, "default": {"L": 8}, "known": None,
                  "multiprocessor": MACHINE, "least_seconds": 0, "measured": measured}
        replayed = json.loads(self.good("tune", "--replay", self.file("whole.json", json.dumps({"tune": "kernels", "kernels": [kernel]})), "--json"))
        self.assertEqual(replayed["kernels"][0]["default_part_of_best"], 0.5)

    def test_interrupted(self):
        """Nothing is left of the columns that are made for a program."""
        program = self.file("p.zf", self.PROGRAM)
        temporary = self.dir / "tmp"
        temporary.mkdir()
        for number in (signal.SIGINT, signal.SIGTERM):
            process = subprocess.Popen([zfc_case.ZFC, "tune", f"{program}:t", "--device", "emu", "--exhaustive"], stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL, env={**os.environ, "TMPDIR": str(temporary)})
            end = time.monotonic() + 60
            while not list(temporary.glob("*/made.zfd")) and process.poll() is None and time.monotonic() < end:
                time.sleep(0.001)
            process.send_signal(number)
            process.wait(timeout=60)
            self.assertEqual(process.returncode, -number)
            self.assertEqual(list(temporary.iterdir()), [])

    def test_nothing_found(self):
        """A file of what was found before stays where nothing is found."""
        found = self.dir / "kept.txt"
        self.tune("--columns", "a", "--probes", 1, "-o", found)
        before = found.read_text()
        self.assertIn("kernel map i32: bitpack", before)
        empty = self.dir / "empty.zfd"
        self.good("encode", "-q", "-c", self.file("empty.zf", "table t { a: i32 = bitpack; }\n"), "-o", empty, self.file("empty.csv", "a\n"))
        for words in (("-f", "-o", found), ("-o", self.dir / "none.txt")):
            result = self.zfc("tune", empty, "--device", "emu", *words)
            self.assertEqual((result.returncode, result.stderr), (0, "zfc tune: nothing was found, so no file is written\n"))
        self.assertEqual((found.read_text(), (self.dir / "none.txt").exists()), (before, False))

    def test_failing_late(self):
        """Results before a failure are written; an output that exists is found before all."""
        found = self.dir / "found.txt"
        cut = self.file("cut.zfd", self.container.read_bytes()[:-40])
        result = self.bad(1, "tune", self.container, cut, "--device", "emu", "--probes", 1, "-o", found, says="cut.zfd")
        self.assertIn("kernel map i32: bitpack", found.read_text())
        self.assertRegex(result.stdout, r"(?m)^a 0 +default +[0-9.]+ ")
        result = self.bad(1, "tune", self.container, cut, "--device", "emu", "--probes", 1, "--json", says="cut.zfd")
        self.assertEqual({k["column"] for k in json.loads(result.stdout)["kernels"]}, set("abcse"))
        self.assertEqual(self.bad(1, "tune", cut, self.container, "--device", "emu", says="cut.zfd").stdout, "")
        self.bad(1, "tune", cut, "--device", "emu", "-o", self.dir / "nothing.txt", says="cut.zfd")
        self.assertFalse((self.dir / "nothing.txt").exists())
        result = self.bad(1, "tune", self.container, "--device", "emu", "-v", "-o", found, says="exists already")
        self.assertNotIn("as it is by default", result.stderr)
        result = self.bad(1, "tune", self.container, "--device", "emu", "-v", "-o", self.dir / "none" / "f.txt", says="none/f.txt")
        self.assertNotIn("as it is by default", result.stderr)

    def test_replay_without_default(self):
        """A kernel whose default cannot run has a default share of 0."""
        kernel = self.kernel("a", lambda l, t, taken, has, part: 1e-4 * (1 + t / 100), lambda l: 30, 1e-5)
        kernel["known"] = {"L": 4, "THREADS": 128, "REGISTERS": 0}
        for measured in kernel["measured"]:
            if measured["choice"] == kernel["default"]:
                measured.update(runs=False, seconds=[])
        path = self.file("none.json", json.dumps({"tune": "kernels", "kernels": [kernel]}))
        replayed = json.loads(self.good("tune", "--replay", path, "--json"))
        self.assertEqual([replayed["count"], replayed["default_mean_part_of_best"]], [1, 0])
        self.assertEqual(replayed["kernels"][0]["default_part_of_best"], 0)
        self.assertGreater(replayed["least_part_of_best"], 0.9)

    def test_records_of_gpus(self):
        """Kernels of GPUs of which every combination was measured, or a fair sample of them: the search finds one near the best in few probes."""
        records = sorted((pathlib.Path(__file__).resolve().parents[2] / "bench/results").glob("*/*-search*.json"))
        records = [path for path in records if json.loads(path.read_text()).get("tune") == "kernels"]
        self.assertTrue(records)
        probes = []
        for path in records:
            replayed = json.loads(self.good("tune", "--replay", path, "--json"))
            parts = {(k["column"], k["kernel"]): [k["part_of_best"], k["default_part_of_best"]] for k in replayed["kernels"]}
            self.assertGreaterEqual(min(found for found, _ in parts.values()), .97, (path, parts))
            self.assertLess(min(default for _, default in parts.values()), .97, f"{path}: a search that does nothing would pass")
            probes += [k["probes"] for k in replayed["kernels"]]
        self.assertLessEqual(statistics.mean(probes), 10, probes)

    def test_bounds(self):
        for words in ((), ("--exhaustive",)):
            record = json.loads(self.tune("--budget", "300ms", "--json", *words))
            self.assertIn("no more time", {k["ended"] for k in record["kernels"]}, record)
            self.assertLess(record["total_seconds"], 5)  # all of it takes many times as long
            for kernel in record["kernels"]:
                self.assertEqual(kernel["measured"][0]["choice"], kernel["default"])
                self.assertGreater(kernel["default_seconds"], 0)
            self.assertEqual(sorted({k["column"] for k in record["kernels"]} | set(record["left_out"])), ["a", "b", "c", "e", "s"])
        record = json.loads(self.tune("--columns", "a,b,c", "--budget", "1ms", "--json"))
        self.assertEqual(record["left_out"], ["b", "c"])
        self.assertIn("\nskipped, no more time: b, c\n", self.tune("--columns", "a,b,c", "--budget", "1ms"))
        for words in ((), ("--exhaustive",)):  # however little time there is, the first column's default is measured
            record = json.loads(self.tune("--columns", "a", "--budget", "1ms", "--json", *words))
            self.assertEqual({(k["ended"], k["probes"]) for k in record["kernels"]}, {("no more time", 1)})
        record = json.loads(self.tune("--columns", "a", "--budget", "2m", "--probes", 2, "--json"))
        self.assertEqual((record["kernels"][0]["ended"], record["left_out"]), ("no more probes", []))
        for budget in ("5x", "-1", "0", "inf", "nan", "0x5", "0x5s", "1e1", "+5", " 5s", "5 s", "5.", ".5", "0.0s", "9" * 400, "s"):
            self.bad(2, "tune", self.container, "--device", "emu", f"--budget={budget}", says="--budget needs a time")
        self.bad(2, "tune", self.container, "--probes", 65, says="1 to 64")

    def test_time_is_shared_by_all_columns(self):
        """Also by those of containers and programs that come later; what is no file is told of when its turn comes."""
        program = self.file("p.zf", "table t {\n    p: i32 = bitpack;\n}\n")
        container = self.dir / "p.zfd"
        self.good("encode", "-q", "-c", program, "-o", container, self.file("p.csv", "p\n" + "".join(f"{k % 120}\n" for k in range(ROWS))))
        cases = [([], 1), ([self.container], 6), ([self.container, container], 7), ([f"{self.dir}/t.zf:t"], 6), ([self.dir / "none.zfd"], 2)]
        for later, columns in cases:
            told = self.zfc("tune", container, *later, "--device", "emu", "-v", "--budget", "700ms").stderr
            most = float(re.search(r"(?m)^p: at most ([0-9.]+) s$", told)[1])
            self.assertLessEqual(most, 0.7 / columns + 0.0005, told)
            self.assertGreater(most, 0, told)

    def test_lengths_of_groups(self):
        """Short runs and long ones are kernels of two shapes; which a file has, its first block says."""
        program = self.file("r.zf", "table t { a: u32 = rle(plain, plain); b: u32 = rle(plain, plain); c: u32 = rle(plain, plain); }\n")
        text = self.file("r.csv", "a,b,c\n" + "".join(f"{k // 4},{k // 60},{k // 3}\n" for k in range(ROWS)))
        container, shape = self.dir / "r.zfd", "groups u32: rle<u32>(plain<u32>(u32), plain<u32>(u32)); groups of {} tile 4096"
        self.good("encode", "-q", "-c", program, "-o", container, text)
        record = json.loads(self.good("tune", container, "--device", "emu", "--probes", 1, "--json"))
        self.assertEqual([(k["column"], k["shape"]) for k in record["kernels"]], [("a", shape.format(4)), ("b", shape.format(64))])
        table = self.file("runs.txt", f"{HEAD}device {record['device']['description']}\nkernel {shape.format(64)}\n  choice THREADS=128\n"
                          f"kernel {shape.format(16)}\n  choice THREADS=256\n")
        told = self.zfc("decode", container, "--device", "emu", "--tuned", table, "-v", "-o", self.dir / "runs").stderr
        self.assertEqual(re.findall(r"column (\w+): 1 of 1 kernels are lowered as was found best", told), ["b"], told)

    def test_alternatives_that_come_late(self):
        """Results are used for a vector of alternatives whose first block is behind many others."""
        program = self.file("late.zf", "table t {\n    a: i32 = bitpack | rle(bitpack, bitpack);\n}\n")
        text = self.file("late.csv", "a\n" + "".join(f"{k * 7919 % 5003 if k < 66 * 4096 else k // 5000}\n" for k in range(68 * 4096)))
        container, found = self.dir / "late.zfd", self.dir / "late.txt"
        self.good("encode", "-q", "-c", program, "-o", container, "--rows-per-block", 4096, text)
        self.good("tune", container, "--device", "emu", "--probes", 1, "-o", found)
        self.assertEqual(found.read_text().count("kernel "), 2)
        hurried = json.loads(self.good("tune", container, "--device", "emu", "--budget", "1ms", "--json"))
        self.assertEqual((len(hurried["kernels"]), hurried["left_out"]), (1, ["a (1 of its vectors of alternatives)"]))
        table = self.file("chosen_late.txt", found.read_text().replace("choice default", "choice THREADS=32"))
        told = self.zfc("decode", container, "--device", "emu", "--tuned", table, "-v", "-o", self.dir / "late").stderr
        self.assertEqual(told.count("column a: 1 of 1 kernels are lowered as was found best"), 2, told)

    def test_nothing_to_measure(self):
        """A container without rows is named, and the others are measured."""
        empty = self.dir / "empty.zfd"
        self.good("encode", "-q", "-c", self.dir / "t.zf", "-o", empty, self.file("empty.csv", "a,b,c,s,e\n"))
        says = f"{empty} has no rows: there is nothing to measure\n"
        text = self.good("tune", empty, "--device", "emu")
        self.assertTrue(text.endswith(says), text)
        self.assertIn(says, self.good("tune", empty, self.container, "--device", "emu", "--probes", 1))
        record = json.loads(self.good("tune", empty, "--device", "emu", "--json"))
        self.assertEqual([record["kernels"], record["without_rows"]], [[], [str(empty)]])
        self.assertEqual(json.loads(self.tune("--columns", "a", "--probes", 1, "--json"))["without_rows"], [])
        self.bad(1, "bench", empty, "--bytes", 1, says=["ZF2018", "has no rows", str(empty)])

    def test_programs(self):
        """Columns of every type are made up for a program, and nothing is left of them."""
        self.file("types.zf", """table t { a: u8 = bitpack; b: f32 = float2int(bitpack); c: bool = plain; d: date32 = delta(bitpack); e: i16? = nullable(values: plain);
    f: string = dictionary(codes: bitpack, entries: strings); g: decimal(15, 2) = rle(bitpack, bitpack); }
table u { x: u64 = rle(values: bitpack, counts: bitpack); }
""")
        temporary = self.dir / "tmp"
        temporary.mkdir()
        words = ["--device", "emu", "--probes", 1, "--json"]
        env = {**os.environ, "TMPDIR": str(temporary)}
        record = json.loads(self.good("tune", f"{self.dir}/types.zf:t", *words, env=env))
        self.assertEqual({k["column"] for k in record["kernels"]}, set("abcdefg"))
        self.assertEqual(len(json.loads(self.good("tune", f"{self.dir}/types.zf:u", *words, env=env))["kernels"]), 1)
        self.bad(1, "tune", f"{self.dir}/types.zf", *words, env=env, says=["types.zf: the program has", "name one: FILE:TABLE"])
        self.bad(1, "tune", f"{self.dir}/types.zf:v", *words, env=env, says="no table `v`")
        self.bad(1, "tune", self.file("narrow.zf", "table t { a: i32 = pack3; }\n"), *words, env=env, says="pack3")
        self.assertEqual(list(temporary.iterdir()), [])
        (self.dir / "my.zf.d").mkdir()
        program = self.dir / "my.zf.d" / "t.zfx.zf"
        program.write_text("table t { a: i32 = bitpack; }\n")
        self.assertEqual(len(json.loads(self.good("tune", f"{program}:t", *words, env=env))["kernels"]), 1)
        container = self.dir / "my.zf.d" / "t.zfd"
        shutil.copy(self.container, container)
        self.assertGreater(len(json.loads(self.good("tune", container, *words, env=env))["kernels"]), 1)
        named = self.dir / "data.zf"  # a container with the name of a program
        shutil.copy(self.container, named)
        self.assertGreater(len(json.loads(self.good("tune", named, *words, env=env))["kernels"]), 1)
        module = self.dir / "code.zf"
        self.good("compile", program, "-o", self.dir / "m.zfm")
        shutil.copy(self.dir / "m.zfm", module)
        self.assertEqual(self.bad(2, "tune", module, *words, env=env, says="is a module").stderr.count("error["), 1)

    def test_show(self):
        text = self.good("tune", "--show", "--device", "emu")
        self.assertIn("nothing is known of its kernels: results of an emulator are not kept", text)
        self.assertNotIn("of the cache", text)
        found = self.dir / "found.txt"
        self.tune("--columns", "a", "--probes", 1, "-o", found)
        shown = self.good("tune", "--show", "--device", "emu", "--tuned", found)
        self.assertIn(found.read_text().split("\n", 2)[2], shown)
        self.file("other.txt", found.read_text().replace("device a GPU", "device another GPU"))
        self.assertIn("nothing is known", self.good("tune", "--show", "--device", "emu", "--tuned", self.dir / "other.txt"))
        known = json.loads(self.good("tune", "--show", "--json", "--device", "emu", "--tuned", found))
        (kernel,) = known["kernels"]
        lines = found.read_text().splitlines()
        self.assertEqual(["kernel " + kernel["shape"], kernel["probes"], known["device"]["name"]], [lines[2], 1, "emu"])
        self.assertEqual(["  choice default", {}], [lines[3], kernel["choice"]])
        self.assertGreater(kernel["seconds"], 0)
        self.file("chosen.txt", found.read_text().replace("choice default", "choice L=2,THREADS=32"))
        known = json.loads(self.good("tune", "--show", "--json", "--device", "emu", "--tuned", self.dir / "chosen.txt"))
        self.assertEqual(known["kernels"][0]["choice"], {"L": 2, "THREADS": 32})
        known = json.loads(self.good("tune", "--show", "--json", "--device", "emu"))
        self.assertEqual(known["kernels"], [])

    def test_show_damaged(self):
        kept = pathlib.Path(os.environ["ZIPFLOW_CACHE_DIR"]) / "tuned" / json.loads(self.good("tune", "--show", "--json", "--device", "emu"))["file"]
        kept.parent.mkdir(exist_ok=True)
        kept.write_text("not a table\n")
        try:
            self.bad(1, "tune", "--show", "--device", "emu", says=[kept.name, "cannot be used"])
            self.good("tune", self.container, "--device", "emu", "--columns", "a", "--probes", 1)
        finally:
            kept.unlink(missing_ok=True)

    def test_damaged_block(self):
        """Blocks whose checksums are wrong are not measured; what was found of columns before is kept."""
        (block,) = [c["blocks"][0] for c in json.loads(self.good("inspect", "--json", self.container))["columns"] if c["column"] == "b"]
        stream = max(block["streams"], key=lambda s: s["bytes"])  # of which all bytes mean something, and none contradicts itself
        damaged, found = self.dir / "damaged.zfd", self.dir / "found.txt"
        data = bytearray(self.container.read_bytes())
        data[block["offset"] + stream["offset"] + stream["bytes"] // 2] ^= 1
        damaged.write_bytes(data)
        self.bad(1, "tune", damaged, "--device", "emu", "--columns", "a,b", "--probes", 1, "-o", found,
                 says=["ZF1324", f"{damaged}: column b, block 0", "checksum"])
        self.assertEqual(found.read_text().count("kernel "), 1)

    def test_pipes(self):
        """A file of results is a regular one: nobody waits for a pipe."""
        pipe = self.dir / "pipe.txt"
        os.mkfifo(pipe)
        for words in (["tune", "--show"], ["decode", self.container, "-o", self.dir / "x"]):
            self.bad(1, *words, "--device", "emu", "--tuned", pipe, says=[str(pipe), "it is not a regular file"], timeout=60)
            self.bad(1, *words, "--device", "emu", "--tuned", self.dir, says="it is a directory", timeout=60)
        self.bad(1, "tune", "--replay", pipe, says=[str(pipe), "it is not a regular file"], timeout=60)
        self.bad(1, "tune", "--replay", self.dir, says="it is a directory")

    def test_misuse(self):
        self.bad(2, "tune", says="nothing to measure: give containers or programs")
        self.bad(2, "tune", self.container, "--show", says="measure nothing: give no containers")
        out = self.dir / "out.txt"
        for word in (["-o", out], ["--budget", "5s"], ["--probes", 3], ["--exhaustive"], ["--replay", "x.json"], ["--unfused"]):
            self.bad(2, "tune", "--show", "--device", "emu", *word, says="--show measures nothing: --")
        self.bad(2, "tune", "--show", "--device", "emu", "-f", says="--force goes with --output")
        for word in (["-o", out], ["--device", "emu"], ["--tuned", "x.txt"], ["--bytes", 1]):
            self.bad(2, "tune", "--replay", "x.json", *word, says="--replay measures nothing: --")
        self.assertFalse(out.exists())
        self.bad(2, "tune", self.container, "--device", "cpu", says=["have no choices", "--device"])
        self.bad(2, "tune", self.container, self.container, "--columns", "a", says="one container")
        self.bad(2, "tune", self.container, "--device", "emu", "--exhaustive", "--probes", 3, says="--probes does not go with it")
        self.bad(1, "tune", self.dir / "none.zfd", "--device", "emu", says="none.zfd")
        wrong = self.file("wrong.txt", HEAD + "device G\nkernel k\nchoice SIZE 3\n")
        for words in (["decode", self.container, "-o", self.dir / "x"], ["verify", self.container], ["tune", "--show"]):
            self.bad(1, *words, "--device", "emu", "--tuned", wrong, says=["ZF1217", "line 4"])
        self.bad(1, "tune", "--replay", wrong, says="wrong.txt")
        for text in ("{}", '{"tune": "kernels", "kernels": []}', '{"tune": "known", "kernels": [{}]}'):
            self.bad(1, "tune", "--replay", self.file("empty.json", text), says="not a record")

    def test_records_that_lie(self):
        """Each is refused with its place, also where a number is one that no GPU has, or two of it are more than a double holds."""
        def place(*path, value):
            def change(kernel):
                for key in path[:-1]:
                    kernel = kernel[key]
                if value is None:
                    del kernel[path[-1]]
                else:
                    kernel[path[-1]] = value
            return change
        seconds, machine = ("measured", 3, "seconds"), "multiprocessor"
        for change, says in [
                (place(machine, "warp", value=4294967295), "`warp` is not a number from 0 to 1024"), (place(machine, "warp", value=1025), "`warp`"),
                (place(machine, "registers", value=-1), "`registers`"), (place("measured", 0, "registers", value=134217728), "measured 0: `registers`"),
                (place("measured", 0, "shared_bytes", value=4294967295), "`shared_bytes`"), (place("measured", 0, "registers", value=65537), "`registers`"),
                (place("measured", 2, "registers", value="lots"), "measured 2: `registers`"), (place("measured", 2, "blocks_at_once", value=[]), "`blocks_at_once`"),
                (place(machine, value=[]), "`multiprocessor`"), (place(machine, value=None), "`multiprocessor`"), (place("space", value=None), "`space` is not an object"),
                (place("space", value=[]), "`space` is not an object"), (place("space", "FOO", value=[1]), "no choice `FOO`"), (place("space", "AHEAD", value=[1]), "no choice `AHEAD`"), (place("space", "L", value=[2, 1]), "value 1 of L"),
                (place("space", "L", value=[]), "L has no values"), (place("default", "L", value="x"), "`default` says nothing of L"), (place("default", "L", value=3), "L has no value 3"),
                (place("default", value=None), "`default` is not an object"), (place("least_seconds", value="x"), "`least_seconds`"), (place("least_seconds", value=1e9), "`least_seconds`"),
                (place(*seconds, value=[1e308, 1e308]), "measured 3: `seconds`: reading 0"), (place(*seconds, value=[1e-3, 1e-320]), "reading 1"),
                (place(*seconds, value=[]), "`seconds` is not a list of readings"), (place(*seconds, value=[0]), "`seconds`: reading 0"), (place(*seconds, value=None), "`seconds`"),
                (place("measured", 1, "runs", value="yes"), "measured 1: `runs`"), (place("measured", 1, "choice", "L", value=3), "L is not in `space`"),
                (place("measured", 1, "choice", value=None), "`choice` is not an object"), (place("measured", value=[]), "`measured` is empty"),
                (place("column", value="a\x1b[31m"), "`column`"), (place("column", value=7), "`column`"), (place("known", value={"L": 3}), "`known`: L")]:
            good, kernel = (copy.deepcopy(self.kernel(name, lambda l, t, taken, has, part: 1e-4 * (1 + t / 100), lambda l: 30, 1e-5)) for name in ("good", "bad"))
            change(kernel)
            path = self.file("lies.json", json.dumps({"tune": "kernels", "kernels": [good, kernel]}))
            self.bad(1, "tune", "--replay", path, says=[str(path), "kernel 1: ", says])
        kernel = self.kernel("a", lambda l, t, taken, has, part: 1e-4, lambda l: 30, 1e-5)
        for measured in kernel["measured"]:
            measured["runs"] = False
        path = self.file("none.json", json.dumps({"tune": "kernels", "kernels": [kernel]}))
        for words in ((), ("--json",)):
            self.bad(1, "tune", "--replay", path, *words, says="no kernel has a choice that runs")


if __name__ == "__main__":
    del sys.argv[1]
    unittest.main()
