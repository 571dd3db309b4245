"""Runs what an archive of script/pack holds on a machine with a GPU. Called by script/gpu-test.

Steps run in order, each a program with a time limit; one that fails does not stop the others. results.json holds machine, commit
and what each step gave; log.txt everything that the programs wrote. The exit status is 0 when every step ran and succeeded.
"""

import argparse
import array
import concurrent.futures
import importlib.util
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree
import zipfile

PACK = pathlib.Path(__file__).resolve().parent.parent
# All of examples/tpch, and those from which the steps take columns that GPUs decode.
ALL_TABLES = ("lineitem", "orders", "partsupp", "part", "customer", "supplier", "nation", "region")
TABLES = ("lineitem", "orders", "partsupp")


class Ended(Exception):
    """A step that did not succeed, and why; `result` is what it gave all the same."""

    def __init__(self, why, result=None):
        super().__init__(why)
        self.result = result


class Skipped(Ended):
    """A step, or a part of it, that cannot run here."""


class Failed(Ended):
    """A step that ran."""


class Session:
    def __init__(self, options):
        self.options = options
        self.device = options.device
        self.out = pathlib.Path(options.out)
        self.out.mkdir(parents=True, exist_ok=True)
        self.log = open(self.out / "log.txt", "w", encoding="utf-8")
        self.tree = pathlib.Path(tempfile.mkdtemp(prefix="zf-gpu-"))
        self.data = self.tree / "tpch"
        self.lock = threading.Lock()
        self.end = time.monotonic() + options.budget
        self.environment = dict(os.environ, ZIPFLOW_CACHE_DIR=str(self.tree / "cache"), TMPDIR=str(self.tree))

    def run(self, *words, limit=300, environment=None, cwd=PACK):
        """Runs a program of the pack. Returns its standard output; raises Failed."""
        words = [str(w) for w in words]
        if "/" not in words[0] and (PACK / "bin" / words[0]).exists():
            words[0] = str(PACK / "bin" / words[0])
        limit = min(limit, self.end - time.monotonic())
        if limit <= 0:
            raise Skipped("the time is used up (--budget)")
        begin = time.monotonic()
        written, code = "", None
        try:
            result = subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=limit, cwd=cwd,
                                    env=dict(self.environment, **(environment or {})))
            written, code = result.stdout + result.stderr, result.returncode
        except subprocess.TimeoutExpired as late:
            for stream in (late.stdout, late.stderr):
                if stream:
                    written += stream if isinstance(stream, str) else stream.decode(errors="replace")
        self.last_seconds = time.monotonic() - begin
        with self.lock:  # programs that run side by side
            self.log.write(f"$ {' '.join(words)}\n{written}[{'stopped' if code is None else code}, {self.last_seconds:.2f} s]\n")
            self.log.flush()
        if code is None:
            raise Failed(f"{pathlib.Path(words[0]).name} was stopped after {limit:.0f} s")
        if code != 0:
            said = (result.stderr or result.stdout).strip().splitlines()[-6:]
            raise Failed(f"{pathlib.Path(words[0]).name} gave {code}: " + " | ".join(said))
        return result.stdout

    def pick(self, gpu, emulated):
        """A number for a GPU, and a smaller one for the emulator."""
        return emulated if self.device == "emu" else gpu

    def has(self, program):
        if not (PACK / "bin" / program).exists():
            raise Skipped(f"{program} is not in the archive")

    def program(self):
        return PACK / "examples/tpch/tpch.zf"

    def container(self, table):
        path = self.data / f"{table}.numbers.zfd"
        if not path.exists():
            text = self.data / f"{table}.csv"
            if not text.exists():
                raise Skipped(f"there is no {text.name}: a step before this one makes it")
            self.run("zfc", "encode", "-q", "-c", f"{self.program()}:{table}", "-o", path, text)
        return path


def summary(output):
    """The line of JSON that a program of tests/gpu ends with."""
    lines = [line for line in output.splitlines() if line.startswith("{")]
    if not lines:
        raise Failed("the program printed no JSON")
    try:
        return json.loads(lines[-1])
    except ValueError as wrong:
        raise Failed(f"the program's last line is no JSON: {wrong}") from None


# ---- Steps ----------------------------------------------------------------------------------------------------------


def devices(s):
    found = json.loads(s.run("zfc", "devices", "--json"))
    names = [d["name"] for d in found if d["present"]]
    wanted = [n for n in names if n == s.device or n.startswith(s.device + ":")]
    if not wanted and s.device != "emu":
        raise Failed(f"device {s.device} is not present: " + "; ".join(d["reason"] for d in found if d["reason"]))
    return found


