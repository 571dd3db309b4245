#!/usr/bin/env python3
"""Chunk programs and bit packing on one thread of a CPU: blocks of LZ4, Snappy, Deflate and Zstandard beside their libraries, coders, maps
beside memcpy.

    blocks.py ZFC LINEITEM.parquet [--lz4 liblz4.so.1] [--snappy ...] [--deflate libz.so.1] [--zstd ...] [--runs 5] [--mib 64] [--only NAME...]
        [--out FILE.json]

Needs pyarrow and NumPy. LINEITEM.parquet is lineitem of TPC-H (tpchgen-cli parquet). Blocks are made by the libraries, from 64 KiB of the
characters of l_comment or of the bytes of l_orderkey (i64); `zfc wrap` keeps them as they are, so that both decode the same bytes. Coders take
the characters, and 64 symbols with p ~ 1/(i+2). Numbers have so many random bits.

Each run decodes by the library and then by `zfc bench`, which also times a memcpy of the plain bytes, five times each. The least
time of each counts, since others may use the machine. `cpu` is code for the CPU at hand, `x86-64-v3` that of a module for AVX2 alone, decoded by
the same CPU. The library is called once a chunk; the time of as many calls of a function that does nothing is subtracted. Outputs of the library are poisoned before, and compared after each run; `zfc bench`
compares its own with other code, and `zfc decode` is compared with the data once.
"""

import argparse
import ctypes
import datetime
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import zlib

import numpy

from machine import processor

ROOT = pathlib.Path(__file__).resolve().parent.parent
CHUNK = 64 << 10
LEVEL = "x86-64-v3"
WIDTHS = (7, 16, 25)
TIMES = 5  # of each in a run
SPLIT = "zstd_split(steps: zstd_steps(rows: zstd_tables), literals: zstd_literals(code: zstd_codes))"
KINDS = {"u32": numpy.uint32, "i64": numpy.int64}


def bits_of(kind, width, count):
    """Random numbers of `width` bits, the smallest and the largest among them, so that packing takes no fewer."""
    values = numpy.random.default_rng(width).integers(0, 1 << width, count, dtype=numpy.uint64)
    values[0], values[1] = 0, (1 << width) - 1
    return values.astype(KINDS[kind])


def symbols64(count):
    weights = 1 / numpy.arange(2, 66)
    return numpy.random.default_rng(64).choice(64, count, p=weights / weights.sum()).astype(numpy.uint8)


POINTER, SIZE, INT = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int


class Library:
    """One of the libraries: a block from bytes, and all blocks decoded to a place of their own."""

    def __init__(self, path):
        self.name, self.lib = type(self).__name__.lower(), ctypes.CDLL(path)
        self.open(path)

    def calls(self, blocks, sizes):
        """(arguments of each call, the place of all outputs, what must be kept)."""
        stored, out = ctypes.create_string_buffer(b"".join(blocks), sum(map(len, blocks)) + 64), ctypes.create_string_buffer(sum(sizes) + 64)
        at, to, calls, kept = ctypes.addressof(stored), ctypes.addressof(out), [], [stored]
        for block, size in zip(blocks, sizes):
            calls.append(self.call(at, len(block), to, size, kept))
            at, to = at + len(block), to + size
        return calls, out, kept

    def begin(self, calls):
        """Prepares each call; this is not timed."""

    def seconds(self, calls):
        """The time of all calls, less that of as many to a function that does nothing."""
        nothing, took = ctypes.CDLL(None).labs, []
        nothing.argtypes = self.function.argtypes
        for function in (self.function, nothing):
            self.begin(calls)
            begin = time.perf_counter()
            for call in calls:
                function(*call)
            took.append(time.perf_counter() - begin)
        return took[0] - took[1]


