"""zfc pipeline, and decodes that go through a pipeline: columns of several containers, on the CPU and on the emulated GPU; plans, traces, charts. Usage: test_pipeline.py ZFC [unittest arguments]"""

import array
import json
import os
import re
import shutil
import subprocess
import sys
import unittest
import xml.etree.ElementTree as ElementTree

sys.dont_write_bytecode = True
import zfc_case  # noqa: E402

ROWS = {"t": 30001, "u": 12000}
DEVICES = ("cpu", "emu")
LITTLE = ["--device-staging", 1 << 22, "--host-staging", 1 << 22]  # the emulator fills what it gives
SVG = "{http://www.w3.org/2000/svg}"


def setUpModule():
    """A cache of the module's own: rates that it keeps are those of its own runs."""
    global CACHE
    CACHE = zfc_case.cache_of_module()


class Case(zfc_case.Case):
    PROGRAM = """table t {
    a: i32 = bitpack;
    b: i64? = nullable(values: delta(bitpack));
    s: string = strings(lengths: bitpack);
    f: bool = plain;
}
"""
    OTHER = "table u { x: i32 = delta(bitpack); a: u8 = rle(values: bitpack, counts: bitpack); }\n"

    def setUp(self):
        super().setUp()
        self.programs = [self.file("t.zf", self.PROGRAM), self.file("u.zf", self.OTHER)]
        texts = [self.file("t.csv", "a,b,s,f\n" + "".join(f"{i * 7919 % 1000},{'' if i % 5 == 0 else i * 3},{'xyz' * (i % 7)},"
                                                          f"{'true' if i % 3 else 'false'}\n" for i in range(ROWS["t"]))),
                 self.file("u.csv", "x,a\n" + "".join(f"{i * 2},{i // 100 % 7}\n" for i in range(ROWS["u"])))]
        self.files = []
        for program, text in zip(self.programs, texts):
            self.files.append(program.with_suffix(".zfd"))
            self.good("encode", "-q", "-c", program, "--rows-per-block", 4096, "-o", self.files[-1], text)

    def report(self, *words, status=0):
        result = self.zfc("pipeline", "--json", *LITTLE, *words)
        self.assertEqual(result.returncode, status, result.stderr)
        return json.loads(result.stdout)

    def no_rates(self):
        """None are known, and none will be kept, since a file is in the way."""
        rates = CACHE / "rates"
        shutil.rmtree(rates, ignore_errors=True)
        rates.write_text("mine")
        self.addCleanup(lambda: rates.is_file() and rates.unlink())

    def damage(self, path, **blocks):
        """Changes a byte within a block of each column that is named."""
        columns = json.loads(self.good("inspect", "--json", path))["columns"]
        content = bytearray(path.read_bytes())
        for column, block in blocks.items():
            entry = next(c for c in columns if c["column"] == column)["blocks"][block]
            content[entry["offset"] + 3] ^= 0x40
        path.write_bytes(content)


