"""nvCOMP's batched C interface by ctypes: one way to compress with one set of options, measured on one array of bytes.

All options are structures of 64 bytes, passed by value, whatever the codec; this file fills the fields that we choose and leaves
the others 0, which stands for the default. Versions 6.x of the library.
"""

import ctypes
import lzma
import pathlib
import struct
import time
import zipfile

import numpy as np

from cuda_driver import CudaError

NAMES = {"ans": "ANS", "cascaded": "Cascaded", "bitcomp": "Bitcomp", "lz4": "LZ4", "snappy": "Snappy", "zstd": "Zstd", "deflate": "Deflate",
         "gdeflate": "Gdeflate"}
TYPES = {"i8": 0, "u8": 1, "i16": 2, "u16": 3, "i32": 4, "u32": 5, "i64": 6, "u64": 7, "f64": 12, "any": 0xFF}  # nvcompType_t
ENCODINGS = {"delta": 1, "rle": 2, "for": 4, "all": 7}  # of Cascaded, a mask
BITSHUFFLE = {"none": 0, "msb": 1, "lsb": 2}
SLOW = ("deflate", "gdeflate", "zstd", "lz4", "snappy")  # hundreds of times slower than a copy: fewer rounds
ROUNDS, WARM = 9, 8  # as `zfc bench` has them
POISON = 0x5A


class NvcompError(Exception):
    """nvCOMP refused, failed, or gave something else back."""


class Opts(ctypes.Structure):
    _fields_ = [("words", ctypes.c_uint64 * 8)]


def packed(form, *values):
    return Opts((ctypes.c_uint64 * 8).from_buffer_copy(struct.pack("<" + form, *values).ljust(64, b"\0")))


def options_of(codec, words):
    """The meaning of `words` of a choice (choices.py): options for compressing, and {name: options} for decompressing."""
    if codec == "ans":  # s1, s2, s0 (the default): states a lane
        states = int(words[0][1:]) if words else 0
        named = states or 2
        return packed("iiBBB", 0, TYPES["i8"], 0, states, 0), {
            "types named": packed("iiBBB", 0, TYPES["i8"], 0, named, 0),
            "types named, not validated": packed("iiBBB", 0, TYPES["i8"], 0, named, 1)}
    if codec == "cascaded":  # type, asym or sym, encodings, level
        mode = {"asym": 1, "sym": 2}[words[1]]
        mask = sum(ENCODINGS[w] for w in words[2].split("+"))
        level = int(words[3][1:]) if len(words) > 3 else 3
        return packed("iiQQQB", TYPES[words[0]], mode, 1, 0, mask, level), {"mode named": packed("i4xiiQQ", 0, TYPES[words[0]], mode, 1, 0)}
    if codec == "bitcomp":  # type, default or sparse
        return packed("iidi", int("sparse" in words), TYPES[words[0]], 0.0, 0), {"": Opts()}
    if codec == "lz4":  # type, msb or lsb
        shuffle = BITSHUFFLE[words[1]] if len(words) > 1 else 0
        kind = TYPES[words[0]] if words else TYPES["i8"]
        return packed("ii", kind, shuffle), {"": packed("iiii", 0, 0, kind, shuffle)}
    if codec in ("deflate", "gdeflate"):  # L0 to L5
        return packed("i", int(words[0][1:]) if words else 1), {"": Opts()}
    return Opts(), {"": Opts()}


def library_from(path, directory):
    """The shared library: a file, one compressed by xz, or the one in a wheel, unpacked into `directory`."""
    path = pathlib.Path(path)
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            names = [n for n in wheel.namelist() if pathlib.PurePosixPath(n).name.startswith("libnvcomp.so")]
            if not names:
                raise NvcompError(f"no libnvcomp.so in {path.name}")
            data = wheel.read(names[0])
    elif path.suffix == ".xz":
        data = lzma.decompress(path.read_bytes())
    else:
        return path.resolve()
    out = pathlib.Path(directory) / "libnvcomp.so"
    out.write_bytes(data)
    return out


