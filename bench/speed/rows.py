"""Rows of a record of speed.py, as tables and plots take them."""

import math

WHY_AT_MOST = 60  # characters of a reason that a table has room for


def speed(row):
    """GB/s; of strings that of the characters alone."""
    return row.get("characters_gb_per_second") or row["gb_per_second"]


def fastest(rows, least=1.05):
    """The row that decodes fastest, of those that were measured and compress by `least`; None: there is none."""
    return max((r for r in good(rows) if r["ratio"] > least), key=speed, default=None)


def by(rows, who):
    return [r for r in rows if r["by"] == who]


def geometric_mean(values):
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def good(rows):
    return [r for r in rows if r.get("verified")]


def bad(rows):
    return [r for r in rows if not r.get("verified")]


def failure(row):
    """The failure of a row and its reason, as short as a cell."""
    why = " ".join((row.get("message") or "not measured").split()).replace("|", "/").replace("`", "'")
    return "failed: " + (why if len(why) <= WHY_AT_MOST else why[:WHY_AT_MOST].rstrip() + "...")


def failed_cells(width, row, *leading):
    """A line of a table: what the row is, and that it failed."""
    return [*leading, failure(row), *[""] * (width - len(leading) - 1)]


def counted(measured, failed, what=""):
    """The number of rows in a mean."""
    return f"of {measured}{what} measured" + (f", {failed} failed" if failed else "")
