"""Calls of the system go wrong, one after the other, in every verb that reads or writes files: an error that names the file and the reason, an old
output that is intact or a new one that is whole, and no temporary file. Then zfc is killed at them. Usage: test_faults.py ZFC FAULTY [unittest arguments]"""

import errno
import os
import re
import shutil
import signal
import sys
import threading
import unittest

sys.dont_write_bytecode = True
import zfc_case  # noqa: E402

FAULTY = sys.argv[2]  # the library to preload, tests/support/faulty_calls.c
READS = ("read", "pread", "pread64", "preadv2", "fread")
WRITES = ("write", "pwrite", "pwrite64")
NAMES = ("create", "rename", "link", "mkdir", "fchmod")
PROGRAM = "table t { a: i32 = bitpack; b: i32 = rle(bitpack, bitpack); }\n"
TEMPORARY = re.compile(r"\.[^/]*\.[0-9a-f]{16}\.part$")


def setUpModule():
    zfc_case.cache_of_module()


def faults(calls, under, counted, at=None, how=None):
    """The environment in which calls on files below `under` are counted, in `counted`, and number `at` goes wrong; None: no call."""
    environment = {"LD_PRELOAD": FAULTY, "FAULT_CALLS": f",{','.join(calls)},", "FAULT_UNDER": str(under), "FAULT_COUNT": str(counted),
                   "ASAN_OPTIONS": "verify_asan_link_order=0:detect_leaks=0"}
    return environment if at is None else environment | {"FAULT_AT": str(at), "FAULT_HOW": str(how)}


def of_calls(count, every, turn):
    """One in `every` of the numbers 1 to `count`, at least one; others at each turn."""
    return range(1 + turn % min(every, count), count + 1, every)


