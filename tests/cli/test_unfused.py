"""Ordered stages that are not fused: whichever have kernels and states of their own (`zfc encode --unfused`), what is decoded is the
same on every device, whole and in part, by the compiler and by a module; and what cannot be meant is told.

Usage: test_unfused.py ZFC"""

import array
import json
import sys
import unittest

from zfc_case import Case, cache_of_module

ROWS = 30011
PROGRAM = """\
table t {
    deep: i64 = rle(values: delta_stride(start: delta(deltas: rle(values: bitpack, counts: bitpack)), stride: bitpack, count: bitpack), counts: bitpack);
    twice: i32 = rle(values: delta_stride, counts: rle);
    text: string = strings(lengths: rle(values: bitpack, counts: bitpack), bytes: words(tokens: delta(deltas: rle), entries: strings(lengths: delta)));
    holes: i32? = nullable(validity: rle(counts: delta), values: delta(deltas: rle));
    either: u32 = bitpack | delta(deltas: rle(values: bitpack, counts: delta(deltas: bitpack)));
}
"""
ORDERED = {  # what of each column is fused by default
    "deep": ["values", "values.start", "values.start.deltas"],
    "twice": ["values", "counts"],
    "text": ["lengths", "bytes.tokens", "bytes.tokens.deltas", "bytes.entries.lengths"],
    "holes": ["validity", "validity.counts", "values.deltas"],
    "either": ["deltas", "deltas.counts"],
}


def setUpModule():
    cache_of_module()


def rows():
    """Lines of CSV."""
    words = ["a fig", "", "and", "another fig of some length", "zz"]
    for i in range(ROWS):
        hole = "" if i // 37 % 5 == 1 else str(i // 100 * 7)
        yield f"{i // 4 * 3 + i // 1000},{i // 4 % 900 + i // 3600},{words[i // 9 % 5]},{hole},{i * 11 + i // 999}"


