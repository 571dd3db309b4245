"""Memory ends while code is made: an error with its code, and no signal. Usage: test_memory.py ZFC SHORT_MEMORY [unittest arguments]"""

import os
import resource
import shutil
import sys
import unittest

sys.dont_write_bytecode = True
import zfc_case  # noqa: E402

SHORT_MEMORY = sys.argv[2]  # the library to preload, tests/support/short_memory.c
PROGRAM = "table t { a: i64 = delta(zigzag(bitpack)); b: i32 = rle(bitpack, bitpack); }\n"
OF_ALL_KINDS = """codec names: string = dictionary(codes: bitpack | rle(bitpack, bitpack), entries: strings(bytes: fsst));
table q {
    a: decimal(15, 2) = delta(zigzag(bitpack)) | pfor;
    s: string = names;
    f: f64? = nullable(values: alp);
}
"""  # with a warning that `fsst` is not parallel
WRAPPED = """algorithm as_is(src: u8[] per chunk) -> u8[] non_parallel(chunk = 1024) {
    decode { let n = src.len; emit k in 0..n: src[k]; src.skip(n); }
    encode extern "nobody";
}
table t {
    c: u8 = as_is;
    d: u8 = zstd_split(steps: zstd_steps(rows: zstd_tables), literals: zstd_literals(code: zstd_codes));
}
"""
FRAME = b"\x28\xb5\x2f\xfd\x64\x00\x03\x01\x20\x00" + bytes(range(256)) * 4 + b"\x57\xdf\xe4\x8f"  # one block as it is, a checksum
MIB = 1 << 20


