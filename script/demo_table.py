"""Encodes, decodes and compares the TPC-H tables of the demo, and prints one table. Called by script/demo and gpu_test.py."""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv

# The first is the tables whole, the next two other codecs for some of the columns.
PROGRAMS = ("tpch", "tpch_ours", "tpch_decimal")

ARROW = {
    "i32": pa.int32(), "i64": pa.int64(), "f64": pa.float64(), "date32": pa.date32(), "u8": pa.string(), "string": pa.large_string(),
    "decimal(15, 2)": pa.decimal128(15, 2),
}

# The allocator fills memory with 0xa5: what a decode leaves out shows.
POISONED = os.environ | {"MALLOC_PERTURB_": "90"}


def run(zfc, *words, environment=None, codes=(0,)):
    result = subprocess.run([zfc, *words], capture_output=True, text=True, env=environment)
    if result.returncode not in codes:
        sys.exit(f"demo: zfc {' '.join(words)} failed with {result.returncode}\n{result.stderr}")
    return result.stdout


def read_source(path, columns):
    """The source's columns, read by pyarrow: name to the bytes of the files that zfc decode writes, by their endings."""
    options = pa.csv.ConvertOptions(include_columns=list(columns), column_types={name: ARROW[kind] for name, kind in columns.items()})
    table = pa.csv.read_csv(path, convert_options=options)
    files = {}
    for name, kind in columns.items():
        column = table.column(name).combine_chunks()
        if kind == "string":
            offsets = np.frombuffer(column.buffers()[1], dtype=np.int64, count=len(column) + 1)
            text = column.buffers()[2]
            files[name] = {"offsets": offsets, "bytes": np.frombuffer(text, dtype=np.uint8, count=offsets[-1])}
        elif kind == "u8":  # one character a field
            files[name] = {kind: np.frombuffer("".join(column.to_pylist()).encode("latin-1"), dtype=np.uint8)}
        elif kind == "date32":
            files[name] = {kind: column.cast(pa.int32()).to_numpy(zero_copy_only=False)}
        elif kind.startswith("decimal"):  # 128 bits, of which the upper half is the sign
            files[name] = {"decimal": np.frombuffer(column.buffers()[1], dtype=np.int64)[0 : 2 * len(column) : 2]}
        else:
            files[name] = {kind: column.to_numpy(zero_copy_only=False)}
    return files


def compare(directory, source, columns):
    """Names of columns whose decoded bytes differ from the source's."""
    wrong = []
    for name in columns:
        for ending, expected in source[name].items():
            if (directory / f"{name}.{ending}").read_bytes() != np.ascontiguousarray(expected).tobytes():
                wrong.append(name)
                break
    return wrong


def decode(zfc, device, container, directory, source):
    """Gives what verify said of each column that is good, and the names of those that differ."""
    said = json.loads(run(zfc, "verify", "--json", "--repeat", "5", "--device", device, str(container), codes=(0, 1)))
    good = {c["column"]: c for c in said if c["good"]}
    wrong = [c["column"] for c in said if not c["good"]]
    for c in said:
        if c["column"] in wrong:
            print(f"demo: {c['column']} on {device}: {c['error']}", file=sys.stderr)
    if good:
        run(zfc, "decode", "-f", "-q", "--device", device, "--columns", ",".join(good), "-o", str(directory), str(container), environment=POISONED)
        wrong += compare(directory, source, good)
    return good, wrong


def tables_of(program):
    return re.findall(r"^table (\w+)", pathlib.Path(f"examples/tpch/{program}.zf").read_text(), re.MULTILINE)


def ratio(row):
    return row["plain_bytes"] / max(1, row["stored_bytes"])


