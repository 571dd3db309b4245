"""zfc compile --device-functions: what is in the header, what is left out and why, and words that do not fit together. The values that
its functions give are those of tile_loaders.py. Usage: test_device_functions.py ZFC PATCH [unittest arguments]"""

import array
import json
import pathlib
import re
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
import zfc_case  # noqa: E402

ROWS = 5000
PROGRAM = """
table t {
    a: i32 = bitpack;
    b: u8 = dictionary(bitpack);
    runs: i32 = rle(bitpack, bitpack);
    either: i32 = constant | bitpack;
    words: string = strings(bitpack);
    names: string = dictionary(bitpack, strings(bitpack));
}
"""


PATCH = sys.argv[2]  # tests/support/patch_container.c


def setUpModule():
    zfc_case.cache_of_module()


class DeviceFunctions(zfc_case.Case):
    def setUp(self):
        super().setUp()
        self.program, self.out = self.file("t.zf", PROGRAM), self.dir / "t.cuh"
        self.container = self.encode("t.zfd")

    def encode(self, name, rows=ROWS, block=2048):
        lines = ["a,b,runs,either,words,names", *(f"{k * 7919 % 4001},{k % 5},{k // 99},{7 if k < block else k % 3},w{k % 11},n{k % 5}" for k in range(rows))]
        table = self.file(f"{name}.csv", "\n".join(lines) + "\n")
        self.good("encode", "-q", "-c", self.program, "--rows-per-block", str(block), "-o", self.dir / name, table)
        return self.dir / name

    def functions(self, *words):
        self.good("compile", "-q", "-f", "--device-functions", *words, "-o", self.out, self.container)
        return self.out.read_text()

    def test_header(self):
        report = json.loads(self.good("compile", "--device-functions", "--json", "-o", self.out, self.container))
        self.assertEqual((report["columns"], report["general"], report["bytes"]), (2, 0, self.out.stat().st_size))
        self.assertEqual(len(report["left_out"]), 4)
        header = self.out.read_text()
        for name, kind in (("a", "int"), ("b", "unsigned char")):
            self.assertRegex(header, rf'#define ZF_TILE_KEY_{name} "zf-tile-1 [0-9a-f]{{32}} [0-9a-f]{{16}} [0-9,-]+ {name}"')
            for function in ("open", "load", "load_whole", "get"):
                self.assertEqual(len(re.findall(rf"\bzf_tile_{function}_{name}\(", header)), 1, function)
            self.assertIn(f"{kind} (&values)[ZF_TILE_GROUP]", header)
        for name, why in (("runs", "no map|not a map"), ("either", "different alternatives"), ("words", "strings"), ("names", "strings")):
            self.assertRegex(header, rf"// column {name} has no tile loader: .*({why})")
            self.assertNotIn(f"zf_tile_open_{name}(", header)
        self.assertEqual(self.functions(), header)  # the same file gives the same header

    def test_names(self):
        """Columns whose names are parts of those of functions and types: each name is defined once."""
        names = ("column", "x", "open_x", "get_x", "load_x", "load_whole_x")
        program = self.file("n.zf", "table t { " + " ".join(f"{name}: u8 = bitpack;" for name in names) + " }\n")
        self.good("encode", "-q", "-c", program, "-o", self.dir / "n.zfd", self.file("n.csv", ",".join(names) + "\n1,2,3,4,5,6\n"))
        self.good("compile", "-q", "--device-functions", "-o", self.out, self.dir / "n.zfd")
        defined = re.findall(r"^(?:struct|typedef struct) (\w+) \{|\b(zf_tile_\w+)\((?=const)", self.out.read_text(), re.M)
        defined = [one or other for one, other in defined]
        self.assertEqual(len(defined), 1 + 5 * len(names))
        self.assertEqual(len(defined), len(set(defined)))

    def test_text_of_the_file(self):
        """The index says a codec in words of its own: they stay in a comment."""
        content = self.container.read_bytes()
        found = [one for one in re.finditer(rb"dictionary\([a-z: ]*bitpack[a-z:, ]*\)", content) if content[one.end() : one.end() + 1] != b";"]
        old = content[found[-1].start() - 4 : found[-1].end()]  # not that of the program, which ends with a semicolon
        harmful = old[:4] + b'x\n#error "' + b"y" * (len(old) - 15) + b"\\"
        self.assertEqual(len(harmful), len(old))
        subprocess.run([PATCH, self.container, old.hex(), harmful.hex()], check=True)
        result = self.zfc("compile", "-q", "-f", "--device-functions", "-o", self.out, self.container)
        if result.returncode == 0:
            lines = self.out.read_text().split("\n")
            self.assertEqual([line for line in lines if line.startswith("#error") or line.startswith("// ----") and line.endswith("\\")], [])
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_columns(self):
        header = self.functions("--columns", "b")
        self.assertIn("zf_tile_open_b(", header)
        self.assertNotIn("zf_tile_open_a(", header)
        self.out.unlink()
        for name, why in (("runs", "zf_decode_async"), ("either", "one alternative"), ("words", "zf_decode_async")):
            self.bad(1, "compile", "--device-functions", "--columns", f"a,{name}", "-o", self.out, self.container, says="error[ZF1414]")
            self.bad(1, "compile", "--device-functions", "--columns", f"a,{name}", "-o", self.out, self.container, says=why)
            self.assertFalse(self.out.exists())
        self.bad(2, "compile", "--device-functions", "--columns", "nothing", "-o", self.out, self.container, says="nothing")

    def test_params_that_differ(self):
        """Blocks of other widths: the general form, and its key says that it takes any."""
        numbers = array.array("i", [k % 3 if k < 2048 else k for k in range(4096)])
        self.file("n.i32", numbers.tobytes())
        self.file("n.zf", "table n { a: i32 = bitpack; }\n")
        self.good("encode", "-q", "-c", self.dir / "n.zf", "--rows-per-block", "2048", "-o", self.dir / "n.zfd", f"a={self.dir / 'n.i32'}")
        report = json.loads(self.good("compile", "--device-functions", "--json", "-o", self.out, self.dir / "n.zfd"))
        self.assertEqual((report["columns"], report["general"]), (1, 1))
        self.assertRegex(self.out.read_text(), r'#define ZF_TILE_KEY_a "zf-tile-1 \w+ \w+ \* a"')

    def test_blocks(self):
        uneven, empty, one = self.encode("uneven.zfd", block=1000), self.encode("empty.zfd", rows=0), self.encode("one.zfd", rows=900)
        self.bad(1, "compile", "--device-functions", "-o", self.out, uneven, says="no column of the file")
        self.bad(1, "compile", "--device-functions", "--columns", "a", "-o", self.out, uneven, says="--rows-per-block")
        self.bad(1, "compile", "--device-functions", "--columns", "a", "-o", self.out, empty, says="no rows")
        self.good("compile", "-q", "--device-functions", "--columns", "a", "-o", self.out, one)  # a block of any rows alone

    def test_words(self):
        self.bad(2, "compile", "--device-functions", self.container, says="OUT.cuh")
        self.bad(2, "compile", "--device-functions", "-o", self.out, self.program, says="needs a file that is encoded")
        self.bad(2, "compile", "--columns", "a", "-o", self.out, self.container, says="--columns goes with --device-functions")
        for option in (("--target", "nvptx"), ("--cpu", "x86-64-v3"), ("--seek-interval", "512"), ("--unfused", "all")):
            self.bad(2, "compile", "--device-functions", *option, "-o", self.out, self.container, says=f"without {option[0]}")
        self.functions()
        self.bad(1, "compile", "--device-functions", "-o", self.out, self.container, says="error[ZF1501]")
        self.bad(2, "compile", "--device-functions", "-f", "-o", self.container, self.container, says="error[ZF2014]")
        self.bad(1, "compile", "--device-functions", "-f", "-o", self.out, self.file("cut.zfd", self.container.read_bytes()[:-9]), says="error[ZF")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
