"""Rows of a record of speed.py, as tables and plots take them."""

import math


def speed(row):
    """GB/s; of strings that of the characters alone."""
    return row.get("characters_gb_per_second") or row["gb_per_second"]


def fastest(rows, least=1.05):
    """The row that decodes fastest, of those that compress by `least`; None: there is none."""
    return max((r for r in rows if r["ratio"] > least), key=speed, default=None)


def by(rows, who):
    return [r for r in rows if r["by"] == who]


def geometric_mean(values):
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None
