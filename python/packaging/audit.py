"""Whether an extension module runs where its wheel's tag says: symbols and their versions, libraries, memory of threads.

Usage: audit.py GLIBC MODULE...     (GLIBC: 2.28, the newest that may be needed)
"""

import pathlib
import re
import subprocess
import sys

NEEDED = re.compile(r"lib(c|m|dl|pthread|rt)\.so\.\d+|ld-linux-[a-z0-9-]+\.so\.\d+")  # all of them glibc's


def output(*words):
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def number(text):
    return tuple(int(part) for part in text.split("."))


def audit(module, glibc):
    """Returns (facts, faults): {name: value} to print, and sentences; no fault: the module is good."""
    module, faults = pathlib.Path(module), []
    name = module.name.split(".")[0].lstrip("_")
    dynamic, headers = output("readelf", "-W", "-d", module), output("readelf", "-W", "-l", module)
    defined = [line.split()[0] for line in output("nm", "-D", "-P", "--defined-only", module).splitlines()]
    undefined = [line.split()[0] for line in output("nm", "-D", "-P", "--undefined-only", module).splitlines()]
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
    versions = sorted({v for symbol in undefined for v in re.findall(r"@GLIBC_([0-9.]+)$", symbol)}, key=number)
    if defined != [f"PyInit__{name}"]:
        faults.append(f"exports {', '.join(defined) or 'nothing'}, and not PyInit__{name} alone")
    for symbol in undefined:
        if "@" not in symbol and not symbol.startswith(("Py", "_Py")):
            faults.append(f"needs {symbol}, which has no version, so that nothing says who has it")
        elif "@" in symbol and "@GLIBC_" not in symbol:
            faults.append(f"needs {symbol}, which is not of glibc")
    if not versions or not any(symbol.startswith("Py") for symbol in undefined):
        faults.append("needs nothing of glibc or of Python: this is no module")
    faults += [f"needs glibc {v}, later than {glibc}" for v in versions if number(v) > number(glibc)]
    faults += [f"needs {library}" for library in needed if not NEEDED.fullmatch(library)]
    if "STATIC_TLS" in dynamic or re.search(r"_TPOFF", output("readelf", "-W", "-r", module)):
        faults.append("has static memory of threads, which dlopen may not have left")
    if re.search(r"GNU_STACK.*\bRWE\b", headers):
        faults.append("asks for a stack that can be executed")
    if re.search(r"\((RPATH|RUNPATH)\)", dynamic):
        faults.append("has a search path for libraries, and needs none")
    return {"bytes": module.stat().st_size, "glibc": versions[-1] if versions else None, "libraries": " ".join(needed)}, faults


def main():
    bad = False
    for module in sys.argv[2:]:
        facts, faults = audit(module, sys.argv[1])
        print(f"{pathlib.Path(module).name}: " + ", ".join(f"{key} {value}" for key, value in facts.items()))
        for fault in faults:
            print(f"{pathlib.Path(module).name} {fault}")
        bad |= bool(faults)
    sys.exit(bad or len(sys.argv) < 3)


if __name__ == "__main__":
    main()
