"""Charts as SVG, and as PNG where resvg_py is installed: grouped bars, and lines."""

import math
import sys

sys.dont_write_bytecode = True
WIDTH, HEIGHT, LEFT, TOP, BOTTOM, LETTER = 1100, 320, 60, 40, 40, 6.5
FRESH = ("#08519c", "#6baed6", "#76b900", "#fdae6b", "#9a9a9a", "#a1d99b", "#756bb1")  # for series that have no colour of their own


def escaped(text):
    return str(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def nice(most):
    """A round step of which five to ten or so make `most`."""
    ten = 10.0 ** math.floor(math.log10(most))
    return next(step for step in (ten / 10, ten / 5, ten / 2, ten) if most / step <= 10)


class Chart:
    """The frame of all charts: a title, an axis of values to the left, a legend. `log`: values from 1 on, by powers of ten."""

    def __init__(self, title, unit, most, labels, log=False):
        self.most, self.log, self.room = max(most, 1e-9), log, HEIGHT - TOP - BOTTOM
        self.slanted = max([len(str(text)) for text in labels] + [0]) * LETTER > (WIDTH - LEFT - 10) / max(1, len(labels))
        height = HEIGHT + (60 if self.slanted else 0)
        self.out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" font-family="DejaVu Sans, Arial, sans-serif" font-size="11">',
                    f'<rect width="{WIDTH}" height="{height}" fill="white"/><text x="{LEFT}" y="16" font-size="13">{escaped(title)}</text>']
        step = nice(self.most)
        marks = [10 ** k for k in range(int(math.log10(max(self.most, 10))) + 1)] if log else [k * step for k in range(int(1.05 * self.most / step) + 1)]
        for value in marks:
            self.across(value, "#dddddd")
            self.out.append(f'<text x="{LEFT - 6}" y="{self.y(value) + 4:.1f}" text-anchor="end">{value:g}</text>')
        middle = TOP + self.room / 2
        self.out.append(f'<text x="14" y="{middle:.0f}" transform="rotate(-90 14 {middle:.0f})" text-anchor="middle">{escaped(unit)}</text>')

    def y(self, value):
        part = math.log10(max(value, 1)) / math.log10(1.3 * max(self.most, 10)) if self.log else value / (1.05 * self.most)
        return TOP + self.room * (1 - part)

    def across(self, value, colour):
        self.out.append(f'<line x1="{LEFT}" y1="{self.y(value):.1f}" x2="{WIDTH - 10}" y2="{self.y(value):.1f}" stroke="{colour}"/>')

    def below(self, x, text):
        y = HEIGHT - BOTTOM + 16
        how = f'text-anchor="end" transform="rotate(-35 {x:.1f} {y})"' if self.slanted else 'text-anchor="middle"'
        self.out.append(f'<text x="{x:.1f}" y="{y}" {how}>{escaped(text)}</text>')

    def svg(self, legend):
        wide = min(150, (WIDTH - LEFT) // max(1, len(legend)))
        for k, (name, colour) in enumerate(legend):
            self.out.append(f'<rect x="{LEFT + wide * k}" y="24" width="10" height="10" fill="{colour}"/>'
                            f'<text x="{LEFT + 14 + wide * k}" y="33">{escaped(name)}</text>')
        return "\n".join(self.out) + "\n</svg>\n"


def coloured(series, colours):
    return {one: (colours or {}).get(one) or FRESH[k % len(FRESH)] for k, one in enumerate(series)}


def bars(title, unit, groups, series, line=None, colours=None, names=None, log=False):
    """Grouped bars: {group: {series: value}}. `line` marks a value."""
    chart = Chart(title, unit, max([v for values in groups.values() for v in values.values()] + [line or 0]), list(groups), log)
    colour, names = coloured(series, colours), names or {}
    x_of = (WIDTH - LEFT - 10) / max(1, len(groups))
    for g, (name, values) in enumerate(groups.items()):
        wide = 0.8 * x_of / len(series)
        for k, one in enumerate(series):
            if one in values:
                x, y = LEFT + x_of * (g + 0.1) + k * wide, chart.y(values[one])
                chart.out.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{TOP + chart.room - y:.1f}" fill="{colour[one]}">'
                                 f"<title>{escaped(name)}, {escaped(names.get(one, one))}: {values[one]:.4g}</title></rect>")
        chart.below(LEFT + x_of * (g + 0.5), name)
    if line is not None:
        chart.across(line, "black")
    return chart.svg([(names.get(one, one), colour[one]) for one in series])


def lines(title, unit, points, colours=None):
    """{series: {x: value}}; the xs stand side by side in their order, as far from each other as all others."""
    xs = sorted({x for values in points.values() for x in values})
    every = -(-len(xs) // 40)
    chart = Chart(title, unit, max([v for values in points.values() for v in values.values()] + [0]), xs[::every])
    colour, wide = coloured(points, colours), (WIDTH - LEFT - 10) / max(1, len(xs))
    place = {x: LEFT + wide * (k + 0.5) for k, x in enumerate(xs)}
    for name, values in points.items():
        at = [(place[x], chart.y(values[x]), x, values[x]) for x in xs if x in values]
        chart.out.append(f'<polyline fill="none" stroke="{colour[name]}" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y, *_ in at)}"/>')
        chart.out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{colour[name]}"><title>{escaped(name)}, {escaped(key)}: {value:.4g}</title></circle>'
                      for x, y, key, value in at]
    for x in xs[::every]:
        chart.below(place[x], x)
    return chart.svg(list(colour.items()))


def write(directory, plots, png=False):
    """Writes {file: SVG}; with `png` also PNG, twice as large."""
    for name, text in plots.items():
        (directory / name).write_text(text)
        if png:
            import resvg_py

            (directory / name).with_suffix(".png").write_bytes(bytes(resvg_py.svg_to_bytes(svg_string=text, zoom=2)))
