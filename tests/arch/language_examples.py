#!/usr/bin/env python3
"""Every example of docs/language.md is a program that `zfc check` takes; a warning is allowed only where one says "not lowered yet".

Usage: language_examples.py ZFC ROOT
"""

import pathlib
import re
import subprocess
import sys
import tempfile

LEAST = 10


def main():
    zfc, root = sys.argv[1], pathlib.Path(sys.argv[2])
    page = (root / "docs/language.md").read_text()
    blocks = re.findall(r"^```zf\n(.*?)^```$", page, re.M | re.S)
    failures = [] if len(blocks) >= LEAST else [f"only {len(blocks)} examples"]
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory) / "example.zf"
        for text in blocks:
            path.write_text(text)
            done = subprocess.run([zfc, "check", "--format", "line", path], capture_output=True, text=True, timeout=60,
                                  env={"ZIPFLOW_STD": str(root / "dsl/std")})
            output = done.stdout + done.stderr
            codes = set(re.findall(r"\[(ZF\d{4})\]", output))
            if done.returncode != 0 or codes - {"ZF0804"}:
                failures.append(f"{text.splitlines()[0]} ...\n{output}")
    print("\n".join(failures) or f"{len(blocks)} examples")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
