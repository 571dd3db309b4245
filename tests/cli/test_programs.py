"""Programs by hash: `--programs known` admits the library's alone, and `inspect` shows which they are.

Usage: test_programs.py ZFC SOURCE ZF_KNOWN"""

import json
import pathlib
import subprocess
import sys
import unittest

from zfc_case import Case, cache_of_module

SOURCE = pathlib.Path(sys.argv[2])
KNOWN = sys.argv[3]
OWN = (
    "fn up(x: u32) = x + 1;\n"
    "algorithm mine(s: u32[]) -> u32[] fully_parallel { decode(i) = up(s[i]);"
    " encode(x) { for v in x { s.push(v - 1); } } }\n"
)


def setUpModule():
    cache_of_module()


class Programs(Case):
    def encode(self, name, text, *options):
        self.file(name + ".zf", text)
        self.file("t.csv", "a,b\n1,x\n2,yy\n3,z\n")
        self.good("encode", "-q", "-c", self.dir / (name + ".zf"), self.dir / "t.csv", "-o", self.dir / (name + ".zfd"), *options)
        return self.dir / (name + ".zfd")

    def test_library_is_admitted(self):
        for version in (1, 2):
            file = self.encode(f"lib{version}", "table t { a: u32 = delta(bitpack) | plain; b: string = strings; }\n",
                               "--format", version)
            self.assertIn("all good", self.good("verify", file, "--programs", "known"))
            self.good("decode", "-q", file, "-o", self.dir / f"out{version}", "--programs", "known")
            self.assertEqual((self.dir / f"out{version}/b.bytes").read_bytes(), b"xyyz")
            self.good("pipeline", file, "--programs", "known")
            self.assertIn("all good", self.good("verify", file, "--programs", "known", "--device", "emu"))
            self.good("bench", file, "--programs", "known", "--bytes", 1, "--repeats", 5)
            self.assertIn("kernel", self.good("explain", file, "--programs", "known"))
            shown = self.good("inspect", file, "--programs", "known")
            self.assertIn("programs: 4, of which 4 are the library's\n", shown)
            self.assertNotIn("not the library's", shown)

    def test_others_are_refused(self):
        for version in (1, 2):
            file = self.encode(f"own{version}", OWN + "table t { a: u32 = mine(bitpack); b: string = strings; }\n",
                               "--format", version)
            for words in (("decode", "-o", self.dir / "none"), ("verify",), ("pipeline",), ("inspect",)):
                self.bad(1, words[0], file, *words[1:], "--programs", "known", says="ZF1218")
            self.bad(1, "verify", file, "--programs", "known", "--device", "emu", says="ZF1218")
            self.bad(1, "compile", file, "--programs", "known", "-o", self.dir / "own.zfm", says="ZF1218")
            for words in (("bench", "--bytes", 1, "--repeats", 5), ("tune", "--device", "emu"), ("explain",)):
                self.bad(1, words[0], file, *words[1:], "--programs", "known", says="ZF1218")
            self.assertFalse((self.dir / "own.zfm").exists())
            self.assertFalse((self.dir / "none").exists())
            self.bad(1, "inspect", file, "--programs", "known", says="the function `up` is not the library's")
            # Without the option it is what it was.
            self.good("decode", "-q", file, "-o", self.dir / f"own{version}", "--programs", "all")
            self.assertEqual((self.dir / f"own{version}/a.u32").read_bytes(), bytes([1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0]))
            shown = self.good("inspect", file)
            self.assertIn("programs: 4, of which 2 are the library's\n", shown)
            self.assertIn("  function up is not the library's\n  algorithm mine is not the library's\n", shown)
            listed = {p["name"]: p for p in json.loads(self.good("inspect", "--json", file))["programs"]}
            self.assertEqual({n: p["library"] for n, p in listed.items()},
                             {"up": None, "mine": None, "bitpack": "bitpack", "strings": "strings"})
            self.assertEqual([listed["up"]["kind"], listed["mine"]["kind"]], ["function", "algorithm"])
            self.assertIn(listed["mine"]["identity"], self.good("inspect", "-v", file))

    def test_a_changed_copy_of_the_library_is_refused(self):
        std = (SOURCE / "dsl/std/zigzag.zf").read_text()
        self.assertIn("zigzag", std)
        table = "table t { a: i32 = zigzag(bitpack); b: string = strings; }\n"
        same = self.encode("same", std + table)
        self.assertIn("all good", self.good("verify", same, "--programs", "known"))
        renamed = self.encode("renamed", std.replace("zigzag", "zag") + table.replace("zigzag", "zag"))
        self.assertIn("all good", self.good("verify", renamed, "--programs", "known"))
        self.assertIn("algorithm zag is the library's zigzag", self.good("inspect", "-v", renamed))
        body = std[std.index("algorithm zigzag"):]
        changed = self.encode("changed", std.replace(body, body.replace("decode(i) = ", "decode(i) = 0 + ", 1)) + table)
        self.bad(1, "verify", changed, "--programs", "known", says="`zigzag` is not the library's")

    def test_files_of_earlier_builds_are_admitted(self):
        files = sorted((SOURCE / "tests/golden/containers").glob("*.zfd"))
        self.assertGreaterEqual(len(files), 2)
        foreign = {"v2_chunks.zfd": "lz4"}  # files with a program that was never the library's
        for file in files:
            if file.name in foreign:
                says = f"the algorithm `{foreign[file.name]}` is not the library's"
                self.bad(1, "inspect", file, "--programs", "known", says=says)
                continue
            shown = self.good("inspect", file, "--programs", "known", "-v")
            self.assertNotIn("not the library's", shown)

    def test_options(self):
        file = self.encode("opt", "table t { a: u32 = plain; b: string = strings; }\n")
        self.bad(2, "verify", file, "--programs", "some", says="all|known")
        self.good("compile", "-q", file, "-o", self.dir / "m.zfm")
        self.bad(2, "verify", file, "--programs", "known", "--module", self.dir / "m.zfm", says="goes without --programs")
        self.bad(2, "compile", self.dir / "opt.zf", "-o", self.dir / "n.zfm", "--programs", "known", says="files that are encoded")
        self.bad(2, "explain", self.dir / "opt.zf", "--programs", "known", says="files that are encoded")
        self.bad(2, "tune", self.dir / "opt.zf", "--programs", "known", "--device", "emu", says="files that are encoded")
        self.bad(2, "bench", "--generate", "bitpack", "--programs", "known", says="files that are encoded")
        self.good("compile", "-q", file, "-o", self.dir / "n.zfm", "--programs", "known")
        self.bad(2, "inspect", file, "--programs", "known", "--program", says="goes without --programs")


