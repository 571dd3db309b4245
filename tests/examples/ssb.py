"""bench/ssb at scale factor 0.01: the same bytes whatever the chunks, the checks and that they notice damage, the queries beside a second
implementation over texts, and a round trip of ssb.zf. 77: there is no numpy, pyarrow or duckdb.

    ssb.py ROOT ZFC
"""

import contextlib
import hashlib
import io
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT, ZFC = (pathlib.Path(word).resolve() for word in sys.argv[1:])
BENCH = ROOT / "bench/ssb"
sys.dont_write_bytecode = True
sys.path.insert(0, str(BENCH))
try:
    import duckdb  # noqa: F401
    import numpy as np
    import pyarrow.parquet as pq
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)
import check as checks  # noqa: E402
import generate  # noqa: E402
import roundtrip  # noqa: E402
import schema  # noqa: E402
import ssb_queries  # noqa: E402
import tbl  # noqa: E402
import verdict  # noqa: E402
from verdict import check  # noqa: E402

SCALE = 0.01
BYTES = "bd39627cac9b54cd"  # of all columns at this scale and seed 1: a new digest is new data


def quietly(function, *arguments, **named):
    with contextlib.redirect_stdout(io.StringIO()):
        return function(*arguments, **named)


def digest(folder):
    whole = hashlib.sha256()
    for path in sorted(folder.glob("*.npy")):
        whole.update(path.name.encode() + path.read_bytes())
    return whole.hexdigest()


def texts(data, table):
    """{column: array} of a table's columns with their words."""
    read = pq.read_table(data / f"{table}.parquet")
    return {name: np.array(column.to_pylist()) for name, column in zip(read.column_names, read.columns)}


class Words:
    """The queries once more, by NumPy, over words and not codes. A column of a dimension is looked up by the line's key."""

    def __init__(self, data):
        self.lines = texts(data, "lineorder")
        self.of = {}
        for table, key, line in (("date", "d_datekey", "lo_orderdate"), ("customer", "c_custkey", "lo_custkey"), ("supplier", "s_suppkey", "lo_suppkey"),
                                 ("part", "p_partkey", "lo_partkey")):
            columns = texts(data, table)
            place = np.searchsorted(columns[key], self.lines[line])
            self.of.update({name: (column, place) for name, column in columns.items()})

    def __getitem__(self, name):
        if name in self.lines:
            return self.lines[name]
        column, place = self.of[name]
        return column[place]

    def answer(self, keep, measure, groups):
        """{values of the groups: sum}."""
        sums, rows = {}, np.flatnonzero(keep)
        keys = [self[name][rows] for name in groups]
        for row, amount in enumerate(measure[rows].tolist()):
            key = tuple(column[row].item() for column in keys)
            sums[key] = sums.get(key, 0) + amount
        return sums, len(rows)

    def all(self):
        year, quantity, discount = self["d_year"], self["lo_quantity"], self["lo_discount"]
        gain, revenue = self["lo_extendedprice"].astype(np.int64) * discount, self["lo_revenue"].astype(np.int64)
        profit = revenue - self["lo_supplycost"]
        early, late = year <= 1997, year >= 1997
        kingdom = {"UNITED KI1", "UNITED KI5"}
        cities = np.isin(self["c_city"], [*kingdom]) & np.isin(self["s_city"], [*kingdom])
        category, brand, maker = self["p_category"], self["p_brand1"], np.isin(self["p_mfgr"], ["MFGR#1", "MFGR#2"])
        from_, to = self["c_region"], self["s_region"]
        america = (from_ == "AMERICA") & (to == "AMERICA")
        state = "UNITED STATES"
        by_brand, by_city = ["d_year", "p_brand1"], ["c_city", "s_city", "d_year"]
        return {
            "q1.1": self.answer((year == 1993) & (discount >= 1) & (discount <= 3) & (quantity < 25), gain, []),
            "q1.2": self.answer((self["d_yearmonth"] == "Jan1994") & (abs(discount - 5) <= 1) & (quantity > 25) & (quantity < 36), gain, []),
            "q1.3": self.answer((self["d_weeknuminyear"] == 6) & (year == 1994) & (abs(discount - 6) <= 1) & (quantity > 25) & (quantity < 36), gain, []),
            "q2.1": self.answer((category == "MFGR#12") & (to == "AMERICA"), revenue, by_brand),
            "q2.2": self.answer((brand >= "MFGR#2221") & (brand <= "MFGR#2228") & (to == "ASIA"), revenue, by_brand),
            "q2.3": self.answer((brand == "MFGR#2221") & (to == "EUROPE"), revenue, by_brand),
            "q3.1": self.answer((from_ == "ASIA") & (to == "ASIA") & early, revenue, ["c_nation", "s_nation", "d_year"]),
            "q3.2": self.answer((self["c_nation"] == state) & (self["s_nation"] == state) & early, revenue, by_city),
            "q3.3": self.answer(cities & early, revenue, by_city),
            "q3.4": self.answer(cities & (self["d_yearmonth"] == "Dec1997"), revenue, by_city),
            "q4.1": self.answer(america & maker, profit, ["d_year", "c_nation"]),
            "q4.2": self.answer(america & maker & late, profit, ["d_year", "s_nation", "p_category"]),
            "q4.3": self.answer((from_ == "AMERICA") & (self["s_nation"] == state) & late & (category == "MFGR#14"), profit, ["d_year", "s_city", "p_brand1"]),
        }