class Runs(Case):
    def check(self, report, device, names):
        self.assertEqual((report["device"], report["to"]), (device, "device" if device == "emu" else "host"))
        self.assertEqual([(c["table"], c["column"]) for c in report["columns"]], names)
        for key in ("stored_bytes", "plain_bytes"):
            for k, column in enumerate(report["columns"]):
                self.assertEqual(column[key], sum(unit[key] for unit in report["units"] if unit["column"] == k))
            self.assertEqual(report[key], sum(c[key] for c in report["columns"]))
        for column in report["columns"]:
            self.assertIs(column["good"], True)
            self.assertTrue(0 < column["ready_seconds"] <= report["seconds"] + 1e-6, column)
            self.assertAlmostEqual(column["ratio"], column["plain_bytes"] / column["stored_bytes"], places=6)
        self.assertTrue(0 < report["bound_seconds"] <= report["predicted_seconds"] * (1 + 1e-9))
        self.assertTrue(report["best_seconds"] <= report["median_seconds"] and report["seconds"] in report["runs"])
        self.assertAlmostEqual(report["gb_per_second"] * report["median_seconds"] * 1e9 / report["plain_bytes"], 1, places=6)
        self.assertEqual(report["link_bytes_per_second"] is None, device == "cpu")

    def test_columns_of_several_files_are_those_of_a_decode(self):
        all_of_them = [("t", "a"), ("t", "b"), ("t", "s"), ("t", "f"), ("u", "x"), ("u", "a")]
        for device in DEVICES:
            for words in ([], ["--load", "--repeat", 3], ["--order", "given", "--unit", 1, "--readers", 1, "--streams", 1],
                          ["--order", "apart", "--to", "host", "--threads", 2],
                          ["--device-staging", 400000, "--host-staging", 200000, "--readers", 3, "--streams", 8, "--no-cache"]):
                report = self.report("--verify", "--device", device, *words, *self.files)
                if "--to" in words:
                    self.assertEqual(report["to"], "host")
                    report["to"] = "device" if device == "emu" else "host"
                self.check(report, device, all_of_them)
                self.assertEqual(len(report["runs"]), 3 if "--repeat" in words else 1)
                self.assertEqual((report["loaded"], report["verified"]), ("--load" in words, True))
                self.assertEqual(report["order"], words[1] if "--order" in words else "johnson")
                self.assertEqual(len(report["units"]) > 30, "--unit" in words) # a block each, or a column

    def test_rows_and_columns(self):
        for device in DEVICES:
            for rows, first, end in [("..", 0, ROWS["t"]), ("4095..4097", 0, 8192), ("5001..9000", 4096, 12288), ("29000..", 28672, ROWS["t"])]:
                report = self.report("--verify", "--device", device, "--rows", rows, "--columns", "s,b,f", self.files[0])
                self.check(report, device, [("t", "s"), ("t", "b"), ("t", "f")])
                for k in range(3):
                    units = [u for u in report["units"] if u["column"] == k]
                    self.assertEqual(min(u["first_row"] for u in units), first)
                    self.assertEqual(max(u["first_row"] + u["rows"] for u in units), end)
            # A name is looked for in every file: `a` is in both, `x` in one.
            self.check(self.report("--verify", "--device", device, "--columns", "x,a", *self.files), device, [("t", "a"), ("u", "x"), ("u", "a")])
            report = self.report("--verify", "--device", device, "--rows", "17..17", *self.files)
            self.assertEqual((report["plain_bytes"], {c["rows"] for c in report["columns"]}), (0, {0}))

    def test_files_are_loaded_whole(self):
        """Files of several chunks, and of sizes that end anywhere in a page: from the page cache, past it, and of both."""
        for rows in (1 << 20, (1 << 20) - 4095, 2621440, 5 << 10):
            raw = self.file("a.raw", array.array("Q", (i * 0x9e3779b97f4a7c15 & (1 << 64) - 1 for i in range(rows))).tobytes())
            program, path = self.file("large.zf", "table large { a: u64 = plain; }\n"), self.dir / "large.zfd"
            self.good("encode", "-q", "-f", "-c", program, "--rows-per-block", 40960, "-o", path, f"a={raw}")
            for cold in (None, (0, 0), (4 << 20, 9 << 20)):
                if cold:
                    with open(path, "rb") as file:
                        os.fsync(file.fileno())
                        os.posix_fadvise(file.fileno(), *cold, os.POSIX_FADV_DONTNEED)
                self.check(self.report("--load", "--verify", "--device", "cpu", path), "cpu", [("large", "a")])
        self.good("pipeline", "-q", "--load", "--verify", "--device", "emu", path)

    def test_the_table(self):
        for device in DEVICES:
            text = self.good("pipeline", "--device", device, *LITTLE, "--repeat", 2, *self.files)
            for label in ("t.a", "u.a", "all that are ready"):
                self.assertRegex(text, rf"(?m)^{re.escape(label)} +[0-9.]+ k?M?B +[0-9.]+ k?M?B +[0-9.]+ +[0-9.]+ ms$")
            self.assertRegex(text, r"(?m)^of 2 runs: best [0-9.]+ ms, median [0-9.]+ ms, last [0-9.]+ ms$")
            self.assertRegex(text, r"(?m)^[0-9.]+ GB/s of plain bytes; predicted [0-9.]+ ms, at least [0-9.]+ ms in any order$")
            self.assertIn(f"device {device}, to memory of the {'device' if device == 'emu' else 'host'}, order johnson, 6 units", text)
            self.assertNotIn("verified", text)
            text = self.good("pipeline", "--verify", "--device", device, *LITTLE, *self.files)
            self.assertIn("\nverified: 6 columns, decoded alone as well, of the same bytes\n", text)
            self.assertIs(self.report("--device", device, *self.files)["verified"], False)
            self.assertEqual(self.good("pipeline", "-q", "--verify", *LITTLE, "--device", device, *self.files), "")
        self.assertRegex(self.good("pipeline", self.files[0]), r"(?m)^a  ")

    def test_no_characters(self):
        """Rows without a character, all of them or those that are wanted."""
        program = self.file("s.zf", "table s { c: string = strings(bitpack); n: string? = nullable(values: strings(bitpack)); }\n")
        for name, rows in (("none", ['"",'] * 100), ("some", ['"",'] * 5000 + ["abc,d"])):
            path = self.dir / f"{name}.zfd"
            self.good("encode", "-q", "--rows-per-block", 4096, "-c", program, "-o", path, self.file("s.csv", "c,n\n" + "\n".join(rows) + "\n"))
            for device in DEVICES:
                for rows in ("0..100", "50..60"):
                    self.assertIn("\nverified: 2 columns", self.good("pipeline", "--verify", "--device", device, "--rows", rows, path))

    def test_columns_of_one_name(self):
        """Are told by their files, where tables are of one name, too; by their paths where files are."""
        below = self.dir / "below"
        below.mkdir()
        other, same = self.dir / "other.zfd", below / "u.zfd"
        for copy in (other, same):
            shutil.copy(self.files[1], copy)
        for files, labels in (((self.files[1], other), ("u.zfd:x", "u.zfd:a", "other.zfd:x", "other.zfd:a")),
                              ((self.files[0], other, self.files[1]), ("t.a", "t.b", "other.zfd:a", "u.zfd:a")),
                              ((self.files[1], same, other), (f"{self.files[1]}:a", f"{same}:a", f"{same}:x", "other.zfd:a"))):
            text = self.good("pipeline", "--device", "cpu", *files)
            plan = self.good("pipeline", "--device", "cpu", "--plan", *files)
            for label in labels:
                label = label if len(label) < 80 else "..." + label.rpartition(":")[0][-80:] + label[-2:]
                self.assertRegex(text, rf"(?m)^{re.escape(label)} ")
                self.assertRegex(plan, rf"(?m)^ +[0-9]+ +{re.escape(label)} ")

    def test_modules(self):
        module = self.dir / "t.zfm"
        self.good("compile", "-q", "--target", "host", "-o", module, self.files[0])
        report = self.report("--verify", "--module", module, self.files[0])
        self.check(report, "cpu", [("t", name) for name in "absf"])
        # A column without code in the module fails; the others go on.
        report = json.loads(self.bad(1, "pipeline", "--json", "--module", module, *self.files, says=["ZF1407", "column x"]).stdout)
        self.assertEqual([c["good"] for c in report["columns"]], [True] * 4 + [False] * 2)


