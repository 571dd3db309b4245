#!/usr/bin/env python3
"""Makes the tables, encodes them, runs the 13 queries by `zfc query`, and compares each answer with DuckDB's.

    ssb_run.py OUT ZFC [--scale 1] [--codecs ssb,ssb_fused,ssb_plain] [--ways fused,decoded,host] [--only q1.1,q2.3] [--device D]
               [--repeat 7] [--beside OTHER_ZFC,...] [--option=--threads=8] [--seed 1] [--jobs 1] [--answers FILE] [--json FILE]

OUT keeps tables (data/), containers (CODECS/TABLE.zfd), the arrays that queries look up (CODECS/arrays/) and answers.json for
later calls with the same scale factor and seed. `milliseconds` is the median of the --repeat runs on a device, with the columns
in its memory; without --repeat it is the one run, reading the file included. `first` is a whole command with its start and
compilation. `decoded` is --decode-first. `host` is
--from-host: each run brings its columns over the link, which alone would take `link_milliseconds`, by the rate of copies of 1 GiB
of pinned memory (torch, on `cuda`). `--beside` has other builds of zfc run each query behind the first one, on its tables, with a
cache of code in OUT for each: `zfc` is the build, and `times_as_long` its time divided by the first one's. The exit status is 1
if an answer differs.
"""

import argparse
import itertools
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

import generate
import roundtrip
import schema

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = HERE / "ssb_queries.zf"
CODECS = ["ssb", "ssb_fused", "ssb_plain"]
WAYS = {"fused": [], "decoded": ["--decode-first"], "host": ["--from-host"]}
KEYS = {"customer": "c_custkey", "supplier": "s_suppkey", "part": "p_partkey"}


def code(dictionary, word):
    return schema.DICTIONARIES[dictionary].index(word)


class Array:
    """A query over a dimension, and the result of it that others look up."""

    def __init__(self, query, table, result, **params):
        self.query, self.table, self.result, self.params = query, table, result, params

    @property
    def folder(self):
        return "-".join([self.query, *(f"{name}{value}" for name, value in self.params.items())])


class Plan:
    """A query over lineorder. `axes` says for each dimension of its result which value of the group an index is."""

    def __init__(self, query, axes, arrays=(), **params):
        self.query, self.axes, self.arrays, self.params = query, axes, arrays, params


def customers(region):
    return Array("customers_of_region", "customer", "customers.bool", region=code("region", region))


def suppliers(region):
    return Array("suppliers_of_region", "supplier", "suppliers.bool", region=code("region", region))


def both(query, table, group, **params):
    """The bits of the rows that are wanted, and their groups."""
    return [Array(query, table, f"{table}s.bool", **params), Array(query, table, f"{group}_of_{table}.u8", **params)]


def nations(person, region):
    return both(f"{person}_nations", person, "nation", region=code("region", region))


def cities(person, nation):
    return both(f"{person}_cities", person, "city", nation=code("nation", nation))


def two_cities(person):
    one, other = (code("city", word) for word in KINGDOM)
    return both(f"{person}s_of_two_cities", person, "city", one=one, other=other)


def brands(first, count):
    return both("part_brands", "part", "brand", first=code("brand", first), count=count)


def counted(first, count):
    """The values of an axis that counts from `first`."""
    return [first + n for n in range(count)]


KINGDOM = ["UNITED KI1", "UNITED KI5"]
YEARS, NATIONS, CATEGORIES = counted(1992, 7), counted(0, 25), counted(0, 10)
STATES = counted(10 * code("nation", "UNITED STATES"), 10)
CITIES = [code("city", word) for word in KINGDOM]
MAKERS = {"last": code("mfgr", "MFGR#2")}
TO_1997, DECEMBER = {"first_day": 19920101, "last_day": 19971231}, {"first_day": 19971201, "last_day": 19971231}


def gain(first_day, last_day, least_discount, least_quantity, most_quantity):
    return Plan("q1", [], first_day=first_day, last_day=last_day, least_discount=least_discount, most_discount=least_discount + 2, least_quantity=least_quantity, most_quantity=most_quantity)


