"""Encodes, decodes and compares the TPC-H tables of the demo, and prints one table. Called by script/demo and gpu_test.py."""

import argparse
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv

TABLES = ("lineitem", "orders", "partsupp")

# What the reader of the comparison makes of a raw file's ending.
DTYPES = {"date32": np.int32, "decimal": np.int64, "timestamp": np.int64}


# The allocator fills memory with 0xa5: what a decode leaves out shows.
POISONED = os.environ | {"MALLOC_PERTURB_": "90"}


def run(zfc, *words, environment=None):
    result = subprocess.run([zfc, *words], capture_output=True, text=True, env=environment)
    if result.returncode != 0:
        sys.exit(f"demo: zfc {' '.join(words)} failed with {result.returncode}\n{result.stderr}")
    return result.stdout


def read_source(path, columns):
    """The source's columns as numpy arrays of the types that zipflow decodes to, read by pyarrow."""
    arrow = {
        "i32": pa.int32(), "i64": pa.int64(), "f64": pa.float64(), "f32": pa.float32(), "date32": pa.date32(),
        "u8": pa.string(), "i16": pa.int16(), "u16": pa.uint16(), "u32": pa.uint32(), "u64": pa.uint64(),
    }
    options = pa.csv.ConvertOptions(
        include_columns=list(columns), column_types={name: arrow[kind] for name, kind in columns.items()}
    )
    table = pa.csv.read_csv(path, convert_options=options)
    arrays = {}
    for name, kind in columns.items():
        column = table.column(name).combine_chunks()
        if kind == "u8":  # one character a field
            arrays[name] = np.frombuffer("".join(column.to_pylist()).encode("latin-1"), dtype=np.uint8)
        elif kind == "date32":
            arrays[name] = column.cast(pa.int32()).to_numpy(zero_copy_only=False)
        else:
            arrays[name] = column.to_numpy(zero_copy_only=False)
    return arrays


def compare(directory, source, columns):
    """Names of columns whose decoded bytes differ from the source's."""
    wrong = []
    for name, kind in columns.items():
        decoded = np.fromfile(directory / f"{name}.{kind}", dtype=np.uint8)
        if decoded.tobytes() != np.ascontiguousarray(source[name]).tobytes():
            wrong.append(name)
    return wrong


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
    rows, wrong = [], []
    for table in TABLES:
        print(f"== {table}: encode", flush=True)
        source, container = data / f"{table}.csv", data / f"{table}.zfd"
        encoded = json.loads(run(zfc, "encode", "-f", "--json", "-c", f"examples/tpch/tpch.zf:{table}", "-o", str(container), str(source)))
        decoded = {}
        for device in devices:
            print(f"== {table}: decode on {device}, verify", flush=True)
            directory = data / f"{table}.{device}"
            run(zfc, "decode", "-f", "-q", "--device", device, "-o", str(directory), str(container), environment=POISONED)
            decoded[device] = {c["column"]: c for c in json.loads(run(zfc, "verify", "--json", "--repeat", "5", "--device", device, str(container)))}
            kinds = {
                name: next(p.suffix[1:] for p in directory.glob(f"{name}.*"))
                for name in (c["column"] for c in encoded["columns"])
            }
            wrong += [f"{table}.{name} on {device}" for name in compare(directory, read_source(source, kinds), kinds)]
        for column in encoded["columns"]:
            rows.append((table, column, {device: decoded[device][column["column"]] for device in devices}))

    print()
    heads = "".join(f" {'GB/s ' + device:>9}" for device in devices)
    print(f"{'column':<16} {'plain MB':>8} {'ratio':>7} {'kernels':>7} {'enc MB/s':>8}{heads} {'verified':>8}  codec")
    plain = stored = 0
    for table, column, on in rows:
        plain += column["plain_bytes"]
        stored += column["stored_bytes"]
        speeds = "".join(f" {on[device]['gb_per_second']:>9.2f}" for device in devices)
        good = not any(entry.startswith(f"{table}.{column['column']} ") for entry in wrong)
        print(
            f"{column['column']:<16} {column['plain_bytes'] / 1e6:>8.2f} {column['plain_bytes'] / max(1, column['stored_bytes']):>7.2f}"
            f" {on[devices[0]]['kernels']:>7} {column['encode_mb_per_second']:>8.0f}{speeds} {'yes' if good else 'NO':>8}  {column['codec']}"
        )
    print(f"{'all':<16} {plain / 1e6:>8.2f} {plain / max(1, stored):>7.2f}")
    print()
    print(f"threads: {os.cpu_count()}; encode MB/s is of one core; GB/s is plain data, all threads, best of 5, kernels warm")
    if options.json:
        table = [
            {"table": t, "column": c["column"], "codec": c["codec"], "plain_bytes": c["plain_bytes"], "stored_bytes": c["stored_bytes"],
             "encode_mb_per_second": c["encode_mb_per_second"], "verified": f"{t}.{c['column']}" not in {w.split(" ")[0] for w in wrong},
             "devices": on}
            for t, c, on in rows
        ]
        options.json.write_text(json.dumps({"columns": table, "differ": wrong}, indent=1) + "\n")
    if wrong:
        sys.exit("demo: these columns differ from the source: " + ", ".join(wrong))
    print(f"zfc is {zfc}; try: {zfc} inspect {data}/lineitem.zfd")
    print(f"{len(rows)} columns verified bit for bit against the source on {', '.join(devices)}.")


if __name__ == "__main__":
    main()
