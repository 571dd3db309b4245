"""Inputs of `zfc encode`: text, raw elements and .npy arrays, as other programs write them. Usage: test_intake.py ZFC"""

import array
import bz2
import datetime
import gzip
import io
import itertools
import lzma
import pathlib
import random
import sqlite3
import struct
import tarfile
import subprocess
import sys
import unittest
import zipfile

sys.dont_write_bytecode = True
import zfc_case  # noqa: E402

# Each type with a value as text and as decode prints it, and a codec.
NUMBERS = {t: ("7", "7") for t in ("u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "f32", "f64")}
TYPES = {**NUMBERS, "bool": ("True", "true"), "date32": ("2020-02-29", "2020-02-29"), "timestamp": ("2020-02-29 01:02:03", "2020-02-29 01:02:03"),
         "decimal(9, 2)": ("1.50", "1.50"), "string": ("text", "text")}
WORDS = ("NULL", "NA", "\\N", "null", "-", "nan", "")


def setUpModule():
    zfc_case.cache_of_module()


class Case(zfc_case.Case):
    SECONDS = 120

    def program(self, *columns):
        """Columns are (name, type); strings and nulls get a codec that holds them."""
        text = []
        for name, kind in columns:
            codec = "strings" if kind.startswith("string") else "plain"
            text.append(f"{name}: {kind} = {f'nullable(values: {codec})' if kind.endswith('?') else codec};")
        return self.file("t.zf", f"table t {{ {' '.join(text)} }}\n")

    def encode(self, *words):
        return ("encode", "-q", "-f", "-c", self.dir / "t.zf", "-o", self.dir / "t.zfd", *words)

    def rows(self, *words):
        """Encodes, and returns the rows as decode prints them, without the header."""
        self.good(*self.encode(*words))
        self.good("decode", "-q", "-f", "--format", "csv", "-o", self.dir / "out", self.dir / "t.zfd")
        return (self.dir / "out/t.csv").read_bytes().split(b"\n", 1)[1].decode()

    def refused(self, code, *words, says=(), lacks=(), status=1):
        result = self.bad(status, *self.encode(*words), says=[f"error[{code}]", *([says] if isinstance(says, str) else says)], lacks=["Sanitizer", *lacks])
        self.assertFalse((self.dir / "t.zfd").exists())
        return result.stderr

    def raw(self, name):
        self.good("decode", "-q", "-f", "-o", self.dir / "raw", self.dir / "t.zfd")
        return (self.dir / "raw" / name).read_bytes()


class Values(Case):
    def test_booleans(self):
        words = {w: "01"[i % 2] for i, w in enumerate(("0", "1", "f", "t", "F", "T", "false", "true", "False", "True", "FALSE", "TRUE"))}
        for kind in ("bool", "bool?"):
            self.program(("c", kind))
            rows = self.rows(self.file("t.csv", "c\n" + "".join(f'{w}\n"{w}"\n' for w in words)))
            self.assertEqual(rows, "".join(("false", "true")[int(v)] + "\n" for v in words.values() for _ in "12"))
        self.program(("c", "bool"))
        (self.dir / "t.zfd").unlink()
        for word in ("yes", "tRUE", "2", "1.0", "00", "truee", "tru", " true", "TRUE "):
            self.refused("ZF2002", self.file("t.csv", f"c\n{word}\n"), says=["is not a boolean (true, false, True", "line 2, field 1 (c)"])

    def test_timestamps(self):
        """Every form of fraction and zone, against Python's datetime."""
        chooser = random.Random(5)
        zones = {"": 0, "Z": 0, " Z": 0, "UTC": 0, " UTC": 0, "+00": 0, "+00:00": 0, "-00:00": 0, "+0000": 0, " +0000": 0, "+05:30": 19800, "-03": -10800, "-0330": -12600,
                 "+14:00": 50400, "-12:00": -43200, "+00:19:32": 1172, "-23:59:59": -86399}
        texts, wanted = [], []
        for zone, seconds in zones.items():
            for digits in range(0, 13):
                moment = datetime.datetime(1, 1, 2) + datetime.timedelta(microseconds=chooser.randrange(3 * 10**17))
                micros = moment.microsecond // 10**max(6 - digits, 0) * 10**max(6 - digits, 0)
                moment = moment.replace(microsecond=micros)
                fraction = f".{f'{micros:06}' + '0' * 6}"[:digits + 1] if digits else ""
                texts.append(moment.strftime(f"{moment.year:04}-%m-%d{chooser.choice(' T')}%H:%M:%S") + fraction + zone)
                wanted.append((moment - datetime.datetime(1970, 1, 1)) // datetime.timedelta(microseconds=1) - seconds * 10**6)
        texts += ["2020-02-29", "1969-12-31 23:59:59.999999000"] # a date is its midnight
        wanted += [1582934400000000, -1]
        self.program(("c", "timestamp"))
        self.good(*self.encode(self.file("t.csv", "\n".join(["c", *texts, ""]))))
        self.assertEqual(list(array.array("q", self.raw("c.timestamp"))), wanted)
        (self.dir / "t.zfd").unlink()
        at = "2020-01-01 00:00:00"
        for text in (at + ".000000001", at + ".1234567", at + ".123456789+00", at + ".0000000000001Z"):
            self.refused("ZF2002", self.file("t.csv", f"c\n{text}\n"), says=[f"`{text}` is finer than the microseconds of a timestamp", "line 2, field 1 (c)"])
        for text in (at + "+", at + "+1", at + "+1:00", at + "+24", at + "+00:60", at + "+00:00:60", at + "+00:", at + "+000", at + "+00000", at + "z", at + " ", at + "  Z", at + "CET", at + "ZZ",
                     at + ".", at + ".Z", "2020-01-01Z", "2020-01-01 00:00Z", "2020-01-01 24:00:00"):
            self.refused("ZF2002", self.file("t.csv", f"c\n{text}\n"), says=["is not a timestamp", "line 2, field 1 (c)"])
        # A zone leads out of the type, and into it.
        last = "+294247-01-10 04:00:54.775807"
        self.assertEqual(self.rows(self.file("t.csv", f"c\n{last}\n{last.replace('04:', '05:')}+01\n")), f"{last}\n" * 2)
        (self.dir / "t.zfd").unlink()
        for text in (last + "-00:00:01", last.replace("7Z", "8Z").replace("775807", "775808")):
            self.refused("ZF2002", self.file("t.csv", f"c\n{text}\n"), says="is outside its type")

    def test_long_numbers(self):
        zeros = "0" * 400
        long = {f"{zeros}7": "7", f"7.{zeros}": "7", f"0.{'0' * 300}1e301": "1", f"7.{zeros}1": "7", f"1{'0' * 300}.5e-300": "1", f"-0.{zeros}": "-0", f"0.{'3' * 400}": f"{1 / 3!r}",
                f"1{zeros}e-400": "1"}
        self.program(("c", "f64"))
        rows = self.rows(self.file("t.csv", "\n".join(["c", *long, ""])))
        self.assertEqual(rows.split(), list(long.values()))
        whole = [kind for kind in TYPES if kind[0] in "uid" and kind != "date32"]
        self.program(*((f"c{i}", kind) for i, kind in enumerate(whole)))
        text = ",".join(f"c{i}" for i in range(len(whole))) + "\n" + ",".join([f"{zeros}7"] * len(whole)) + "\n"
        self.assertEqual(self.rows(self.file("t.csv", text)), ",".join("7.00" if kind[0] == "d" else "7" for kind in whole) + "\n")
        (self.dir / "t.zfd").unlink()
        for kind, text, says in [("f64", f"1{zeros}", "too large for its type"), ("f64", f"-0.{zeros}1", "not 0, but too small"), ("f64", "1e-400", "not 0, but too small"),
                                 ("f32", "1e-60", "not 0, but too small"), ("f32", "1e39", "too large"), ("i64", f"1{zeros}", "outside its type"), ("u8", f"1{zeros}", "outside its type"),
                                 ("decimal(9, 2)", f"1{zeros}", "is too large: its type has fewer digits before the point"), ("decimal(9, 2)", f"0.{zeros}1", "not a decimal: a sign, digits and a point, and no more digits after the point"),
                                 ("decimal(9, 2)", "1e2", "not a decimal: a sign, digits and a point"), ("f64", f"{zeros}x", "not a number"), ("f64", f"1.{zeros}.", "not a number")]:
            self.program(("c", kind))
            self.refused("ZF2002", self.file("t.csv", f"c\n{text}\n"), says=[says, "line 2, field 1 (c)"])

    def test_signs_of_nan_and_the_least_numbers(self):
        self.program(("c", "f64"))
        self.rows(self.file("t.csv", "c\nnan\n-nan\nNaN\n4.9e-324\n-Infinity\n"))
        self.assertEqual([f"{v:016x}" for v in struct.unpack("<5Q", self.raw("c.f64"))], ["7ff8000000000000", "fff8000000000000", "7ff8000000000000", "0000000000000001", "fff0000000000000"])


class Nulls(Case):
    def test_words_in_every_type(self):
        """In each type, in quotes or not, nullable or not, with the word given or not."""
        kinds = list(TYPES)
        names = [f"c{i}" for i in range(len(kinds))]
        self.program(*((name, kind + "?") for name, kind in zip(names, kinds)))
        header = ",".join(names) + "\n"
        for words in [(w,) for w in WORDS] + [WORDS]:
            text = header + "".join(",".join([w] * len(kinds)) + "\n" for w in words) + ",".join(v for v, _ in TYPES.values()) + "\n"
            given = [f"--null={w}" for w in words]
            self.assertEqual(self.rows(*given, self.file("t.csv", text)), ("," * (len(kinds) - 1) + "\n") * len(words) + ",".join(p for _, p in TYPES.values()) + "\n")
        (self.dir / "t.zfd").unlink()
        for kind in TYPES:
            for nullable, quoted, word, given in itertools.product((False, True), (False, True), ("NA", ""), (False, True)):
                if kind not in ("i32", "bool", "string") and (quoted or given or word == ""):
                    continue # types that are read alike
                null = not quoted and (given or word == "")
                text = self.file("t.csv", 'c,d\n"%s",\n' % word if quoted else f"c,d\n{word},\n")
                self.program(("c", kind + "?" * nullable), ("d", "string"))
                given = [f"--null={word}"] if given else []
                if null and nullable:
                    self.assertEqual(self.rows(*given, text), ',""\n')
                elif kind == "string" and not (null and word):
                    self.assertEqual(self.rows(*given, text), f'{word},""\n' if word else '"",""\n')
                else:
                    code = "ZF2016" if null or (word == "" and not nullable) else "ZF2002"
                    self.refused(code, *given, text, says=["line 2, field 1 (c)", *(["not nullable"] if code == "ZF2016" else [])])
                    continue
                (self.dir / "t.zfd").unlink()

    def test_the_empty_field_is_a_word_like_others(self):
        self.program(("c", "i32?"), ("s", "string?"))
        text = self.file("t.csv", "c,s\nNA,NA\n1,\n")
        self.assertEqual(self.rows("--null", "NA", text), ',\n1,""\n')
        self.assertEqual(self.rows("--null", "NA", "--null", "", text), ",\n1,\n")
        (self.dir / "t.zfd").unlink()
        self.refused("ZF2002", "--null", "NA", self.file("t.csv", "c,s\n,\n"), says=["an empty field is not an integer", "add --null ''"])
        self.refused("ZF2002", self.file("t.csv", "c,s\nNA,\n"), says=["`NA` is not an integer", "give it by --null"])


class Headers(Case):
    def setUp(self):
        super().setUp()
        self.program(("st", "string"), ("city", "string"))
        self.states = self.file("states.csv", "state,city\nWA,Seattle\n")

    def test_a_header_is_renamed_or_skipped(self):
        for words in (["--field", "st=state"], ["--skip-rows", "1", "--header", "st,city"], ["--skip-rows=1", "--header", "x,city", "--field=st=x"]):
            self.assertEqual(self.rows(*words, self.states), "WA,Seattle\n")
        odd = 'first name,"a=b\nc",,état,"x, ""y"""\n'
        for i, name in enumerate(["first name", "a=b\nc", "", "état", 'x, "y"']):
            values = [str(k) for k in range(5)]
            self.program(("c", "i32"))
            self.assertEqual(self.rows("--field", f"c={name}", self.file("odd.csv", odd + ",".join(values) + "\n")), f"{i}\n")
        self.program(("a", "i32"), ("b", "i32"))
        swap = self.file("swap.csv", "a,b\n1,2\n")
        self.assertEqual(self.rows("--field=a=b", "--field=b=a", swap), "2,1\n")
        left, right = self.file("left.csv", "a\n1\n"), self.file("right.csv", "bee\n2\n")
        self.assertEqual(self.rows("--field=b=bee", left, right), "1,2\n")
        self.assertEqual(self.rows("--field=b=bee", left, right, left, right), "1,2\n1,2\n")

    def test_names_of_fields_are_kept(self):
        """`x` is the name of column `y`: names come before identifiers, and one with a comma stands in quotes."""
        self.program(("x", "i32"), ("y", "i32"), ("z", "i32"))
        text = self.file("t.csv", 'y,x,"a,""b"",c"\n1,2,3\n')
        given = ("--field=x=y", "--field=y=x", '--field=z=a,"b",c')
        self.assertEqual(self.rows(*given, text), "1,2,3\n")
        self.assertEqual((self.dir / "out/t.csv").read_text().split("\n")[0], 'y,x,"a,""b"",c"')
        for name, file, value in (("x", "y", 2), ("y", "x", 1), ('"a,""b"",c"', "z", 3), ("z", "z", 3), ('"x"', "y", 2)):
            self.good("decode", "-q", "-o", self.dir / name, self.dir / "t.zfd", "--columns", name)
            found = {path.name: path.read_bytes() for path in (self.dir / name).iterdir()}
            self.assertEqual(found, {f"{file}.i32": value.to_bytes(4, "little")}, name)
            self.assertIn(f":{file} ", self.good("pipeline", self.dir / "t.zfd", self.dir / "t.zfd", "--columns", name))
        for names, says in (('"x', "a quote is open"), ('"x""', "a quote is open"), ('"', "a quote is open"), ('"x"y', "text behind a quoted name"), ("x,,y", "an empty name"), ("x,", "an empty name"),
                            ('""', "an empty name"), ("", "is given nothing"), ("x,\"x\"", "names `x` twice"), ('"' + "n" * 5000 + '"', "a name of 5000 bytes"),
                            ("n" * 300, "a name of 300 bytes"), ("a,b", "no column is called \"a\"")):
            self.bad(2, "decode", "-o", self.dir / "none", self.dir / "t.zfd", "--columns", names, says=says)
            self.bad(2, "pipeline", self.dir / "t.zfd", self.dir / "t.zfd", "--columns", names, says="--columns")
        long = "n" * 400
        self.assertEqual(self.rows(f"--field=z={long}", "--header", f"x,y,{long}", self.file("u.csv", "4,5,6\n")), "4,5,6\n")
        self.good("decode", "-q", "-o", self.dir / "long", self.dir / "t.zfd", "--columns", long)
        self.assertEqual((self.dir / "long/z.i32").read_bytes(), bytes([6, 0, 0, 0]))

    def test_version_1_says_that_it_keeps_no_names(self):
        words = ("encode", "-f", "-c", self.dir / "t.zf", "-o", self.dir / "t.zfd", "--field=st=state", "--format", 1, self.states)
        self.assertIn("note: version 1 keeps the names of columns", self.zfc(*words).stderr)
        self.assertEqual(self.zfc(*words, "-q").stderr, "")
        self.good("decode", "-q", "--format", "csv", "-o", self.dir / "out", self.dir / "t.zfd")
        self.assertEqual((self.dir / "out/t.csv").read_text(), "st,city\nWA,Seattle\n")

    def test_rows_above_the_header(self):
        above = '# a "quoted" remark, and more\n"two\nlines",x\n"odd"er,\n\n'
        text = self.file("above.csv", above + "st,city\r\nWA,Seattle\r\n")
        self.assertEqual(self.rows("--skip-rows", "4", text), "WA,Seattle\n")
        self.assertEqual(self.rows("--skip-rows", "4", text, text), "WA,Seattle\n" * 2)
        self.assertEqual(self.rows("--skip-rows", "5", "--header", "st,city", text), "WA,Seattle\n")
        self.assertEqual(self.rows("--skip-rows", "6", "--header", "st,city", text), "")
        (self.dir / "t.zfd").unlink()
        self.refused("ZF2007", "--skip-rows", "7", "--header", "st,city", text, says="--skip-rows 7, but the text has 6 rows")
        self.refused("ZF2007", "--skip-rows", "6", text, says="no header row: the file is empty behind the skipped rows")
        self.refused("ZF2008", "--skip-rows", "4", self.file("odd.csv", above + "st,city\nWA\n"), says="line 7")

    def test_quotes_above_the_header(self):
        """A quote that does not enclose a field is a character: rows behind its line are not skipped with it."""
        rows, printed = 'st,city\n"WA","Sea\nttle"\n', 'WA,"Sea\nttle"\n'
        for above in ('"unit\n', '"unit\r\n', 'x,"unit\n', '"unit" of x\n', '"a,b\n', '"\n', '"unit of ""x""\n', '"two\nlines"\n', '"' + "x" * 70000 + "\n"):
            self.assertEqual(self.rows("--skip-rows", "1", self.file("t.csv", above + rows)), printed, above[:20])
        self.assertEqual(self.rows("--skip-rows", "1", self.file("t.csv", '"unit\nst,city\n' + "WA,Seattle\n" * 30000)), "WA,Seattle\n" * 30000)
        long = '"' + "\n".join(["x" * 99] * 700) + '"\n'
        self.assertEqual(self.rows("--skip-rows", "700", self.file("t.csv", long + rows)), printed, "a quoted field of more than 64 KiB")

    def test_a_header_never_becomes_data_by_a_hint(self):
        error = self.refused("ZF2004", self.states, says=["no input gives column `st`", "--field st=FIELD"])
        self.assertNotIn("--header", error)
        self.refused("ZF2007", "--header", "st,city", self.states, says=["the first row looks like a header", "line 1, field 2 (city)", "--skip-rows 1"])
        self.assertEqual(self.rows("--header", "st,city", "--skip-rows", "0", self.states), "state,city\nWA,Seattle\n")
        self.program(("a", "i32"), ("b", "string"))
        (self.dir / "t.zfd").unlink()
        self.refused("ZF2002", "--header", "a,b", self.file("t.csv", "x,y\n1,2\n"), says=["`x` is not an integer", "if it is a header, --skip-rows 1 skips it"])
        self.refused("ZF2002", "--header", "a,b", self.file("t.csv", "1,y\nx,2\n"), says="`x` is not an integer", lacks=["skip"])

    def test_mistakes(self):
        for words, code, says in [(["--field", "st"], "ZF2014", "--field needs COLUMN=FIELD, not `st`"), (["--field", "=x"], "ZF2014", "--field needs COLUMN=FIELD"),
                                  (["--field", "cit=x"], "ZF2003", "did you mean `city`?"), (["--field=st=a", "--field=st=b"], "ZF2014", "gives column `st` twice"),
                                  (["--field", "st=city"], "ZF2014", "is for columns `st` and `city`"), (["--skip-rows", "-1"], "ZF2014", "--skip-rows needs a number"),
                                  (["--skip-rows", "x"], "ZF2014", "--skip-rows needs a number"), (["--skip-rows", "9" * 19], "ZF2014", "--skip-rows needs a number"),
                                  (["--raw"], "ZF2014", "--raw is for inputs COLUMN=FILE"), (["--input-memory", "0"], "ZF2014", "--input-memory needs bytes")]:
            self.refused(code, *words, self.states, says=says, status=2)
        self.refused("ZF2004", "--field", "st=State", self.states, says=["no input gives column `st`", "no header has the field `State`"])
        for word in ('"', 'N"A', "a,b", "\n"):
            self.refused("ZF2014", "--null", word, self.states, says="--null: no field without quotes has a quote", status=2)
        for option in (["--header", "c"], ["--skip-rows", "1"], ["--field", "c=x"], ["--delimiter", ";"], ["--null", "NA"]):
            self.program(("c", "i32"))
            self.refused("ZF2014", *option, f"c={self.file('c.i32', bytes(8))}", says=f"{option[0]} is for delimited text, and no input is text", status=2)


class Text(Case):
    def test_ends_of_lines(self):
        """A carriage return ends no line alone, wherever it stands, and is a character in quotes."""
        self.program(("a", "string"), ("b", "string"))
        self.assertEqual(self.rows(self.file("t.csv", b'a,b\r\n1,2\n3,"\r"\r\n5,6')), '1,2\n3,"\r"\n5,6\n')
        (self.dir / "t.zfd").unlink()
        for text, line in [(b"a,b\r1,2\r", 1), (b"a,b\n1,2\r3,4\n", 2), (b"a,b\n1\r,2\n", 2), (b"a,b\n\r1,2\n", 2), (b"a,b\n1,2\r", 2), (b"a,b\n1,2\r\r\n", 2), (b'a,b\n"1\n1",2\r3,4\n', 3),
                           (b'a,b\n1,"2\n"\r3', 3), (b"a,b\n1,2\r\n\r", 3)]:
            self.refused("ZF2007", self.file("t.csv", text), says=["a carriage return that is not followed by a line feed", f"t.csv: line {line}, "])

    def test_blank_lines(self):
        """In a table of one field each line is a row. In others a blank line is none."""
        for kind, (text, printed) in TYPES.items():
            for nullable in (False, True):
                self.program(("c", kind + "?" * nullable))
                rows = {"first": f"\n{text}\n", "middle": f"{text}\n\n{text}\n", "last": f"{text}\n\n", "two": f"{text}\r\n\r\n\r\n"}
                for where in rows if kind in ("i32", "string") else ["last"] if kind in ("bool", "timestamp", "f64") else []:
                    source = self.file("t.csv", "c\n" + rows[where])
                    if nullable or kind == "string":
                        blank = "" if nullable else '""'
                        wanted = "".join((printed if line else blank) + "\n" for line in rows[where].replace("\r", "").split("\n")[:-1])
                        self.assertEqual(self.rows(source), wanted, (kind, where))
                        (self.dir / "t.zfd").unlink()
                    else:
                        line = {"first": 2, "middle": 3, "last": 3, "two": 3}[where]
                        self.refused("ZF2016", source, says=["a blank line: an empty field, but the column is not nullable", f"line {line}, field 1 (c)"])
        self.program(("c", "string"))
        self.assertEqual(self.rows(self.file("t.csv", 'c\na\n""\n')), 'a\n""\n')
        self.program(("c", "string?"))
        self.assertEqual(self.rows(self.file("t.csv", 'c\na\n""\n\n')), 'a\n""\n\n')
        self.assertEqual(self.rows("--null", "NA", self.file("t.csv", "c\na\n\nNA\n")), 'a\n""\n\n')
        self.program(("a", "i32?"), ("b", "string"))
        self.assertEqual(self.rows(self.file("t.csv", "\na,b\n\n1,2\n\n\n3,4\n\n")), "1,2\n3,4\n")

    def test_numbers_of_fields(self):
        self.program(("a", "i32?"), ("b", "string"))
        self.assertEqual(self.rows(self.file("t.csv", "a,b\n1,2,\n3,4\n,,\n")), '1,2\n3,4\n,""\n')
        self.assertEqual(self.rows(self.file("t.csv", "a,b,\n1,2,\n3,4,")), "1,2\n3,4\n")
        self.assertEqual(self.rows("--delimiter", "|", "--header", "a,b", self.file("t.csv", "1|2|\n3|4|\n")), "1,2\n3,4\n")
        (self.dir / "t.zfd").unlink()
        for text, count, line in [("a,b\n1\n", "1 field,", 2), ("a,b\n1,2\n3\n", "1 field,", 3), ("a,b\n1,2,3\n", "at least 3 fields", 2), ('a,b\n1,2,""\n', "at least 3 fields", 2),
                                  ("a,b\n1,2,,\n", "at least 3 fields", 2), ('a,b\n"1","2\n",3\n', "at least 3 fields", 2)]:
            self.refused("ZF2008", self.file("t.csv", text), says=[f"the row has {count}", "the header 2", f"line {line}, "])
        wide = ",".join(["a", "b", *(f"c{i}" for i in range(4095))])
        self.refused("ZF2008", self.file("t.csv", wide + "\n"), says=["more than 4096 fields", "texts stand side by side"])

    def test_quotes_marks_and_nuls(self):
        self.program(("a", "string"), ("b", "string"))
        text = b'\xef\xbb\xbf"a",b\r\n"x ""y"" \n, z","\r\n"\r\n\0q\0,\xff\xfe\n"""","a""\n"'
        self.good(*self.encode(self.file("t.csv", text)))
        self.assertEqual(self.raw("a.bytes"), b'x "y" \n, z\0q\0"')
        self.assertEqual(self.raw("b.bytes"), b'\r\n\xff\xfea"\n')
        (self.dir / "t.zfd").unlink()
        for text, line, says in [('a,b\nx"y,1\n', 2, "a quote in the middle of a field"), ('a,b\n"x"y,1\n', 2, "a quoted field with a quote in its middle"),
                                 ('a,b\n1,2\n"x\n\n"y,1\n', 3, "at line 5: is its own quote left open?"), ('a,b\n1,"2\n3,4\n', 2, "a quoted field that does not end"), ('a,b\n1,"', 2, "does not end"),
                                 ('a,b\n"1" ,2\n', 2, "a quoted field with a quote in its middle")]:
            self.refused("ZF2007", self.file("t.csv", text), says=[says, f"line {line}, "])
        self.program(("c", "i32"))
        self.refused("ZF2002", self.file("t.csv", b"c\n1\0\n"), says="`1\\x00` is not an integer")

    def test_fields_across_pieces_of_the_file(self):
        """The file is read in pieces of 2^18 bytes, and more for a longer field: every place of a piece's end in a row, and long fields."""
        row = b'ab,"c""\r\nd"\r\n'
        self.program(("a", "string"), ("b", "string"))
        piece = 1 << 18
        for shift in range(len(row) + 1):
            first = b"x" * (piece - 4 - 3 - shift - 2)
            self.good(*self.encode(self.file("t.csv", b"a,b\n" + first + b",1\n" + row * 3)))
            self.assertEqual(self.raw("a.bytes"), first + b"ab" * 3)
            self.assertEqual((self.dir / "raw/b.bytes").read_bytes(), b"1" + b'c"\r\nd' * 3)
        long = b'"' * (piece + 1)
        self.good(*self.encode(self.file("t.csv", b'a,b\n"' + long + long + b'",' + b"y" * 3 * piece + b"\n")))
        self.assertEqual(self.raw("a.bytes"), long)
        self.assertEqual(self.raw("b.bytes"), b"y" * 3 * piece)


def other_formats():
    """Files of other programs, with the name that the error has."""
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w") as archive:
        archive.writestr("c.npy", bytes(80))
    empty = io.BytesIO()
    zipfile.ZipFile(empty, "w").close()
    tarred = io.BytesIO()
    with tarfile.open(fileobj=tarred, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        archive.addfile(tarfile.TarInfo("name"))
    base = sqlite3.connect(":memory:")
    base.execute("create table t (c)")
    data = bytes(range(200))
    formats = {"a zip or .npz file": zipped.getvalue(), "an empty zip file": empty.getvalue(), "an xz file": lzma.compress(data), "a bzip2 file": bz2.compress(data),
               "a Parquet file": b"PAR1\x15\x04" + data + b"PAR1", "an Arrow file": b"ARROW1\0\0" + data + b"ARROW1", "a Feather file": b"FEA1\0\0\0\0" + data + b"FEA1",
               "an ORC file": b"ORC\x0a\x03" + data + b"ORC\x17", "a zstd file": b"\x28\xb5\x2f\xfd" + data, "an LZ4 file": b"\x04\x22\x4d\x18" + data,
               "a zipflow container": b"\x89ZFD\r\n\x1a\n" + data, "a zipflow module": b"\x89ZFM\r\n\x1a\n" + data, "a PNG image": b"\x89PNG\r\n\x1a\n" + data,
               "an ELF program": pathlib.Path(zfc_case.ZFC).read_bytes()[:4096], "a 7z file": b"7z\xbc\xaf\x27\x1c" + data, "an Avro file": b"Obj\x01" + data,
               "an HDF5 file": b"\x89HDF\r\n\x1a\n" + data, "a tar file": tarred.getvalue(), "a DuckDB database": bytes(8) + b"DUCK" + struct.pack("<Q", 64) + bytes(12288), "a PDF file": b"%PDF-1.7\n\x01" + data}
    if hasattr(base, "serialize"):
        formats["an SQLite database"] = base.serialize()
    return [*formats.items(), *(("a gzip file", gzip.compress(data, level)) for level in (1, 6, 9))]


class Formats(Case):
    def test_other_formats_are_no_elements_and_no_text(self):
        for i, (name, content) in enumerate(other_formats()):
            kind = ("i64", "u8")[i % 2]
            self.program(("c", kind))
            content += bytes(-len(content) % 8) if not name.startswith(("a Par", "an ORC", "a Fea")) else b""
            source = self.file("data", content)
            self.refused("ZF2025", f"c={source}", says=[f"{name}, not raw elements", f"at: {source}\n", "--raw"])
            self.refused("ZF2025", source, says=f"{name}, not delimited text")
            if i % 6 == 5:
                self.good(*self.encode("--raw", f"c={source}"))
                self.assertEqual(self.raw("c.u8"), content)
                (self.dir / "t.zfd").unlink()
        self.program(("s", "string"))
        self.refused("ZF2025", f"s.offsets={self.file('o', struct.pack('<2q', 0, len(content)))}", f"s.bytes={source}", says="a gzip file, not raw elements")

    def test_numbers_and_words_that_begin_alike(self):
        self.program(("s", "string"))
        self.good(*self.encode(self.file("t.csv", "s\n12345 DUCK\x01 and more\n")))  # found by the fuzz target `input`
        self.assertEqual(self.raw("s.bytes"), b"12345 DUCK\x01 and more")
        self.good(*self.encode(self.file("t.csv", "s\n12345 DUCK@\0\0\0\0\0\0\0 and more\n")))  # as well: a database has 12288 bytes
        self.assertEqual(self.raw("s.bytes"), b"12345 DUCK@" + bytes(7) + b" and more")
        # and a word at byte 257: a tar file has the sum of its header
        row = "\x01" + "n" * 254 + "ustar" + "n" * 400
        self.good(*self.encode(self.file("t.csv", f"s\n{row}\n")))
        self.assertEqual(self.raw("s.bytes"), row.encode())
        for kind, code, values in [("i32", "i", [559903, 1, 1000, 7, 7]), ("i64", "q", [559903, 5, 6]), ("i32", "i", [4411983, 1, 2, 3]), ("i64", "q", [1380011344, 1, 2])]:
            self.program(("c", kind))
            content = array.array(code, values).tobytes()
            self.good(*self.encode(f"c={self.file('c', content)}"))
            self.assertEqual(self.raw(f"c.{kind}"), content)
        for name in ("PAR1", "ORC", "BZh", "PK", "FEA1", "%PDF-", "ARROW1"):
            self.good(*self.encode("--field", f"c={name}", self.file("t.csv", f"{name}\n5\n600000000000\n7000000\n")))

    def test_arrays_of_numpy(self):
        def npy(descr, shape, data, order="False"):
            header = f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}".encode()
            header += b" " * (-(len(header) + 11) % 64) + b"\n"
            return self.file("c.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data)

        self.program(("c", "i64"))
        for shape, says in [("()", "a single value (an array without a dimension)"), ("(1, 1)", "an array of 2 dimensions"), ("(1, 1, 1)", "an array of 3 dimensions"), ("(1,1)", "an array of 2 dimensions"),
                            ("(2,)", "shape and size of the file differ: 2 elements of 8 bytes, but 8 bytes behind the header"),
                            ("(0,)", "shape and size of the file differ: 0 elements"), ("5", "a shape that is no tuple"), ("(4L,)", "a shape that cannot be read: (4L,)"),
                            ("(1, 1", "the header ends within the shape"), ("(-1,)", "a shape that cannot be read: (-1,)")]:
            self.refused("ZF2009", f"c={npy('<i8', shape, bytes(8))}", says=says)
        header = b"{'descr': '<i8', 'fortran_order': False, 'shape': (1,)}".ljust(70000)
        whole = b"\x93NUMPY\x02\x00" + struct.pack("<I", len(header)) + header + bytes(8)
        cut = b"{'descr': '<i8', 'fortran_order': False, 'shape': (1".ljust(118)
        self.refused("ZF2009", f"c={self.file('c.npy', b'%sNUMPY%s' % (bytes([0x93]), bytes([1, 0, 118, 0])) + cut + bytes(8))}", says="the header ends within the shape")
        for content, says in ((whole, "a header of more than 65536 bytes"), (whole[:70000], "the file is cut short")):
            self.refused("ZF2009", f"c={self.file('c.npy', content)}", says=says)
        self.refused("ZF2009", f"c={npy('<i8', '(1,)', bytes(9))}", says="shape and size of the file differ")
        self.refused("ZF2009", f"c={npy('<M8[ns]', '(1,)', bytes(8))}", says="elements of type <M8[ns], but the column needs <i8")
        for kind, descr, says in [("timestamp", "<M8[Y]", "D, h, m, s, ms, us and ns are taken"), ("timestamp", "<i4", ""), ("date32", "<M8[us]", "a.astype('datetime64[D]')")]:
            self.program(("c", kind))
            self.refused("ZF2009", f"c={npy(descr, '(1,)', bytes(8))}", says=[f"elements of type {descr}", says], lacks=[] if says else ["astype"])
        self.program(("c", "i64"))
        nat = -1 << 63
        for unit, one in [("D", 86400 * 10**6), ("h", 3600 * 10**6), ("m", 60 * 10**6), ("s", 10**6), ("ms", 1000), ("us", 1), ("ns", None)]:
            values = [-3, 0, 7] if one else [-3000, 0, 7000]
            wanted = [v * one if one else v // 1000 for v in values]
            self.program(("c", "timestamp"))
            self.good(*self.encode(f"c={npy(f'<M8[{unit}]', '(3,)', struct.pack('<3q', *values))}"))
            self.assertEqual(list(struct.unpack("<3q", self.raw("c.timestamp"))), wanted)
            (self.dir / "t.zfd").unlink()
            self.refused("ZF2002", f"c={npy(f'<M8[{unit}]', '(2,)', struct.pack('<2q', 0, nat))}", says=["NaT (not a time), but the column is not nullable", "row 1 (c)"])
            if unit not in ("us", "ns"):
                self.refused("ZF2002", f"c={npy(f'<M8[{unit}]', '(1,)', struct.pack('<q', 2**62))}", says=["a time outside its type", "row 0 (c)"])
            self.program(("c", "timestamp?"))
            array_of = npy(f"<M8[{unit}]", "(4,)", struct.pack("<4q", *values, nat))
            self.good(*self.encode(f"c={array_of}"))
            self.assertEqual(list(struct.unpack("<4q", self.raw("c.timestamp"))), [*wanted, 0])
            self.assertEqual(self.raw("c.valid"), b"\7")
            (self.dir / "t.zfd").unlink()
        self.refused("ZF2005", f"c={array_of}", f"c.valid={self.file('v', bytes([7]))}", says="the validity of column `c` is given twice")
        for digits in (1, 999, -1, 1500):
            self.refused("ZF2002", f"c={npy('<M8[ns]', '(2,)', struct.pack('<2q', 1000, digits))}", says=["finer than the microseconds of a timestamp", "row 1 (c)"])
        self.program(("c", "date32?"))
        self.good(*self.encode(f"c={npy('<M8[D]', '(9,)', struct.pack('<9q', *range(7), nat, -2**31))}"))
        self.assertEqual(list(struct.unpack("<9i", self.raw("c.date32"))), [*range(7), 0, -2**31])
        self.assertEqual(self.raw("c.valid"), b"\x7f\1")
        (self.dir / "t.zfd").unlink()
        self.refused("ZF2002", f"c={npy('<M8[D]', '(1,)', struct.pack('<q', 2**31))}", says="a time outside its type")
        self.refused("ZF2009", f"c={npy('<M8[s]', '(1,)', bytes(8))}", says="elements of type <M8[s], but the column needs <i4")


class Memory(Case):
    def test_inputs_without_an_end(self):
        most = 4_000_000
        for kind in ("i64", "u8", "string", "string?", "bool"):
            self.program(("c", kind))
            inputs = ["/dev/zero", "c.bytes=/dev/zero" if kind.startswith("string") else "c=/dev/zero"]
            for source in inputs:
                self.refused("ZF2024", "--raw" if "=" in source else "-v", "--input-memory", most, source, says=[f"the inputs need more than the {most} bytes", "at: /dev/zero", "--input-memory"])
        for row, kind in [(b"1234567\n", "i64"), (b"text\n", "string"), (b"\n", "string?"), (b"1\n", "u8")]:
            self.program(("c", kind))
            writer = subprocess.Popen([sys.executable, "-c", f"import sys\nsys.stdout.write('c\\n'); sys.stdout.flush()\nwhile True: sys.stdout.buffer.write({row!r} * 100000)"],
                                      stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            self.bad(1, *self.encode("--input-memory", most, "/dev/stdin"), says=["error[ZF2024]", f"the inputs need more than the {most} bytes", "/dev/stdin"], stdin=writer.stdout)
            writer.stdout.close()
            writer.wait()

    def test_the_limit_is_of_all_inputs(self):
        self.program(("a", "i64"), ("b", "i64"))
        rows = 200_000
        data = self.file("data", bytes(8 * rows))
        words = [f"a={data}", f"b={data}"]
        self.good(*self.encode("--input-memory", 16 * rows + 1000, *words))
        self.good(*self.encode("--input-memory", "4M", *words))
        for size in ("1k", "1K"):
            self.bad(1, *self.encode("--input-memory", size, *words), says="more than the 1024 bytes")
        for size in ("0", "0M", "1T", "M", "-1", "1MB", str(1 << 63)):
            self.bad(2, *self.encode("--input-memory", size, *words), says=["--input-memory needs bytes", f"not `{size}`"])
        (self.dir / "t.zfd").unlink()
        # Regular files are read in batches, which the limit makes smaller. Pipes are read whole.
        for size in (16 * rows - 1, 8 * rows - 1, 200_000):
            self.good(*self.encode("--input-memory", size, *words))
        (self.dir / "t.zfd").unlink()
        for size in (16 * rows - 1, 8 * rows - 1):
            with open(data, "rb") as pipe:
                cat = subprocess.Popen(["cat"], stdin=pipe, stdout=subprocess.PIPE)
                self.bad(1, *self.encode("--input-memory", size, "a=/dev/stdin", f"b={data}"), says=["error[ZF2024]", "at: /"], stdin=cat.stdout)
                self.assertFalse((self.dir / "t.zfd").exists())
                cat.stdout.close()
                cat.wait()
        text = self.file("t.csv", "a,b\n" + "1,2\n" * rows)
        self.good(*self.encode("--input-memory", 4_100_000, text)) # buffers that double without an end would need 4,456,448


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
