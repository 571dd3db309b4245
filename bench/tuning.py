#!/usr/bin/env python3
"""What tuning costs and brings on a GPU, in one run: every column of the containers is tuned from nothing; some are measured under
every combination, and the search is replayed on that; columns are decoded as was found, and by default, and compared.

    python3 bench/tuning.py ZFC --device cuda --out result.json lineitem.zfd orders.zfd --exhaustive lineitem.zfd:l_orderkey

It says what was reached of: all kernels in under 60 s, under 10 probes a kernel on the mean, at least 97% of the best combination where
all were measured; the defaults at 90% of the tuned speed on the mean, and 80% each."""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

WANTED = {"total_seconds": 60, "mean_probes": 10, "part_of_best": 0.97, "default_mean": 0.90, "default_least": 0.80}


def run(zfc, cache, *words):
    result = subprocess.run([zfc, *map(str, words)], capture_output=True, text=True, env={**os.environ, "ZIPFLOW_CACHE_DIR": str(cache)})
    if result.returncode != 0:
        sys.exit(f"zfc {' '.join(map(str, words))}: {result.stderr}")
    return result.stdout


def tuned(zfc, options, cache, containers, found):
    """All columns from nothing: neither compiled code nor what was found before is there."""
    begin = time.monotonic()
    record = json.loads(run(zfc, cache, "tune", "--device", options.device, "--json", "-o", found, "--bytes", options.bytes,
                            *(["--budget", options.budget] if options.budget else []), *containers))
    seconds = time.monotonic() - begin
    kernels = [k for k in record["kernels"] if k["seconds"] > 0]
    parts = [k["seconds"] / k["default_seconds"] for k in kernels if k["default_seconds"] > 0]
    return record, {"kernels": len(kernels), "total_seconds": seconds,
                    "mean_probes": sum(k["probes"] for k in kernels) / max(len(kernels), 1), "most_probes": max([k["probes"] for k in kernels], default=0),
                    "default_mean": sum(parts) / max(len(parts), 1), "default_least": min(parts, default=0),
                    "improved": sum(k["best"] != k["default"] for k in kernels)}


def exhaustive(zfc, options, cache, scratch):
    """Of some columns every combination, and what the search makes of that record. It is searched without what is kept."""
    records, replays = [], []
    for number, name in enumerate(options.exhaustive):
        container, column = name.rsplit(":", 1)
        text = run(zfc, cache / f"exhaustive{number}", "tune", "--device", options.device, "--exhaustive", "--json", "--bytes", options.bytes,
                   "--columns", column, container)
        path = scratch / f"{number}.json"
        path.write_text(text)
        records.append(json.loads(text))
        replays.append(json.loads(run(zfc, cache, "tune", "--replay", path, "--json")))
    return records, replays


def same(zfc, options, cache, containers, found, scratch):
    """Whether columns that are decoded as was found are those that the CPU decodes."""
    for container in containers:
        for device, words in (("cpu", []), (options.device, ["--tuned", found])):
            run(zfc, cache, "decode", container, "--device", device, *words, "-o", scratch / device, "-f", "-q")
        for path in sorted((scratch / "cpu").iterdir()):
            if path.read_bytes() != (scratch / options.device / path.name).read_bytes():
                return False
        shutil.rmtree(scratch / "cpu")
        shutil.rmtree(scratch / options.device)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("zfc")
    parser.add_argument("containers", nargs="+")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--exhaustive", action="append", default=[], metavar="FILE.zfd:COLUMN")
    parser.add_argument("--bytes", default=512 << 20, help="of plain data that a measurement makes")
    parser.add_argument("--budget", help="for tuning all columns, such as 60s")
    parser.add_argument("--no-decode", action="store_true", help="do not decode all columns as was found")
    parser.add_argument("--out", required=True)
    options = parser.parse_args()
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="zfc-tuning-"))
    try:
        cache, found = scratch / "cache", scratch / "found.txt"
        record, summary = tuned(options.zfc, options, cache, options.containers, found)
        records, replays = exhaustive(options.zfc, options, cache, scratch)
        summary["part_of_best"] = min((r["least_part_of_best"] for r in replays), default=None)
        if not options.no_decode:
            summary["decoded_alike"] = same(options.zfc, options, cache, options.containers, found, scratch)
        summary["reached"] = {name: (summary[name] < wanted if name in ("total_seconds", "mean_probes") else summary[name] >= wanted)
                              for name, wanted in WANTED.items() if summary.get(name) is not None}
        result = {"summary": summary, "wanted": WANTED, "tuned": record, "exhaustive": records, "replays": replays, "found": found.read_text()}
        pathlib.Path(options.out).write_text(json.dumps(result, indent=1) + "\n")
    finally:
        shutil.rmtree(scratch)
    print(json.dumps(summary, indent=2))
    if record["device"]["emulated"]:
        print("these are times of an emulator: they say nothing of a GPU")
    return 0 if summary.get("decoded_alike", True) else 1


if __name__ == "__main__":
    sys.exit(main())
