"""The layout of `batmap`: its stored maps are read here by a second decoder, every pair of them is intersected word by word, and
columns come back from every device.

Usage: test_batmap.py ZFC"""

import array
import itertools
import json
import pathlib
import random
import struct
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from zfc_case import Case, cache_of_module  # noqa: E402

ONE_CHUNK = 1 << 24


def setUpModule():
    cache_of_module()


def keys_of(sets):
    return [number << 32 | element for number, members in sets for element in sorted(members)]


def packed(keys):
    return struct.pack(f"<{len(keys)}Q", *keys)


def common(a, b):
    """How many slots of two maps hold an element of both sets that is counted there: all their words at once."""
    size = max(len(a), len(b))
    x, y = (int.from_bytes(one * (size // len(one)), "little") for one in (a, b))
    high = int.from_bytes(b"\x80" * size, "little")
    return (~((x ^ y | high) - (high >> 7)) & (x | y) & high).bit_count()


class Map:
    """A set as it is stored."""

    def __init__(self, slots, lost):
        self.slots, self.lost = slots, set(lost)


class Batmap(Case):
    def program(self, codec):
        return self.file("sets.zf", f"table t {{ c: u64 = {codec}; }}\n")

    def stored(self, codec, sets, *options, devices=("cpu", "emu")):
        """Encodes and decodes; gives the report of `zfc inspect` and the file."""
        plain = packed(keys_of(sets))
        self.good("encode", "-q", "-f", "-c", self.program(codec), "-o", self.dir / "t.zfd", f"c={self.file('c', plain)}", *options)
        for device in devices:
            self.good("decode", "-q", "-f", "--device", device, "-o", self.dir / device, self.dir / "t.zfd")
            self.assertTrue((self.dir / device / "c.u64").read_bytes() == plain, f"{codec} on {device}")
        return json.loads(self.good("inspect", "--json", self.dir / "t.zfd"))

    def maps(self, sets, shift):
        """The maps by set, of a column of one chunk."""
        said = self.stored(f"batmap(shift: {shift}, chunk: {ONE_CHUNK})", sets)
        data = (self.dir / "t.zfd").read_bytes()
        (block,) = said["columns"][0]["blocks"]
        bytes_of = {s["path"]: data[block["offset"] + s["offset"]:][:s["bytes"]] for s in block["streams"]}
        ids, losses, lost = (array.array("I", bytes_of[path]) for path in ("ids", "losses", "lost"))
        maps, at, taken = {}, 0, 0
        for number, log, count in zip(ids, bytes_of["logs"], losses):
            maps[number] = Map(bytes_of["words"][at:at + 3 * 2**log], lost[taken:taken + count])
            at, taken = at + 3 * 2**log, taken + count
        self.assertEqual((at, taken), (len(bytes_of["words"]), len(lost)))
        return maps

    def check(self, sets, shift):
        sets = [(number, set(members)) for number, members in sets]
        maps = self.maps(sets, shift)
        self.assertEqual(list(maps), [number for number, members in sets if members])
        for number, members in sets:
            if not members:
                continue
            one = maps[number]
            rows = len(one.slots) // 3
            self.assertTrue(rows == max(4, 1 << shift) or len(members) <= rows // 2 < 2 * len(members), f"{len(members)} in {rows}")
            self.assertTrue(one.lost <= members)
            self.assertEqual(sum(slot > 0 for slot in one.slots), 2 * (len(members) - len(one.lost)))
            self.assertEqual(sum(slot > 128 for slot in one.slots), len(members) - len(one.lost))
            self.assertNotIn(128, one.slots)
        for (a, left), (b, right) in itertools.combinations_with_replacement(sets, 2):
            if left and right:
                both = (left - maps[a].lost) & (right - maps[b].lost)
                self.assertEqual(common(maps[a].slots, maps[b].slots), len(both), f"sets {a} and {b}")
        return maps

    def test_common(self):
        chosen = random.Random(5)
        drawn = [(3 * k, chosen.sample(range(4000), chosen.randrange(300))) for k in range(25)]
        self.check([*drawn, (100, range(0, 4064, 32)), (101, range(256)), (2**32 - 1, range(3800, 4064))], 5)
        self.check([(k, chosen.sample(range(127), chosen.randrange(1, 127))) for k in range(12)], 0)
        self.check([(k, chosen.sample(range(60000), 10 << k)) for k in range(8)], 9)

    def test_full_tables(self):
        """With 2^k elements a map has no more than twice as many rows in a table, and now and then one finds no slot."""
        chosen = random.Random(6)
        maps = self.check([(k, chosen.sample(range(127 << 9), 2048)) for k in range(36)], 9)
        self.assertTrue(0 < sum(len(one.lost) for one in maps.values()) < 36)

    def test_chunks(self):
        chosen = random.Random(8)
        sets = [(k, chosen.sample(range(500), chosen.randrange(90))) for k in range(80)]
        self.stored("batmap(shift: 2, chunk: 1)", sets[:9])
        for codec in ("batmap(shift: 2, chunk: 333)", "batmap(shift: 4, chunk: 1000, ids: delta(bitpack), logs: rle, words: bitpack, losses: bitpack, lost: bitpack)"):
            self.stored(codec, sets, "--rows-per-block", "2000")
        self.stored("batmap(shift: 17, chunk: 100)", [(1, [0, 65535, 65536, 9_000_000, (127 << 17) - 1])], devices=["cpu"])
        self.stored("batmap(shift: 10)", [(1, [0, 65535, 65536, (127 << 10) - 1])])
        self.stored("batmap", [])

    def test_refused(self):
        for keys, says in (([5, 5], "not strictly increasing"), ([1 << 32, 1], "not strictly increasing"), ([127 << 9], "not below 127 << shift")):
            self.bad(1, "encode", "-f", "-c", self.program("batmap"), "-o", self.dir / "t.zfd", f"c={self.file('c', packed(keys))}", says=says)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
