"""Makes the source package, lets pip build and install it, and uses it: alone, and with the compiler's wheel.

Usage: try_sdist.py WHEELS
"""

import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile

import audit
import backend
import metadata

HERE = pathlib.Path(__file__).resolve().parent
WHEELS = pathlib.Path(sys.argv[1])
# How a build fails elsewhere, in one sentence.
ELSEWHERE = "import sys, platform; sys.platform, platform.system = {0!r}, lambda: {1!r}; import backend; backend.get_requires_for_build_wheel()"
USE = """
import zipflow as zf
f = zf.open(GOLDEN)
assert len(f) > 0 and f.schema.names and f.explain(f.schema.names[0])
if COMPILER:
    table = f.read(binary=True)
    assert len(table) == len(f)
    zf.write_table(table, "again.zfd")
    assert len(zf.open("again.zfd").read()) == len(f)
"""


def run(*words, **options):
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "LD_"))}
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, env=dict(environment, **options.pop("env", {})), **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return done


def main():
    for system, name in (("darwin", "Darwin"), ("win32", "Windows")):
        done = subprocess.run([sys.executable, "-B", "-c", ELSEWHERE.format(system, name)], capture_output=True, text=True, cwd=HERE)
        said = f"zipflow: there is no zipflow for {name}: it runs on Linux, on x86-64 and AArch64\n"
        assert done.returncode == 1 and done.stderr == said, done
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        source = folder / backend.build_sdist(folder)
        with tarfile.open(source) as archive:
            archive.extractall(folder / "tree", filter="data")
        tree = next((folder / "tree").iterdir())
        assert tree.name == f"zipflow_runtime-{metadata.version()}", tree
        again = run(sys.executable, "-B", "python/packaging/backend.py", folder / "again", cwd=tree).stdout.strip()
        assert (folder / "again" / again).read_bytes() == source.read_bytes(), "the source package of the source package is another one"
        # Nothing of LLVM may be looked for; fast to build, not fast to run.
        arguments = "-DCMAKE_BUILD_TYPE=None -DCMAKE_DISABLE_FIND_PACKAGE_LLVM=ON -DCMAKE_DISABLE_FIND_PACKAGE_FLEX=ON -DCMAKE_DISABLE_FIND_PACKAGE_BISON=ON"
        run(sys.executable, "-m", "pip", "wheel", "-q", "--disable-pip-version-check", "--no-cache-dir", "--no-index", "--no-deps", "-w", folder / "made", source,
            env={"CMAKE_ARGS": arguments}, cwd=folder)
        wheel, = (folder / "made").iterdir()
        assert wheel.name.startswith(f"zipflow_runtime-{metadata.version()}-cp311-abi3-linux_"), wheel
        run(sys.executable, "-m", "venv", "--without-pip", folder / "venv")
        python = folder / "venv/bin/python"
        golden = metadata.ROOT / "tests/golden/containers/v2_chunks.zfd"
        for compiler, wheels in ((False, [wheel]), (True, [*WHEELS.glob("zipflow_compile-*.whl")])):
            run(sys.executable, "-m", "pip", "--python", python, "install", "-q", "--disable-pip-version-check", "--no-index", "--no-deps", *wheels)
            run(python, "-c", USE.replace("GOLDEN", repr(str(golden))).replace("COMPILER", str(compiler)), cwd=folder,
                env={"ZIPFLOW_CACHE_DIR": str(folder / "cache"), "ZIPFLOW_OPTIMISE": "0"})
        module = next((folder / "venv/lib").glob("python3*/site-packages/zipflow/_runtime.abi3.so"))
        faults = [fault for fault in audit.audit(module, "9.9")[1] if "_ITM_" not in fault and "__gmon_start__" not in fault]
        assert not faults, faults  # of the system's linker, whose start files have weak symbols
        print(f"{source.name}: {source.stat().st_size} bytes; built, and used alone and with the compiler's wheel")


if __name__ == "__main__":
    main()
