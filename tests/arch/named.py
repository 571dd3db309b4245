"""Every source file of a directory with a README.md is named in it: by its name without the ending, as a word, or by a pattern with
a star in backticks (`verb_*.c`).

Usage: named.py ROOT
"""

import fnmatch
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1])
TREES = ("bench", "cmake", "codegen", "compiler", "dsl", "emulator", "examples", "frontend", "measure", "patterns", "runtime", "scheduler", "script",
         "tests", "tuner", "zfc")
ENDINGS = {".c", ".h", ".l", ".y", ".def", ".py", ".sh", ".zf", ".cmake", ".map", ".in"}

seen, missing = 0, []
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