def by_brand(first, count, region):
    return Plan("q2", [YEARS, counted(code("brand", first), 40)], [suppliers(region), *brands(first, count)])


def by_cities(axis, arrays, days):
    return Plan("q3_cities", [axis, axis, YEARS], arrays, **days)


PLANS = {
    "q1.1": gain(19930101, 19931231, 1, 0, 24),
    "q1.2": gain(19940101, 19940131, 4, 26, 35),
    "q1.3": gain(19940204, 19940210, 5, 26, 35),
    "q2.1": by_brand("MFGR#121", 40, "AMERICA"),
    "q2.2": by_brand("MFGR#2221", 8, "ASIA"),
    "q2.3": by_brand("MFGR#2221", 1, "EUROPE"),
    "q3.1": Plan("q3_nations", [NATIONS, NATIONS, YEARS], [*nations("supplier", "ASIA"), *nations("customer", "ASIA")], **TO_1997),
    "q3.2": by_cities(STATES, [*cities("supplier", "UNITED STATES"), *cities("customer", "UNITED STATES")], TO_1997),
    "q3.3": by_cities(CITIES, [*two_cities("supplier"), *two_cities("customer")], TO_1997),
    "q3.4": by_cities(CITIES, [*two_cities("supplier"), *two_cities("customer")], DECEMBER),
    "q4.1": Plan("q4_1", [YEARS, NATIONS], [suppliers("AMERICA"), *nations("customer", "AMERICA"), Array("parts_of_makers", "part", "parts.bool", **MAKERS)]),
    "q4.2": Plan("q4_2", [YEARS, NATIONS, CATEGORIES],
                 [*nations("supplier", "AMERICA"), customers("AMERICA"), *both("part_categories", "part", "category", **MAKERS)]),
    "q4.3": Plan("q4_3", [YEARS, STATES, counted(code("brand", "MFGR#141"), 40)],
                 [*cities("supplier", "UNITED STATES"), customers("AMERICA"), *brands("MFGR#141", 40)]),
}


def read_by(query):
    """The columns of lineorder that a query names."""
    text = PROGRAM.read_text()
    begin = text.index(f"query {query}(lineorder)")
    return sorted(set(re.findall(r"\blo_\w+", text[begin : text.index("\n}", begin)])))


def columns_read():
    """{table: its columns that the program names}."""
    words = set(re.findall(r"\b[a-z]+_\w+", PROGRAM.read_text()))
    return {table: [name for name in schema.written(table, coded=True) if name in words] for table in ("lineorder", *KEYS)}


def make(data, scale, seed, jobs):
    """The columns that the queries read, as .npy, unless they are there. Returns the rows of the tables."""
    about = json.loads((data / "ssb.json").read_text()) if (data / "ssb.json").exists() else {}
    named = columns_read()
    there = all(name in about.get("columns", {}).get(table, {}) for table, columns in named.items() for name in columns)
    if there and (about["scale"], about["seed"], about["format"]) == (scale, seed, "npy"):
        return about["rows"], False
    columns = [name for table in named.values() for name in table] + ["d_datekey", "d_year", "d_yearmonth_code", "d_yearmonthnum", "d_weeknuminyear"]
    return generate.generate(data, scale, "npy", columns=columns, coded=True, seed=seed, jobs=jobs), True


def encode(zfc, data, out, codecs, again):
    """Every table as OUT/TABLE.zfd. Returns {table: what zfc inspect says}, and the seconds that encoding lineorder took."""
    out.mkdir(parents=True, exist_ok=True)
    seconds, report = None, {}
    for table, columns in columns_read().items():
        file = out / f"{table}.zfd"
        if again or not file.exists():
            program = roundtrip.program(out, table, columns, HERE / f"{codecs}.zf")
            begin = time.perf_counter()
            roundtrip.run(zfc, "encode", "-q", "-f", "-c", program, "-o", file, *(f"{name}={data}/{table}.{name}.npy" for name in columns))
            seconds = time.perf_counter() - begin if table == "lineorder" else seconds
        report[table] = json.loads(roundtrip.run(zfc, "inspect", "--json", file))
    return report, seconds


