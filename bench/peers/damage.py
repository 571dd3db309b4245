"""The part `damage` of peers.py: one chunk of nvCOMP's, or one block of a column of ours, is damaged and decoded. Each trial has one result:

    right         the bytes as they were
    refused       the library says that something is wrong
    wrong         other bytes, and nobody says so
    other_rows    zipflow with checksums made right again: a valid file of other rows, of which the CPU makes the same
    lost          the context of CUDA is gone, or the process is
    hung          a kernel that did not end within --patience
    others        nvCOMP: a chunk that was not damaged came out wrong, or was refused

`outside` counts trials that wrote beside an output. nvCOMP's decoders run in processes of their own, begun anew behind a trial that was lost or
hung; zipflow's in one for each table (tests/gpu/gpu_damage.c).
"""

import json
import pathlib
import queue
import subprocess
import sys
import threading

import numpy as np

import data
from nvcomp_batched import options_of
from nvcomp_damage import TRIALS

HERE = pathlib.Path(__file__).resolve().parent
CHUNKS, CHUNK = 64, 1 << 16
# Each decoder of nvCOMP's, and the data that it is for.
DECODED = (("ans", (), "symbols"), ("bitcomp", ("u32", "default"), "numbers"), ("cascaded", ("u32", "asym", "all", "L3"), "numbers"),
           ("cascaded", ("u32", "sym", "all"), "numbers"), ("lz4", (), "symbols"), ("snappy", (), "symbols"), ("zstd", (), "symbols"),
           ("deflate", ("L1",), "symbols"), ("gdeflate", ("L1",), "symbols"))
RESULTS = ("right", "refused", "wrong", "other_rows", "lost", "hung", "others")
TABLES = ("forms", "states", "library")
COUNTED = {"data": f"nvcomp: {CHUNKS} chunks of {CHUNK} bytes, one of them damaged; zipflow: a block of two or three of a column, of each column of "
                   "tests/gpu's tables",
           "ways": "how often each result came, by what was done. zipflow, damaged: checksums as they were; mended: checksums made right again"}


def plain(name):
    size = CHUNKS * CHUNK
    if name == "symbols":
        return data.symbols64(size)
    random = np.random.Generator(np.random.PCG64(7))
    return np.repeat(random.integers(0, 1 << 13, size // 16).astype(np.uint32), 4).view(np.uint8)[:size]


def lines_of(process):
    """The lines of a process, and None behind them."""
    lines = queue.Queue()

    def listen():
        for line in process.stdout:
            lines.put(line)
        lines.put(None)

    threading.Thread(target=listen, daemon=True).start()
    return lines


def decode_damaged(s, path, codec, words, decoder):
    """{way: {result: times}}, trials that wrote outside, what was said of lost ones."""
    ways, outside, said, first, failed = {}, 0, [], 0, 0
    while first < len(TRIALS):
        command = [sys.executable, HERE / "nvcomp_damage.py", s.options.libcuda, s.worker.library, path, ",".join([codec, *words]), decoder, first]
        process = subprocess.Popen([str(w) for w in command], stdout=subprocess.PIPE, stderr=s.log, text=True)
        lines, ready, limit = lines_of(process), False, 60
        try:
            while True:
                if s.left() <= 0:
                    raise TimeoutError("the time is used up (--budget)")
                try:
                    line = lines.get(timeout=min(limit, s.left()))
                    found = json.loads(line) if line is not None else {"result": "lost", "message": f"the process ended with {process.wait()}"}
                except queue.Empty:
                    found = {"result": "hung", "message": "stopped"}
                if "done" in found:
                    return ways, outside, said
                if "ready" in found:
                    ready, limit = True, s.options.patience
                    continue
                if not ready:
                    raise RuntimeError(found["message"])
                way = TRIALS[first][0]
                of = ways.setdefault(way, dict.fromkeys(RESULTS, 0))
                of[found["result"]] += 1
                outside += found.get("outside", False)
                first += 1
                if found["result"] in ("lost", "hung"):
                    if way == "none":
                        raise RuntimeError(f"the chunks as they were: {found['result']}, {found['message']}")
                    said.append(f"{way}: {found.get('message', '')}")
                    break
        finally:
            process.kill()
            process.wait()
    return ways, outside, said


def totals(ways):
    return {result: sum(of.get(result, 0) for way, of in ways.items() if way != "none") for result in RESULTS}


def part_damage(s, report):
    report.head["counted"] = COUNTED
    program = s.zfc.parent / "gpu_damage" if s.zfc is not None else None
    for table in TABLES:
        if not s.options.wants(table):
            continue
        try:
            said = s.run(program, "--device", s.options.device if s.options.device != "cpu" else "emu", "--tables", table, "--every",
                         str(s.options.every), limit=300, codes=(0, 1), directory=program.parent.parent)  # packed, it finds its tables there
            found = json.loads([line for line in said.splitlines() if line.startswith("{")][-1])
        except Exception as why:  # of this table
            report.fail(why or "no report", data=table, by="zipflow")
            continue
        for form in ("damaged", "mended"):
            report.add({"data": table, "by": "zipflow", "name": form, "columns": found["columns"], "outside": found["outside"], "ways": found[form],
                        "trials": totals(found[form]), "verified": found["failures"] == 0})
            print(f"{'':<40}{report.rows[-1]['trials']}", flush=True)
    if s.worker is None:
        return
    for name in ("symbols", "numbers"):
        plain(name).tofile(s.tree / f"{name}.damage")
    for codec, words, name in [row for row in DECODED if s.options.wants(row[0])]:
        for decoder in options_of(codec, words)[1]:
            what = {"data": name, "by": "nvcomp", "codec": " ".join([codec, *words]), "decoder": decoder}
            try:
                ways, outside, said = decode_damaged(s, s.tree / f"{name}.damage", codec, words, decoder)
            except Exception as why:  # of this decoder
                report.fail(why, **what)
                continue
            report.add({**what, "outside": outside, "ways": ways, "trials": totals(ways), "said": said,
                        "verified": ways["none"] == {**dict.fromkeys(RESULTS, 0), "right": 1}})
            print(f"{'':<40}{report.rows[-1]['trials']}, outside {outside}", flush=True)
