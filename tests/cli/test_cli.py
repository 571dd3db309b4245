"""zfc as a user runs it. Usage: test_cli.py ZFC SOURCE_DIR [unittest arguments]"""

import array
import itertools
import json
import os
import pathlib
import random
import re
import resource
import struct
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
import zfc_case  # noqa: E402
from cli_table import PROGRAM, TYPES, Case, as_raw, as_text, make_rows  # noqa: E402

ZFC, SOURCE = zfc_case.ZFC, pathlib.Path(sys.argv[2])


class RoundTrips(Case):
    def check_sizes(self, sizes, *more):
        for size in sizes:
            rows = make_rows(size)
            container = self.encode(rows, *more)
            out = self.dir / f"out{size}"
            self.good("decode", "-q", "-o", out, container)
            for name, kind in TYPES.items():
                self.assertEqual((out / f"{name}.{kind}").read_bytes(), as_raw(rows, name), f"{name} at {size} rows")

    def test_sizes(self):
        self.check_sizes([0, 1, 2, 4095, 4096, 4097])

    def test_several_blocks(self):
        self.check_sizes([8191, 8192, 12289], "--rows-per-block", "4096")

    def test_many_blocks_in_a_launch(self):
        """Blocks of four tiles but the last, which has one, and all of them again: each tile's is found among as many as a warp has lanes, and among more."""
        program, container = self.file("m.zf", 'import "std.zf";\ntable t { map: u8 = bitpack; scan: u8 = delta(bitpack); }\n'), self.dir / "m.zfd"
        for blocks in (2, 16, 17, 33, 512, 513, 529):
            plain = bytes(i * 7 & 15 for i in range(4096 * (blocks - 1) + 5))
            (self.dir / "plain").write_bytes(plain)
            inputs = [f"{name}={self.dir / 'plain'}" for name in ("map", "scan")]
            self.good("encode", "-q", "-f", "-c", f"{program}:t", "-o", container, "--rows-per-block", "4096", "--seek-interval", "1024", *inputs)
            for column, choice in (("map", "0:L=1,THREADS=64"), ("scan", "0:THREADS=64")):
                words = ["--device", "emu", "--repeats", "5", "--bytes", len(plain) + 1, "--columns", column, "--choose", choice]
                result = json.loads(self.good("bench", "--json", *words, container))["results"][0]
                self.assertEqual((result["blocks"], result["repeated"], result["verified"]), (blocks, 2, True))

    def test_row_ranges_equal_slices(self):
        rows = make_rows(10000)
        container = self.encode(rows, "--rows-per-block", "4096")
        for begin, end in [(0, 0), (0, 1), (1, 2), (4095, 4097), (4096, 8192), (5000, 5001), (8191, 10000), (9999, 10000), (10000, 10000), (3, 9997)]:
            out = self.dir / f"rows{begin}-{end}"
            report = json.loads(self.good("decode", "--json", "--rows", f"{begin}..{end}", "-o", out, container))
            blocks = 0 if begin == end else (end - 1) // 4096 - begin // 4096 + 1
            for column in report:
                name = column["column"]
                self.assertEqual((out / f"{name}.{TYPES[name]}").read_bytes(), as_raw(rows[begin:end], name), f"{name} {begin}..{end}")
                self.assertEqual(column["blocks_read"], blocks, f"{name} {begin}..{end}")
        self.bad(2, "ZF", "decode", "--rows", "1..10001", "-o", self.dir / "beyond", container)

    def test_text_out_reads_back(self):
        container = self.encode(make_rows(5000))
        self.good("decode", "-q", "--format", "csv", "-o", self.dir / "text", container)
        again = self.dir / "again.zfd"
        self.good("encode", "-q", "-c", f"{self.program}:t", "-o", again, self.dir / "text" / "t.csv")
        for container_, out in ((container, "a"), (again, "b")):
            self.good("decode", "-q", "-o", self.dir / out, container_)
        for name, kind in TYPES.items():
            self.assertEqual((self.dir / "a" / f"{name}.{kind}").read_bytes(), (self.dir / "b" / f"{name}.{kind}").read_bytes(), name)

    def test_raw_and_npy_inputs(self):
        rows = make_rows(1000)
        inputs = []
        for name in TYPES:
            path = self.dir / f"{name}.raw"
            path.write_bytes(as_raw(rows, name, bits=False))
            inputs.append(f"{name}={path}")
        container = self.dir / "raw.zfd"
        self.good("encode", "-q", "-c", f"{self.program}:t", "-o", container, *inputs)
        out = self.dir / "npy"
        self.good("decode", "-q", "--format", "npy", "-o", out, container)
        data = (out / "n.npy").read_bytes()
        self.assertEqual(data[:6], b"\x93NUMPY")
        length = struct.unpack("<H", data[8:10])[0]
        self.assertEqual((10 + length) % 64, 0)
        self.assertIn(b"'descr': '<i4'", data[10:10 + length])
        self.assertEqual(data[10 + length:], as_raw(rows, "n"))
        back = self.dir / "npy.zfd"
        self.good("encode", "-q", "-c", f"{self.program}:t", "-o", back, *[f"{name}={out / name}.npy" for name in TYPES])
        self.good("decode", "-q", "-o", self.dir / "raw", back)
        for name, kind in TYPES.items():
            self.assertEqual((self.dir / "raw" / f"{name}.{kind}").read_bytes(), as_raw(rows, name), name)

    def test_several_text_files_and_delimiters(self):
        (self.dir / "one.zf").write_text("table s { a: i32 = bitpack; b: string_is_not_used; }".replace("b: string_is_not_used; ", ""))
        (self.dir / "a.tbl").write_text("1|x|\n2|y|\n")
        (self.dir / "b.tbl").write_text("3|z|\n")
        container = self.dir / "s.zfd"
        self.good("encode", "-q", "-c", f"{self.dir}/one.zf", "--delimiter", "|", "--header", "a,name", "-o", container, self.dir / "a.tbl", self.dir / "b.tbl")
        self.good("decode", "-q", "-o", self.dir / "s", container)
        self.assertEqual((self.dir / "s" / "a.i32").read_bytes(), struct.pack("<3i", 1, 2, 3))

    def test_verify_and_inspect(self):
        container = self.encode(make_rows(9000), "--rows-per-block", "4096")
        self.assertIn("all good", self.good("verify", container))
        report = json.loads(self.good("inspect", "--json", container))
        self.assertTrue(report["all_bytes_accounted"])
        self.assertEqual(sum(report["parts"].values()), os.path.getsize(container))
        self.assertEqual(report["rows"], 9000)
        self.assertEqual(len(report["columns"]), len(TYPES))
        self.assertEqual([c["blocks"][-1]["rows"] for c in report["columns"]], [808] * len(TYPES))

    def test_selected_columns(self):
        container = self.encode(make_rows(10))
        self.good("decode", "-q", "--columns", "n,id", "-o", self.dir / "some", container)
        self.assertEqual(sorted(p.name for p in (self.dir / "some").iterdir()), ["id.i64", "n.i32"])
        self.assertIn("did you mean price?\n", self.bad(2, "ZF1105", "decode", "--columns", "pricee", "-o", self.dir / "none", container))

    def test_local_arrays_of_threads(self):
        """A thread of a GPU makes several elements, one after the other in the same memory; more than 16 KiB of it is refused."""
        (self.dir / "rows.csv").write_text("c\n" + "".join(f"{i % 250}\n" for i in range(5000)))
        for size, result in [(16000, 0), (60000, 1)]:
            program, container = self.dir / f"wide{size}.zf", self.dir / f"wide{size}.zfd"
            program.write_text("algorithm wide(s0: u8[]) -> u8[] fully_parallel {\n"
                               f"    decode(i) {{ var a: u8[{size}]; a[s0[i] as u64 + 9] = 7; return a[s0[i] as u64 + 9] + s0[i]; }}\n"
                               "    encode(x) { for v in x { s0.push(v - 7); } }\n}\ntable t { c: u8 = wide(plain); }\n")
            self.good("encode", "-c", f"{program}:t", "-o", container, self.dir / "rows.csv")
            verified = self.zfc("verify", "-q", "--device", "emu", container)
            self.assertEqual(verified.returncode, result, verified.stderr)
            self.assertEqual("ZF0804" in verified.stderr and "16384 bytes" in verified.stderr, result != 0, verified.stderr)

    def test_emulated_gpu(self):
        """All rows and some, on the emulated GPU as on the CPU; launches do not grow with the blocks."""
        container = self.encode(make_rows(20000), "--rows-per-block", "4096")
        launches = {}
        for rows in ["..", "4000..4200", "777..19999"]:
            for device in ["cpu", "emu"]:
                report = json.loads(self.good("decode", "-f", "--json", "--device", device, "--rows", rows, "-o", self.dir / device, container))
                launches[device] = {c["column"]: (c["launches"], c["kernel_variants"], c["blocks_read"]) for c in report}
                for c in report:  # what was waited for: the parts are the whole, and the decode's own time is within
                    parts = [c["waited"][k] for k in ("device", "compile", "load", "decode")]
                    self.assertAlmostEqual(c["waited"]["all"], sum(parts), places=6)
                    self.assertTrue(min(parts) >= 0 and c["waited"]["all"] >= c["seconds"] > 0 < c["waited"]["compile"], c)
                    codes = [c["waited"][k] for k in ("codes", "compiled", "cached")]
                    self.assertTrue(codes[0] == codes[1] + codes[2] > 0, c)
            for column, (count, variants, blocks) in launches["emu"].items():
                self.assertEqual(count, variants, column)
                self.assertEqual(blocks, launches["cpu"][column][2])
                name = next(p.name for p in (self.dir / "cpu").iterdir() if p.stem.split(".")[-1] == column or p.stem == column)
                self.assertEqual((self.dir / "cpu" / name).read_bytes(), (self.dir / "emu" / name).read_bytes(), f"{column}, rows {rows}")
        self.good("verify", "-q", "--device", "emu", container)


    def test_program_of_a_file(self):
        """Lines in reports refer to the program that the file carries, in the layout of `zfc fmt`."""
        container = self.encode(make_rows(100))
        text = self.good("inspect", "--program", container)
        self.assertIn("\n    decode(i) = entries[codes[i]];\n", text)
        self.assertIn("\ntable t {\n", text)
        (self.dir / "t.zf").write_text(text)
        self.assertEqual(self.good("fmt", self.dir / "t.zf"), text)

    def test_lines_of_ptx(self):
        """Kernels name the lines that they came from, by directives that change nothing else, and need no `debug` target."""
        (self.dir / "own.zf").write_text("algorithm own<T: integer>(v: T[],\n    param by: T) -> T[] fully_parallel {\n    fn more(i) -> T =\n"
                                         "        v[i] + by;\n    decode(i) = more(i) * 3;\n}\ntable t { c: i32 = own(bitpack); }\n")
        place = f"{self.dir / 'own.zf'}:t.c"
        for shaping in [(), ("--shaping", "9")]:
            ptx = self.good("explain", "--emit=ptx", *shaping, place)
            files = dict(re.findall(r'\.file\t(\d+) "(.*)"', ptx))
            number = {pathlib.Path(path).name: k for k, path in files.items()}
            self.assertEqual(sorted(number), ["bitpack.zf", "own.zf"])
            lines = {(file, int(line)) for file, line in re.findall(r"\.loc\t(\d+) (\d+) \d+", ptx)}
            decode = 1 + (SOURCE / "dsl/std/bitpack.zf").read_text().split("decode(i)")[0].count("\n")
            self.assertLessEqual({(number["own.zf"], 1), (number["own.zf"], 4), (number["own.zf"], 5), (number["bitpack.zf"], decode)}, lines)
            self.assertIn("\n.target sm_90\n", ptx)
            self.assertNotIn(".debug_", ptx)
            plain = self.good("explain", "--emit=ptx", "--no-lines", *shaping, place)
            self.assertNotRegex(plain, r"\.(loc|file)\t")
            code = [[line for line in text.splitlines() if line and not re.match(r"\t\.(loc|file)\t", line)]
                    for text in (ptx, plain)]
            self.assertEqual(*code)