def measure(zfc, data, devices):
    """Does it all. A row for each column of each program."""
    rows = []
    for table in tables_of(PROGRAMS[0]):
        print(f"== {table}: encode, decode on {', '.join(devices)}, compare", flush=True)
        text = data / f"{table}.csv"
        for program in PROGRAMS:
            if table not in tables_of(program):
                continue
            stem = table if program == PROGRAMS[0] else f"{table}.{program}"
            container = data / f"{stem}.zfd"
            encoded = json.loads(run(zfc, "encode", "-f", "--json", "-c", f"examples/tpch/{program}.zf:{table}", "-o", str(container), str(text)))
            types = {c["column"]: c["type"] for c in json.loads(run(zfc, "inspect", "--json", str(container)))["columns"]}
            source = read_source(text, types)
            on = {device: decode(zfc, device, container, data / f"{stem}.{device}", source) for device in devices}
            for c in encoded["columns"]:
                name = c["column"]
                rows.append({
                    "table": table, "program": program, "column": name, "type": types[name], "codec": c["codec"],
                    "plain_bytes": c["plain_bytes"], "stored_bytes": c["stored_bytes"], "encode_mb_per_second": c["encode_mb_per_second"],
                    "devices": {device: good[name] for device, (good, _) in on.items() if name in good},
                    "differ": [device for device, (_, wrong) in on.items() if name in wrong],
                })
    return rows


def show(rows, devices):
    ours = {r["column"]: r for r in rows if r["program"] == PROGRAMS[1]}
    heads = "".join(f" {'GB/s ' + device:>9}" for device in devices)
    head = f"{'column':<16} {'plain KB':>10} {'stored KB':>10} {'ratio':>8} {'ours':>8} {'kernels':>7} {'enc MB/s':>8}{heads} {'verified':>8}  codec"
    for program in PROGRAMS:
        chosen = [r for r in rows if r["program"] == program]
        print(f"\nexamples/tpch/{program}.zf\n{head}")
        table = ""
        for r in chosen:
            if r["table"] != table and program == PROGRAMS[0]:
                table = r["table"]
                print(f"-- {table}")
            other = f"{ratio(ours[r['column']]):.2f}" if program == PROGRAMS[0] and r["column"] in ours else ""
            speeds = "".join(f" {r['devices'][d]['gb_per_second']:>9.2f}" if d in r["devices"] else f" {'-':>9}" for d in devices)
            kernels = next(iter(r["devices"].values()), {"kernels": "-"})["kernels"]
            print(
                f"{r['column']:<16} {r['plain_bytes'] / 1e3:>10.1f} {r['stored_bytes'] / 1e3:>10.1f} {ratio(r):>8.2f} {other:>8} {kernels:>7}"
                f" {r['encode_mb_per_second']:>8.0f}{speeds} {'NO' if r['differ'] else 'yes':>8}  {r['codec']}"
            )
        plain, stored = sum(r["plain_bytes"] for r in chosen), sum(r["stored_bytes"] for r in chosen)
        print(f"{'all':<16} {plain / 1e3:>10.1f} {stored / 1e3:>10.1f} {plain / max(1, stored):>8.2f}")


def main():
    parser = argparse.ArgumentParser(prog="demo_table.py", description="Encodes, decodes and compares the tables in a directory.")
    parser.add_argument("zfc")
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--devices", help="names, separated by commas (default: all that are present and no emulators)")
    parser.add_argument("--json", type=pathlib.Path, help="also write what was found to this file")
    options = parser.parse_args()
    zfc, data = options.zfc, options.data
    found = json.loads(run(zfc, "devices", "--json"))
    devices = [d["name"] for d in found if d["present"] and not d["emulated"]]
    if options.devices:
        devices = options.devices.split(",")
    rows = measure(zfc, data, devices)
    wrong = [f"{r['program']}:{r['table']}.{r['column']} on {device}" for r in rows for device in r["differ"]]
    show(rows, devices)
    print()
    print(f"threads: {os.cpu_count()}; encode MB/s is of one core; GB/s is plain data, all threads, best of 5, kernels warm")
    print("plain: of strings the characters, while their lengths count as stored; ours: the ratio of examples/tpch/tpch_ours.zf, where it has the column")
    if options.json:
        options.json.write_text(json.dumps({"columns": [r | {"verified": not r["differ"]} for r in rows], "differ": wrong}, indent=1) + "\n")
    if wrong:
        sys.exit("demo: these columns differ from the source: " + ", ".join(wrong))
    print(f"zfc is {zfc}; try: {zfc} inspect {data}/lineitem.zfd")
    for device in devices:
        took = sum(device in r["devices"] for r in rows)
        print(f"{device}: {took} columns verified bit for bit against the source.")
    print(f"GOOD: every column of {len(tables_of(PROGRAMS[0]))} tables came back as pyarrow reads it from the source.")


if __name__ == "__main__":
    main()