class Nvcomp:
    def __init__(self, path):
        self.library = ctypes.CDLL(str(path))
        self.library.nvcompGetStatusString.restype = ctypes.c_char_p

    def check(self, status, what):
        if status != 0:
            raise NvcompError(f"{what}: {(self.library.nvcompGetStatusString(status) or b'').decode()} ({status})")

    def call(self, codec, what, *arguments):
        self.check(getattr(self.library, f"nvcompBatched{NAMES[codec]}{what}")(*arguments), f"{codec} {what}")

    def version(self):
        facts = (ctypes.c_uint32 * 2)()
        self.check(self.library.nvcompGetProperties(facts), "nvcompGetProperties")
        return {"version": facts[0], "built_with_cuda": facts[1]}

    def most(self, codec, chunk, opts):
        out = ctypes.c_size_t()
        self.call(codec, "CompressGetMaxOutputChunkSize", ctypes.c_size_t(chunk), opts, ctypes.byref(out))
        return out.value

    def work(self, codec, way, count, chunk, opts, total):
        out = ctypes.c_size_t()
        self.call(codec, f"{way}GetTempSize", ctypes.c_size_t(count), ctypes.c_size_t(chunk), opts, ctypes.byref(out), ctypes.c_size_t(total),
                  None)
        return out.value


class Tables:
    """Tables of 64 bits, one entry a chunk, on the device; statuses are of 32 bits."""

    def __init__(self, driver, memory, name, count):
        self.driver, self.count, self.at = driver, count, memory.need(name, 8 * 8 * count)
        self.used = 0

    def put(self, values):
        address = self.at + 8 * self.count * self.used
        self.used += 1
        self.driver.upload(address, np.asarray(values, np.uint64))
        return address

    def get(self, address, kind=np.uint64):
        out = np.empty(self.count, kind)
        self.driver.download(out, address)
        return out


def u64(value):
    return ctypes.c_uint64(value)


def bad_statuses(library, statuses):
    bad = np.flatnonzero(statuses)
    if bad.size:
        raise NvcompError(f"{bad.size} of {statuses.size} chunks failed, chunk {bad[0]} with "
                          f"{(library.library.nvcompGetStatusString(int(statuses[bad[0]])) or b'').decode()} ({statuses[bad[0]]})")


