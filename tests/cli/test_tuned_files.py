"""Files of tuned kernels as users have them: of another version of zipflow, with nothing in them. Usage: test_tuned_files.py ZFC
[unittest arguments]"""

import json
import sys
import unittest

sys.dont_write_bytecode = True
import zfc_case  # noqa: E402

HEAD = "zipflow tuned kernels, format 1\n"
BEST = "kernels are lowered as was found best"


def setUpModule():
    """A cache of the module's own."""
    global CACHE
    CACHE = zfc_case.cache_of_module()


class TunedFiles(zfc_case.Case):
    def setUp(self):
        super().setUp()
        program = self.file("t.zf", "table t {\n    a: i32 = bitpack;\n    b: i32 = delta(bitpack);\n}\n")
        text = self.file("t.csv", "a,b\n" + "".join(f"{k * 7919 % 5000},{k}\n" for k in range(9000)))
        self.container, found = self.dir / "t.zfd", self.dir / "found.txt"
        self.good("encode", "-c", program, "-o", self.container, text)
        self.good("tune", self.container, "--device", "emu", "--probes", 1, "-o", found)
        lines = found.read_text().splitlines()
        self.device = next(line for line in lines if line.startswith("device "))
        self.kernels = [line for line in lines if line.startswith("kernel ")]
        self.assertEqual([line.split()[1] for line in self.kernels], ["map", "scan"])

    def table(self, name, *choices):
        """A file of these choices for the kernels of both columns."""
        return self.file(name, HEAD + self.device + "\n" + "".join(f"{kernel}\n  choice {choice}\n" for kernel, choice in zip(self.kernels, choices)))

    def told(self, *words):
        """The report of a decode about columns with tuned kernels, and its whole output."""
        result = self.zfc("decode", "-f", "--device", "emu", "-v", *words, "-o", self.dir / "out", self.container)
        self.assertEqual(result.returncode, 0, result.stderr)
        return [line.split("column ")[1].split(":")[0] for line in result.stderr.splitlines() if BEST in line], result.stderr

    def test_another_version(self):
        """A choice that this version does not have costs its kernel's speed and nothing else; what has no form is an error."""
        columns, said = self.told("--tuned", self.table("tuned.txt", "THREADS=32,CLUSTER=2", "THREADS=64"))
        self.assertEqual(columns, ["b"])
        self.assertIn("choices of 1 kernel are none of this version's, as THREADS=32,CLUSTER=2 of `map i32: bitpack", said)
        columns, said = self.told("--tuned", self.table("tuned.txt", "THREADS=32", "THREADS=64"))
        self.assertEqual(columns, ["a", "b"])
        self.assertNotIn("none of this version's", said)
        columns, said = self.told("--tuned", self.table("tuned.txt", "THREADS=32", "THREADS=64,AHEAD=1"))  # as PREFETCH was named
        self.assertEqual(columns, ["a"])
        self.assertIn("choices of 1 kernel are none of this version's, as THREADS=64,AHEAD=1 of `scan", said)
        self.bad(1, "decode", "-f", "--device", "emu", "--tuned", self.table("tuned.txt", "THREADS=32", "CLUSTER"), "-o", self.dir / "out", self.container,
                 says=["ZF1217", "line 6"])

    def test_without_kernels(self):
        """A file that has none is in place of what is kept all the same."""
        kept = CACHE / "tuned" / json.loads(self.good("tune", "--show", "--json", "--device", "emu"))["file"]
        kept.parent.mkdir(mode=0o700, exist_ok=True)
        kept.write_bytes(self.table("tuned.txt", "THREADS=32", "THREADS=64").read_bytes())
        self.addCleanup(kept.unlink)
        self.assertEqual(self.told()[0], ["a", "b"])
        self.assertEqual(self.told("--untuned")[0], [])
        self.assertEqual(self.told("--tuned", self.file("none.txt", HEAD))[0], [])
        self.assertEqual(self.told("--tuned", self.table("one.txt", "THREADS=32"))[0], ["a"])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
