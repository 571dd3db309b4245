"""Command lines: words that would drive a terminal, and options that would do nothing. Usage: test_command_line.py ZFC"""

import pathlib
import re
import sys
import unittest

sys.dont_write_bytecode = True
import zfc_case  # noqa: E402

ESCAPE = "\x1b[31m\u202e"
PROGRAM = "table t { a: i32 = bitpack; }\ncodec c: i32 = bitpack;\n"


def setUpModule():
    zfc_case.cache_of_module()


class Case(zfc_case.Case):
    SECONDS = 120

    def setUp(self):
        super().setUp()
        self.program = self.file("t.zf", PROGRAM)
        self.text = self.file("t.csv", "a\n1\n")
        self.container = self.dir / "t.zfd"
        self.good("encode", "-q", "-c", self.program, "-o", self.container, self.text)

    def verbs(self):
        return [verb for verb in re.findall(r"(?m)^  (\w+) +\S", self.good("--help")) if verb != "zfc"]

    def options(self, verb):
        """(name, argument or None) of each option."""
        found = re.findall(r"(?m)^  (?:-\w, |    )--([\w-]+)(?: (\S+))?(?: {2}|$)", self.good(verb, "--help"))
        self.assertTrue(found)
        return [(name, argument or None) for name, argument in found if name != "help"]

    def words(self, verb):
        """A command line of a verb that is good, or would be on a machine with a GPU."""
        out = self.dir / "out"
        chunks = self.file("chunks", b"abc")
        self.file("chunks.sizes", "3 3\n")
        chunked = self.file("chunked.zf", "algorithm kept(src: u8[] per chunk) -> u8[] non_parallel(chunk = 9) {\n"
                            "    decode { for v in src { emit v; } }\n    encode extern \"kept\";\n}\ntable t { a: u8 = kept; }\n")
        asked = self.file("query.zf", "table t { a: i32 = bitpack; }\nquery q(t) { result r: i64 = sum; each { r += a; } }\n")
        return {"query": [asked, self.container], "wrap": ["-f", "-c", chunked, "-o", self.dir / "w.zfd", f"a={chunks}"], "check": [self.program], "fmt": [self.program], "explain": [self.program], "encode": ["-f", "-c", self.program, "-o", self.dir / "x.zfd", self.text],
                "compile": ["-f", "-o", self.dir / "x.zfm", "--target", "host", self.program], "decode": ["-f", "-o", out, self.container], "verify": [self.container], "pipeline": [self.container],
                "bench": ["--bytes", "1", "--repeats", "5", "--device", "cpu", self.container], "tune": ["--device", "cpu", self.container], "inspect": [self.container], "devices": [],
                "completion": ["bash"], "manual": []}[verb]


