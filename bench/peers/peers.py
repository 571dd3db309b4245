"""zipflow and nvCOMP on the same bytes, in one run on one GPU; and zipflow's kernels with and without their checks.

    peers.py [PART...] [OPTIONS]      PART: lanes, table2, checks, blocks, damage (default: all); OPTIONS: peers.py --help

Rows are written to OUT/PART.json as they come. Whatever fails or takes too long is a row that says so, and the next one is measured.
Each file names the counted bytes under `counted`. The exit status is 0 when every row was measured and right.
"""

import argparse
import concurrent.futures
import contextlib
import json
import os
import pathlib
import queue
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
import time

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "script"))

import numpy as np  # noqa: E402

import choices  # noqa: E402
import data  # noqa: E402
import orc_runs  # noqa: E402
from damage import part_damage  # noqa: E402
from gpu_test import machine, needed, unplaced  # noqa: E402
from nvcomp_batched import library_from  # noqa: E402

COUNTED = {
    "by": "zipflow: as `zfc bench --json` counts, whose words these rows have. nvcomp: see below",
    "ratio": "plain by stored bytes. zipflow: every byte of the file that belongs to the column, directories, tables and seek states too; "
             "of strings plain are the characters, while their lengths count as stored. nvcomp: the compressed chunks alone, no sizes, "
             "offsets or lengths of strings; `ratio_with_sizes` adds 4 bytes a chunk",
    "gb_per_second": "plain bytes written, in units of 1e9, by the median time, from the GPU's memory to its memory; of strings "
                     "zipflow writes offsets, too, and `characters_gb_per_second` counts their characters alone; nvcomp has the characters only",
    "decode_seconds": "between two events; launches are queued while untimed calls and the poisoning before them run, so that the "
                      "host's part does not count; nvcomp: of one call for all chunks; compressed chunks lie packed, "
                      "each 16-byte aligned; every copy of the column is decoded from its own memory to its own",
    "fraction_of_limit": "(bytes read + bytes written) a second by those of a copy in the same process",
    "verified": "zipflow: every byte of every round is compared with an unoptimised decode, and a decode on the CPU with the source. nvcomp: "
                "statuses, sizes, and every byte of the last round are compared with the source; outputs are poisoned before each",
}


class Failed(Exception):
    """A measurement failed, and why; the status of the program that said so, if one did."""

    def __init__(self, why, code=None):
        super().__init__(why)
        self.code = code


class Unknown(Failed):
    """The program at hand does not know a codec: its rows are left out."""


# ---- Programs -------------------------------------------------------------------------------------------------------


