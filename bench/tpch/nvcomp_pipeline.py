"""The sets of queries.py by nvCOMP, pipelined as zipflow pipelines them: copies on a stream of their own, decodes on two or four, whichever is sooner, units of at most
UNIT_BYTES of compressed bytes in Johnson's order. For every array the codec with the least max(time on the link, time of decoding).

    nvcomp_pipeline.py LIBCUDA LIBNVCOMP DIRECTORY SETS REPEATS SECONDS SAMPLE_BYTES UNIT_BYTES

DIRECTORY and SETS are as queries.py makes them. JSON goes to standard output. In nvCOMP's favour: compressed bytes of a whole set lie on the
device side by side, no memory is used again; tables of chunks lie there beforehand and are not copied; rates are known beforehand.
"""

import ctypes
import json
import pathlib
import sys
import time

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "peers"))

import numpy as np  # noqa: E402

import choices  # noqa: E402
import tables  # noqa: E402
from cuda_driver import CudaError, Driver, Memory  # noqa: E402
from nvcomp_batched import NAMES, POISON, Nvcomp, NvcompError, Tables, bad_statuses, compress, measure, options_of, u64  # noqa: E402

STREAMS = (2, 4)  # that decode: both are tried, since copies may become slower where more streams wait for them
# By the kind of an array; those of choices.TABLE2 for a column come before.
GENERAL = {
    "i32": choices.choices("cascaded i32 asym all L3 @64K", "cascaded i32 asym all L3 @32K", "bitcomp i32 @32K", "bitcomp u32 sparse @256K", "ans s0 @64K"),
    "i64": choices.choices("cascaded i64 asym all L3 @32K", "cascaded u64 sym all @64K", "ans s0 @256K"),
    "f64": choices.choices("ans s0 @256K", "snappy @32K", "gdeflate L4 @32K", "cascaded u64 sym all @64K"),
    "u8": choices.choices("ans s1 @64K", "ans s0 @256K", "bitcomp u8 @32K", "cascaded u8 asym all L3 @64K"),
    "bytes": choices.choices("ans s0 @256K", "snappy @32K", "gdeflate L1 @64K", "gdeflate L5 @64K", "zstd @64K"),
    "offsets": choices.choices("cascaded u32 asym all L3 @32K", "cascaded u32 asym delta+for L3 @64K", "bitcomp u32 @32K"),
}


class Part:
    """An array of a column: values, or the characters or offsets of strings."""

    def __init__(self, name, kind, plain):
        self.name, self.kind, self.plain = name, kind, plain
        self.choice = None  # None: copied as it is
        self.decoder, self.row, self.decode_rate = None, {}, None  # plain bytes a second

    def stored(self):
        return int(self.bytes_of.sum()) if self.choice else self.plain.nbytes


def parts_of(directory, name, kind):
    """Arrays of a column. Offsets of strings have four bytes."""
    if kind == "string":
        offsets = np.fromfile(directory / f"{name}.offsets", np.int64)
        if offsets[-1] >= 1 << 32:
            raise NvcompError(f"{name}: offsets want more than 32 bits")
        return [Part(f"{name}.bytes", "bytes", np.fromfile(directory / f"{name}.bytes", np.uint8)),
                Part(f"{name}.offsets", "offsets", offsets.astype(np.uint32).view(np.uint8))]
    return [Part(name, "i32" if kind == "date32" else kind, np.fromfile(directory / name, np.uint8))]


def candidates(part, numbered):
    table, column = part.name.split(".")[:2]
    own = choices.NUMBERED.get(column, ()) if numbered else choices.TABLE2.get(table, {}).get(column, ())
    own = () if part.kind == "offsets" else own
    return list(dict.fromkeys(own + GENERAL[part.kind]))


