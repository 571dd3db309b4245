#!/usr/bin/env python3
"""gpu_for, gpu_dfor and gpu_rfor store what another program computes from the text of their paper, and give it back.

Shanbhag, Yogatama, Yu, Madden, "Tile-based Lightweight Integer Compression in GPU", SIGMOD 2022. This code comes from its
sections 4.1, 5.1 and 6 and from algorithm 1, not from dsl/std. Each vector is first decoded as algorithm 1 does; then the streams
that the interpreter's encoder and zfc's write must be those bytes, and both must decode them to the input.

Usage: gpu_layouts.py ZF_INTERP ROOT [ZFC]
"""

import json
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

BLOCK, MINIBLOCKS, D, RUN_BLOCK = 128, 4, 4, 512
SIZES = [0, 1, 31, 32, 33, 127, 128, 129, 511, 512, 513, 1024, 2500]
WORD = 2**32


def pack(values, width):
    """Codes of `width` bits one behind the other from the least significant bit on, in words of 32 bits."""
    bits = sum(value << (k * width) for k, value in enumerate(values))
    return [bits >> (32 * w) & (WORD - 1) for w in range((len(values) * width + 31) // 32)]


def signed(word):
    return word - WORD if word >> 31 else word


# ---- GPU-FOR and GPU-DFOR ----

def pack_block(values):
    """Section 4.1: the reference, a byte of width for each miniblock, the miniblocks."""
    reference, size = min(values), BLOCK // MINIBLOCKS
    codes = [(value - reference) % WORD for value in values] + [0] * (BLOCK - len(values))
    minis = [codes[m * size:(m + 1) * size] for m in range(MINIBLOCKS)]
    widths = [max(mini).bit_length() for mini in minis]
    words = [reference % WORD, sum(width << (8 * m) for m, width in enumerate(widths))]
    return words + [word for mini, width in zip(minis, widths) for word in pack(mini, width)]


def header(values):
    return [BLOCK, MINIBLOCKS, len(values), values[0] % WORD if values else 0]


def gpu_for(values):
    data, starts = header(values), []
    for at in range(0, len(values), BLOCK):
        starts.append(len(data))
        data += pack_block(values[at:at + BLOCK])
    return {"block_starts": starts + [len(data)], "data": data}


def gpu_dfor(values):
    """Section 5.1: sets of D blocks, each its first value and then its differences, padded with 0."""
    data, starts = header(values), []
    for at in range(0, len(values), D * BLOCK):
        tile = values[at:at + D * BLOCK]
        deltas = [0] + [signed((b - a) % WORD) for a, b in zip(tile, tile[1:])]
        data.append(tile[0] % WORD)
        for start in range(0, len(deltas), BLOCK):
            starts.append(len(data))
            block = deltas[start:start + BLOCK]
            data += pack_block(block + [0] * (BLOCK - len(block)))
    return {"block_starts": starts + [len(data)], "data": data}


def element(data, block_start, thread):
    """Algorithm 1."""
    widths, offset, mini = data[block_start + 1], 0, thread // 32
    for _ in range(mini):
        offset += widths & 255
        widths >>= 8
    width = widths & 255
    bit = width * (thread & 31)
    at = block_start + 2 + offset + bit // 32
    window = sum(word << (32 * k) for k, word in enumerate(data[at:at + 2]))
    return signed((data[block_start] + (window >> (bit & 31) & ((1 << width) - 1))) % WORD)


def decode_for(streams, count):
    return [element(streams["data"], streams["block_starts"][i // BLOCK], i % BLOCK) for i in range(count)]


def decode_dfor(streams, count):
    data, starts, out = streams["data"], streams["block_starts"], []
    for i, delta in enumerate(decode_for(streams, count)):
        before = data[starts[i // BLOCK] - 1] if i % (D * BLOCK) == 0 else out[-1]
        out.append(signed((before + delta) % WORD))
    return out


# ---- GPU-RFOR ----

def pack_runs(numbers):
    reference = min(numbers)
    codes = [(number - reference) % WORD for number in numbers]
    width = max(codes).bit_length()
    return [reference % WORD, width * 0x01010101, len(numbers)] + pack(codes, width)


def gpu_rfor(values):
    """Section 6: blocks of 512, runs within them, frames of reference over the runs' values and lengths, stored apart."""
    out = {"values": [], "lengths": [], "values.starts": [], "lengths.starts": []}
    for at in range(0, len(values), RUN_BLOCK):
        runs = []
        for value in values[at:at + RUN_BLOCK]:
            if runs and runs[-1][0] == value:
                runs[-1][1] += 1
            else:
                runs.append([value, 1])
        for name, numbers in (("values", [run[0] for run in runs]), ("lengths", [run[1] for run in runs])):
            out[name + ".starts"].append(len(out[name]))
            out[name] += pack_runs(numbers)
    return out


def unpack_runs(words, start):
    reference, width, count = words[start], words[start + 1] & 255, words[start + 2]
    bits = sum(word << (32 * k) for k, word in enumerate(words[start + 3:start + 3 + (count * width + 31) // 32]))
    return [signed((reference + (bits >> (k * width) & ((1 << width) - 1))) % WORD) for k in range(count)]


def decode_rfor(streams, count):
    out = []
    for v, n in zip(streams["values.starts"], streams["lengths.starts"]):
        for value, length in zip(unpack_runs(streams["values"], v), unpack_runs(streams["lengths"], n)):
            out += [value] * length
    return out[:count]


LAYOUTS = {"gpu_for": (gpu_for, decode_for), "gpu_dfor": (gpu_dfor, decode_dfor), "gpu_rfor": (gpu_rfor, decode_rfor)}
PROGRAM = f"table t {{ {' '.join(f'{name}: i32 = {name};' for name in LAYOUTS)} }}\n"


# ---- Data ----

def columns(count):
    chooser = random.Random(count)
    runs, sorted_values = [], []
    while len(runs) < count:
        runs += [chooser.randrange(-20, 20) * 1000] * chooser.choice([1, 1, 2, 7, 60, 700])
    value = -1000
    for _ in range(count):
        value += chooser.choice([0, 1, 1, 2, 9])
        sorted_values.append(value)
    return {
        "skewed": [chooser.randrange(1 << chooser.randrange(1, 20)) for _ in range(count)],
        "sorted": sorted_values,
        "runs": runs[:count],
        "any": [chooser.choice([-2**31, 2**31 - 1, chooser.randrange(-2**31, 2**31)]) for _ in range(count)],
        "one": [-7] * count,
    }


def words_of(numbers, form):
    return struct.pack(f"<{len(numbers)}{form}", *numbers)


class Failed(Exception):
    pass


def same(what, got, expected):
    if got != expected:
        first = next((k for k in range(min(len(got), len(expected))) if got[k] != expected[k]), min(len(got), len(expected)))
        raise Failed(f"{what}: {len(got)} bytes for {len(expected)}, other from byte {first} on")


def run(words, **options):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=120, **options)
    if done.returncode != 0:
        raise Failed(f"{' '.join(map(str, words))}: {done.stdout}{done.stderr}")
    return done.stdout


def by_interpreter(interp, directory, name, what, values, expected):
    streams = directory / f"{name}-{what}-{len(values)}"
    streams.mkdir()
    (directory / "input").write_bytes(words_of(values, "i"))
    run([interp, f"{directory}/t.zf:t.{name}", directory / "input", streams])
    for path, numbers in expected.items():
        starts = path.endswith(".starts")
        got = (streams / path).read_bytes() if numbers or not starts else b""
        same(f"{name}, {what}, {len(values)}: {path}", got, words_of(numbers, "Q" if starts else "I"))


def by_compiler(zfc, directory, name, table, environment):
    """All columns of as many rows in one file, which both devices decode."""
    count = len(next(iter(table.values())))
    program, out = directory / "columns.zf", directory / "columns.zfd"
    program.write_text(f"table t {{ {' '.join(f'{what}: i32 = {name};' for what in table)} }}\n")
    inputs = []
    for what, values in table.items():
        (directory / what).write_bytes(words_of(values, "i"))
        inputs.append(f"{what}={directory / what}")
    run([zfc, "encode", "-q", "-f", "-c", program, "-o", out, *inputs], env=environment)
    content = out.read_bytes()
    for column in json.loads(run([zfc, "inspect", "--json", out], env=environment))["columns"]:
        expected = LAYOUTS[name][0](table[column["column"]])
        for block in column["blocks"]:
            for stream in block["streams"]:
                start = block["offset"] + stream["offset"]
                got = content[start:start + stream["bytes"]]
                same(f"{name}, {column['column']}, {count}, zfc: {stream['path']}", got, words_of(expected[stream["path"]], "I"))
        if count > 0 and not column["blocks"]:
            raise Failed(f"{name}, {column['column']}: no blocks")
    for device in ("cpu", "emu"):
        run([zfc, "decode", "-q", "-f", "--device", device, out, "-o", directory / "decoded"], env=environment)
        for what, values in table.items():
            same(f"{name}, {what}, {count}, {device}", (directory / "decoded" / f"{what}.i32").read_bytes(), words_of(values, "i"))


def main():
    interp, root, zfc = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else None
    vectors = 0
    with tempfile.TemporaryDirectory() as made:
        directory = pathlib.Path(made)
        environment = {**os.environ, "ZIPFLOW_STD": str(root / "dsl/std"), "XDG_CACHE_HOME": made}
        (directory / "t.zf").write_text(PROGRAM)
        for name, (encode, decode) in LAYOUTS.items():
            for count in SIZES:
                table = columns(count)
                for what, values in table.items():
                    expected = encode(values)
                    if decode(expected, count) != values:
                        raise Failed(f"{name}, {what}, {count}: the vector itself is wrong")
                    by_interpreter(interp, directory, name, what, values, expected)
                    vectors += 1
                if zfc and name != "gpu_rfor" and count in (0, 1, 127, 128, 129, 512, 2500):
                    by_compiler(zfc, directory, name, table, environment)
    print(f"{vectors} vectors")


if __name__ == "__main__":
    try:
        main()
    except Failed as failed:
        sys.exit(str(failed))
