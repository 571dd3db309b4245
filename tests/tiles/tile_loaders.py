#!/usr/bin/env python3
"""Tile loaders give the values that a decode gives, in PTX that nvcc makes of their header.

    tile_loaders.py ROOT ZFC LIBRARIES

Encodes columns of every map of the library and every type of element, writes their header, has nvcc compile a kernel for each,
and runs single threads of it (ptx_machine.py) over the column in the memory of the emulated GPU. Then: damage is reported; a file
of other codes is refused; a header with two operands exchanged gives other values. Exit status 77: there is no nvcc.
"""

import ctypes
import json
import os
import pathlib
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile

import ptx_machine

ROWS, BLOCK, TILE, GROUP = 2 * 4096 + 2048 + 1237, 4096, 2048, 8
CODES = {"u8": "B", "u16": "H", "u32": "I", "u64": "Q", "i8": "b", "i16": "h", "i32": "i", "i64": "q", "f32": "f", "f64": "d"}
TYPES = {"u8": "unsigned char", "u16": "unsigned short", "u32": "unsigned int", "u64": "unsigned long long", "i8": "signed char",
         "i16": "short", "i32": "int", "i64": "long long", "f32": "float", "f64": "double", "bool": "bool"}
INTEGERS = [name for name in CODES if name[0] in "ui"]


class Column:
    def __init__(self, name, kind, codec, make, nullable=False, general=False):
        self.name, self.kind, self.codec, self.nullable, self.general = name, kind, codec, nullable, general
        self.values = [make(k) for k in range(ROWS)]


def integer(kind, bits):
    """Numbers of about so many bits, some of them negative."""
    least = -5 if kind[0] == "i" else 3
    return lambda k: least + random.getrandbits(min(bits, int(kind[1:]) - 1))


def chosen(values):
    return lambda k: values[random.randrange(len(values))]


