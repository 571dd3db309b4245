"""Golden containers: files that earlier builds wrote decode to the same rows on every device, for ever.

Usage: test_golden.py ZFC SOURCE"""

import array
import pathlib
import sys
import unittest

from zfc_case import Case, cache_of_module

CONTAINERS = pathlib.Path(sys.argv[2]) / "tests/golden/containers"
sys.path.insert(0, str(CONTAINERS))
import table  # noqa: E402


def setUpModule():
    cache_of_module()


class Golden(Case):
    def check_files(self, directory, what):
        for name, content in table.raw_files().items():
            self.assertEqual((directory / name).read_bytes(), content, f"{what}: {name}")

    def test_every_version_decodes_on_every_device(self):
        files = sorted(CONTAINERS.glob("v*.zfd"))
        self.assertGreaterEqual(len(files), 1)
        for file in files:
            for device in ("cpu", "emu"):
                out = self.dir / f"{file.stem}-{device}"
                self.good("decode", file, "-o", out, "--device", device, "-q")
                self.check_files(out, f"{file.name} on {device}")

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
