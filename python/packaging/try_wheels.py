"""Looks into wheels, installs them into a clean environment as users do, and uses them there. Each step has its time.

Usage: try_wheels.py WHEELS [--glibc 2.28] [--most 25]

WHEELS: a folder with the three wheels. pyarrow and numpy are those of the Python that runs this; so are torch, polars and llvmlite,
where it has them.
"""

import argparse
import base64
import csv
import email
import hashlib
import importlib.util
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zipfile

import audit
import metadata

ROOT = metadata.ROOT
MODULES = {"zipflow-runtime": ["zipflow/_runtime.abi3.so"], "zipflow-compile": ["zipflow_compile/_compile.abi3.so"], "zipflow": []}


class Wrong(Exception):
    """A wheel that is not as it must be."""


def demand(true, text):
    if not true:
        raise Wrong(text)


def look(wheel, name, glibc):
    """The wheel's files, metadata and modules. Returns a line about it."""
    with zipfile.ZipFile(wheel) as archive:
        files = {entry.filename: archive.read(entry) for entry in archive.infolist()}
        executable = [entry.filename for entry in archive.infolist() if entry.external_attr >> 16 & 0o111]
    about = f"{name.replace('-', '_')}-{metadata.version()}.dist-info"
    record = {path: (digest, size) for path, digest, size in csv.reader(files[f"{about}/RECORD"].decode().splitlines())}
    demand(set(record) == set(files), f"{wheel.name}: RECORD lists other files: {sorted(set(record) ^ set(files))}")
    for path, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        demand(path.endswith("/RECORD") or record[path] == (f"sha256={digest}", str(len(data))), f"{wheel.name}: RECORD is wrong about {path}")
    said = email.message_from_bytes(files[f"{about}/METADATA"])
    demand(said["Name"] == name and said["Version"] == metadata.version(), f"{wheel.name} says that it is {said['Name']} {said['Version']}")
    demand(sorted(said.get_all("Requires-Dist") or []) == sorted(f"{other}=={said['Version']}" for other in metadata.requires(name)),
           f"{wheel.name} requires {said.get_all('Requires-Dist')}")
    for text in said.get_all("License-File"):
        demand(len(files[f"{about}/licenses/{text}"]) > 100, f"{wheel.name}: the licence {text} is missing")
    demand(f"Tag: {'-'.join(wheel.stem.split('-')[2:])}\n".encode() in files[f"{about}/WHEEL"], f"{wheel.name}: its tag is not that of its name")
    demand(executable == MODULES[name], f"{wheel.name}: has the programs and modules {executable}")
    line = f"{wheel.stat().st_size} bytes"
    for module in executable:
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / pathlib.Path(module).name
            path.write_bytes(files[module])
            facts, faults = audit.audit(path, glibc)
        demand(not faults, "\n".join(f"{wheel.name}: {path.name} {fault}" for fault in faults))
        line += f", {path.name} of {facts['bytes']} bytes, glibc {facts['glibc']}"
    return line