class Lz4(Library):
    def open(self, path):
        self.lib.LZ4_compress_default.argtypes = [POINTER, POINTER, INT, INT]
        self.function = self.lib.LZ4_decompress_safe
        self.function.argtypes, self.function.restype = [POINTER, POINTER, INT, INT], INT
        self.lib.LZ4_versionString.restype = ctypes.c_char_p
        self.version = self.lib.LZ4_versionString().decode()

    def compress(self, data):
        out = ctypes.create_string_buffer(len(data) * 7 // 6 + 64)
        stored = self.lib.LZ4_compress_default(data, out, len(data), len(out))
        return out.raw[:stored]

    def call(self, at, stored, to, size, kept):
        return at, to, stored, size


class Snappy(Library):
    def open(self, path):
        self.lib.snappy_compress.argtypes = [POINTER, SIZE, POINTER, POINTER]
        self.function = self.lib.snappy_uncompress
        self.function.argtypes, self.function.restype = [POINTER, SIZE, POINTER, POINTER], INT
        self.version = pathlib.Path(path).resolve().name

    def compress(self, data):
        out = ctypes.create_string_buffer(len(data) * 7 // 6 + 64)
        length = SIZE(len(out))
        if self.lib.snappy_compress(data, len(data), out, ctypes.byref(length)):
            sys.exit("snappy: no block")
        return out.raw[:length.value]

    def call(self, at, stored, to, size, kept):
        kept.append(SIZE(size))
        return at, stored, to, ctypes.addressof(kept[-1])


class Stream(ctypes.Structure):
    """zlib's z_stream."""
    _fields_ = [("next_in", POINTER), ("avail_in", ctypes.c_uint), ("total_in", ctypes.c_ulong), ("next_out", POINTER), ("avail_out", ctypes.c_uint),
                ("total_out", ctypes.c_ulong), ("msg", ctypes.c_char_p), ("state", POINTER), ("alloc", POINTER), ("free", POINTER), ("opaque", POINTER),
                ("data_type", INT), ("adler", ctypes.c_ulong), ("reserved", ctypes.c_ulong)]


class Deflate(Library):
    """Streams without a frame, at level 6. One state decodes a block, made before."""
    RAW, FINISH = -15, 4

    def open(self, path):
        self.function = self.lib.inflate
        self.function.argtypes, self.function.restype = [POINTER, INT], INT
        self.lib.inflateInit2_.argtypes = [POINTER, INT, ctypes.c_char_p, INT]
        self.lib.inflateReset.argtypes = [POINTER]
        self.lib.zlibVersion.restype = ctypes.c_char_p
        self.version = self.lib.zlibVersion().decode()
        self.streams = {}

    def compress(self, data):
        maker = zlib.compressobj(6, zlib.DEFLATED, self.RAW)
        return maker.compress(data) + maker.flush()

    def call(self, at, stored, to, size, kept):
        stream = Stream()
        kept.append(stream)
        if self.lib.inflateInit2_(ctypes.addressof(stream), self.RAW, self.version.encode(), ctypes.sizeof(Stream)) != 0:
            sys.exit("deflate: no state")
        self.streams[ctypes.addressof(stream)] = stream, at, stored, to, size
        return ctypes.addressof(stream), self.FINISH

    def begin(self, calls):
        for address, _ in calls:
            stream, at, stored, to, size = self.streams[address]
            self.lib.inflateReset(address)
            stream.next_in, stream.avail_in, stream.next_out, stream.avail_out = at, stored, to, size


class Zstd(Library):
    """Frames of level 3, all decoded by one context."""

    def open(self, path):
        self.lib.ZSTD_compress.argtypes, self.lib.ZSTD_compress.restype = [POINTER, SIZE, POINTER, SIZE, INT], SIZE
        self.lib.ZSTD_createDCtx.restype = POINTER
        self.function = self.lib.ZSTD_decompressDCtx
        self.function.argtypes, self.function.restype = [POINTER, POINTER, SIZE, POINTER, SIZE], SIZE
        self.lib.ZSTD_versionString.restype = ctypes.c_char_p
        self.version = self.lib.ZSTD_versionString().decode()
        self.context = self.lib.ZSTD_createDCtx()

    def compress(self, data):
        out = ctypes.create_string_buffer(len(data) + len(data) // 128 + 512)
        stored = self.lib.ZSTD_compress(out, len(out), data, len(data), 3)
        return out.raw[:stored]

    def call(self, at, stored, to, size, kept):
        return self.context, to, size, at, stored


class Bench:
    def __init__(self, options, tree):
        self.o, self.tree = options, pathlib.Path(tree)
        self.results, self.commit = [], None

    def zfc(self, *words):
        done = subprocess.run([self.o.zfc, *map(str, words)], capture_output=True, text=True,
                              env={**os.environ, "ZIPFLOW_STD": str(ROOT / "dsl/std"), "ZIPFLOW_CACHE_DIR": str(self.tree / "cache")})
        if done.returncode != 0:
            sys.exit(f"zfc {' '.join(map(str, words))}: {done.stdout}{done.stderr}")
        return done.stdout

    def program(self, name, kind, codec):
        path = self.tree / f"{name}.zf"
        path.write_text(f"table t {{ x: {kind} = {codec}; }}\n")
        return path

    def decoded(self, container, kind, data):
        out = self.tree / "out"
        self.zfc("decode", "-q", "-f", "--threads", 1, "-o", out, container)
        return (out / f"x.{kind}").read_bytes() == data.tobytes()

    def case(self, name, kind, codec, data, library=None):
        if self.o.only and not any(name.startswith(word) for word in self.o.only):
            return
        program, container, module = self.program(name, kind, codec), self.tree / f"{name}.zfd", self.tree / f"{name}.zfm"
        calls = None
        if library:
            plain = data.tobytes()
            pieces = [plain[at:at + CHUNK] for at in range(0, len(plain), CHUNK)]
            blocks = [library.compress(piece) for piece in pieces]
            if not all(blocks):
                sys.exit(f"{library.name}: no block")
            (self.tree / "blocks").write_bytes(b"".join(blocks))
            (self.tree / "sizes").write_text("".join(f"{len(b)} {len(p)}\n" for b, p in zip(blocks, pieces)))
            self.zfc("wrap", "-q", "-f", "-c", program, "-o", container, "--sizes", f"x={self.tree / 'sizes'}", f"x={self.tree / 'blocks'}")
            calls, place, kept = library.calls(blocks, list(map(len, pieces)))
        else:
            numpy.save(self.tree / "x.npy", data)
            self.zfc("encode", "-q", "-f", "-c", program, "-o", container, f"x={self.tree / 'x.npy'}")
        verified = self.decoded(container, kind, data)
        self.zfc("compile", "-q", "-f", "--target", "host", "--cpu", LEVEL, "-o", module, container)
        ways = {"cpu": (), LEVEL: ("--module", module)}
        runs, theirs = {way: [] for way in ways}, []
        for _ in range(self.o.runs):
            if library:
                ctypes.memset(place, 0xa5, len(place))
                theirs += [library.seconds(calls) for _ in range(TIMES)]
                verified = verified and place.raw[:len(plain)] == plain
            for way, words in ways.items():
                report = json.loads(self.zfc("bench", "--json", "--threads", 1, "--repeats", TIMES, "--bytes", data.nbytes, *words, container))
                runs[way].append(report["results"][0])
                self.commit = report["commit"]
        speed = library and data.nbytes / min(theirs) / 1e9
        for way, of in runs.items():
            took, copy = (min(r[what]["least"] / r["plain_bytes"] for r in of) for what in ("decode_seconds", "copy_seconds"))
            row = {"data": name, "codec": of[0]["codec"], "code": way, "plain_bytes": data.nbytes, "ratio": round(of[0]["ratio"], 3),
                   "verified": verified and all(r["verified"] for r in of),
                   "gb_per_second": round(1e-9 / took, 3), "copy_gb_per_second": round(1e-9 / copy, 3), "percent_of_copy": round(100 * copy / took, 1)}
            if library:
                row |= {"library": library.name, "library_gb_per_second": round(speed, 3),
                        "percent_of_library": round(100 * row["gb_per_second"] / speed, 1)}
            self.results.append(row)
            beside = f"{row['library_gb_per_second']:8.2f} {row['percent_of_library']:6.1f}% of {library.name}" if library else ""
            print(f"{name:20} {way:10} {row['gb_per_second']:8.2f} GB/s {row['percent_of_copy']:6.1f}% of memcpy {beside}"
                  f"{'' if row['verified'] else ' NOT VERIFIED'}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("zfc")
    parser.add_argument("parquet", type=pathlib.Path)
    parser.add_argument("--lz4", default="liblz4.so.1")
    parser.add_argument("--snappy", default="libsnappy.so.1")
    parser.add_argument("--deflate", default="libz.so.1")
    parser.add_argument("--zstd", default="libzstd.so.1")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--mib", type=int, default=64, help="of plain data a column, at most")
    parser.add_argument("--only", nargs="*", help="beginnings of the names of rows")
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    import pyarrow.parquet as pq

    load, most = os.getloadavg()[0], options.mib << 20
    table = pq.read_table(options.parquet, columns=["l_comment", "l_orderkey"])
    text = numpy.frombuffer("".join(table["l_comment"].to_pylist()).encode()[:most], dtype=numpy.uint8)
    keys = numpy.frombuffer(table["l_orderkey"].to_numpy().tobytes()[:most], dtype=numpy.uint8)
    libraries = [Lz4(options.lz4), Snappy(options.snappy), Deflate(options.deflate), Zstd(options.zstd)]
    with tempfile.TemporaryDirectory(prefix="zfc-blocks-") as tree:
        bench = Bench(options, tree)
        for library in libraries:
            bench.case(f"{library.name}-text", "u8", library.name, text, library)
            bench.case(f"{library.name}-keys", "u8", library.name, keys, library)
        for data, plain in (("text", text), ("keys", keys)):
            bench.case(f"zstd_split-{data}", "u8", SPLIT, plain, libraries[-1])
        for coder in ("tans", "rans", "huffman"):
            bench.case(f"{coder}-text", "u8", coder, text)
            bench.case(f"{coder}-symbols64", "u8", coder, symbols64(most))
        for kind in ("u32", "i64"):
            for width in WIDTHS:
                bench.case(f"bitpack-{width}-{kind}", kind, "bitpack", bits_of(kind, width, most // KINDS[kind]().itemsize))
    record = {
        "bench": "blocks", "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "commit": bench.commit,
        "command": f"bench/blocks.py ZFC {options.parquet.name} --runs {options.runs} --mib {options.mib}", "device": processor(),
        "cores": len(os.sched_getaffinity(0)), "load_before": round(load, 2), "load_after": round(os.getloadavg()[0], 2), "threads": 1,
        "libraries": {library.name: library.version for library in libraries},
        "counted": {"gb_per_second": "plain bytes written, in units of 1e9, by the least time of all runs",
                    "percent_of_copy": "of a memcpy of the plain bytes by `zfc bench`", "percent_of_library": "of the library's speed on the same blocks",
                    "code": f"cpu: for the CPU at hand; {LEVEL}: for AVX2 alone, on the same CPU"},
        "results": bench.results,
    }
    if options.out:
        options.out.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