def query(zfc, name, file, params, inputs, options, out=None, environment=None):
    """Runs a query. Returns what zfc printed, with the seconds of the whole command as `first`."""
    words = [f"{PROGRAM}:{name}", file, "--json", *options]
    words += [word for name, value in params.items() for word in ("--param", f"{name}={value}")]
    words += [word for name, value in inputs.items() for word in ("--input", f"{name}={value}")]
    begin = time.perf_counter()
    text = roundtrip.run(zfc, "query", *words, *(["-f", "-o", out] if out else []), environment=environment)
    return {**(json.loads(text) if text.strip() else {}), "first": time.perf_counter() - begin}


class Container:
    """The tables of one program of codecs, and the arrays that were built from them."""

    def __init__(self, zfc, folder, rows, options):
        self.zfc, self.folder, self.rows, self.options, self.built = zfc, folder, rows, options, {}

    def array(self, array):
        """The file of an array. Each is built once."""
        folder = self.folder / "arrays" / array.folder
        if array.folder not in self.built:
            folder.parent.mkdir(exist_ok=True)
            params = {"keys": self.rows[array.table], **array.params}
            options = [*self.options, "--no-results"]
            self.built[array.folder] = query(self.zfc, array.query, self.folder / f"{array.table}.zfd", params, {}, options, folder)
        return folder / array.result

    def answer(self, zfc, plan, more, environment):
        inputs = {array.result.split(".")[0]: self.array(array) for array in plan.arrays}
        return query(zfc, plan.query, self.folder / "lineorder.zfd", plan.params, inputs, [*self.options, *more], environment=environment)


def groups(plan, result):
    """{values of the groups: sum} of a query's result, without groups of no lines."""
    if not plan.axes:
        return {(): result} if result else {}
    places = [[]]
    for axis, length in zip(plan.axes, result["shape"]):
        places = [[*place, axis[n] if n < len(axis) else None] for place in places for n in range(length)]
    return {tuple(place): value for place, value in zip(places, result["values"]) if value != 0}


def expected(answer):
    return {tuple(row[:-1]): row[-1] for row in answer if row[-1] is not None}


def answers(data, file, scale, seed):
    """DuckDB's answers: from a file for this scale factor and seed, or made now."""
    if file.exists():
        found = json.loads(file.read_text())
        if (found["scale"], found["seed"]) == (scale, seed):
            return found["queries"]
    import ssb_queries

    found = ssb_queries.answers(ssb_queries.opened(data)[0])
    file.write_text(json.dumps({"scale": scale, "seed": seed, "queries": found}) + "\n")
    return found


def milliseconds(found):
    repeated = found.get("device", {}).get("seconds") or [found["seconds"]]
    return 1e3 * statistics.median(repeated)


def link_rate(device):
    """Bytes a second that a GPU copies from pinned memory; None: not known."""
    try:
        import torch
    except ImportError:
        return None
    if not (device or "").startswith("cuda") or not torch.cuda.is_available():
        return None
    host, there, seconds = torch.ones(1 << 30, dtype=torch.uint8).pin_memory(), torch.empty(1 << 30, dtype=torch.uint8, device="cuda"), []
    for _ in range(7):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        there.copy_(host, non_blocking=True)
        end.record()
        end.synchronize()
        seconds.append(begin.elapsed_time(end) / 1e3)
    return len(host) / statistics.median(seconds)


def measured(container, zfc, environment, name, codecs, way, more, stored, wanted, link):
    """A row of the report."""
    plan = PLANS[name]
    found = container.answer(zfc, plan, more, environment)
    (result,) = found.pop("results").values()
    right = groups(plan, result) == expected(wanted[name]["answer"])
    if way == "host" and link:
        found["link_milliseconds"] = 1e3 * found["device"]["stored_bytes"] / link
    return {"query": name, "codecs": codecs, "way": way, "zfc": str(zfc), "right": right, "groups": len(groups(plan, result)), "lines": wanted[name]["rows"],
            "milliseconds": milliseconds(found), "stored_bytes": sum(stored[column] for column in read_by(plan.query)), **found}


