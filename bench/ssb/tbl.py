"""Tables of dbgen, or of another generator of the Star Schema Benchmark, as DIR/TABLE.tbl: fields between bars, one behind the last field, too."""

import schema


def tables(database, folder):
    """Makes tables with the columns of schema.py, texts and codes, from the files of a folder."""
    for table, columns in schema.TABLES.items():
        types = {name: "integer" if kind in ("i32", "u8") else "varchar" for name, kind in columns.items()}
        codes = "".join(f", list_position({schema.DICTIONARIES[kind]}, {name}) - 1 as {name}_code" for name, kind in columns.items() if kind in schema.DICTIONARIES)
        database.execute(f"""create table {table} as select * exclude (behind){codes} from read_csv('{folder}/{table}.tbl',
            delim = '|', header = false, quote = '', columns = {({**types, 'behind': 'varchar'})})""")


def facts(database, table, column, text):
    measure = f"avg(length({column}))" if text else f"avg({column})"
    return database.execute(f"select min({column}), max({column}), count(distinct {column}), {measure} from {table}").fetchone()


def compared(ours, about, folder, checked, quiet):
    """Checks another generator's tables, and prints columns whose ranges, distinct values or means differ. Returns an exit status."""
    import duckdb

    theirs = duckdb.connect()
    theirs.execute("set threads = 1")
    tables(theirs, folder)
    failed = checked(theirs, about, quiet).failed
    alike = 0
    for table, columns in about["columns"].items():
        for column, kind in columns.items():
            a, b = (facts(database, table, column, kind == "text") for database in (ours, theirs))
            same = a[:3] == b[:3] and abs(a[3] - b[3]) <= 0.01 * abs(b[3])
            alike += same
            if not same:
                print(f"{column}: here {a}, there {b}")
    print(f"{alike} columns are alike: ranges, distinct values, and means within 1%")
    return bool(failed)
