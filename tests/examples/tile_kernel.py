#!/usr/bin/env python3
"""examples/tile_kernel: its kernel compiles without warnings, keeps to its registers, and gives the answers of `zfc query` in the
machine for PTX of tests/tiles.

    tile_kernel.py ROOT ZFC LIBRARIES TILE_KERNEL

Exit status 77: there is no nvcc, or Python has no numpy.
"""

import ctypes
import importlib.util
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

ROOT, ZFC, LIBRARIES, TILE_KERNEL = (pathlib.Path(word).resolve() for word in sys.argv[1:5])
sys.path[:0] = [str(ROOT / "tests/tiles"), str(ROOT / "examples/tile_kernel")]
COLUMNS = ["lo_orderdate", "lo_discount", "lo_quantity", "lo_extendedprice"]  # in the order of the kernel
KEY_BYTES = 512  # as in q1.h
SPILLS_MOST = 32  # bytes of stores a thread: what holds for a tile


def answer_of(kernel, columns, params):
    """The sums of `q1`, as one thread block makes them, warp by warp."""
    sums = (ctypes.c_uint64 * 2)()
    words = [b"".join(bytes(c) for c in columns), struct.pack("<6i", *params), struct.pack("<Q", ctypes.addressof(sums))]
    for warp in range(8):
        import ptx_machine
        ptx_machine.run_warp(kernel, words, warp * 32, {"%ctaid.x": 0, "%nctaid.x": 1})
    return list(sums)


def keys_of(ptx):
    """The keys of an image, as `q1_keys` copies them."""
    import ptx_machine
    copied = ctypes.create_string_buffer(len(COLUMNS) * KEY_BYTES)
    special = {"%tid.x": 0, "%ntid.x": 1}
    ptx_machine.Thread(ptx_machine.Kernel(ptx, "q1_keys"), [struct.pack("<Q", ctypes.addressof(copied))], special).run()
    return [copied.raw[k:k + KEY_BYTES].rstrip(b"\0").decode() for k in range(0, len(copied), KEY_BYTES)]


def check_program(out):
    """Errors of the program where it cannot run."""
    def fails(status, said, *words):
        done = subprocess.run([TILE_KERNEL, *words], capture_output=True, text=True, check=False,
                              env={**os.environ, "ZIPFLOW_CUDA_LIBRARY": "/nowhere/libcuda.so"})
        assert done.returncode == status and said in done.stderr, f"{words}: {done.returncode}, {done.stderr}"

    good = ["1", "19930101", "19931231", "1", "3", "0", "24"]
    fails(2, "usage", out / "q1.image")
    fails(2, "usage", out / "q1.image", "a.zfd", "a.zfm", "0", *good[1:])
    fails(2, "usage", out / "q1.image", "a.zfd", "a.zfm", *good[:-1], "many")
    fails(1, "cannot be read", out / "nothing", "a.zfd", "a.zfm", *good)
    fails(1, "/nowhere/libcuda.so", out / "q1.image", "a.zfd", "a.zfm", *good)


def main():
    nvcc = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
    if nvcc is None or importlib.util.find_spec("numpy") is None:
        print("skipped: there is no nvcc, or no numpy")
        return 77
    import ptx_machine
    import run
    import tile_loaders
    os.environ.update(ZIPFLOW_STD=str(ROOT / "dsl/std"), ZIPFLOW_CACHE_DIR="")
    with tempfile.TemporaryDirectory() as place:
        out = pathlib.Path(place)
        file = run.make_file(out, ZFC, 0.0015)  # a few tiles, the last one cut
        header = run.make_header(out, ZFC, file).read_text()
        ptx = run.compile_kernel(out, nvcc, "-ptx", "-arch=compute_80").read_text()
        done = subprocess.run([nvcc, "-cubin", "-arch=sm_90", "-Xptxas", "-v", "-I", out, "-o", out / "q1.cubin",
                               ROOT / "examples/tile_kernel/q1.cu"], capture_output=True, text=True, check=True)
        spills = max(int(n) for n in re.findall(r"(\d+) bytes spill stores", done.stderr))
        assert spills <= SPILLS_MOST, done.stderr
        kernel, library = ptx_machine.Kernel(ptx, "q1"), tile_loaders.Library(LIBRARIES)
        container = library.open(file)
        keys = [re.search(rf'#define ZF_TILE_KEY_{name} "(.*)"', header).group(1) for name in COLUMNS]
        assert keys_of(ptx) == keys, f"the image has {keys_of(ptx)}"
        prepared = [library.prepare(container, key) for key in keys]
        columns = [column for _, column in prepared]
        assert columns[0].tiles > 3 and columns[0].rows % 2048 not in (0, 2047), f"{columns[0].rows} rows"
        answers = {}
        for name, params in run.QUERIES.items():
            wanted = run.ask(ZFC, file, params)["results"]["revenue"]
            answers[name], failed = answer_of(kernel, columns, params)
            assert (answers[name], failed) == (wanted, 0), f"{name}: {answers[name]} in place of {wanted}, {failed} failed"
        assert all(answers.values()), f"a query without rows shows nothing: {answers}"
        for k in (0, 2, 4):
            params = list(run.QUERIES["q1.1"])
            params[k], params[k + 1] = params[k + 1], params[k]
            assert answer_of(kernel, columns, params) == [0, 0], f"bounds the wrong way round: {params}"
        for tiles, _ in prepared:
            library.library.zf_tiles_free(tiles)
        library.library.zf_container_close(container)
        check_program(out)
    print(f"{columns[0].rows} rows: {answers}; {spills} bytes of spills")
    return 0


if __name__ == "__main__":
    sys.exit(main())
