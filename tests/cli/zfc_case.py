"""The base of tests of zfc: a directory of its own, and runs that end well or badly. The first word of a test's command line
is zfc's path."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
import zlib

ZFC = sys.argv[1]
os.environ["MALLOC_PERTURB_"] = "90"  # memory begins as bytes of 0xa5: what a decode leaves out shows
for number in (signal.SIGINT, signal.SIGHUP):  # who runs the tests may ignore them, as a shell has it for what it runs in the background
    signal.signal(number, signal.SIG_DFL)


def cache_of_module():
    """For setUpModule: a cache of the module's own, which goes with it."""
    cache = pathlib.Path(tempfile.mkdtemp(prefix="zfc-test-cache-"))
    unittest.addModuleCleanup(shutil.rmtree, cache)
    os.environ["ZIPFLOW_CACHE_DIR"] = str(cache)
    return cache


def sample():
    """ZF_TEST_SAMPLE: "3:7" is one in three, at turn 7."""
    return tuple(map(int, os.environ.get("ZF_TEST_SAMPLE", "1:0").split(":")))


def sampled(items):
    """Those of this turn (ZF_TEST_SAMPLE)."""
    every, turn = sample()
    return items[turn % every::every]


def byte_texts(chosen):
    """Bytes for compressors: one, all alike, noise, words, uneven symbols, repetitions at a distance and runs."""
    words = [chosen.randbytes(chosen.randrange(1, 9)) for _ in range(40)]
    yield b"x"
    yield bytes(3000)
    yield chosen.randbytes(900)
    yield b"".join(chosen.choice(words) for _ in range(800))
    yield bytes(min(chosen.getrandbits(8), chosen.getrandbits(8), chosen.getrandbits(8)) for _ in range(4000))
    yield bytes(k % 251 for k in range(3000)) + b"".join(bytes([k]) * 300 for k in range(10))


def is_of_turn(method):
    """Whether this test method runs. ZF_TEST_METHODS: "3:7" takes one in three, at turn 7; without it all run."""
    every, turn = map(int, os.environ.get("ZF_TEST_METHODS", "1:0").split(":"))
    return (zlib.crc32(method.encode()) + turn) % every == 0


def next_in_sample(number):
    """How far the next number of the sample lies behind `number`, which begins at 0."""
    every, turn = sample()
    return every if number > 0 else 1 + turn % every


class Case(unittest.TestCase):
    SECONDS = 300  # that a run may take, unless it says otherwise

    def setUp(self):
        if not is_of_turn(self._testMethodName):
            self.skipTest("it runs at another turn (ZF_TEST_METHODS)")
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="zfc-test-"))
        self.addCleanup(shutil.rmtree, self.dir)

    def file(self, name, content):
        path = self.dir / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def zfc(self, *words, **options):
        return subprocess.run([ZFC, *map(str, words)], capture_output=True, text=True, **{"timeout": self.SECONDS, **options})

    def good(self, *words, **options):
        result = self.zfc(*words, **options)
        self.assertEqual(result.returncode, 0, result.stderr + result.stdout)
        return result.stdout

    def bad(self, status, *words, says=(), lacks=(), **options):
        """The run fails with this status, says all of `says` on standard error and nothing of `lacks` anywhere."""
        result = self.zfc(*words, **options)
        self.assertEqual(result.returncode, status, f"{words}: {result.stdout}{result.stderr}")
        for text in [says] if isinstance(says, str) else says:
            self.assertIn(text, result.stderr)
        for text in [lacks] if isinstance(lacks, str) else lacks:
            self.assertNotIn(text, result.stdout + result.stderr)
        return result
