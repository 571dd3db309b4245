#!/usr/bin/env python3
"""The five tables of the Star Schema Benchmark, made from its specification, as Parquet, CSV or .npy.

    generate.py OUT [--scale 1] [--format parquet|csv|npy] [--tables lineorder,date] [--columns lo_discount,...] [--coded]
                    [--seed 1] [--chunk 262144] [--jobs 1]

A value is a function of the seed, the column's name and the row, by a counter and a mixing function (SplitMix64). NumPy's generators,
the size of chunks and the number of processes have no part in it. Memory: about 300 bytes for each row of a chunk and process.
"""

import argparse
import collections
import concurrent.futures
import datetime
import hashlib
import json
import pathlib
import sys

import numpy as np
import schema
from writers import WRITERS, Coded, Text

HOLIDAYS = {(1, 1), (2, 14), (3, 17), (5, 1), (6, 14), (7, 4), (10, 31), (11, 11), (12, 24), (12, 25)}
SEASONS = [0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 4, 4]  # of each month
LETTERS = np.frombuffer(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ,", np.uint8)
CHUNK = 262_144  # orders, or rows of a dimension
NATION_REGION = np.array([region for _, region in schema.NATIONS], np.uint8)


class Draws:
    """Random numbers by the name of what they are for, and a counter: an array of u64 that no two values of a name share."""

    def __init__(self, seed):
        self.seed = seed

    def below(self, bound, name, counter):
        """Integers of 0..bound, as i32."""
        key = int.from_bytes(hashlib.blake2b(f"{self.seed}/{name}".encode(), digest_size=8).digest(), "little")
        z = counter * np.uint64(0x9E3779B97F4A7C15)
        z += np.uint64(key)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            z ^= z >> np.uint64(shift)
            z *= np.uint64(factor)
        z ^= z >> np.uint64(31)
        z >>= np.uint64(32)
        z *= np.uint64(bound)
        z >>= np.uint64(32)
        return z.astype(np.int32)


def digits(values, width):
    """A row of ASCII digits for each value."""
    powers = 10 ** np.arange(width - 1, -1, -1)
    return (values.astype(np.int64)[:, None] // powers % 10 + ord("0")).astype(np.uint8)


def spelled(*parts):
    """Texts of one length: literals and arrays of ASCII rows, side by side."""
    rows = next(len(part) for part in parts if not isinstance(part, bytes))
    blocks = [np.broadcast_to(np.frombuffer(part, np.uint8), (rows, len(part))) if isinstance(part, bytes) else part for part in parts]
    whole = np.concatenate(blocks, axis=1)
    return Text(np.arange(rows + 1, dtype=np.int64) * whole.shape[1], whole.reshape(-1))


def cut(letters, kept):
    """Texts of several lengths: those letters of each row that are kept."""
    return Text(np.concatenate([[0], np.cumsum(kept.sum(axis=1), dtype=np.int64)]), letters[kept])


def datekeys():
    """The day of each number from the first day, as YYYYMMDD."""
    days = (schema.FIRST_DAY + datetime.timedelta(n) for n in range(schema.DAYS))
    return np.array([day.year * 10000 + day.month * 100 + day.day for day in days], np.int32)


def retail_price(partkey):
    """TPC-H's price of a part, in cents: 901.00 to 2098.99."""
    return 90_000 + partkey // 10 % 20_001 + 100 * (partkey % 1_000)


def lineorder(draws, scale, first, last):
    """The lines of orders first..last, counted from 0."""
    size = schema.sizes(scale)
    order = np.arange(first + 1, last + 1, dtype=np.uint64)
    lines = draws.below(7, "lo_lines", order) + 1
    start = np.cumsum(lines, dtype=np.int64) - lines
    number = np.arange(lines.sum(), dtype=np.int64)
    number -= np.repeat(start, lines)
    row = np.repeat(order * np.uint64(8), lines)
    row += number.astype(np.uint64)

    def per_order(bound, name):
        return draws.below(bound, name, order)

    def per_line(bound, name):
        return draws.below(bound, name, row)

    buyer = per_order(size["customer"] - size["customer"] // 3, "lo_custkey")  # TPC-H: each third customer orders nothing
    day, keys = per_order(schema.ORDER_DAYS, "lo_orderdate"), datekeys()
    part = per_line(size["part"], "lo_partkey") + 1
    quantity, discount, tax = per_line(50, "lo_quantity") + 1, per_line(11, "lo_discount"), per_line(9, "lo_tax")
    price = retail_price(part)
    extended = quantity * price
    revenue = extended * (100 - discount) // 100
    total = np.add.reduceat(revenue * (100 + tax) // 100, start)
    orderkey = (order // np.uint64(8) * np.uint64(32) + order % np.uint64(8)).astype(np.int32)
    priority = per_order(5, "lo_orderpriority").astype(np.uint8)
    return {
        "lo_orderkey": np.repeat(orderkey, lines),
        "lo_linenumber": (number + 1).astype(np.int32),
        "lo_custkey": np.repeat(buyer // 2 * 3 + buyer % 2 + 1, lines),
        "lo_partkey": part,
        "lo_suppkey": per_line(size["supplier"], "lo_suppkey") + 1,
        "lo_orderdate": np.repeat(keys[day], lines),
        "lo_orderpriority": Coded(np.repeat(priority, lines), "priority"),
        "lo_shippriority": np.zeros(len(row), np.int32),
        "lo_quantity": quantity,
        "lo_extendedprice": extended,
        "lo_ordtotalprice": np.repeat(total, lines),
        "lo_discount": discount,
        "lo_revenue": revenue,
        "lo_supplycost": 6 * price // 10,
        "lo_tax": tax,
        "lo_commitdate": keys[np.repeat(day, lines) + 30 + per_line(61, "lo_commitdate")],
        "lo_shipmode": Coded(per_line(7, "lo_shipmode").astype(np.uint8), "mode"),
    }


def people(prefix, title, draws, first, last):
    """The columns that customers and suppliers have in common."""
    key = np.arange(first + 1, last + 1, dtype=np.uint64)
    city = draws.below(250, f"{prefix}_city", key)
    nation = city // 10
    length = draws.below(16, f"{prefix}_address.length", key) + 10
    place = np.arange(25, dtype=np.uint64)
    letters = LETTERS[draws.below(len(LETTERS), f"{prefix}_address", key[:, None] * np.uint64(32) + place)]
    local = [draws.below(10**size - 10 ** (size - 1), f"{prefix}_phone.{n}", key) + 10 ** (size - 1) for n, size in enumerate((3, 3, 4))]
    return key, {
        f"{prefix}_name": spelled(title, digits(key, 9)),
        f"{prefix}_address": cut(letters, place < length[:, None].astype(np.uint64)),
        f"{prefix}_city": Coded(city.astype(np.uint8), "city"),
        f"{prefix}_nation": Coded(nation.astype(np.uint8), "nation"),
        f"{prefix}_region": Coded(NATION_REGION[nation], "region"),
        f"{prefix}_phone": spelled(digits(nation + 10, 2), b"-", digits(local[0], 3), b"-", digits(local[1], 3), b"-", digits(local[2], 4)),
    }


def customer(draws, scale, first, last):
    key, columns = people("c", b"Customer#", draws, first, last)
    segment = draws.below(5, "c_mktsegment", key).astype(np.uint8)
    return {"c_custkey": key.astype(np.int32), **columns, "c_mktsegment": Coded(segment, "segment")}


def supplier(draws, scale, first, last):
    key, columns = people("s", b"Supplier#", draws, first, last)
    return {"s_suppkey": key.astype(np.int32), **columns}


def part(draws, scale, first, last):
    key = np.arange(first + 1, last + 1, dtype=np.uint64)
    brand, colors = draws.below(1000, "p_brand1", key), len(schema.COLORS)
    one = draws.below(colors, "p_name.1", key)
    other = (one + 1 + draws.below(colors - 1, "p_name.2", key)) % colors  # another color than the first
    longest = max(map(len, schema.COLORS))
    words = np.frombuffer("".join(f"{color:{longest + 1}}" for color in schema.COLORS).encode(), np.uint8).reshape(colors, longest + 1)
    lengths = np.array([len(color) for color in schema.COLORS])
    place = np.arange(longest + 1)
    kept = np.concatenate([place < lengths[one, None] + 1, place < lengths[other, None]], axis=1)  # the first with a space behind it

    def coded(bound, name, dictionary):
        return Coded(draws.below(bound, name, key).astype(np.uint8), dictionary)

    return {
        "p_partkey": key.astype(np.int32),
        "p_name": cut(np.concatenate([words[one], words[other]], axis=1), kept),
        "p_mfgr": Coded((brand // 200).astype(np.uint8), "mfgr"),
        "p_category": Coded((brand // 40).astype(np.uint8), "category"),
        "p_brand1": Coded(brand.astype(np.uint16), "brand"),
        "p_color": coded(colors, "p_color", "color"),
        "p_type": coded(150, "p_type", "type"),
        "p_size": draws.below(50, "p_size", key) + 1,
        "p_container": coded(40, "p_container", "container"),
    }


def date(draws, scale, first, last):
    days = [schema.FIRST_DAY + datetime.timedelta(n) for n in range(first, last)]
    in_year = np.array([day.timetuple().tm_yday for day in days], np.int32)
    weekday = np.array([day.isoweekday() % 7 for day in days], np.uint8)  # Sunday is 0
    year, month, in_month = (np.array([getattr(day, name) for day in days], np.int32) for name in ("year", "month", "day"))
    texts = [f"{schema.MONTHS[day.month - 1]} {day.day}, {day.year}".encode() for day in days]
    return {
        "d_datekey": year * 10000 + month * 100 + in_month,
        "d_date": Text(np.cumsum([0, *map(len, texts)], dtype=np.int64), np.frombuffer(b"".join(texts), np.uint8)),
        "d_dayofweek": Coded(weekday, "weekday"),
        "d_month": Coded((month - 1).astype(np.uint8), "month"),
        "d_year": year,
        "d_yearmonthnum": year * 100 + month,
        "d_yearmonth": Coded(((year - schema.FIRST_YEAR) * 12 + month - 1).astype(np.uint8), "yearmonth"),
        "d_daynuminweek": weekday.astype(np.int32) + 1,
        "d_daynuminmonth": in_month,
        "d_daynuminyear": in_year,
        "d_monthnuminyear": month,
        "d_weeknuminyear": in_year // 7 + 1,  # published kernels of q1.3 count weeks so: the first has six days
        "d_sellingseason": Coded(np.array(SEASONS, np.uint8)[month - 1], "season"),
        "d_lastdayinweekfl": (weekday == 6).astype(np.uint8),
        "d_lastdayinmonthfl": np.array([(day + datetime.timedelta(1)).day == 1 for day in days], np.uint8),
        "d_holidayfl": np.array([(day.month, day.day) in HOLIDAYS for day in days], np.uint8),
        "d_weekdayfl": ((weekday > 0) & (weekday < 6)).astype(np.uint8),
    }


MAKERS = {"lineorder": lineorder, "customer": customer, "supplier": supplier, "part": part, "date": date}


def chunk_of(table, wanted, seed, scale, first, last):
    """The columns of a chunk that are written: others would only be copied from one process to another."""
    made = MAKERS[table](Draws(seed), scale, first, last)
    return {name: made[name] for name in dict.fromkeys(source for _, source in wanted.values())}


def chunks(table, wanted, seed, scale, chunk=CHUNK, jobs=1):
    """Yields the columns of each chunk, in order. At most two chunks a process are in memory."""
    units = schema.sizes(scale)["orders" if table == "lineorder" else table]
    ranges = ((table, wanted, seed, scale, first, min(first + chunk, units)) for first in range(0, units, chunk))
    if jobs == 1:
        yield from (chunk_of(*one) for one in ranges)
        return
    with concurrent.futures.ProcessPoolExecutor(jobs) as pool:
        pending = collections.deque()
        for one in ranges:
            pending.append(pool.submit(chunk_of, *one))
            if len(pending) > jobs:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()


def generate(out, scale=1.0, form="parquet", tables=(), columns=(), coded=False, seed=1, chunk=CHUNK, jobs=1):
    """Writes tables to the folder `out`, and ssb.json, which describes them. Returns {table: rows}."""
    out = pathlib.Path(out)
    out.mkdir(parents=True, exist_ok=True)
    chosen, rows = {}, {}
    if unknown := set(tables) - set(schema.TABLES):
        raise ValueError(f"no such tables: {', '.join(sorted(unknown))}")
    for table in tables or schema.TABLES:
        wanted = schema.written(table, coded)
        wanted = {name: how for name, how in wanted.items() if not columns or name in columns}
        if wanted:
            chosen[table] = wanted
    if unknown := set(columns) - {name for table in chosen.values() for name in table}:
        raise ValueError(f"no such columns: {', '.join(sorted(unknown))}")
    for table, wanted in chosen.items():
        with WRITERS[form](out, table, wanted) as writer:
            for made in chunks(table, wanted, seed, scale, chunk, jobs):
                writer.write(made)
        rows[table] = writer.rows
    describe(out, {"scale": scale, "seed": seed, "format": form, "rows": rows}, chosen)
    return rows


def describe(out, about, chosen):
    """ssb.json: the tables and columns that were written, and the dictionary of each coded column."""
    kinds = {table: {name: kind for name, (kind, _) in wanted.items()} for table, wanted in chosen.items()}
    used = {name: schema.TABLES[table][source] for table, wanted in chosen.items() for name, (_, source) in wanted.items() if name != source}
    words = {dictionary: schema.DICTIONARIES[dictionary] for dictionary in sorted(set(used.values()))}
    parts = {**about, "columns": kinds, "dictionary_of": used, "dictionaries": words}
    (out / "ssb.json").write_text("{\n" + ",\n".join(f" {json.dumps(key)}: {json.dumps(part)}" for key, part in parts.items()) + "\n}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--format", choices=WRITERS, default="parquet")
    parser.add_argument("--tables", type=lambda text: text.split(","), default=[])
    parser.add_argument("--columns", type=lambda text: text.split(","), default=[])
    parser.add_argument("--coded", action="store_true", help="numbers only, no texts")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--chunk", type=int, default=CHUNK, help="orders, or rows of other tables, in memory at a time")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    try:
        rows = generate(options.out, options.scale, options.format, options.tables, options.columns, options.coded, options.seed, options.chunk, options.jobs)
    except (ValueError, OSError) as why:
        print(f"generate.py: {why}", file=sys.stderr)
        return 1
    print(json.dumps(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
