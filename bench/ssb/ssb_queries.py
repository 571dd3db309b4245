#!/usr/bin/env python3
"""The 13 queries of the Star Schema Benchmark over coded columns, by DuckDB over the files of generate.py. Prints their answers as JSON.

    ssb_queries.py DATA [--only q1.1,q2.3] [--out FILE] [--text]

`rows` counts the lines that an answer sums. `--text` prints the SQL instead.
"""

import argparse
import json
import pathlib
import sys
from fractions import Fraction as F

import schema

COLUMN_WORDS = {column: schema.DICTIONARIES[kind] for table in schema.TABLES.values() for column, kind in table.items() if kind in schema.DICTIONARIES}
JOINS = {"date": "lo_orderdate = d_datekey", "customer": "lo_custkey = c_custkey", "supplier": "lo_suppkey = s_suppkey", "part": "lo_partkey = p_partkey"}


def among(column, *words):
    """The condition that a column has one of these words, in numbers."""
    return f"{column}_code in ({', '.join(str(COLUMN_WORDS[column].index(word)) for word in words)})"


class Query:
    """A sum over lines that meet conditions, by groups. `conditions` is {table: (condition, fraction of the table by the specification)}.

    `published` is the specification's filter factor. `ours` has the same factors with the order dates of TPC-H, of which there are
    2406 and not 2557, and with quantities counted exactly. It is about `times` the published one.
    """

    def __init__(self, measure, groups, conditions, published, order="", times=1):
        self.measure, self.groups, self.conditions, self.published, self.order, self.times = measure, groups, conditions, published, order, times

    @property
    def ours(self):
        product = F(1)
        for _, share in self.conditions.values():
            product *= share
        return product

    def source(self):
        others = [table for table in JOINS if table in self.conditions or any(name.startswith(table[0] + "_") for name in self.groups)]
        lines = ["from lineorder", *(f"join {table} on {JOINS[table]}" for table in others)]
        return "\n".join([*lines, "where " + "\n  and ".join(condition for condition, _ in self.conditions.values())])

    def text(self):
        keys = ", ".join(self.groups)
        select = f"select {keys + ', ' if keys else ''}{self.measure}\n{self.source()}"
        return f"{select}\ngroup by {keys}\norder by {self.order or keys}" if keys else select

    def count(self):
        return f"select count(*)\n{self.source()}"


def days(number):
    return F(number, schema.ORDER_DAYS)


ONE_YEAR, SIX_YEARS, LAST_TWO = days(365), days(2192), days(365 + 214)  # of 1998 there are 214 days with orders
GAIN, REVENUE, PROFIT = ("cast(sum(lo_extendedprice::bigint * lo_discount) as bigint) as revenue", "cast(sum(lo_revenue) as bigint) as revenue",
                         "cast(sum(lo_revenue - lo_supplycost) as bigint) as profit")
TO_1997 = ("d_year between 1992 and 1997", SIX_YEARS)
LAST_YEARS = ("d_year in (1997, 1998)", LAST_TWO)
BY_REVENUE = "d_year, revenue desc, {0}, {1}"


def lines(discounts, quantities, share):
    return (f"lo_discount between {discounts[0]} and {discounts[1]} and lo_quantity between {quantities[0]} and {quantities[1]}", share)


def both(prefix_column, *words, share):
    """The same condition for customers and suppliers."""
    return {"customer": (among(f"c_{prefix_column}", *words), share), "supplier": (among(f"s_{prefix_column}", *words), share)}


CITIES = both("city", "UNITED KI1", "UNITED KI5", share=F(1, 125))
AMERICA = both("region", "AMERICA", share=F(1, 5))
HALF_MAKERS = (among("p_mfgr", "MFGR#1", "MFGR#2"), F(2, 5))
BRAND_22 = [f"MFGR#222{n}" for n in range(1, 9)]

