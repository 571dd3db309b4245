"""Every row of a table in any page has as many cells as its head.

Usage: table_cells.py ROOT
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1])
TREES = ("bench", "cmake", "codegen", "docs", "dsl", "examples", "frontend", "patterns", "runtime", "scheduler", "script", "tests")


def cells(line):
    code = re.sub(r"`[^`]*`", "", line)
    return len(re.findall(r"(?<!\\)\|", code)) - 1


rows, faults = 0, []
pages = [page for tree in TREES for page in sorted((ROOT / tree).rglob("*.md"))] + sorted(ROOT.glob("*.md"))
for page in pages:
    head, code = None, False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        code ^= line.lstrip().startswith("```")
        if code or not line.startswith("|"):
            head = None
            continue
        rows += 1
        head = head or cells(line)
        if cells(line) != head:
            faults.append(f"{page.relative_to(ROOT)}:{number}: a row of {cells(line)} cells in a table of {head}")
print("\n".join(faults + [f"{rows} rows of tables, {len(faults)} faults"]))
sys.exit(bool(faults) or rows < 800)
