#!/usr/bin/env python3
"""The examples of docs/errors.md: what is called wrong gives the error it stands under, what is called right is right.

Usage: error_examples.py ZFC ROOT
"""

import pathlib
import re
import subprocess
import sys
import tempfile

LEAST = 30


def check(zfc, root, directory, text):
    path = pathlib.Path(directory) / "example.zf"
    path.write_text(text)
    done = subprocess.run([zfc, "check", "--format", "line", path], capture_output=True, text=True, timeout=60,
                          env={"ZIPFLOW_STD": str(root / "dsl/std")})
    return done.returncode, done.stdout + done.stderr


def main():
    zfc, root = sys.argv[1], pathlib.Path(sys.argv[2])
    page = (root / "docs/errors.md").read_text()
    sections = re.split(r"^#### (ZF\d{4}): (.*)$", page, flags=re.M)[1:]
    seen, failures = 0, []
    with tempfile.TemporaryDirectory() as directory:
        for code, title, body in zip(sections[0::3], sections[1::3], sections[2::3]):
            if f"| {code} | {title} |" not in page:
                failures.append(f"{code}: the table says something else than \"{title}\"")
            blocks = re.findall(r"^```zf\n// (wrong|right)\n(.*?)^```$", body.split("\n## ")[0], re.M | re.S)
            for kind, text in blocks:
                seen += 1
                status, output = check(zfc, root, directory, text)
                errors = re.findall(r": error\[(ZF\d{4})\]", output)
                if kind == "wrong" and (status != 1 or set(errors) != {code}):
                    failures.append(f"{code}: the wrong example gives {errors}\n{output}")
                if kind == "right" and (status != 0 or "warning[" in output):
                    failures.append(f"{code}: the right example is not right\n{output}")
            if [kind for kind, _ in blocks] not in (["wrong", "right"], []):
                failures.append(f"{code}: one wrong and one right example")
    if seen < 2 * LEAST:
        failures.append(f"only {seen} examples")
    print("\n".join(failures) or f"{seen} examples")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
