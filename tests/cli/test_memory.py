"""Memory ends while code is made: an error with its code, and no signal. Usage: test_memory.py ZFC [unittest arguments]"""

import resource
import sys
import unittest

sys.dont_write_bytecode = True
import zfc_case  # noqa: E402

PROGRAM = "table t { a: i64 = delta(zigzag(bitpack)); b: i32 = rle(bitpack, bitpack); }\n"
MIB = 1 << 20


def limit(size):
    resource.setrlimit(resource.RLIMIT_AS, (size, size))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Memory(zfc_case.Case):
    SECONDS = 60

    def under(self, size, *words):
        return self.zfc(*words, preexec_fn=lambda: limit(size))

    def least(self):
        """The least limit under which zfc comes as far as main: what LLVM takes before is not ours to catch."""
        low, high = 1 * MIB, 2048 * MIB
        while high - low > MIB // 2:
            middle = (low + high) // 2
            low, high = (low, middle) if self.under(middle, "--version").returncode == 0 else (middle, high)
        return high + MIB

    def test_every_limit_ends_in_words(self):
        rows = "a,b\n" + "".join(f"{k * 7},{k // 50}\n" for k in range(20000))
        program, table, container = self.file("t.zf", PROGRAM), self.file("t.csv", rows), self.dir / "t.zfd"
        self.good("encode", "-q", "-c", program, "-o", container, table)
        least = self.least()
        once = ["--threads", "1", "--no-cache"]
        runs = [(["verify", *once, container], range(0, 45, 4)),
                (["decode", "-q", "-f", *once, "-o", self.dir / "out", container], range(1, 45, 6)),
                (["pipeline", *once, container], range(2, 45, 12)), (["bench", *once, "--bytes", "1", container], range(3, 45, 12)),
                (["compile", "-f", "--threads", "1", "-o", self.dir / "t.zfm", container], range(4, 45, 12)),
                (["encode", "-q", "-f", *once, "-c", program, "-o", self.dir / "u.zfd", table], range(5, 45, 12))]
        inside = 0
        for words, sizes in runs:
            for more in sizes:
                result = self.under(least + more * MIB, *words)
                said = f"{words[0]} under {least / MIB:.1f} + {more} MiB: {result.returncode} {result.stderr}"
                self.assertIn(result.returncode, [0, 1, 2], said)
                if result.returncode:
                    self.assertIn("error[ZF", result.stderr, said)
                inside += "no memory for LLVM" in result.stderr
        self.assertGreater(inside, 0, "memory never ended inside LLVM")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
