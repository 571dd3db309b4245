#!/usr/bin/env python3
"""The tables of primitives in docs/language.md are what frontend/check/primitives.def says, and each primitive has its tests.

Usage: primitives.py ROOT [--write]
"""

import pathlib
import re
import sys

ROW = re.compile(r'^ZF_(PRIMITIVE|CALL)\((?:(\w+), )?(\w+), "([^"]*)", .*, "((?:[^"\\]|\\.)*)"\)$', re.M)
HEAD = "| primitive | value |\n|---|---|\n"
TESTS = ("tests/interp/test_values.c", "tests/unit/codegen/test_cg_expr.c") # what the interpreter makes of it, and the compiled code


def main():
    root = pathlib.Path(sys.argv[1])
    table = (root / "frontend/check/primitives.def").read_text()
    rows = ROW.findall(table)
    faults = []
    if len(rows) != len(re.findall(r"^ZF_(?:PRIMITIVE|CALL)\((?!id|name)", table, re.M)) or len(rows) < 18:
        faults.append(f"primitives.def: only {len(rows)} rows can be read")
    made = HEAD + "".join(f"| `{name}({parameters})` | {meaning} |\n" for _, _, name, parameters, meaning in rows)
    path = root / "docs/language.md"
    page = path.read_text()
    found = re.search(re.escape(HEAD) + r"(?:\|.*\n)*", page)
    if not found:
        faults.append("docs/language.md: no table of primitives")
    elif found.group() != made and sys.argv[2:] == ["--write"]:
        path.write_text(page[:found.start()] + made + page[found.end():])
    elif found.group() != made:
        faults.append("docs/language.md differs from primitives.def: python3 tests/arch/primitives.py . --write")
    for test in TESTS:
        text = (root / test).read_text()
        faults += [f"{test}: no test of {name}" for _, identifier, name, _, _ in rows if identifier and f"ZF_P_{identifier}" not in text]
    print("\n".join(faults) or f"{len(rows)} primitives")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