def shown(row):
    rate = row["stored_bytes"] / row["milliseconds"] / 1e6
    print(f"{row['query']:5} {row['codecs']:10} {row['way']:8} {'right' if row['right'] else 'WRONG':5} {row['groups']:5} groups {row['lines']:9} lines "
          f"{row['stored_bytes'] / 1e6:9.2f} MB {row['milliseconds']:11.4f} ms {rate:9.2f} GB/s"
          + (f", link alone {row['link_milliseconds']:.4f} ms" if "link_milliseconds" in row else "")
          + (f", {row['times_as_long']:.3f} times as long: {row['zfc']}" if "times_as_long" in row else ""), flush=True)


def options_of(arguments):
    return [*(["--device", arguments.device] if arguments.device else []), *(word for text in arguments.option for word in text.split("=", 1))]


def run(options):
    data = options.out / "data"
    rows, made = make(data, options.scale, options.seed, options.jobs)
    wanted = answers(data, options.answers or options.out / "answers.json", options.scale, options.seed)
    report = {"scale": options.scale, "seed": options.seed, "device": options.device or "cpu", "options": options.option, "repeat": options.repeat, "rows": rows,
              "encode_seconds": {}, "arrays": {}, "queries": []}
    link = report["link_bytes_per_second"] = link_rate(options.device) if "host" in options.ways else None
    for codecs in options.codecs:
        tables, seconds = encode(options.zfc, data, options.out / codecs, codecs, made)
        report["encode_seconds"][codecs] = seconds
        stored = {column["name"]: column["stored_bytes"] for column in tables["lineorder"]["columns"]}
        container = Container(options.zfc, options.out / codecs, rows, options_of(options))
        more = ["--repeat", str(options.repeat)] if options.repeat else []
        builds = [(options.zfc, None)]
        builds += [(zfc, {**os.environ, "ZIPFLOW_CACHE_DIR": str(options.out / f"cache{number}")}) for number, zfc in enumerate(options.beside)]
        for way, name in itertools.product(options.ways, options.only):
            found = []
            for zfc, environment in builds:
                found.append(measured(container, zfc, environment, name, codecs, way, [*WAYS[way], *more], stored, wanted, link))
                if len(found) > 1:
                    found[-1]["times_as_long"] = found[-1]["milliseconds"] / found[0]["milliseconds"]
                shown(found[-1])
            report["queries"] += found
        report["arrays"][codecs] = container.built
    if options.json:
        options.json.write_text(json.dumps(report) + "\n")
    return all(row["right"] for row in report["queries"])


def main(words=None):
    def names(text):
        return text.split(",")

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("zfc")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="processes that make the tables")
    parser.add_argument("--codecs", type=names, default=CODECS)
    parser.add_argument("--ways", type=names, default=["fused"])
    parser.add_argument("--only", type=names, default=list(PLANS))
    parser.add_argument("--device", help="as `zfc query --device` has it")
    parser.add_argument("--repeat", type=int, default=0, help="more runs of each query on a device")
    parser.add_argument("--beside", type=names, default=[], help="other builds of zfc, which run each query, too")
    parser.add_argument("--option", action="append", default=[], help="another option of `zfc query`, as --option=--NAME=VALUE")
    parser.add_argument("--answers", type=pathlib.Path, help="answers of ssb_queries.py, where there is no DuckDB")
    parser.add_argument("--json", type=pathlib.Path, help="write the report")
    options = parser.parse_args(words)
    if unknown := set(options.codecs) - set(CODECS) | set(options.only) - set(PLANS) | set(options.ways) - set(WAYS):
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    return not run(options)


if __name__ == "__main__":
    sys.exit(main())
