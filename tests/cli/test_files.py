"""Input and output files of zfc: files that are both, that change, that are not what they seem; decodes that are interrupted. Usage: test_files.py ZFC CUT_FILE_LIBRARY [unittest arguments]"""

import array
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import unittest

sys.dont_write_bytecode = True
import zfc_case  # noqa: E402

CUT_FILE = sys.argv[2]
STD = pathlib.Path(__file__).resolve().parents[2] / "dsl" / "std"


class Case(zfc_case.Case):
    def bad(self, *words, **options):
        """As there, but what it says is what matters here."""
        return super().bad(*words, **options).stderr

    def encode(self, program, out, *inputs, status=0, says=()):
        words = ["encode", "-q", "-f", "-c", program, "-o", out, *inputs]
        return self.bad(status, *words, says=says) if status else self.good(*words)


class OutputsThatAreInputs(Case):
    def links(self, path):
        soft, hard = path.with_name("soft-" + path.name), path.with_name("hard-" + path.name)
        soft.symlink_to(path.name)
        os.link(path, hard)
        return [path, soft, hard]

    def test_encode_spares_the_program_and_its_imports(self):
        imported = self.file("codecs.zf", "codec c: i32 = bitpack;\n")
        program = self.file("t.zf", 'import "codecs.zf";\ntable t { a: i32 = c; }\n')
        source = self.file("t.csv", "a\n1\n2\n")
        before = {path: path.read_bytes() for path in (imported, program, source)}
        for path in before:
            for out in self.links(path):
                self.encode(program, out, source, status=2, says=["ZF2014", "also an input"])
        for path, content in before.items():
            self.assertEqual(path.read_bytes(), content)
        self.encode(program, self.dir / "t.zfd", source)

    def test_links_to_what_has_no_name_stay(self):
        """A link to a pipe, as /dev/stdout may be, or to nothing is no file that could be replaced."""
        program = self.file("t.zf", "table t { a: i32 = bitpack; }\n")
        source = self.file("t.csv", "a\n1\n2\n")
        for target in ("/proc/self/fd/1", "nowhere"):
            link = self.dir / "link"
            link.symlink_to(target)
            self.encode(program, link, source, status=1, says=["ZF1501", "is not a regular file"])
            self.assertEqual(os.readlink(link), target)
            link.unlink()

    def test_decode_spares_the_container(self):
        program = self.file("t.zf", "table t { a: i32 = bitpack; }\n")
        source = self.file("t.csv", "a\n1\n2\n")
        for name, form in [("a.i32", "raw"), ("a.npy", "npy"), ("t.csv", "csv")]:
            out = self.dir / form
            out.mkdir()
            container = out / name
            self.encode(program, container, source)
            before = container.read_bytes()
            self.bad(2, "decode", "-f", "--format", form, "-o", out, container, says=["ZF2014", "also an input"])
            linked = self.dir / f"linked-{form}"
            linked.mkdir()
            (linked / name).symlink_to(container)
            self.bad(2, "decode", "-f", "--format", form, "-o", linked, container, says=["ZF2014"])
            tuned = self.file(f"{form}/tuned.txt", "zipflow tuned kernels, format 1\n")
            beside = self.dir / f"beside-{form}"
            beside.mkdir()
            os.link(tuned, beside / name)
            self.bad(2, "decode", "-f", "--format", form, "--device", "emu", "--tuned", tuned, "-o", beside, container, says=["ZF2014", "also an input"])
            self.assertEqual((beside / name).read_bytes(), tuned.read_bytes())
            tuned.unlink()
            self.assertEqual(container.read_bytes(), before)
            self.assertEqual(sorted(os.listdir(out)), [name])
            self.good("decode", "-q", "-f", "--format", form, "-o", self.dir / f"good-{form}", container)