class Bench:
    def __init__(self, libcuda, libnvcomp, unit_bytes):
        self.driver = Driver(libcuda)
        self.memory, self.library, self.unit_bytes = Memory(self.driver), Nvcomp(libnvcomp), unit_bytes
        self.streams = [self.handle("cuStreamCreate", ctypes.c_uint(1)) for _ in range(1 + max(STREAMS))]  # the first copies
        self.events = []
        self.pinned = []  # kept: numpy's arrays do not
        self.link = self.link_rate()

    def handle(self, function, *arguments):
        made = ctypes.c_void_p()
        self.driver.call(function, ctypes.byref(made), *arguments)
        return made

    def pin(self, size):
        """Memory of the host that the device copies from at full speed."""
        at = self.handle("cuMemHostAlloc", ctypes.c_size_t(max(size, 1)), ctypes.c_uint(0))
        self.pinned.append(at)
        return np.frombuffer((ctypes.c_ubyte * max(size, 1)).from_address(at.value), np.uint8)[:size]

    def link_rate(self, size=1 << 28):
        source, to = self.memory.host(size), self.memory.need("out", size)
        source[:] = 1
        times = []
        for _ in range(5):
            begin = time.perf_counter()
            self.driver.call("cuMemcpyHtoDAsync_v2", u64(to), ctypes.c_void_p(source.ctypes.data), ctypes.c_size_t(size), self.streams[0])
            self.driver.call("cuStreamSynchronize", self.streams[0])
            times.append(time.perf_counter() - begin)
        self.memory.release("out")
        return size / float(np.median(times))

    def choose(self, part, numbered, sample, until):
        """Measures candidates on a sample; then compresses all, and leaves it in pinned memory."""
        least = part.plain.nbytes / self.link  # as it is
        tried, at_least = [], min(1 << 28, 64 * min(sample, part.plain.nbytes))
        for choice in candidates(part, numbered):
            if part.plain.nbytes < 4096 or (tried and time.monotonic() > until):
                break
            try:
                for row in measure(self.driver, self.memory, self.library, choice, part.plain[:sample], at_least, min(until, time.monotonic() + 2)):
                    rate = row["plain_bytes"] / row["decode_seconds"]["median"]
                    cost = max(part.plain.nbytes / row["ratio_with_sizes"] / self.link, part.plain.nbytes / rate)
                    tried.append({"codec": row["codec"], "chunk_bytes": row["chunk_bytes"], "decoder": row["decoder"], "ratio": row["ratio"],
                                  "gb_per_second": rate / 1e9, "seconds": cost})
                    if cost < least:
                        least, part.choice, part.decoder, part.row, part.decode_rate = cost, choice, row["decoder"], tried[-1], rate
            except NvcompError as why:
                tried.append({"codec": " ".join([choice[0], *choice[1]]), "message": str(why)})
                self.memory.release()
        part.tried = tried
        if part.choice is None:
            part.packed = self.pin(part.plain.nbytes)
            part.packed[:] = part.plain
            return
        codec, words, chunk = part.choice
        at = self.memory.need("plain", part.plain.nbytes)
        self.driver.upload(at, part.plain)
        part.bytes_of, part.offsets, _ = compress(self.driver, self.memory, self.library, codec, options_of(codec, words)[0], at, part.plain.nbytes, chunk)
        part.packed = self.pin(int(part.offsets[-1]))
        self.driver.download(part.packed, self.memory.buffers["packed"][0])
        self.memory.release()

    def units(self, part):
        """Runs of chunks, (first, last, bytes of the link, bytes that they make)."""
        if part.choice is None:
            edges = [*range(0, part.plain.nbytes, self.unit_bytes), part.plain.nbytes]
            return [(a, b, b - a, 0) for a, b in zip(edges, edges[1:])]
        found, first, chunk = [], 0, part.choice[2]
        for k in range(1, len(part.bytes_of) + 1):
            if k == len(part.bytes_of) or part.offsets[k + 1] - part.offsets[first] > self.unit_bytes:
                found.append((first, k, int(part.offsets[k] - part.offsets[first]), min(k * chunk, part.plain.nbytes) - first * chunk))
                first = k
        return found

    def place(self, number, part):
        """Memory of the device for a part, and its tables."""
        part.out = self.memory.need(f"out {number}", part.plain.nbytes + 256)
        if part.choice is None:
            return
        part.at = self.memory.need(f"packed {number}", part.packed.nbytes + 4096)
        chunk, count = part.choice[2], len(part.bytes_of)
        starts = np.arange(count, dtype=np.uint64) * chunk
        part.rooms = np.minimum(chunk, part.plain.nbytes - starts)
        part.tables = Tables(self.driver, self.memory, f"tables {number}", count)
        part.sources, part.lengths = part.tables.put(part.at + part.offsets[:-1].astype(np.uint64)), part.tables.put(part.bytes_of)
        part.capacities, part.got = part.tables.put(part.rooms), part.tables.put(np.zeros(count))
        part.targets, part.status = part.tables.put(part.out + starts), part.tables.put(np.zeros(count))

    def work_of(self, part, first, last):
        opts = options_of(part.choice[0], part.choice[1])[1][part.decoder]
        return self.library.work(part.choice[0], "Decompress", last - first, part.choice[2], opts, part.plain.nbytes), opts

    def calls(self, parts, streams):
        """The calls of a run to the driver and nvCOMP, in order: (function, arguments) each, made beforehand. `streams` decode."""
        jobs = [(part, unit, unit[2] / self.link, unit[3] / part.decode_rate if unit[3] else 0.0) for part in parts for unit in self.units(part)]
        front = sorted((j for j in jobs if j[2] < j[3]), key=lambda j: j[2])
        jobs = front + sorted((j for j in jobs if j[2] >= j[3]), key=lambda j: -j[3])  # Johnson's rule
        while len(self.events) < len(jobs):
            self.events.append(self.handle("cuEventCreate", ctypes.c_uint(2)))
        work = max([self.work_of(part, first, last)[0] for part, (first, last, _, plain), _, _ in jobs if plain] or [0])
        rooms = [self.memory.need(f"work {s}", work + 16) for s in range(streams)]
        driver, made = self.driver.library, []
        for k, (part, (first, last, size, plain), _, _) in enumerate(jobs):
            begin = int(part.offsets[first]) if plain else first
            to = part.at if plain else part.out
            made.append((driver.cuMemcpyHtoDAsync_v2, (u64(to + begin), ctypes.c_void_p(part.packed.ctypes.data + begin), ctypes.c_size_t(size), self.streams[0])))
            if not plain:
                continue
            stream, (room, opts) = self.streams[1 + k % streams], self.work_of(part, first, last)
            tables_at = [u64(at + 8 * first) for at in (part.sources, part.lengths, part.capacities, part.got)]
            # Statuses have 32 bits.
            rest = [u64(part.targets + 8 * first), opts, u64(part.status + 4 * first), stream]
            made.append((driver.cuEventRecord, (self.events[k], self.streams[0])))
            made.append((driver.cuStreamWaitEvent, (stream, self.events[k], ctypes.c_uint(0))))
            made.append((getattr(self.library.library, f"nvcompBatched{NAMES[part.choice[0]]}DecompressAsync"),
                         (*tables_at, ctypes.c_size_t(last - first), u64(rooms[k % streams]), ctypes.c_size_t(room), *rest)))
        return made, jobs

    def check(self, parts):
        for part in parts:
            landing = self.memory.host(part.plain.nbytes)
            self.driver.download(landing, part.out)
            if not np.array_equal(landing, part.plain):
                raise NvcompError(f"{part.name}: what was timed is wrong")
            if part.choice is not None:
                statuses = np.empty(len(part.bytes_of), np.int32)
                self.driver.download(statuses, part.status)
                bad_statuses(self.library, statuses)
                if not np.array_equal(part.tables.get(part.got), part.rooms.astype(np.uint64)):
                    raise NvcompError(f"{part.name}: a chunk has another size than it had")

    def run(self, made):
        """Seconds, of which the host took how many to ask for it all."""
        begin = time.perf_counter()
        results = [function(*arguments) for function, arguments in made]
        asked = time.perf_counter()
        for stream in self.streams:
            self.driver.call("cuStreamSynchronize", stream)
        end = time.perf_counter()
        if any(results):
            raise NvcompError(f"call {next(k for k, r in enumerate(results) if r)} of {len(made)} gave {max(results)}")
        return end - begin, asked - begin

    def times(self, parts, made, repeats):
        """Seconds of each run, and what the host took of them. Outputs are poisoned before the first run and the last, and checked after."""
        times = []
        for k in range(2 + repeats):
            if k in (0, 1 + repeats):
                for part in parts:
                    self.driver.fill(part.out, POISON, part.plain.nbytes)
                    if part.choice is not None:
                        self.driver.fill(part.status, 0xFF, 4 * len(part.bytes_of))
                self.driver.wait()
            times.append(self.run(made))
            if k in (0, 1 + repeats):
                self.check(parts)
        return tuple(zip(*times[1:]))

    def measure_set(self, name, parts, repeats):
        try:
            for number, part in enumerate(parts):
                self.place(number, part)
            tried = {}
            for streams in STREAMS:
                made, jobs = self.calls(parts, streams)
                tried[streams] = self.times(parts, made, repeats)
            streams = min(tried, key=lambda n: np.median(tried[n][0]))
            seconds, asked = tried[streams]
            stored = sum(part.stored() for part in parts)
            return {"set": name, "plain_bytes": sum(p.plain.nbytes for p in parts), "stored_bytes": stored, "units": len(jobs), "streams": streams,
                    "seconds": {"median": float(np.median(seconds)), "least": min(seconds), "most": max(seconds)},
                    "host_seconds": float(np.median(asked)), "copy_bound_seconds": stored / self.link,
                    "decode_bound_seconds": sum(j[3] for j in jobs), "verified": True}
        finally:
            self.memory.release()