class Session:
    def __init__(self, options, tree):
        self.options, self.tree = options, tree
        self.out = pathlib.Path(options.out)
        self.out.mkdir(parents=True, exist_ok=True)
        self.log = open(self.out / "log.txt", "a", encoding="utf-8")
        self.lock = threading.Lock()
        self.end = time.monotonic() + options.budget
        self.environment = dict(os.environ, ZIPFLOW_CACHE_DIR=str(tree / "cache"), TMPDIR=str(tree))
        self.zfc, self.generator = self.programs()
        self.worker = None
        self.before = None  # a function of containers that are about to be measured
        self.reader = "pyarrow"  # of texts
        self.tables = {}  # of TPC-H: {name: {column: {ending: array}}}

    def programs(self):
        if self.options.zfc:
            generator = shutil.which(self.options.tpchgen) or self.options.tpchgen
            return needed(self.options.zfc, "--zfc names the program"), str(pathlib.Path(generator).absolute())  # programs run elsewhere
        with tarfile.open(needed(self.options.pack, "script/pack makes it; --zfc does without")) as archive:
            archive.extractall(self.tree, filter="data")
        pack = self.tree / "zipflow-pack"
        return pack / "bin/zfc", pack / "bin/tpchgen-cli"

    def left(self):
        return self.end - time.monotonic()

    def note(self, text):
        with self.lock:
            self.log.write(text.rstrip() + "\n")
            self.log.flush()

    def run(self, *words, limit=120, codes=(0,), directory=None):
        """Returns the output of a program, which runs in `directory`, or where the results are made."""
        words = [str(w) for w in words]
        limit, begin = min(limit, self.left()), time.monotonic()
        if limit <= 0:
            raise Failed("the time is used up (--budget)")
        try:
            result = subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=limit, env=self.environment,
                                    cwd=directory or self.tree)
        except FileNotFoundError:
            raise Failed(f"there is no {pathlib.Path(words[0]).name}") from None
        except subprocess.TimeoutExpired:
            self.note(f"$ {' '.join(words)}\n[stopped after {limit:.0f} s]")
            raise Failed(f"{words[1]} was stopped after {limit:.0f} s") from None
        self.note(f"$ {' '.join(words)}\n{result.stderr}[{result.returncode}, {time.monotonic() - begin:.2f} s]")
        if result.returncode not in codes:
            raise Failed(" | ".join((result.stderr.strip() or result.stdout.strip()).splitlines()[-4:]) or f"{words[1]} gave {result.returncode}", result.returncode)
        return result.stdout

    def tpch(self, table, columns):
        """Columns of a table as pyarrow reads them: {column: {ending: array}}. `columns`: {name: type as zfc has it}."""
        data.make_tables(self.generator, self.tree / "tpch", self.options.scale, [table])
        have = self.tables.setdefault(table, {})
        missing = {name: kind for name, kind in columns.items() if name not in have}
        if missing:
            have.update(self.read(self.tree / "tpch" / f"{table}.csv", missing))
        return {name: have[name] for name in columns}


    def read(self, path, columns):
        """Columns of a text, {name: {ending: array}}: by pyarrow, or where that is missing by zfc, stored as they are."""
        try:
            from demo_table import read_source
            return read_source(path, columns)
        except ImportError as missing:
            self.reader = f"zfc, plain columns: {missing}"
        program, container, out = self.tree / "plain.zf", self.tree / "plain.zfd", self.tree / "plain"
        rows = "".join(f" {name}: {kind} = {'strings' if kind == 'string' else 'plain'};" for name, kind in columns.items())
        program.write_text(f'import "std.zf"; table t {{{rows} }}\n')
        self.run(self.zfc, "encode", "-q", "-f", "-c", program, "-o", container, path)
        self.run(self.zfc, "decode", "-q", "-f", "--device", "cpu", "-o", out, container)
        kinds = {"offsets": np.int64, "bytes": np.uint8}
        return {name: {file.suffix[1:]: np.fromfile(file, kinds.get(file.suffix[1:], np.uint8)) for file in sorted(out.glob(f"{name}.*"))}
                for name in columns}


class Report:
    """A file of results, written anew with every row."""

    def __init__(self, session, part):
        self.path, self.session = session.out / f"{part}.json", session
        self.head = {"bench": f"peers {part}", "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                     "command": " ".join(["bench/peers/peers.py", *[unplaced(w) for w in sys.argv[1:]]]), "machine": machine(),
                     "counted": COUNTED, "bytes": session.options.bytes, "load_before": os.getloadavg()[0]}
        self.rows, self.left_out = [], []
        self.besides = {}  # {(data, name): what else a row of ours has}
        self.begin = time.monotonic()
        self.save()

    def learn(self, found):
        """Build and device, from a report of `zfc bench`."""
        for key in ("version", "commit", "llvm", "device"):
            if key in found:
                self.head.setdefault(key, found[key])

    def add(self, row):
        self.rows.append(row)
        self.save()
        what = f"{row.get('data', '')} {row['by']} {row.get('name') or row.get('codec', '')} {row.get('decoder', '')}"
        size = f" {row['chunk_bytes'] >> 10}K" if "chunk_bytes" in row else ""
        speed = f" {row['gb_per_second']:9.1f} GB/s" if "gb_per_second" in row else ""
        ratio = f"{row['ratio']:8.2f}" if "ratio" in row else ""
        good = ratio + speed if row.get("verified") else row.get("message", "")
        print(f"{what + size:<72} {good}", flush=True)

    def fail(self, why, **row):
        self.add({**row, "verified": False, "message": str(why)})

    def leave_out(self, why, **row):
        self.left_out.append({**row, "why": str(why)})
        self.save()
        print(f"{row.get('data', '')} {row.get('name', '')}: left out: {why}", flush=True)

    def save(self):
        text = json.dumps({**self.head, "texts_read_by": self.session.reader, "seconds": round(time.monotonic() - self.begin, 1), "load_after": os.getloadavg()[0],
                           "left_out": self.left_out, "results": self.rows}, indent=1)
        text = text.replace(f"{self.session.tree}/", "")  # where this machine keeps its files is nobody's business
        self.path.with_suffix(".tmp").write_text(text + "\n")
        self.path.with_suffix(".tmp").replace(self.path)

    def good(self):
        return bool(self.rows) and all(r.get("verified") for r in self.rows)


# ---- zipflow --------------------------------------------------------------------------------------------------------