def limit(size):
    resource.setrlimit(resource.RLIMIT_AS, (size, size))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Memory(zfc_case.Case):
    SECONDS = 60

    def under(self, size, *words, one_arena=True):
        # One arena: a thread that has no room for its own maps a page for each allocation, and a run takes seconds.
        environment = {name: value for name, value in os.environ.items() if name != "MALLOC_ARENA_MAX"}
        return self.zfc(*words, env=environment | {"MALLOC_ARENA_MAX": "1"} if one_arena else environment, preexec_fn=lambda: limit(size))

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
        runs = [(["verify", *once, container], range(0, 30, 2)),
                (["decode", "-q", "-f", *once, "-o", self.dir / "out", container], range(1, 30, 3)),
                (["pipeline", *once, container], range(2, 30, 4)), (["bench", *once, "--bytes", "1", container], range(3, 30, 4)),
                (["compile", "-f", "--threads", "1", "-o", self.dir / "t.zfm", container], range(4, 30, 4)),
                (["encode", "-q", "-f", *once, "-c", self.program, "-o", self.dir / "u.zfd", self.table], range(5, 42, 4))]
        for words, sizes in runs:
            for more in sizes:
                self.ends_in_words(self.under(least + more * MIB, *words), f"{words[0]} under {least / MIB:.1f} + {more} MiB")

    def test_limits_with_arenas(self):
        """As users run it: each thread has an arena of its own, where there is room for one."""
        self.inputs()
        once, least = ["--threads", "1", "--no-cache"], self.least()
        runs = [["verify", *once, self.container], ["encode", "-q", "-f", *once, "-c", self.program, "-o", self.dir / "u.zfd", self.table]]
        ended = set()
        for words in runs:
            for more in (8, 16, 24, 32, 48, 512):
                result = self.under(least + more * MIB, *words, one_arena=False)
                ended.add(result.returncode)
                self.ends_in_words(result, f"{words[0]} under {least / MIB:.1f} + {more} MiB, with arenas")
        self.assertGreaterEqual(len(ended), 2, "memory never ended, or always")

    def test_every_allocation_of_llvm(self):
        """Where memory ends inside LLVM does not depend on the machine: allocations are counted, and all from one on fail."""
        self.inputs()
        count = self.dir / "count"

        def short(number, *words):
            # Without a cache: code that is found there asks LLVM for little.
            return self.zfc(*words, env={**os.environ, "LD_PRELOAD": SHORT_MEMORY, "ZF_SHORT_OF": "llvm", "ZF_SHORT_AT": str(number), "ZF_SHORT_ON": "1",
                                         "ZF_SHORT_COUNT": str(count), "ZIPFLOW_CACHE_DIR": ""})

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

    def test_every_static_of_llvm(self):
        """Memory ends while LLVM builds what is built once in a process: whoever comes to it next must not wait for ever."""
        self.inputs()
        count, lost = self.dir / "count", 0
        words = ["verify", "--threads", "1", self.container]  # two columns: the second comes after the lack
        short = {**os.environ, "LD_PRELOAD": SHORT_MEMORY, "ZF_SHORT_OF": "statics", "ZF_SHORT_COUNT": str(count)}
        self.good(*words, env=short | {"ZIPFLOW_CACHE_DIR": str(self.dir / "cache")})
        statics = int(count.read_text())
        self.assertGreaterEqual(statics, 3)
        for number in range(statics):
            cache = {"ZIPFLOW_CACHE_DIR": str(self.dir / f"cache{number}")}  # empty: code that is found there asks LLVM for little
            result = self.zfc(*words, env=short | cache | {"ZF_SHORT_AT": str(number)}, timeout=30)
            said = f"static {number} of {statics}: {result.returncode} {result.stderr}"
            self.assertEqual(result.returncode, 1, said)
            self.assertIn("no memory for LLVM", result.stderr, said)
            lost += "makes no more code" in result.stderr
        self.assertGreater(lost, 0, "LLVM came to no static a second time")

    def test_stack_of_llvm(self):
        """Where memory ends, LLVM has objects on its stack in lists of the process: the stack stays. Nobody may touch those of threads that ended."""
        self.inputs()
        count = self.dir / "count"
        short = {**os.environ, "LD_PRELOAD": SHORT_MEMORY, "ZF_SHORT_OF": "llvm", "ZF_SHORT_STACKS": "1", "ZF_SHORT_COUNT": str(count), "ZIPFLOW_CACHE_DIR": ""}
        for words in (["verify", self.container], ["encode", "-q", "-f", "-c", self.program, "-o", self.dir / "u.zfd", self.table]):
            self.good(*words, "--threads", "1", "--no-cache", env=short)
            allocations = int(count.read_text())
            for number in range(allocations // 28, allocations, allocations // 14):
                # While both run passes. Where one begins to emit code and memory ends in it, the other may wait for ever for its lock.
                for threads in ("1", "2") if number < allocations // 8 else ("1",):
                    result = self.zfc(*words, "--threads", threads, "--no-cache", env=short | {"ZF_SHORT_AT": str(number)})
                    self.ends_in_words(result, f"{words[0]}, allocation {number} of {allocations}, {threads} threads")


class EveryAllocation(zfc_case.Case):
    """One of zfc's own allocations fails, or all from one on; code comes from the cache. An error or a right result, no signal, nothing left."""
    SECONDS = 60

    def setUp(self):
        super().setUp()
        inputs, self.outputs, self.count = self.dir / "in", self.dir / "out", self.dir / "count"
        self.environment = os.environ | {"ZIPFLOW_CACHE_DIR": str(self.dir / "cache")}
        inputs.mkdir()
        self.program, self.kinds = self.file("in/t.zf", PROGRAM), self.file("in/q.zf", OF_ALL_KINDS)
        self.table = self.file("in/t.csv", "a,b\n" + "".join(f"{k * 7},{k // 50}\n" for k in range(20000)))
        self.container, self.module = inputs / "t.zfd", inputs / "t.zfm"
        self.encoding = ["encode", "-q", "-f", "--threads", "1", "-c", self.program, "--rows-per-block", "8192", "-o"]
        self.good(*self.encoding, self.container, self.table, env=self.environment)
        self.good("compile", "-q", "--target", "host", "-o", self.module, self.program, env=self.environment)

    def files(self):
        return {path: path.read_bytes() for path in self.outputs.rglob("*") if path.is_file()}

    def run_short(self, words, sampled, ways=({}, {"ZF_SHORT_ON": "1"})):
        """`sampled` takes some of the numbers of the run's allocations, of which each is tried in all `ways`."""
        self.outputs.mkdir()
        self.good(*words, env=self.environment)  # its code is in the cache from here on
        before, made = self.good(*words, env=self.environment), self.files()
        shown = self.good(*words, env=self.environment | {"LD_PRELOAD": SHORT_MEMORY, "ZF_SHORT_COUNT": str(self.count)})
        timed = shown != before  # times are printed
        allocations = int(self.count.read_text())
        numbers = [*range(min(allocations, 300)), *(number for number in (int(300 * 1.1**k) for k in range(80)) if number < allocations)]
        for number in sampled(numbers):
            for way in ways:
                shutil.rmtree(self.outputs)
                self.outputs.mkdir()
                result = self.zfc(*words, env=self.environment | way | {"LD_PRELOAD": SHORT_MEMORY, "ZF_SHORT_AT": str(number)})
                said = f"{words}, allocation {number} of {allocations}, {way}: {result.returncode} {result.stdout}{result.stderr}"
                self.assertIn(result.returncode, (0, 1, 3) if "--device" in words else (0, 1), said)
                self.assertNotIn("contradicts itself", result.stderr, said)  # files are good
                if result.returncode == 0:
                    self.assertEqual(self.files(), made, said)
                    self.assertTrue(timed or result.stdout == shown, said)
                else:
                    self.assertRegex(result.stdout + result.stderr, r'error\[ZF|"severity":"error","code":"ZF', said)
                    self.assertEqual(self.files(), {}, said)
        shutil.rmtree(self.outputs)

    def test_every_allocation_of_zfc(self):
        container, outputs = self.container, self.outputs
        decode = ["decode", "-q", "-f", "-o", outputs / "d", container]
        compiling = ["compile", "-q", "-f", "--target", "host", "-o", outputs / "x.zfm"]
        every, turn = zfc_case.sample()
        every *= 1 if every == 1 else 20
        for words in ([*self.encoding, outputs / "x.zfd", self.table],
                      decode, [*decode, "--device", "emu"], [*decode, "--module", self.module], [*decode, "--format", "csv"],
                      ["verify", container], ["pipeline", container], ["bench", "--bytes", "1", container],
                      [*compiling, self.program], [*compiling, "--compile-budget", "60", self.program], [*compiling, container],
                      ["check", self.program], ["check", self.kinds], ["check", "--format", "json", self.kinds],
                      ["explain", self.kinds], ["explain", "--json", self.kinds], ["explain", "--choices", "--json", self.kinds],
                      ["explain", container], ["explain", "bitpack"], ["explain", "--emit", "llvm", self.program],
                      *(["explain", "--emit", stage, self.kinds] for stage in ("ast", "spec", "plan"))):
            self.run_short(words, lambda numbers: numbers[turn % every::every])

    def test_wrap(self):
        chunks = self.file("in/c", bytes(range(256)) * 8)
        self.file("in/c.sizes", "1024 1024\n" * 2)
        frames = self.file("in/d.zst", FRAME * 2)
        codec = self.file("in/w.zf", WRAPPED)
        words = ["wrap", "-q", "-f", "--threads", "1", "--rows-per-block", "1024", "--zones", "-c", codec,
                 "-o", self.outputs / "w.zfd", "--sizes", f"c={chunks}.sizes", f"c={chunks}", f"d={frames}"]
        every, turn = zfc_case.sample()
        self.run_short(words, lambda numbers: numbers[turn % every::every])

    def test_plans(self):
        """The last allocations of these verbs are of graphs, plans and what is printed of them."""
        for words in (["check", self.program], ["check", "--format", "json", self.kinds], ["explain", self.kinds], ["explain", "--json", self.kinds]):
            self.run_short(words, lambda numbers: numbers[-12:])

    def test_stack(self):
        """The address space ends, so the stack of main does not grow: it must be there."""
        with_space = {"ZF_SHORT_ON": "1", "ZF_SHORT_SPACE": "1"}
        for words in ([*self.encoding, self.outputs / "x.zfd", self.table], ["decode", "-q", "-f", "-o", self.outputs / "d", self.container],
                      ["verify", self.container], ["pipeline", self.container], ["check", self.kinds], ["fmt", self.kinds]):
            self.run_short(words, lambda numbers: numbers[:4] + numbers[4::len(numbers) // 8], [with_space])

    def test_short_runs(self):
        every, turn = zfc_case.sample()
        for words in (["fmt", self.kinds], ["devices"], ["devices", "--json"], ["inspect", "--program", self.container],
                      ["inspect", "-v", self.container], ["inspect", "--json", self.container], ["inspect", "-v", self.module]):
            self.run_short(words, lambda numbers: numbers[turn % every::every])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
