"""bench/link on the emulated GPU: every row is there, bytes are compared, and options that make no sense are refused.

    test_link.py ROOT LINK_COPIES
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT, PROGRAM = pathlib.Path(sys.argv[1]), sys.argv[2]


def run(*words):
    return subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=300)


class Link(unittest.TestCase):
    def test_report(self):
        with tempfile.TemporaryDirectory() as scratch:
            out = pathlib.Path(scratch) / "copies.json"
            result = run(sys.executable, ROOT / "bench/link/copies.py", "--program", PROGRAM, "--device", "emu", "--bytes", 9000001, "--repeats", 2,
                         "--out", out)
            self.assertEqual(result.returncode, 0, result.stderr)
            report = json.loads(out.read_text())
        self.assertTrue(report["verified"])
        self.assertEqual(report["bytes"], 9000001)
        cases = [(r["unit_bytes"] >> 20, r["streams"], r["ahead"]) for r in report["rows"]]
        self.assertEqual(len(cases), len(set(cases)))
        self.assertEqual([c for c in cases if not c[1]], [(1 << k, 0, 0) for k in range(7)])
        self.assertEqual(sorted(c for c in cases if c[1]), [(u, s, a) for u in (4, 32) for s in (1, 2, 3, 4, 8) for a in (0, 2, 8)])
        for row in report["rows"]:
            self.assertTrue(0 < row["least"] <= row["gb_per_second"] <= row["most"], row)
        self.assertEqual(len(result.stdout.splitlines()), len(cases))

    def test_refused(self):
        for words in (["--bytes", 0], ["--bytes", 1 << 40], ["--repeats", 0], ["--repeats", 1000], ["--what", 1], ["--bytes"]):
            self.assertEqual(run(PROGRAM, *words).returncode, 2, words)
        self.assertIn("no link", run(PROGRAM, "--device", "cpu").stderr)
        self.assertIn("ZF", run(PROGRAM, "--device", "nowhere").stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
