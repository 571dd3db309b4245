"""Makes wheels of modules that are linked: zipflow-runtime, zipflow-compile, and zipflow, which has nothing but requires both.

Usage: wheels.py --modules FOLDER --out FOLDER [--glibc 2.28]

With --glibc the modules are audited, and wheels are for that glibc and later ones. The same inputs give the same bytes.
"""

import argparse
import base64
import hashlib
import pathlib
import platform
import sys
import time
import zipfile

import audit
import metadata

ROOT = metadata.ROOT
# Debian's packages whose archives are linked into a module, with the licences that the wheel repeats.
INSIDE = {"zipflow-runtime": ("libxxhash-dev",),
          "zipflow-compile": ("llvm-19-dev", "libstdc++-*-dev", "zlib1g-dev", "libzstd-dev", "libxxhash-dev", "libmd-dev",
                              "libjansson-dev")}
COMPILER = '"""The compiler of zipflow, with LLVM and the library of codecs inside. Private: use zipflow, which finds it here."""\n'
DATE = time.gmtime(1704067200)[:6]  # of every file: wheels of equal content are equal


def content(name, modules):
    """{path in the wheel: bytes} of a package."""
    files = {}
    if name == "zipflow-runtime":
        files = {f"zipflow/{file.name}": file.read_bytes() for file in sorted((ROOT / "python/zipflow").iterdir())
                 if file.suffix in (".py", ".pyi") or file.name == "py.typed"}
        files["zipflow/_runtime.abi3.so"] = (modules / "_runtime.abi3.so").read_bytes()
    elif name == "zipflow-compile":
        files = {"zipflow_compile/__init__.py": COMPILER.encode()}
        files["zipflow_compile/_compile.abi3.so"] = (modules / "_compile.abi3.so").read_bytes()
        files.update({f"zipflow_compile/std/{file.name}": file.read_bytes() for file in sorted((ROOT / "dsl/std").glob("*.zf"))})
    return files


def licenses(name, static):
    """{file: bytes}; static: with those of the libraries inside."""
    files = {"LICENSE": (ROOT / "LICENSE").read_bytes()}
    for package in INSIDE.get(name, ()) if static else ():
        texts = sorted(pathlib.Path("/usr/share/doc").glob(f"{package}/copyright"))
        if not texts:
            sys.exit(f"wheels: the licence of {package} is not in /usr/share/doc/{package}/copyright, and the wheel must repeat it")
        files[f"{package.replace('-*', '')}.txt"] = texts[-1].read_bytes()
    return files


def make(name, out, tag, modules=None, static=False):
    """Writes the wheel of a package; returns its path. tag: "cp311-abi3-linux_x86_64"."""
    version = metadata.version()
    stem = f"{name.replace('-', '_')}-{version}"
    about, files, texts = f"{stem}.dist-info", content(name, modules), licenses(name, static)
    files.update({f"{about}/licenses/{file}": text for file, text in texts.items()})
    if name == "zipflow-compile":
        files[f"{about}/entry_points.txt"] = b"[console_scripts]\nzfc = zipflow.__main__:main\n"
    files[f"{about}/METADATA"] = metadata.core_metadata(name, list(texts)).encode()
    pure = "true" if tag.endswith("-any") else "false"
    files[f"{about}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: zipflow\nRoot-Is-Purelib: {pure}\nTag: {tag}\n".encode()
    record = ""
    for path, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += f"{path},sha256={digest},{len(data)}\n"
    files[f"{about}/RECORD"] = f"{record}{about}/RECORD,,\n".encode()
    out.mkdir(parents=True, exist_ok=True)
    wheel = out / f"{stem}-{tag}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path, DATE)
            entry.external_attr = (0o100755 if path.endswith(".so") else 0o100644) << 16
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED)
    return wheel


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--modules", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--glibc", required=True)
    options = parser.parse_args()
    for module in sorted(options.modules.glob("_*.abi3.so")):
        _, faults = audit.audit(module, options.glibc)
        if faults:
            sys.exit("\n".join(f"wheels: {module.name} {fault}" for fault in faults))
    for old in options.out.glob("zipflow*.whl"):
        old.unlink()
    tag = f"cp311-abi3-manylinux_{options.glibc.replace('.', '_')}_{platform.machine()}"
    for name in metadata.SUMMARIES:
        wheel = make(name, options.out, "py3-none-any" if name == "zipflow" else tag, options.modules, static=True)
        print(f"{wheel.name}: {wheel.stat().st_size} bytes")


if __name__ == "__main__":
    main()
