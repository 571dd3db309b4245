"""Conditions on strings of dictionaries, which a GPU evaluates once for each entry, compared with counts made here.
Usage: test_entries.py ZFC PATCH_CONTAINER [unittest arguments]"""

import array
import itertools
import json
import pathlib
import random
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import zfc_case  # noqa: E402

PATCH = sys.argv.pop(2)
PROGRAM = """
const T: u8[4] = ['w', '1', '2', '3'];
algorithm copy(entries: string[]) -> string[] fully_parallel { decode(i) = entries[i]; encode(x) { for v in x { entries.push(v); } } }
table t { s: string = dictionary(bitpack, strings(bitpack)); u: string = strings(bitpack); a: u8 = bitpack; c: string = copy(dictionary(bitpack, strings)); }
query q(t) {
    result n: i64[16] = sum;
    result hit: bool = mask;
    each {
        if s == "w7" { n[0] += row; }
        if a > 2 && starts(s, "w1") { n[1] += row; hit = true; }
        if (s == "w3" || ends(s, "9")) && !contains(s, "5") && a < 8 { n[2] += row; }
        if a != 1 { if s != "w2" { n[3] += row; } }
        if s == u { n[4] += row; }
        if contains(s, "0") { n[5] += row; } else { n[6] += row; }
        if s == "" || s == "w31" || u == "w6" { n[7] += row; }
        if s == "w7" || s == "" || s.len > 4 || !(s != "w12") { n[8] += row; }
        if a > 2 && s.len == 2 && "w3" != s { n[9] += row; }
        if contains(s, "b") || ends(s, "xxxxxxxxxxxxxxxxxx") { n[10] += row; }
        if contains(s, "b") { n[10] += row; }
        if ends(s, "xxxxxxxxxxxxxxxxxxxxxxxx") { n[10] += row; }
        if s.len > 2 && s[2] == '1' { n[11] += row; }
        if s.len > 1 && contains(s[1..s.len], "7") { n[12] += row; }
        if s == T[0..(a & 3)] { n[13] += row; }
        if s.len > 0 && any(k in 0..s.len - 1: k == 3) { n[14] += row; }
        if c == "w5" || c == "w2000" { n[15] += row; }
    }
}
"""
CONDITIONS = [lambda s, u, a: s == "w7", lambda s, u, a: a > 2 and s.startswith("w1"),
              lambda s, u, a: (s == "w3" or s.endswith("9")) and "5" not in s and a < 8, lambda s, u, a: a != 1 and s != "w2",
              lambda s, u, a: s == u, lambda s, u, a: "0" in s, lambda s, u, a: "0" not in s, lambda s, u, a: s in ("", "w31") or u == "w6",
              lambda s, u, a: s in ("w7", "", "w12") or len(s) > 4, lambda s, u, a: a > 2 and len(s) == 2 and s != "w3",
              lambda s, u, a: False, lambda s, u, a: len(s) > 2 and s[2] == "1", lambda s, u, a: "7" in s[1:], lambda s, u, a: s == "w123"[: a & 3],
              lambda s, u, a: len(s) > 4, lambda s, u, a: s in ("w5", "w2000")]


class Entries(zfc_case.Case):
    BLOCK = 4096
    ROWS = 2 * BLOCK + 2048 + 77

    def strings(self, name, texts):
        """The files of a column of strings."""
        ends = array.array("q", itertools.accumulate(map(len, texts), initial=0))
        return [f"{name}.offsets={self.file(name + '.offsets', ends.tobytes())}", f"{name}.bytes={self.file(name + '.bytes', ''.join(texts))}"]

    def encoded(self, program, name, s, u, a):
        out = self.dir / f"{name}.zfd"
        files = [*self.strings("s", s), *self.strings("u", u), *self.strings("c", s), f"a={self.file('a', bytes(a))}"]
        self.good("encode", "-f", *files, "-c", program, "-o", out, "--rows-per-block", str(self.BLOCK))
        return out

    def test_counts(self):
        """One entry, more than a word has bits, as many as a warp's words have, and more; another dictionary in each block."""
        chosen, program = random.Random(7), self.file("e.zf", PROGRAM)
        for entries in (1, 33, 1024, 1025):
            words = [f"w{k}" for k in range(entries - 1)] + [""]
            s = []
            while len(s) < self.ROWS:  # each block has all of them, in an order of its own
                chosen.shuffle(words)
                s += words + [chosen.choice(words) for _ in range(self.BLOCK - len(words))]
            s = s[: self.ROWS]
            u = [f"w{chosen.randrange(9)}" for _ in s]
            a = [chosen.randrange(10) for _ in s]
            rows = list(zip(s, u, a))
            wanted = [sum(row for row, of in enumerate(rows) if holds(*of)) for holds in CONDITIONS]
            hits = [CONDITIONS[1](*of) for of in rows]
            container = self.encoded(program, f"e{entries}", s, u, a)
            for device in ("cpu", "emu", *["emu64"] * (entries == 33)):
                out = self.dir / f"{entries}.{device}"
                report = json.loads(self.good("query", "--json", "-f", "-o", out, f"{program}:q", container, "--device", device))
                self.assertEqual(report["results"]["n"], wanted, (entries, device))
                self.assertEqual([(out / "hit.bool").read_bytes()[k // 8] >> k % 8 & 1 for k in range(self.ROWS)], hits, (entries, device))

    def test_damage(self):
        """A number of no entry."""
        program = self.file("d.zf", """
table t { s: string = dictionary(bitpack, strings); u: string = strings; a: u8 = bitpack; c: string = plain(strings); }
query whole(t) { result n: i64 = sum; each { if s == "w3" { n += 1; } } }
query some(t) { result n: i64 = sum; each { if a > 6 && s == "w3" { n += 1; } } }
""")
        rows, bad = range(self.ROWS), 15
        container = self.encoded(program, "d", [f"w{k % 5}" for k in rows], ["" for _ in rows], [k % 8 for k in rows])
        codes = [k % 5 for k in range(32)]  # of three bits
        old, new = (sum(code << 3 * k for k, code in enumerate(of)).to_bytes(12, "little").hex() for of in (codes, [*codes[:bad], 7, *codes[bad + 1 :]]))
        subprocess.run([PATCH, container, old, new, "blocks"], check=True)
        for device in ("cpu", "emu", "emu64"):
            for query in ("whole", "some"):
                self.bad(1, "query", f"{program}:{query}", container, "--device", device, says=["ZF1301"])


def setUpModule():
    zfc_case.cache_of_module()


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
