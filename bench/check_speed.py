#!/usr/bin/env python3
"""How long `zfc check` takes: every file of the library, and the TPC-H tables, each a process of its own and all in one.

Usage: check_speed.py ZFC [--write DIRECTORY]

Prints JSON; --write also keeps it as DIRECTORY/check_speed.json. Times are of the wall, the median of nine runs, and the least.
"start" is a run that checks nothing (`zfc --version`): loading LLVM's library is most of it.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import time

from machine import processor

ROOT = pathlib.Path(__file__).resolve().parent.parent
RUNS = 9


def timed(command):
    begin = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "ZIPFLOW_STD": str(ROOT / "dsl/std")})
    took = time.perf_counter() - begin
    assert done.returncode == 0, done.stderr
    return took


def measure(name, command, files):
    times = sorted(timed(command) for _ in range(RUNS))
    return {"what": name, "files": len(files), "bytes": sum(path.stat().st_size for path in files),
            "median_seconds": round(statistics.median(times), 5), "least_seconds": round(times[0], 5)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("zfc")
    parser.add_argument("--write", metavar="DIRECTORY")
    options = parser.parse_args()
    library = sorted((ROOT / "dsl/std").glob("*.zf"))
    tables = [ROOT / "examples/tpch/tpch.zf"]
    check = [options.zfc, "check", "--quiet"]
    load = os.getloadavg()[0]
    report = {
        "bench": "check_speed", "runs": RUNS, "zfc": subprocess.run([options.zfc, "--version"], capture_output=True, text=True).stdout.strip(),
        "commit": subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip(),
        "processor": processor(), "cores": os.cpu_count(), "load_before": round(load, 2),
        "results": [
            measure("start", [options.zfc, "--version"], []),
            measure("tpch", [*check, *tables], tables),
            measure("std and tpch", [*check, *library, *tables], library + tables),
        ],
    }
    text = json.dumps(report, indent=1) + "\n"
    print(text, end="")
    if options.write:
        directory = pathlib.Path(options.write)
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "check_speed.json").write_text(text)


if __name__ == "__main__":
    main()