def encode(s, name, program, table, inputs, sources, limit=150, verb="encode"):
    """Makes a container, from rows or by `wrap` from chunks, decodes it on the CPU and compares that with the sources, {file's name: array}."""
    text, container, out = s.tree / f"{name}.zf", s.tree / f"{name}.zfd", s.tree / f"{name}.decoded"
    text.write_text(program)
    try:
        s.run(s.zfc, "check", "-q", text)
    except Failed as why:
        raise Unknown(str(why)) from None
    s.run(s.zfc, verb, "-q", "-f", "-c", f"{text}:{table}", "-o", container, *inputs, limit=limit)
    s.run(s.zfc, "decode", "-q", "-f", "--device", "cpu", "-o", out, container, limit=limit)
    wrong = [file for file, array in sources.items() if not np.array_equal(np.fromfile(out / file, np.uint8), bytes_of(array))]
    shutil.rmtree(out, ignore_errors=True)
    if wrong:
        raise Failed(f"a decode on the CPU differs from the source: {', '.join(wrong)}")
    return container


def bytes_of(array):
    return np.ascontiguousarray(array).view(np.uint8).reshape(-1)


def bench(s, report, words, limit=120, volume=1):
    """Rows of `zfc bench` of `volume` times --bytes, good and bad; a report that cannot be read is a failure."""
    said = s.run(s.zfc, "bench", "--json", f"--device={s.options.device}", f"--bytes={volume * s.options.bytes}", f"--repeats={s.options.repeats}",
                 *words, limit=limit, codes=(0, 1))
    try:
        found = json.loads(said)
        report.learn(found)
        return {(r["source"], r["column"]): r for r in found["results"]}
    except (ValueError, KeyError, TypeError) as why:
        raise Failed(f"`zfc bench` printed no report: {why}") from None


def take(report, row, name, label):
    """A row of `zfc bench` into the report."""
    row = {**report.besides.get((label, name), {}), **row, "source": pathlib.PurePath(row["source"]).name}
    if row.get("verified"):
        report.add({"data": label, "by": "zipflow", "name": name, **row})
    else:
        report.fail(row.get("message", "not measured"), data=label, by="zipflow", name=name)


def bench_each(s, report, containers, wanted):
    """Measures containers, all in one process, and those columns that it did not measure once more alone. `wanted`: (container,
    column, name, label)."""
    if s.before is not None:
        s.before(list(dict.fromkeys(container for container, *_ in wanted)))
    try:
        found = bench(s, report, containers, limit=30 + 10 * len(wanted))
    except Failed as why:
        s.note(f"all together: {why}")
        found = {}
    for container, column, name, label in wanted:
        row = found.get((str(container), column))
        if row is None or not row.get("verified"):
            try:
                row = bench(s, report, ["--columns", column, container], limit=30)[(str(container), column)]
            except (Failed, KeyError) as why:
                report.fail(why, data=label, by="zipflow", name=name)
                continue
        take(report, row, name, label)


# ---- nvCOMP ---------------------------------------------------------------------------------------------------------