class InputsThatChange(Case):
    """A pipe that is read between two files tells when zfc has come that far: what is done then is done in the middle of its reading."""

    def changed(self, change, first, second):
        program = self.file("t.zf", "table t { a: i32 = bitpack; b: i32 = bitpack; }\n")
        pipe, out = self.dir / "pipe", self.dir / "t.zfd"
        if not pipe.exists():
            os.mkfifo(pipe)

        def feed():
            with open(pipe, "wb") as to:
                change()
                to.write(second)

        feeder = threading.Thread(target=feed, daemon=True)
        feeder.start()
        result = self.zfc("encode", "-q", "-f", "-c", program, "-o", out, first, f"b={pipe}")
        feeder.join(60)
        return result, out

    def test_files_that_change_are_refused(self):
        values = array.array("i", range(1000)).tobytes()
        raw, text = self.file("a.raw", values), self.file("a.csv", "a\n" + "".join(f"{i}\n" for i in range(1000)))
        result, out = self.changed(lambda: None, f"a={raw}", values)
        self.assertEqual(result.returncode, 0, result.stderr)
        out.unlink()

        def replace(path):
            other = path.with_name("other")
            other.write_bytes(path.read_bytes())
            other.rename(path)

        for path, given in [(raw, f"a={raw}"), (text, text)]:
            content, size = path.read_bytes(), path.stat().st_size
            for change in (lambda: os.truncate(path, size // 2), lambda: os.truncate(path, size),
                           lambda: os.utime(path, ns=(0, 0)), lambda: replace(path), path.unlink):
                path.write_bytes(content)
                result, out = self.changed(change, given, values)
                self.assertEqual(result.returncode, 1, result.stderr)
                self.assertIn("ZF1208", result.stderr)
                self.assertIn(str(path), result.stderr)
                self.assertFalse(out.exists())



class InputsThatAreNotWhatTheySeem(Case):
    def refuse(self, table, inputs, says, *more):
        program = self.file("p.zf", f"table t {{ {table} }}\n")
        message = self.encode(program, self.dir / "x.zfd", *more, *inputs, status=1, says=says)
        self.assertFalse((self.dir / "x.zfd").exists())
        return message

    def test_npy(self):
        raw = self.file("a.npy", array.array("i", [1, 2, 3]).tobytes())
        self.refuse("a: i32 = plain;", [f"a={raw}"], ["ZF2009", "does not begin as one"])

        def npy(descr):
            header = f"{{'descr': {descr}, 'fortran_order': False, 'shape': (2,), }}\n".encode()
            return self.file("b.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(16))

        for type_, descr, says in [("i32", "'<i8'", "elements of type <i8, but the column needs <i4\n"), ("u8", "'<f8'", "<f8, but the column needs |u1\n"),
                                   ("i64", "'<U10'", "elements of type <U10, but"), ("date32", "'<M8[s]'", "<M8[s], but the column needs <i4\n"),
                                   ("timestamp", "'<M8[ps]'", "<M8[ps], but the column needs <i8\n"), ("i32", "[('x', '<i4'), ('y', '<i4')]", "an array of records"),
                                   ("i32", "'" + "x" * 5000, "elements of type xxxxxxxxxxxxxxxxxxxxxxxx, but")]:
            self.refuse(f"a: {type_} = plain;", [f"a={npy(descr)}"], ["ZF2009", says])

    def test_other_kinds_of_files(self):
        for name, begin in [("a Parquet file", b"PAR1\x15\x04"), ("a gzip file", b"\x1f\x8b\x08\x00"), ("a zstd file", b"\x28\xb5\x2f\xfd\x04"), ("a .npy array", b"\x93NUMPY\x01"),
                            ("a zip or .npz file", b"PK\x03\x04\x14"), ("an Arrow file", b"ARROW1\x00\x00"), ("a zipflow container", b"\x89ZFD\r\n")]:
            for more in ([], ["--header", "a"]):
                self.refuse("a: i32 = plain;", [self.file("t.csv", begin + b"\n1\n")], ["ZF2025", f": {name}, not delimited text"], *more)
        program = self.file("p.zf", "table t { PAR1: i32 = plain; }\n")
        for text in ("PAR1\n1\n", "PAR1,PAR2\n1,2\n", "PAR1\r\n1\r\n"):
            self.encode(program, self.dir / "t.zfd", self.file("t.csv", text))

    def test_numbers_that_do_not_fit_are_no_other_thing(self):
        for type_, text in [("u64", "18446744073709551616"), ("u64", "-1"), ("i64", "99999999999999999999999"), ("u8", "256"), ("date32", "+9999999-01-01"),
                            ("timestamp", "+0400000-01-01")]:
            self.refuse(f"a: {type_} = plain;", [self.file("t.csv", f"a\n{text}\n")], ["ZF2002", f"`{text}` is outside its type"])
        for type_, text, reason in [("u64", "18446744073709551616x", "not an integer"), ("decimal(4, 2)", "100000000000000000000", "too large: its type"),
                                    ("date32", "10000-01-01", "not a date"), ("date32", "-1-01-01", "not a date")]:
            self.refuse(f"a: {type_} = plain;", [self.file("t.csv", f"a\n{text}\n")], ["ZF2002", reason])

    def test_raw_decimals_have_the_digits_of_their_type(self):
        for values, row in [([9999, -9999, 10000], 2), ([-10000, 0, 0], 0), ([0, -2**63, 0], 1)]:
            raw = self.file("a.raw", array.array("q", values).tobytes())
            self.refuse("a: decimal(4, 2) = plain;", [f"a={raw}"], ["ZF2002", f"{values[row]} has more digits than decimal(4, 2) has", f"column a, row {row}"])
        good = self.file("a.raw", array.array("q", [9999, -9999]).tobytes())
        self.encode(self.file("p.zf", "table t { a: decimal(4, 2) = plain; }\n"), self.dir / "t.zfd", f"a={good}")

    def test_dates_of_all_years_read_back(self):
        days = array.array("i", [-2**31, -719529, -719528, -719163, 0, 2932896, 2932897, 2**31 - 1])
        micros = array.array("q", [-2**63, -2**63 + 1, -62167219200000001, -62167219200000000, -1, 0, 253402300799999999, 253402300800000000, 2**63 - 1])
        for type_, values in (("date32", days), ("timestamp", micros)):
            program = self.file("p.zf", f"table t {{ a: {type_} = plain; }}\n")
            self.encode(program, self.dir / "t.zfd", f"a={self.file('a.raw', values.tobytes())}")
            self.good("decode", "-q", "-f", "--format", "csv", "-o", self.dir, self.dir / "t.zfd")
            text = (self.dir / "t.csv").read_text()
            for year in ("\n-0001-12-31", "\n0000-01-01", "\n+10000-01-01", "\n1970-01-01"):
                self.assertIn(year, text)
            self.encode(program, self.dir / "back.zfd", self.dir / "t.csv")
            self.good("decode", "-q", "-f", "-o", self.dir / "out", self.dir / "back.zfd")
            self.assertEqual((self.dir / "out" / f"a.{type_}").read_bytes(), values.tobytes())


class Names(Case):
    def test_hints_are_near_names_or_all(self):
        program = self.file("t.zf", "table items { price: i32 = bitpack; amount: i32 = bitpack; }\ncodec small: u32 = bitpack;\n")
        container = self.dir / "t.zfd"
        self.encode(program, container, self.file("t.csv", "price,amount\n1,2\n"))
        for name, says, lacks in [("prise", "did you mean price?", "amount"), ("zzzzzzzz", "there is: price, amount\n", "did you")]:
            self.assertNotIn(lacks, self.bad(2, "decode", "--columns", name, "-o", self.dir / "out", container, says=["ZF1105", says]))
        for name, says in [("nope", "  items\n  small\n"), ("itms", "did you mean `items`?"), ("items.prise", "did you mean `price`?"), ("items.x", "  price\n  amount\n"),
                           ("bitpack", "`bitpack` is an algorithm")]:
            message = self.bad(1, "explain", f"{program}:{name}", says=["ZF2013", says])
            self.assertEqual("did you mean" in message, "did you mean" in says, message)

    def test_algorithms_have_hints_that_compile(self):
        """Each algorithm of the library and some others: the hint's codec is one that `check` accepts."""
        own = "algorithm %s%s(x: %s[]) -> %s[] fully_parallel { decode(i) = x[i]; encode(v) { x.append(v); } }\n"
        texts = [own % ("a1", "", "f64", "f64"), own % ("a2", "<T: float>", "T", "T"), own % ("a3", "<T: signed>", "T", "T"), own % ("a4", "<T>", "T", "T"),
                 own % ("a5", "", "decimal(15, 2)", "decimal(15, 2)"), own % ("a6", "", "bool", "bool")]
        program = self.file("own.zf", "".join(texts) + "codec here: i64 = delta(bitpack);\n")
        library = "\n".join(path.read_text() for path in STD.glob("*.zf"))
        names = [f"a{k}" for k in range(1, 7)] + re.findall(r"^algorithm (\w+)", library, re.M)
        self.assertGreater(len(names), 30)
        hints = ""
        for name in names:
            message = self.bad(1, "explain", f"{program}:{name}", says=["ZF2013", f"`{name}` is an algorithm"])
            hints += re.search(r"such as `codec c(: .* = .*;)`", message).expand(rf"codec c_{name}\1\n")
        self.good("check", self.file("hints.zf", "".join(texts) + hints))
        for name, element in [("a1", "f64"), ("a5", "decimal(15, 2)"), ("zigzag", "i32"), ("alp", "f64"), ("strings", "string"), ("nullable", "u32?")]:
            self.assertIn(f"codec c_{name}: {element} = {name};", hints)

    def test_programs_without_tables(self):
        """The message and its hint agree: codecs are listed where they can be named, and a table is proposed where one is needed."""
        codecs = self.file("codecs.zf", "codec first: i64 = delta(bitpack);\ncodec second: string = strings;\n")
        message = self.bad(1, "explain", codecs, says=["ZF2013", "no table, but codecs; name one: FILE:CODEC", "  first\n  second\n"])
        self.assertNotIn("FILE:TABLE", message)
        for verb in (["compile", "-o", self.dir / "m.zfm", codecs], ["encode", "-c", codecs, "-o", self.dir / "x.zfd", self.file("t.csv", "c\n1\n")]):
            message = self.bad(1, *verb, says=["ZF2013", "the program has no table\n", "such as `table t { c: "])
            table = re.search(r"`(table .*)`", message).group(1)
            self.good("check", self.file("fixed.zf", codecs.read_text() + table))
            self.assertIn("i64 = first" if "first" in table else "string = second", table)
        algorithm = self.file("algorithm.zf", "algorithm same(x: f64[]) -> f64[] fully_parallel { decode(i) = x[i]; encode(v) { x.append(v); } }\n")
        for path in (algorithm, self.file("empty.zf", "\n")):
            message = self.bad(1, "explain", path, says=["ZF2013", "the program has no table\n"])
            table = re.search(r"`(table .*)`", message).group(1)
            self.assertIn("f64 = same" if path == algorithm else "= bitpack", table)
            self.good("check", self.file("fixed.zf", path.read_text() + table))

    def test_alternatives_are_told(self):
        program = self.file("t.zf", "table t { a: f64 = float2int(bitpack | plain) | dictionary(bitpack) | plain; b: i32 = bitpack; }\n")
        text = self.good("explain", f"{program}:t.a")
        self.assertIn("a: alternative 1 of 3 is shown: float2int(ints: bitpack", text)
        self.assertIn("; the others: dictionary(codes: bitpack) | plain\n", text)
        self.assertIn("a.ints: alternative 1 of 2 is shown: bitpack; the other: plain\n", text)
        self.assertNotIn("alternative", self.good("explain", f"{program}:t.b"))
        container = self.dir / "t.zfd"
        rows = [str(i / 100) for i in range(4096)] + [repr(1 / (i + 3.7)) for i in range(8192)]
        source = self.file("t.csv", "a,b\n" + "".join(f"{a},{i}\n" for i, a in enumerate(rows)))
        encoded = json.loads(self.good("encode", "--json", "-c", program, "-o", container, "--rows-per-block", "4096", source))
        shown = self.good("inspect", container)
        self.assertIn("    1 as float2int(ints: bitpack): block 0\n", shown)
        self.assertIn("    2 as plain: blocks 1, 2\n", shown)
        self.assertNotIn(" as bitpack", shown)
        columns = json.loads(self.good("inspect", "--json", container))["columns"]
        self.assertEqual({a["codec"]: a["blocks"] for a in columns[0]["alternatives"]}, {"float2int(ints: bitpack)": 1, "plain": 2})
        self.assertEqual(columns[1]["alternatives"], [])
        self.assertEqual([c["stored_bytes"] for c in encoded["columns"]], [c["stored_bytes"] for c in columns])

    def test_several_texts(self):
        program = self.file("t.zf", "table t { a: i32 = plain; b: i32 = plain; }\n")
        first, second, other = self.file("1.csv", "a\n1\n2\n"), self.file("2.csv", 'a\r\n"3"\r\n'), self.file("3.csv", "b\n4\n5\n6\n")
        self.encode(program, self.dir / "t.zfd", first, other, second)
        self.good("decode", "-q", "-o", self.dir / "out", self.dir / "t.zfd")
        self.assertEqual((self.dir / "out/a.i32").read_bytes(), array.array("i", [1, 2, 3]).tobytes())
        self.assertEqual((self.dir / "out/b.i32").read_bytes(), array.array("i", [4, 5, 6]).tobytes())
        self.encode(program, self.dir / "t.zfd", first, other, status=1, says=["ZF2006"])


class ContainersThatAreCut(Case):
    """Another process cuts the file while it is open, right after zfc looked at it for the n-th time: an error with file, block and byte. Blocks are
    read, not mapped, so it never is a signal."""

    def setUp(self):
        super().setUp()
        self.container = self.dir / "t.zfd"
        program = self.file("t.zf", "table t { a: i32 = bitpack; b: f64 = plain; }\n")
        self.encode(program, self.container, "--rows-per-block", "8192", self.file("t.csv", "a,b\n" + "".join(f"{i},{i / 7}\n" for i in range(20000))))
        self.content = self.container.read_bytes()

    def cut(self, look, *words):
        """The run, and whether there was such a look."""
        environment = os.environ | {"LD_PRELOAD": CUT_FILE, "CUT_FILE": str(self.container.resolve()), "CUT_AT": str(look), "CUT_TO": "0",
                                    "ASAN_OPTIONS": "verify_asan_link_order=0:detect_leaks=0"}
        result = self.zfc(*words, env=environment)
        was_cut = self.container.stat().st_size == 0
        self.container.write_bytes(self.content)
        return result, was_cut

    def test_every_look_of_every_verb(self):
        out = self.dir / "out"
        for verb in (["decode", "-f", "-o", out], ["decode", "-f", "--format", "csv", "-o", out], ["decode", "-f", "--device", "emu", "-o", out], ["verify"],
                     ["pipeline"], ["bench", "--device", "cpu", "--bytes", "1"], ["inspect", "--json"], ["compile", "-f", "-o", self.dir / "m.zfm"]):
            looks, places = 0, set()
            while True:
                looks += zfc_case.next_in_sample(looks)
                result, was_cut = self.cut(looks, *verb, self.container)
                said = f"{verb}, look {looks}: {result.stdout}{result.stderr}"
                if result.returncode == 0: # nothing was read any more
                    shutil.rmtree(out, ignore_errors=True)
                    if was_cut:
                        continue
                    break
                self.assertEqual(result.returncode, 1, said)
                # ZF1202 and, by compile, ZF2013: it was empty when its first bytes were read.
                self.assertRegex(result.stderr, rf"^zfc {verb[0]}: error\[ZF(1208\]: .*\n  at: |1202\]: |2013\]: )\S*t\.zfd", said)
                self.assertFalse(out.exists(), said)
                places |= set(re.findall(r"t\.zfd: column ([ab]), block (\d), byte \d+\n", result.stderr))
            self.assertTrue(places, f"{verb}: none of {looks} looks came before a block")

    def test_nothing_of_others_is_removed(self):
        kept = self.dir / "out"
        kept.mkdir()
        self.file("out/mine", "mine")
        result, was_cut = self.cut(5, "decode", "-f", "-o", kept, self.container)
        self.assertEqual((result.returncode, was_cut, os.listdir(kept)), (1, True, ["mine"]), result.stderr)

    def test_tune(self):
        """The file is opened anew for each measurement. Results from before the cut are kept."""
        found = self.dir / "found.txt"
        for look in (3, 6, 9, 12):
            result, was_cut = self.cut(look, "tune", "--no-cache", "--device", "emu", "--probes", 6, "-f", "-o", found, self.container)
            self.assertTrue(was_cut, f"look {look} never came")
            self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
            self.assertIn("zfc tune: error[ZF1208]", result.stderr)


class InterruptedDecodes(Case):
    def test_no_file_of_a_temporary_name_is_left(self):
        container = self.dir / "t.zfd"
        program = self.file("t.zf", "table t { a: i32 = plain; b: i32 = rle(delta(bitpack), bitpack); }\n")
        self.encode(program, container, self.file("t.csv", "a,b\n" + "".join(f"{i % 7},{i}\n" for i in range(100000))))
        without_unnamed_files = os.environ | {"LD_PRELOAD": CUT_FILE, "ASAN_OPTIONS": "verify_asan_link_order=0:detect_leaks=0"}
        for number, form, is_there in [(signal.SIGINT, "raw", True), (signal.SIGTERM, "csv", True), (signal.SIGHUP, "npy", False),
                                       (signal.SIGQUIT, "raw", False), (signal.SIGPIPE, "raw", False)]:
            in_time = any(self.interrupt(container, number, form, is_there, without_unnamed_files) for _ in range(8))
            self.assertTrue(in_time, f"each decode was over before {number!r} came")

    def interrupt(self, container, number, form, is_there, environment):
        """Whether the signal came before a file had its name; one that has is whole."""
        out, whole = self.dir / "out", self.dir / "whole"
        if is_there:
            out.mkdir()
        process = subprocess.Popen([zfc_case.ZFC, "decode", "-q", "--no-cache", "--device", "emu", "--format", form, "-o", out, container], env=environment)
        end = time.monotonic() + 60
        while not (out.exists() and os.listdir(out)) and process.poll() is None and time.monotonic() < end:
            time.sleep(0.001)
        process.send_signal(number)
        self.assertIn(process.wait(60), (-number, 0))
        named = list(out.iterdir()) if out.exists() else []
        if named:
            self.good("decode", "-q", "--no-cache", "--device", "cpu", "--format", form, "-o", whole, container)
            for file in named:
                self.assertEqual(file.read_bytes(), (whole / file.name).read_bytes(), file.name)
            shutil.rmtree(whole)
        else:
            self.assertEqual([out.exists(), process.returncode], [is_there, -number])
        shutil.rmtree(out, ignore_errors=True)
        return not named


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
