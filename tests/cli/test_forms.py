"""Reports of `zfc explain` and `zfc check` about kernels on GPUs: form, parallel or not, why, and a rewrite that holds.
Usage: test_forms.py ZFC SOURCE_DIR
"""

import json
import pathlib
import random
import sys
import unittest

from zfc_case import Case, cache_of_module

SOURCE = pathlib.Path(sys.argv[2])

# Pairs of sums with the same value: over groups of eight elements, by a kernel of prefix sums; and over elements, by one scan.
GROUPS = """algorithm {name}(w: u8[], d: u8[]) -> u8[] fully_parallel {{
    decode(i) = d[{sum}];
    encode(x) {{
        for i in 0..x.len {{ if i % 8 == 0 {{ w.push(1); d.push(x[i]); }} require d[i / 8] == x[i]; }}
        w.push(0);
    }}
}}
"""
SUMS = {
    "below": ("sum(k in 0..i / 8: w[k] as u64)", "sum(k in 0..i: k % 8 == 7 ? w[k / 8] as u64 : 0)"),
    "shifted": ("sum(k in 0..i >> 3: w[k] as u64)", "sum(k in 0..i: k % 8 == 7 ? w[k / 8] as u64 : 0)"),
    "inclusive": ("sum(k in 0..=i / 8: w[k] as u64) - 1", "sum(k in 0..=i: k % 8 == 0 ? w[k / 8] as u64 : 0) - 1"),
}
LANES = """algorithm looped(src: u8[] per chunk) -> u32[] non_parallel(chunk = 8192, lanes = 32) {
    state last: u32 = 0;
    decode(i) {
        var n: u32 = 0;
        for k in 0..8 { if last >> (k as u32) > 3 { n += 1; } }
        last += src.u16() as u32 + n;
        return last;
    }
    encode(x) { for c in chunks(x) { for v in c { src.push(v as u8); } } }
}
algorithm straight(src: u8[] per chunk) -> u32[] non_parallel(chunk = 8192, lanes = 32) {
    state last: u32 = 0;
    decode(i) { last += src.u16() as u32; return last; }
    encode(x) { for c in chunks(x) { for v in c { src.push(v as u8); } } }
}
table t { a: u32 = looped; b: u32 = straight; }
"""


def setUpModule():
    cache_of_module()


