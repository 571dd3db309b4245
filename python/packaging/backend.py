"""Builds the Python package zipflow-runtime from source, for pip (PEP 517) and by hand. It has no compiler: LLVM is not needed.

Usage: backend.py OUT     (the source package)
"""

import gzip
import io
import os
import pathlib
import platform
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import metadata
import wheels

ROOT = metadata.ROOT
NAME = "zipflow-runtime"
# The sources of the runtime.
FILES = ("CMakeLists.txt", "LICENSE", "pyproject.toml")
FOLDERS = ("cmake", "runtime", "emulator", "scheduler/order", "python/extension", "python/packaging", "python/zipflow", "python/CMakeLists.txt")
XXHASH = """#define XXH_STATIC_LINKING_ONLY
#define XXH_IMPLEMENTATION
#include "xxhash.h"
"""


def refuse(text):
    sys.exit(f"zipflow: {text}")


def check_machine():
    if sys.platform != "linux":
        refuse(f"there is no zipflow for {platform.system()}: it runs on Linux, on x86-64 and AArch64")
    if platform.machine() not in ("x86_64", "aarch64"):
        refuse(f"there is no zipflow for {platform.machine()}: it runs on Linux, on x86-64 and AArch64")


def get_requires_for_build_wheel(config_settings=None):
    check_machine()
    wanted = [] if shutil.which("cmake") else ["cmake>=3.25"]
    return wanted + ([] if shutil.which("ninja") or shutil.which("make") else ["ninja"])


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    check_machine()
    if not pathlib.Path(sysconfig.get_path("include"), "Python.h").exists():
        refuse("the headers of Python are missing (python3-dev, python3-devel)")
    if not (shutil.which(os.environ.get("CC", "cc").split()[0]) or shutil.which("gcc") or shutil.which("clang")):
        refuse("a C compiler is missing (gcc, clang)")
    with tempfile.TemporaryDirectory() as build:
        generator = ["-G", "Ninja"] if shutil.which("ninja") else []
        steps = (["cmake", "-S", ROOT, "-B", build, *generator, "-DCMAKE_BUILD_TYPE=Release", "-DZF_COMPILER=OFF", "-DZF_WHEEL=ON",
                  "-DBUILD_TESTING=OFF", f"-DPython_EXECUTABLE={sys.executable}", "-DCMAKE_MODULE_LINKER_FLAGS=-s", *shlex.split(os.environ.get("CMAKE_ARGS", ""))],
                 ["cmake", "--build", build, "--target", "python-runtime", "--parallel"])
        for words in steps:
            if subprocess.run(words).returncode != 0:
                refuse("the build failed; the lines above say why")
        tag = f"cp311-abi3-linux_{platform.machine()}"
        return wheels.make(NAME, pathlib.Path(wheel_directory), tag, pathlib.Path(build, "python/zipflow")).name


def source_files():
    """{path: bytes} of the source package."""
    files = {}
    for name in (*FILES, *FOLDERS):
        for path in [ROOT / name] if (ROOT / name).is_file() else sorted((ROOT / name).rglob("*")):
            if path.is_file() and path.suffix != ".pyc":
                files[path.relative_to(ROOT).as_posix()] = path.read_bytes()
    if (ROOT / "xxhash").is_dir():  # this is a source package already
        files.update({f"xxhash/{path.name}": path.read_bytes() for path in sorted((ROOT / "xxhash").iterdir())})
    else:
        for folder in (*os.environ.get("CPATH", "").split(":"), "/usr/local/include", "/usr/include"):
            header = pathlib.Path(folder or ".", "xxhash.h")
            if header.exists():
                break
        else:
            refuse("there is no xxhash.h, which the source package takes along (libxxhash-dev)")
        files.update({"xxhash/xxhash.h": header.read_bytes(), "xxhash/xxhash.c": XXHASH.encode()})
    return files


def build_sdist(sdist_directory, config_settings=None):
    stem = f"{NAME.replace('-', '_')}-{metadata.version()}"
    files = dict(source_files(), **{"PKG-INFO": metadata.core_metadata(NAME, ["LICENSE"]).encode()})
    out = pathlib.Path(sdist_directory)
    out.mkdir(parents=True, exist_ok=True)
    with open(out / f"{stem}.tar.gz", "wb") as stored, gzip.GzipFile("", "wb", 9, stored, 0) as packed, tarfile.open(fileobj=packed, mode="w") as archive:
        for path, data in sorted(files.items()):
            entry = tarfile.TarInfo(f"{stem}/{path}")
            entry.size, entry.mtime, entry.mode = len(data), 1704067200, 0o644
            archive.addfile(entry, io.BytesIO(data))
    return f"{stem}.tar.gz"


if __name__ == "__main__":
    print(build_sdist(sys.argv[1]))