class Failures(Case):
    def test_a_damaged_block_in_the_middle(self):
        self.damage(self.files[0], s=3)
        self.damage(self.files[1], x=1)
        for device in DEVICES:
            for more in (["johnson"], ["given", "--load"], ["apart"]):
                words = ["--device", device, "--unit", 20000, *LITTLE, "--order", *more, *self.files]
                result = self.bad(1, "pipeline", "--json", "--verify", *words, says=["column s, block 3", "column x, block 1"])
                self.assertEqual(result.stderr.count("error["), 2)
                columns = json.loads(result.stdout)["columns"]
                self.assertEqual([c["good"] for c in columns], [True, True, False, True, False, True])
                for column in columns:
                    self.assertEqual(column["good"], "error" not in column)
                self.assertIn("block 3", columns[2]["error"]["place"])
                # Told once, however often it runs.
                result = self.bad(1, "pipeline", "--repeat", 2, *words)
                self.assertEqual(result.stderr.count("error["), 2)
                self.assertRegex(result.stdout, r"(?m)^t\.s .* failed$")
                self.assertRegex(result.stdout, r"(?m)^t\.a .* ms$")
        self.good("pipeline", "--rows", "..12288", "--columns", "a,s", "--verify", self.files[0]) # before the damage

    def test_every_column_is_damaged(self):
        """There is no rate, and nothing is called ready or verified."""
        whole = self.files[1].read_bytes()
        self.damage(self.files[1], x=1, a=1)
        for device in DEVICES:
            for more in ([], ["--repeat", 2], ["--verify"]):
                words = ["--device", device, *LITTLE, *more, self.files[1]]
                text = self.bad(1, "pipeline", *words, says=["column x, block 1", "column a, block 1"], lacks=["nan", "GB/s of", "all that are ready", "verified"]).stdout
                self.assertIn("\nno column is ready", text)
                report = self.report(*words, status=1)
                self.assertEqual((report["seconds"], report["runs"], report["gb_per_second"], report["plain_bytes"]), (None, [], None, 0))
        self.files[1].write_bytes(whole)
        for words in (["--rows", "17..17"], ["--columns", "x"]):
            result = self.zfc("pipeline", "--device", "cpu", *words, self.files[1])
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertNotIn("nan", result.stdout)
            self.assertEqual("GB/s of" in result.stdout, "--columns" in words, result.stdout)

    def test_usage(self):
        file = self.files[0]
        for words, says in [(["--plan", "--trace", "x"], "--plan decodes nothing"), (["--plan", "--verify"], "--plan decodes nothing"),
                            (["--plan", "--repeat", 2], "--plan decodes nothing"), (["--trace", "x", "--svg", "x"], "the same file"),
                            (["--rows", "5..2"], "A at most B"), (["--readers", 65], "from 1 to 64"), (["--streams", 9], "from 1 to 8"),
                            (["--unit", 0], "--unit needs"), (["--device-staging", "1q"], "--device-staging needs"), (["--repeat", 0], "--repeat needs"),
                            (["--order", "best"], "johnson|given|apart"), (["--to", "nowhere"], "device|host"),
                            (["--to", "device", "--device", "cpu"], "no memory of its own"), (["--columns", "q"], "ZF1105"), (["--columns", "a,a"], "twice"),
                            (["--columns", ",a"], "empty name")]:
            self.bad(2, "pipeline", *words, file, says=says)
        self.bad(2, "pipeline", "--columns", "a,nope", *self.files, says=["ZF2003", "`nope`"])
        self.bad(3, "pipeline", "--device", "cuda:9", file)
        self.bad(1, "pipeline", "--device", "emu", "--device-staging", 300, file, says=["ZF1114", "block 0"])
        self.bad(1, "pipeline", self.dir / "none.zfd", file, says="none.zfd")
        report = json.loads(self.bad(2, "pipeline", "--json", "--rows", "20000..", *self.files, says=["ZF1106", "column x"]).stdout)
        self.assertEqual([c["good"] for c in report["columns"]], [True] * 4 + [False] * 2)
        self.assertEqual([c["rows"] for c in report["columns"]][4:], [0, 0])
        for staging in (["--device-staging", 255], ["--host-staging", 4095]):
            self.bad(2, "pipeline", "--device", "emu", *LITTLE, *staging, "--rows", "17..17", self.files[0], says="4096 bytes of host staging and 256 of")
        least = ["--device-staging", 256, "--host-staging", 4096]
        self.good("pipeline", "-q", "--device", "emu", *least, "--rows", "17..17", self.files[0])

    def test_outputs_are_whole_or_not_there(self):
        kept, file, tuned = self.file("kept", "mine"), self.files[0], self.file("tuned.txt", "zipflow tuned kernels, format 1\n")
        for option in ("--trace", "--svg"):
            self.bad(1, "pipeline", option, kept, file, says=["ZF1501", "exists already"])
            self.assertEqual(kept.read_text(), "mine")
            for input_ in self.files:
                self.bad(2, "pipeline", "-f", option, input_, *self.files, says=["ZF2014", "also an input"])
            self.bad(2, "pipeline", "-f", "--device", "emu", "--tuned", tuned, option, tuned, file, says=["ZF2014", "also an input"])
            self.bad(1, "pipeline", option, self.dir / "none" / "x", file)
            self.good("pipeline", "-q", "-f", option, kept, file)
            self.assertNotEqual(kept.read_text(), "mine")
            kept.write_text("mine")
        self.bad(1, "pipeline", "--trace", self.dir / "new", "--svg", kept, file, says="ZF1501")
        # One file by two names, also one that is not there yet.
        soft, hard, around = self.dir / "soft", self.dir / "hard", self.dir / "around"
        soft.symlink_to("kept")
        os.link(kept, hard)
        around.symlink_to(".")
        for other in (soft, hard, f"{self.dir}/./kept", around / "kept", os.path.relpath(kept)):
            result = self.bad(2, "pipeline", "-f", "--trace", kept, "--svg", other, file, says=["ZF2014", "--trace and --svg name the same file"])
            self.assertEqual((result.stdout, kept.read_text()), ("", "mine"))
        for one, other in (("new", "./new"), ("./new", "new"), (self.dir / "new", "around/new")):
            result = self.bad(2, "pipeline", "--trace", one, "--svg", other, file, cwd=self.dir, says="--trace and --svg name the same file")
            self.assertEqual(result.stdout, "")
        for link in (soft, hard, around):
            link.unlink()
        self.assertFalse((self.dir / "new").exists())
        self.assertEqual(sorted(p.name for p in self.dir.iterdir()), ["kept", "t.csv", "t.zf", "t.zfd", "tuned.txt", "u.csv", "u.zf", "u.zfd"])