def compress(driver, memory, library, codec, opts, plain_at, size, chunk):
    """Compresses a column that lies on the device. Returns compressed bytes of its chunks, packed behind each other, 16-byte
    aligned, in the buffer `packed`; and the seconds it took."""
    count = -(-size // chunk)
    stride = -(-library.most(codec, chunk, opts) // 256) * 256
    room = library.work(codec, "Compress", count, chunk, opts, size)
    if stride * count + room > driver.free_bytes():
        raise NvcompError(f"compressing wants {(stride * count + room) / 2**30:.1f} GiB")
    at, temporary = memory.need("compressed", stride * count), memory.need("temporary", room + 16)
    tables = Tables(driver, memory, "tables", count)
    starts = np.arange(count, dtype=np.uint64)
    sizes = np.full(count, chunk)
    sizes[-1] = size - chunk * (count - 1)
    sources, lengths, targets = tables.put(plain_at + starts * chunk), tables.put(sizes), tables.put(at + starts * stride)
    out, status = tables.put(np.zeros(count)), tables.put(np.full(count, 2**64 - 1, np.uint64))
    seconds = driver.seconds(lambda: library.call(
        codec, "CompressAsync", u64(sources), u64(lengths), ctypes.c_size_t(chunk), ctypes.c_size_t(count), u64(temporary),
        ctypes.c_size_t(room), u64(targets), u64(out), opts, u64(status), None))
    statuses = np.empty(count, np.int32)
    driver.download(statuses, status)
    bad_statuses(library, statuses)
    bytes_of = tables.get(out)
    if int(bytes_of.max()) > stride:
        raise NvcompError("a compressed chunk is larger than its most")
    offsets = np.concatenate([[0], np.cumsum(-(-bytes_of.astype(np.int64) // 16) * 16)])
    to = memory.need("packed", int(offsets[-1]) + 4096)
    for k in range(count):
        driver.copy(to + int(offsets[k]), at + k * stride, int(bytes_of[k]))
    driver.wait()
    return bytes_of, offsets, seconds


def same(driver, memory, at, stride, plain, copies):
    """Compares what lies on the device with the plain bytes, as often as they are there."""
    landing = memory.host(plain.nbytes)
    for k in range(copies):
        driver.download(landing, at + k * stride)
        if not np.array_equal(landing, plain):
            wrong = int(np.flatnonzero(landing != plain)[0])
            raise NvcompError(f"what was timed is wrong: byte {wrong} of copy {k + 1} of {copies}")


def measure(driver, memory, library, choice, plain, at_least, until):
    """Compresses `plain` (bytes) once, as `choice` (codec, words, chunk) says, and decodes as many copies of the result as have
    `at_least` plain bytes, each from memory of its own and to a place of its own. Yields a row for each way to decode."""
    codec, words, chunk = choice
    opts, decoders = options_of(codec, words)
    size, copies = plain.nbytes, max(1, -(-at_least // plain.nbytes))
    plain_at = memory.need("plain", size)
    driver.upload(plain_at, plain)
    bytes_of, offsets, compressing = compress(driver, memory, library, codec, opts, plain_at, size, chunk)
    memory.release("compressed", "temporary")
    count, stored, stride = len(bytes_of), int(bytes_of.sum()), -(-int(offsets[-1]) // 256) * 256
    base = memory.buffers["packed"][0]
    sources_at = memory.need("sources", stride * copies + 4096)
    for k in range(copies):
        driver.copy(sources_at + k * stride, base, int(offsets[-1]))
    total, chunks, out_stride = size * copies, count * copies, -(-size // 256) * 256
    out = memory.need("out", out_stride * copies)
    tables = Tables(driver, memory, "tables", chunks)
    each, starts = np.repeat(np.arange(copies, dtype=np.uint64), count), np.tile(np.arange(count, dtype=np.uint64), copies)
    rooms = np.minimum(chunk, size - starts * chunk)
    sources = tables.put(sources_at + each * stride + np.tile(offsets[:-1].astype(np.uint64), copies))
    lengths, capacities = tables.put(np.tile(bytes_of, copies)), tables.put(rooms)
    got, targets, status = tables.put(np.zeros(chunks)), tables.put(out + each * out_stride + starts * chunk), tables.put(np.zeros(chunks))
    for name, decoding in decoders.items():
        room = library.work(codec, "Decompress", chunks, chunk, decoding, total)
        temporary = memory.need("temporary", room + 16)

        def decode(decoding=decoding, room=room, temporary=temporary):
            library.call(codec, "DecompressAsync", u64(sources), u64(lengths), u64(capacities), u64(got), ctypes.c_size_t(chunks),
                         u64(temporary), ctypes.c_size_t(room), u64(targets), decoding, u64(status), None)

        def prepare():
            driver.fill(out, POISON, out_stride * copies)
            driver.fill(status, 0xFF, 8 * chunks)

        prepare()
        decode()  # the first call also loads the codec's code
        driver.wait()
        first = driver.seconds(decode)
        rounds, warm = (ROUNDS, WARM) if first < 0.01 else (5, 1) if first < 0.1 else (3, 0)
        times = []
        for k in range(rounds):
            for _ in range(warm):
                decode()
            prepare()
            times.append(driver.seconds(decode))
            if len(times) >= 3 and time.monotonic() > until:
                break
        statuses = np.empty(chunks, np.int32)
        driver.download(statuses, status)
        bad_statuses(library, statuses)
        if not np.array_equal(tables.get(got), rooms.astype(np.uint64)):
            raise NvcompError("a chunk has another size than it had")
        same(driver, memory, out, out_stride, plain, copies)
        yield {"by": "nvcomp", "codec": " ".join([codec, *words]), "decoder": name, "chunk_bytes": chunk, "chunks": chunks,
               "column_plain_bytes": size, "column_stored_bytes": stored, "ratio": size / stored, "ratio_with_sizes": size / (stored + 4 * count),
               "repeated": copies, "plain_bytes": total, "read_bytes": stored * copies, "rounds": len(times),
               "decode_seconds": {"median": float(np.median(times)), "least": min(times), "most": max(times)},
               "compress_seconds": compressing, "work_bytes": room, "gb_per_second": total / float(np.median(times)) / 1e9, "verified": True}
    memory.release("sources", "temporary", "packed", "out")


def copy_speed(driver, memory, size):
    """Bytes a second that a copy of `size` bytes within the device's memory reads and writes, together."""
    memory.need("plain", size), memory.need("out", size)
    source, to = memory.buffers["plain"][0], memory.buffers["out"][0]
    driver.fill(source, 1, size)
    for _ in range(WARM):
        driver.copy(to, source, size)
    times = [driver.seconds(lambda: driver.copy(to, source, size)) for _ in range(ROUNDS)]
    memory.release("plain", "out")
    return 2 * size / float(np.median(times))


__all__ = ["CudaError", "Nvcomp", "NvcompError", "copy_speed", "library_from", "measure"]