class Worker:
    """The process that measures nvCOMP; made anew when it is gone."""

    def __init__(self, session):
        self.s, self.process, self.lines, self.facts = session, None, None, None
        self.library = library_from(session.options.nvcomp, session.tree)

    def start(self):
        words = [sys.executable, HERE / "nvcomp_worker.py", self.s.options.libcuda, self.library, str(self.s.options.bytes)]
        self.process = subprocess.Popen([str(w) for w in words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.s.log, text=True)
        self.lines = queue.Queue()
        threading.Thread(target=self.listen, args=(self.process, self.lines), daemon=True).start()
        self.facts = self.next(60)

    @staticmethod
    def listen(process, lines):
        for line in process.stdout:
            lines.put(line)
        lines.put(None)

    def next(self, limit):
        try:
            line = self.lines.get(timeout=max(0.1, min(limit, self.s.left())))
        except queue.Empty:
            self.stop()
            raise Failed(f"nvCOMP's process was stopped after {limit:.0f} s") from None
        if line is None:
            code = self.process.wait()
            self.stop()
            raise Failed(f"nvCOMP's process ended with {code}")
        return json.loads(line)

    def stop(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        self.process = None

    def ask(self, plain, choice):
        """Rows of one choice, and what failed, or None."""
        limit = self.s.options.patience
        if self.s.left() <= 0:
            raise Failed("the time is used up (--budget)")
        if self.process is None or self.process.poll() is not None:
            self.start()
        try:
            self.process.stdin.write(json.dumps({"plain": str(plain), "choice": choice, "bytes": self.s.options.bytes, "seconds": limit / 10}) + "\n")
            self.process.stdin.flush()
        except OSError:
            self.stop()
            raise Failed("nvCOMP's process is gone") from None
        rows, error = [], None
        while True:
            said = self.next(limit)
            if "done" in said:
                break
            if "error" in said:
                error = said["error"]
            else:
                rows.append(said)
        return rows, error


def measure_nvcomp(s, report, label, plain, wanted):
    """`plain`: an array. A row for each way to decode of each choice."""
    if s.worker is None:
        return
    path = s.tree / f"{re.sub('[^A-Za-z0-9_]', '_', label)}.plain"
    bytes_of(plain).tofile(path)
    for choice in wanted:
        what = {"data": label, "by": "nvcomp", "codec": " ".join([choice[0], *choice[1]]), "chunk_bytes": choice[2]}
        try:
            rows, error = s.worker.ask(path, choice)
            for row in rows:
                report.add({"data": label, **row})
            if error:
                report.fail(error, **what)
        except Failed as why:
            report.fail(why, **what)
        if s.worker.facts:
            for key, value in s.worker.facts.items():
                report.head.setdefault(key, value)
    path.unlink()


# ---- Parts ----------------------------------------------------------------------------------------------------------


def cut_rows(offsets, text, size):
    """The first rows of strings, with at most `size` characters."""
    rows = max(1, int(np.searchsorted(offsets, size, side="right")) - 1)
    return offsets[:rows + 1], text[:int(offsets[rows])]


def lanes_data(s, name):
    """(inputs of the encoder, {decoded file: array}, plain for nvCOMP, type), or Failed."""
    size = s.options.made
    if name == "o_comment":
        column = s.tpch("orders", {name: "string"})[name]
        offsets, text = cut_rows(column["offsets"], column["bytes"], size)
        offsets.tofile(s.tree / f"{name}.offsets")
        text.tofile(s.tree / f"{name}.bytes")
        inputs = [f"c.offsets={s.tree / name}.offsets", f"c.bytes={s.tree / name}.bytes"]
        return inputs, {"c.offsets": offsets, "c.bytes": text}, text, "string"
    if name == "l_comment":
        plain = s.tpch("lineitem", {name: "string"})[name]["bytes"][:size]
    elif name == "corpora":
        if not s.options.corpora:
            raise Unknown("no --corpora")
        plain = data.corpora(s.options.corpora, size)
    else:
        plain = {"symbols3": data.symbols3, "symbols64": data.symbols64}[name](size)
    plain.tofile(s.tree / name)
    return [f"c={s.tree / name}"], {"c.u8": plain}, plain, "u8"


def make_lanes(s, report, only=None):
    """Containers of choices.LANES: {(data, name): path}; and plain data by name."""
    made, plains = {}, {}
    with concurrent.futures.ThreadPoolExecutor(max(1, (os.cpu_count() or 2) // 2)) as pool:
        running = {}
        for name, what in choices.LANES.items():
            rows = [(k, v) for k, v in what["ours"].items() if only is None or (name, k) in only]
            if not rows or not s.options.wants(name):
                continue
            try:
                inputs, sources, plains[name], kind = lanes_data(s, name)
            except Unknown as why:
                report.leave_out(why, data=name)
                continue
            except Exception as why:  # of this data
                report.fail(why, data=name, by="zipflow", name="data")
                continue
            for k, (label, codec) in enumerate(rows):
                program = f'import "std.zf"; table t {{ c: {kind} = {codec}; }}\n'
                running[name, label] = pool.submit(encode, s, f"{name}_{k}", program, "t", inputs, sources)
        for (name, label), future in running.items():
            try:
                made[name, label] = future.result()
            except Unknown as why:
                report.leave_out(why, data=name, by="zipflow", name=label)
            except Exception as why:  # of this container
                report.fail(why, data=name, by="zipflow", name=label)
    return made, plains


def part_lanes(s, report):
    made, plains = make_lanes(s, report)
    report.head["made_bytes"] = s.options.made
    for name, plain in plains.items():
        mine = {label: path for (of, label), path in made.items() if of == name}
        bench_each(s, report, list(mine.values()), [(path, "c", label, name) for label, path in mine.items()])
        measure_nvcomp(s, report, name, plain, choices.LANES[name]["nvcomp"])


def table2_program(path, only_marked, wants):
    """A program of examples/tpch with the columns of table 2 alone that are wanted, and {table: {column: type}} of them."""
    if not path.exists():
        raise Failed(f"there is no {path}: this part needs zipflow's tree")
    kept, tables, table = [], {}, None
    for line in path.read_text().splitlines():
        begins, column = re.match(r"table (\w+) \{", line), re.match(r"\s+(\w+):\s+(\w+)\s*=", line)
        if begins:
            table = begins[1]
        if table is not None and column:
            if only_marked and "table 2" not in line or not wants(column[1]):
                continue
            tables.setdefault(table, {})[column[1]] = column[2]
        kept.append(line)
        if line == "}":
            table = None
    for name in re.findall(r"^table (\w+)", "\n".join(kept), re.MULTILINE):
        if name not in tables:  # it has no such column
            text = "\n".join(kept)
            kept = re.sub(rf"^table {name} \{{.*?^\}}", "", text, flags=re.MULTILINE | re.DOTALL).splitlines()
    return "\n".join(kept) + "\n", tables


def decoded_files(columns, arrays):
    """The output of `zfc decode` for columns, {file: array}."""
    return {f"{name}.{ending}": array for name in columns for ending, array in arrays[name].items()}


def part_table2(s, report):
    report.head["scale"] = s.options.scale
    programs = {"the paper's": table2_program(ROOT / "examples/tpch/tpch.zf", True, s.options.wants),
                "ours": table2_program(ROOT / "examples/tpch/tpch_ours.zf", False, s.options.wants)}
    jobs, wanted, sources = {}, [], {}
    for table, columns in programs["the paper's"][1].items():
        try:
            sources[table] = s.tpch(table, columns)
        except Exception as why:  # the other tables are measured
            report.fail(why, by="peers.py", name=table)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for nest, (text, tables) in programs.items():
            for table in (t for t in tables if t in sources):
                jobs[nest, table] = pool.submit(encode, s, f"{table}_{'ours' if nest == 'ours' else 'paper'}", text, table,
                                                [s.tree / "tpch" / f"{table}.csv"], decoded_files(tables[table], sources[table]))
        for column in (c for c in choices.NUMBERED if c in sources.get("lineitem", ())):
            jobs["numbered", column] = pool.submit(encode_numbered, s, column, sources["lineitem"])
        containers = []
        for (nest, table), job in jobs.items():
            numbered = nest == "numbered"
            columns = list(choices.NUMBERED_OURS) if numbered else programs[nest][1][table]
            try:
                path = job.result()
            except Exception as why:  # of this container
                for column in [table] if numbered else columns:
                    report.fail(why, data=column, by="zipflow", name=nest)
                continue
            columns = [c for c in columns if s.options.wants(table if numbered else c)]
            containers.append((path, columns))
            wanted += [(path, c, c if numbered else nest, f"{table}, numbered" if numbered else c) for c in columns]
    for path, columns in containers:
        for volume, some in by_volume(columns):
            with decoding(s, volume):
                bench_each(s, report, ["--columns", ",".join(some), path], [w for w in wanted if w[0] == path and w[1] in some])
    rows = [(c, of, v) for of, columns in choices.TABLE2.items() for c, v in columns.items()]
    rows += [(f"{c}, numbered", "lineitem", v) for c, v in choices.NUMBERED.items()]
    for column, table, nv in rows:
        arrays = sources.get(table, {}).get(column)
        if arrays is None or not s.options.wants(column.partition(",")[0]):
            continue
        with decoding(s, choices.VOLUME.get(column, 1)):
            measure_nvcomp(s, report, column, arrays["bytes"] if "bytes" in arrays else next(iter(arrays.values())), nv)


def by_volume(columns):
    """[(times --bytes, columns)]; first those of which --bytes are decoded."""
    volumes = sorted({choices.VOLUME.get(c, 1) for c in columns})
    return [(v, [c for c in columns if choices.VOLUME.get(c, 1) == v]) for v in volumes]


@contextlib.contextmanager
def decoding(s, volume):
    """Measurements decode `volume` times --bytes."""
    whole = s.options.bytes
    s.options.bytes = int(volume * whole)
    try:
        yield
    finally:
        s.options.bytes = whole


def encode_numbered(s, column, arrays):
    """A container of a column of few strings by their numbers, which `arrays` has from now on, too: a column for each of our codecs."""
    numbers = number_rows(arrays[column]["offsets"], arrays[column]["bytes"])
    numbers.tofile(s.tree / f"{column}.numbers")
    arrays[f"{column}, numbered"] = {"u8": numbers}
    columns = "".join(f" {name}: u8 = {codec};" for name, codec in choices.NUMBERED_OURS.items())
    inputs, sources = [f"{name}={s.tree / column}.numbers" for name in choices.NUMBERED_OURS], {f"{name}.u8": numbers for name in choices.NUMBERED_OURS}
    return encode(s, f"{column}_numbered", f'import "std.zf"; table t {{{columns} }}\n', "t", inputs, sources)


def number_rows(offsets, text):
    """Strings by their numbers, which are in no order; at most 256 different ones."""
    lengths = np.diff(offsets)
    numbers, count = np.empty(len(lengths), np.uint8), 0
    for length in np.unique(lengths):
        at = np.flatnonzero(lengths == length)
        rows = text[offsets[at][:, None] + np.arange(length)]
        weights = np.random.Generator(np.random.PCG64(length)).integers(0, 1 << 63, length, np.uint64)
        _, first, which = np.unique(rows.astype(np.uint64) @ weights, return_index=True, return_inverse=True)  # rows by a hash of theirs
        if count + len(first) > 256 or not np.array_equal(rows[first][which], rows):
            raise Failed("more than 256 different strings, or two that are alike")
        numbers[at] = (count + which).astype(np.uint8)
        count += len(first)
    return numbers


TURNS = 4


def part_checks(s, report):
    """Each column with checks and without, TURNS times in turn; the best of each counts."""
    made, _ = make_lanes(s, report, {(name, label) for _, name, label in choices.CHECKED if name})
    for form, name, label in choices.CHECKED:
        if (name and (name, label) not in made) or not s.options.wants(name or label):
            continue
        words = [made[name, label]] if name else ["--generate", label]
        try:
            found = [next(iter(bench(s, report, [*more, *words], limit=60).values())) for more in ((), ("--unchecked",)) * TURNS]
        except (Failed, StopIteration) as why:
            report.fail(why, data=name or label, by="zipflow", name=label, form=form)
            continue
        bad = [r for r in found if not r.get("verified")]
        if bad:
            report.fail(bad[0].get("message", "not measured"), data=name or label, by="zipflow", name=label, form=form)
            continue
        on, off = ([r["decode_seconds"]["median"] for r in found[k::2]] for k in (0, 1))
        report.add({"data": name or label, "by": "zipflow", "form": form, "name": label, "codec": found[0]["codec"], "kernels": found[0]["kernels"],
                    "ratio": found[0]["ratio"], "plain_bytes": found[0]["plain_bytes"], "seconds_with_checks": on, "seconds_without": off,
                    "gb_per_second": found[0]["plain_bytes"] / min(on) / 1e9, "gb_per_second_without": found[0]["plain_bytes"] / min(off) / 1e9,
                    "cost_percent": 100 * (min(on) / min(off) - 1), "verified": True})
        print(f"{'':<72} {report.rows[-1]['cost_percent']:8.1f}% for checks", flush=True)


KINDS = {1: "u8", 4: "u32", 8: "i64"}  # of blocks_data, by bytes of an element
MOST_OF_MODES = 16 << 20  # bytes of a column in one of ORC's modes, whose encoder is a loop of Python


def blocks_data(s):
    """Data of choices.BLOCKS, {name: array}, at most --made bytes each."""
    read = s.tpch("lineitem", {"l_comment": "string", "l_returnflag": "string", "l_orderkey": "i64", "l_partkey": "i64", "l_linenumber": "i64", "l_shipdate": "date32"})
    one = {name: arrays["bytes"] if "bytes" in arrays else next(iter(arrays.values())) for name, arrays in read.items()}
    keys, dates = one["l_orderkey"].view(np.int64), one["l_shipdate"].view(np.int32)
    dates = dates - dates.min()
    found = {"l_comment, characters": one["l_comment"], "l_orderkey, bytes": bytes_of(keys), "l_shipdate sorted, i64": np.sort(one["l_shipdate"].view(np.int32)).astype(np.int64),
             "l_partkey, i64": one["l_partkey"].view(np.int64), "l_orderkey, i64": keys, "l_linenumber, i64": one["l_linenumber"].view(np.int64),
             "l_shipdate, u32 from 0": dates.astype(np.uint32), "l_shipdate sorted, u32 from 0": np.sort(dates).astype(np.uint32), "l_returnflag, characters": one["l_returnflag"]}
    found |= {name: orc_runs.rows(mode, min(s.options.made, MOST_OF_MODES)) for name, mode in choices.MODES.items()}
    return {name: array[:s.options.made // array.itemsize] for name, array in found.items()}


def compressor(library):
    """A function from bytes to those that zlib, at its level 6, or a library of pyarrow's makes of them: Zstandard's at level 3."""
    if library in ("deflate", "gzip"):
        import zlib

        def compress(piece):
            maker = zlib.compressobj(6, zlib.DEFLATED, -15 if library == "deflate" else 31)
            return maker.compress(piece) + maker.flush()
        return compress
    import pyarrow
    codec = pyarrow.Codec(library, compression_level=3) if library == "zstd" else pyarrow.Codec(library)
    return lambda piece: codec.compress(piece, asbytes=True)


def compressed(plain, library, chunk):
    """Chunks that a library compressed, or of one of ORC's modes, and a list of their sizes as `zfc wrap` reads it."""
    if library in orc_runs.MODES:
        runs = orc_runs.chunks(library, plain)
        return b"".join(chunk for chunk, _ in runs), "".join(f"{len(chunk)} {rows}\n" for chunk, rows in runs)
    compress = compressor(library)
    pieces = [plain[at:at + chunk] for at in range(0, len(plain), chunk)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        blocks = list(pool.map(compress, pieces))
    return b"".join(blocks), "".join(f"{len(block)} {len(piece)}\n" for block, piece in zip(blocks, pieces))


def block_container(s, name, program, plain, library, chunk):
    """A container of column `c`: of chunks that a library compressed, or of rows that our encoder takes."""
    file = s.tree / f"{name}.in"
    if library is None:
        plain.tofile(file)
    else:
        chunks, sizes = compressed(plain, library, chunk)
        file.write_bytes(chunks)
        pathlib.Path(f"{file}.sizes").write_text(sizes)
    return encode(s, name, program, "t", [f"c={file}"], {f"c.{KINDS[plain.itemsize]}": plain}, verb="wrap" if library else "encode")


def block_cases(s, plains):
    """[(data, name, program, library, bytes of a chunk, what else its row has)]"""
    cases = []
    for data_name, codecs in choices.BLOCKS.items():
        for codec, library, chunk, wanted in codecs:
            more = {**({"chunks_by": library, "chunk_bytes": chunk} if library else {}), **({"gb_per_second_at_least": wanted} if wanted else {})}
            cases.append((data_name, codec, f'import "std.zf"; table t {{ c: {KINDS[plains[data_name].itemsize]} = {codec}; }}\n', library, chunk, more))
    for file, uses in choices.PROGRAMS.items():
        if not (s.tree / "programs" / file).exists():  # or the library's of this name would be measured
            continue
        for data_name, codec, library, chunk in uses:
            text = f'import "{file}";\ntable t {{ c: {KINDS[plains[data_name].itemsize]} = {codec}; }}\n'
            cases.append((data_name, f"{codec} of {file}", text, library, chunk, {"program": file, **({"chunks_by": library, "chunk_bytes": chunk} if library else {})}))
    return [case for case in cases if s.options.wants(case[0].partition(",")[0]) or s.options.wants(case[1])]


def part_blocks(s, report):
    """Blocks of LZ4, Snappy, Deflate and Zstandard, and runs of ORC's and Parquet's formats; nvCOMP has the former, compressed by itself."""
    report.head |= {"scale": s.options.scale, "made_bytes": s.options.made, "counted": {
        **COUNTED, "made_bytes": f"a column has at most so many, and {MOST_OF_MODES} at most where `orc_runs.py` made its numbers; copies of it are decoded",
        "chunks_by": "what compressed the chunks of a row of zipflow's: zlib at level 6 (`deflate`, `gzip`), else pyarrow (`pyarrow.Codec`; zstd at level 3), or of ORC's modes `orc_runs.py`; without it our encoder did. nvCOMP decodes chunks that it compressed itself",
        "gb_per_second_at_least": "the target of a row", "missed": "rows that were measured and do not reach their target. The exit status does not say so"}}
    plains, made = blocks_data(s), []
    (s.tree / "programs").mkdir()  # where nothing of ours has their names
    for file in pathlib.Path(s.options.programs).glob("*.zf") if s.options.programs else ():
        shutil.copyfile(file, s.tree / "programs" / file.name)
    with concurrent.futures.ThreadPoolExecutor(max(1, (os.cpu_count() or 2) // 2)) as pool:
        cases = block_cases(s, plains)
        cases.sort(key=lambda case: case[1] != "lz_split")  # whose encoder takes longest
        running = [(case, pool.submit(block_container, s, f"programs/{k}" if "program" in case[5] else f"block_{k}", case[2], plains[case[0]], *case[3:5])) for k, case in enumerate(cases)]
        for (data_name, name, _, _, chunk, more), future in running:
            report.besides[data_name, name] = more
            try:
                made.append((future.result(), "c", name, data_name, choices.CHUNKS_OF_1M if chunk == choices.M else 1))
            except Unknown as why:
                report.leave_out(why, data=data_name, by="zipflow", name=name)
            except Exception as why:  # of this container
                report.fail(why, data=data_name, by="zipflow", name=name)
    for volume in sorted({v for *_, v in made}):
        with decoding(s, volume):
            wanted = [tuple(case) for *case, v in made if v == volume]
            bench_each(s, report, [case[0] for case in wanted], wanted)
    for data_name, wanted in choices.BLOCKS_NVCOMP.items():
        if any(case[0] == data_name for case in cases):
            for choice in wanted:
                with decoding(s, choices.CHUNKS_OF_1M if choice[2] == choices.M else 1):
                    measure_nvcomp(s, report, data_name, plains[data_name], [choice])
    report.head["missed"] = [f"{r['data']}, {r['name']}" for r in report.rows if r.get("verified") and r["gb_per_second"] < r.get("gb_per_second_at_least", 0)]


PARTS = {"lanes": part_lanes, "table2": part_table2, "checks": part_checks, "blocks": part_blocks, "damage": part_damage}


def add_programs(parser):
    """Options that say what is measured, on which device."""
    parser.add_argument("--pack", default=ROOT / "build/zipflow-pack.tar.xz", help="archive of script/pack (default: build/zipflow-pack.tar.xz)")
    parser.add_argument("--zfc", help="a zfc, instead of the archive's")
    parser.add_argument("--tpchgen", default=str(ROOT / ".venv/bin/tpchgen-cli"), help="with --zfc: the generator of TPC-H")
    parser.add_argument("--nvcomp", help="libnvcomp.so.6, the same with .xz behind it, or a wheel of nvidia-libnvcomp; none: no peer")
    parser.add_argument("--libcuda", default="libcuda.so.1", help="CUDA's driver (default: libcuda.so.1)")
    parser.add_argument("--device", default="cuda", help="what zfc --device takes (default: cuda)")


def main():
    parser = argparse.ArgumentParser(prog="peers.py", description="Measures zipflow and nvCOMP on the same bytes.")
    parser.add_argument("parts", nargs="*", help="lanes, table2, checks, blocks, damage (default: all)")
    add_programs(parser)
    parser.add_argument("--out", default="peers", help="directory for the results (default: peers)")
    parser.add_argument("--bytes", default=1 << 29, type=int, help="bytes of plain data that a measurement decodes (default: 512 MiB)")
    parser.add_argument("--made", default=1 << 26, type=int, help="bytes of a column of `lanes` before it is repeated (default: 64 MiB)")
    parser.add_argument("--repeats", default=5, type=int, help="rounds of `zfc bench` that count (default: 5)")
    parser.add_argument("--scale", default=1.0, type=float, help="scale factor of TPC-H (default: 1)")
    parser.add_argument("--corpora", help="directory of texts, for a row of their own")
    parser.add_argument("--programs", default=str(HERE / "programs"),
                        help="blocks: directory of programs, which are measured too (PROGRAMS of choices.py names them; default: bench/peers/programs); '': none")
    parser.add_argument("--only", default="", help="only these data or columns, separated by commas")
    parser.add_argument("--patience", default=40, type=float, help="seconds for one of nvCOMP's rows, or one of its damaged decodes (default: 40)")
    parser.add_argument("--every", default=1, type=int, help="damage: one of our columns in so many (default: 1)")
    parser.add_argument("--budget", default=540, type=float, help="seconds for everything (default: 540)")
    options = parser.parse_args()
    for part in options.parts:
        if part not in PARTS:
            parser.error(f"there is no part {part}")
    if options.programs:
        options.programs = str(pathlib.Path(options.programs).resolve())
    if options.corpora:
        options.corpora = str(pathlib.Path(options.corpora).resolve())
    only = [n for n in options.only.split(",") if n]
    options.wants = lambda name: not only or name in only
    good = True
    with tempfile.TemporaryDirectory(prefix="zf-peers-") as tree:
        s = Session(options, pathlib.Path(tree))
        if options.nvcomp:
            try:
                s.worker = Worker(s)
            except Exception as why:  # whatever is wrong with the library: ours are measured all the same
                print(f"no nvCOMP: {why}")
                good = False
        for part in options.parts or PARTS:
            report, begin = Report(s, part), time.monotonic()
            try:
                PARTS[part](s, report)
            except Exception as why:  # of a part: the others run
                report.fail(f"{type(why).__name__}: {why}", by="peers.py", name=part)
            report.save()
            good = good and report.good()
            print(f"== {part}: {len(report.rows)} rows, {time.monotonic() - begin:.1f} s, in {report.path}", flush=True)
        if s.worker is not None:
            s.worker.stop()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
