"""Tables and plots of what queries.py found.

    plots.py QUERIES.json               prints the table, as Markdown
    plots.py QUERIES.json DIRECTORY     writes times.svg, speedups.svg, bounds.svg there, and gains.svg where links were simulated
"""

import json
import math
import pathlib
import sys

COLOURS = {"raw": "#9a9a9a", "nvcomp": "#76b900", "apart": "#c6dbef", "given": "#6baed6", "johnson": "#08519c", "copy bound": "#fdae6b", "decode bound": "#a1d99b",
           "measured": "#000000", "here": "#666666", "pcie3": "#deebf7", "pcie4": "#9ecae1", "pcie5": "#4292c6", "c2c": "#084594"}
LABELS = {"raw": "raw", "nvcomp": "nvCOMP, pipelined", "apart": "zipflow, no overlap", "given": "zipflow, FIFO", "johnson": "zipflow, Johnson"}
NAMES = LABELS | {"here": "simulated, here", "pcie3": "PCIe 3 x16", "pcie4": "PCIe 4 x16", "pcie5": "PCIe 5 x16", "c2c": "NVLink-C2C"}
WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 1100, 320, 60, 40, 40


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


def nice(most):
    """A round step of which five to ten or so make `most`."""
    ten = 10.0 ** math.floor(math.log10(most))
    return next(step for step in (ten / 10, ten / 5, ten / 2, ten) if most / step <= 10)


def bars(title, unit, groups, series, line=None):
    """Grouped bars: {group: {series: value}}. `line` marks a value."""
    most = max([v for values in groups.values() for v in values.values()] + [line or 0, 1e-9])
    step, room = nice(most), HEIGHT - TOP - BOTTOM
    x_of = (WIDTH - LEFT - 10) / max(1, len(groups))

    def y_of(value):
        return TOP + room * (1 - value / (1.05 * most))

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" font-size="11">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/><text x="{LEFT}" y="16" font-size="13">{title}</text>']
    for k in range(int(1.05 * most / step) + 1):
        y = y_of(k * step)
        out.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - 10}" y2="{y:.1f}" stroke="#dddddd"/>'
                   f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{k * step:g}</text>')
    out.append(f'<text x="14" y="{TOP + room / 2:.0f}" transform="rotate(-90 14 {TOP + room / 2:.0f})" text-anchor="middle">{unit}</text>')
    for g, (name, values) in enumerate(groups.items()):
        wide = 0.8 * x_of / len(series)
        for k, one in enumerate(series):
            if one in values:
                x, y = LEFT + x_of * (g + 0.1) + k * wide, y_of(values[one])
                out.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{TOP + room - y:.1f}" fill="{COLOURS[one]}">'
                           f"<title>{name}, {NAMES.get(one, one)}: {values[one]:.4g}</title></rect>")
        out.append(f'<text x="{LEFT + x_of * (g + 0.5):.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{name}</text>')
    if line is not None:
        out.append(f'<line x1="{LEFT}" y1="{y_of(line):.1f}" x2="{WIDTH - 10}" y2="{y_of(line):.1f}" stroke="black"/>')
    for k, one in enumerate(series):
        out.append(f'<rect x="{LEFT + 150 * k}" y="24" width="10" height="10" fill="{COLOURS[one]}"/>'
                   f'<text x="{LEFT + 14 + 150 * k}" y="33">{NAMES.get(one, one)}</text>')
    return "\n".join(out) + "\n</svg>\n"


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
