#!/usr/bin/env python3
"""`zfc check` accepts every example of the pages below that is not a file of a tutorial; the only warnings are of columns that are not compiled (ZF0804) or not parallel on GPUs (ZF0806).
Examples marked `zf run` are encoded and decoded, with made data for each column.

Usage: language_examples.py ZFC ROOT
"""

import csv
import datetime
import json
import pathlib
import re
import subprocess
import sys
import tempfile

PAGES = {"docs/language.md": 15, "docs/types.md": 1, "docs/queries.md": 2}  # and how many examples each has at least
ROWS = 9000
# Data that the example with this algorithm must encode, and the most part of the plain size: words alone do not show that it
# works.
DATA = {"scaled": ("price", [str(cents // 100) + "." + str(cents % 100).zfill(2) for cents in range(ROWS)], 0.25)}
WORDS = "the quick brown fox jumps over a lazy dog again".split()


class Wrong(Exception):
    pass


def made(kind):
    """Values of a type, as text: some repeat, most climb."""
    null, kind = kind.endswith("?"), kind.rstrip("?")
    for k in range(ROWS):
        n = k // 5 * 3 + k * k % 7
        if null and k % 11 < 3:
            yield ""
        elif kind in ("f32", "f64"):
            yield f"{n / 4!r}"
        elif kind.startswith("decimal"):
            yield f"{n}.{k % 100:02}"
        elif kind == "date32":
            yield str(datetime.date(1992, 1, 1) + datetime.timedelta(days=n % 2500))
        elif kind == "timestamp":
            yield str(datetime.datetime(2024, 1, 1) + datetime.timedelta(seconds=n))
        elif kind == "bool":
            yield "true" if k % 13 < 4 else "false"
        elif kind == "string":
            yield " ".join(WORDS[(k * j) % len(WORDS)] for j in range(1, 1 + k % 5))
        else:
            yield str(n % {"u8": 200, "i8": 100}.get(kind, 30000))


def same(first, second):
    if first == second:
        return True
    try:
        return float(first) == float(second)
    except ValueError:
        return False


def run(environment, *words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=60, env=environment)
    if done.returncode != 0:
        raise Wrong(done.stdout + done.stderr)
    return done.stdout


def round_trip(zfc, path, environment, text):
    """Encodes and decodes the tables of the example in `path`."""
    tables = re.findall(r"^table (\w+) \{(.*?)\}", text, re.M | re.S)
    if not tables:
        raise Wrong("it has no table to encode")
    for table, body in tables:
        columns = {name: list(made(kind)) for name, kind in re.findall(r"(\w+):\s*([\w?]+(?:\(\d+, \d+\))?)\s*=", body)}
        limits = {}
        for algorithm, (column, values, most) in DATA.items():
            if f"algorithm {algorithm}(" in text:
                columns[column], limits[column] = values, most
        source, out = path.with_name("data.csv"), path.with_name("data.zfd")
        with open(source, "w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([list(columns), *zip(*columns.values())])
        report = json.loads(run(environment, zfc, "encode", "--json", "-f", "-c", f"{path}:{table}", "-o", out, source))
        for column in report["columns"]:
            if column["stored_bytes"] > limits.get(column["column"], 9) * column["plain_bytes"]:
                raise Wrong(f"{column['column']}: {column['plain_bytes']} bytes became {column['stored_bytes']}")
        run(environment, zfc, "decode", "-q", "-f", "--format", "csv", "-o", path.with_name("out"), out)
        with open(path.with_name("out") / f"{table}.csv", newline="") as file:
            decoded = list(csv.DictReader(file))
        for name, values in columns.items():
            got = [row[name] for row in decoded]
            if len(got) != ROWS or not all(map(same, values, got)):
                raise Wrong(f"{table}.{name} decodes to something else, of {len(got)} rows")


def check(zfc, path, environment, text):
    path.write_text(text)
    done = subprocess.run([zfc, "check", "--format", "line", path], capture_output=True, text=True, timeout=60, env=environment)
    output = done.stdout + done.stderr
    if done.returncode != 0 or set(re.findall(r"\[(ZF\d{4})\]", output)) - {"ZF0804", "ZF0806"}:
        raise Wrong(output)


def main():
    zfc, root = sys.argv[1], pathlib.Path(sys.argv[2])
    failures, counts, used = [], [], set()
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory) / "example.zf"
        environment = {"ZIPFLOW_STD": str(root / "dsl/std"), "XDG_CACHE_HOME": directory}
        for page, least in PAGES.items():
            blocks = re.findall(r"^```zf( run)?\n(.*?)^```$", (root / page).read_text(), re.M | re.S)
            counts.append(f"{page}: {len(blocks)} examples, {sum(bool(marked) for marked, _ in blocks)} of them run")
            if len(blocks) < least:
                failures.append(f"{page} has only {len(blocks)} examples")
            for marked, text in blocks:
                try:
                    check(zfc, path, environment, text)
                    if marked:
                        round_trip(zfc, path, environment, text)
                except Wrong as wrong:
                    failures.append(f"{page}: {text.splitlines()[0]} ...\n{wrong}")
                used |= {name for name in DATA if marked and f"algorithm {name}(" in text}
        failures += [f"no example that is run has the algorithm {name}" for name in set(DATA) - used]
    print("\n".join(failures or counts))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