class DecodesThatAreAhead(Case):
    """`zfc decode` decodes a column while it writes the one before."""

    def test_the_first_bad_column_is_told_of_and_nothing_is_left(self):
        self.damage(self.files[0], b=2, f=1)
        for device in DEVICES:
            for columns, says in (("a,b,s,f", "column b, block 2"), ("a,s,f,b", "column f, block 1"), ("b", "column b, block 2")):
                for form in ("raw", "npy"):
                    result = self.bad(1, "decode", "--device", device, "--format", form, "--columns", columns, "-o", self.dir / "out", self.files[0], says=says)
                    self.assertEqual(result.stderr.count("error["), 1)
                    told = [line.split()[0] for line in result.stdout.splitlines()]
                    self.assertEqual(told, columns.split(",")[:columns.split(",").index(says[7])])
                    self.assertFalse((self.dir / "out").exists())
            self.good("decode", "-q", "--device", device, "--columns", "a,s", "-o", self.dir / device, self.files[0])

    def test_an_output_that_is_in_the_way(self):
        """Output that cannot be written ends the decode, with the next column under way."""
        out = self.dir / "out"
        for device in DEVICES:
            out.mkdir(exist_ok=True)
            self.file("out/a.i32", "mine")
            self.bad(1, "decode", "--device", device, "-o", out, self.files[0], says=["ZF1501", "a.i32"])
            self.assertEqual([p.name for p in out.iterdir()], ["a.i32"])

    def test_a_block_larger_than_the_pipelines_memory(self):
        rows = 4096 * 2100
        values = {"a": array.array("Q", range(rows)), "b": array.array("I", (i % 1000 for i in range(rows)))}
        inputs = [f"{name}={self.file(name + '.raw', value.tobytes())}" for name, value in values.items()]
        program = self.file("large.zf", "table large { a: u64 = plain; b: u32 = bitpack; }\n")
        self.good("encode", "-q", "-c", program, "--rows-per-block", rows, "-o", self.dir / "large.zfd", *inputs)
        self.bad(1, "pipeline", "--device", "emu", "--host-staging", 1 << 26, self.dir / "large.zfd", says="ZF1114")
        self.good("decode", "-q", "--device", "emu", "-o", self.dir / "out", self.dir / "large.zfd")
        self.assertEqual((self.dir / "out" / "a.u64").read_bytes(), values["a"].tobytes())
        self.assertEqual((self.dir / "out" / "b.u32").read_bytes(), values["b"].tobytes())