class Forms(Case):
    def forms(self, program, column, target="nvptx"):
        report = json.loads(self.good("explain", f"{program}:t.{column}", "--json", "--target", target))["columns"][0]
        kernels = (report["gpu"] if target == "host" else report)["kernels"]
        return [kernel["form"] for kernel in kernels]

    def sums(self):
        text = "".join(GROUPS.format(name=f"{name}_{k}", sum=sums[k]) for name, sums in SUMS.items() for k in (0, 1))
        return self.file("t.zf", text + "table t { " + "".join(f"{name}_{k}: u8 = {name}_{k}; " for name in SUMS for k in (0, 1)) + "}\n")

    def test_every_target_reports_its_form(self):
        program = self.file("t.zf", LANES)
        for target in ("nvptx", "emu", "host"):
            (looped,), (straight,) = self.forms(program, "a", target), self.forms(program, "b", target)
            self.assertEqual((looped["name"], looped["parallel"], looped["algorithm"]), ("sequential", False, "looped"), target)
            self.assertIn("loops", looped["why"])
            self.assertTrue(looped["rewrite"])
            self.assertEqual((straight["name"], straight["parallel"]), ("lanes", True), target)
            self.assertIsNone(straight["why"])
        host = json.loads(self.good("explain", f"{program}:t.a", "--json"))["columns"][0]
        self.assertEqual((host["target"], host["kernels"][0]["form"], host["gpu"]["target"]), ("host", None, "nvptx"))
        text = self.good("explain", f"{program}:t.a")
        self.assertIn("\nforms on a GPU (--target nvptx shows these kernels): 1\n  kernel 0: column\n    form    sequential: ", text)
        for line in ("\n    why     `looped` ", "\n    rewrite "):
            self.assertIn(line, text)
        self.assertIn("\n    form    lanes, parallel: ", self.good("explain", f"{program}:t.b", "--target", "nvptx"))

    def test_walks_of_chunks_are_told_with_a_reason(self):
        walks = {
            "u8 = lz4": ("its lanes guess steps", None),
            "i64 = orc_rle1": ("its lanes guess steps", None),
            "u8 = deflate": ("all lanes walk each step, and records", "outside of one loop"),
            "u8 = zstd": ("all lanes walk each step, and records", "outside of one loop"),
            "u8 = lz4(chunk: 16777216)": ("its lanes guess steps", None),
            "u8 = lz4(chunk: 16777217)": ("without records", "its chunks are too long"),
            "u8 = lz_split": ("its lanes walk a step each", None),
            "i64 = orc_rle2": ("all lanes walk what no record says", None),
            "i64 = delta_binary_packed": ("without records", "outside of one loop"),
            "u32 = parquet_hybrid": ("without records", "ranges of expressions"),
        }
        program = self.file("t.zf", "table t {" + "".join(f" c{k}: {codec};" for k, codec in enumerate(walks)) + " }\n")
        for k, (codec, (how, why)) in enumerate(walks.items()):
            (form,) = self.forms(program, f"c{k}")
            self.assertIn(how, form["walks"], codec)
            self.assertIn(why, form["walks_why"] or "") if why else self.assertIsNone(form["walks_why"], codec)
        self.assertIn("\n    walks   its lanes guess", self.good("explain", f"{program}:t.c0", "--target", "nvptx"))
        (form,) = self.forms(self.file("m.zf", "table t { a: u32 = bitpack; }"), "a")
        self.assertIsNone(form["walks"])
        text = self.good("explain", f"{program}:t.c0", "--target", "nvptx", "--choose", "0:RECORDS=1")
        self.assertIn("all lanes walk each step, and records say what it emits: as RECORDS says", text)

    def test_steps_of_several_streams_are_guessed(self):
        tables = {"by_turns": "its lanes guess steps", "by_turns_made": "its lanes guess steps", "by_pairs": "its lanes walk a step each",
                  "by_pairs_made": "its lanes walk a step each", "by_marks": "its lanes walk a step each", "by_wide_heads": "its lanes guess steps",
                  "by_counts": "its lanes guess steps", "by_steps": "its lanes walk a step each", "by_steps_made": "its lanes walk a step each",
                  "by_parts": "its lanes guess steps at consecutive elements", "by_skips": "its lanes guess steps at consecutive elements",
                  "by_signs": "its lanes walk a step each", "by_floats": "its lanes walk a step each",
                  "some_walked": "its lanes guess steps at consecutive bytes, and all lanes walk what no record says",
                  "wide_walked": "its lanes guess steps at consecutive elements, and all lanes walk what no record says"}
        for table, how in tables.items():
            words = ("explain", f"{SOURCE}/tests/differential/chunks.zf:on_{table}.c", "--target", "nvptx")
            self.assertIn(f"\n    walks   {how}", self.good(*words), table)
        five = "".join(f", s{k}: u8[] per chunk" for k in range(5))
        reads = "".join(f"let v{k} = s{k}.next(); " for k in range(5))
        text = ("algorithm five(h: u8[] per chunk" + five + ") -> u8[] non_parallel(chunk = 100) { decode { while !h.at_end() { let n = h.u8() as u64; " + reads
                + "emit k in 0..n: h[k]; emit v0 ^ v1 ^ v2 ^ v3 ^ v4; } } encode(x) { for c in chunks(x) { h.push(0); " + "".join(f"s{k}.push(0); " for k in range(5)) + "} } }\n"
                "algorithm turns(h: u8[] per chunk, s: u8[] per chunk) -> u8[] non_parallel(chunk = 100) { decode { while !h.at_end() { let n = h.u8() as u64; "
                "let v = s.next(); emit k in 0..n: h[k]; for t in 0..n { emit h.u8(); } } } encode(x) { for c in chunks(x) { h.push(0); s.push(0); } } }\n"
                "table t { a: u8 = five; b: u8 = turns; }\n")
        program = self.file("five.zf", text)
        for column, why in (("a", "too many cursors"), ("b", "several cursors")):
            (form,) = self.forms(program, column)
            self.assertIn(why, form["walks_why"], column)

    def test_warps_of_chunks_are_told_with_a_reason(self):
        codecs = {"lz4": (1, "enough for a warp each"), "lz4(chunk: 524288)": (1, "enough"), "lz4(chunk: 4194304)": (2, "too few"),
                  "huffman": (None, None)}
        program = self.file("w.zf", "table t {" + "".join(f" c{k}: u8 = {codec};" for k, codec in enumerate(codecs)) + " }\n")
        for k, (codec, (warps, why)) in enumerate(codecs.items()):
            form = self.forms(program, f"c{k}")[-1]
            self.assertEqual(form["warps"], warps, codec)
            self.assertIn(why, form["warps_why"]) if why else self.assertIsNone(form["warps_why"], codec)
        words = ("explain", f"{program}:t.c0", "--target", "nvptx", "--choose")
        self.assertIn("\n    warps   8 a chunk, of which one walks it: as WARPS says\n", self.good(*words, "0:WARPS=8"))
        self.assertIn("\n    warps   1 a chunk: as THREADS says\n", self.good(*words, "0:THREADS=64"))
        self.assertNotIn("    warps ", self.good(*words, "0:RECORDS=0"))

    def test_a_sum_over_each_nth_element_is_parallel(self):
        program = self.sums()
        for name in SUMS:
            groups, elements = self.forms(program, f"{name}_0"), self.forms(program, f"{name}_1")
            self.assertEqual([(form["name"], form["parallel"]) for form in groups], [("prefix", True), ("map", True)], name)
            self.assertEqual([form["name"] for form in elements], ["scan"], name)

    def test_both_sums_decode_the_same(self):
        program = self.sums()
        names = [f"{name}_{k}" for name in SUMS for k in (0, 1)]
        chosen = random.Random(7)
        values = [value for _ in range(2000) for value in [chosen.randrange(256)] * 8][:15_997]
        source, out = self.dir / "in.csv", self.dir / "t.zfd"
        source.write_text(",".join(names) + "\n" + "".join(",".join([str(v)] * len(names)) + "\n" for v in values))
        self.good("encode", "-q", "-c", program, "-o", out, source)
        for device in ("cpu", "emu", "emu64"):
            for rows in ((), ("--rows", "5..6"), ("--rows", "8191..12000")):
                there = self.dir / "out"
                self.good("decode", "-f", "-q", "--device", device, *rows, "-o", there, out)
                got = {name: (there / f"{name}.u8").read_bytes() for name in names}
                begin, end = map(int, rows[1].split("..")) if rows else (0, len(values))
                self.assertEqual(set(got.values()), {bytes(values[begin:end])}, (device, rows))

    def test_a_stream_read_beside_its_index_names_its_rewrite(self):
        """Run ends under delta: two kernels; run lengths, summed: one."""
        program = self.file("t.zf", """algorithm by_ends(v: u8[], ends: u32[]) -> u8[] group_parallel {
    groups = ends.len;
    size(g) = (ends[g] - (g == 0 ? 0 : ends[g - 1])) as u64;
    decode(g, j) = v[g];
    encode(x) { for i in 0..x.len { v.push(x[i]); ends.push(i as u32 + 1); } }
}
algorithm by_lengths(v: u8[], lengths: u32[]) -> u8[] group_parallel {
    groups = lengths.len;
    size(g) = lengths[g] as u64;
    decode(g, j) = v[g];
    encode(x) { for e in x { v.push(e); lengths.push(1); } }
}
algorithm looks_up(at: u32[], d: u32[]) -> u32[] fully_parallel {
    decode(i) = d[at[i]] + d[i + 1];
    encode(x) { for e in x { if e != 0 { refuse "not 0"; } at.push(0); d.push(0); } d.push(0); }
}
table t { a: u8 = by_ends(ends: delta(bitpack)); b: u8 = by_lengths(lengths: bitpack); c: u32 = looks_up(d: delta(bitpack)); }
""")
        found = [json.loads(self.good("explain", f"{program}:t.{column}", "--json"))["columns"][0] for column in "abc"]
        rewrites = [{edge["path"]: edge["rewrite"] for edge in column["edges"] if edge["rewrite"]} for column in found]
        self.assertEqual([list(paths) for paths in rewrites], [["ends"], [], []])
        self.assertIn("read `ends[g]` for a difference, and `sum(k in 0..=g: ends[k])` for a value", rewrites[0]["ends"])
        self.assertEqual([len(column["kernels"]) for column in found], [2, 1, 2])
        self.assertIn("      rewrite: store the differences of neighbours in `ends`", self.good("explain", f"{program}:t.a"))

    def test_check_warns_of_a_column_that_is_not_parallel(self):
        program = self.file("t.zf", LANES)
        done = self.zfc("check", "--format", "line", program)
        self.assertRegex(done.stderr, r"t\.zf:16:20: warning\[ZF0806\]: column `t\.a` is not parallel on GPUs: `looped` has lanes with loops")
        self.assertEqual(done.stderr.count("\n"), 1, "one warning, of one column")
        done = self.zfc("check", program)
        self.assertIn(": good\n", done.stdout)
        self.assertIn("= hint: let every lane", done.stderr)
        # Warnings are silenced by their codes, and no others are.
        self.assertEqual(self.zfc("check", "-q", "--ignore", "ZF0806", program).stderr, "")
        self.assertIn("ZF0806", self.zfc("check", "--ignore", "ZF0804,ZF0209", program).stderr)
        self.assertEqual(self.zfc("check", "-q", "--ignore", "ZF0804,ZF0806", program).stderr, "")
        wrong = self.file("wrong.zf", "table t { a: u32 = nothing; }\n")
        self.assertIn("ZF0201", self.zfc("check", "--ignore", "ZF0201", wrong).stderr, "errors are not silenced")
        for codes in ("0806", "ZF806", "ZF0806,", "ZF9999", "ZF08066", "sequential"):
            done = self.zfc("check", "--ignore", codes, program)
            self.assertEqual((done.returncode, "--ignore: `" in done.stderr), (2, True), codes)
        # Once for each alternative that is not parallel; codecs that no table uses are not judged.
        program.write_text(LANES.replace("a: u32 = looped", "a: u32 = straight | looped | rle(looped, plain)") + "codec c: u32 = looped;\n")
        found = self.zfc("check", "--format", "line", program).stderr
        self.assertEqual(found.count("ZF0806"), 2, found)
        self.assertEqual(self.zfc("check", SOURCE / "examples/tpch/tpch.zf").stderr, "")

    def test_stages_that_nobody_can_change(self):
        """Stages of the library that decode only are noted, where the column's own kernel is parallel. Others have their warnings."""
        split = "table t { c: u8 = zstd_split(steps: %s(rows: zstd_tables), literals: zstd_literals(code: zstd_codes)); }\n"
        program = self.file("t.zf", split % "zstd_steps")
        self.assertEqual(self.zfc("check", program).stderr, "")
        done = self.zfc("check", "--notes", "--ignore", "ZF0490", program)
        self.assertEqual((done.stderr.count("note[ZF0806]: a stage of column `t.c` is not parallel on GPUs: `zstd_"), done.stderr.count("hint"), done.returncode),
                         (4, 0, 0), done.stderr)
        self.assertIn("rewrite ", self.good("explain", f"{program}:t.c"))
        own = "algorithm own(src: u64[] per chunk, rows: u16[]) -> u64[] non_parallel(chunk = 2048) { decode { for k in 0..out.len { emit src[k] + rows[k]; } } }\n"
        found = self.zfc("check", "--format", "line", self.file("own.zf", own + split % "own")).stderr
        self.assertEqual((found.count("warning[ZF0806]"), found.count("`own` ")), (1, 1), found)
        # One that encodes has others in its place, and a column of one stage is that stage.
        for codec in ("u8 = fsst", "string = strings(lengths: bitpack, bytes: fsst)"):
            found = self.zfc("check", "--format", "line", self.file("f.zf", f"table t {{ c: {codec}; }}\n")).stderr
            self.assertIn("warning[ZF0806]", found, codec)
        alone = self.file("alone.zf", "table t { c: u64 = zstd_steps(rows: zstd_tables); }\n")
        self.assertIn("warning[ZF0806]: column `t.c` is not parallel on GPUs: `zstd_steps`", self.zfc("check", alone).stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
