#!/usr/bin/env python3
"""Counts the common elements of all pairs of sets by `zfc query`, in three layouts, and checks all counts.

    sets_run.py OUT ZFC [--device D] [--repeat 9] [--points headline,density,zipf] [--layouts batmap,bitmap,sorted] [--small]
                [--seed 1] [--option=--threads=8] [--json FILE]

`headline`: 4,000 items, 10^7 entries, density 5%. `density`: 8,000 items, 10^7 entries, densities of 10% to 0.1% (figure 8 of the
paper). `zipf`: 4,000 items in 25,600 transactions, with densities that fall with their rank, like the words of WebDocs; it has
4.5 million entries. `--small` has tens of items, for tests. `milliseconds` is the median of the --repeat runs on a device, with
inputs in its memory; without --repeat it is the one run. `first` is a whole command with its start, compilation and files.

The counts of each item with all items are checked against those of its transactions' items, which need no pairs; 500 pairs against
an intersection. The exit status is 1 if a count is wrong.
"""

import argparse
import json
import pathlib
import shutil
import statistics
import sys
import time

import numpy as np
import sets_data

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = HERE / "sets_queries.zf"
DENSITIES = [0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001]
SAMPLE = 500


def points(names, small, seed):
    """{name of a point: a function that makes its sets}"""
    items, entries = (70, 30_000) if small else (4000, 10**7)
    found = {}
    if "headline" in names:
        found["headline"] = lambda: sets_data.uniform(items, entries, 0.05, seed)
    for density in DENSITIES if "density" in names else ():
        found[f"density {density:g}"] = lambda density=density: sets_data.uniform(2 * items, entries, density, seed)
    if "zipf" in names:
        found["zipf"] = lambda: sets_data.zipf(items, entries * 45 // 100, 500 if small else 25_600, seed)
    return found


# ---- Counts --------------------------------------------------------------------------------------------------------------------


def corrected(counts, sets, missing):
    """Counts of all pairs, in both orders, with what the maps lack: an element that one of a pair's sets lacks counts once."""
    counts = counts + np.triu(counts, 1).T + np.tril(counts, -1).T
    lacking, pairs = {}, set()
    for item, element in missing:
        lacking.setdefault(element, set()).add(item)
    for element, items in lacking.items():
        having = [item for item in range(len(sets)) if (at := np.searchsorted(sets.of(item), element)) < len(sets.of(item)) and sets.of(item)[at] == element]
        pairs |= {(element, a, b) for item in items for other in having for a, b in ((item, other), (other, item))}
    for _, a, b in pairs:
        counts[a, b] += 1
    return counts


def faults(counts, sets, seed):
    """The first fault of the counts of all pairs, in words; None: there is none."""
    together = np.bincount(sets.members, minlength=sets.transactions)  # items of a transaction
    wanted = np.add.reduceat(together[sets.members], sets.starts[:-1])
    if not np.array_equal(np.diagonal(counts), sets.sizes):
        return "sets do not have as many elements as they share with themselves"
    if (wrong := np.flatnonzero(counts.sum(axis=1) != wanted)).size:
        return f"{wrong.size} sets, the first of them {wrong[0]}, share {counts.sum(axis=1)[wrong[0]]} elements, not {wanted[wrong[0]]}"
    for a, b in np.random.default_rng(seed).integers(len(sets), size=(SAMPLE, 2)):
        if counts[a, b] != np.intersect1d(sets.of(a), sets.of(b), assume_unique=True).size:
            return f"sets {a} and {b}"
    return None


# ---- Runs ----------------------------------------------------------------------------------------------------------------------


def query(program, layout, folder, options):
    """Runs a layout's query. Returns its counts, and what `zfc query` printed, with the seconds of the whole command as `first`."""
    words = ["--json", "--no-results", "-f", "-o", folder / "counts", *options]
    words += [word for name, value in layout.params.items() for word in ("--param", f"{name}={value}")]
    for name, array in layout.inputs.items():
        array.tofile(folder / name)
        words += ["--input", f"{name}={folder / name}"]
    begin = time.perf_counter()
    said = json.loads(sets_data.zfc(program, "query", f"{PROGRAM}:{layout.query}", *words))
    first = time.perf_counter() - begin
    sets = layout.params["sets"]
    return np.fromfile(folder / "counts/count.i64", "<i8").reshape(sets, sets), {**said, "first": first}


def measured(program, point, name, sets, folder, options):
    """A row of the report."""
    begin = time.perf_counter()
    layout = sets_data.LAYOUTS[name](program, sets, folder)
    made = time.perf_counter() - begin
    counts, said = query(program, layout, folder, options.words)
    fault = faults(corrected(counts, sets, layout.missing), sets, options.seed)
    seconds = said.get("device", {}).get("seconds") or [said["seconds"]]
    entries = int(sets.sizes.sum())
    return {"point": point, "layout": name, "right": fault is None, "fault": fault, "sets": len(sets), "transactions": sets.transactions, "entries": entries,
            "milliseconds": 1e3 * statistics.median(seconds), "pairs": said["rows"], "words": layout.words, "input_bytes": layout.bytes,
            "elements": entries * (len(sets) + 1), "missing": len(layout.missing), "maps": layout.params.get("maps"), "made_seconds": made, **said}


def shown(row):
    seconds = row["milliseconds"] / 1e3
    print(f"{row['point']:14} {row['layout']:7} {'right' if row['right'] else 'WRONG: ' + row['fault']:5} {row['sets']:5} sets {row['pairs']:9} pairs "
          f"{row['input_bytes'] / 1e6:9.2f} MB {row['milliseconds']:11.3f} ms {row['words'] / seconds / 1e9:9.2f} G words/s "
          f"{row['elements'] / seconds / 1e9:9.2f} G elements/s", flush=True)


def run(options):
    options.words = ["--device", options.device] if options.device else []
    options.words += ["--repeat", str(options.repeat)] if options.repeat else []
    options.words += [word for text in options.option for word in text.split("=", 1)]
    folder = options.out / "run"
    folder.mkdir(parents=True, exist_ok=True)
    report = {"bench": "sets", "zfc": sets_data.zfc(options.zfc, "--version").splitlines(),
              "device": options.device or "cpu", "devices": sets_data.zfc(options.zfc, "devices").splitlines(), "options": options.option, "repeat": options.repeat,
              "small": options.small, "seed": options.seed, "rows": []}
    for point, make in points(options.points, options.small, options.seed).items():
        sets = make()
        for name in options.layouts:
            report["rows"].append(measured(options.zfc, point, name, sets, folder, options))
            shown(report["rows"][-1])
            if options.json:
                options.json.write_text(json.dumps(report) + "\n")
    shutil.rmtree(folder)
    return all(row["right"] for row in report["rows"])


def main(words=None):
    def names(text):
        return text.split(",")

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("zfc")
    parser.add_argument("--device", help="as `zfc query --device` has it")
    parser.add_argument("--repeat", type=int, default=0, help="more runs of each query on a device")
    parser.add_argument("--points", type=names, default=["headline", "density", "zipf"])
    parser.add_argument("--layouts", type=names, default=list(sets_data.LAYOUTS))
    parser.add_argument("--small", action="store_true", help="tens of items, for tests")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--option", action="append", default=[], help="another option of `zfc query`, as --option=--NAME=VALUE")
    parser.add_argument("--json", type=pathlib.Path, help="write the report, after each row")
    options = parser.parse_args(words)
    if unknown := set(options.points) - {"headline", "density", "zipf"} | set(options.layouts) - set(sets_data.LAYOUTS):
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    return not run(options)


if __name__ == "__main__":
    sys.exit(main())