QUERIES = {
    "q1.1": Query(GAIN, [], {"lineorder": lines((1, 3), (1, 24), F(24, 50) * F(3, 11)), "date": ("d_year = 1993", ONE_YEAR)},
                  F(1, 7) * F(1, 2) * F(3, 11)),
    "q1.2": Query(GAIN, [], {"lineorder": lines((4, 6), (26, 35), F(1, 5) * F(3, 11)), "date": ("d_yearmonthnum = 199401", days(31))},
                  F(1, 84) * F(3, 11) * F(1, 5)),
    "q1.3": Query(GAIN, [], {"lineorder": lines((5, 7), (26, 35), F(1, 5) * F(3, 11)),
                             "date": ("d_weeknuminyear = 6 and d_year = 1994", days(7))},
                  F(1, 364) * F(3, 11) * F(1, 10), times=2),  # ten quantities of 50 are a fifth; the specification counts a tenth
    "q2.1": Query(REVENUE, ["d_year", "p_brand1_code"], {"part": (among("p_category", "MFGR#12"), F(1, 25)),
                                                         "supplier": (among("s_region", "AMERICA"), F(1, 5))}, F(1, 125)),
    "q2.2": Query(REVENUE, ["d_year", "p_brand1_code"], {"part": (among("p_brand1", *BRAND_22), F(1, 125)),
                                                         "supplier": (among("s_region", "ASIA"), F(1, 5))}, F(1, 625)),
    "q2.3": Query(REVENUE, ["d_year", "p_brand1_code"], {"part": (among("p_brand1", "MFGR#2221"), F(1, 1000)),
                                                         "supplier": (among("s_region", "EUROPE"), F(1, 5))}, F(1, 5000)),
    "q3.1": Query(REVENUE, ["c_nation_code", "s_nation_code", "d_year"], {**both("region", "ASIA", share=F(1, 5)), "date": TO_1997},
                  F(6, 175), BY_REVENUE.format("c_nation_code", "s_nation_code")),
    "q3.2": Query(REVENUE, ["c_city_code", "s_city_code", "d_year"], {**both("nation", "UNITED STATES", share=F(1, 25)), "date": TO_1997},
                  F(6, 4375), BY_REVENUE.format("c_city_code", "s_city_code")),
    "q3.3": Query(REVENUE, ["c_city_code", "s_city_code", "d_year"], {**CITIES, "date": TO_1997},
                  F(6, 109375), BY_REVENUE.format("c_city_code", "s_city_code")),
    "q3.4": Query(REVENUE, ["c_city_code", "s_city_code", "d_year"], {**CITIES, "date": (among("d_yearmonth", "Dec1997"), days(31))},
                  F(1, 1312500), BY_REVENUE.format("c_city_code", "s_city_code")),
    "q4.1": Query(PROFIT, ["d_year", "c_nation_code"], {**AMERICA, "part": HALF_MAKERS}, F(2, 125)),
    "q4.2": Query(PROFIT, ["d_year", "s_nation_code", "p_category_code"], {**AMERICA, "part": HALF_MAKERS, "date": LAST_YEARS}, F(4, 875)),
    "q4.3": Query(PROFIT, ["d_year", "s_city_code", "p_brand1_code"],
                  {"customer": (among("c_region", "AMERICA"), F(1, 5)), "supplier": (among("s_nation", "UNITED STATES"), F(1, 25)),
                   "part": (among("p_category", "MFGR#14"), F(1, 25)), "date": LAST_YEARS}, F(2, 21875)),
}


def opened(data, threads=1):
    """A DuckDB connection with the tables of a folder that generate.py wrote, and what ssb.json says."""
    import duckdb

    data = pathlib.Path(data)
    about = json.loads((data / "ssb.json").read_text())
    database = duckdb.connect()
    database.execute(f"set threads = {threads}")
    for table, columns in about["columns"].items():
        if about["format"] == "npy":
            database.register(table, npy_table(data, table, columns))
        elif about["format"] == "csv":
            types = {name: {"i32": "integer", "u8": "utinyint", "u16": "usmallint", "text": "varchar"}[kind] for name, kind in columns.items()}
            database.execute(f"create table {table} as select * from read_csv('{data}/{table}.csv', header = true, columns = {types})")
        else:
            database.execute(f"create view {table} as select * from '{data}/{table}.parquet'")
    return database, about


def npy_table(data, table, columns):
    """The columns of a table as Arrow has them, without a copy."""
    import numpy as np
    import pyarrow as pa

    def buffer(name):
        return np.load(data / f"{table}.{name}.npy", mmap_mode="r")

    def column(name, kind):
        if kind != "text":
            return pa.array(buffer(name))
        offsets = buffer(f"{name}.offsets")
        return pa.LargeStringArray.from_buffers(len(offsets) - 1, pa.py_buffer(offsets), pa.py_buffer(buffer(f"{name}.bytes")))

    return pa.table({name: column(name, kind) for name, kind in columns.items()})


def answers(database, names=QUERIES):
    out = {}
    for name in names:
        found = database.execute(QUERIES[name].text())
        columns = [each[0] for each in found.description]
        answer = [list(row) for row in found.fetchall()]
        out[name] = {"rows": database.execute(QUERIES[name].count()).fetchone()[0], "columns": columns, "answer": answer}
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?", type=pathlib.Path)
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(QUERIES))
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--text", action="store_true")
    options = parser.parse_args()
    if options.text:
        print("\n\n".join(f"-- {name}\n{QUERIES[name].text()};" for name in options.only))
        return 0
    if options.data is None:
        parser.error("DATA is missing")
    database, about = opened(options.data, options.threads)
    found = answers(database, options.only)
    text = json.dumps({"scale": about["scale"], "seed": about["seed"]})[:-1] + ', "queries": {\n' + ",\n".join(
        f" {json.dumps(name)}: {json.dumps(one)}" for name, one in found.items()) + "\n}}\n"
    if options.out:
        options.out.write_text(text)
    else:
        print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