class Terminal(Case):
    def calm(self, *words):
        """The run prints nothing that drives a terminal, and ends well or with an error that has a code."""
        result = self.zfc(*words, cwd=self.dir)  # where some of these names become files
        self.assertNotIn("Sanitizer", result.stderr)
        for stream in (result.stdout, result.stderr):
            for bad in ("\x1b", "\u202e"):
                self.assertNotIn(bad, stream, words)
        self.assertIn(result.returncode, (0, 1, 2, 3), words)
        if result.returncode:
            self.assertRegex(result.stderr, r"error\[ZF\d{4}\]", words)
        return result

    def test_every_option_and_operand(self):
        every, turn = zfc_case.sample()
        for verb in self.verbs():
            good = self.words(verb)
            for number, (name, argument) in enumerate(self.options(verb)):
                if (number + turn) % every:
                    continue
                if argument:
                    self.calm(verb, f"--{name}={ESCAPE}", *good)
                    if name in ("columns", "codec", "ignore", "field", "header", "target", "generate", "choose"):
                        for value in (f"a,{ESCAPE}", f"{self.program}:{ESCAPE}", f"ZF0806,{ESCAPE}", f"a={ESCAPE}", f"{ESCAPE}=a"):
                            self.calm(verb, f"--{name}={value}", *good)
                else:
                    self.assertEqual(self.calm(verb, f"--{name}={ESCAPE}", *good).returncode, 2)
            for word in (f"--{ESCAPE}", f"-{ESCAPE}", f"--colu{ESCAPE}", ESCAPE, f"{self.program}:{ESCAPE}", f"{self.program}:t.{ESCAPE}", f"{ESCAPE}={self.text}", f"a={ESCAPE}", f"a.{ESCAPE}={self.text}"):
                self.calm(verb, *good, word)
                self.calm(verb, *good[:-1], word)
        for words in ([ESCAPE], ["--help", ESCAPE], ["checq" + ESCAPE]):
            self.calm(*words)

    def test_files_with_such_names(self):
        names = {}
        for name, content in [("zf", PROGRAM), ("csv", "b\n1\n"), ("bad.zf", "table t { a: i32 = none; }"), ("i32", "123"), ("npy", "123")]:
            names[name] = self.file(f"{ESCAPE}.{name}", content)
        container = self.dir / f"{ESCAPE}.zfd"
        container.write_bytes(self.container.read_bytes())
        broken = self.file(f"{ESCAPE}.broken", self.container.read_bytes()[:-1])
        for words in (["check", names["zf"]], ["check", names["bad.zf"]], ["check", "--format", "line", names["bad.zf"]], ["fmt", "-i", names["zf"]], ["explain", names["zf"]], ["explain", names["bad.zf"]],
                      ["encode", "-c", names["zf"], "-o", container, self.text], ["encode", "-f", "-c", names["zf"], "-o", names["csv"], names["csv"]], ["encode", "-f", "-c", names["zf"], "-o", container, names["csv"]],
                      ["encode", "-f", "-c", names["zf"], "-o", container, f"a={names['i32']}"], ["encode", "-f", "-c", names["zf"], "-o", container, f"a={names['npy']}"],
                      ["encode", "-v", "-f", "-c", names["zf"], "-o", container, self.text], ["compile", "-v", "--target", "host", "-o", self.dir / f"{ESCAPE}.zfm", names["zf"]],
                      *(["decode", *more, "-o", self.dir / f"{ESCAPE}out", container] for more in (["-v"], ["-f", "--format", "csv"], [], ["--module", broken])),
                      *([verb, file] for verb in ("verify", "inspect", "bench", "pipeline", "tune") for file in (container, broken, names["zf"]))):
            self.calm(*words)


class Explain(Case):
    def test_algorithms_of_the_library_without_a_file(self):
        library = pathlib.Path(__file__).resolve().parents[2] / "dsl/std"
        names = sorted({name for page in library.glob("*.zf") for name in re.findall(r"(?m)^algorithm (\w+)", page.read_text())})
        self.assertIn("bitpack", names)
        for name in names:
            shown = self.good("explain", name, cwd=self.dir)
            self.assertRegex(shown, rf"(?m)^example: .* = {name}\b")
            self.assertIn("kernels on host", shown)
        self.assertIn("example", self.good("explain", "--json", "bitpack", cwd=self.dir))
        self.bad(1, "explain", "bitpak", cwd=self.dir, says=["no file and no algorithm `bitpak`", "did you mean `bitpack`?"])
        self.file("bitpack", PROGRAM) # a file comes first
        self.assertIn("a: i32 = bitpack", self.good("explain", "bitpack", cwd=self.dir))