class Home:
    """A clean environment with the wheels."""

    def __init__(self, folder, wheels):
        self.folder, self.python = folder, folder / "venv/bin/python"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
        subprocess.run([sys.executable, "-m", "pip", "--python", self.python, "install", "-q", "--disable-pip-version-check", "--no-index",
                        "--find-links", wheels, "zipflow"], check=True)
        self.site = next((folder / "venv/lib").glob("python3*/site-packages"))

    def run(self, code, *words, good=True):
        """Runs lines there; returns what they print. Nothing of the tree or of this process's Python is in the way."""
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "ZIPFLOW", "LD_"))}
        done = subprocess.run([self.python, *words, "-c", code], capture_output=True, text=True, cwd=self.folder,
                              env=dict(environment, ZIPFLOW_CACHE_DIR=str(self.folder / "cache")))
        demand((done.returncode == 0) == good, f"{code}\nended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return done.stdout if good else done.stderr

    def lend(self):
        """Gives it the packages of this process's Python."""
        packages = pathlib.Path(importlib.util.find_spec("pyarrow").origin).parents[1]
        (self.site / "lent.pth").write_text(f"{packages}\n")


LIGHT = """
import sys
before = set(sys.modules)
import zipflow as zf
import zipflow._runtime
maps = open("/proc/self/maps").read()
for word in ("LLVM", "_compile", "libcuda", "numpy", "stdc++"):
    assert word not in maps, word
heavy = {"numpy", "pyarrow", "re", "ctypes", "typing", "inspect", "logging", "asyncio", "dataclasses", "enum"} & set(sys.modules) - before
assert not heavy, heavy
assert zf.__file__.startswith(sys.prefix)
assert build or not hasattr(zipflow._runtime, "storages")  # what tests count by
"""

BARE = """
import zipflow as zf
try:
    zf.Program("table t { n: i64 = dictionary(bitpack); }")
finally:
    assert "_compile.abi3" in open("/proc/self/maps").read()
"""

GOLDEN = """
import glob, sys
import zipflow as zf

def compare(column, other, place):
    for part in ("values", "validity", "offsets"):
        mine, theirs = getattr(column, part), getattr(other, part)
        if isinstance(mine, zf.Column):  # the values of lists
            compare(mine, theirs, place + (part,))
        else:
            assert (mine is None) == (theirs is None) and (mine is None or bytes(memoryview(mine)) == bytes(memoryview(theirs))), place + (part,)

paths = sorted(glob.glob("*.zfd"))
assert paths
for path in paths:
    table = zf.open(path).read(binary=True)
    zf.write_table(table, "again")
    again = zf.open("again").read(binary=True)
    assert again.column_names == table.column_names and len(again) == len(table), path
    for name in table:
        compare(table[name], again[name], (path, name))
print(len(paths))
"""

# The lines of the README, on a table with its columns. Without a GPU the line that reads to one must say so.
README = """
import datetime, decimal, importlib.util, json, sys, time
import pyarrow as pa, pyarrow.parquet as pq
pq.write_table(pa.table({"l_tax": pa.array([decimal.Decimal(k % 9) / 100 for k in range(100000)], pa.decimal128(15, 2)),
                         "l_shipdate": pa.array([datetime.date(1995, 1, 1 + k % 31) for k in range(100000)])}), "lineitem.parquet")
torch = importlib.util.find_spec("torch") is not None
names, times, gpu = {}, [], torch
for line in json.loads(sys.argv[1]):
    said = ""
    begin = time.perf_counter()
    if "import" in line and not torch:
        line, said = line.replace(", torch", ""), "without torch"
    if line.startswith("x = ") and not gpu:
        said = "left out: no torch, or no GPU"
    else:
        try:
            exec(line, names)
        except Exception as error:
            if "device=" not in line or not isinstance(error, names["zf"].DeviceError):
                raise
            gpu, said = False, f"{type(error).__name__} {error.code}"
    times.append((round(1000 * (time.perf_counter() - begin), 1), line.split("#")[0].strip(), said))
assert names["f"].schema.names == ["l_tax", "l_shipdate"] and len(names["t"]) == 100000
assert pa.table(names["t"]).equals(pq.read_table("lineitem.parquet"))
for milliseconds, line, said in times:
    print(f"{milliseconds:9.1f} ms  {line}" + (f"  ({said})" if said else ""))
"""

# Another library's LLVM, or its own C++ runtime, in the process: loaded before and after this one's.
BESIDE = """
import sys
import pyarrow as pa
import zipflow as zf
def ours(name):
    table = pa.table({"n": list(range(0, 30000, 3)), "s": [name + str(k % 11) for k in range(10000)]})
    zf.write_table(table, "beside.zfd")
    assert pa.table(zf.open("beside.zfd").read()).equals(table)
def llvmlite():
    import llvmlite.binding as llvm
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly("define i32 @add(i32 %a, i32 %b) { %c = add i32 %a, %b ret i32 %c }")
    engine = llvm.create_mcjit_compiler(module, llvm.Target.from_default_triple().create_target_machine())
    engine.finalize_object()
    import ctypes
    assert ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int)(engine.get_function_address("add"))(40, 2) == 42
def torch():
    import torch
    assert int(torch.arange(10).sum()) == 45
other = {"llvmlite": llvmlite, "torch": torch}[sys.argv[1]]
for turn in (other, lambda: ours("a"), other) if sys.argv[2] == "after" else (lambda: ours("b"), other, lambda: ours("c")):
    turn()
"""


def command(home):
    """zfc as pip installs it, and by `python -m zipflow`: a file encoded and decoded, exit statuses, signals."""
    zfc, folder = home.folder / "venv/bin/zfc", home.folder / "command"
    folder.mkdir()
    (folder / "t.zf").write_text("table t { key: i64 = delta(bitpack); }\n")
    (folder / "t.csv").write_text("key\n1\n4\n9\n")

    def run(*words, status=0):
        done = subprocess.run([*map(str, words)], capture_output=True, text=True, cwd=folder, env={"PATH": "/usr/bin:/bin", "ZIPFLOW_CACHE_DIR": ""})
        demand(done.returncode == status, f"{' '.join(map(str, words))} ended with {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    demand(f"zfc {metadata.version()}\n" in run(zfc, "--version"), "zfc does not say its version")
    run(zfc, "encode", "-q", "-c", "t.zf", "-o", "t.zfd", "t.csv")
    run(home.python, "-m", "zipflow", "decode", "-q", "--device", "cpu", "--format", "csv", "-o", "rows", "t.zfd")
    demand((folder / "rows/t.csv").read_text() == "key\n1\n4\n9\n", "zfc decoded something else")
    run(zfc, "decode", "-q", "--device", "emu", "-o", "emulated", "t.zfd")
    demand("did you mean `zfc encode`?" in run(zfc, "encod", status=2), "zfc has no hint")
    run(zfc, "inspect", "missing.zfd", status=1)
    demand("ZF1201" in run(home.python, "-m", "zipflow", "inspect", "missing.zfd", status=1), "zfc names no code")
    # A reader that goes ends it by a signal, and so does Ctrl-C: Python's own handlers are out of the way.
    done = subprocess.run(["sh", "-c", f"{{ {zfc} manual; echo $? >status; }} | true; cat status"], capture_output=True, text=True, cwd=folder)
    demand(done.stdout.strip() == str(128 + signal.SIGPIPE) and not done.stderr, f"zfc in a closed pipe: {done}")
    os.mkfifo(folder / "endless.csv")
    waiting = subprocess.Popen([zfc, "encode", "-q", "-c", "t.zf", "-o", "u.zfd", "endless.csv"], cwd=folder, stderr=subprocess.PIPE)
    rows, end = None, time.monotonic() + 30
    while rows is None and time.monotonic() < end and waiting.poll() is None:
        try:
            rows = os.open(folder / "endless.csv", os.O_WRONLY | os.O_NONBLOCK)  # succeeds once zfc has opened it, too
        except OSError:
            time.sleep(0.01)
    waiting.send_signal(signal.SIGINT)
    try:
        said = waiting.communicate(timeout=30)
    except subprocess.TimeoutExpired:
        waiting.kill()
        said = waiting.communicate()
    demand(rows is not None and waiting.returncode == -signal.SIGINT, f"zfc and Ctrl-C: {waiting.returncode}, {said}")
    demand(not list(folder.glob("u.zfd*")), "zfc left a file after Ctrl-C")
    os.close(rows)


def startup(home):
    """Milliseconds of processor time of a bare start, and of the import beside it: the least of several, by turns."""
    code, least = "import resource; u = resource.getrusage(resource.RUSAGE_SELF); print(u.ru_utime + u.ru_stime)", {}
    for _ in range(7):
        for name, lines in (("bare", code), ("import", f"import zipflow\n{code}")):
            least[name] = min(least.get(name, 9e9), float(home.run(lines)))
    return 1000 * least["bare"], 1000 * (least["import"] - least["bare"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("wheels", type=pathlib.Path)
    parser.add_argument("--glibc", default="2.28")
    parser.add_argument("--most", default=25, type=float, help="megabytes of all wheels")
    parser.add_argument("--build", action="store_true", help="of a build for tests: with what they count by; fewer files")
    options = parser.parse_args()
    begin = time.monotonic()

    def step(name, said=""):
        nonlocal begin
        print(f"{name:<22} {time.monotonic() - begin:6.2f} s  {said}", flush=True)
        begin = time.monotonic()

    found = {}
    for wheel in options.wheels.glob("*.whl"):
        found.setdefault(wheel.name.split("-")[0].replace("_", "-"), []).append(wheel)
    demand(sorted(found) == sorted(MODULES) and all(len(files) == 1 for files in found.values()), f"there are the wheels {found}")
    for name, (wheel,) in sorted(found.items()):
        step(name, look(wheel, name, options.glibc))
    total = sum(wheel.stat().st_size for (wheel,) in found.values())
    demand(found["zipflow-runtime"][0].stat().st_size < 1e6, "zipflow-runtime has 1 MB or more")
    demand(total <= options.most * 1e6, f"the wheels have {total} bytes, more than {options.most} MB")
    with tempfile.TemporaryDirectory() as folder:
        home = Home(pathlib.Path(folder), options.wheels)
        step("install", f"Python {sys.version.split()[0]}")
        home.run(f"build = {options.build}\n{LIGHT}")
        home.run(BARE)
        step("without packages")
        bare, more = startup(home)
        demand(more < bare, f"the import takes {more:.1f} ms, longer than Python's own start, which takes {bare:.1f} ms")
        step("import", f"{more:.1f} ms of processor time, beside {bare:.1f} ms of Python's own start")
        command(home)
        step("command")
        golden = sorted((ROOT / "tests/golden/containers").glob("*.zfd"), key=lambda path: path.stat().st_size)
        for path in golden[:1] if options.build else golden:
            shutil.copy(path, folder)
        step("golden files", home.run(GOLDEN).strip())
        missing = [name for name in ("pyarrow", "numpy") if importlib.util.find_spec(name) is None]
        if missing:
            step("README", f"left out: {', '.join(missing)} missing")
        else:
            home.lend()
            lines = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)[1].splitlines()
            demand(len(lines) == 8, "the README has other lines")
            code = README.replace("sys.argv[1]", repr(json.dumps(lines)))
            said = home.run(code)
            step("README", f"{len(lines)} lines\n{said.rstrip()}")
            for name in ("llvmlite", "torch"):
                if importlib.util.find_spec(name) is None:
                    step(f"beside {name}", "left out: not installed")
                    continue
                for order in ("before", "after"):
                    home.run(f"import sys; sys.argv[1:] = [{name!r}, {order!r}]\n{BESIDE}")
                step(f"beside {name}")
        shutil.rmtree(home.site / "zipflow_compile")
        for line, error in (("zf.Program('table t { n: i64 = plain; }')", "ModuleNotFoundError: zipflow-compile is not installed"),
                            ("zf.open('again').read()", "zipflow._errors.UnsupportedError"),
                            ("import os, runpy; os.environ['PATH'] = '/'; runpy.run_module('zipflow', run_name='__main__')",
                             "zipflow: the command zfc is not installed: it comes with zipflow-compile")):
            said = home.run(f"import zipflow as zf\n{line}", good=False)
            demand(re.search(f"^{re.escape(error)}", said, re.M), said)
        step("without the compiler", "says so")
    for tool, words in (("auditwheel", ["show"]), ("abi3audit", ["--strict"]), ("twine", ["check", "--strict"])):
        program = shutil.which(tool, path=f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}")
        if program is None:
            step(tool, "left out: not installed")
            continue
        for name, (wheel,) in sorted(found.items()):
            if tool == "twine" or name != "zipflow":
                done = subprocess.run([program, *words, wheel], capture_output=True, text=True)
                demand(done.returncode == 0, f"{tool}: {done.stdout}{done.stderr}")
                if tool == "auditwheel":
                    tag = re.search(r'following\s+platform\s+tag:\s+"manylinux_(\d+)_(\d+)_', done.stdout)
                    demand(tag and audit.number(".".join(tag.groups())) <= audit.number(options.glibc), f"auditwheel: {done.stdout}")
        step(tool)
    print(f"wheels: {total} bytes in three, for glibc {options.glibc} and later")


if __name__ == "__main__":
    try:
        main()
    except Wrong as wrong:
        sys.exit(f"wheels: {wrong}")