def unit(name, *words):
    def step(s):
        s.has(name)
        return s.run(name, *words, environment={"ZF_TEST_DEVICE": s.device}).strip().splitlines()[-3:]

    return step


def differential(s):
    """Random programs: the interpreter, the CPU's code and the GPU's agree."""
    s.has("zf-differential")
    counts = s.tree / "differential.json"
    jobs = min(8, os.cpu_count() or 1)
    s.run("zf-differential", "--from", 1, "--count", s.options.programs, "--jobs", jobs, "--json", counts,
          environment={"ZF_TEST_DEVICE": s.device})
    return json.loads(counts.read_text())


def tpch(s):
    s.data.mkdir()
    for table in ALL_TABLES:
        s.run("tpchgen-cli", "csv", "-s", s.options.scale, "--tables", table, "--output-dir", s.data)
    return {"scale": s.options.scale, "bytes": sum(p.stat().st_size for p in s.data.iterdir())}


def columns(s):
    """Every column of the demo, encoded here, decoded on the device, compared with the source as pyarrow reads it."""
    result = s.tree / "columns.json"
    s.run(sys.executable, PACK / "script/demo_table.py", PACK / "bin/zfc", s.data, "--devices", f"cpu,{s.device}" if s.device != "cpu" else "cpu",
          "--json", result, limit=400)
    return json.loads(result.read_text())


def golden(s):
    """Containers that earlier builds wrote: the rows that their table has by formula."""
    sys.path.insert(0, str(PACK / "tests/golden/containers"))
    import table  # pylint: disable=import-outside-toplevel
    for file, (columns, rows) in table.FILES.items():
        out = s.tree / f"golden-{pathlib.Path(file).stem}"
        s.run("zfc", "decode", "-q", "-f", "--device", s.device, "-o", out, PACK / "tests/golden/containers" / file)
        for name, content in table.raw_files(rows, 0, columns).items():
            if (out / name).read_bytes() != content:
                raise Failed(f"{file}: {name} has other bytes")
    return {"files": len(table.FILES), "columns": sum(len(columns) for columns, _ in table.FILES.values())}


