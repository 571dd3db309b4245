"""Memory ends while code is made: an error with its code, and no signal. Usage: test_memory.py ZFC SHORT_LLVM SHORT_MEMORY [unittest arguments]"""

import os
import resource
import shutil
import sys
import unittest

sys.dont_write_bytecode = True
import zfc_case  # noqa: E402

SHORT_LLVM, SHORT_MEMORY = sys.argv[2:4]  # the libraries to preload, tests/support/short_llvm.c and short_memory.c
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


class EveryAllocation(zfc_case.Case):
    SECONDS = 60

    def test_every_allocation_of_zfc(self):
        """One of zfc's own allocations fails, or all from one on; code comes from the cache. An error or a right result, no signal, nothing left."""
        inputs, outputs, count = self.dir / "in", self.dir / "out", self.dir / "count"
        environment = os.environ | {"ZIPFLOW_CACHE_DIR": str(self.dir / "cache")}
        inputs.mkdir()
        program, table = self.file("in/t.zf", PROGRAM), self.file("in/t.csv", "a,b\n" + "".join(f"{k * 7},{k // 50}\n" for k in range(20000)))
        container, module = inputs / "t.zfd", inputs / "t.zfm"
        encode = ["encode", "-q", "-f", "--threads", "1", "-c", program, "--rows-per-block", "8192", "-o"]
        self.good(*encode, container, table, env=environment)
        self.good("compile", "-q", "--target", "host", "-o", module, program, env=environment)
        decode = ["decode", "-q", "-f", "-o", outputs / "d", container]
        every, turn = zfc_case.sample()
        every *= 1 if every == 1 else 20
        for words in ([*encode, outputs / "x.zfd", table], decode, [*decode, "--device", "emu"], [*decode, "--module", module], [*decode, "--format", "csv"],
                      ["verify", container], ["inspect", "--json", container], ["inspect", module], ["pipeline", container], ["check", program],
                      ["compile", "-q", "-f", "--target", "host", "-o", outputs / "x.zfm", program]):
            outputs.mkdir(exist_ok=True)
            self.good(*words, env=environment) # its code is in the cache from here on
            files = lambda: {path: path.read_bytes() for path in outputs.rglob("*") if path.is_file()}
            made = files()
            self.good(*words, env=environment | {"LD_PRELOAD": SHORT_MEMORY, "ZF_SHORT_COUNT": str(count)})
            allocations = int(count.read_text())
            numbers = [*range(min(allocations, 300)), *(number for number in (int(300 * 1.1**k) for k in range(80)) if number < allocations)]
            for number in numbers[turn % every::every]:
                for on in ({}, {"ZF_SHORT_ON": "1"}):
                    shutil.rmtree(outputs)
                    outputs.mkdir()
                    result = self.zfc(*words, env=environment | on | {"LD_PRELOAD": SHORT_MEMORY, "ZF_SHORT_AT": str(number)})
                    said = f"{words}, {'all from' if on else 'only'} allocation {number} of {allocations}: {result.returncode} {result.stdout}{result.stderr}"
                    self.assertIn(result.returncode, (0, 1), said)
                    if result.returncode == 0:
                        self.assertEqual(files(), made, said)
                    else:
                        self.assertIn("error[ZF", result.stderr, said)
                        self.assertEqual(files(), {}, said)
            shutil.rmtree(outputs)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