def same_bytes(tree):
    generate.generate(tree / "npy", SCALE, "npy")
    generate.generate(tree / "cut", SCALE, "npy", chunk=1000, jobs=2)
    check(digest(tree / "npy") == digest(tree / "cut"), "other chunks and processes give other bytes")
    check(digest(tree / "npy").startswith(BYTES), "the data is not what it was:", digest(tree / "npy"))
    generate.generate(tree / "seed", SCALE, "npy", columns=["lo_quantity"], seed=2)
    check([path.name for path in (tree / "seed").glob("*.npy")] == ["lineorder.lo_quantity.npy"], "--columns")
    check(not roundtrip.same(tree / "npy/lineorder.lo_quantity.npy", tree / "seed/lineorder.lo_quantity.npy"), "another seed gives the same quantities")
    generate.generate(tree / "coded", 0.001, "npy", tables=["part"], coded=True)
    check(not list((tree / "coded").glob("*.bytes.npy")) and (tree / "coded/part.p_brand1_code.npy").exists(), "--coded writes texts")
    for wrong in (["--scale", "0"], ["--scale", "301"], ["--columns", "lo_price"], ["--tables", "nation"]):
        result = subprocess.run([sys.executable, str(BENCH / "generate.py"), str(tree / "wrong"), *wrong], capture_output=True, text=True)
        check(result.returncode == 1 and "Traceback" not in result.stderr, wrong, result.stderr)


