"""Every folder of a room has a README.md, which names each source file of the folder: by its name without the ending, as a word, or by a
pattern with a star in backticks (`verb_*.c`). Other folders may have one, with the same duty. No folder has more sources than a reader sees at once, and no two
files have one name, so that a name alone says which file is meant.

Usage: named.py ROOT
"""

import fnmatch
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1])
TREES = ("bench", "cmake", "codegen", "compiler", "dsl", "emulator", "examples", "frontend", "measure", "patterns", "python", "runtime", "scheduler", "script",
         "tests", "tuner", "zfc")
ENDINGS = {"", ".c", ".h", ".l", ".y", ".def", ".py", ".sh", ".zf", ".cmake", ".map", ".in"}

ROOMS = ("scheduler", "runtime", "emulator", "frontend", "patterns", "codegen", "compiler", "measure", "tuner", "zfc")
MOST = 48  # sources of a folder
KEPT = "bench/peers/programs"  # as others named them, also where the library has a file of that name
SHARED = {"README.md", "CMakeLists.txt"}

seen, missing = 0, []
folders = {}
for path in (path for tree in TREES for path in (ROOT / tree).rglob("*") if path.suffix in ENDINGS and path.is_file()):
    folders.setdefault(path.parent, []).append(path)
for folder, sources in sorted(folders.items()):
    place = folder.relative_to(ROOT)
    if place.parts[0] in ROOMS and "include" not in place.parts and not (folder / "README.md").is_file():
        missing.append(f"{place} has no README.md")
    if len([path for path in sources if path.suffix != ".zf"]) > MOST:
        missing.append(f"{place} has {len(sources)} sources: at most {MOST}")
names = {}
for path in (path for tree in (*TREES, "docs") for path in (ROOT / tree).rglob("*") if path.suffix in ENDINGS | {".md"} and path.is_file() and path.parent != ROOT / KEPT):
    names.setdefault(path.name, []).append(path.relative_to(ROOT))
missing += [f"{len(same)} files are called {name}: {' '.join(map(str, sorted(same)))}" for name, same in sorted(names.items())
            if len(same) > 1 and name not in SHARED]
for tree in TREES:
    for page in sorted((ROOT / tree).rglob("README.md")):
        text = page.read_text()
        words = set(re.findall(r"[\w-]+", text))
        patterns = [span for span in re.findall(r"`([^`\s]+)`", text) if "*" in span]
        for path in sorted(page.parent.iterdir()):
            if path.suffix not in ENDINGS or not path.is_file():
                continue
            seen += 1
            if path.name.split(".")[0] not in words and not any(fnmatch.fnmatch(path.name, pattern) for pattern in patterns):
                missing.append(f"{page.relative_to(ROOT)} does not name {path.name}")
print("\n".join(missing + [f"{seen} files, {len(missing)} not named"]))
sys.exit(bool(missing) or seen < 400)