def make_columns():
    columns = []
    for kind in INTEGERS:
        wide = {"8": 5, "16": 11, "32": 19, "64": 37}[kind[1:]]
        columns += [Column(f"bitpack_{kind}", kind, "bitpack", integer(kind, wide)),
                    Column(f"plain_{kind}", kind, "plain", integer(kind, 64)),
                    Column(f"dictionary_{kind}", kind, "dictionary(bitpack)", chosen([integer(kind, 64)(0) for _ in range(11)]))]
    for kind, values in (("f32", [0.0, -0.0, 1.5, -2.75, float("inf"), 3e-39]), ("f64", [0.0, -0.0, 1.5, 0.1, float("-inf"), 5e-324])):
        columns += [Column(f"plain_{kind}", kind, "plain", chosen(values)),
                    Column(f"dictionary_{kind}", kind, "dictionary(bitpack)", chosen(values))]
    columns += [
        Column("plain_bool", "bool", "plain", lambda k: random.random() < 0.3),
        Column("bits_of_8", "u64", "bitpack", integer("u64", 63)),
        Column("bits_of_1", "u32", "bitpack", lambda k: random.getrandbits(1)),
        Column("bits_of_0", "i32", "bitpack", lambda k: -7),
        Column("any_width", "i32", "bitpack", lambda k: random.getrandbits(1 + 9 * (k // BLOCK)), general=True),
        Column("zigzag_i32", "i32", "zigzag(bitpack)", lambda k: random.randrange(-90, 90)),
        Column("zigzag_i64", "i64", "zigzag(bitpack)", lambda k: random.randrange(-1 << 40, 1 << 40)),
        Column("multiples_i32", "i32", "multiples(bitpack, bitpack, bitpack)", lambda k: 900 * (1 + k % 50) + 7 * random.randrange(40)),
        Column("multiples_i64", "i64", "multiples(bitpack, bitpack, bitpack)", lambda k: 900 * (1 + k % 50)),
        Column("float2int_f64", "f64", "float2int(bitpack)", lambda k: random.randrange(10000) / 100),
        Column("float2int_f32", "f32", "float2int(bitpack)", lambda k: float(random.randrange(200))),
        Column("byte_stream_split_f64", "f64", "byte_stream_split", chosen([1.5, 2.5, -3.25])),
        Column("byte_stream_split_i32", "i32", "byte_stream_split", integer("i32", 31)),
        Column("split_u32", "u32", "split(bitpack, bitpack)", integer("u32", 30)),
        Column("gpu_for_i32", "i32", "gpu_for", integer("i32", 13)),
        Column("interleave_i64", "i64", "interleave(bitpack)", integer("i64", 21)),
        Column("numerals_u8", "u8", "numerals(bitpack)", lambda k: ord(f"{k // 8 * 97 % 1000000:07d},"[k % 8]), general=True),
        Column("constant_i32", "i32", "constant", lambda k: 77),
        Column("entries_of_entries", "i64", "dictionary(codes: dictionary(bitpack), entries: bitpack)", chosen([5, 1 << 33, -9, 12])),
        Column("null_dense_u16", "u16", "dictionary(codes: bitpack, entries: nullable(values: bitpack))", chosen([4, 9, 90]), nullable=True),
    ]
    return columns


def others():
    """Columns that are no maps."""
    return [Column("null_i32", "i32", "nullable(values: bitpack)", integer("i32", 9), nullable=True),
            Column("runs", "u16", "rle(bitpack, bitpack)", lambda k: k // 100)]


def write_table(directory, name, columns):
    """The program and the raw files of a table; returns the words of `zfc encode`."""
    lines, words = [], []
    for c in columns:
        lines.append(f"    {c.name}: {c.kind}{'?' if c.nullable else ''} = {c.codec};")
        path = directory / f"{name}-{c.name}"
        if c.kind == "bool":
            path.write_bytes(bytes(c.values))
        else:
            path.write_bytes(struct.pack(f"<{ROWS}{CODES[c.kind]}", *c.values))
        words.append(f"{c.name}={path}")
        if c.nullable:
            valid = bytearray(random.randbytes((ROWS + 7) // 8))
            valid[-1] &= (1 << ROWS % 8) - 1
            if c.name == "null_dense_u16":
                valid = bytearray(b"\xff" * (ROWS // 8) + bytes([(1 << ROWS % 8) - 1]))
                for k in range(0, ROWS, 3):
                    valid[k // 8] &= ~(1 << k % 8)
            (directory / f"{name}-{c.name}.valid").write_bytes(valid)
            words.append(f"{c.name}.valid={path}.valid")
            c.valid = [valid[k // 8] >> k % 8 & 1 for k in range(ROWS)]
    (directory / f"{name}.zf").write_text(f"table {name} {{\n" + "\n".join(lines) + "\n}\n")
    return words


# ---- The library ------------------------------------------------------------------------------------------------


class Error(ctypes.Structure):
    _fields_ = [("status", ctypes.c_int), ("number", ctypes.c_int), ("code", ctypes.c_char * 8), ("message", ctypes.c_char * 512),
                ("place", ctypes.c_char * 256), ("hint", ctypes.c_char * 256)]


class TileColumn(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("blocks", "table", "work", "rows")] + [("tiles", ctypes.c_uint32),
                                                                                          ("block_tiles", ctypes.c_uint32)]


class Refused(Exception):
    pass


class Library:
    """A context with the emulated GPU, whose memory is this process's, and a compiler or a module."""

    def __init__(self, directory, module=None):
        self.library, compiler, emulator = (ctypes.CDLL(str(directory / f"libzipflow{part}.so"), mode=ctypes.RTLD_GLOBAL)
                                            for part in ("", "-compile", "-emulator"))
        self.context, self.made = ctypes.c_void_p(), ctypes.c_void_p()
        self.call(self.library.zf_context_create, None, ctypes.byref(self.context))
        self.call(emulator.zf_emulator_register, self.context)
        if module is None:
            self.call(compiler.zf_compiler_create, self.context, None, ctypes.byref(self.made))
        else:
            self.call(self.library.zf_module_load, self.context, str(module).encode(), ctypes.byref(self.made))

    def call(self, function, *arguments):
        error = Error()
        if function(*arguments, ctypes.byref(error)) != 0:
            raise Refused(f"{error.code.decode()}: {error.message.decode()}")

    def open(self, path):
        container = ctypes.c_void_p()
        self.call(self.library.zf_container_open, self.context, str(path).encode(), ctypes.byref(container))
        return container

    def prepare(self, container, key, device=b"emu"):
        tiles, column = ctypes.c_void_p(), TileColumn()
        self.call(self.library.zf_tiles_prepare, container, key.encode(), device, ctypes.byref(tiles))
        self.call(self.library.zf_tiles_column, tiles, ctypes.byref(column))
        return tiles, column


# ---- Kernels ----------------------------------------------------------------------------------------------------


WORDS = 31  # that a kernel stores, and what they are before
EMPTY = 0x5a5a5a5a5a5a5a5a


def kernel_of(c):
    """A group of rows by `load` and, where all of them exist, by `load_whole`; those that exist by `get`. Elements are 64 bits."""
    form = {"f32": "__float_as_uint({})", "f64": "__double_as_longlong({})"}.get(c.kind, "{}")
    value, one, valid, valid_one = form.format("values[k]"), form.format("one"), ", valid" * c.nullable, ", valid_one" * c.nullable
    return f"""
extern "C" __global__ void load_{c.name}(zf_tile_column column, unsigned int tile, unsigned int row, unsigned long long *out) {{
    auto opened = zf_tile_open_{c.name}(column, tile);
    {TYPES[c.kind]} values[ZF_TILE_GROUP], one;
    unsigned int valid = 255, valid_one = 1;
    bool good = zf_tile_load_{c.name}(opened, row, values{valid});
#pragma unroll
    for (int k = 0; k < ZF_TILE_GROUP; k++) out[k] = (unsigned long long){value};
    out[8] = good;
    out[9] = valid;
    out[10] = opened.rows;
    if (row + ZF_TILE_GROUP <= opened.rows) {{
        good = zf_tile_load_whole_{c.name}(opened, row, values{valid});
#pragma unroll
        for (int k = 0; k < ZF_TILE_GROUP; k++) out[11 + k] = (unsigned long long){value};
        out[19] = good;
        out[20] = valid;
    }}
    good = true;
    valid = 0;
    for (int k = 0; k < ZF_TILE_GROUP && row + k < opened.rows; k++) {{
        good &= zf_tile_get_{c.name}(opened, row + k, one{valid_one});
        out[21 + k] = (unsigned long long){one};
        valid |= valid_one << k;
    }}
    out[29] = good;
    out[30] = valid;
}}
"""


def make_header(zfc, file, path, columns):
    """The header of all maps of the file. A column that is none is an error where it is named, and a comment where it is not."""
    words = [zfc, "compile", "--device-functions", "--json", "-f", "-o", path, file]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    report, header = json.loads(done.stdout), path.read_text()
    assert report["columns"] == len(columns) and report["general"] == sum(c.general for c in columns), report
    for c, line in zip(others(), report["left_out"], strict=True):
        assert c.name in line and f"// {line}" in header and f"note: {line}" in done.stderr, line
        named = subprocess.run([*words, "--columns", f"bitpack_u8,{c.name}"], capture_output=True, text=True, check=False)
        assert named.returncode == 1 and f"column {c.name}" in named.stderr and "zf_decode_async" in named.stderr, named.stderr
    assert path.read_text() == header, "a header that failed replaced one that was good"
    return header


def compile_ptx(nvcc, directory, header, columns):
    source, ptx = directory / "kernels.cu", directory / "kernels.ptx"
    (directory / "tiles.cuh").write_text(header)
    source.write_text('#include "tiles.cuh"\n' + "".join(kernel_of(c) for c in columns))
    subprocess.run([nvcc, "-ptx", "-arch=compute_80", "-Werror", "all-warnings", "-o", ptx, source], check=True)
    return ptx.read_text()


def check_assembler(nvcc, directory):
    """NVIDIA's assembler takes the kernels, and keeps everything in registers."""
    done = subprocess.run([nvcc, "-cubin", "-arch=sm_90", "-Xptxas", "-v", "-o", directory / "kernels.cubin", directory / "kernels.cu"],
                          check=True, capture_output=True, text=True)
    frames = re.findall(r"(\d+) bytes stack frame, (\d+) bytes spill stores", done.stderr)
    assert frames and all(frame == ("0", "0") for frame in frames), f"values go through memory: {done.stderr[-2000:]}"
    return len(frames)


def run(kernel, column, tile, row):
    out = (ctypes.c_uint64 * WORDS)(*[EMPTY] * WORDS)
    words = [bytes(column), struct.pack("<I", tile), struct.pack("<I", row), struct.pack("<Q", ctypes.addressof(out))]
    thread = ptx_machine.Thread(kernel, words).run()
    return list(out), thread.loads


def wanted(c, first):
    """The words for the group of rows from `first` on."""
    bits, valid, there = [], 0, range(first, min(first + GROUP, ROWS))
    for k in range(first, first + GROUP):
        has_value = k in there and (not c.nullable or c.valid[k])
        valid |= has_value << (k - first)
        value = c.values[k] if has_value else 0
        bits.append(ptx_machine.from_float(value, c.kind) if c.kind in ("f32", "f64") else int(value) & (1 << 64) - 1)
    rows = min(TILE, ROWS - first // TILE * TILE)
    all_valid = valid if c.nullable else 255
    whole = [*bits, 1, all_valid] if len(there) == GROUP else [EMPTY] * 10
    ones = [bits[k] if first + k in there else EMPTY for k in range(GROUP)]
    return [*bits, 1, all_valid, rows, *whole, *ones, 1, valid if c.nullable else (1 << len(there)) - 1]


def groups(tiles):
    """First rows of groups: the ends of tiles and of the column, and some between."""
    last = ROWS // GROUP * GROUP
    picked = {0, 8, TILE - GROUP, TILE, BLOCK - GROUP, BLOCK, 2 * BLOCK + TILE - GROUP, 2 * BLOCK + TILE, last - GROUP, last, last + GROUP}
    picked |= {random.randrange(ROWS // GROUP) * GROUP for _ in range(8)}
    assert tiles == (ROWS + TILE - 1) // TILE
    return sorted(picked)


def compare(library, container, header, ptx, columns):
    """The number of groups that are right, and a description of the first that is wrong."""
    count = 0
    for c in columns:
        key = re.search(rf'#define ZF_TILE_KEY_{c.name} "(.*)"', header).group(1)
        assert ("*" in key.split()[3]) == c.general, f"{c.name}: {key}"
        tiles, column = library.prepare(container, key)
        kernel = ptx_machine.Kernel(ptx, f"load_{c.name}")
        for first in groups(column.tiles):
            got, _ = run(kernel, column, first // TILE, first % TILE)
            if got != wanted(c, first):
                return count, f"{c.name}, rows from {first}: {got} in place of {wanted(c, first)}"
            count += 1
        library.library.zf_tiles_free(tiles)
    return count, None


def check_damage(library, container, header, ptx, c):
    """Codes beyond a dictionary's entries are reported, by whole groups and by those at the column's end."""
    key = re.search(rf'#define ZF_TILE_KEY_{c.name} "(.*)"', header).group(1)
    tiles, column = library.prepare(container, key)
    kernel = ptx_machine.Kernel(ptx, f"load_{c.name}")
    for first in (TILE + 8 * GROUP, ROWS // GROUP * GROUP):
        got, loads = run(kernel, column, first // TILE, first % TILE)
        assert got[8] == got[29] == 1, "the column is good"
        blocks = sorted(at for at in loads if column.blocks <= at < column.blocks + (1 << 30) and not column.table <= at < column.table + 4096)
        saved = {at: ctypes.string_at(at, 1) for at in blocks}
        for at in blocks:
            ctypes.memmove(at, b"\xff", 1)
        got, _ = run(kernel, column, first // TILE, first % TILE)
        whole = first + GROUP <= ROWS
        assert got[8] == got[29] == 0 and got[19] == (0 if whole else EMPTY), f"{c.name}: damage at row {first} is not reported"
        for at, byte in saved.items():
            ctypes.memmove(at, byte, 1)
    library.library.zf_tiles_free(tiles)


def refused(library, container, key, wanted_code, *words, device=b"emu"):
    try:
        library.prepare(container, key, device)
    except Refused as why:
        assert str(why).startswith(wanted_code) and all(word in str(why) for word in words), f"{key}: {why}"
        return
    raise AssertionError(f"{key} was not refused")


def check_module(libraries, directory, zfc, file, header):
    """A module has what the keys are for. Its code is for GPUs: a driver that runs nothing takes it."""
    module = directory / "t.zfm"
    subprocess.run([zfc, "compile", "-q", "--target", "nvptx", "-o", module, file], check=True)
    library = Library(libraries, module)
    container = library.open(file)
    for key in re.findall(r'#define ZF_TILE_KEY_\w+ "(.*)"', header):
        tiles, column = library.prepare(container, key, b"cuda")
        assert column.rows == ROWS and column.tiles == (ROWS + TILE - 1) // TILE and column.block_tiles == BLOCK // TILE, key
        library.library.zf_tiles_free(tiles)
    library.library.zf_container_close(container)


def check_refusals(library, directory, zfc, container, header, columns):
    key = re.search(r'#define ZF_TILE_KEY_bitpack_u32 "(.*)"', header).group(1)
    version, unit, plan, params, name = key.split()
    for damaged in ("", "zf-tile-2" + key[9:], " ".join([version, unit, plan])):
        refused(library, container, damaged, "ZF1101")
    refused(library, container, " ".join([version, unit, plan, params, "nothing"]), "ZF1105")
    refused(library, container, " ".join([version, unit, plan, "1", name]), "ZF1413", "block 0", params)
    refused(library, container, " ".join([version, unit[::-1], plan, params, name]), "ZF1413", "other codes")
    refused(library, container, " ".join([version, unit, plan, params, "plain_u32"]), "ZF1413", "other codes")
    refused(library, container, key, "ZF1406", device=b"cpu")
    # The same program, and other rows: wider numbers, then blocks that do not begin at whole tiles.
    alike = [c for c in columns if c.name in ("bitpack_u32", "bits_of_1")]
    alike[0].values[BLOCK + 5] = 1 << 30
    words = write_table(directory, "alike", alike)
    small, wide, uneven = directory / "small.zfd", directory / "wide.zfd", directory / "uneven.zfd"
    encode = [zfc, "encode", "-q", "-c", directory / "alike.zf"]
    subprocess.run([*encode, "--rows-per-block", str(BLOCK), "-o", wide, *words], check=True)
    subprocess.run([*encode, "--rows-per-block", "1000", "-o", uneven, *words], check=True)
    alike[0].values[BLOCK + 5] = 4
    subprocess.run([*encode, "--rows-per-block", str(BLOCK), "-o", small, *write_table(directory, "alike", alike)], check=True)
    made = directory / "small.cuh"
    subprocess.run([zfc, "compile", "-q", "--device-functions", "-o", made, small], check=True)
    key = re.search(r'#define ZF_TILE_KEY_bitpack_u32 "(.*)"', made.read_text()).group(1)
    for path, *why in ((wide, "ZF1413", "block 1"), (uneven, "ZF1414", "1000 rows")):
        other = library.open(path)
        refused(library, other, key, *why)
        library.library.zf_container_close(other)


def main():
    root, zfc, libraries = (pathlib.Path(w) for w in sys.argv[1:4])
    nvcc = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
    if nvcc is None:
        print("skipped: there is no nvcc")
        return 77
    os.environ["ZIPFLOW_STD"] = str(root / "dsl/std")
    os.environ["ZIPFLOW_CACHE_DIR"] = ""
    os.environ["ZIPFLOW_CUDA_LIBRARY"] = str(libraries / "libfake_gpu.so")
    random.seed(20)
    with tempfile.TemporaryDirectory() as place:
        directory = pathlib.Path(place)
        columns = make_columns()
        words = write_table(directory, "t", [*columns, *others()])
        file, made = directory / "t.zfd", directory / "made.cuh"
        subprocess.run([zfc, "encode", "-q", "-c", directory / "t.zf", "--rows-per-block", str(BLOCK), "-o", file, *words], check=True)
        header = make_header(zfc, file, made, columns)
        ptx = compile_ptx(nvcc, directory, header, columns)
        assembled = check_assembler(nvcc, directory)
        library = Library(libraries)
        container = library.open(file)
        count, wrong = compare(library, container, header, ptx, columns)
        assert wrong is None, wrong
        check_damage(library, container, header, ptx, next(c for c in columns if c.name == "dictionary_i32"))
        check_refusals(library, directory, zfc, container, header, columns)
        check_module(libraries, directory, zfc, file, header)
        # The comparison must see operands that are mixed up.
        one = [c for c in columns if c.name == "bitpack_i32"]
        for function in ("load", "load_whole"):
            at = header.index(f"zf_tile_{function}_bitpack_i32(")
            mixed = header[at:].replace("(element2)", "(other)", 1).replace("(element5)", "(element2)", 1).replace("(other)", "(element5)", 1)
            mixed = header[:at] + mixed
            assert compare(library, container, mixed, compile_ptx(nvcc, directory, mixed, one), one)[1] is not None, f"{function}: unseen"
        library.library.zf_container_close(container)
    print(f"{len(columns)} columns, {count} groups of rows are right; {assembled} kernels in registers alone")
    return 0


if __name__ == "__main__":
    sys.exit(main())
