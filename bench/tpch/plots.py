"""Tables and plots of what queries.py found.

    plots.py QUERIES.json               prints the table, as Markdown
    plots.py QUERIES.json DIRECTORY     writes times.svg, speedups.svg, bounds.svg there, and gains.svg where links were simulated
"""

import json
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import charts  # noqa: E402

COLOURS = {"raw": "#9a9a9a", "nvcomp": "#76b900", "apart": "#c6dbef", "given": "#6baed6", "johnson": "#08519c", "copy bound": "#fdae6b", "decode bound": "#a1d99b",
           "measured": "#000000", "here": "#666666", "pcie3": "#deebf7", "pcie4": "#9ecae1", "pcie5": "#4292c6", "c2c": "#084594"}
LABELS = {"raw": "raw", "nvcomp": "nvCOMP, pipelined", "apart": "zipflow, no overlap", "given": "zipflow, FIFO", "johnson": "zipflow, Johnson"}
NAMES = LABELS | {"here": "simulated, here", "pcie3": "PCIe 3 x16", "pcie4": "PCIe 4 x16", "pcie5": "PCIe 5 x16", "c2c": "NVLink-C2C"}


def rows_of(report):
    return [r for r in report["results"] if "seconds" in r]


def milliseconds(row, method):
    return f"{1e3 * row['seconds'][method]['median']:.2f}" if method in row["seconds"] else ""


def table(report):
    """Milliseconds a query; bounds; how many times sooner than raw copies and than nvCOMP."""
    lines = ["| set | columns | MB raw | ratio | raw | nvCOMP | apart | FIFO | Johnson | small staging | copy bound | decode bound | of raw | of nvCOMP |",
             "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|"]
    for r in rows_of(report):
        beside = r["johnson_beside"]
        cells = [r["set"], str(len(r["columns"])), f"{r['raw_bytes'] / 1e6:.1f}", f"{r['ratio']:.2f}",
                 *(milliseconds(r, m) for m in ("raw", "nvcomp", "apart", "given", "johnson", "small")),
                 f"{1e3 * r['copy_bound']:.2f}" if "copy_bound" in r else "", f"{1e3 * r['decode_bound']:.2f}",
                 *(f"{beside[m]:.2f}" if m in beside else "" for m in ("raw", "nvcomp"))]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def bars(*what):
    return charts.bars(*what, colours=COLOURS, names=NAMES)


def gains(links):
    """FIFO beside Johnson's order: as measured, and by simulation on each link."""
    groups = {row["set"]: {"measured": row["gain_measured"]} for row in links["check"]["sets"]}
    for key, link in links["links"].items():
        for row in link["sets"]:
            groups[row["set"]][key] = row["gain"]
    return bars("How many times sooner Johnson's order is than FIFO: measured here, and by simulation", "times", groups, ["measured", *links["links"]], 1)


def plots(report):
    """{file: text}."""
    rows = [r for r in rows_of(report) if r["set"] != "table2"]
    methods = [m for m in LABELS if any(m in r["seconds"] for r in rows)]
    times = {r["set"]: {m: 1e3 * r["seconds"][m]["median"] for m in methods if m in r["seconds"]} for r in rows}
    base = "raw" if "raw" in methods else "apart"
    speedups = {name: {m: values[base] / values[m] for m in values if m != base} for name, values in times.items()}
    bounds = {r["set"]: {"copy bound": 1e3 * r.get("copy_bound", 0), "decode bound": 1e3 * r["decode_bound"], "johnson": times[r["set"]]["johnson"]} for r in rows}
    found = {"times.svg": bars("Columns of TPC-H's queries, from the host's memory to rows in the device's", "ms", times, methods),
            "speedups.svg": bars(f"The same, how many times sooner than {LABELS[base]}", "times", speedups, [m for m in methods if m != base], 1),
            "bounds.svg": bars("Johnson's order beside what no order can beat", "ms", bounds, ["copy bound", "decode bound", "johnson"])}
    return found | ({"gains.svg": gains(report["links"])} if report.get("links") else {})


def main():
    report = json.loads(pathlib.Path(sys.argv[1]).read_text())
    if len(sys.argv) == 2:
        print(table(report))
        return
    for name, text in plots(report).items():
        (pathlib.Path(sys.argv[2]) / name).write_text(text)


if __name__ == "__main__":
    main()
