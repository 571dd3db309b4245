"""The functions of the runtime that the compiler calls (extension/library.def), from what a build made of both.

Usage: bridge.py BUILD [--write]     (without --write: compares, and says what differs)
"""

import pathlib
import re
import subprocess
import sys

DEF = pathlib.Path(__file__).parents[1] / "extension/library.def"
COMPILER = ("command", "tuner", "measure", "search", "emu", "compiler", "codegen", "patterns", "frontend", "base")  # with these alone python-compile is linked
RUNTIME = ("runtime", "order", "base")


def symbols(files, *options):
    out = subprocess.run(["nm", "-P", *options, *files], capture_output=True, text=True, check=True).stdout
    return {line.split()[0] for line in out.splitlines() if line.startswith("zf_")}


def called(build):
    """Names of functions that the compiler's side calls and only the runtime's has."""
    own = [build / f"lib/libzipflow-{part}.a" for part in COMPILER]
    own += (build / "python/CMakeFiles/python-compile.dir/extension").glob("*.o")
    own = [file for file in own if not file.name.startswith("library_stubs")]
    there = symbols([build / f"lib/libzipflow-{part}.a" for part in RUNTIME], "--defined-only", "--extern-only")
    return sorted((symbols(own, "--undefined-only") - symbols(own, "--defined-only", "--extern-only")) & there)


def main():
    wanted, text = called(pathlib.Path(sys.argv[1])), DEF.read_text()
    if len(wanted) < 20:
        sys.exit(f"only {len(wanted)} functions were seen: build everything first")
    comment = "".join(line for line in text.splitlines(True) if line.startswith("//"))
    if "--write" in sys.argv:
        DEF.write_text(comment + "".join(f"ZF_BRIDGE({name})\n" for name in wanted))
        return
    has = re.findall(r"^ZF_BRIDGE\((\w+)\)$", text, re.M)
    for name in sorted(set(has) ^ set(wanted)):
        print(f"{name} is {'called by nothing' if name in has else 'missing'} in python/extension/library.def")
    if has != wanted:
        sys.exit("run python/packaging/bridge.py BUILD --write")
    print(f"{len(has)} functions")


if __name__ == "__main__":
    main()
