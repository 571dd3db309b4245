#!/usr/bin/env python3
"""Compares the tables of generate.py, or of another generator, with the specification of the Star Schema Benchmark.

    check.py DATA                     # a folder of generate.py
    check.py DATA --tbl DIR           # the same checks of DIR/*.tbl with the DATA's scale, and columns side by side
    check.py DATA --quiet             # failures only

Rows, ranges, distinct values, dependencies between columns, equal shares, independence of columns, and the rows of each query beside the
specification's filter factor. The exit status is 1 if a check fails. Shares are compared by chi-square, with a limit that chance passes in
about one of 100,000 cases; a check without enough rows says so and counts as neither.
"""

import argparse
import math
import pathlib
import sys

import schema
from ssb_queries import JOINS, QUERIES, opened

PUBLISHED = 0.2  # how far order dates may take a filter factor from the published one


class Findings:
    def __init__(self, quiet=False):
        self.quiet, self.failed, self.passed, self.skipped = quiet, [], 0, []

    def expect(self, good, name, said=""):
        if good is None:
            self.skipped.append(name)
        elif good:
            self.passed += 1
        else:
            self.failed.append(name)
        if not good or not self.quiet:
            print({None: "few rows", True: "good    ", False: "FAILED  "}[good if good is None else bool(good)], name, said)


def one(database, text):
    return database.execute(text).fetchone()


def rows(found, database, scale):
    size = schema.sizes(scale)
    for table in ("customer", "supplier", "part", "date"):
        count = one(database, f"select count(*) from {table}")[0]
        found.expect(count == size[table], f"rows of {table}", f"{count}, expected {size[table]}")
    orders, lines = one(database, "select count(distinct lo_orderkey), count(*) from lineorder")
    found.expect(orders == size["orders"], "orders", f"{orders}, expected {size['orders']}")
    found.expect(abs(lines - 4 * orders) < 10 * math.sqrt(orders), "rows of lineorder", f"{lines}, expected about {4 * orders}")


