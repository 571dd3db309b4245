#!/usr/bin/env python3
"""docs/tutorial.md does what it says: its programs are written, its commands run in order, and print what stands there.

A block "```zf NAME" is a file. Of a block "```console" every line "$ ..." is a command (with the next line, where it ends in a backslash),
and what follows is its output, standard error included. "```console explain: graph kernels" shows only these parts of what `explain` prints. Paths of
the library are shown from the source's root. With --write the page gets the outputs of this version.

Usage: tutorial.py ZFC ROOT [--write]
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

LEAST = 12  # commands that print something


def sections(text, wanted):
    """The parts of explain's report that begin with these words; "..." where something is left out."""
    parts, out = text.split("\n\n"), []
    for part in parts:
        name = part.split(" ", 1)[0].rstrip(":")
        if name in wanted or part is parts[0]:
            out.append(part)
        elif not out or out[-1] != "...":
            out.append("...")
    return "\n\n".join(out).rstrip("\n") + "\n"


def commands_of(block):
    """Commands of a block, each with all its lines: one goes on while its lines end in a backslash."""
    return re.findall(r"^\$ (?:.*\\\n)*.*$", block, re.M)


def shown(command, parts, directory, environment, root):
    done = subprocess.run(["sh", "-c", command.replace("$ ", "", 1)], cwd=directory, env=environment, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=120)
    text = done.stdout.replace(f"{root}/", "")
    return sections(text, parts) if parts else text


def main():
    zfc, root = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    path = root / "docs/tutorial.md"
    page, printed = path.read_text(), 0
    environment = {**os.environ, "PATH": f"{zfc.parent}:{os.environ['PATH']}", "ZIPFLOW_STD": str(root / "dsl/std"), "LC_ALL": "C"}
    with tempfile.TemporaryDirectory() as directory:
        environment["XDG_CACHE_HOME"] = directory

        def renewed(found):
            nonlocal printed
            kind, block = found[1], found[2]
            if kind.startswith("zf ") and kind != "zf run":
                (pathlib.Path(directory) / kind[3:]).write_text(block)
            if not kind.startswith("console"):
                return found[0]
            parts = kind.partition("explain: ")[2].split()
            out = ""
            for command in commands_of(block):
                text = shown(command, parts, directory, environment, root)
                printed += bool(text)
                out += command + "\n" + text + ("" if text.endswith("\n") or not text else "\n")
            return f"```{kind}\n{out}```"

        new = re.sub(r"^```([^\n]+)\n(.*?)^```$", renewed, page, flags=re.M | re.S)
    if "--write" in sys.argv:
        path.write_text(new)
        return 0
    if new != page:
        (old, now) = next((pair for pair in zip(page.splitlines(), new.splitlines()) if pair[0] != pair[1]), ("its end", "more, or less"))
        print(f"docs/tutorial.md says\n  {old}\nand this version prints\n  {now}\nif that is meant: python3 tests/arch/tutorial.py "
              f"{os.path.relpath(zfc, root)} . --write")
        return 1
    if printed < LEAST:
        print(f"only {printed} commands print anything")
        return 1
    print(f"{printed} outputs are as they stand")
    return 0


if __name__ == "__main__":
    sys.exit(main())
