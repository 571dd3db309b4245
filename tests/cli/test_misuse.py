"""Mistakes of users, and zfc's errors. Usage: test_misuse.py ZFC [unittest arguments]"""

import itertools
import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
import zfc_case  # noqa: E402

ZFC = zfc_case.ZFC
PROGRAM = "table t { a: i32 = bitpack; b: i32 = delta(bitpack); }\n"


class Case(zfc_case.Case):
    SECONDS = 60

    def container(self, rows=100, name="t.zfd", program=PROGRAM, most=1 << 31):
        source = self.file("t.csv", "a,b\n" + "".join(f"{i % 7},{i % most}\n" for i in range(rows)))
        self.good("encode", "-q", "-f", "-c", self.file("t.zf", program), "-o", self.dir / name, source)
        return self.dir / name


class Columns(Case):
    def test_a_bad_name_behind_good_ones_ends_the_command(self):
        container = self.container()
        for names, says in [("a,nope", "ZF1105"), ("a,a", "ZF2014"), ("a,", "empty name"), ("a,,b", "empty name"), (",", "empty name"), ("", "--columns is given nothing"),
                            ("a,b," + "x" * 300, "300 bytes")]:
            for verb in (["verify"], ["bench", "--bytes", "1"], ["inspect"], ["decode", "-o", self.dir / "out"]):
                result = self.bad(2, *verb, container, "--columns", names, says=says, lacks="good")
                self.assertEqual(result.stderr.count("error["), 1)
        self.assertFalse((self.dir / "out").exists())


class Words(Case):
    def test_wrong_command_lines_have_a_code(self):
        program, out = self.file("t.zf", PROGRAM), self.dir / "out"
        for words in (["nothing"], ["check"], ["check", "--nothing", program], ["check", "--format", "sum", program], ["check", "--format", "json", program, program],
                      ["check", "--ignore", "x", program], ["explain", program, program], ["explain", "--json", "--emit", "plan", program],
                      ["explain", "--choices", "--target", "host", program], ["explain", "--choices", "--emit", "plan", program],
                      ["explain", "--emit", "ptx", "--target", "host", program], ["explain", "--emit", "asm", "--target", "nvptx", program],
                      ["explain", "--shaping", "1", program], ["explain", "--arch", "80", program], ["explain", "--emit", "llvm", "--shaping", "x", program],
                      ["explain", ""], ["compile", program], ["encode", "x.csv"], ["decode", program], ["decode", "-o", out, "--rows", "x", program],
                      ["decode", "-o", out, "--threads", "x", program], ["pipeline"], ["pipeline", "--rows", "x", program], ["bench"],
                      ["bench", "--generate", "x"], ["tune"], ["completion", "fish"]):
            with self.subTest(words=words):
                self.assertRegex(self.bad(2, *words).stderr, r"(?m)^zfc( \w+)?: error\[ZF2014\]: ")


class Tables(Case):
    def test_what_no_container_can_hold_is_no_program(self):
        data = self.file("t.csv", "7\n")
        longest, longer = "n" * 255, "n" * 256
        for table, column, place in [(longest, "a", None), ("t", longest, None), (longer, "a", "1:7"), ("t", longer, "1:11")]:
            program = self.file("t.zf", f"table {table} {{ {column}: u8 = plain; }}\n")
            for words in (["check", program], ["encode", "-q", "-f", "-c", program, "-o", self.dir / "t.zfd", "--header", column, data]):
                if place is None:
                    self.good(*words)
                else:
                    self.bad(1, *words, says=f"{program}:{place}: error[ZF0211]: the name of a ")
        program = self.file("t.zf", "table nothing { }\n")
        for words in (["check", program], ["encode", "-c", program, "-o", self.dir / "t.zfd", "-f", data]):
            self.bad(1, *words, says=f"{program}:1:7: error[ZF0710]: the table `nothing` has no columns")
        program = self.file("t.zf", "table t { state: i32 = bitpack; }\n")
        self.bad(1, "check", program, says="found the reserved word `state`", lacks="ZF0710")