def main():
    libcuda, libnvcomp, directory, sets = sys.argv[1:5]
    repeats, sample, unit = int(sys.argv[5]), int(sys.argv[7]), int(sys.argv[8])
    until, end = (time.monotonic() + share * float(sys.argv[6]) for share in (0.5, 0.95))  # of choosing; of everything
    directory, declared = pathlib.Path(directory), tables.declared()
    bench = Bench(libcuda, libnvcomp, unit)
    parts, rows = {}, []
    wanted = [line.split() for line in pathlib.Path(sets).read_text().splitlines()]
    for column in dict.fromkeys(c for _, *columns in wanted for c in columns):
        kind, numbered = declared[column.partition(".")[0]][column.partition(".")[2]]
        parts[column] = parts_of(directory, column, kind)
        for part in parts[column]:
            bench.choose(part, numbered, sample, until)
    for name, *columns in wanted:
        try:
            if time.monotonic() > end:
                raise NvcompError("the time is used up")
            rows.append(bench.measure_set(name, [p for c in columns for p in parts[c]], repeats))
        except NvcompError as why:
            rows.append({"set": name, "verified": False, "message": str(why)})
    print(json.dumps({"gpu": bench.driver.facts(), "nvcomp": bench.library.version(), "link_rate": bench.link, "sets": rows, "parts": [
        {"part": p.name, "plain_bytes": p.plain.nbytes, "stored_bytes": p.stored(), **(p.row or {"codec": "copied as it is"}), "tried": p.tried}
        for of in parts.values() for p in of]}))
    return 0 if all(row["verified"] for row in rows) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (CudaError, NvcompError) as why:
        sys.exit(f"nvcomp_pipeline: {why}")
