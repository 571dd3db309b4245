#!/usr/bin/env python3
"""Every example of docs/language.md is a program that `zfc check` takes; a warning is allowed only where one says "not lowered yet".

Usage: language_examples.py ZFC ROOT
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

LEAST = 10
# What the example with this algorithm must encode, and to how much of its plain size at most: words alone do not show that it works.
DATA = {"scaled": ("t", "price", [str(cents // 100) + "." + str(cents % 100).zfill(2) for cents in range(10000)], 0.25)}


def compress(zfc, path, environment, table, column, values, most):
    """What is wrong with the example in `path` when it encodes these values; empty when nothing is."""
    source, out = path.with_name("data.csv"), path.with_name("data.zfd")
    source.write_text("\n".join([column, *values]) + "\n")
    words = [zfc, "encode", "--json", "-f", "-c", f"{path}:{table}", "-o", out, source]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, env=environment)
    if done.returncode != 0:
        return done.stderr
    size = json.loads(done.stdout)["columns"][0]
    if size["stored_bytes"] > most * size["plain_bytes"]:
        return f"{path.name}: {size['plain_bytes']} bytes became {size['stored_bytes']}\n"
    done = subprocess.run([zfc, "verify", "-q", out], capture_output=True, text=True, timeout=60, env=environment)
    return done.stderr


def main():
    zfc, root = sys.argv[1], pathlib.Path(sys.argv[2])
    page = (root / "docs/language.md").read_text()
    blocks = re.findall(r"^```zf\n(.*?)^```$", page, re.M | re.S)
    failures = [] if len(blocks) >= LEAST else [f"only {len(blocks)} examples"]
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory) / "example.zf"
        environment = {"ZIPFLOW_STD": str(root / "dsl/std"), "XDG_CACHE_HOME": directory}
        unused = set(DATA)
        for text in blocks:
            path.write_text(text)
            done = subprocess.run([zfc, "check", "--format", "line", path], capture_output=True, text=True, timeout=60,
                                  env=environment)
            output = done.stdout + done.stderr
            codes = set(re.findall(r"\[(ZF\d{4})\]", output))
            if done.returncode != 0 or codes - {"ZF0804"}:
                failures.append(f"{text.splitlines()[0]} ...\n{output}")
            for name in [name for name in unused if f"algorithm {name}(" in text]:
                unused.remove(name)
                failures += filter(None, [compress(zfc, path, environment, *DATA[name])])
        failures += [f"no example has the algorithm {name}" for name in unused]
    print("\n".join(failures) or f"{len(blocks)} examples")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