class Inputs(Case):
    """Errors of `encode` for inputs that do not fit the table: the fault, and its place."""

    def encode_bad(self, status, program, *words, says, lacks=()):
        return self.bad(status, "encode", "-c", self.file("i.zf", program), "-o", self.dir / "i.zfd", *words, says=says, lacks=lacks)

    def test_options(self):
        text = self.file("i.csv", "a,b\n1,2\n")
        for number in ("0", "x", "-1", str(1 << 32)):
            self.encode_bad(2, PROGRAM, "--rows-per-block", number, text,
                            says=f"--rows-per-block needs a number from 1 to 2147483648, not `{number}`")
        self.encode_bad(2, PROGRAM, "--rows-per-block", "4095", "--format", "1", text, says="must be a multiple of 4096")
        self.bad(2, "verify", "--repeat", "0", "x.zfd", says="--repeat needs a number from 1 to 1000, not `0`")
        for delimiter, says in [('"', "cannot be a quote"), ("\n", "cannot be the end of a line"), ("\r", "cannot be the end of a line"), (";;", "needs one character")]:
            self.encode_bad(2, PROGRAM, "--delimiter", delimiter, text, says=f"--delimiter {says}")
        self.encode_bad(2, PROGRAM, "--header", "a,b,a", text, says=["ZF2014", "--header names `a` twice"], lacks="line 1")
        self.encode_bad(2, PROGRAM, "--header", "a|b", text, says=["ZF2014", "no name of --header", "separated by commas"], lacks="line 1")

    def test_text(self):
        text = self.file("i.csv", 'a\n1\n""\n')
        self.encode_bad(1, "table t { a: i32? = nullable(values: plain); }", text, lacks="not nullable",
                        says=["ZF2002", "an empty field in quotes is not an integer", "line 3, field 1 (a)", "null is an empty field without quotes"])
        self.encode_bad(1, "table t { a: i32 = plain; }", text, says=["ZF2016", "the column is not nullable"], lacks="without quotes")
        self.encode_bad(1, PROGRAM, self.file("j.csv", "a\n1\n"), says=["ZF2004", "no input gives column `b`", f"at: {self.dir}/j.csv"])
        self.encode_bad(1, PROGRAM, "", says=["cannot read an input whose name is empty"])

    def test_raw_parts(self):
        program = "table t { a: i32 = plain; s: string = strings; }"
        data = self.file("four", bytes(4))
        for part, says in [("a.valid", ["column `a` is not nullable"]), ("s.valid", ["column `s` is not nullable"]),
                           ("a.offsets", ["column `a` is not of strings", "a=FILE"]), ("a.bytes", ["column `a` is not of strings", "a=FILE"]),
                           ("b", ["the table has no column `b`"])]:
            self.encode_bad(1, program, f"{part}={data}", says=["ZF2003", f"at: {part}={data}", *says])
        for name in ("a", "s.offsets"):
            self.encode_bad(1, program, f"{name}=", says=["ZF2001", f"at: {name}=\n", f"give {name}=FILE"], lacks="No such file")

    def test_offsets_say_where(self):
        program = "table t { s: string = strings; }"
        content = self.file("bytes", b"abcd")
        for offsets, byte in [((1, 4), 0), ((0, 3, 2), 16), ((0, -1, 4), 8), ((0, 2, 5), 16)]:
            raw = f"s.offsets={self.file('offsets', struct.pack(f'<{len(offsets)}q', *offsets))}"
            self.encode_bad(1, program, raw, f"s.bytes={content}", says=["ZF2017", f"at: {raw}: byte {byte}\n"])
        self.encode_bad(1, program, f"s.bytes={content}", says=["ZF2017", f"at: s.bytes={content}"])
        self.encode_bad(1, program, raw, says=["ZF2004", f"at: {raw}"])

    def test_texts_overlap_in_all_columns_or_in_none(self):
        program = "table t { x: i32 = plain; y: i32 = plain; z: i32? = nullable(values: plain); }"
        x, y, z = self.file("x.csv", "x\n1\n2\n"), self.file("y.csv", "y\n100\n200\n"), self.file("z.csv", "z\n\n7\n")
        xy, yx = self.file("xy.csv", "x,other,y\n55,0,5500\n"), self.file("yx.csv", "y,x\n6600,66\n")
        xyz, three = self.file("xyz.csv", "x,y,z\n1,2,3\n"), self.file("three.csv", "z\n1\n\n3\n")
        for inputs, column, first, second, more, of in [
                ((x, xy, y, three), "x", x, xy, xy, "y"), ((xy, x, y, z), "x", xy, x, xy, "y"), ((x, y, xy, z), "x", x, xy, xy, "y"),
                ((z, y, xy, x), "y", y, xy, xy, "x"), ((xyz, xy), "x", xyz, xy, xyz, "z"), ((x, y, z, xyz), "x", x, xyz, xyz, "y"),
                ((xyz, xyz, z), "z", xyz, z, xyz, "x"), ((x, x, yx), "x", x, yx, yx, "y")]:
            self.encode_bad(1, program, *inputs, says=[
                "ZF2005", f"column `{column}` is given twice: by {first} and by {second}, of which {more} alone gives `{of}`\n", "parts of a table"])
            self.assertFalse((self.dir / "i.zfd").exists())
        header = b"{'descr': '<i4', 'fortran_order': False, 'shape': (1,), }\n"
        array = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header
        for given in (f"x={self.file(name, begin + struct.pack('<i', 55))}" for name, begin in (("x.raw", b""), ("x.npy", array))):
            for inputs in ((given, xy, z), (xy, given, z), (x, y, z, given)):
                self.encode_bad(1, program, *inputs, says=["ZF2005", "column `x` is given twice: by ", given])
        for inputs, xs, ys in [((x, y, z), (1, 2), (100, 200)), ((z, xy, yx), (55, 66), (5500, 6600)), ((yx, z, xy), (66, 55), (6600, 5500)),
                               ((xy, xy, yx, three), (55, 55, 66), (5500, 5500, 6600)), ((x, z, y, x, y, z), (1, 2, 1, 2), (100, 200, 100, 200))]:
            self.good("encode", "-q", "-f", "-c", self.dir / "i.zf", "-o", self.dir / "i.zfd", *inputs)
            self.good("decode", "-q", "-f", "-o", self.dir / "out", self.dir / "i.zfd")
            for name, values in (("x", xs), ("y", ys)):
                self.assertEqual((self.dir / "out" / f"{name}.i32").read_bytes(), struct.pack(f"<{len(values)}i", *values), inputs)

    def test_booleans_are_bytes(self):
        program = "table t { b: bool = plain; }"
        self.encode_bad(1, program, f"b={self.file('b.raw', bytes([1, 0, 170]))}",
                        says=["ZF2002", "a boolean of column `b` that is 170", "b.raw: byte 2", "a byte here, not a bit", "--format npy"])
        first, second = self.dir / "first.zfd", self.dir / "second.zfd"
        self.good("encode", "-q", "-c", self.dir / "i.zf", "-o", first, f"b={self.file('raw', bytes([1, 0, 1] * 100))}")
        self.good("decode", "-q", "--format", "npy", "-o", self.dir, first)
        # A bitmap whose bytes are all 0 or 1 would be an eighth of the rows.
        self.good("encode", "-q", "-f", "-c", self.dir / "i.zf", "-o", self.dir / "few.zfd", f"b={self.file('raw', bytes([1] + [0] * 7) * 10)}")
        self.good("decode", "-q", "-o", self.dir, self.dir / "few.zfd")
        self.assertEqual((self.dir / "b.bool").read_bytes(), bytes([1] * 10))
        self.encode_bad(1, program, f"b={self.dir / 'b.bool'}", says=["ZF2025", "a bitmap, as `zfc decode` writes", "--format npy", "--raw"])
        self.good("encode", "-q", "-f", "--raw", "-c", self.dir / "i.zf", "-o", self.dir / "few.zfd", f"b={self.dir / 'b.bool'}")
        self.good("encode", "-q", "-c", self.dir / "i.zf", "-o", second, f"b={self.dir / 'b.npy'}")
        self.assertEqual(first.read_bytes(), second.read_bytes())