def ranges(scale):
    """{table: {column: (least, most, distinct)}}; None is not checked. Distinct values need enough rows."""
    size = schema.sizes(scale)
    key = {table: (1, size[table], size[table]) for table in ("customer", "supplier", "part")}
    words = {table: {f"{name}_code": (0, len(schema.DICTIONARIES[kind]) - 1, len(schema.DICTIONARIES[kind])) for name, kind in columns.items()
                     if kind in schema.DICTIONARIES} for table, columns in schema.TABLES.items()}
    last = size["orders"]
    return {
        "lineorder": {
            "lo_orderkey": (1, last // 8 * 32 + last % 8, last), "lo_linenumber": (1, 7, 7), "lo_partkey": key["part"], "lo_suppkey": key["supplier"],
            "lo_custkey": (1, size["customer"] - (size["customer"] % 3 == 0), size["customer"] - size["customer"] // 3),
            "lo_orderdate": (19920101, 19980802, schema.ORDER_DAYS), "lo_shippriority": (0, 0, 1), "lo_quantity": (1, 50, 50),
            "lo_discount": (0, 10, 11), "lo_tax": (0, 8, 9), **words["lineorder"]},
        "customer": {"c_custkey": key["customer"], **words["customer"]},
        "supplier": {"s_suppkey": key["supplier"], **words["supplier"]},
        "part": {"p_partkey": key["part"], "p_size": (1, 50, 50), **words["part"]},
        "date": {"d_datekey": (19920101, 19981231, schema.DAYS), "d_year": (1992, 1998, 7), "d_yearmonthnum": (199201, 199812, 84),
                 "d_daynuminweek": (1, 7, 7), "d_daynuminmonth": (1, 31, 31), "d_daynuminyear": (1, 366, 366), "d_monthnuminyear": (1, 12, 12),
                 "d_weeknuminyear": (1, 53, 53), **{f"d_{name}fl": (0, 1, 2) for name in ("lastdayinweek", "lastdayinmonth", "holiday", "weekday")},
                 **words["date"]},
    }


def values(found, database, scale):
    for table, columns in ranges(scale).items():
        count = one(database, f"select count({'distinct lo_orderkey' if table == 'lineorder' else '*'}) from {table}")[0]
        for name, expected in columns.items():
            measured = one(database, f"select min({name}), max({name}), count(distinct {name}) from {table}")
            exact = name.endswith("key") and expected[2] == count  # a primary key
            if exact or table == "date" or count > expected[2] * (math.log(expected[2]) + 12):
                found.expect(measured == expected, f"values of {name}", f"{measured}, expected {expected}")
            else:  # too few rows to meet all values
                inside = expected[0] <= measured[0] and measured[1] <= expected[1] and measured[2] <= expected[2]
                found.expect(inside, f"values of {name}", f"{measured} within {expected}")


def strptime(column):
    return f"strptime({column}::varchar, '%Y%m%d')::date"


DAY = f"(select *, {strptime('d_datekey')} as day from date)"
PRICE = "(90000 + lo_partkey // 10 % 20001 + 100 * (lo_partkey % 1000))"
# Dependencies: a query that counts what breaks one.
DEPENDENCIES = {
    "lo_extendedprice is quantity times the part's price": f"select count(*) from lineorder where lo_extendedprice <> lo_quantity * {PRICE}",
    "lo_revenue": "select count(*) from lineorder where lo_revenue <> lo_extendedprice::bigint * (100 - lo_discount) // 100",
    "lo_supplycost": f"select count(*) from lineorder where lo_supplycost <> 6 * {PRICE} // 10",
    "lo_ordtotalprice is a sum over the order": """select count(*) from (select min(lo_ordtotalprice) as least, max(lo_ordtotalprice) as most,
        sum(lo_revenue::bigint * (100 + lo_tax) // 100) as charged from lineorder group by lo_orderkey) where least <> charged or most <> charged""",
    "an order's columns are one value": """select count(*) from (select lo_orderkey from lineorder group by lo_orderkey
        having min(lo_custkey) <> max(lo_custkey) or min(lo_orderdate) <> max(lo_orderdate) or min(lo_ordtotalprice) <> max(lo_ordtotalprice)
        or min(lo_orderpriority_code) <> max(lo_orderpriority_code))""",
    "lines are numbered from 1": """select count(*) from (select count(*) as n, count(distinct lo_linenumber) as d, max(lo_linenumber) as m
        from lineorder group by lo_orderkey) where n <> d or n <> m or n > 7""",
    "8 of 32 order keys are used": "select count(*) from lineorder where lo_orderkey % 32 >= 8",
    "a third of the customers order nothing": "select count(*) from lineorder where lo_custkey % 3 = 0",
    "lo_commitdate is 30 to 90 days after the order": f"""select count(*) from lineorder
        where {strptime('lo_commitdate')} - {strptime('lo_orderdate')} not between 30 and 90""",
    **{f"{join} has a row": f"select count(*) from lineorder where {join.split(' = ')[0]} not in (select {join.split(' = ')[1]} from {table})"
       for table, join in [*JOINS.items(), ("date", "lo_commitdate = d_datekey")]},
    **{f"{each}'s nation and region follow from the city": f"select count(*) from {each} where {p}_nation_code <> {p}_city_code // 10 or {p}_region_code <> "
       f"list_extract({[region for _, region in schema.NATIONS]}, {p}_nation_code + 1)" for each, p in (("customer", "c"), ("supplier", "s"))},
    "a brand has one category, a category one maker": """select count(*) from part
        where p_category_code <> p_brand1_code // 40 or p_mfgr_code <> p_brand1_code // 200""",
    "the date's numbers": f"""select count(*) from {DAY} where d_year <> year(day) or d_yearmonthnum <> year(day) * 100 + month(day)
        or d_daynuminmonth <> day(day) or d_daynuminyear <> dayofyear(day) or d_monthnuminyear <> month(day)
        or d_weeknuminyear <> dayofyear(day) // 7 + 1 or d_month_code <> month(day) - 1 or d_yearmonth_code <> (year(day) - 1992) * 12 + month(day) - 1""",
    "the date's days of the week": f"""select count(*) from {DAY} where d_daynuminweek <> dayofweek(day) + 1 or d_dayofweek_code <> dayofweek(day)
        or d_weekdayfl <> (dayofweek(day) between 1 and 5)::int or d_lastdayinweekfl <> (dayofweek(day) = 6)::int""",
    "the last day of a month": f"select count(*) from {DAY} where d_lastdayinmonthfl <> (day = last_day(day))::int",
}
# Texts: a query that counts rows whose text is not of the column's form.
TEXTS = {
    "d_date": f"select count(*) from {DAY} where d_date <> strftime(day, '%B %-d, %Y')",
    **{f"{each}'s texts": f"""select count(*) from {each} where {p}_name <> '{each.capitalize()}#' || lpad({key}::varchar, 9, '0')
        or not regexp_full_match({p}_phone, '[1-3][0-9]-[0-9]{{3}}-[0-9]{{3}}-[0-9]{{4}}') or substr({p}_phone, 1, 2)::int <> {p}_nation_code + 10
        or length({p}_address) not between 1 and 25 or {p}_city <> rpad(substr({p}_nation, 1, 9), 9, ' ') || {p}_city_code % 10"""
       for each, p, key in (("customer", "c", "c_custkey"), ("supplier", "s", "s_suppkey"))},
    "p_name is two colors": f"""select count(*) from part where split_part(p_name, ' ', 1) = split_part(p_name, ' ', 2)
        or split_part(p_name, ' ', 1) not in {tuple(schema.COLORS)} or split_part(p_name, ' ', 2) not in {tuple(schema.COLORS)}""",
}


def dependencies(found, database, about):
    texts = any(kind == "text" for columns in about["columns"].values() for kind in columns.values())
    for name, text in {**DEPENDENCIES, **(TEXTS if texts else {})}.items():
        broken = one(database, text)[0]
        found.expect(broken == 0, name, f"{broken} rows differ" if broken else "")
    if texts:
        for table, columns in schema.TABLES.items():
            for name, kind in columns.items():
                if kind in schema.DICTIONARIES:
                    broken = one(database, f"select count(*) from {table} where {name} <> list_extract({schema.DICTIONARIES[kind]}, {name}_code + 1)")[0]
                    found.expect(broken == 0, f"{name} and {name}_code", f"{broken} rows differ" if broken else "")


def bucket(key, most, count=20):
    return f"(({key} - 1)::bigint * {count} // {most})"


def shares(scale):
    """[(table, expression, number of equally frequent values, condition)]. Columns of an order are counted in its first line."""
    size, first = schema.sizes(scale), "lo_linenumber = 1"
    pairs = [("lo_quantity", 50, "lo_discount", 11), ("lo_discount", 11, "lo_tax", 9), ("lo_quantity", 50, "lo_shipmode_code", 7),
             (bucket("lo_suppkey", size["supplier"]), 20, bucket("lo_partkey", size["part"]), 20), ("lo_quantity", 50, bucket("lo_partkey", size["part"]), 20)]
    code = {table: [(table, f"{name}_code", len(schema.DICTIONARIES[kind]), "true") for name, kind in columns.items()
                    if kind in schema.DICTIONARIES and kind not in ("region", "nation")] for table, columns in schema.TABLES.items()}
    plain = [("lo_quantity", 50), ("lo_discount", 11), ("lo_tax", 9), (bucket("lo_partkey", size["part"]), 20), (bucket("lo_suppkey", size["supplier"]), 20),
             ("lo_shipmode_code", 7), (f"{strptime('lo_commitdate')} - {strptime('lo_orderdate')}", 61)]
    day = f"({strptime('lo_orderdate')} - date '1992-01-01')"
    once = [("lo_orderpriority_code", 5), (bucket("lo_custkey", size["customer"]), 20), (day, schema.ORDER_DAYS),
            (f"{day} // 401 * 20 + {bucket('lo_custkey', size['customer'])}", 120)]
    return [*(("lineorder", name, count, "true") for name, count in plain), *(("lineorder", name, count, first) for name, count in once),
            *(("lineorder", f"{a} * 1000 + {b}", n * m, "true") for a, n, b, m in pairs), *code["customer"], *code["supplier"], *code["part"],
            ("customer", "c_nation_code", 25, "true"), ("supplier", "s_nation_code", 25, "true"), ("part", "p_size", 50, "true"),
            ("(select count(*) as n from lineorder group by lo_orderkey)", "n", 7, "true")]


def distributions(found, database, scale):
    for table, expression, count, condition in shares(scale):
        name = f"equal shares of {count}: {expression if len(expression) < 60 else expression[:57] + '...'}"
        total, squares = one(database, f"select sum(n), sum(n * n) from (select count(*)::hugeint as n from {table} where {condition} group by {expression})")
        if total < 5 * count:
            found.expect(None, name, f"{total} rows")
            continue
        chi, limit = squares * count / total - total, count - 1 + 4.5 * math.sqrt(2 * (count - 1)) + 12
        found.expect(chi < limit, name, f"chi-square {chi:.1f}, limit {limit:.1f}")


def selectivities(found, database):
    """The rows of each query beside the product of its conditions' shares in the tables, and beside the published filter factor."""
    total = one(database, "select count(*) from lineorder")[0]
    allowed = {"customer": "c_custkey % 3 <> 0", "date": "d_datekey <= 19980802"}  # those that orders name
    if not found.quiet:
        print("                         rows   expected     factor  published")
    for name, query in QUERIES.items():
        counted = one(database, query.count())[0]
        expected, spread = float(total), 1.0
        for table, (condition, share) in query.conditions.items():
            within, of = one(database, f"select count(*) filter ({condition}), count(*) from {table} where {allowed.get(table, 'true')}")
            if table != "lineorder":
                expected *= within / of
                spread += 0 if table == "date" else (1 - share) / share / of  # of a random table of this size
            else:
                expected *= float(share)
        exact, published = float(query.ours), float(query.published)
        chance = 5 * math.sqrt(5 * expected) + 3  # lines of an order come together, up to five times the variance
        found.expect(abs(counted - expected) <= chance, f"{name}: rows",
                     f"{counted:9d} {expected:10.1f} {counted / total:10.3g} {published:10.3g}")
        chance = 5 * math.sqrt(5 / (total * exact) + float(spread - 1))
        if chance > 1:
            found.expect(None, f"{name}: filter factor", f"{counted} rows")
        else:
            found.expect(abs(counted / total / exact - 1) <= chance, f"{name}: filter factor", f"{counted / total / exact:.3f} of {exact:.3g}, chance {chance:.3f}")
        ratio = exact / published
        found.expect(abs(ratio / query.times - 1) <= PUBLISHED, f"{name}: published factor", f"{ratio:.3f} times")


def checked(database, about, quiet=False):
    found = Findings(quiet)
    rows(found, database, about["scale"])
    values(found, database, about["scale"])
    dependencies(found, database, about)
    distributions(found, database, about["scale"])
    selectivities(found, database)
    print(f"{found.passed} good, {len(found.failed)} failed, {len(found.skipped)} without enough rows")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--tbl", type=pathlib.Path)
    parser.add_argument("--quiet", action="store_true")
    options = parser.parse_args()
    database, about = opened(options.data)
    if options.tbl:
        import tbl

        return tbl.compared(database, about, options.tbl, checked, options.quiet)
    return bool(checked(database, about, options.quiet).failed)


if __name__ == "__main__":
    sys.exit(main())