class Rates(Case):
    """A process predicts from the rates that another has measured."""

    def setUp(self):
        super().setUp()
        shutil.rmtree(CACHE / "rates", ignore_errors=True)

    def kept(self, device):
        """The one file that is kept of a device: its path, and what its lines say, by what they begin with."""
        path, = (CACHE / "rates").glob(f"{device}-*.txt")
        rates = {}
        for line in path.read_text().splitlines()[2:-1]:
            words = line.replace(" first ", " ").split(" ", 3)
            rates[words[3] if words[0] == "decode" else words[0]] = int(words[1])
        return path, rates

    def plan(self, device, *words):
        """The predicted seconds of each column's only unit, and the link's rate."""
        report = self.report("--plan", "--device", device, *words, *self.files)
        self.assertEqual(len(report["units"]), 6)
        times = {(u["column"], u["name"]): u["predicted"]["decode"][1] - u["predicted"]["decode"][0] for u in report["units"]}
        return times, report["link_bytes_per_second"]

    def expected(self, device, rates):
        report = self.report("--plan", "--device", device, *self.files)
        return {(u["column"], u["name"]): u["plain_bytes"] / rates[f"{c['type']}: {c['codec']}"[:63]] + (12e-6 if device == "emu" else 0)
                for u in report["units"] for c in [report["columns"][u["column"]]]}

    def assert_close(self, a, b):
        self.assertEqual(a.keys(), b.keys())
        for key in a:
            self.assertAlmostEqual(a[key] / b[key], 1, places=4, msg=key)

    def test_the_second_process_predicts_from_the_first(self):
        for device in DEVICES:
            guessed, _ = self.plan(device)
            self.good("pipeline", "-q", "--device", device, *LITTLE, *self.files)
            path, rates = self.kept(device)
            self.assertLess(path.stat().st_size, 2000)
            planned, link = self.plan(device)
            self.assert_close(planned, self.expected(device, rates))
            self.assert_close({"link": link or 1}, {"link": rates.get("link", 1)})
            self.assertEqual(device == "emu", "link" in rates)
            differ = sum(abs(planned[key] / guessed[key] - 1) > 0.01 for key in planned) # a guess may be right, most are not
            self.assertGreater(differ, 3, (planned, guessed))
            before = path.read_bytes()
            self.assertEqual(self.plan(device), (planned, link)) # a plan decodes nothing, and learns nothing
            self.assertEqual(path.read_bytes(), before)
            # Refined: a later process, with runs that need not wait for code.
            self.good("pipeline", "-q", "--repeat", 2, "--device", device, *LITTLE, *self.files)
            _, refined = self.kept(device)
            self.assertEqual(refined.keys(), rates.keys())
            self.assertNotEqual(refined, rates)
            self.assertNotIn(" first ", path.read_text())
            self.assert_close(self.plan(device)[0], self.expected(device, refined))
            path.unlink()
            self.assert_close(self.plan(device)[0], guessed)

    def test_no_cache_no_rates(self):
        for device in DEVICES:
            words = ["pipeline", "-q", "--device", device, *LITTLE, *self.files]
            self.good(*words)
            path, _ = self.kept(device)
            before, planned = path.read_bytes(), self.plan(device)
            self.good(*words, "--no-cache")
            self.assertEqual(path.read_bytes(), before)
            guessed = self.plan(device, "--no-cache")
            self.assertNotEqual(guessed[0], planned[0])
            path.unlink()
            self.good(*words, "--no-cache")
            self.good(*words, env={**os.environ, "ZIPFLOW_CACHE_DIR": ""})
            self.assertFalse(path.exists())

    def test_what_cannot_be_used_is_as_none(self):
        device = "cpu"
        guessed = self.plan(device)
        words = ["pipeline", "--device", device, *LITTLE, "--verify", *self.files]
        self.good(*words)
        path, _ = self.kept(device)
        whole = path.read_bytes()
        for content in (b"", whole[:-1], whole[:100], whole.replace(b"read ", b"read 1"), b"\xff" * 3000, whole + b"\n", b"0" * (1 << 20)):
            path.write_bytes(content)
            self.assertEqual(self.plan(device), guessed, content[:100])
            result = self.zfc(*words)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertNotEqual(self.plan(device), guessed) # written again
        self.no_rates()
        for _ in range(2):
            result = self.zfc(*words)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertEqual(self.plan(device), guessed)
        self.assertEqual((CACHE / "rates").read_text(), "mine")

    def test_several_processes_at_once(self):
        for device in DEVICES:
            words = [zfc_case.ZFC, "pipeline", "-q", "--verify", "--repeat", 2, "--device", device, *LITTLE, *self.files]
            running = [subprocess.Popen([*map(str, words)], stderr=subprocess.PIPE) for _ in range(4)]
            for process in running:
                self.assertEqual(process.communicate()[1], b"")
                self.assertEqual(process.returncode, 0)
            self.assertEqual([p.name[:4] for p in (CACHE / "rates").iterdir() if p.name.startswith(device)], [f"{device}-"])
            self.assert_close(self.plan(device)[0], self.expected(device, self.kept(device)[1]))


