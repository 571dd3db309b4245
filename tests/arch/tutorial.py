#!/usr/bin/env python3
"""The pages below do what they say: their programs are written, their commands run in order, and print the output that the page shows.

A block "```zf NAME" is a file. In a block "```console" every line "$ ..." is a command (with the next line, where it ends in a backslash).
The lines after it are its output, standard error included. "```console explain: graph kernels" shows only these parts of the output of
`explain`. "```console fails" shows an error; elsewhere an output with "error[" is one of the page. Paths of the library are shown from
the source's root. --write renews the outputs of the pages.

A block "```c NAME" is a file, too. Its page is skipped where the shared libraries are missing or have sanitizers, which a plain program cannot load.

Usage: tutorial.py ZFC ROOT [--write]
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

PAGES = {  # and how many commands of each print something, at least
    "README.md": 3, "docs/start.md": 12, "docs/start-c.md": 3, "docs/choosing.md": 3, "docs/codec.md": 10, "docs/api-c.md": 10, "docs/pipeline.md": 0,
    "docs/types.md": 1,
}


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


def library_of(zfc):
    """The directory of the shared libraries beside zfc; None where there are none that a plain program can load."""
    library = zfc.parent.parent / "lib/libzipflow.so"
    return library.parent if library.exists() and b"__asan_init" not in library.read_bytes() else None


def describe_libraries(directory, zfc, root, environment):
    """Lets pkg-config find the libraries of the build, and C programs a header in place of CUDA's."""
    if library_of(zfc) is None:
        return
    for name in ("zipflow", "zipflow-compile", "zipflow-emulator", "zipflow-tune"):
        (directory / f"{name}.pc").write_text(
            f"Name: {name}\nDescription: of the build\nVersion: 0\nLibs: -L{library_of(zfc)} -Wl,-rpath,{library_of(zfc)} -l{name}\n"
            f"Cflags: -I{root}/runtime/include -I{root}/compiler/include -I{root}/tuner/include -I{root}/emulator/include\n")
    environment.update(PKG_CONFIG_PATH=str(directory), CPATH=str(root / "tests/arch"))


def renewed_page(page, zfc, root):
    """The page with the output of this version, how many of its commands print something, and which fail where that is not meant."""
    printed, failed = 0, []
    environment = {**os.environ, "PATH": f"{zfc.parent}:{os.environ['PATH']}", "ZIPFLOW_STD": str(root / "dsl/std"), "LC_ALL": "C"}
    with tempfile.TemporaryDirectory() as directory:
        environment["XDG_CACHE_HOME"] = directory
        describe_libraries(pathlib.Path(directory), zfc, root, environment)

        def renewed(found):
            nonlocal printed
            kind, block = found[1], found[2]
            if kind.startswith(("zf ", "c ")) and kind != "zf run":
                (pathlib.Path(directory) / kind.split(" ", 1)[1]).write_text(block)
            if not kind.startswith("console"):
                return found[0]
            parts = kind.partition("explain: ")[2].split()
            out = ""
            for command in commands_of(block):
                text = shown(command, parts, directory, environment, root)
                printed += bool(text)
                if "error[" in text and "fails" not in kind.split():
                    failed.append((command, text))
                out += command + "\n" + text + ("" if text.endswith("\n") or not text else "\n")
            return f"```{kind}\n{out}```"

        return re.sub(r"^```([^\n]+)\n(.*?)^```$", renewed, page, flags=re.M | re.S), printed, failed


def main():
    zfc, root, status = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve(), 0
    for name, least in PAGES.items():
        page = (root / name).read_text()
        if "\n```c " in page and library_of(zfc) is None:
            print(f"{name}: skipped, there is no library that its programs can load")
            continue
        new, printed, failed = renewed_page(page, zfc, root)
        for command, text in failed:
            print(f"{name}: this fails; if that is meant, write ```console fails\n  {command}\n{text}")
            status = 1
        if "--write" in sys.argv:
            (root / name).write_text(new)
        elif new != page:
            differ = (pair for pair in zip(page.splitlines(), new.splitlines()) if pair[0] != pair[1])
            (old, now), status = next(differ, ("its end", "more, or less")), 1
            print(f"{name} says\n  {old}\nand this version prints\n  {now}\nif that is meant: python3 tests/arch/tutorial.py "
                  f"{os.path.relpath(zfc, root)} . --write")
        elif printed < least:
            print(f"{name}: only {printed} commands print anything")
            status = 1
        else:
            print(f"{name}: {printed} outputs are as the page shows them")
    return status


if __name__ == "__main__":
    sys.exit(main())
