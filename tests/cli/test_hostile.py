"""Containers made to harm whoever looks at them. Usage: test_hostile.py ZFC PATCH_CONTAINER [unittest arguments]"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ZFC, PATCH = sys.argv[1:3]


def run(*words, text=True):
    return subprocess.run([ZFC, *map(str, words)], capture_output=True, text=text, timeout=300)


def name(text):
    """A text as the index holds it, so that only a whole name matches."""
    data = text if isinstance(text, bytes) else text.encode()
    return len(data).to_bytes(4, "little") + data


class Hostile(unittest.TestCase):
    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="zfc-hostile-"))
        self.addCleanup(shutil.rmtree, self.dir)
        self.out = self.dir / "in" / "out"
        self.out.parent.mkdir()

    def container(self, program="table ttttttttt { ccccccccc: i32 = bitpack; }", rows="1\n2\n3\n"):
        source, container = self.dir / "t.zf", self.dir / "t.zfd"
        source.write_text(program)
        (self.dir / "t.csv").write_text("ccccccccc\n" + rows)
        result = run("encode", "-q", "-f", "-c", source, "-o", container, self.dir / "t.csv")
        self.assertEqual(result.returncode, 0, result.stderr)
        return container

    def patched(self, old, new):
        self.assertEqual(len(old), len(new))
        container = self.container()
        subprocess.run([PATCH, container, old.hex(), new.hex()], check=True)
        return container

    def refused(self, container, code):
        for words in [("decode", "-q", "-o", self.out), ("decode", "-q", "--format", "csv", "-o", self.out),
                      ("inspect", "-v"), ("inspect", "--json")]:
            result = run(*words, container, text=False)
            self.assertEqual(result.returncode, 1, (words, result.stdout))
            self.assertIn(code, result.stderr, words)
            for byte in result.stdout + result.stderr:
                self.assertTrue(byte >= 0x20 or byte in b"\n\t", (words, result.stderr))

    def test_names_are_no_paths(self):
        for bad in ["../pwned9", "/tmp/pwn9", "a/bbbbbbb", ".hiddenxx", "9numbers9", "with spac", "a\u00fcbbbbbb"]:
            for good in ["t" * 9, "c" * 9]:
                container = self.patched(name(good), name(bad))
                self.refused(container, b"ZF1207")
                left = {p.name for p in self.dir.rglob("*")} - {"t.zf", "t.csv", "t.zfd", "in", "out"}
                self.assertEqual(left, set(), (bad, good))

    def test_patching_alone_harms_nothing(self):
        """The same tool with an innocent name: what is refused above is refused for the name."""
        result = run("inspect", self.patched(name("c" * 9), name("d" * 9)))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("ddddddddd", result.stdout)

    def test_names_asked_for_are_not_cut(self):
        result = run("inspect", "--columns", "c" * 256, self.container())
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn("256 bytes", result.stderr)

    def test_texts_do_not_drive_the_terminal(self):
        for old, new in [(b"bitpack", b"bit\x1b[2J"), (name("bitpack"), name(b"bit\x1b[2J")),
                         (name("bitpack"), name(b"bit\x7f\x08\x08\x08")), (name("bitpack"), name(b"bit\xc2\x9b2J")),
                         (name("i32"), name("i3\x1b"))]:
            self.refused(self.patched(old, new), b"ZF1207")

    def test_texts_are_utf8(self):
        for new in [b"bit\xffack", b"bit\xc0\x80ck", b"bit\xed\xa0\x80k", b"bitpac\xc3"]:
            self.refused(self.patched(name("bitpack"), name(new)), b"ZF1207")

    def test_reports_that_cannot_be_written_are_errors(self):
        container = self.container()
        with open("/dev/full", "w") as full:
            program = self.dir / "t.zf"
            for words in [("inspect", "--json", container), ("devices", "--json"), ("--version",), ("--help",), ("decode", "--help"),
                          ("help", "verify"), ("explain", program), ("explain", program, "--emit", "ptx")]:
                result = subprocess.run([ZFC, *words], stdout=full, stderr=subprocess.PIPE)
                self.assertEqual(result.returncode, 1, words)

    def test_a_module_is_no_output(self):
        container = self.container()
        module = self.out.parent / "ccccccccc.i32"
        self.assertEqual(run("compile", "-q", "--target", "host", container, "-o", module).returncode, 0)
        before = module.read_bytes()
        result = run("decode", "-f", "-q", "--module", module, container, "-o", module.parent)
        self.assertEqual((result.returncode, module.read_bytes() == before), (2, True), result.stderr)
        self.assertIn("is also an input", result.stderr)

    def test_inspect_shows_params_by_type(self):
        container = self.container("""
            algorithm off(v: i32[], param big: u64, param half: f64, param low: i64, param on: bool) -> i32[] fully_parallel {
                decode(i) = v[i];
                encode(x) {
                    big = 18446744073709551615; half = 0.5; low = -3; on = true;
                    for i in 0..x.len { v.push(x[i]); }
                }
            }
            table ttttttttt { ccccccccc: i32 = off(plain); }
        """)
        result = run("inspect", "-v", container)
        for text in ["big = 18446744073709551615\n", "half = 0.5\n", "low = -3\n", "on = true\n"]:
            self.assertIn(text, result.stdout)
        params = json.loads(run("inspect", "--json", container).stdout)["columns"][0]["blocks"][0]["params"]
        self.assertEqual(params, {"big": "18446744073709551615", "half": 0.5, "low": -3, "on": True})


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