class Table(Case):
    """The table of the library's programs, as the build makes it."""

    def known(self, status, *words):
        run = subprocess.run([KNOWN, *map(str, words)], capture_output=True, text=True)
        self.assertEqual(run.returncode, status, run.stderr)
        return run.stdout if status == 0 else run.stderr

    def test_earlier_releases(self):
        earlier, out, std = self.dir / "earlier.txt", self.dir / "rows.inc", SOURCE / "dsl/std"
        earlier.write_text("# none\n\n")
        lines = self.known(0, "--release", std, earlier).splitlines()
        self.assertGreater(len(lines), 40)
        self.assertEqual(sorted({line[:64] for line in lines}), [line[:64] for line in lines])
        old = "ab" * 32 + " former"
        earlier.write_text("".join(line + "\n" for line in lines[1:]) + old + " of 0.1\n")
        self.assertEqual(self.known(0, "--release", std, earlier).splitlines(), lines[:1])
        self.known(0, std, earlier, out)
        rows = out.read_text().splitlines()
        self.assertEqual(len(rows), len(lines) + 1)
        self.assertEqual(rows, sorted(rows))
        self.assertEqual([row for row in rows if row.endswith("true},")], ["{{" + "0xab," * 32 + '}, "former", true},'])

    def test_lines_that_are_wrong(self):
        earlier, std = self.dir / "earlier.txt", SOURCE / "dsl/std"
        for line in ("ab", "ab" * 32, "ab" * 32 + " ", "AB" * 32 + " name", "ab" * 31 + "a name", "ab" * 32 + ' a"b'):
            earlier.write_text("# good\n" + line + "\n")
            self.assertIn(":2: not an identity", self.known(1, std, earlier, self.dir / "rows.inc"), line)
        self.known(1, self.dir, earlier, self.dir / "rows.inc")
        self.assertFalse((self.dir / "rows.inc").exists())


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
