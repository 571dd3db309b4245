"""Writes a record as text that fits a repository: floats of nine significant digits, one line for each result.

    record_text.py RECORD...    rewrites records in place
"""

import json
import pathlib
import sys

MOST = 300_000  # bytes of a record


def rounded(value):
    """The same value; floats keep nine significant digits."""
    if isinstance(value, float):
        return float(f"{value:.9g}")
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    return [rounded(item) for item in value] if isinstance(value, list) else value


def text(record):
    """JSON with a line for each key, and for each element of a list of objects."""
    def line(value):
        return json.dumps(value, separators=(",", ":"))

    lines = []
    for key, value in rounded(record).items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            lines.append(f" {line(key)}: [\n  " + ",\n  ".join(map(line, value)) + "\n ]")
        else:
            lines.append(f" {line(key)}: {line(value)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    for name in sys.argv[1:]:
        path = pathlib.Path(name)
        path.write_text(text(json.loads(path.read_text())))
