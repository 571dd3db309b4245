#!/usr/bin/env python3
"""TPC-H's queries of tpch_queries.zf by `zfc query`, on data of tpchgen-cli, each answer compared with DuckDB's.

    tpch_run.py OUT ZFC [--scale 0.1] [--only q1,q6] [--device D] [--option=--threads=8] [--tpchgen PROGRAM] [--json FILE]

OUT keeps the tables as CSV and TABLE.zfd for later calls with the same scale factor. Sums are compared exactly, and the averages
and quotients that follow from them are printed. Times are of one run, reading the file included, or with --option=--repeat=7 the
median of the repeated runs on a device. The exit status is 1 if an answer differs.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
from fractions import Fraction

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM, TABLES = HERE / "tpch_queries.zf", HERE / "tpch_decimals.zf"
TYPES = {"l_quantity": "DECIMAL(15, 2)", "l_extendedprice": "DECIMAL(15, 2)", "l_discount": "DECIMAL(15, 2)", "l_tax": "DECIMAL(15, 2)"}
PAID = "l_extendedprice * (1 - l_discount)"
SQL = {
    "q1": f"""select l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice), sum({PAID}), sum({PAID} * (1 + l_tax)), sum(l_discount), count(*)
              from lineitem where l_shipdate <= date '1998-12-01' - interval 90 day group by all order by all""",
    "q6": """select sum(l_extendedprice * l_discount) from lineitem
             where l_shipdate >= date '1994-01-01' and l_shipdate < date '1995-01-01' and l_discount between 0.05 and 0.07 and l_quantity < 24""",
    "q14": f"""select sum(case when p_type like 'PROMO%' then {PAID} else 0 end), sum({PAID}) from lineitem join part on p_partkey = l_partkey
               where l_shipdate >= date '1995-09-01' and l_shipdate < date '1995-10-01'""",
    "q15": f"""select l_suppkey, sum({PAID}) from lineitem
               where l_shipdate >= date '1996-01-01' and l_shipdate < date '1996-04-01' group by l_suppkey order by l_suppkey""",
    "q19": f"""select sum({PAID}) from lineitem join part on p_partkey = l_partkey
               where l_shipmode in ('AIR', 'AIR REG') and l_shipinstruct = 'DELIVER IN PERSON' and (
               (p_brand = 'Brand#12' and p_container in ('SM CASE', 'SM BOX', 'SM PACK', 'SM PKG') and l_quantity between 1 and 11 and p_size between 1 and 5)
               or (p_brand = 'Brand#23' and p_container in ('MED BAG', 'MED BOX', 'MED PKG', 'MED PACK') and l_quantity between 10 and 20
                   and p_size between 1 and 10)
               or (p_brand = 'Brand#34' and p_container in ('LG CASE', 'LG BOX', 'LG PACK', 'LG PKG') and l_quantity between 20 and 30
                   and p_size between 1 and 15))""",
}
DIGITS = {"q1": [0, 0, 2, 2, 4, 6, 2, 0], "q6": [4], "q14": [4, 4], "q15": [0, 4], "q19": [4]}  # after the point, of each column of an answer


def run(*words):
    result = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if result.returncode != 0:
        raise ValueError(f"{words[0]} {words[1]}: {result.stderr}{result.stdout}")
    return result.stdout


def make(out, zfc, tpchgen, scale):
    """OUT/TABLE.csv and OUT/TABLE.zfd of this scale factor."""
    done = out / "scale"
    if done.exists() and done.read_text() == str(scale):
        return
    out.mkdir(parents=True, exist_ok=True)
    run(tpchgen, "csv", "-s", scale, "--tables", "lineitem,part", "--output-dir", out)
    for table in ("lineitem", "part"):
        run(zfc, "encode", "-q", "-f", "-c", f"{TABLES}:{table}", "-o", out / f"{table}.zfd", out / f"{table}.csv")
    done.write_text(str(scale))


def opened(out):
    """The tables for DuckDB."""
    import duckdb

    database = duckdb.connect()
    for table, types in (("lineitem", TYPES), ("part", {})):
        database.execute(f"create table {table} as select * from read_csv('{out}/{table}.csv', types = {types})")
    return database


def keys(database, table, column):
    return database.execute(f"select max({column}) from {table}").fetchone()[0]


class Queries:
    def __init__(self, out, zfc, options, database):
        self.out, self.zfc, self.options, self.database, self.seconds = out, zfc, options, database, {}

    def asked(self, query, table, params=(), inputs=(), out=None):
        words = [f"{PROGRAM}:{query}", self.out / f"{table}.zfd", "--json", *self.options]
        words += [word for name, value in params for word in ("--param", f"{name}={value}")]
        words += [word for name, value in inputs for word in ("--input", f"{name}={value}")]
        text = run(self.zfc, "query", *words, *(["-f", "-o", out] if out else []))
        if text.strip():
            found = json.loads(text)
            self.seconds[query] = statistics.median(found.get("device", {}).get("seconds") or [found["seconds"]])
            return found["results"]
        return None

    def array(self, query, file):
        """A file that a query over parts makes: an array by their keys."""
        self.asked(query, "part", [("keys", keys(self.database, "part", "p_partkey"))], out=self.out / query)
        return self.out / query / file

    def q1(self):
        found = self.asked("q1", "lineitem")
        columns = [found[name]["values"] for name in ("quantity", "price", "discounted", "charge", "discount", "lines")]
        labels = [(flag, status) for flag in "ANR" for status in "FO"]
        return [[*label, *values] for label, *values in zip(labels, *columns) if values[-1] > 0]

    def q6(self):
        return [[self.asked("q6", "lineitem")["revenue"]]]

    def q14(self):
        found = self.asked("q14", "lineitem", inputs=[("promos", self.array("promo_parts", "promos.bool"))])
        return [[found["promo"], found["revenue"]]]

    def q15(self):
        found = self.asked("q15", "lineitem", [("keys", keys(self.database, "lineitem", "l_suppkey"))])
        return [[supplier, value] for supplier, value in enumerate(found["revenue"]) if value != 0]

    def q19(self):
        found = self.asked("q19", "lineitem", inputs=[("kind_of_part", self.array("kinds_of_parts", "kind_of_part.u8"))])
        return [[found["revenue"]]]


def expected(database, name):
    """DuckDB's answer, with decimals as integers."""
    rows = database.execute(SQL[name]).fetchall()
    return [[value if isinstance(value, str) else int(Fraction(value or 0) * 10**digits) for value, digits in zip(row, DIGITS[name])] for row in rows]


