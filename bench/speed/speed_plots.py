"""Plots of what speed.py found: SPEED.json DIRECTORY [--png].

The paper's figures 12 to 18 and 22, of those that the report has rows for; `--png` wants resvg_py (`pip install resvg-py`).
"""

import json
import pathlib
import sys

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import cases  # noqa: E402
import charts  # noqa: E402
from rows import fastest, speed  # noqa: E402

NVCOMP = "nvCOMP, fastest"
COLOURS = {NVCOMP: "#76b900", "nvCOMP, smallest": "#76b900", "limit": "#bbbbbb", "Parquet": "#fdae6b", "Parquet, zstd 9": "#d94801", "DuckDB": "#ffd92f"}


def good(report, part, **what):
    return [r for r in report["results"] if r["part"] == part and r.get("verified") and all(r.get(k) == v for k, v in what.items())]


def widths(report):
    points = {"limit": {}, "zipflow": {}, NVCOMP: {}}
    for row in good(report, "bitpack", by="zipflow"):
        bits = int(row["data"].split()[0])
        points["zipflow"][bits] = row["gb_per_second"]
        points["limit"][bits] = row["gb_per_second"] / row["fraction_of_limit"]
        peer = fastest(good(report, "bitpack", by="nvcomp", data=row["data"]), 0.9)
        points[NVCOMP] |= {bits: peer["gb_per_second"]} if peer else {}
    return charts.lines("Bit-packing, i64: width", "GB/s", {k: v for k, v in points.items() if v}, COLOURS) if points["zipflow"] else None


def runs(report, kind):
    groups = {}
    for name in cases.made.RUNS:
        values = {}
        for row in good(report, "rle", data=f"{name}, {kind}", by="zipflow"):
            values["over bitpacks" if row["family"] == "rle over bitpack" else "plain streams"] = 100 * row["fraction_of_limit"]
        peer = fastest(good(report, "rle", data=f"{name}, {kind}", by="nvcomp"))
        values |= {NVCOMP: 100 * peer["fraction_of_limit"]} if peer else {}
        groups |= {name: values} if values else {}
    return charts.bars(f"Runs, {kind}, by their lengths", "% of the limit", groups, ["plain streams", "over bitpacks", NVCOMP], 100, COLOURS) if groups else None


def entropy(report):
    groups = {}
    for name in cases.ENTROPY:
        rows = [r for r in good(report, "ans", data=name) if "volume" not in r]
        values = {r["codec"].split("(")[0]: r["gb_per_second"] for r in rows if r["by"] == "zipflow"}
        peer = fastest([r for r in rows if r["by"] == "nvcomp"], 0)
        groups |= {name: values | ({NVCOMP: peer["gb_per_second"]} if peer else {})} if values else {}
    return charts.bars("Entropy coders: frequencies of bytes", "GB/s", groups, ["tans", "rans", NVCOMP], None, COLOURS) if groups else None


def chunks(report):
    points = {}
    for row in good(report, "ans", by="zipflow", family="chunks"):
        points.setdefault(f"{row['volume'] / (1 << 20):g} MiB", {})[int(row["name"].split()[-2])] = row["gb_per_second"]
    return charts.lines("tans, three symbols: KiB of a chunk, by how much is decoded", "GB/s", points) if points else None


def table2(report, what, title, unit, log=False):
    """`what`: {series: function of a column's rows, or None for what there is not}."""
    groups = {}
    for column in dict.fromkeys(r["data"] for part in ("table2", "ratios") for r in good(report, part)):
        rows = good(report, "table2", data=column) + good(report, "ratios", data=column)
        values = {series: value for series, find in what.items() if (value := find(rows)) is not None}
        groups |= {column.replace(", numbered", " #"): values} if values else {}
    series = [s for s in what if any(s in values for values in groups.values())]
    return charts.bars(title, unit, groups, series, None, COLOURS, log=log) if groups else None


def of_ours(name, value):
    def find(rows):
        names = ("the paper's", "bitpack") if name == "the paper's" else (name,)
        return next((value(r) for r in rows if r["by"] == "zipflow" and r.get("name") in names and value(r)), None)

    return find


def of_peer(by, value):
    return lambda rows: max((value(r) for r in rows if r["by"] == by), default=None)


def column_ratios(report):
    names = dict.fromkeys(r["by"] for r in good(report, "ratios") if r["by"] != "zipflow")

    def ratio(row):
        return row["ratio"]

    what = {"the paper's nest": of_ours("the paper's", ratio), "ours": of_ours("ours", ratio), **{by: of_peer(by, ratio) for by in names},
            "nvCOMP, smallest": of_peer("nvcomp", ratio)}
    return table2(report, what, "Columns of table 2: ratio", "plain by stored bytes", True)


def column_speeds(report):
    if not good(report, "table2"):
        return None

    def measured(row):
        return speed(row) if "gb_per_second" in row else None

    def peer(rows):
        best = fastest([r for r in rows if r["by"] == "nvcomp"])
        return best and speed(best)

    return table2(report, {"the paper's nest": of_ours("the paper's", measured), "ours": of_ours("ours", measured), NVCOMP: peer},
                  "Columns of table 2: decoding", "GB/s")


def fusion(report):
    groups = {f"{r['name']} ({r['data']})": {"measured": r["speedup"], "by the bytes": r["predicted"], "in the paper": r["paper"], "wanted": r["speedup_at_least"]}
              for r in good(report, "fusion")}
    return charts.bars("Fused beside a kernel a stage", "times as fast", groups, ["measured", "by the bytes", "in the paper", "wanted"], 1) if groups else None


def configurations(report):
    groups = {}
    for row in good(report, "configurations"):
        groups.setdefault(row["name"], {})[row["configuration"]] = 100 * row["normalised"]
    names = list(dict.fromkeys(c for values in groups.values() for c in values))
    return charts.bars("Configurations", f"% of {names[0]}", groups, names, 100) if groups else None


def plots(report):
    """{file: SVG} of what the report has."""
    found = {"bitpack.svg": widths(report), "rle-u32.svg": runs(report, "u32"), "rle-u64.svg": runs(report, "u64"), "ans.svg": entropy(report),
             "chunks.svg": chunks(report), "ratios.svg": column_ratios(report), "table2.svg": column_speeds(report), "fusion.svg": fusion(report),
             "configurations.svg": configurations(report)}
    return {name: text for name, text in found.items() if text}


def main():
    words = [w for w in sys.argv[1:] if w != "--png"]
    if len(words) != 2 or words[0].startswith("-"):
        sys.exit(__doc__)
    try:
        report = json.loads(pathlib.Path(words[0]).read_text())
    except (OSError, ValueError) as why:
        sys.exit(f"speed_plots.py: {words[0]} is no report of speed.py: {why}")
    directory = pathlib.Path(words[1])
    directory.mkdir(parents=True, exist_ok=True)
    charts.write(directory, plots(report), "--png" in sys.argv)


if __name__ == "__main__":
    main()
