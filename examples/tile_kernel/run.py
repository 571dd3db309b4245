#!/usr/bin/env python3
"""Makes lines of SSB, encodes them, compiles q1.cu for them, runs it on a GPU, and compares it with `zfc query`.

    run.py OUT ZFC TILE_KERNEL [--scale 20] [--repeat 21] [--arch native] [--nvcc NVCC] [--device cuda] [--json FILE]

OUT keeps the columns (data/) and lineorder.zfd for later calls with the same scale factor. Prints, for queries 1.1, 1.2 and 1.3,
the medians of the runs of both kernels, with the columns in the GPU's memory. The exit status is 1 if an answer differs. Needs
nvcc, and Python with numpy; no network, and no compiler but nvcc's and the one in zfc.
"""

import argparse
import json
import pathlib
import shutil
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
SSB = HERE.parents[1] / "bench/ssb"
COLUMNS = ["lo_orderdate", "lo_quantity", "lo_extendedprice", "lo_discount"]
NAMES = ["first_day", "last_day", "least_discount", "most_discount", "least_quantity", "most_quantity"]
QUERIES = {"q1.1": (19930101, 19931231, 1, 3, 0, 24), "q1.2": (19940101, 19940131, 4, 6, 26, 35),
           "q1.3": (19940204, 19940210, 5, 7, 26, 35)}


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(str(word) for word in words)}\n{done.stdout}{done.stderr}")
    return done.stdout


def make_file(out, zfc, scale):
    """lineorder.zfd with the columns of the query, unless it is there."""
    sys.path.insert(0, str(SSB))
    import generate  # pylint: disable=import-error,import-outside-toplevel
    import roundtrip  # pylint: disable=import-error,import-outside-toplevel
    out.mkdir(parents=True, exist_ok=True)
    file, made = out / "lineorder.zfd", out / "scale"
    if file.exists() and made.exists() and made.read_text() == str(scale):
        return file
    generate.generate(out / "data", scale, "npy", columns=COLUMNS)
    program = roundtrip.program(out, "lineorder", COLUMNS, SSB / "ssb_fused.zf")
    run(zfc, "encode", "-q", "-f", "-c", program, "-o", file, *(f"{name}={out}/data/lineorder.{name}.npy" for name in COLUMNS))
    made.write_text(str(scale))
    return file


def make_header(out, zfc, file):
    """lineorder.cuh: the functions of q1.cu for the codes of this file."""
    run(zfc, "compile", "-q", "-f", "--device-functions", "--columns", ",".join(COLUMNS), "-o", out / "lineorder.cuh", file)
    return out / "lineorder.cuh"


def compile_kernel(out, nvcc, *options):
    run(nvcc, *options, "-Werror", "all-warnings", "-I", out, "-I", HERE, "-o", out / "q1.image", HERE / "q1.cu")
    return out / "q1.image"


def ask(zfc, file, params, *options):
    """The report of `zfc query`."""
    words = [word for name, value in zip(NAMES, params) for word in ("--param", f"{name}={value}")]
    return json.loads(run(zfc, "query", f"{SSB}/ssb_queries.zf:q1", file, "--json", *words, *options))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("zfc")
    parser.add_argument("tile_kernel")
    parser.add_argument("--scale", type=float, default=20)
    parser.add_argument("--repeat", type=int, default=21)
    parser.add_argument("--arch", default="native", help="what nvcc compiles for (-arch)")
    parser.add_argument("--nvcc", default=shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    file = make_file(options.out, options.zfc, options.scale)
    make_header(options.out, options.zfc, file)
    image = compile_kernel(options.out, options.nvcc, "-cubin", f"-arch={options.arch}")
    module = options.out / "lineorder.zfm"
    run(options.zfc, "compile", "-q", "-f", "--target", "nvptx", "-o", module, file)
    report, wrong = {"scale": options.scale, "queries": {}}, 0
    for name, params in QUERIES.items():
        asked = ask(options.zfc, file, params, "--device", options.device, "--repeat", str(options.repeat))
        ours = json.loads(run(options.tile_kernel, image, file, module, options.repeat, *params))
        right = asked["results"]["revenue"] == ours["revenue"]
        wrong += not right
        kernel, query = (1e3 * statistics.median(seconds) for seconds in (ours["seconds"], asked["device"]["seconds"]))
        report["queries"][name] = {"right": right, "kernel_ms": kernel, "query_ms": query, "ratio": kernel / query,
                                   "kernel_seconds": ours["seconds"], "query_seconds": asked["device"]["seconds"]}
        print(f"{name}  {'right' if right else 'WRONG'}  kernel {kernel:.4f} ms  zfc query {query:.4f} ms  ratio {kernel / query:.3f}")
    if options.json:
        options.json.write_text(json.dumps(report) + "\n")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
