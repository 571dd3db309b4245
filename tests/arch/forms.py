"""The table of forms in docs/gpu.md, between `<!-- table: forms -->` and `<!-- end -->`, is that of codegen/simt/forms/forms.def.

Usage: forms.py ROOT [--write]
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1])
ROW = re.compile(r'^ZF_FORM\((\w+),\s*(\w+),\s*\w+,\s*(true|false),\s*"([^"]*)",\s*"([^"]*)",\s*"([^"]*)"\)', re.M)
BLOCK = re.compile(r"(<!-- table: forms -->\n)(.*?)(<!-- end -->\n)", re.S)

rows = ROW.findall((ROOT / "codegen/simt/forms/forms.def").read_text())
table = "\n| form | runs | who makes a tile | typical codecs |\n|---|---|---|---|\n"
table += "".join(f"| {name} | {use} | {tile} | {codecs} |\n" for _, name, _, use, tile, codecs in rows) + "\n"

page = ROOT / "docs/gpu.md"
text = page.read_text()
found = BLOCK.search(text)
if found is None:
    sys.exit(f"{page.name} has no block `<!-- table: forms -->`")
if "--write" in sys.argv:
    page.write_text(BLOCK.sub(lambda m: m[1] + table + m[3], text))
elif found[2] != table:
    sys.exit(f"{page.name} has another table of forms than forms.def: python3 tests/arch/forms.py . --write")
print(f"{len(rows)} forms")
sys.exit(len(rows) < 9)