class Modules(Case):
    def decoded(self, name, *more):
        out = self.dir / name
        self.good("decode", "-q", "-o", out, *more)
        return {p.name: p.read_bytes() for p in out.iterdir()}

    def test_compile(self):
        container = self.encode(make_rows(3000))
        wanted = self.decoded("wanted", container)
        self.assertEqual(len(wanted), len(TYPES))
        cases = (("program", [self.program], ["host", "sm_80", "sm_90"], False), ("table", [f"{self.program}:t"], ["host", "sm_80", "sm_90"], False),
                 ("file", [container], ["host", "sm_80", "sm_90"], True),
                 ("host", ["--target", "host", "--cpu", "x86-64-v2", container], ["host"], True), ("gpu", ["--target=nvptx", self.program], ["sm_80", "sm_90"], False))
        for name, words, targets, special in cases:
            module = self.dir / f"{name}.zfm"
            self.good("compile", "-q", "-o", module, *words)
            shown = json.loads(self.good("inspect", "--json", module))
            self.assertEqual(shown["cpu"], {"host": "x86-64-v2", "gpu": "none"}.get(name, "x86-64-v3"))  # GPUs need no native code
            self.assertEqual([t["table"] for t in shown["tables"]], ["t"])
            columns = shown["tables"][0]["columns"]
            self.assertEqual([c["column"] for c in columns], list(TYPES))
            for column in columns:
                self.assertEqual([p["target"] for p in column["plans"]], targets, column["column"])
            self.assertEqual(any(p["tuples"] for c in columns for p in c["plans"]), special, name)
            if name == "gpu":
                self.bad(1, "ZF1409", "decode", "-q", "--module", module, "-o", self.dir / "none", container)
            else:
                self.assertEqual(self.decoded(f"by {name}", "--module", module, container), wanted, name)

    def test_what_cannot_be_compiled(self):
        module = self.dir / "t.zfm"
        for words in (["--target", "emu"], ["--target", ""], ["--target", "host,"], ["--cpu", "x86-64-v1"], ["--cpu", "i486"], ["--columns", "id"]):
            self.bad(2, "zfc compile: ", "compile", *words, "-o", module, self.program)
        self.bad(2, "zfc compile: ", "compile", self.program)
        self.assertIn(f"{self.program}: the program has no ", self.bad(1, "ZF2013", "compile", "-o", module, f"{self.program}:nowhere"))
        self.assertFalse(module.exists())
        module.write_text("mine")
        self.bad(1, "ZF1501", "compile", "--target", "host", "-o", module, self.program)
        self.assertEqual(module.read_text(), "mine")
        self.bad(1, "ZF1202", "inspect", module)
        self.good("compile", "-q", "-f", "--target", "host", "-o", module, self.program)
        self.good("inspect", module)

    def test_note_of_alternatives(self):
        pair = "rle(plain | bitpack, plain | bitpack)"
        for last, ways in ((f"{pair} | {pair}", 64), (f"{pair} | {pair} | plain", 72)):
            self.program.write_text(f"table t {{ a: u32 = rle({pair} | {pair}, {last}); }}")
            result = self.zfc("compile", "-f", "--target", "host", "-o", self.dir / "t.zfm", self.program)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual("more ways than the 64" in result.stderr, ways > 64, result.stderr)
            plans = json.loads(self.good("inspect", "--json", self.dir / "t.zfm"))["tables"][0]["columns"][0]["plans"]
            self.assertEqual(len(plans), 64)


