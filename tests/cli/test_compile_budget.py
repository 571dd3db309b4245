"""Time to compile: its budget, and the line on a terminal. Usage: test_compile_budget.py ZFC"""

import json
import os
import pty
import re
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
import zfc_case  # noqa: E402

ZFC = zfc_case.ZFC
PROGRAM = "table t { a: i32 = bitpack; }\n"
NOTHING = "0.000001ms"  # building the module of a kernel takes longer


def setUpModule():
    zfc_case.cache_of_module()


class Budget(zfc_case.Case):
    def setUp(self):
        super().setUp()
        self.program = self.file("t.zf", PROGRAM)
        self.text = self.file("t.csv", "a\n" + "".join(f"{i % 7}\n" for i in range(100)))
        self.container = self.dir / "t.zfd"
        self.good("encode", "-q", "-c", self.program, "-o", self.container, self.text)

    def verbs(self):
        return [["encode", "--no-cache", "-f", "-c", self.program, "-o", self.dir / "x.zfd", self.text],
                ["decode", "--no-cache", "-f", "-o", self.dir / "out", self.container],
                *([verb, "--no-cache", "--device", device, self.container] for verb in ("verify", "pipeline") for device in ("cpu", "emu")),
                ["bench", "--no-cache", "--bytes", "1", "--repeats", "5", "--device", "cpu", self.container],
                ["explain", "--emit", "ptx", self.program], ["explain", "--emit", "asm", self.program]]

    def test_a_column_that_takes_longer_is_an_error(self):
        for words in self.verbs():
            with self.subTest(words=words):
                self.bad(1, *words, "--compile-budget", NOTHING, says=["error[ZF1411]", "column `a`", "at: ", "--compile-budget"])
        self.assertFalse((self.dir / "x.zfd").exists() or (self.dir / "out").exists())
        for words in self.verbs():
            self.good(*words, "--compile-budget", "none")

    def test_a_module_lacks_such_columns(self):
        out = self.dir / "x.zfm"
        self.bad(1, "compile", "--compile-budget", NOTHING, "-o", out, self.program,
                 says=["note: table t, column a: no code for host: ", "takes more than its budget"])
        self.assertFalse(out.exists())

    def test_wrong_times(self):
        for time in ("0", "-1s", "x", "1h", "inf", "nan", "0x1", "1e3", "5 s"):
            self.bad(2, "verify", "--compile-budget", time, self.container, says=["error[ZF2014]", "--compile-budget needs a time"])
        self.bad(2, "verify", "--compile-budget", "", self.container, says="--compile-budget is given nothing")
        self.bad(2, "explain", "--compile-budget", "5s", self.program, says="--compile-budget goes with --emit llvm, asm or ptx")
        self.bad(2, "explain", "--compile-budget", "5s", "--emit", "ast", self.program, says="--compile-budget goes without --emit ast")
        for time in ("5s", "5", "500ms", "2m", "0.5m"):
            self.good("verify", "-q", "--compile-budget", time, self.container)


def screen(written):
    """The lines of a terminal's screen, and what it showed that was erased later."""
    lines, at, gone = [""], 0, []
    for part in re.findall(r"\r|\n|\x1b\[K|[^\r\n\x1b]+|\x1b", written):
        if part == "\n":
            lines.append("")
            at = 0
        elif part == "\r":
            at = 0
        elif part == "\x1b[K":
            if lines[-1][at:]:
                gone.append(lines[-1])
            lines[-1] = lines[-1][:at]
        else:
            lines[-1] = lines[-1][:at].ljust(at) + part + lines[-1][at + len(part):]
            at += len(part)
    return lines, gone


class Terminal(zfc_case.Case):
    def on_terminal(self, *words, status=0):
        """A run whose outputs are a terminal: the lines that stay, and those that went."""
        master, slave = pty.openpty()
        process = subprocess.Popen([ZFC, *map(str, words)], stdin=subprocess.DEVNULL, stdout=slave, stderr=slave)
        os.close(slave)
        written = b""
        while True:
            try:
                part = os.read(master, 4096)
            except OSError:  # nobody writes any more
                break
            if not part:
                break
            written += part
        os.close(master)
        self.assertEqual(process.wait(self.SECONDS), status, written)
        return screen(written.decode())

    def slow(self, command):
        """A command on a program of so many columns that it compiles for more than a second, twice the silence; and their names."""
        columns = 16
        while columns < 1000:
            names = [f"column{i}" for i in range(columns)]
            lines = "".join(f"    {name}: i64 = delta(bitpack) | plain;\n" for name in names)
            words = command(self.file("t.zf", f"table t {{\n{lines}}}\n"), names)
            result = self.zfc(*words, "-q", "--json", "--time-passes")
            self.assertEqual(result.returncode, 0, result.stderr)
            if json.loads(result.stderr)["time_passes"]["passes"]["code"]["wall"] > 1:
                return words, names
            columns *= 2
        self.fail("a thousand columns are compiled within a second")

    def test_a_line_while_compiling(self):
        module = self.dir / "t.zfm"
        words, _ = self.slow(lambda program, _: ["compile", "-f", "--no-cache", "--threads", "1", "--target", "host", "-o", module, program])
        plain = self.zfc(*words)
        self.assertEqual(plain.stderr, "")  # no terminal
        lines, gone = self.on_terminal(*words)
        self.assertEqual(lines, [*plain.stdout.splitlines(), ""])
        self.assertTrue(gone)
        for line in gone:
            self.assertRegex(line, r"^compiling column column\d+( and \d+ more)?$")
        self.assertEqual(self.on_terminal(*words, "-q"), ([""], []))

    def test_other_output_between(self):
        def command(program, names):
            text = self.file("t.csv", ",".join(names) + "\n" + ",".join("7" for _ in names) + "\n")
            lines, _ = self.on_terminal("encode", "--no-cache", "-v", "-f", "-c", program, "-o", self.dir / "t.zfd", text)
            self.assertFalse([line for line in lines if "compiling" in line], lines)
            return ["decode", "-f", "--no-cache", "--threads", "1", "-o", self.dir / "out", self.dir / "t.zfd"]

        words, names = self.slow(command)
        lines, gone = self.on_terminal(*words, "-v")
        self.assertTrue([line for line in gone if line.startswith("compiling column ")])
        self.assertFalse([line for line in lines if "compiling column" in line], lines)
        self.assertEqual([line.split()[0] for line in lines if " GB/s" in line], names, lines)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
