"""The table that tests of several verbs use: its program, made rows, and the rows as text and raw."""

import array
import datetime
import random

import zfc_case

PROGRAM = """
table t {
    id:    i64    = delta(bitpack);
    kind:  u8     = dictionary(bitpack);
    n:     i32    = rle(bitpack, bitpack);
    price: f64    = float2int(bitpack);
    day:   date32 = bitpack;
    at:    timestamp = bitpack;
    cost:  decimal(9, 2) = bitpack;
    flag:  bool   = plain;
    step:  u32    = delta_stride(bitpack, bitpack, bitpack);
}
"""
TYPES = {"id": "i64", "kind": "u8", "n": "i32", "price": "f64", "day": "date32", "at": "timestamp", "cost": "decimal", "flag": "bool", "step": "u32"}
CODES = {"i64": "q", "u8": "B", "i32": "i", "f64": "d", "date32": "i", "timestamp": "q", "decimal": "q", "u32": "I"}


def make_rows(count):
    chooser = random.Random(7)
    rows, n = [], 0
    for i in range(count):
        if chooser.random() < 0.1:
            n = chooser.randrange(-50, 50)
        rows.append({
            "id": 1000 + 3 * i + chooser.randrange(3), "kind": ord(chooser.choice("ANR")), "n": n,
            "price": chooser.randrange(10**6) / 100, "day": 9000 + i % 700, "at": 1_600_000_000_000_000 + 1_000_000 * i,
            "cost": chooser.randrange(-10**6, 10**6), "flag": chooser.random() < 0.3, "step": i // 10 * 10 + 4 * (i % 10),
        })
    return rows


def as_text(rows):
    lines = ["extra," + ",".join(TYPES)]
    for row in rows:
        day = datetime.date(1970, 1, 1) + datetime.timedelta(days=row["day"])
        at = datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=row["at"])
        cost = f"{'-' if row['cost'] < 0 else ''}{abs(row['cost']) // 100}.{abs(row['cost']) % 100:02}"
        lines.append(f'"skipped, ""this"" is",{row["id"]},{chr(row["kind"])},{row["n"]},{row["price"]!r},{day},{at},{cost},{str(row["flag"]).lower()},{row["step"]}')
    return "\n".join(lines) + "\n"


def as_raw(rows, name, bits=True):
    kind = TYPES[name]
    if kind != "bool":
        return array.array(CODES[kind], [row[name] for row in rows]).tobytes()
    if not bits:
        return bytes(int(row[name]) for row in rows)
    out = bytearray((len(rows) + 7) // 8)
    for i, row in enumerate(rows):
        out[i // 8] |= row[name] << (i % 8)
    return bytes(out)


class Case(zfc_case.Case):
    def setUp(self):
        super().setUp()
        self.program = self.file("t.zf", PROGRAM)

    def bad(self, status, code, *words, **options):
        """The run fails with this status and code, in words, without a trace of a crash."""
        return super().bad(status, *words, says=code, lacks="Sanitizer", **options).stderr

    def encode(self, rows, *more):
        source, container = self.dir / "t.csv", self.dir / "t.zfd"
        source.write_text(as_text(rows))
        self.good("encode", "-q", "-f", "-c", f"{self.program}:t", "-o", container, source, *more)
        return container