def uneven(s):
    """Blocks that begin at any row: the rows that their table has by formula, all and those around a border, and by the pipeline."""
    sys.path.insert(0, str(PACK / "tests/golden/containers"))
    import table  # pylint: disable=import-outside-toplevel
    directory, decodes = s.tree / "uneven", 0
    directory.mkdir()
    for size, rows in ((1, 40), (7, 300), (1000, table.ROWS), (4095, table.ROWS), (4097, table.ROWS)):
        table.write(directory, rows, table.ANY_ROWS)
        container, out, middle = directory / "t.zfd", directory / "out", size * (rows // size // 2)
        s.run("zfc", "encode", "-q", "-f", "-c", directory / "table.zf", "--rows-per-block", size, "--zones", "-o", container,
              directory / "table.csv")
        for begin, end in ((0, rows), (max(0, middle - 3), min(rows, middle + 5)), (rows // 3, rows)):
            s.run("zfc", "decode", "-q", "-f", "--device", s.device, "-o", out, "--rows", f"{begin}..{end}", container)
            for name, content in table.raw_files(end, begin, table.ANY_ROWS).items():
                decodes += 1
                if (out / name).read_bytes() != content:
                    raise Failed(f"{name}: rows {begin} to {end} in blocks of {size} have other bytes")
        for unit_bytes in ("32M", "4096"):
            s.run("zfc", "pipeline", "-q", "--device", s.device, "--verify", "--unit", unit_bytes, container)
    return {"files": decodes}


LONG_ROWS = "table t { s: string = strings(lengths: bitpack); n: string? = nullable(validity: plain, values: strings(lengths: bitpack)); }\n"


def long_rows(s):
    """Strings of 0 bytes to 200 MiB a row, with nulls and without: all rows, ranges around the long ones, pipelines."""
    kib, mib = 1 << 10, 1 << 20
    longest = s.pick(200 * mib, 3 * mib)
    sizes = [0] * 5000 + [64 * kib] * 40 + [2 * mib] * 3 + [longest] + [0] * 3000 + [64 * kib] * 20 + [2 * mib, 7, 0, 3]
    directory, decodes = s.tree / "long", 0
    directory.mkdir()
    ends = array.array("q", [0])
    for size in sizes:
        ends.append(ends[-1] + size)
    pattern = bytes(k * 7 >> 3 & 255 ^ k >> 9 & 255 for k in range(mib + 3))  # its length divides nothing
    text = (pattern * (ends[-1] // len(pattern) + 1))[:ends[-1]]
    full = bytearray(b"\xff" * ((len(sizes) + 7) // 8))
    full[-1] &= (1 << (len(sizes) - 1) % 8 + 1) - 1
    for name, content in (("t.zf", LONG_ROWS.encode()), ("offsets", ends.tobytes()), ("text", text), ("valid", bytes(full))):
        (directory / name).write_bytes(content)
    container, out = directory / "t.zfd", directory / "out"
    s.run("zfc", "encode", "-q", "-f", "-c", directory / "t.zf", "-o", container, *(f"{column}.{part}={directory / file}" for column in "sn"
          for part, file in (("offsets", "offsets"), ("bytes", "text"))), f"n.valid={directory / 'valid'}")
    at = sizes.index(longest)
    for begin, end in ((0, len(sizes)), (at, at + 1), (at - 1, at + 2), (at - 40, at), (at + 1, len(sizes)), (0, 0), (4990, 5010)):
        s.run("zfc", "decode", "-q", "-f", "--device", s.device, "-o", out, "--rows", f"{begin}..{end}", container)
        offsets = array.array("q", (e - ends[begin] for e in ends[begin:end + 1])).tobytes()
        for column in "sn":
            decodes += 1
            if (out / f"{column}.offsets").read_bytes() != offsets or (out / f"{column}.bytes").read_bytes() != text[ends[begin]:ends[end]]:
                raise Failed(f"{column}: rows {begin} to {end} have other bytes")
    for unit in ("32M", "1M"):
        s.run("zfc", "pipeline", "-q", "--device", s.device, "--verify", "--unit", unit, container)
    return {"rows": len(sizes), "longest": longest, "decodes": decodes}


def query(s):
    """examples/query: the device's kernels give the answers of the CPU's loops, which tests compare with DuckDB's."""
    s.has("query")
    if s.device.startswith("cuda"):
        s.has("query.ptx")
    container, answers = s.data / "query.zfd", {}
    if not (s.data / "lineitem.csv").exists():
        raise Skipped("there is no lineitem.csv: the step `tpch` makes it")
    s.run("zfc", "encode", "-q", "-c", PACK / "examples/query/lineitem.zf", "-o", container, s.data / "lineitem.csv")
    for name, begins, least in (("q1", "l_returnflag|", 5), ("q6", "revenue", 2)):
        answers[name] = s.run("query", name, container, "cpu").splitlines()
        if len(answers[name]) < least or not answers[name][0].startswith(begins):
            raise Failed(f"{name} on the CPU printed no answer", answers)
        if s.run("query", name, container, s.device).splitlines() != answers[name]:
            raise Failed(f"{name}: the device's answer is not the CPU's", answers)
    return answers


def tile_kernel(s):
    """examples/tile_kernel: a kernel of nvcc that decodes columns itself gives the answers of `zfc query`; the times of both."""
    s.has("tile_kernel")
    if not s.device.startswith("cuda"):
        raise Skipped("the kernel runs on a GPU alone")
    nvcc, result = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc"), s.tree / "tile_kernel.json"
    if nvcc is None:
        raise Skipped("there is no nvcc")
    s.run(sys.executable, PACK / "examples/tile_kernel/run.py", s.tree / "tile_kernel", PACK / "bin/zfc", PACK / "bin/tile_kernel",
          "--device", s.device, "--scale", s.options.lines, "--nvcc", nvcc, "--json", result, limit=600)
    found = json.loads(result.read_text())["queries"]
    if sorted(found) != ["q1.1", "q1.2", "q1.3"] or not all(q["right"] and min(q["kernel_seconds"]) > 0 for q in found.values()):
        raise Failed(f"not all queries were answered: {found}")
    return {name: {k: round(q[k], 4) for k in ("kernel_ms", "query_ms", "ratio")} for name, q in found.items()}


def modules(s):
    """Columns that GPUs take through modules, general and specialised, by a program without LLVM: the bytes that the CPU's JIT gives."""
    s.has("gpu_module")
    linked = s.run("ldd", PACK / "bin/gpu_module")
    foreign = [line.strip() for line in linked.splitlines() if any(n in line.lower() for n in ("llvm", "stdc++", "cuda", "nvrtc"))]
    if foreign:
        raise Failed("gpu_module links " + "; ".join(foreign))
    device, compared = s.pick(s.device, "cpu"), 0  # the emulated GPU has no code in modules
    for table in TABLES:
        path, wanted = s.container(table), s.tree / f"jit-{table}"
        s.run("zfc", "decode", "-q", "-f", "--device", "cpu", "-o", wanted, path)
        for form, source in (("general", f"{s.program()}:{table}"), ("specialised", path)):
            module, out = s.tree / f"{table}-{form}.zfm", s.tree / f"module-{table}-{form}"
            out.mkdir()
            s.run("zfc", "compile", "-q", "-f", source, "-o", module)
            gave = summary(s.run("gpu_module", device, path, module, out))
            for part in sorted(out.iterdir()):  # zfc names values by their type
                alike = [p for p in wanted.glob(part.stem + ".*") if p.suffix == part.suffix or
                         (part.suffix == ".values" and p.suffix not in (".offsets", ".valid"))]
                if [p.read_bytes() for p in alike] != [part.read_bytes()]:
                    raise Failed(f"{part.name} is something else through the {form} module")
            compared += gave["columns"]
            if len(list(wanted.iterdir())) != len(list(out.iterdir())):
                raise Failed(f"{table}: {len(list(wanted.iterdir()))} files, {len(list(out.iterdir()))} through the {form} module")
            shutil.rmtree(out)
        shutil.rmtree(wanted)
    return {"columns": compared, "device": device, "linked": [line.split()[0] for line in linked.splitlines() if line.strip()]}


def rows(s):
    """Ranges of rows at the edges of blocks and tiles give what the CPU gives."""
    path, compared = s.container("lineitem"), 0
    for column in json.loads(s.run("zfc", "inspect", "--json", path))["columns"]:
        total, block = column["rows"], column["rows_per_block"]
        ranges = {(0, 1), (4095, 4097), (1, 70000), (block - 3, block + 5), (total - 1, total), (total // 2, total // 2)}
        for begin, end in sorted((b, e) for b, e in ranges if e <= total):
            outputs = []
            for device in ("cpu", s.device):
                out = s.tree / f"rows-{device.replace(':', '-')}"
                shutil.rmtree(out, ignore_errors=True)
                s.run("zfc", "decode", "-q", "-f", "--device", device, "--columns", column["column"], "--rows", f"{begin}..{end}", "-o", out, path,
                      environment={"MALLOC_PERTURB_": "90"})  # the memory begins as 0xa5: what is left out shows
                outputs.append(b"".join(p.read_bytes() for p in sorted(out.iterdir())))
            if outputs[0] != outputs[1] or (begin < end and not outputs[0]):
                raise Failed(f"{column['column']}, rows {begin}..{end}: the device's data differ from the CPU's")
            compared += 1
    return {"ranges": compared}


def gpu_program(name, gpu, emulated):
    """A program of tests/gpu, with words for a GPU and for the emulator."""

    def step(s):
        s.has(name)
        return summary(s.run(name, "--device", s.device, *s.pick(gpu, emulated)))

    return step


def queries(s):
    """Random queries, whose maps are fused, and random pairs: on a GPU side by side, in a process for each processor."""
    turns, count = s.pick(os.cpu_count() or 8, 1), s.pick(s.options.queries, 20)
    brief = s.pick(("--briefly", 1), ())
    runs = [("gpu_queries", "--device", s.device, "--seed", s.options.seed + turn * count, "--count", -(-count // turns), *brief) for turn in range(turns)]
    found = side_by_side(s, runs, limit=900)
    total = {name: sum(each.get(name, 0) for each in found) for name in found[0]}
    wanted = ["runs", "fused_columns", "launches", "pair_runs", "pairs", "squares"]
    if count >= 400:  # so many that each of these occurs
        wanted += ["large_runs", "units_from_host", "failed_as_on_a_cpu", "pair_runs_failed", "square_runs", "square_runs_failed"]
    if missing := [name for name in wanted if not total.get(name)]:
        raise Failed(f"none of {', '.join(missing)}: {total}")
    enough = total["pairs"] > count // 10 and total["units_from_host"] > count // 24 and total["square_runs"] + total["square_runs_failed"] > count // 80
    if count >= 400 and not (enough and total["pair_runs_failed"] < total["pair_runs"]):
        raise Failed(f"too few of a kind: {total}")
    return total


def side_by_side(s, runs, limit=600):
    """Runs programs at once, since most of their time goes into code that is made. Returns what each printed."""
    s.has(runs[0][0])
    with concurrent.futures.ThreadPoolExecutor(len(runs)) as pool:
        return [summary(said) for said in pool.map(lambda words: s.run(*words, limit=limit), runs)]


def chunks(s):
    """Uneven chunks of all programs, an eighth of them in each of eight processes."""
    if not s.device.startswith("cuda"):
        return gpu_program("gpu_chunks", (), ("--sample", 5))(s)
    found = side_by_side(s, [("gpu_chunks", "--device", s.device, "--all", 1, "--sample", f"8:{turn}") for turn in range(8)])
    if not all(each.get("files") and each.get("decodes") for each in found):
        raise Failed(f"not all programs were tried: {found}")
    return {name: sum(each[name] for each in found) for name in ("files", "decodes")}


FOREIGN = ("lz4", "snappy", "deflate", "zlib", "gzip", "zstd", "split", "dictionary")


def lacking(output):
    """The formats that a program says it skipped, since their library is missing."""
    said = [line for line in output.splitlines() if line.startswith("{")]
    try:
        return json.loads(said[-1]).get("skipped") or [] if said else []
    except (ValueError, AttributeError):  # of other programs: theirs say nothing of formats
        return []


def foreign(s):
    """Changed chunks of formats that others have. Each format has what was asked for, or lacks its library."""
    count = s.pick(10000, 300)
    found = side_by_side(s, [("gpu_foreign", "--device", s.device, "--count", count, "--formats", format) for format in FOREIGN])
    judged = {name: verdicts for each in found for name, verdicts in each.get("formats", {}).items()}
    skipped = [name for each in found for name in each.get("skipped", [])]
    wrong = [name for name, verdicts in judged.items() if verdicts.get("changed") != count]
    if wrong or sorted([*judged, *skipped]) != sorted(FOREIGN) or any(each.get("failures") != 0 for each in found):
        raise Failed(f"not all changed chunks were judged: {found}")
    result = {"changed": count * len(judged), "formats": judged}
    if skipped:
        raise Skipped(f"no library for {', '.join(skipped)}", result)
    return result


def hostile(tables, share, *words):
    """Changed containers; every `share`th of --hostile. On a GPU each decode is timed beside the good one of its column."""

    def step(s):
        s.has("gpu_mutated")
        count = max(1, s.pick(s.options.hostile, s.options.hostile // 20) // share)
        return summary(s.run("gpu_mutated", "--device", s.device, "--tables", tables, "--count", count, *words, limit=600))

    return step


def large(s):
    """Columns beyond 4 GiB of plain data; one of them also has more than 2^32 rows."""
    s.has("gpu_large")
    size = s.pick(s.options.large, 4 << 20)
    return [summary(s.run("gpu_large", "--device", s.device, "--column", column, "--bytes", size, "--block", s.pick(16 << 20, 1 << 18),
                          limit=120))
            for column in ("thin_u8", "thin_i64", "scan_i64", "groups_i64")]


def first_decode(s):
    """The waits of a user, in a process of its own: with empty caches (zipflow's, the driver's), then with full ones."""
    path, runs = s.container("lineitem"), {}
    total = min(1000000, json.loads(s.run("zfc", "inspect", "--json", path))["rows"])
    cache = {"ZIPFLOW_CACHE_DIR": str(s.tree / "first-cache"), "CUDA_CACHE_PATH": str(s.tree / "first-driver-cache")}
    for name in ("no_cache", "cache", "cache_again", "cache_once_more"):
        out = s.tree / "first"
        shutil.rmtree(out, ignore_errors=True)
        said = s.run("zfc", "decode", "--json", "-f", "--device", s.device, "--columns", "l_shipdate", "--rows", f"0..{total}", "-o", out,
                     path, environment=cache)
        runs[name] = {k: round(v, 4) for k, v in json.loads(said)[0]["waited"].items()}
        runs[name]["process"] = round(s.last_seconds, 4)
    # All but what every program that uses the GPU waits for: its own start, and the driver's and the GPU's.
    own = {n: round(r["compile"] + r["load"] + r["decode"], 4) for n, r in runs.items()}
    result = {"rows": total, "seconds": runs, "compile_load_decode": own,
              "limits": {"no_cache, whole process": 1.5, "cache, compile + load + decode": 0.05}}
    cached = max(v for n, v in own.items() if n != "no_cache")
    if s.device.startswith("cuda") and (runs["no_cache"]["process"] > 1.5 or cached > 0.05):
        raise Failed(f"{runs['no_cache']['process']} s without caches (1.5 are allowed), {cached} s with (0.05 are)", result)
    return result


def bench(*words):
    def step(s):
        return json.loads(s.run("zfc", "bench", "--json", "--device", s.device, "--bytes", s.options.bytes, *words, limit=400))

    return step


def bench_columns(s):
    return bench(*[s.container(table) for table in TABLES])(s)


def wheels(places):
    """The paths of wheels; a place is a wheel, or a folder of wheels."""
    found = []
    for place in places:
        path = needed(place, "script/wheel makes wheels in build/wheels")
        found += sorted(path.glob("*.whl")) if path.is_dir() else [path]
    if not found:
        raise Failed(f"there is no wheel in {', '.join(places)}: script/wheel makes them")
    return found


def python(*watch, chosen="", limit=400):
    """The wheels of --wheel beside torch, CuPy and, where it is there, pylibcudf of this machine; `watch`: the words before Python."""

    def step(s):
        if s.options.wheel is None:
            raise Skipped("no wheel is given (--wheel): script/wheel makes them")
        if not s.device.startswith("cuda"):
            raise Skipped("the device is not CUDA")
        site, said = s.tree / "site", s.tree / "python.xml"
        if not site.exists():
            for wheel in [zipfile.ZipFile(path) for path in wheels(s.options.wheel)]:  # opened before one is unpacked
                wheel.extractall(site)
        cudf = importlib.util.find_spec("pylibcudf") is not None
        named = " and ".join(f"({words})" for words in (chosen, "" if cudf else "not cudf") if words)
        s.run(*[shutil.which(word) or word for word in watch], sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junitxml", said,
              *(["-k", named] if named else []), PACK / "python/tests/on_gpu.py", limit=limit,
              environment={"ZF_TEST_DEVICE": s.device, "PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1"})
        suite = xml.etree.ElementTree.parse(said).getroot().find("testsuite")
        counts = {name: int(suite.get(name)) for name in ("tests", "failures", "errors", "skipped")}
        if counts["tests"] == 0 or sum(counts.values()) != counts["tests"]:
            raise Failed(f"pytest: {counts}", counts)
        return counts | {"cudf": cudf}

    return step


# Programs under compute-sanitizer, side by side, since most of the time goes into code that is made; buffers have their exact
# sizes, and no workspace is poisoned, so that initcheck sees what nobody wrote. With --sanitized 60 all of them took 111 s under
# memcheck on an H100.
SANITIZED = {
    "decode": lambda s: ["zfc", "decode", "-q", "-f", "--device", s.device, "--rows", "0..40000", "-o", s.tree / "sanitized",
                         s.container("lineitem")],
    "sizes": lambda s: ["gpu_sizes", "--device", s.device, "--sizes", "few", "--canary", 0],
    "sizes_general": lambda s: ["gpu_sizes", "--device", s.device, "--sizes", "few", "--general", 1, "--canary", 0],
    "mutated": lambda s: ["gpu_mutated", "--device", s.device, "--count", s.options.sanitized // 4, "--canary", 0, "--slow", 0],
    "mutated_general": lambda s: ["gpu_mutated", "--device", s.device, "--count", s.options.sanitized, "--general", 1, "--canary", 0,
                                  "--slow", 0],
    "mutated_strings": lambda s: ["gpu_mutated", "--device", s.device, "--tables", "states", "--count", s.options.sanitized, "--general", 1,
                                  "--ranges", 2, "--canary", 0, "--slow", 0],
    "uneven": lambda s: ["gpu_uneven", "--device", s.device],
    "streams": lambda s: ["gpu_streams", "--device", s.device, "--rounds", 2, "--rows", 140000, "--canary", 0],
    "pipeline": lambda s: ["gpu_pipeline", "--device", s.device, "--rows", 200000, "--rounds", 1],
    "differential": lambda s: ["zf-differential", "--from", 1, "--count", max(4, s.options.sanitized // 20)],
    "differential_kernels": lambda s: ["differential_kernels"],
    "ranges": lambda s: ["gpu_ranges", "--device", s.device, "--own", 9],
    "chunks": lambda s: ["gpu_chunks", "--device", s.device, "--sample", "40:7"],
    "foreign": lambda s: ["gpu_foreign", "--device", s.device, "--count", max(4, s.options.sanitized // 4), "--canary", 0],
}


def sanitizer(tool):
    def watched(s, program, name, kind):
        words = SANITIZED[name](s)
        s.has(words[0])
        begin = time.monotonic()
        # Programs side by side may use up the device's memory, which they handle: only accesses count.
        said = s.run(program, "--tool", kind, "--report-api-errors", "no", "--error-exitcode", 9, PACK / "bin" / words[0], *words[1:], limit=200,
                     environment={"ZF_TEST_DEVICE": s.device})
        lines = [line.strip("= ") for line in said.splitlines() if line.startswith("=========")]
        found = lines[-1] if lines else "nothing"
        if not found.startswith(("ERROR SUMMARY: 0 errors", "RACECHECK SUMMARY: 0 hazards")):  # a warning has no exit status
            raise Failed(f"{kind} said: {found}")
        result = {"said": found, "seconds": round(time.monotonic() - begin, 2)}
        if lacking(said):
            raise Skipped(f"no library for {', '.join(lacking(said))}", result)
        return result

    def step(s):
        if not s.device.startswith("cuda"):
            raise Skipped("the device is not CUDA")
        program = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
        if not os.access(program, os.X_OK):
            raise Skipped("compute-sanitizer is not on this machine")
        shutil.rmtree(s.tree / "sanitized", ignore_errors=True)
        result, failed, skipped = {}, [], []
        with concurrent.futures.ThreadPoolExecutor(len(SANITIZED)) as pool:
            running = {name: pool.submit(watched, s, program, name, tool) for name in SANITIZED}
            for name, future in running.items():
                try:
                    result[name] = future.result()
                except Skipped as why:
                    skipped.append(f"{name}: {why}")
                    if why.result is not None:
                        result[name] = why.result
                except Exception as why:  # of one program: what the others gave is kept
                    failed.append(f"{name}: {why}" if isinstance(why, Failed) else f"{name}: {type(why).__name__}: {why}")
        if failed:
            raise Failed("; ".join(failed + skipped), result)
        if skipped:
            raise Skipped("; ".join(skipped), result)
        return result

    return step


# One row to add one: name, function, what it shows.
STEPS = (
    ("devices", devices),
    ("test_cuda", unit("test_cuda")),
    ("cuda_shared", unit("test_cuda_shared")),
    ("test_runtime", unit("test_runtime")),
    ("test_provider", unit("test_provider")),
    ("sizes", gpu_program("gpu_sizes", (), ("--sizes", "few"))),
    ("sizes_general", gpu_program("gpu_sizes", ("--general", 1), ("--general", 1, "--sizes", "few"))),
    ("mutated", gpu_program("gpu_mutated", ("--count", 2000), ("--count", 2000))),
    ("hostile", hostile("forms,library", 1)),
    ("hostile_strings", hostile("states,library", 5, "--ranges", 2)),
    ("states", gpu_program("gpu_states", (), ())),
    ("lies", gpu_program("gpu_lies", (), ())),
    ("queries", queries),
    ("prepared_query", unit("test_prepared_query")),
    ("query_stretches", unit("test_query_stretches")),
    ("query_large", unit("test_query_large")),
    ("ranges", gpu_program("gpu_ranges", ("--own", 1, "--std", 4), ("--own", 4, "--std", 60))),
    ("uneven_words", gpu_program("gpu_uneven", ("--rows", 300000), ())),
    ("chunks", chunks),
    ("foreign", foreign),
    ("streams", gpu_program("gpu_streams", ("--rounds", 50, "--rows", 500000, "--plug", 256 << 20), ("--rounds", 4, "--rows", 140000))),
    ("pipeline", gpu_program("gpu_pipeline", ("--rows", 3000000), ("--rows", 200000, "--rounds", 1))),
    ("differential", differential),
    ("differential_kernels", unit("differential_kernels")),
    ("tpch", tpch),
    ("golden", golden),
    ("uneven", uneven),
    ("long_rows", long_rows),
    ("test_zones", unit("test_zones")),
    ("test_lists", unit("test_lists")),
    ("columns", columns),
    ("query", query),
    ("tile_kernel", tile_kernel),
    ("modules", modules),
    ("rows", rows),
    ("first_decode", first_decode),
    ("large", large),
    ("bench", bench("--generate", "all")),
    ("bench_general", bench("--general", "--generate", "bitpack,dictionary")),
    ("bench_columns", bench_columns),
    ("python", python()),
    ("python_memcheck", python("compute-sanitizer", "--tool", "memcheck", "--report-api-errors", "no", "--error-exitcode", "9",
                               chosen="not exit and not loader and not memory and not behind and not order")),
    ("memcheck", sanitizer("memcheck")),
    ("racecheck", sanitizer("racecheck")),
    ("synccheck", sanitizer("synccheck")),
    ("initcheck", sanitizer("initcheck")),
)


def brief(result):
    """The numbers of a result, for the table."""
    if not isinstance(result, dict):
        return ""
    own = {k: v for k, v in result.items() if isinstance(v, (int, float)) and k not in ("seconds", "seed", "failures")}
    return ", ".join(f"{k} {v}" for k, v in own.items())[:160]


def machine():
    facts = {"system": platform.platform(), "libc": " ".join(platform.libc_ver()), "cores": os.cpu_count(), "python": platform.python_version()}
    try:
        query = "name,driver_version,memory.total,clocks.max.sm,clocks.max.memory"
        facts["nvidia_smi"] = subprocess.run(["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader"], capture_output=True, text=True,
                                             timeout=30, check=True).stdout.strip().splitlines()
    except (OSError, subprocess.SubprocessError) as missing:
        facts["nvidia_smi"] = str(missing)
    return facts


def needed(path, how):
    """The path of a file that there must be; `how` to come by it."""
    path = pathlib.Path(path).resolve()
    if not path.exists():
        sys.exit(f"{pathlib.Path(sys.argv[0]).name}: there is no {path}: {how}")
    return path


def unplaced(word):
    """An argument as the report has it: of a path its name. Where a machine keeps its files is nobody's business, and no checkout has them."""
    option, equals, path = word.rpartition("=")
    return option + equals + (os.path.basename(os.path.normpath(path)) if os.sep in path else path)


def report_text(s, report):
    """The report, with the files of session and pack named from their directories on."""
    return json.dumps(report, indent=1).replace(f"{s.tree}/", "").replace(f"{PACK}/", "") + "\n"


def main():
    parser = argparse.ArgumentParser(prog="script/gpu-test", description="Runs the packed tests and the benchmark on this machine's GPU.")
    parser.add_argument("--device", default="cuda", help="what zfc --device takes (default: cuda)")
    parser.add_argument("--out", default="results", help="directory for results.json and log.txt (default: results)")
    parser.add_argument("--scale", default="1", help="scale factor of TPC-H (default: 1)")
    parser.add_argument("--lines", default="20", help="scale factor of SSB, for `tile_kernel` (default: 20)")
    parser.add_argument("--programs", default=200, type=int, help="random programs of the differential test (default: 200)")
    parser.add_argument("--queries", default=1600, type=int, help="random queries (default: 1600)")
    parser.add_argument("--seed", default=1, type=int, help="of the random queries (default: 1)")
    parser.add_argument("--bytes", default=1 << 30, type=int, help="bytes of plain data a measurement decodes (default: 1 GiB)")
    parser.add_argument("--large", default=(1 << 32) + (1 << 20) + 80, type=int, help="bytes of a large column (default: 4 GiB and 1 MiB)")
    parser.add_argument("--hostile", default=10000, type=int,
                        help="changed containers of the steps `hostile` and, a fifth, `hostile_strings` (default: 10000)")
    parser.add_argument("--sanitized", default=60, type=int,
                        help="mutated containers under compute-sanitizer, a quarter of them in the specialised form, too (default: 60)")
    parser.add_argument("--wheel", action="append",
                        help="a wheel of the Python package, or a folder of them (build/wheels), for the steps `python`; may be repeated")
    parser.add_argument("--budget", default=1800, type=float, help="seconds for everything (default: 1800)")
    parser.add_argument("--only", default="", help="only these steps, separated by commas: " + ", ".join(n for n, _ in STEPS))
    options = parser.parse_args()
    only = [n for n in options.only.split(",") if n]
    unknown = [n for n in only if n not in dict(STEPS)]
    if unknown:
        parser.error("there is no step " + ", ".join(unknown))

    s = Session(options)
    report = {"commit": (PACK / "COMMIT").read_text().strip(), "command": [unplaced(word) for word in sys.argv[1:]],
              "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
              "device": options.device, "machine": machine(), "steps": []}
    counts = {"good": 0, "failed": 0, "skipped": 0}
    for name, function in STEPS:
        if only and name not in only:
            continue
        entry, begin = {"step": name}, time.monotonic()
        try:
            entry["result"] = function(s)
            entry["status"] = "good"
        except Skipped as why:
            if why.result is not None:
                entry["result"] = why.result
            entry.update(status="skipped", why=str(why))
        except Exception as why:  # also what a step did not expect of a program: the others run, and there is a verdict
            if getattr(why, "result", None) is not None:
                entry["result"] = why.result
            entry.update(status="failed", why=f"{type(why).__name__}: {why}" if not isinstance(why, Failed) else str(why))
        entry["seconds"] = round(time.monotonic() - begin, 2)
        counts[entry["status"]] += 1
        report["steps"].append(entry)
        print(f"{name:<20} {entry['status']:<8} {entry['seconds']:>8.2f} s  {entry.get('why') or brief(entry.get('result'))}", flush=True)
        (s.out / "results.json").write_text(report_text(s, report))  # what is known survives a lost machine
    good = counts["failed"] == 0 and counts["skipped"] == 0 and counts["good"] > 0
    report.update(verdict="good" if good else "not good", counts=counts)
    (s.out / "results.json").write_text(report_text(s, report))
    shutil.rmtree(s.tree, ignore_errors=True)
    print(f"results are in {s.out}/results.json, everything that was written in {s.out}/log.txt")
    print("All steps succeeded." if good else "Not all steps succeeded: " + ", ".join(f"{n} {k}" for k, n in counts.items()))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
