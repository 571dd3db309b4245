"""Memory ends while code is made: an error with its code, and no signal. Usage: test_memory.py ZFC SHORT_LLVM [unittest arguments]"""

import os
import resource
import sys
import unittest

sys.dont_write_bytecode = True
import zfc_case  # noqa: E402

SHORT_LLVM = sys.argv[2]  # the library to preload, tests/support/short_llvm.c
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

    def inputs(self):
        rows = "a,b\n" + "".join(f"{k * 7},{k // 50}\n" for k in range(20000))
        self.program, self.table, self.container = self.file("t.zf", PROGRAM), self.file("t.csv", rows), self.dir / "t.zfd"
        self.good("encode", "-q", "-c", self.program, "-o", self.container, self.table)

    def ends_in_words(self, result, said):
        said = f"{said}: {result.returncode} {result.stderr}"
        self.assertIn(result.returncode, [0, 1, 2], said)
        if result.returncode:
            self.assertIn("error[ZF", result.stderr, said)

    def test_every_limit_ends_in_words(self):
        self.inputs()
        least = self.least()
        once = ["--threads", "1", "--no-cache"]
        container = self.container
        runs = [(["verify", *once, container], range(0, 45, 4)),
                (["decode", "-q", "-f", *once, "-o", self.dir / "out", container], range(1, 45, 6)),
                (["pipeline", *once, container], range(2, 45, 12)), (["bench", *once, "--bytes", "1", container], range(3, 45, 12)),
                (["compile", "-f", "--threads", "1", "-o", self.dir / "t.zfm", container], range(4, 45, 12)),
                (["encode", "-q", "-f", *once, "-c", self.program, "-o", self.dir / "u.zfd", self.table], range(5, 45, 12))]
        for words, sizes in runs:
            for more in sizes:
                self.ends_in_words(self.under(least + more * MIB, *words), f"{words[0]} under {least / MIB:.1f} + {more} MiB")

    def test_every_allocation_of_llvm(self):
        """Where memory ends inside LLVM does not depend on the machine: the allocation that fails is counted."""
        self.inputs()
        count = self.dir / "count"

        def short(number, *words):
            # Without a cache: code that is found there asks LLVM for little.
            return self.zfc(*words, env={**os.environ, "LD_PRELOAD": SHORT_LLVM, "ZF_SHORT_FROM": str(number), "ZF_SHORT_COUNT": str(count),
                                         "ZIPFLOW_CACHE_DIR": ""})

        once = ["--threads", "1", "--no-cache"]
        for words in (["verify", *once, self.container], ["compile", "-f", "--threads", "1", "-o", self.dir / "t.zfm", self.container]):
            never = short(1 << 62, *words)
            self.assertEqual(never.returncode, 0, never.stderr)
            self.assertTrue(count.exists(), "this zfc loads no LLVM as a library")
            allocations = int(count.read_text())
            self.assertGreater(allocations, 1000)
            numbers = sorted({*range(0, 3), *(allocations * k // 24 for k in range(24)), allocations * 9 // 10})
            for number in numbers:
                result = short(number, *words)
                said = f"{words[0]}, allocation {number} of {allocations}"
                self.ends_in_words(result, said)
                self.assertEqual(result.returncode, 1, said)
                self.assertIn("no memory for LLVM", result.stderr, said)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
