"""Golden containers: files that earlier builds wrote decode to the same rows on every device, for ever.

Usage: test_golden.py ZFC SOURCE

ZF_GOLDEN_LIBRARY names libzipflow-compile.so of this build; without it no file is made by the C API."""

import array
import json
import os
import pathlib
import subprocess
import sys
import unittest

from zfc_case import Case, cache_of_module

CONTAINERS = pathlib.Path(sys.argv[2]) / "tests/golden/containers"
sys.path.insert(0, str(CONTAINERS))
import make  # noqa: E402
import table  # noqa: E402


def setUpModule():
    cache_of_module()


class Golden(Case):
    def check_files(self, directory, what, columns=table.COLUMNS, rows=table.ROWS, begin=0):
        for name, content in table.raw_files(rows, begin, columns).items():
            self.assertEqual((directory / name).read_bytes(), content, f"{what}: {name}")

    def check_container(self, file, columns, rows, device, *words):
        out = self.dir / f"{file.stem}-{device}"
        self.good("decode", file, "-o", out, "--device", device, "-q", "-f", *words)
        self.check_files(out, f"{file.name} on {device}", columns, rows)

    def test_every_version_decodes_on_every_device(self):
        self.assertEqual(sorted(file.name for file in CONTAINERS.glob("v*.zfd")), sorted(table.FILES))
        for name, (columns, rows) in table.FILES.items():
            self.assertIn("all good", self.good("verify", CONTAINERS / name))
            for device in ("cpu", "emu"):
                self.check_container(CONTAINERS / name, columns, rows, device)

    def test_version_2_keeps_what_it_says(self):
        """Features, names and keys of the kept file, and its blocks, which begin within bytes."""
        shown = json.loads(self.good("inspect", CONTAINERS / "v2.zfd", "--json"))
        self.assertEqual(shown["features"], ["uneven blocks", "names", "schema", "metadata", "zones", "programs"])
        self.assertEqual(list(shown["metadata"]), ["source", "empty", "binary"])
        self.assertEqual([column["name"] for column in shown["columns"]], [f"The column “{column[0]}”" for column in table.NEWEST])
        self.assertEqual([block["first_row"] for block in shown["columns"][0]["blocks"]], [0, 900, 1800])
        self.assertIn("uneven chunks", json.loads(self.good("inspect", CONTAINERS / "v2_chunks.zfd", "--json"))["features"])
        shown = json.loads(self.good("inspect", CONTAINERS / "v2_lists.zfd", "--json"))
        self.assertEqual(shown["features"], ["uneven blocks", "lists", "zones", "programs"])
        self.assertEqual([column["name"] for column in shown["columns"]],
                         ["numbers", "numbers.values", "rows", "phrases", "phrases.valid", "phrases.values", "answers", "answers.valid", "answers.values",
                          "sums", "sums.values"])

    def test_lists_are_made_and_read_in_ranges(self):
        file = self.dir / "lists.zfd"
        make.lists(sys.argv[1], file)
        for device in ("cpu", "emu"):
            self.check_container(file, table.LISTED, table.NEWEST_ROWS, device)
            for begin, end in ((0, 1), (899, 901), (1999, 2000), (700, 700), (5, 1994)):
                out = self.dir / f"{device}-{begin}"
                self.good("decode", file, "-o", out, "--device", device, "-q", "-f", "--rows", f"{begin}..{end}")
                self.check_files(out, f"rows {begin} to {end} on {device}", table.LISTED, end, begin)

    @unittest.skipUnless("ZF_GOLDEN_LIBRARY" in os.environ, "the build has no shared library that Python can load")
    def test_the_newest_is_made(self):
        """make.py makes a file with every feature, as the next version's will be."""
        file = self.dir / "newest.zfd"
        words = [CONTAINERS / "make.py", os.environ["ZF_GOLDEN_LIBRARY"], CONTAINERS.parents[2] / "dsl/std", file]
        subprocess.run([sys.executable, *words], check=True, timeout=600, env={**os.environ, "ZIPFLOW_OPTIMISE": "0"})
        shown = json.loads(self.good("inspect", file, "--json"))
        self.assertEqual(shown["features"], ["uneven blocks", "names", "schema", "metadata", "zones", "programs"])
        self.assertEqual(list(shown["metadata"]), [key for key, _ in make.METADATA])
        self.assertEqual([column["name"] for column in shown["columns"]], [make.full_name(column[0]) for column in table.NEWEST])
        self.check_container(file, table.NEWEST, table.NEWEST_ROWS, "cpu")
        begin, end = make.ROWS_PER_BLOCK - 3, make.ROWS_PER_BLOCK + 5
        self.good("decode", file, "-o", self.dir / "range", "--device", "emu", "-q", "--rows", f"{begin}..{end}")
        self.check_files(self.dir / "range", "a range", table.NEWEST, end, begin)

    def test_versions_are_written_and_said(self):
        table.write(self.dir)
        for version in (1, 2):
            file = self.dir / f"v{version}.zfd"
            self.good("encode", "-c", self.dir / "table.zf", self.dir / "table.csv", "-o", file, "--format", version, "-q")
            self.assertIn(f"format {version}", self.good("inspect", file, "--columns", "packed"))
            self.good("decode", file, "-o", self.dir / f"out{version}", "--device", "cpu", "-q")
            self.check_files(self.dir / f"out{version}", f"version {version}")

    def test_names_and_metadata(self):
        self.file("t.zf", "table t { price: u32 = bitpack; day: u8 = plain; }\n")
        self.file("t.csv", "Total price (€),day\n7,1\n9,2\n")
        words = ("encode", "-c", self.dir / "t.zf", self.dir / "t.csv", "--field", "price=Total price (€)", "-q")
        self.good(*words, "-o", self.dir / "t.zfd", "--metadata", "source=a = b", "--metadata", "empty=")
        shown = self.good("inspect", self.dir / "t.zfd")
        self.assertIn('named "Total price (€)"', shown)
        self.assertIn("source = a = b\n", shown)
        self.good("decode", self.dir / "t.zfd", "-o", self.dir / "out", "--columns", "Total price (€)", "-q")
        self.assertEqual((self.dir / "out/price.u32").read_bytes(), b"\7\0\0\0\11\0\0\0")
        self.bad(2, *words, "-o", self.dir / "u.zfd", "--metadata", "a=b", "--format", "1", says="ZF1505")
        self.assertFalse((self.dir / "u.zfd").exists())
        self.good(*words, "-o", self.dir / "u.zfd", "--format", "1")  # the name is left out
        self.assertNotIn("Total", self.good("inspect", self.dir / "u.zfd"))
        self.bad(2, *words, "-o", self.dir / "v.zfd", "--metadata", "=b", says="KEY=VALUE")
        self.bad(2, *words, "-o", self.dir / "v.zfd", "--metadata", "a=b", "--metadata", "aa=b", "--metadata", "a=c", says="names `a` twice")


class OlderStates(Case):
    """A file whose seek states no later build writes."""

    def columns(self):
        keys, key = [], 1
        while len(keys) < 5000:
            keys += [key] * (1 + key * 5 % 7)
            key += 25 if key % 8 == 0 else 1
        return {"k.i64": array.array("q", keys[:5000]), "b.i32": array.array("i", [i // 50 % 7 * 3 for i in range(5000)])}

    def test_every_ordered_stage_a_tree_of_its_own(self):
        path = CONTAINERS / "ordered_apart.zfd"
        self.assertIn("all good", self.good("verify", path))
        for device in ("cpu", "emu"):
            self.good("decode", "-q", "--device", device, "-o", self.dir / device, path)
            for name, values in self.columns().items():
                self.assertEqual((self.dir / device / name).read_bytes(), values.tobytes(), name)
        self.good("compile", "-q", path, "-o", self.dir / "old.zfm")
        self.good("decode", "-q", "--module", self.dir / "old.zfm", "-o", self.dir / "module", path)
        for name, values in self.columns().items():
            self.assertEqual((self.dir / "module" / name).read_bytes(), values.tobytes(), name)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