class Unfused(Case):
    def setUp(self):
        super().setUp()
        self.program = self.file("t.zf", PROGRAM)
        self.csv = self.file("t.csv", "deep,twice,text,holes,either\n" + "\n".join(rows()) + "\n")

    def encode(self, name, *options):
        path = self.dir / name
        self.good("encode", "-q", "-f", "--seek-interval", 1024, *options, "-c", self.program, "-o", path, self.csv)
        return path

    def decoded(self, path, device, *options):
        out = self.dir / "out"
        self.good("decode", "-q", "-f", "--device", device, *options, "-o", out, path)
        return {file.name: file.read_bytes() for file in sorted(out.iterdir())}

    def kernels(self, path):
        results = json.loads(self.good("bench", "--json", "--device", "cpu", "--bytes", 1, path))["results"]
        return {r["column"]: r["kernels"] for r in results}

    def test_each_and_several(self):
        fused = self.encode("fused.zfd")
        wanted, part = self.decoded(fused, "cpu"), self.decoded(fused, "cpu", "--rows", "1500..29000")
        numbers = array.array("q", wanted["deep.i64"])
        self.assertEqual(list(numbers[:9]), [0, 0, 0, 0, 3, 3, 3, 3, 6])
        self.assertEqual(len(numbers), ROWS)
        base = self.kernels(fused)
        for turn in (1, 2, 4, 8, 6, 15):  # each stage alone, two that follow each other, all
            chosen = {c: [s for k, s in enumerate(streams) if turn >> k & 1] for c, streams in ORDERED.items()}
            names = ",".join(f"{c}.{s}" for c, streams in chosen.items() for s in streams)
            path = self.encode("some.zfd", *(["--unfused", names] if names else []))
            for device in ("cpu", "emu"):
                self.assertEqual(self.decoded(path, device), wanted, names)
            self.assertEqual(self.decoded(path, "emu" if turn % 2 else "cpu", "--rows", "1500..29000"), part, names)
            for column, number in self.kernels(path).items():
                self.assertEqual(number, base[column] + len(chosen[column]), f"kernels of {column}: {names}")

    def test_all(self):
        names = ",".join(f"{c}.{s}" for c, streams in ORDERED.items() for s in streams)
        by_name, everything = self.encode("names.zfd", "--unfused", names), self.encode("all.zfd", "--unfused", "all")
        self.assertEqual(by_name.read_bytes(), everything.read_bytes())
        module = self.dir / "t.zfm"
        self.good("compile", "-q", everything, "-o", module)
        self.assertEqual(self.decoded(everything, "cpu", "--module", module), self.decoded(everything, "cpu"))
        # A kernel a stage is what such a file has anyway; of another one it cannot be had.
        bench = ("bench", "--json", "--device", "cpu", "--bytes", 1, "--unfused", "--columns", "deep")
        self.assertEqual(len(json.loads(self.good(*bench, everything))["results"]), 1)
        self.bad(2, *bench, self.encode("fused.zfd"), says=["more than one keeps a state", "--unfused all"])

    def test_stage_without_a_state(self):
        """Segments of 512 elements begin where tiles do: such a stage has no state alone, and one as a part of its consumer. Found by
        the fuzz target `encode`."""
        program, values = self.file("s.zf", "table s { c: i32 = rle(values: gpu_dfor, counts: bitpack); }"), self.dir / "a.i32"
        values.write_bytes(array.array("i", (k // 3 * k for k in range(9000))).tobytes())
        path = self.dir / "s.zfd"
        for names in ("all", "c.values"):
            self.good("encode", "-q", "-f", "--unfused", names, "-c", program, "-o", path, f"c={values}")
            for device in ("cpu", "emu"):
                self.assertEqual(self.decoded(path, device), {"c.i32": values.read_bytes()})

    def test_modules(self):
        """By a module without code for the file's stages or interval no verb calls a file bad: the error says which code is
        missing, and its command makes it. A module of the program can have code for all."""
        program, values = self.file("d.zf", "table d { c: i64 = delta(delta(bitpack)); }"), self.dir / "a.i64"
        values.write_bytes(array.array("q", range(9000)).tobytes())
        files = {"fused": [], "unfused": ["--unfused", "all"], "far": ["--seek-interval", 4096]}
        for name, options in files.items():
            self.good("encode", "-q", *options, "-c", program, "-o", self.dir / f"{name}.zfd", f"c={values}")
        few, many = self.dir / "few.zfm", self.dir / "many.zfm"
        self.good("compile", "-q", "--target", "host", program, "-o", few)
        self.good("compile", "-q", "--target", "host", "--unfused", "all", "--seek-interval", 4096, program, "-o", many)
        says = {
            "unfused": ["error[ZF1410]", "no code for this file's plan, with seek states of c.deltas\n"],
            "far": ["error[ZF1403]", "no code for this file's plan, with seek states every 4096 elements\n"],
        }
        for name in files:
            file, own = self.dir / f"{name}.zfd", self.dir / f"{name}.zfm"
            self.assertIn("all good", self.good("verify", "--module", many, file))
            if name not in says:
                self.assertIn("all good", self.good("verify", "--module", few, file))
                continue
            for verb in (["verify"], ["decode", "-o", self.dir / "none"], ["pipeline"]):
                self.bad(1, *verb, "--module", few, file, says=[*says[name], f"{name}.zfd: column c"], lacks=["GOOD", "ZF1207"])
            report = self.zfc("verify", "--json", "--module", few, file)
            self.assertIsNone(json.loads(report.stdout)[0]["good"])
            command = report.stderr.split("zfc compile ")[1].split("\n")[0].replace("OUT.zfm", str(own)).split()
            self.good("compile", "-q", *command, "--target", "host")
            self.assertIn("all good", self.good("verify", "--module", own, file))
        self.bad(1, "verify", "--module", self.dir / "unfused.zfm", self.dir / "fused.zfd", says=["all stages are fused"], lacks="GOOD")
        options = [word for n in (256, 512, 1024, 2048, 4096, 8192) for word in ("--seek-interval", n)]
        options += ["--unfused", "all", "--unfused", "c.deltas"]
        self.bad(2, "compile", *options, program, "-o", self.dir / "none.zfm", says="more than 17 combinations")
        self.bad(2, "compile", "--unfused", "c.sums", program, "-o", self.dir / "none.zfm", says="`c.sums` is not a stream")

    def test_what_cannot_be_meant(self):
        for names, says in {
            "deep.counts": ["`deep.counts` is not a stream that an ordered stage of column `deep` makes", "deep.values.start.deltas"],
            "deep.values.start.": ["`deep.values.start.` is not a stream"],
            "deep.values,twice.values.deltas": ["`twice.values.deltas` is not a stream", "twice.values, twice.counts"],
            "deep": ["`deep` does not begin with a column of table `t` and a dot"],
            "sea.values": ["`sea.values` does not begin with a column"],
            "deep.values,": ["`` does not begin with a column"],
            "": ["--unfused is given nothing"],
        }.items():
            out = self.dir / "none.zfd"
            self.bad(2, "encode", "-q", "--unfused", names, "-c", self.program, "-o", out, self.csv, says=says)
            self.assertFalse(out.exists())


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
