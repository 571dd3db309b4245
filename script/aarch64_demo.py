"""Compares two builds of zfc on tables of the demo: called by script/test-aarch64 with the native one and one that is emulated.

Usage: aarch64_demo.py NATIVE OTHER DIRECTORY"""

import json
import os
import pathlib
import subprocess
import sys

from demo_table import compare, read_source, run

TABLES = ("nation", "part", "lineitem")  # all types of the demo: integers, decimals, dates, characters, strings
SCALE = "0.001"


def main():
    native, other, data = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    environment = os.environ | {"ZIPFLOW_CACHE_DIR": str((data / "cache").resolve())}
    generator = pathlib.Path(sys.executable).parent / "tpchgen-cli"
    containers = []
    for table in TABLES:
        text = data / f"{table}.csv"
        if not text.exists():
            subprocess.run([generator, "csv", "-s", SCALE, "--tables", table, "--output-dir", data], check=True, stdout=subprocess.DEVNULL)
        here, there = data / f"{table}.native.zfd", data / f"{table}.zfd"
        for zfc, container in ((native, here), (other, there)):
            run(zfc, "encode", "-f", "-q", "-c", f"examples/tpch/tpch.zf:{table}", "-o", str(container), str(text), environment=environment)
        if here.read_bytes() != there.read_bytes():
            sys.exit(f"aarch64_demo: {there} and {here} differ")
        types = {c["column"]: c["type"] for c in json.loads(run(other, "inspect", "--json", str(there)))["columns"]}
        source = read_source(text, types)
        for device in ("cpu", "emu") if table != "lineitem" else ("cpu",):  # the emulator in an emulator is slow
            out = data / f"{table}.{device}"
            run(other, "decode", "-f", "-q", "--device", device, "-o", str(out), str(there), environment=environment | {"MALLOC_PERTURB_": "90"})
            wrong = compare(out, source, types)
            if wrong:
                sys.exit(f"aarch64_demo: {table} on {device}: these columns differ from the source: {', '.join(wrong)}")
            print(f"{table}: the native file's bytes; {len(types)} columns on {device} are the source's", flush=True)
        containers.append(str(there))
    run(other, "pipeline", "-q", "--verify", *containers, environment=environment)
    print(f"GOOD: {len(containers)} tables, also by a pipeline.")


if __name__ == "__main__":
    main()
