#!/usr/bin/env python3
"""What a user waits for before the first byte: the columns of table 2 of the paper, each decoded by a process of its own, cold (no
cache) and cached, and all columns of a table by one process, on one thread and on all.

    first_byte.py ZFC --data DIRECTORY [--device cpu] [--runs 5] [--out FILE.json]

DIRECTORY has lineitem.zfd, orders.zfd and partsupp.zfd of examples/tpch/tpch.zf, or they are made there (--tpchgen, --scale). On a GPU the
cold runs have an empty cache of the driver's, too. Times are in milliseconds, the medians of the runs: of the wall, and in `processor`
what all threads had of processors, which says more where the machine has other work. `start` is a process that does nothing:
what loading the libraries takes is in every other figure too.
"""

import argparse
import datetime
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from machine import processor

ROOT = pathlib.Path(__file__).resolve().parent.parent
COLUMNS = {
    "lineitem": ["l_orderkey", "l_partkey", "l_suppkey", "l_quantity", "l_extendedprice", "l_discount", "l_tax", "l_returnflag", "l_linestatus",
                 "l_shipdate", "l_commitdate", "l_receiptdate", "l_shipinstruct", "l_shipmode"],
    "orders": ["o_orderkey", "o_custkey", "o_totalprice", "o_orderdate", "o_shippriority", "o_comment"],
    "partsupp": ["ps_partkey", "ps_suppkey", "ps_availqty", "ps_supplycost"],
}
WAITED = ("device", "compile", "load", "decode")


class Bench:
    def __init__(self, options):
        self.o = options
        self.tree = pathlib.Path(tempfile.mkdtemp(prefix="zfc-first-byte-"))

    def close(self):
        shutil.rmtree(self.tree)

    def environment(self):
        return {**os.environ, "ZIPFLOW_STD": str(ROOT / "dsl/std"), "ZIPFLOW_CACHE_DIR": str(self.tree / "cache"),
                "CUDA_CACHE_PATH": str(self.tree / "driver-cache")}

    def run(self, *words):
        begin = time.perf_counter()
        done = subprocess.run([self.o.zfc, *map(str, words)], capture_output=True, text=True, env=self.environment())
        took = time.perf_counter() - begin
        if done.returncode != 0:
            sys.exit(f"{' '.join(map(str, words))}: {done.stdout}{done.stderr}")
        return took, done

    def path(self, table):
        at = pathlib.Path(self.o.data) / f"{table}.zfd"
        if not at.exists():
            at.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run([self.o.tpchgen, "csv", "-s", str(self.o.scale), "--tables", table, "--output-dir", at.parent], check=True,
                           capture_output=True)
            self.run("encode", "-q", "-c", f"{ROOT}/examples/tpch/tpch.zf:{table}", "-o", at, at.with_suffix(".csv"))
        return at

    def forget(self):
        for name in ("cache", "driver-cache"):
            shutil.rmtree(self.tree / name, ignore_errors=True)

    def decode(self, table, columns, *words):
        """One process: what it waited for, in milliseconds, and where its time went."""
        out = self.tree / "out"
        shutil.rmtree(out, ignore_errors=True)
        took, done = self.run("decode", "-f", "--json", "--time-passes", "--device", self.o.device, "--columns", ",".join(columns), *words, "-o",
                              out, self.path(table))
        said, passes = json.loads(done.stdout), json.loads(done.stderr)["time_passes"]
        waited = [c["waited"] for c in said]
        result = {"process": took * 1e3, **{k: sum(w[k] for w in waited) * 1e3 for k in WAITED},
                  "compiled": sum(w["compiled"] for w in waited), "cached": sum(w["cached"] for w in waited)}
        result["before"] = sum(passes["passes"][g]["wall"] for g in ("program", "plan", "code", "device")) * 1e3
        result["processor"] = sum(passes["passes"][g]["busy"] for g in ("program", "plan", "code", "device")) * 1e3
        for name, p in passes["passes"].items():
            if "." in name and p["count"] > 0:
                result[name] = p["busy"] * 1e3
        return result

    def measure(self, table, columns, *words):
        runs = {"cold": [], "cached": []}
        self.path(table)  # encoding fills the cache, too
        for _ in range(self.o.runs):
            self.forget()
            runs["cold"].append(self.decode(table, columns, *words))
            runs["cached"].append(self.decode(table, columns, *words))
        middle = {}
        for how, of in runs.items():
            names = list(dict.fromkeys(name for r in of for name in r))
            middle[how] = {name: round(statistics.median(r.get(name, 0) for r in of), 3) for name in names}
        if middle["cold"]["cached"] or middle["cached"]["compiled"]:
            sys.exit(f"{table} {columns}: what should be cold is not, or what should be cached: {middle}")
        return middle


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("zfc")
    parser.add_argument("--data", required=True)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--scale", default="0.1", help="of data that is made")
    parser.add_argument("--tpchgen", default=str(ROOT / ".venv/bin/tpchgen-cli"))
    parser.add_argument("--out")
    options = parser.parse_args()
    if shutil.which(options.zfc) is None:
        parser.error(f"there is no program {options.zfc}")
    bench = Bench(options)
    try:
        load = os.getloadavg()[0]
        starts = [bench.run("--version")[0] * 1e3 for _ in range(options.runs)]
        devices = json.loads(bench.run("devices", "--json")[1].stdout)
        report = {
            "bench": "first byte", "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "commit": subprocess.run(["git", "-C", ROOT, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True).stdout.strip(),
            "command": " ".join(["bench/first_byte.py", "ZFC", "--data", "DIRECTORY", "--device", options.device, "--runs", str(options.runs)]),
            "device": next((d for d in devices if d["name"].startswith(options.device)), {"name": options.device}),
            "processor": processor(), "cores": len(os.sched_getaffinity(0)), "load_before": round(load, 2), "runs": options.runs,
            "start": round(statistics.median(starts), 3), "columns": [], "tables": [],
        }
        for table, columns in COLUMNS.items():
            for column in columns:
                report["columns"].append({"table": table, "column": column, **bench.measure(table, [column])})
            threads = sorted({1, report["cores"]})
            for n in threads:
                report["tables"].append({"table": table, "columns": len(columns), "threads": n, **bench.measure(table, columns, "--threads", n)})
        report["load_after"] = round(os.getloadavg()[0], 2)
    finally:
        bench.close()
    text = json.dumps(report, indent=1) + "\n"
    if options.out:
        pathlib.Path(options.out).write_text(text)
    for row in report["columns"] + report["tables"]:
        name = row.get("column") or f"{row['table']}, {row['columns']} columns, {row['threads']} threads"
        print(f"{name:40}", *(f"{how}: {row[how]['before']:9.1f} ms, {row[how]['processor']:9.1f} of processors," for how in ("cold", "cached")))


if __name__ == "__main__":
    main()