class Faults(zfc_case.Case):
    def setUp(self):
        super().setUp()
        self.made, self.series = {}, 0
        self.inputs, self.outputs, self.counted = self.dir / "in", self.dir / "out", self.dir / "counted"
        self.inputs.mkdir()
        self.outputs.mkdir()
        rows = "a,b\n" + "".join(f"{k * 7},{k // 50}\n" for k in range(20000))
        self.program, self.table = self.file("in/t.zf", PROGRAM), self.file("in/t.csv", rows)
        self.container, self.module = self.inputs / "t.zfd", self.inputs / "t.zfm"
        self.good("encode", "-q", "-c", self.program, "-o", self.container, "--rows-per-block", "8192", self.table)
        self.good("compile", "-q", "--target", "host", "-o", self.module, self.program)
        self.good("decode", "-q", "--format", "npy", "-o", self.inputs / "raw", self.container)
        raw = [f"{name}={self.inputs}/raw/{name}.npy" for name in "ab"]
        encode = ["encode", "-q", "-f", "--threads", "1", "-c", self.program, "-o", self.outputs / "x.zfd", "--rows-per-block", "8192"]
        self.reading = {"encode raw": [*encode, *raw], "encode csv": [*encode, self.table], "verify": ["verify", self.container],
                        "decode": ["decode", "-q", "-f", "-o", self.outputs / "d", self.container],
                        "decode on emu": ["decode", "-q", "-f", "--device", "emu", "-o", self.outputs / "d", self.container],
                        "decode by module": ["decode", "-q", "-f", "--module", self.module, "-o", self.outputs / "d", self.container],
                        "inspect": ["inspect", self.container], "inspect a module": ["inspect", self.module], "pipeline": ["pipeline", self.container],
                        "bench": ["bench", "--bytes", "1", "--repeats", "5", self.container],
                        "compile": ["compile", "-q", "-f", "--target", "host", "-o", self.outputs / "x.zfm", self.program]}
        self.writing = {"encode": self.reading["encode csv"], "decode": self.reading["decode"], "compile": self.reading["compile"],
                        "csv": ["decode", "-q", "-f", "--format", "csv", "-o", self.outputs / "d", self.container],
                        "pipeline": ["pipeline", "-f", "--trace", self.outputs / "x.json", "--svg", self.outputs / "x.svg", self.container]}

    # ---- Runs

    def faulty(self, words, calls, at, how, under, named=False, on=False):
        """A run whose call number `at` goes wrong (`on`: and all behind it; None: no call)."""
        environment = faults(calls, under, self.counted, at, how)
        return self.zfc(*words, env=os.environ | environment | ({"FAULT_NAMED": "1"} if named else {}) | ({"FAULT_ON": "1"} if on else {}))

    def count_of(self, words, calls, under, named):
        """The calls of a run without a fault, which leaves the outputs as they were."""
        before = self.files()
        result = self.faulty(words, calls, None, None, under, named)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.begin_with(before)
        count = int(self.counted.read_text())
        self.assertGreater(count, 0, f"{words} makes no call of {calls}")
        return count

    def each(self, words, calls, how, under, named=False, on=False):
        """All calls of a run, each gone wrong. A sample of one in N has one in 2 N of such series, and one in N of their calls, at least one."""
        every, turn = zfc_case.sample()
        self.series += 1
        if (self.series + turn) % (2 * every) != 0 and every > 1:
            return
        for at in of_calls(self.count_of(words, calls, under, named), every, turn // (2 * every)):
            self.counted.unlink(missing_ok=True)
            result = self.faulty(words, calls, at, how, under, named, on)
            said = f"{words[0]}: {how} at call {at} of {calls}: {result.returncode} {result.stdout}{result.stderr}"
            if result.returncode != -signal.SIGKILL:
                self.assertGreaterEqual(int(self.counted.read_text()), at, f"no call went wrong: {said}")
            yield result, said

    def files(self):
        return {str(path.relative_to(self.outputs)): path.read_bytes() for path in self.outputs.rglob("*") if path.is_file()}

    def made_by(self, words):
        """The outputs of a run without faults, which are removed again. Times in them are not compared."""
        self.clear()
        if str(words) not in self.made:
            self.good(*words)
            self.made[str(words)] = self.files()
            self.clear()
        return self.made[str(words)]

    def clear(self):
        shutil.rmtree(self.outputs)
        self.outputs.mkdir()

    def begin_with(self, old):
        self.clear()
        for path, content in old.items():
            (self.outputs / path).parent.mkdir(exist_ok=True)
            (self.outputs / path).write_bytes(content)

    def is_whole(self, name, content, made):
        if name.endswith((".json", ".svg")):  # with times in them
            return content.rstrip().endswith((b"]", b"}", b"</svg>")) and len(content) > 100
        return content == made[name]

    def check_outputs(self, made, old, killed, said):
        for name, content in self.files().items():
            if killed and TEMPORARY.search(name):
                continue
            self.assertIn(name, made, f"a file is left: {said}")
            self.assertTrue(content == old.get(name) or self.is_whole(name, content, made), f"{name} is not whole: {said}")
        for name in old:
            self.assertIn(name, self.files(), f"an old file is gone: {said}")

    # ---- Reading

    def test_reads_that_fail(self):
        """All from one on fail, as on a disk that is broken, or one alone. Some need not succeed: the code that blocks want is looked for in advance."""
        for name, words in self.reading.items():
            made = self.made_by(words)
            result = self.faulty(words, READS, 1, errno.EIO, self.inputs, on=True)
            self.assertEqual(result.returncode, 1, f"{name}: {result.stderr}")
            # A module whose first bytes cannot be read once is inspected as a container.
            for on in (True,) if name == "inspect a module" else (True, False):
                for result, said in self.each(words, READS, errno.EIO, self.inputs, on=on):
                    said = f"{name}, {'all' if on else 'one'}, {said}"
                    if result.returncode == 0:
                        self.assertEqual(self.files(), made, said)
                        self.clear()
                        continue
                    self.assertEqual(result.returncode, 1, said)
                    self.assertRegex(result.stderr, r"error\[ZF\d+\]: [^\n]*Input/output error", said)
                    self.assertIn(str(self.inputs), result.stderr, said)
                    self.assertEqual(self.files(), {}, said)
                self.clear()

    def test_reads_that_are_short_or_interrupted(self):
        for name, words in self.reading.items():
            made = self.made_by(words)
            for how in ("short", errno.EINTR):
                calls = READS if how == "short" else READS[:-1]  # fread itself never is interrupted, as stdio begins again
                for result, said in self.each(words, calls, how, self.inputs):
                    self.assertEqual(result.returncode, 0, f"{name}, {said}")
                    self.assertEqual(self.files(), made, f"{name}, {said}")

    # ---- Writing

    def test_writes_that_fail(self):
        for name, words in self.writing.items():
            made = self.made_by(words)
            for calls, number in ((WRITES, errno.ENOSPC), (("fsync",), errno.EIO), (NAMES, errno.ENOSPC)):
                for old in ({}, {name: b"old" for name in made}):
                    for named in (False, True):
                        self.begin_with(old)
                        for result, said in self.each(words, calls, number, self.outputs, named):
                            said = f"{name}, {said}"
                            if result.returncode == 0:  # another way was found: a name where files without one failed
                                self.assertEqual(calls, NAMES, said)
                            else:
                                self.assertEqual(result.returncode, 1, said)
                                self.assertRegex(result.stderr, rf"error\[ZF\d+\]: [^\n]*{os.strerror(number)}", said)
                                self.assertIn(str(self.outputs), result.stderr, said)
                            self.check_outputs(made, old, False, said)
                            if name == "pipeline":  # two outputs, one behind the other
                                continue
                            if calls == WRITES or (calls == ("fsync",) and "ZF1507" not in result.stderr):
                                self.assertEqual(self.files(), old, said)  # all files are on disk before the first gets its name
                            elif calls == ("fsync",):
                                self.assertEqual(set(self.files()), set(made), said)
                                self.begin_with(old)
                        self.good(*words)
                        self.assertEqual(set(self.files()), set(made), "the next run")

    def test_writes_that_are_short_or_interrupted(self):
        for name, words in self.writing.items():
            made = self.made_by(words)
            for how in ("short", errno.EINTR):
                for result, said in self.each(words, WRITES, how, self.outputs):
                    self.assertEqual(result.returncode, 0, f"{name}, {said}")
                    self.check_outputs(made, {}, False, f"{name}, {said}")

    # ---- Killed

    def test_killed_at_each_call(self):
        for name, words in self.writing.items():
            made = self.made_by(words)
            for how in ("before", "kill"):
                for old in ({}, {name: b"old" for name in made}):
                    self.begin_with(old)
                    for result, said in self.each(words, (*WRITES, *NAMES, "fsync", "close"), how, self.outputs, named=how == "kill"):
                        self.assertEqual(result.returncode, -signal.SIGKILL, said)
                        self.check_outputs(made, old, True, f"{name}, {said}")
                    self.good(*words)
                    left = self.files()
                    for path in made:
                        self.assertTrue(self.is_whole(path, left[path], made), f"{name}: the next run: {path}")


class Caches(zfc_case.Case):
    """A cache of code that is damaged, shared, failing or cannot be used costs time and nothing else."""

    def setUp(self):
        super().setUp()
        self.cache, self.counted = self.dir / "cache", self.dir / "counted"
        rows = "a\n" + "".join(f"{k * 7 % 300}\n" for k in range(5000))
        self.container = self.dir / "t.zfd"
        self.good("encode", "-q", "-c", self.file("t.zf", "table t { a: i32 = bitpack; }\n"), "-o", self.container, self.file("t.csv", rows))
        self.expected = b"".join((k * 7 % 300).to_bytes(4, "little") for k in range(5000))

    def decode(self, out="out", cache=None, options=(), **more):
        result = self.zfc("decode", "-f", *options, "-o", self.dir / out, self.container,
                          env=os.environ | {"ZIPFLOW_CACHE_DIR": str(cache or self.cache)} | more)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual((self.dir / out / "a.i32").read_bytes(), self.expected)
        shutil.rmtree(self.dir / out)
        return result

    def entries(self):
        return sorted((self.cache / "kernels").glob("*.zfo"))

    def test_damaged_entries(self):
        self.decode()
        self.assertTrue(self.entries())
        every, turn = zfc_case.sample()
        number = 0
        for entry in self.entries():
            content = entry.read_bytes()
            size = len(content)
            damaged = [content[:at] + bytes([content[at] ^ 0x41]) + content[at + 1:] for at in (*range(0, 32, 3), *range(32, size, size // 12), size - 1)]
            damaged += [content[:at] for at in (0, 1, 31, 32, 33, size // 2, size - 1)] + [content + b"x", bytes(size), b"zfobj\0\0\2" + content[8:]]
            for bad in damaged:
                number += 1
                if (number + turn) % (2 * every) != 0 and every > 1:
                    continue
                entry.write_bytes(bad)
                self.decode()
                self.assertEqual(len(entry.read_bytes()), size, f"damage {number} was not mended")
        self.assertEqual([path.name for path in (self.cache / "kernels").glob("tmp.*")], [])

    def test_processes_that_share(self):
        every = zfc_case.sample()[0]
        count = 32 if every == 1 else 8
        threads = [threading.Thread(target=self.decode, args=(f"out{k}",)) for k in range(count)]
        failed = []
        before, threading.excepthook = threading.excepthook, lambda raised: failed.append(raised.exc_value)
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        threading.excepthook = before
        self.assertEqual(failed, [])
        self.assertEqual(len(self.entries()), 1)

    def test_caches_that_cannot_be_used(self):
        self.file("file", "")
        (self.dir / "real" / "kernels").mkdir(parents=True, mode=0o700)
        (self.dir / "linked").mkdir()
        (self.dir / "linked" / "kernels").symlink_to(self.dir / "real" / "kernels")
        (self.dir / "open" / "kernels").mkdir(parents=True)
        (self.dir / "open" / "kernels").chmod(0o777)
        for cache, reason in ((self.dir / "file", "Not a directory"), (self.dir / "linked", "(Not a directory|Too many levels)"),
                              (self.dir / "open", "it is not ours alone"), ("/proc/nowhere", "No such file or directory")):
            self.assertEqual(self.decode(cache=cache, options=["-q"]).stderr, "")
            said = self.decode(cache=cache, options=["-v"]).stderr
            self.assertEqual(len(re.findall(rf"the cache {cache}/kernels cannot be used: {reason}; code is compiled again", said)), 1, said)
        self.assertNotIn("the cache", self.decode(options=["-v"]).stderr)

    def test_calls_that_fail(self):
        every, turn = zfc_case.sample()
        for calls, number in ((READS, errno.EIO), (READS, "short"), (WRITES, errno.ENOSPC), (WRITES, "short"), (NAMES, errno.EROFS), (("open",), errno.EACCES),
                              (("close",), errno.EIO)):
            for is_warm in (False, True):
                self.begin(is_warm)
                self.decode(**faults(calls, self.cache, self.counted))
                count = int(self.counted.read_text())
                said = f"{count} calls of {calls} on a {'warm' if is_warm else 'cold'} cache"
                self.assertGreater(count, 0, said)
                for at in of_calls(count, every, turn) if count > 0 else ():
                    self.begin(is_warm)
                    self.counted.unlink()
                    self.decode(**faults(calls, self.cache, self.counted, at, number))
                    self.assertGreaterEqual(int(self.counted.read_text()), at, f"no call went wrong: call {at}, {said}")
                    self.assertEqual([path.name for path in self.cache.rglob("tmp.*")], [], f"call {at}, {said}")

    def begin(self, is_warm):
        """A warm cache has code, and a file of rates that is not to be used: a run that is slower than good rates may leave them, and the
        number of calls would depend on the machine's load."""
        shutil.rmtree(self.cache, ignore_errors=True)
        if is_warm:
            self.decode()
            for rates in (self.cache / "rates").iterdir():
                rates.write_text("rates\n")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
