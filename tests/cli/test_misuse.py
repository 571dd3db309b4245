"""What a user gets wrong, and what zfc says then. Usage: test_misuse.py ZFC [unittest arguments]"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ZFC = sys.argv[1]
PROGRAM = "table t { a: i32 = bitpack; b: i32 = delta(bitpack); }\n"


def run(*words, **options):
    return subprocess.run([ZFC, *map(str, words)], capture_output=True, text=True, **{"timeout": 60, **options})


class Case(unittest.TestCase):
    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="zfc-misuse-"))
        self.addCleanup(shutil.rmtree, self.dir)

    def file(self, name, content):
        path = self.dir / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def good(self, *words, **options):
        result = run(*words, **options)
        self.assertEqual(result.returncode, 0, result.stderr + result.stdout)
        return result.stdout

    def bad(self, status, *words, says=(), lacks=(), **options):
        """The run fails with this status, says all of `says` on standard error and nothing of `lacks` anywhere."""
        result = run(*words, **options)
        self.assertEqual(result.returncode, status, f"{words}: {result.stdout}{result.stderr}")
        for text in [says] if isinstance(says, str) else says:
            self.assertIn(text, result.stderr)
        for text in [lacks] if isinstance(lacks, str) else lacks:
            self.assertNotIn(text, result.stdout + result.stderr)
        return result

    def container(self, rows=100, name="t.zfd", program=PROGRAM):
        source = self.file("t.csv", "a,b\n" + "".join(f"{i % 7},{i}\n" for i in range(rows)))
        self.good("encode", "-q", "-f", "-c", self.file("t.zf", program), "-o", self.dir / name, source)
        return self.dir / name


class Columns(Case):
    def test_a_bad_name_behind_good_ones_ends_the_command(self):
        container = self.container()
        for names, says in [("a,nope", "ZF1105"), ("a,a", "ZF2014"), ("a,", "empty name"), ("a,,b", "empty name"), (",", "empty name"), ("", "empty name"),
                            ("a,b," + "x" * 300, "300 bytes")]:
            for verb in (["verify"], ["bench", "--bytes", "1"], ["inspect"], ["decode", "-o", self.dir / "out"]):
                result = self.bad(2, *verb, container, "--columns", names, says=says, lacks="good")
                self.assertEqual(result.stderr.count("error["), 1)
        self.assertFalse((self.dir / "out").exists())


class Pipes(Case):
    def test_nothing_waits_for_a_writer(self):
        pipe = self.dir / "pipe"
        os.mkfifo(pipe)
        for words in (["inspect", pipe], ["inspect", "--program", pipe], ["compile", pipe, "-o", self.dir / "x.zfm"], ["verify", pipe],
                      ["bench", pipe], ["explain", pipe], ["check", pipe], ["verify", "--module", pipe, pipe]):
            self.bad(1, *words, says="error", timeout=20)

    def test_a_pipe_in_the_cache_is_no_entry(self):
        container = self.container()
        cache = {**os.environ, "ZIPFLOW_CACHE_DIR": str(self.dir / "cache")}
        self.good("verify", container, env=cache)
        entries = list((self.dir / "cache" / "kernels").glob("*.zfo"))
        self.assertTrue(entries)
        for entry in entries:
            entry.unlink()
            os.mkfifo(entry)
        self.good("verify", container, env=cache, timeout=30)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