class Useless(Case):
    def test_options_that_would_do_nothing_are_refused(self):
        program, container, text = self.program, self.container, self.text
        module, out = self.dir / "t.zfm", self.dir / "out"
        self.good("compile", "-q", "--target", "host", "-o", module, program)
        for words, says in [
                (["fmt", "-q", program], "--quiet goes with --in-place"), (["inspect", "--program", "--json", container], "--program goes without --json"),
                (["inspect", "--program", "--columns", "a", container], "--program goes without --columns"), (["inspect", "-v", "--program", container], "--program goes without --verbose"),
                (["pipeline", "-f", container], "--force goes with --trace or --svg"), (["tune", "-f", container], "--force goes with --output"), (["query", "-f", program, container], "--force goes with --output"),
                (["compile", "--target", "nvptx", "--cpu", "x86-64-v2", "-o", self.dir / "x", program], "--cpu is for native code"),
                *(([verb, "--module", module, *option, *more, container], f"--module goes without {option[0]}") for verb, more in
                  [("decode", ["-o", out]), ("verify", []), ("pipeline", []), ("bench", [])] for option in (["--untuned"], ["--shaping-tuples", "9"], ["--chunk-threads", "1"]) if verb != "verify" or option != ["--chunk-threads", "1"]),
                (["bench", "--general", "--shaping-tuples", "9", container], "--general goes without --shaping-tuples"),
                *(([verb, *option, "--device", "cpu", *more, container], f"{option[0]} is for kernels of GPUs") for verb, more in
                  [("decode", ["-o", out]), ("verify", []), ("pipeline", []), ("bench", [])] for option in (["--chunk-threads", "1"],) if verb != "verify"),
                (["explain", "--no-lines", program], "--no-lines is for code of GPU kernels"), (["explain", "--no-lines", "--emit", "asm", program], "--no-lines is for code of GPU kernels"),
                (["explain", "--no-lines", "--emit", "plan", "--target", "nvptx", program], "--no-lines is for code of GPU kernels"),
                (["explain", "--chunk-threads", "1", "--emit", "plan", program], "--chunk-threads is for kernels of GPUs"),
                *((["explain", "--emit", stage, *option, program], f"{option[0]} goes without --emit {stage}") for stage in ("ast", "spec", "graph")
                  for option in (["--target", "nvptx"], ["--arch", "80"], ["--chunk-threads", "1"], ["--choose", "0:x=1"], ["--choices"], ["--no-lines"], ["--shaping", "1"])),
                (["tune", "--replay", "x.json", "--threads", "2"], "--threads does not go with it"), (["tune", "--replay", "x.json", "--no-cache"], "--no-cache does not go with it"),
                (["check", "--ignore", "ZF0806,ZF9999", program], "--ignore: `ZF9999` is not a code of this version"), (["check", "--ignore", "ZF0806,x", program], "--ignore: `x` is not a code of warnings"),
                (["check", "--ignore", "ZF08060", program], "--ignore: `ZF08060` is not"), (["check", "--ignore", "ZF0806,", program], "--ignore: `` is not"),
        ]:
            self.bad(2, *words, says=["error[ZF2014]", says])
        self.assertFalse(out.exists())
        for words in (["explain", "--no-lines", "--emit", "llvm", "--target", "nvptx", program], ["explain", "--chunk-threads", "1", program], ["explain", "--chunk-threads", "1", "--emit", "plan", "--target", "emu", program],
                      ["check", "--ignore", "ZF0806,ZF0804", program], ["decode", "--chunk-threads", "1", "-o", out, container], ["inspect", "--program", container]):
            self.good(*words)

    def test_one_row_is_one_row(self):
        out = self.dir / "out"
        self.assertIn("t, 1 row, ", self.good("inspect", self.container))
        for words in (["verify", self.container], ["decode", "-o", out, self.container], ["decode", "-f", "--format", "csv", "-o", out, self.container]):
            printed = self.good(*words)
            self.assertRegex(printed, r"\b1 row\b")
            self.assertNotRegex(printed, r"\b1 rows\b")
        program = self.file("two.zf", "table t { a: i32 = plain; b: i32 = plain; }")
        self.bad(1, "encode", "-f", "-c", program, "-o", self.container, f"a={self.file('a', bytes(8))}", f"b={self.file('b', bytes(4))}", says="column `b` ", lacks="1 rows")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