def damaged(tree):
    """Each damage fails a check of its own; whole data fails none."""
    database, about = ssb_queries.opened(tree / "npy")
    whole = quietly(checks.checked, database, about)
    check(not whole.failed and whole.passed > 140, "checks:", whole.failed, whole.passed)

    def changed(column, change, expected, part):
        table = next(name for name, columns in about["columns"].items() if column.removesuffix(".bytes") in columns)
        path = tree / f"bad/{table}.{column}.npy"
        values = np.load(tree / f"npy/{table}.{column}.npy")
        np.save(path, change(values.copy()).astype(values.dtype))
        opened, found = ssb_queries.opened(tree / "bad")[0], checks.Findings(quiet=True)
        quietly(part, found, opened, about if part == checks.dependencies else SCALE)
        check(any(expected in name for name in found.failed), column, "is damaged, and", expected, "does not fail:", found.failed)
        shutil.copy(tree / f"npy/{table}.{column}.npy", path)

    def one(row, value):
        def change(values):
            values[row] = value
            return values
        return change

    shutil.copytree(tree / "npy", tree / "bad")
    changed("lo_revenue", lambda v: np.where(np.arange(len(v)) == 7, v + 1, v), "lo_revenue", checks.dependencies)
    changed("lo_ordtotalprice", one(9, 5), "lo_ordtotalprice is a sum", checks.dependencies)
    changed("lo_discount", lambda v: np.load(tree / "npy/lineorder.lo_quantity.npy") % 11, "equal shares of 550", checks.distributions)
    changed("lo_orderkey", lambda v: v + 8, "8 of 32", checks.dependencies)
    changed("lo_suppkey", lambda v: (v + 1) // 2, "lo_suppkey", checks.values)
    changed("s_region_code", lambda v: (v + 1) % 5, "supplier's nation and region", checks.dependencies)
    changed("p_name.bytes", one(0, ord("?")), "p_name", checks.dependencies)
    changed("d_weeknuminyear", lambda v: np.maximum(v - 1, 1), "the date's numbers", checks.dependencies)
    changed("lo_tax", lambda v: v // 2, "lo_tax", checks.values)


def asked(tree):
    for form in ("parquet", "csv"):
        generate.generate(tree / form, SCALE, form)
    answers = [ssb_queries.answers(ssb_queries.opened(tree / form)[0]) for form in ("npy", "parquet", "csv")]
    check(answers[0] == answers[1] == answers[2], "formats have different answers")
    words = Words(tree / "parquet").all()
    check([*words] == [*ssb_queries.QUERIES], "queries are missing")
    several = 0
    for name, (sums, rows) in words.items():
        found = answers[0][name]
        groups = ssb_queries.QUERIES[name].groups
        told = {tuple(ssb_queries.COLUMN_WORDS[key[:-5]][value] if key.endswith("_code") else value for key, value in zip(groups, row)): row[-1]
                for row in found["answer"] if row[-1] is not None}
        check(told == sums and found["rows"] == rows, name, found["rows"], rows)
        keys = [(row[2], -row[3], *row[:2]) if name.startswith("q3") else tuple(row[:-1]) for row in found["answer"]]
        check(keys == sorted(keys), name, "is not in order")
        several += len(sums) > 1
    check(several >= 5 and all(words[name][1] for name in ("q1.1", "q1.2", "q2.1", "q2.2", "q3.1", "q4.1", "q4.2")), "queries find too little", several)


def dictionaries(tree):
    about = json.loads((tree / "npy/ssb.json").read_text())
    code = {name: about["dictionaries"][about["dictionary_of"][f"{name}_code"]].index(word) for name, word in
            (("s_region", "ASIA"), ("c_nation", "UNITED STATES"), ("s_city", "UNITED KI5"), ("p_category", "MFGR#12"), ("p_brand1", "MFGR#2221"))}
    check([*code.values()] == [2, 24, 235, 1, 260], "codes are not those of Crystal's queries:", code)
    check(schema.DAYS == 2557 and schema.ORDER_DAYS == 2406, "days")


def foreign(tree):
    """Tables of another generator: ours as dbgen would write them are alike; one with a wrong weekday fails."""
    import pyarrow as pa
    import pyarrow.csv

    (tree / "tbl").mkdir()
    for table, columns in schema.TABLES.items():
        read = pq.read_table(tree / f"parquet/{table}.parquet", columns=[*columns])
        fields = {name: column.cast(pa.string()) for name, column in zip(read.column_names, read.columns)}
        pyarrow.csv.write_csv(pa.table({**fields, "behind": pa.array([""] * len(read))}), tree / f"tbl/{table}.tbl",
                              pyarrow.csv.WriteOptions(include_header=False, delimiter="|", quoting_style="none"))
    database, about = ssb_queries.opened(tree / "npy")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        code = tbl.compared(database, about, tree / "tbl", checks.checked, True)
    check(code == 0 and "here" not in printed.getvalue(), "--tbl", printed.getvalue())
    path = tree / "tbl/date.tbl"
    path.write_text(path.read_text().replace("|Wednesday|", "|Thursday|", 1))
    check(quietly(tbl.compared, database, about, tree / "tbl", checks.checked, True) == 1, "--tbl does not notice a wrong day")


def encoded(tree):
    about = json.loads((tree / "npy/ssb.json").read_text())
    for table, columns in about["columns"].items():
        differ, _ = roundtrip.trip(tree / "npy", ZFC, tree / "zfd", table, columns, "cpu")
        check(not differ, table, differ)
    left, right = (np.load(tree / f"npy/lineorder.{name}.npy") for name in ("lo_tax", "lo_tax"))
    right[-1] += 1
    np.save(tree / "right.npy", right)
    check(len(left) and not roundtrip.same(tree / "npy/lineorder.lo_tax.npy", tree / "right.npy"), "a wrong last row is not noticed")
    try:
        roundtrip.trip(tree / "npy", ZFC, tree / "zfd", "date", {"d_moon": "i32"}, "cpu")
        check(False, "a column that ssb.zf lacks")
    except ValueError as why:
        check("d_moon" in str(why), why)


with tempfile.TemporaryDirectory() as scratch:
    for step in (same_bytes, dictionaries, damaged, asked, foreign, encoded):
        step(pathlib.Path(scratch))
verdict.end()