class Pictures(Case):
    def test_a_trace(self):
        for device in DEVICES:
            path = self.dir / f"{device}.json"
            report = self.report("--device", device, "--unit", 20000, "--repeat", 1, "--trace", path, *self.files)
            events = json.loads(path.read_text())["traceEvents"]
            tracks = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
            self.assertEqual("copy" in tracks.values(), device == "emu")
            slices = [e for e in events if e["ph"] == "X"]
            for e in slices:
                self.assertIn(e["args"]["file"], map(str, self.files))
                self.assertTrue(e["ts"] >= 0 and e["dur"] >= 0)
            for kind in {e["cat"] for e in slices} & {"copy", "decode"}:
                mine = [e for e in slices if tracks[e["tid"]].split(",")[0] == kind]
                self.assertEqual(sorted(e["args"]["unit"] for e in mine), list(range(len(report["units"]))))
            for tid in tracks: # viewers drop slices of a track that overlap in part
                mine = sorted((e["ts"], e["ts"] + e["dur"]) for e in slices if e["tid"] == tid)
                self.assertTrue(all(before[1] <= after[0] + 0.01 for before, after in zip(mine, mine[1:])), (tracks[tid], mine))
            copies = sorted((e["ts"], e["ts"] + e["dur"]) for e in slices if e["cat"] == "copy")
            self.assertTrue(all(before[1] <= after[0] + 0.01 for before, after in zip(copies, copies[1:])), copies)

    def test_odd_names_of_files(self):
        """Bytes that are not UTF-8, or drive a terminal, reach neither a trace nor a table unchanged."""
        odd = [self.dir / os.fsdecode(name) for name in (b"\xe9\x1b[7m.zfd", b"\xe8\x1b[7m.zfd")]
        for path in odd:
            shutil.copy(self.files[0], path)
        trace = self.dir / "trace.json"
        self.good("pipeline", "--device", "cpu", "-q", "--trace", trace, odd[0])
        files = {e["args"]["file"] for e in json.loads(trace.read_bytes().decode())["traceEvents"] if e["ph"] == "X"}
        self.assertEqual(files, {f"{self.dir}/\ufffd\x1b[7m.zfd"})
        for words in ([], ["--plan"]):
            shown = self.good("pipeline", "--device", "cpu", *words, *odd)
            self.assertNotIn("\x1b", shown)
            self.assertIn("??[7m.zfd:a", shown)

    def test_a_plan_is_what_a_run_does(self):
        self.no_rates() # which a run would change
        for device in DEVICES:
            for order in ("johnson", "given", "apart"):
                words = ["--device", device, "--order", order, "--unit", 20000, *LITTLE, *self.files]
                planned, run = self.report("--plan", *words), self.report(*words)
                key = lambda unit: (unit["column"], unit["first_row"], unit["rows"])
                # On the emulated GPU Johnson's order follows from the link, which is measured each time.
                self.assertEqual(sorted(map(key, planned["units"])), sorted(map(key, run["units"])))
                same = device == "cpu" or order != "johnson"
                if same:
                    self.assertEqual([key(u) for u in planned["units"]], [key(u) for u in run["units"]])
                self.assertTrue(all(u["measured"] is None for u in planned["units"]))
                self.assertTrue(all(u["measured"]["decode"][1] > 0 for u in run["units"]))
                self.assertEqual({c["good"] for c in planned["columns"]}, {None})
                self.assertEqual((planned["seconds"], planned["runs"]), (None, []))
                for times in ("predicted", "measured"):
                    begins = [u[times]["decode"][0] for u in run["units"]]
                    if device == "emu" or order == "apart":
                        self.assertEqual(begins, sorted(begins), "units did not go in their order")
                if order == "given":
                    self.assertEqual([key(u) for u in planned["units"]], sorted(key(u) for u in planned["units"]))
                lines = self.good("pipeline", "--plan", *words).splitlines()
                self.assertEqual(len(lines), len(planned["units"]) + 2)
                seen = [tuple(line.split()[:3]) for line in lines[1:-1]]
                wanted = [(f"{planned['columns'][u['column']]['table']}.{u['name']}", f"{u['first_row']}..{u['first_row'] + u['rows']}")
                          for u in planned["units"]]
                self.assertEqual([number for number, _, _ in seen], [str(k + 1) for k in range(len(wanted))])
                self.assertEqual([(label, rows) for _, label, rows in (seen if same else sorted(seen, key=lambda s: s[1:]))],
                                 wanted if same else sorted(wanted))
                ends = [float(line.rsplit("..", 1)[1]) for line in lines[1:-1]]
                self.assertEqual(ends, sorted(ends))
                self.assertRegex(lines[-1], rf"^predicted {ends[-1]:.3f} ms, at least [0-9.]+ ms in any order$")
        self.damage(self.files[0], s=3)
        self.good("pipeline", "--plan", *self.files) # nothing of it is decoded

    def test_a_chart(self):
        for device in DEVICES:
            for more in (["--plan"], []):
                path = self.dir / f"{device}{len(more)}.svg"
                report = self.report("--device", device, "--unit", 20000, "--svg", path, *more, *self.files)
                root = ElementTree.parse(path).getroot()
                self.assertEqual(root.tag, SVG + "svg")
                text = path.read_text()
                self.assertNotIn("href", text)
                self.assertIn("prefers-color-scheme: dark", text)
                self.assertIn("as predicted" if more else "as measured", text)
                tracks = {g.get("id"): g.findall(SVG + "rect") for g in root.findall(SVG + "g")}
                times = "predicted" if more else "measured"
                for kind in ("read", "copy", "decode"):
                    bars = [u for u in report["units"] if u[times][kind][1] > u[times][kind][0]]
                    self.assertEqual(len(tracks.get(kind, [])), len(bars), kind)
                self.assertEqual("copy" in tracks, device == "emu")
                width, height = (float(root.get(k)) for k in ("width", "height"))
                colours = {}
                for bar in (bar for bars in tracks.values() for bar in bars):
                    x, y, w, h = (float(bar.get(k)) for k in ("x", "y", "width", "height"))
                    self.assertTrue(0 <= x and x + w <= width and 0 <= y and y + h <= height, bar.attrib)
                    colours.setdefault(bar.find(SVG + "title").text.split(",")[0], set()).add(bar.get("fill"))
                self.assertTrue(all(len(c) == 1 for c in colours.values()) and len(set().union(*colours.values())) == 6, colours)
                legend = [t.text for t in root.findall(SVG + "text")]
                for label in ("t.a", "t.b", "t.s", "t.f", "u.x", "u.a"):
                    self.assertIn(label, legend)


if __name__ == "__main__":
    del sys.argv[1]
    unittest.main()
