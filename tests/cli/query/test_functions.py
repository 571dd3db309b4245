"""Functions that queries bring, compared with Python's. Usage: test_functions.py ZFC [unittest arguments]"""

import datetime
import json
import pathlib
import random
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import zfc_case  # noqa: E402

EPOCH = datetime.date(1970, 1, 1)


def field(value):
    return "" if value is None else f'"{value}"'


class Functions(zfc_case.Case):
    def encode(self, program, text):
        self.good("encode", self.file("in.csv", text), "-c", program, "-o", self.dir / "t.zfd")
        return self.dir / "t.zfd"

    def results(self, *words):
        return json.loads(self.good("query", "--json", *words))["results"]

    def test_strings(self):
        chosen = random.Random(8)
        texts = ["", "a", "ab", "aab", "abab", "b", "ba", "é", "aé", "longer than eight bytes", "than", "eight bytes"]
        rows = [(chosen.choice(texts), chosen.choice([None, *texts])) for _ in range(3000)]
        parts = ["", "a", "ab", "ba", "é", "than", "longer than eight", "eight bytes", "t bytes", "x"]
        tests = [(name, "su"[k % 2], json.dumps(part, ensure_ascii=False)) for k, (name, part) in enumerate((n, p) for n in ("starts", "ends", "contains") for p in parts)]
        tests += [(name, a, b) for name in ("starts", "ends", "contains") for a, b in ("su", "us", "ss")]
        program = self.file("s.zf", "table t { s: string = strings; u: string? = nullable(values: strings); }\nquery q(t) {\n" +
                            f"result n: i64[{len(tests)}, 2] = sum;\neach {{\n" +
                            "".join(f"if {name}({a}, {b}) {{ n[{k}, 0] += 1; }}\nif !{name}({a}, {b}) {{ n[{k}, 1] += 1; }}\n" for k, (name, a, b) in enumerate(tests)) + "}\n}\n")
        container = self.encode(program, "s,u\n" + "".join(f"{field(s)},{field(u)}\n" for s, u in rows))
        meaning = {"starts": bytes.startswith, "ends": bytes.endswith, "contains": bytes.__contains__}
        wanted = []
        for name, a, b in tests:
            holds = 0
            for s, u in rows:
                first, second = ({"s": s, "u": u}.get(x, x.strip('"')) for x in (a, b))
                holds += first is not None and second is not None and meaning[name](first.encode(), second.encode())
            wanted += [holds, len(rows) - holds]
        self.assertEqual(self.results(f"{program}:q", container)["n"]["values"], wanted)

    def test_dates(self):
        chosen = random.Random(9)
        days = [datetime.date(1, 1, 1), datetime.date(9999, 12, 31), EPOCH, datetime.date(1969, 12, 31), datetime.date(2000, 2, 29), datetime.date(1900, 3, 1), datetime.date(1600, 12, 31)]
        days += [datetime.date.fromordinal(chosen.randrange(1, datetime.date.max.toordinal() + 1)) for _ in range(300)]
        program = self.file("d.zf", "table t { day: date32 = plain; }\n" +
                            f"query q(t) {{ param p: i32 = date(1994, 1, 1); result at: i64[{len(days)}] = sum; result n: i64 = sum; each {{\n" +
                            "if day >= p && day < date(1995, 1, 1) { n += 1; }\nif row == 0 {\n" +
                            "".join(f"at[{k}] += date({day.year}, {day.month}, {day.day});\n" for k, day in enumerate(days)) + "}\n}\n}\n")
        container = self.encode(program, "day\n1993-12-31\n1994-01-01\n1994-12-31\n1995-01-01\n")
        self.assertEqual(self.results(f"{program}:q", container), {"at": [(day - EPOCH).days for day in days], "n": 2})


def setUpModule():
    zfc_case.cache_of_module()


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
