"""An include guard follows from the path of its header: ZF_ROOM_NAME_H, where ROOM is the first folder and NAME the file; ZIPFLOW_NAME_H in
a folder zipflow/, whose headers are public; NAME_H in examples/, whose code is an application's. The line after the guard defines it.
Usage: guards.py ROOT [few | --write]; --write renames the guards."""

import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1])
ROOMS = "scheduler runtime emulator frontend patterns codegen compiler measure tuner zfc python tests bench examples".split()
GUARD = re.compile(r"^#ifndef (\w+)\n#define (\w+)\n", re.M)


def expected(path):
    name = path.stem.upper() + "_H"
    if path.parent.name == "zipflow":
        return "ZIPFLOW_" + name
    return name if path.parts[0] == "examples" else f"ZF_{path.parts[0].upper()}_{name}"


seen, bad = 0, []
for header in (header for room in ROOMS for header in sorted((ROOT / room).rglob("*.h"))):
    path, text = header.relative_to(ROOT), header.read_text()
    guard, wanted = GUARD.search(text), expected(path)
    seen += 1
    if guard and guard.group(1) == guard.group(2) == wanted:
        continue
    if guard and guard.group(1) == guard.group(2) and "--write" in sys.argv:
        header.write_text(re.sub(rf"\b{guard.group(1)}\b", wanted, text))
    else:
        bad.append(f"{path}: the guard must be {wanted}" + (f", not {guard.group(1)}" if guard else "; there is none"))
if seen < 200 and "few" not in sys.argv:
    bad.append(f"only {seen} headers were seen")
print(*bad, f"{seen} headers", sep="\n")
sys.exit(bool(bad))
