#!/usr/bin/env python3
"""Every code of frontend/diag/diag_codes.def is expected by a test: a program of tests/lang, or a unit test that names it.

Usage: diag_coverage.py ROOT
"""

import pathlib
import re
import sys

# Codes that no test can reach, and why. A code that a test does reach does not belong here.
UNREACHABLE = {
    801: "shared memory is of targets that this version does not have",
    899: "a fault of the compiler: a program that reaches it is a bug to be fixed",
}

EXPECTED = re.compile(r"(?:ERROR|WARNING|NOTE)(?:@[-+]\d+)?\(ZF(\d{4})\):")
NAMED = re.compile(r'"[^"\n]*\bZF(\d{4})\b|\bZF_D_([A-Z0-9_]+)\b')


def codes_of(table):
    return {name: int(number) for number, name in re.findall(r"^X\((\d+), (\w+), ", table, re.M)}


def covered(codes, programs, sources):
    """The codes that the texts of tests expect."""
    found = {int(code) for text in programs for code in EXPECTED.findall(text)}
    for text in sources:
        for code, name in NAMED.findall(text):
            if code:
                found.add(int(code))
            elif name in codes:
                found.add(codes[name])
    return found


def complaints(codes, found, unreachable):
    for name, code in sorted(codes.items(), key=lambda item: item[1]):
        if code not in found and code not in unreachable:
            yield f"ZF{code:04} ({name}) is expected by no test: write one in tests/lang/errors, or in tests/unit"
        if code in found and code in unreachable:
            yield f"ZF{code:04} ({name}) is tested, so it is not unreachable"
    for code in unreachable:
        if code not in codes.values():
            yield f"ZF{code:04} is no code"


def check_itself():
    codes = codes_of('X(101, A, "a")\nX(102, B, "b")\nX(103, C, "c")\n')
    found = covered(codes, ["x // ERROR@-1(ZF0101): text\n// ZF0103"], ["CHECK(code == ZF_D_B)"])
    assert found == {101, 102}, found
    assert len(list(complaints(codes, found, {}))) == 1
    assert len(list(complaints(codes, found, {103: "why", 101: "why", 7: "why"}))) == 2


def read(paths):
    return [path.read_text(encoding="utf-8", errors="replace") for path in paths]


def main():
    check_itself()
    root = pathlib.Path(sys.argv[1])
    codes = codes_of((root / "frontend/diag/diag_codes.def").read_text())
    assert len(codes) > 50, "hardly any codes were seen"
    programs = read(root.glob("tests/lang/**/*.zf"))
    sources = read([*root.glob("tests/unit/*/*.c"), *root.glob("tests/cli/**/*.py")])
    found = list(complaints(codes, covered(codes, programs, sources), UNREACHABLE))
    print("\n".join(found) or f"{len(codes)} codes, {len(UNREACHABLE)} of them out of reach")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