class Demo(Case):
    def test_a_scale_is_a_positive_number(self):
        """`script/demo` looks at its argument before it does anything. Here what it calls first ends it."""
        root = pathlib.Path(__file__).resolve().parents[2]
        (self.dir / "script").mkdir()
        demo = shutil.copy(root / "script/demo", self.dir / "script")
        self.file("script/bootstrap", "#!/bin/sh\necho begins\nexit 9\n").chmod(0o755)

        def run(*words):
            return subprocess.run(["bash", demo, *words], cwd="/", capture_output=True, text=True, timeout=60)

        for words in (["--help"], ["-h"], ["abc"], ["-1"], ["0"], ["0.0"], ["1e3"], ["1x"], ["."], ["1\n"], ["../1"], ["1", "2"], ["--scale", "1"]):
            result = run(*words)
            self.assertEqual((result.returncode, result.stdout), (2, ""), words)
            self.assertIn("usage: script/demo [SCALE]", result.stderr, words)
        for words in ([], ["1"], ["0.01"], ["10"], [".5"]):
            result = run(*words)
            self.assertEqual((result.returncode, result.stderr), (9, ""), words)
            self.assertIn("begins", result.stdout, words)


class Pipes(Case):
    def test_nothing_waits_for_a_writer(self):
        pipe = self.dir / "pipe"
        os.mkfifo(pipe)
        for words in (["inspect", pipe], ["inspect", "--program", pipe], ["compile", pipe, "-o", self.dir / "x.zfm"], ["verify", pipe],
                      ["bench", pipe], ["explain", pipe], ["check", pipe], ["verify", "--module", pipe, pipe]):
            self.bad(1, *words, says="error", timeout=20)
        self.bad(1, "check", pipe, says="programs are read from files, not from pipes", timeout=20)
        self.bad(1, "check", "/dev/stdin", says="programs are read from files, not from pipes", input=PROGRAM, timeout=20)

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

    def test_the_size_of_the_cache(self):
        container = self.container()
        for size, most in (("1G", None), ("1", 1)):
            cache = self.dir / ("cache" + size)
            self.good("verify", container, env={**os.environ, "ZIPFLOW_CACHE_DIR": str(cache), "ZIPFLOW_CACHE_SIZE": size})
            entries = list((cache / "kernels").glob("*.zfo"))
            self.assertTrue(len(entries) == most if most else len(entries) > 1, entries)
        for size in ("0", "1T", "much"):
            self.bad(2, "verify", container, env={**os.environ, "ZIPFLOW_CACHE_SIZE": size}, says=["ZIPFLOW_CACHE_SIZE", size, "512M"])


