"""Which columns each of TPC-H's queries reads: what scans of DuckDB's plans take from each table, for queries.sql on empty tables.

    columns.py            prints them as columns.json has them
    columns.py --check    whether columns.json is that; 77: there is no DuckDB
"""

import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
SQL = {"u8": "VARCHAR", "i32": "INTEGER", "i64": "BIGINT", "f64": "DECIMAL(15, 2)", "date32": "DATE", "string": "VARCHAR"}


def tables():
    """{table: {column: type}} of examples/tpch/tpch.zf."""
    found, table = {}, None
    for line in (HERE.parents[1] / "examples/tpch/tpch.zf").read_text().splitlines():
        begins, column = re.match(r"table (\w+)", line), re.match(r"\s+(\w+):\s+(\w+)\s*=", line)
        if begins:
            table = begins[1]
        elif column:
            found.setdefault(table, {})[column[1]] = column[2]
    return found


def scanned(plan, named):
    """Columns of all scans within a plan; a column's name says its table. A scan lists what it gives on and what it filters by."""
    found = set()
    if "SCAN" in plan.get("name", ""):
        found |= set(re.findall(r"\w+", json.dumps(plan.get("extra_info", {})))) & named
    for child in plan.get("children", []):
        found |= scanned(child, named)
    return found


def queries():
    """{query: ["table.column", ...]}."""
    import duckdb

    database, all_tables, out = duckdb.connect(), tables(), {}
    owner = {column: table for table, columns in all_tables.items() for column in columns}
    for table, columns in all_tables.items():
        database.execute(f"create table {table} ({', '.join(f'{name} {SQL[kind]}' for name, kind in columns.items())})")
    database.execute("set disabled_optimizers = 'statistics_propagation,empty_result_pullup'")  # tables are empty, which must not show
    for name, text in re.findall(r"^-- (q\d+)\n(.*?;)$", (HERE / "queries.sql").read_text(), re.MULTILINE | re.DOTALL):
        (_, plan), = database.execute(f"explain (format json) {text}").fetchall()
        found = scanned({"children": json.loads(plan)}, set(owner))
        out[name] = sorted((f"{owner[c]}.{c}" for c in found), key=lambda c: [*owner].index(c.partition(".")[2]))
    return out


def text_of(found):
    return "{\n" + ",\n".join(f"  {json.dumps(name)}: {json.dumps(columns)}" for name, columns in found.items()) + "\n}\n"


def main():
    if sys.argv[1:] != ["--check"]:
        print(text_of(queries()), end="")
        return 0
    try:
        found = queries()
    except ImportError as missing:
        print(f"skipped: {missing}")
        return 77
    kept = (HERE / "columns.json").read_text()
    if kept != text_of(found):
        print("bench/tpch/columns.json is not what the plans read: bench/tpch/columns.py > bench/tpch/columns.json")
    # The same once more without a planner: the columns that a query names.
    named = {name: {w for w in re.findall(r"\w+", text) if re.match(r"(l|o|ps|p|c|s|n|r)_", w)}
             for name, text in re.findall(r"^-- (q\d+)\n(.*?;)$", (HERE / "queries.sql").read_text(), re.MULTILINE | re.DOTALL)}
    differ = {name: sorted({c.partition(".")[2] for c in found[name]} ^ named[name]) for name in found}
    differ = {name: columns for name, columns in differ.items() if columns}
    for name, columns in differ.items():
        print(f"{name}: planned or named, but not both: {', '.join(columns)}")
    return kept != text_of(found) or bool(differ) or len(found) != 22


if __name__ == "__main__":
    sys.exit(main())