class BadInput(Case):
    def encode_text(self, text, status, code, *more, program="table s { a: i32 = bitpack; d: date32 = bitpack; }"):
        (self.dir / "s.zf").write_text(program)
        source = self.dir / "bad.csv"
        source.write_bytes(text.encode("latin-1"))
        container = self.dir / "bad.zfd"
        message = self.bad(status, code, "encode", "-c", f"{self.dir}/s.zf", "-o", container, source, *more)
        self.assertEqual([p.name for p in self.dir.iterdir() if p.name.startswith("bad.zfd")], [], "something partial is left")
        return message

    def test_fields(self):
        for text, code, place in [
            ("a,d\n1,1996-01-02\nx,1996-01-02\n", "ZF2002", "line 3, field 1 (a)"),
            ("a,d\n1,1996-02-30\n", "ZF2002", "line 2, field 2 (d)"),
            ("a,d\n99999999999,1996-01-02\n", "ZF2002", "line 2, field 1 (a)"),
            ("a,d\n1,1996-01-02\n,1996-01-02\n", "ZF2016", "line 3, field 1 (a)"),
            ("a,d\n1\n", "ZF2008", "line 2"),
            ("a,d\n1,1996-01-02,3\n", "ZF2008", "line 2"),
            ('a,d\n1,"1996\n', "ZF2007", "line 2, field 2"),
            ('a,d\n1,1996-01-02\n2,"1996-01-02\n3,1996-01-02\n4,1996-01-02\n', "ZF2007", "line 3, field 2"),  # where the quote opens
            ('a,d\n"1,1996-01-02\n2,1996-01-02\n"3",1996-01-02\n', "ZF2007", "line 2, field 1"),
            ('a,d\n"1,1996-01-02\n2,1996-01-02\n"3",1996-01-02\n', "ZF2007", "at line 4"),  # and where that shows
            ('a,d\n1,1996-01-02\n1,19"96\n', "ZF2007", "line 3, field 2"),
            ("", "ZF2007", "line 1"),
            ("x,y\n1,2\n", "ZF2007", "line 1"),
            ("a,a\n1,2\n", "ZF2005", "field 2 (a)"),
            ("a,b\n1,2\n", "ZF2004", "`d`"),
            ("a,d\n\"1\n\",1996-01-02\n", "ZF2002", "line 2"),
            ("a,d\n1,1996-01-02\n\0,1996-01-02\n", "ZF2002", "line 3"),
            ("\xff\xfea\0", "ZF2007", "line 1"),
            ("a,d\n\x1b[31m,1996-01-02\n", "ZF2002", "\\x1b[31m"),
        ]:
            self.assertIn(place, self.encode_text(text, 1, code), text)

    def test_strings_of_no_rows(self):
        """Characters without offsets are an error however few they are; a text without rows is a table; it cannot be measured."""
        program = self.file("s.zf", "table s { c: string = strings(bitpack); }\n")
        out = self.dir / "s.zfd"
        for content in ("", "x"):
            self.bad(1, "ZF2017", "encode", "-c", program, "-o", out, f"c.bytes={self.file('bytes', content)}")
        self.good("encode", "-q", "-c", program, "-o", out, self.file("none.csv", "c\n"))
        self.bad(1, "ZF2018", "bench", "--device", "cpu", out)
        text = self.good("explain", program)
        self.assertIn("limit on a GPU: at least (stored bytes + characters + 8 * elements) / B seconds", text)
        self.assertIn("writes  8 bytes per element, and characters\n", text)

    def test_each_part_has_one_giver(self):
        """In every order: texts give all parts of a column and add up, raw files one part each, and nothing is given twice."""
        rows = 30000 # beyond what the buffers of a text begin with
        text = self.dir / "t.csv"
        text.write_text("a\n" + "7\n" * rows)
        offsets, content, valid, empty = (self.dir / name for name in ["offsets", "content", "valid", "empty"])
        offsets.write_bytes(array.array("q", range(rows + 1)).tobytes())
        content.write_bytes(b"7" * rows)
        valid.write_bytes(b"\xff" * ((rows + 7) // 8))
        empty.write_bytes(b"")
        short = self.dir / "short"
        short.write_bytes(array.array("q", range(4)).tobytes())
        everything = {"values", "offsets", "validity"}
        of_string = [(f"{text}", everything), (f"a.offsets={offsets}", {"offsets"}), (f"a.offsets={short}", {"offsets"}),
                     (f"a.bytes={content}", {"values"}), (f"a.valid={valid}", {"validity"})]
        of_number = [(f"{text}", everything), (f"{text}", everything), (f"a={content}", {"values"}),
                     (f"a.valid={valid}", {"validity"}), (f"a.valid={empty}", {"validity"})]
        program = self.dir / "s.zf"
        for kind, inputs, most in [("string?", of_string, 3), ("u8?", of_number, 2)]:
            program.write_text(f"table s {{ a: {kind} = plain; }}")
            for count in range(1, most + 1):
                for chosen in itertools.permutations(inputs, count):
                    given, twice = {}, False
                    for name, parts in chosen:
                        for part in parts:
                            twice = twice or (part in given and not (name == given[part] == str(text)))
                            given[part] = name
                    words = [name for name, _ in chosen]
                    result = self.zfc("encode", "-q", "-f", "-c", program, "-o", self.dir / "s.zfd", *words)
                    self.assertIn(result.returncode, (0, 1), f"{words}: {result.stderr}")
                    self.assertNotIn("Sanitizer", result.stderr)
                    self.assertEqual("ZF2005" in result.stderr, twice, f"{words}: {result.stderr}")
                    if not twice and "values" not in given:
                        self.assertIn("ZF2004", result.stderr, words)
                    if not twice and "values" in given and given["validity" if "validity" in given else "values"].endswith("empty"):
                        self.assertIn("ZF2010", result.stderr, words)

    def test_numbers_out_of_range(self):
        program = "table s { p: f64 = plain; }"
        for text, code in [("1e400", "ZF2002"), ("1e-400", "ZF2002"), ("0x10", "ZF2002"), ("nan(3)", "ZF2002"), ("", "ZF2016"), ("1.5\n\n2", "ZF2016")]:
            self.encode_text(f"p\n{text}\n1\n", 1, code, program=program)

    def test_marks_blank_lines_and_line_ends(self):
        (self.dir / "s.zf").write_text("table s { p: f64 = plain; } table two { p: i32 = plain; q: i32 = plain; }")
        for text, table, rows in [(b"\xef\xbb\xbfp\r\n1\r\n-inf\r\n", "s", 2), (b"p\n4.9e-324\n1e308\nNaN", "s", 3), (b"p,q\r\n1,2\r\n\r\n3,4", "two", 2)]:
            (self.dir / "s.csv").write_bytes(text)
            self.good("encode", "-q", "-f", "-c", f"{self.dir}/s.zf:{table}", "-o", self.dir / "s.zfd", self.dir / "s.csv")
            self.assertEqual(json.loads(self.good("inspect", "--json", self.dir / "s.zfd"))["rows"], rows)

    def test_output_is_no_input_and_links_are_followed(self):
        container = self.encode(make_rows(5))
        source = self.dir / "t.csv"
        before = source.read_bytes()
        self.bad(2, "ZF2014", "encode", "-f", "-c", f"{self.program}:t", "-o", source, source)
        self.assertEqual(source.read_bytes(), before)
        link = self.dir / "link.zfd"
        link.symlink_to(container.name)
        self.good("encode", "-q", "-f", "-c", f"{self.program}:t", "-o", link, source)
        self.assertTrue(link.is_symlink())

    def test_value_that_the_codec_cannot_hold(self):
        program = "table s { p: f64 = float2int(bitpack); }"
        message = self.encode_text("p\n1.5\n0.1\n" + "1e-300" + "\n", 1, "ZF06", program=program)
        self.assertIn("p", message)
        self.assertIn("row 2", message)

    def test_sizes_that_do_not_add_up(self):
        for size in ("1", "3"):
            program = ("algorithm pairs(v: i32[]) -> i32[] group_parallel { groups = v.len; size(g) = %s; decode(g, j) = v[g];"
                       " encode(x) { for i in 0..x.len { if i %% 2 == 0 { v.push(x[i]); } } } } table s { a: i32 = pairs; }" % size)
            message = self.encode_text("a\n" + "5\n5\n" * 9000, 1, "ZF0607", program=program)
            self.assertIn("the encoder made sizes that do not add up to the block's rows\n", message)
            self.assertRegex(message, r"at: column a, block 0, row \d+")
            self.assertIn("hint: the sizes of an algorithm's groups must add up", message)
            self.assertNotIn("state", message)
            self.assertNotIn("strings", message)

    def test_lengths_that_do_not_add_up(self):
        for by in ("+ 1", "- 1"):
            program = ("algorithm texts(n: u32[], bytes: u8[]) -> string[] fully_parallel {"
                       " fn start(i) = sum(k in 0..i: n[k] as u64); decode(i) = bytes[start(i)..start(i) + n[i]];"
                       " encode(x) { for s in x { n.push(s.len as u32 %s); bytes.append(s); bytes.push(65); } } }"
                       "\ntable s { a: string = texts; }" % by)
            message = self.encode_text("a\n" + "abc\nd\n" * 9000, 1, "ZF0607", program=program)
            self.assertRegex(message, r"column a, block 0, row \d+, the column's codec \(texts\), .*s.zf:2:")
            self.assertIn("the encoder made sizes that do not add up to the block's rows or characters\n", message)
            self.assertIn("and its strings' lengths to the bytes of the rows", message)

    def test_files(self):
        self.bad(1, "ZF2001", "encode", "-c", f"{self.program}:t", "-o", self.dir / "x.zfd", self.dir / "missing.csv")
        self.assertIn(f"{self.program}: the program has no ", self.bad(1, "ZF2013", "encode", "-c", f"{self.program}:tt", "-o", self.dir / "x.zfd", self.dir / "missing.csv"))
        two = self.dir / "two.zf"
        two.write_text("table apples { a: i32 = bitpack; } table pears { a: i32 = bitpack; }")
        for name in (":nope", ""): # what there is to choose from is shown either way
            message = self.bad(1, "ZF2013", "encode", "-c", f"{two}{name}", "-o", self.dir / "x.zfd", self.dir / "missing.csv")
            self.assertIn("  apples\n  pears\n", message)
        own = self.dir / "own.zf" # tables of what it imports are there for those who name them
        own.write_text('import "two.zf"; table plums { a: i32 = bitpack; }')
        numbers = self.dir / "a.csv"
        numbers.write_text("a\n1\n2\n")
        for name, table in (("", "plums"), (":pears", "pears")):
            self.good("encode", "-q", "-f", "-c", f"{own}{name}", "-o", self.dir / "own.zfd", numbers)
            self.assertIn(f"table {table},", self.good("inspect", self.dir / "own.zfd"))
        self.assertIn("a: i32 = bitpack", self.good("explain", own))
        self.bad(1, "ZF2003", "encode", "-c", f"{self.program}:t", "-o", self.dir / "x.zfd", f"idd={self.program}")
        odd = self.dir / "odd.raw"
        odd.write_bytes(b"123")
        self.bad(1, "ZF2010", "encode", "-c", f"{self.program}:t", "-o", self.dir / "x.zfd", f"id={odd}")
        for header in [b"\x93NUMPY", b"\x93NUMPY\x01\x00\xff\xff", b"\x93NUMPY\x01\x00\x10\x00{'descr': '<f8'}", b"\x93NUMPY\x09\x00\x10\x00{}"]:
            odd.write_bytes(header + b" " * 20)
            self.bad(1, "ZF2009", "encode", "-c", f"{self.program}:t", "-o", self.dir / "x.zfd", f"id={odd}")

    def test_nothing_is_overwritten_unasked(self):
        container = self.encode(make_rows(5))
        before = container.read_bytes()
        self.bad(1, "ZF1501", "encode", "-c", f"{self.program}:t", "-o", container, self.dir / "t.csv")
        self.assertEqual(container.read_bytes(), before)
        self.good("decode", "-q", "-o", self.dir / "out", container)
        self.bad(1, "ZF1501", "decode", "-o", self.dir / "out", container)

    def test_disk_full(self):
        source = self.dir / "t.csv"
        source.write_text(as_text(make_rows(60000)))
        container = self.dir / "t.zfd"

        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (40000, 40000))

        self.bad(1, "ZF15", "encode", "--no-cache", "-c", f"{self.program}:t", "-o", container, source, preexec_fn=limit)
        self.assertEqual(sorted(p.name for p in self.dir.iterdir()), ["t.csv", "t.zf"])

    def test_damaged_container(self):
        container = self.encode(make_rows(3000))
        data = container.read_bytes()
        chooser = random.Random(3)
        for _ in range(25):
            at = chooser.randrange(len(data))
            container.write_bytes(data[:at] + bytes([data[at] ^ (1 << chooser.randrange(8))]) + data[at + 1:])
            result = self.zfc("verify", "-q", container)
            self.assertIn(result.returncode, (0, 1), result.stderr)
            self.assertNotIn("Sanitizer", result.stderr)
            container.write_bytes(data[:at])
            self.bad(1, "ZF12", "verify", "-q", container)
        container.write_bytes(b"")
        self.bad(1, "ZF12", "inspect", container)
        self.bad(1, "ZF12", "decode", "-o", self.dir / "out", self.program)

    def test_a_decode_that_fails_leaves_no_files(self):
        container = self.encode(make_rows(3000))
        columns = json.loads(self.good("inspect", "--json", container))["columns"]
        self.assertEqual([c["column"] for c in columns[:2]], list(TYPES)[:2])
        data = bytearray(container.read_bytes())
        block = columns[1]["blocks"][0]
        data[block["streams"][0]["offset"] + (0 if block["streams"][0]["offset"] >= block["offset"] else block["offset"])] ^= 1
        container.write_bytes(data)
        kept = self.dir / "kept"
        kept.mkdir()
        for form in ("raw", "npy", "csv"):
            self.bad(1, "ZF1324", "decode", "-q", "--format", form, "-o", self.dir / "made", container)
            self.assertFalse((self.dir / "made").exists(), form)
            self.bad(1, "ZF1324", "decode", "-q", "--format", form, "-o", kept, container)
            self.assertEqual(list(kept.iterdir()), [], form)
        # Earlier files stay unchanged, also where they may be replaced.
        (kept / "id.i64").write_text("mine")
        self.bad(1, "ZF1324", "decode", "-q", "-f", "-o", kept, container)
        self.assertEqual((kept / "id.i64").read_text(), "mine")
        self.good("decode", "-q", "-f", "--columns", "id", "-o", kept, container)
        self.assertEqual((kept / "id.i64").stat().st_size, 3000 * 8)

    def test_more_columns_than_open_files(self):
        names = [f"c{i}" for i in range(60)]
        self.program.write_text("table t {" + "".join(f"{n}: u8 = bitpack;" for n in names) + "}")
        (self.dir / "w.csv").write_text(",".join(names) + "\n" + ",".join("7" for _ in names) + "\n")
        self.good("encode", "-q", "-c", self.program, "-o", self.dir / "w.zfd", self.dir / "w.csv")
        few = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
        self.good("decode", "-q", "-o", self.dir / "wide", self.dir / "w.zfd", preexec_fn=few)
        self.assertEqual(len(list((self.dir / "wide").iterdir())), 60)
        # The limit that cannot be raised, too: complete files hold no descriptors.
        no_more = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
        for form, ending in (("raw", "u8"), ("npy", "npy")):
            out = self.dir / form
            self.good("decode", "-q", "--format", form, "-o", out, self.dir / "w.zfd", preexec_fn=no_more)
            self.assertEqual(sorted(p.name for p in out.iterdir()), sorted(f"{n}.{ending}" for n in names))
            (out / f"c59.{ending}").write_text("mine")
            self.bad(1, "ZF1501", "decode", "-q", "--format", form, "-o", out, self.dir / "w.zfd", preexec_fn=no_more)
            (out / f"c0.{ending}").unlink()
            for name in names[1:59]:
                (out / f"{name}.{ending}").unlink()
            self.bad(1, "ZF1501", "decode", "-q", "--format", form, "-o", out, self.dir / "w.zfd", preexec_fn=no_more)
            self.assertEqual([p.name for p in out.iterdir()], [f"c59.{ending}"], "temporary files are left")
            self.good("decode", "-q", "-f", "--format", form, "-o", out, self.dir / "w.zfd", preexec_fn=no_more)
            self.assertEqual(sorted(p.name for p in out.iterdir()), sorted(f"{n}.{ending}" for n in names))

    def test_device(self):
        container = self.encode(make_rows(5))
        self.assertEqual(self.zfc("decode", "--device", "cuda:9", "-o", self.dir / "o", container).returncode, 3)


class Usage(Case):
    def test_help_and_manual(self):
        self.assertIn("encode", self.good("--help"))
        self.assertIn("--rows A..B", self.good("decode", "--help"))
        self.assertEqual(self.good("manual"), (SOURCE / "docs" / "zfc.md").read_text(), "docs/zfc.md is out of date: zfc manual > docs/zfc.md")
        self.assertIn("LLVM 19", self.good("--version"))
        self.assertIn("cpu", self.good("devices"))
        devices = {d["name"]: d for d in json.loads(self.good("devices", "--json"))}
        self.assertTrue(devices["cpu"]["present"] and not devices["cpu"]["emulated"])
        self.assertTrue(devices["emu"]["present"] and devices["emu"]["emulated"])

    def test_usage_errors(self):
        for words in [(), ("frob",), ("decode",), ("decode", "--roows", "1..2", "x"), ("decode", "x"), ("encode", "x"), ("check",),
                      ("decode", "-o", "d", "--rows", "5..2", "x"), ("decode", "-o", "d", "--format", "xml", "x"), ("inspect", "a", "b"),
                      ("verify", "--repeat", "many", "x"), ("completion", "tcsh"), ("decode", "-o")]:
            self.assertEqual(self.zfc(*words).returncode, 2, words)
        self.assertIn("did you mean", self.zfc("decode", "--roows", "1..2", "x").stderr)
        for rows in ("0..18446744073709551616", "99999999999999999999999..", "0..18446744073709551615", "18446744073709551615.."):
            self.assertIn("below 2^64", self.bad(2, rows, "decode", "-o", "d", "--rows", rows, "x"))
        for rows in ("5..2", "-1..2", "1...2", "1..-2", "1", "..x", "1..2 "):
            self.assertIn("A at most B", self.bad(2, "--rows", "decode", "-o", "d", "--rows", rows, "x"))
        self.bad(2, "needs A..B", "decode", "-o", "d", "--rows", "", "x")
        container = self.encode(make_rows(10))
        for rows in ("0..18446744073709551614", "11..", "18446744073709551614..", "3..11"):
            self.bad(2, "ZF1106", "decode", "-o", self.dir / "d", "--rows", rows, container)
            self.assertIn("rows", self.bad(2, "ZF", "decode", "-o", self.dir / "d", "--format", "csv", "--rows", rows, container))
        self.bad(2, "takes one IN.zfd, but `again` is given too", "verify", container, "again")
        self.bad(2, "takes no operand", "manual", "again")
        self.bad(1, "is a file: -o names a directory", "decode", "-o", container, container)
        self.assertIn("did you mean", self.zfc("decod").stderr)

    def test_completion(self):
        for shell in ("bash", "zsh"):
            self.assertIn("encode", self.good("completion", shell))
        script = 'source <("$0" completion bash); COMP_WORDS=(zfc decode --format n); COMP_CWORD=3; _zfc; echo "${COMPREPLY[@]}"'
        result = subprocess.run(["bash", "-c", script, ZFC], capture_output=True, text=True)
        self.assertEqual(result.stdout.strip(), "npy", result.stderr)

    def test_check_and_fmt(self):
        self.assertIn("good", self.good("check", self.program))
        self.program.write_text(PROGRAM.replace("delta(bitpack)", "delto(bitpack)"))
        self.assertIn("did you mean", self.bad(1, "ZF0201", "check", self.program))
        line = self.zfc("check", "--format", "line", self.program).stderr
        self.assertRegex(line, r"t\.zf:3:\d+: error\[ZF0201\]")
        report = json.loads(self.zfc("check", "--format", "json", self.program).stdout)
        self.assertEqual(report[0]["code"], "ZF0201")
        self.program.write_text("table   t{a:i32=bitpack;} // why\n")
        text = self.good("fmt", self.program)
        self.assertIn("// why", text)
        self.good("fmt", "-q", "-i", self.program)
        self.assertEqual(self.program.read_text(), text)
        (self.dir / "secret").write_text("word of yours\n")
        (self.dir / "link.zf").symlink_to("secret")
        for name in ("secret", str(self.dir / "secret"), "../" + self.dir.name + "/secret", "link.zf"):
            self.program.write_text(f'import "{name}";\ntable t {{ a: i32 = bitpack; }}')
            self.assertNotIn("word", self.bad(1, "ZF0210", "check", self.program)) # other files are not quoted
        os.mkfifo(self.dir / "pipe.zf") # nobody writes to it: reading would wait for ever
        for path, why in ((self.dir / "pipe.zf", "not a regular file"), ("/dev/zero", "not a regular file"), (self.dir, "a directory")):
            for verb in ("check", "fmt"):
                self.assertIn(why, self.bad(1, "ZF0204", verb, path))
        self.program.write_text("table t { a: i32 = ; }")
        self.bad(1, "ZF0110", "fmt", "-i", self.program)
        self.assertEqual(self.program.read_text(), "table t { a: i32 = ; }")

    def test_check_says_what_is_not_lowered(self):
        self.program.write_text("""algorithm pairs(n: u64[], b: u8[]) -> u8[] fully_parallel {
    decode(i) = sum(k in 0..n[i]: k < b.len ? b[k] : 7);
    encode(x) { for v in x { n.push(1); b.push(v); } }
}
table t {
    good: i32 = bitpack;
    some: u8 = plain | rle(plain | pairs, plain);
    name: string = plain | strings;
}
""")
        result = self.zfc("check", "--format", "line", self.program)
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = result.stderr.splitlines()
        self.assertEqual(len(lines), 2, result.stderr)
        self.assertRegex(lines[0], r"t\.zf:7:\d+: warning\[ZF0804\]: column `t\.some`: `pairs` sums over a range that depends on data")
        self.assertRegex(lines[1], r"t\.zf:8:\d+: warning\[ZF0804\]: column `t\.name`: .*of string, which cannot be stored")
        self.assertIn(": good\n", self.good("check", self.program)) # both have other alternatives
        self.program.write_text(self.program.read_text().replace("plain | rle(plain | pairs, plain)", "rle(pairs, plain)"))
        result = self.zfc("check", self.program)
        self.assertIn(": good, but this version cannot encode 1 of its columns and codecs", result.stdout)
        self.assertIn("`zfc encode` refuses this column", result.stderr)
        self.assertIn("`zfc encode` does not choose this alternative", result.stderr)
        self.assertEqual(result.returncode, 0)
        for column in ("s: string = plain", "n: i32? = plain | plain(plain)", "s: string? = nullable(values: plain)"):
            self.program.write_text(f"table t {{ {column}; }}\n")
            result = self.zfc("check", "--format", "line", self.program)
            self.assertEqual(result.returncode, 1, result.stderr)
            self.assertRegex(result.stderr, r"t\.zf:1:\d+: error\[ZF0804\]: column `t\..`: .*cannot be stored")

    def test_explain(self):
        self.assertIn("kernel", self.good("explain", f"{self.program}:t.n"))
        report = json.loads(self.good("explain", "--json", f"{self.program}:t.price"))
        self.assertEqual(len(report["columns"][0]["kernels"]), 1)
        for stage, word in [("ast", "table"), ("spec", "bitpack"), ("graph", "graph"), ("plan", "kernel"), ("llvm", "define"), ("asm", ".text")]:
            self.assertIn(word, self.good("explain", "--emit", stage, f"{self.program}:t.price"), stage)
        damaged = self.file("damaged.zf", "table t { a: i64 = delta(; }\n")
        self.assertIn("error[ZF0110]", self.bad(1, "ZF0110", "explain", "--emit", "ast", damaged))
        self.assertIn(f"{self.program}: the program has no ", self.bad(1, "ZF2013", "explain", f"{self.program}:t.nothing"))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