class Reports(Case):
    def test_json_of_bad_columns(self):
        container = self.container(20000)
        bytes_ = bytearray(container.read_bytes())
        block = json.loads(self.good("inspect", "--json", container))["columns"][0]["blocks"][0]
        bytes_[block["offset"] + block["bytes"] // 2] ^= 1
        container.write_bytes(bytes_)
        result = self.bad(1, "verify", "--json", container, says="error[")
        columns = json.loads(result.stdout)
        self.assertEqual([(c["column"], c["good"]) for c in columns], [("a", False), ("b", True)])
        self.assertIn(columns[0]["error"]["code"], result.stderr)
        self.assertIn("column a", columns[0]["error"]["place"])
        self.bad(1, "verify", container, says="column a", lacks="all good")
        self.assertIn("NOT GOOD", self.zfc("verify", container).stdout)
        self.assertEqual(self.zfc("verify", "--json", self.dir / "none.zfd").stdout, "")

    def test_an_absent_device_says_nothing_about_the_file(self):
        container = self.container()
        for device, status, code in [("cuda", 3, "ZF1104"), ("cuda:0", 3, "ZF1104"), ("cuda:1", 3, "ZF1104"), ("cpu:7", 3, "ZF1103"), ("nope", 3, "ZF1103")]:
            if device.startswith("cuda") and self.zfc("verify", "--device", "cuda", container).returncode == 0:
                continue # there is one
            if device.startswith("cuda"):
                reason = self.zfc("verify", "--device", "cuda", container).stderr.split(": ", 3)[3]
                self.bad(3, "verify", "--device", device, container, says=[f"device `{device}` is not present", reason])
            for words in ([], ["--json"]):
                result = self.bad(status, "verify", "--device", device, *words, container, says=code, lacks="GOOD")
                self.assertEqual(result.stdout, "")

    def test_what_keeps_columns_from_being_checked_says_nothing_about_the_file(self):
        container = self.container(20000)
        self.good("compile", "-o", self.dir / "t.zfm", self.dir / "t.zf")
        self.good("compile", "-o", self.dir / "other.zfm", self.file("other.zf", "table t { a: i32 = bitpack; b: i32 = bitpack; }"))
        self.good("verify", "--module", self.dir / "t.zfm", container)
        for words, columns in (["--module", self.dir / "other.zfm"], 2), (["--module", self.dir / "t.zfm", "--device", "emu"], 2):
            result = self.bad(1, "verify", *words, container, says="module ", lacks=["GOOD", "all good"])
            self.assertTrue(result.stdout.endswith(f"{container}: {columns} columns, {columns} not checked\n"), result.stdout)
            report = json.loads(self.bad(1, "verify", "--json", *words, container).stdout)
            self.assertEqual([(c["good"], c["error"]["code"][:4]) for c in report], [(None, "ZF14")] * columns)
        result = self.bad(2, "verify", "--device", "emu", container, says="ZF1101", env={**os.environ, "ZIPFLOW_EMU_SEED": "x"})
        self.assertEqual(result.stdout, "")
        # One column is bad, the other good.
        container = self.container(20000, program="table t { a: i32 = bitpack; b: u8 = rans; }", most=256)
        bytes_ = bytearray(container.read_bytes())
        block = json.loads(self.good("inspect", "--json", container))["columns"][0]["blocks"][0]
        bytes_[block["offset"] + block["bytes"] // 2] ^= 1
        container.write_bytes(bytes_)
        for device in ("cpu", "emu"):
            self.assertIn(": 2 columns, NOT GOOD\n", self.bad(1, "verify", "--device", device, container).stdout)

    def test_a_device_of_a_kind_has_a_number(self):
        container = self.container()
        for device in ("cuda:x", "cuda:", "cuda:1x", "cuda:-1", "cuda:0:0", "cuda: 1"):
            for words in (["verify"], ["bench", "--bytes", "1"], ["decode", "-o", self.dir / "out"]):
                self.bad(2, *words, "--device", device, container, says=["ZF1101", f"`{device}` is not the name of a device", "`cuda:0`"], lacks="present")
        self.bad(3, "verify", "--device", "cuda:99", container, says="ZF110")

    def test_zero_is_no_number_of_anything(self):
        container = self.container()
        for number in ("0", "00", "-1", ""):
            self.bad(2, "verify", "--repeat", number, container, says="--repeat ")
            for words in (["verify"], ["decode", "-o", self.dir / "out"], ["bench", "--bytes", "1"], ["compile", "-o", self.dir / "t.zfm"]):
                self.bad(2, *words, "--threads", number, container, says="--threads ")
            self.bad(2, "encode", "-c", self.dir / "t.zf", "-o", self.dir / "u.zfd", "--rows-per-block", number, self.dir / "t.csv", says="--rows-per-block ")
        self.good("verify", "--repeat", "1", "--threads", "1", container)

    def test_names_drive_no_terminal(self):
        made = self.container()
        container, program = made.rename(made.with_name("\x1b[31m\x9bt\x7f.zfd")), self.dir / "t.zf"
        odd = program.with_name("\x1b[2J.zf")
        odd.write_bytes(program.read_bytes())
        for words in (["verify", container], ["inspect", container], ["compile", container, "-o", f"{container}.zfm"], ["inspect", f"{container}.zfm"],
                      ["check", odd], ["decode", "--format", "csv", "-o", self.dir / "\x1b[o", container]):
            shown = self.good(*words)
            self.assertFalse([c for c in shown if c < " " and c != "\n" or "\x7f" <= c < "\xa0"], shown)
        for words in (["check", odd.rename(odd.with_name("\x1bno.zf"))], ["compile", program, "-o", container], ["encode", "-c", program, "-o", container, "x.csv"]):
            result = self.zfc(*words)
            self.assertNotIn("\x1b", result.stdout + result.stderr)

    def test_marks_of_direction_turn_no_message(self):
        container = self.container()
        for mark in "\u200b\u200e\u202e\u2066\u2069\ufeff\x9b":
            odd = container.with_name(f"t{mark}.zfd")
            odd.write_bytes(container.read_bytes())
            text = self.file("odd.csv", f"a,b\n1{mark},2\n")
            program = self.file(f"odd{mark}.zf", f"table t {{ a: i32 = bit{mark}pack; }}")
            for words in (["verify", "-v", odd], ["inspect", odd], ["verify", f"{odd}none"], ["check", program], ["check", "--format", "line", program],
                          ["encode", "-f", "-c", self.dir / "t.zf", "-o", self.dir / "odd.zfd", text]):
                result = self.zfc(*words)
                self.assertIn("odd" if "odd" in str(words[-1]) else "t", result.stdout + result.stderr)
                self.assertNotIn(mark, result.stdout + result.stderr, words)
        escaped = "".join(f"\\x{byte:02x}" for byte in mark.encode())
        self.assertIn(f"`1{escaped}` is not an integer", result.stderr)

    def test_names_that_are_not_utf8_in_json(self):
        made = os.fsencode(self.container())
        odd = os.path.dirname(made) + b"/\xff\xc3t\xed\xa0\x80\xe2\x82\xac.zfd"
        os.rename(made, odd)
        for words in ([b"inspect"], [b"compile", b"-o", odd + b".zfm"], [b"bench", b"--bytes", b"1"]):
            result = subprocess.run([ZFC, words[0], b"--json", *words[1:], odd], capture_output=True, timeout=60)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("\ufffd\ufffdt\ufffd\ufffd\ufffd\u20ac.zfd", json.dumps(json.loads(result.stdout), ensure_ascii=False))

    def test_seeds_of_the_emulator(self):
        container = self.container()
        for seed in ("abc", "-1", " 1", "1x", "0x", "18446744073709551616"):
            self.bad(2, "verify", "--device", "emu", container, says=["ZIPFLOW_EMU_SEED", f"`{seed}`"], lacks="all good",
                     env={**os.environ, "ZIPFLOW_EMU_SEED": seed})
        for seed in ("", "0", "7", "0x1f", "18446744073709551615"):
            self.good("verify", "--device", "emu", container, env={**os.environ, "ZIPFLOW_EMU_SEED": seed})

    def test_levels_of_the_compiler(self):
        container = self.container()
        for level in ("4", "-1", " 1", "1x", "00", "fast"):
            self.bad(2, "verify", container, says=["ZF2014", "ZIPFLOW_OPTIMISE", f"`{level}`", "0 to 3"], lacks="all good",
                     env={**os.environ, "ZIPFLOW_OPTIMISE": level})
        for level in ("", "0", "3"):
            self.good("verify", container, env={**os.environ, "ZIPFLOW_OPTIMISE": level})

    def test_a_decode_to_text_says_what_it_was_asked_to(self):
        container = self.container(3)
        words = ["decode", "-f", "--format", "csv", "-o", self.dir, container]
        self.assertEqual(self.good(*words), f"{self.dir}/t.csv: 3 rows\n")
        self.assertEqual(self.good(*words, "-q"), "")
        json.loads(self.good(*words, "--json"))
        self.assertEqual(self.bad(1, "decode", "--format", "csv", "-o", self.dir, container, says="ZF1501").stdout, "")


class Devices(Case):
    def test_cores_are_told_once(self):
        for line in self.good("devices").splitlines():
            self.assertEqual(line.count(" core"), 0 if "(absent: " in line else 1, line)


class Explaining(Case):
    def test_stages_that_targets_do_not_have(self):
        program = self.file("t.zf", "table t { a: i32 = bitpack; }\n")
        for words, says in [(["--emit", "ptx", "--target", "host"], "PTX is of the target nvptx"), (["--emit", "ptx", "--target", "emu"], "for emu give --emit asm"),
                            (["--emit", "asm", "--target", "nvptx"], "give --emit ptx")]:
            self.assertEqual(self.bad(2, "explain", *words, program, says=says).stdout, "")
        for words, has in [(["ptx"], ".target sm_"), (["ptx", "--target", "nvptx"], ".target sm_"), (["asm"], ".text"), (["asm", "--target", "emu"], ".text")]:
            self.assertIn(has, self.good("explain", "--emit", *words, program))
        for stage in ("ast", "spec", "graph", "plan", "llvm", "ptx"):  # which are no JSON
            self.assertEqual(self.bad(2, "explain", "--json", "--emit", stage, program, says="--json goes without --emit").stdout, "")

    def test_a_file_needs_no_library(self):
        container = self.container()
        for words in ([], ["--emit", "spec"], ["--json"]):
            for environment in ({}, {"ZIPFLOW_STD": "/nonexist"}):
                result = self.zfc("explain", *words, container, env={**os.environ, **environment})
                self.assertEqual((result.returncode, result.stderr), (0, ""), (words, environment))

    def test_names_of_algorithms(self):
        self.good("explain", "bitpack")
        self.bad(1, "explain", "bitpak", says=["there is no file and no algorithm `bitpak`", "did you mean `bitpack`?"])
        self.bad(1, "explain", "nothing_like_it", says=["there is no file and no algorithm `nothing_like_it`"], lacks="did you mean")

    def test_who_walks_chunks(self):
        program = self.file("t.zf", "algorithm copied(src: u8[] per chunk) -> u8[] non_parallel(chunk = 100) {\n    decode { emit k in 0..out.len: src[k]; }\n"
                                    "}\ntable t { a: u8 = copied; }\n")
        for words, says in [([], "by a warp a chunk: its lanes share"), (["--chunk-threads", "1"], "by a thread a chunk: as asked"), (["--chunk-threads", "32"], "by a warp a chunk: its")]:
            self.assertIn(says, self.good("explain", "--target", "nvptx", *words, program))
            report = json.loads(self.good("explain", "--json", "--target", "nvptx", *words, program))
            self.assertEqual(report["columns"][0]["kernels"][0]["by_warp"], "warp" in says)
            ptx = self.good("explain", "--emit", "ptx", *words, program)
            self.assertIn(".maxntid 32," if "warp" in says else ".maxntid 64,", ptx)
        self.assertNotIn("walked", self.good("explain", program))
        for value in ("0", "2", "33", "x"):
            self.bad(2, "explain", "--chunk-threads", value, program, says="--chunk-threads takes one of 1|32")
        for choose in ("0:WALK=1", "0:THREADS=64,WALK=32"):
            self.bad(2, "explain", "--target", "nvptx", "--chunk-threads", "1", "--choose", choose, program, says=["ZF1101", "both say who walks chunks"])
        self.good("explain", "--target", "nvptx", "--chunk-threads", "1", "--choose", "0:THREADS=64", program)

    def test_choices(self):
        program = self.file("t.zf", "table t { a: i32 = bitpack; b: i32 = rle; }\n")
        listed = self.good("explain", "--choices", program)
        self.assertIn("a, target nvptx\n  kernel 0: bitpack<i32, u32> (map)\n    L          1, 2, 4, 8, 16 (default 2)\n", listed)
        self.assertIn("\nb, target nvptx\n  kernel 0: rle<i32> (groups)\n", listed)
        report = json.loads(self.good("explain", "--choices", "--json", "--target", "emu", program))
        self.assertEqual([(column["column"], column["target"], column["kernels"][0]["form"]) for column in report["columns"]],
                         [("a", "emu", "map"), ("b", "emu", "groups")])
        self.assertEqual(report["columns"][0]["kernels"][0]["choices"]["THREADS"], {"values": [32, 64, 128, 256, 512, 1024], "default": 256})
        choose = ("--choose", "0:L=8,threads=128")
        self.assertIn("(map), chosen: L 8, THREADS 128\n", self.good("explain", "--choices", *choose, f"{program}:t.a"))
        self.assertIn("geometry [8 128 4], chosen [L 8, THREADS 128]", self.good("explain", "--emit", "plan", *choose, f"{program}:t.a"))
        self.assertIn("tile    4096 outputs, <L,S,C> = <8,128,4>, chosen: L 8, THREADS 128", self.good("explain", *choose, f"{program}:t.a"))
        self.assertEqual(json.loads(self.good("explain", "--json", *choose, f"{program}:t.a"))["columns"][0]["kernels"][0]["chosen"],
                         {"L": 8, "THREADS": 128})
        self.assertIn(".maxntid 128,", self.good("explain", "--emit", "ptx", *choose, f"{program}:t.a"))
        self.assertIn(".maxnreg 48", self.good("explain", "--emit", "ptx", "--choose", "0:REGISTERS=48", f"{program}:t.a"))
        for text, says in [("L=8", "is of no kernel"), ("0:M=8", "is not a choice"), ("0:L=8x", "is not a number"), ("0:L=3", "L cannot be 3, only 1, 2, 4, 8 or 16"),
                           ("7:L=8", "there is no kernel 7"), ("0:THREADS=1024,REGISTERS=255", "do not fit")]:
            for more in ([], ["--emit", "ptx"], ["--emit", "plan"], ["--choices"]):
                self.assertEqual(self.bad(2, "explain", *more, "--choose", text, f"{program}:t.a", says=says).stdout, "")
        for words in (["--choices"], ["--choose", "0:L=4"]):
            self.bad(2, "explain", "--target", "host", *words, program, says="choices are for kernels of GPUs")
        self.bad(2, "explain", "--choices", "--emit", "plan", program, says="--choices goes without --emit")
        self.bad(2, "explain", "--choose", "0:L=8", program, says="column `b`: kernel 0 (groups): L cannot be 8, there is nothing to choose")
        # Decoding by kernels that were chosen; the CPU's have no choices.
        values = self.file("t.csv", "a,b\n" + "".join(f"{k * 7919 % 1000},{k // 50}\n" for k in range(5000)))
        container = self.dir / "t.zfd"
        self.good("encode", "-c", program, "-o", container, values)
        plain = self.decoded(container, "cpu")
        self.bad(2, "decode", "-f", "-o", self.dir / "out", "--device", "cpu", "--choose", "0:L=3", container, says="--choose is for kernels of GPUs")
        for text in ("0:THREADS=32", "0:THREADS=1024,REGISTERS=40"):
            self.assertEqual(self.decoded(container, "emu", "--choose", text), plain)
        self.bad(2, "decode", "-f", "-o", self.dir / "out", "--device", "emu", "--choose", "0:L=1", container, says="L cannot be 1")
        self.good("bench", "--device", "emu", "--repeats", "5", "--bytes", "1", "--columns", "a", "--choose", "0:L=16,THREADS=64", container)
        module = self.dir / "t.zfm"
        self.good("compile", "-q", "-o", module, container)
        self.bad(2, "decode", "-f", "-o", self.dir / "out", "--module", module, "--choose", "0:THREADS=32", container, says="--choose needs the compiler")

    def test_seek_intervals(self):
        """Whatever A a file was written with, devices decode it, whole and in part, and `inspect` says it."""
        program = self.file("t.zf", "table t { a: i32 = delta(bitpack); b: i32 = delta(rle(bitpack, bitpack)); c: u8 = rle; }\n")
        rows = 70000
        values = self.file("t.csv", "a,b,c\n" + "".join(f"{k * k % 5003},{k // 50 * 3},{k // 20 % 7}\n" for k in range(rows)))
        container, other, sizes = self.dir / "t.zfd", self.dir / "other.zfd", {}
        self.good("encode", "-c", program, "-o", container, values)
        names = ("a.i32", "b.i32", "c.u8")
        plain = self.decoded(container, "cpu", names=names)
        for interval in (256, 512, 4096, 65536):
            self.good("encode", "-f", "-c", program, "--seek-interval", interval, "-o", other, values)
            sizes[interval] = other.stat().st_size
            self.assertEqual(self.decoded(other, "cpu", names=names), plain)
            self.assertEqual(self.decoded(other, "emu", names=names), plain)
            begin, end = interval - 1, interval + 1000
            cut = [column[begin * size:end * size] for column, size in zip(plain, (4, 4, 1))]
            self.assertEqual(self.decoded(other, "emu", "--rows", f"{begin}..{end}", names=names), cut)
            report = json.loads(self.good("inspect", "--json", other))
            found = {state["interval"] for column in report["columns"] for block in column["blocks"] for state in block["seek"]}
            self.assertEqual(found, {interval})
        self.assertEqual(sorted(sizes, key=sizes.get, reverse=True), sorted(sizes))
        for value in ("0", "128", "1000", "131072", "x"):
            self.bad(2, "encode", "-f", "-c", program, "--seek-interval", value, "-o", other, values, says="--seek-interval takes one of 256|512|")

    def decoded(self, container, device, *words, names=("a.i32", "b.i32")):
        out = self.dir / "out"
        self.good("decode", "-q", "-f", "-o", out, "--device", device, *words, container)
        return [(out / name).read_bytes() for name in names]

    def test_values_that_params_cannot_have(self):
        program = self.file("t.zf", "table t { a: i32 = bitpack; }\n")
        for value in ("33", "99", "-1", "18446744073709551615"):
            self.bad(2, "explain", "--emit", "asm", "--shaping", value, program, says="`width`, is in 0..=32")
        for value in ("18446744073709551616", "x", "1,", "--1", " 1", "-9999999999999999999"):
            self.bad(2, "explain", "--emit", "asm", f"--shaping={value}", program, says="--shaping needs numbers")
        self.bad(2, "explain", "--emit", "plan", "--shaping", "1", program, says="--shaping goes with")
        for value in ("0", "32"):
            self.good("explain", "--emit", "llvm", "--shaping", value, program)


class Compiling(Case):
    def test_what_is_left_out_is_told(self):
        program = self.file("t.zf", "table first { a: i32 = bitpack; }\ntable second { a: i32 = bitpack; s: string = plain; }\n")
        note = "note: table second, column s: no code for any target: "
        for quiet in ([], ["-q"]):
            self.assertIn(note, self.zfc("compile", *quiet, "-f", program, "-o", self.dir / "t.zfm").stderr)
        result = self.zfc("compile", "--json", "-f", program, "-o", self.dir / "t.zfm")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertTrue(json.loads(result.stdout)["left_out"][0].startswith(note[6:]))
        result = self.zfc("compile", "--json", f"{program}:first", "-o", self.dir / "first.zfm")
        self.assertEqual((result.stderr, json.loads(result.stdout)["left_out"]), ("", []))

    def test_the_output_is_no_input(self):
        program = self.file("t.zf", PROGRAM)
        self.bad(2, "compile", "-f", program, "-o", program, says="ZF2014")
        self.assertEqual(program.read_text(), PROGRAM)

    def test_modules_are_counted(self):
        container, module = self.container(), self.dir / "t.zfm"
        self.good("compile", self.dir / "t.zf", "-o", module)
        self.good("verify", *["--module", module] * 16, container)
        self.bad(2, "verify", *["--module", module] * 17, container, says="--module can be given at most 16 times")
        self.assertIn("up to 16 times", self.good("verify", "--help"))
        self.bad(2, "verify", *["-q"] * 4097, container, says="more than 4096 options")

    def test_targets_are_named_once(self):
        program = self.file("t.zf", PROGRAM)
        for words, says in [(["--target", "nvptx,nvptx"], "each once"), (["--target", "host,nvptx,host"], "each once"), (["--target", "emu"], "each once"),
                            (["--target", "host", "--target", "nvptx"], "more than once")]:
            self.bad(2, "compile", *words, program, "-o", self.dir / "t.zfm", says=says)
        self.good("compile", "--target", "nvptx,host", program, "-o", self.dir / "t.zfm")


class Interrupts(Case):
    def test_no_empty_directory_is_left(self):
        container = self.container(200000, program="table t { a: i32 = bitpack; b: i32 = rle(delta(bitpack), bitpack); }\n")
        out = self.dir / "out"
        for number in (signal.SIGINT, signal.SIGTERM):
            process = subprocess.Popen([ZFC, "decode", "-q", "--no-cache", "--device", "emu", "-o", out, container], stderr=subprocess.PIPE)
            end = time.monotonic() + 60
            while not out.exists() and process.poll() is None and time.monotonic() < end:
                time.sleep(0.001)
            process.send_signal(number)
            process.communicate(timeout=60)
            self.assertEqual(process.returncode, -number)
            self.assertFalse(out.exists())


    def test_nothing_is_left_of_generated_columns(self):
        temporary = self.dir / "tmp"
        temporary.mkdir()
        for number, what in itertools.product((signal.SIGINT, signal.SIGTERM), ("*/made.zf", "*/made.zfd")):
            process = subprocess.Popen([ZFC, "bench", "--generate", "bitpack", "--bytes", "10000000", "--device", "emu"], stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL, env={**os.environ, "TMPDIR": str(temporary)})
            end = time.monotonic() + 60
            while not list(temporary.glob(what)) and process.poll() is None and time.monotonic() < end:
                time.sleep(0.0005)
            process.send_signal(number)
            process.wait(timeout=60)
            self.assertEqual((process.returncode, list(temporary.iterdir())), (-number, []))

    def test_a_file_that_is_cut_while_it_is_measured(self):
        whole = self.container(400000, program="table t { a: i32 = bitpack; b: i32 = rle(delta(bitpack), bitpack); }\n").read_bytes()
        for pause in range(8):
            path = self.file(f"cut{pause}.zfd", whole)
            process = subprocess.Popen([ZFC, "bench", "--device", "cpu", "--bytes", "1", "--repeats", "5", path], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            time.sleep(0.02 + 0.015 * pause)
            os.truncate(path, 0)
            told = process.communicate(timeout=60)[1]
            self.assertIn(process.returncode, (0, 1), told)


class InEachOthersPlace(Case):
    def test_files_are_said_to_be_what_they_are(self):
        container, module, program = self.container(), self.dir / "t.zfm", self.dir / "t.zf"
        self.good("compile", program, "-o", module)
        self.bad(1, "inspect", self.file("junk.zfm", b"junk" * 100), says="inspect shows containers (.zfd) and modules (.zfm), and this is neither")
        for words in (["verify"], ["bench"], ["decode", "-o", self.dir / "out"]):
            self.bad(1, *words, module, says=["is a module, not a container", "--module"])
        for words in (["encode", "-o", "x.zfd", "-c", container, "x.csv"], ["compile", f"{container}:t", "-o", "x.zfm"]):
            self.bad(2, *words, says=["is a container, and", "zfc inspect --program"])
        for words in (["explain", module], ["encode", "-o", "x.zfd", "-c", module, "x.csv"], ["compile", module, "-o", "x.zfm"]):
            self.bad(2, *words, says=["is a module, and", "needs a program"], lacks="UTF-8")
        self.bad(1, "compile", f"{program}:t.a", "-o", "x.zfm", says=["no table `t.a`", "columns cannot be named here"])
        for words in (["verify", "--module=", container], ["compile", "-o", "", program], ["decode", "-o", "", container]):
            self.bad(2, *words, says="is given nothing")
        self.bad(1, "compile", program, "-o", self.dir, says="is a directory", lacks="-f overwrites")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