def concluded(name, rows):
    """The answer of the benchmark that follows from the sums."""
    if name == "q1":
        return "; ".join(f"{row[0]}{row[1]} {row[2] / row[7] / 100:.2f} {row[3] / row[7] / 100:.2f} {row[6] / row[7] / 100:.4f}" for row in rows)
    if name == "q14":
        return f"{100 * rows[0][0] / rows[0][1]:.4f} percent"
    if name == "q15":
        best = max(value for _, value in rows)
        return f"suppliers {[key for key, value in rows if value == best]} with {best / 10**4:.4f}"
    return f"{rows[0][0] / 10**4:.4f}"


def compared(options):
    make(options.out, options.zfc, options.tpchgen, options.scale)
    database = opened(options.out)
    passed_on = [*(["--device", options.device] if options.device else []), *(word for text in options.option for word in text.split("=", 1))]
    queries, report = Queries(options.out, options.zfc, passed_on, database), {}
    for name in options.only:
        rows = getattr(queries, name)()
        report[name] = {"right": rows == expected(database, name), "rows": len(rows), "seconds": queries.seconds[name]}
        print(f"{name:4} {'right' if report[name]['right'] else 'WRONG'} {1e3 * report[name]['seconds']:9.3f} ms  {concluded(name, rows)}", flush=True)
    if options.json:
        options.json.write_text(json.dumps({"scale": options.scale, "device": options.device or "cpu", "queries": report}) + "\n")
    return all(one["right"] for one in report.values())


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("zfc")
    parser.add_argument("--scale", type=float, default=0.1)
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(SQL))
    parser.add_argument("--device", help="as `zfc query --device` has it")
    parser.add_argument("--option", action="append", default=[], help="another option of `zfc query`, as --option=--NAME=VALUE")
    parser.add_argument("--tpchgen", default=pathlib.Path(sys.executable).parent / "tpchgen-cli")
    parser.add_argument("--json", type=pathlib.Path, help="write the report")
    options = parser.parse_args(words)
    if unknown := set(options.only) - set(SQL):
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    return not compared(options)


if __name__ == "__main__":
    sys.exit(main())
