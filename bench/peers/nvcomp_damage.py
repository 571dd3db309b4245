"""A process that decodes damaged chunks with nvCOMP, so that a lost context or a kernel that never ends costs one trial. Started by damage.py.

    nvcomp_damage.py LIBCUDA LIBNVCOMP PLAIN CODEC,WORD,... DECODER FIRST

Compresses the bytes of the file PLAIN once, then makes each trial from number FIRST on: one chunk is damaged, all are decoded, each into
memory between canaries. A line of JSON for each: {"trial": N, "way": NAME, "result": WORD, "outside": BOOL}, and {"done": true} behind them.
"""

import json
import sys

sys.dont_write_bytecode = True

import numpy as np  # noqa: E402

from cuda_driver import CudaError, Driver, Memory  # noqa: E402
from nvcomp_batched import Nvcomp, NvcompError, Tables, compress, options_of, u64  # noqa: E402

CHUNK, GUARD, CANARY, POISON = 1 << 16, 4096, 0x5C, 0x5A
# Damages of a chunk, and how often each is tried; tests/gpu/gpu_damage.c has the same for zipflow.
WAYS = (("none", 1), ("flip-1-bit", 6), ("8-random-bytes", 3), ("header-random", 2), ("header-ff", 1), ("size-half", 2), ("size-minus-1", 2),
        ("size-8", 1), ("size-0", 1), ("half-and-zeros", 2), ("garbage", 2), ("output-too-small", 1))
TRIALS = [(way, k) for way, times in WAYS for k in range(times)]


def damaged(way, chunk, random):
    """(bytes, the size that is said of them)."""
    chunk, size = chunk.copy(), len(chunk)
    if way == "flip-1-bit":
        chunk[random.integers(size)] ^= np.uint8(1 << random.integers(8))
    elif way == "8-random-bytes":
        chunk[random.integers(0, size, 8)] = random.integers(0, 256, 8, np.uint8)
    elif way == "header-random":
        chunk[:16] = random.integers(0, 256, len(chunk[:16]), np.uint8)
    elif way == "header-ff":
        chunk[:16] = 0xFF
    elif way == "half-and-zeros":
        chunk[size // 2:] = 0
    elif way == "garbage":
        chunk[:] = random.integers(0, 256, size, np.uint8)
    return chunk, {"size-half": size // 2, "size-minus-1": size - 1, "size-8": 8, "size-0": 0}.get(way, size)


class Trials:
    def __init__(self, driver, library, codec, words, decoder, plain):
        self.driver, self.memory, self.library, self.codec, self.plain = driver, Memory(driver), library, codec, plain
        opts, decoders = options_of(codec, words)
        self.decoding = decoders[decoder]
        plain_at = self.memory.need("plain", plain.nbytes)
        driver.upload(plain_at, plain)
        self.sizes, self.offsets, _ = compress(driver, self.memory, library, codec, opts, plain_at, plain.nbytes, CHUNK)
        self.stored = np.empty(int(self.offsets[-1]), np.uint8)
        driver.download(self.stored, self.memory.buffers["packed"][0])
        self.count = len(self.sizes)
        self.rooms = np.full(self.count, CHUNK)
        self.rooms[-1] = plain.nbytes - CHUNK * (self.count - 1)
        # Chunks with zeros behind them, outputs with canaries around.
        self.in_stride, self.out_stride = -(-int(self.sizes.max()) // 256) * 256 + 256, CHUNK + 2 * GUARD
        self.source = self.memory.need("sources", self.in_stride * self.count)
        self.out = self.memory.need("out", self.out_stride * self.count)
        self.room = library.work(codec, "Decompress", self.count, CHUNK, self.decoding, plain.nbytes)
        self.temporary = self.memory.need("temporary", self.room + 16)

    def inputs(self, way, k, victim):
        image = np.zeros(self.in_stride * self.count, np.uint8)
        sizes, rooms = self.sizes.astype(np.int64), self.rooms.copy()
        for c in range(self.count):
            chunk = self.stored[int(self.offsets[c]):int(self.offsets[c]) + int(self.sizes[c])]
            if c == victim:
                chunk, sizes[c] = damaged(way, chunk, np.random.Generator(np.random.PCG64([sum(way.encode()), k])))
            image[c * self.in_stride:c * self.in_stride + len(chunk)] = chunk
        if way == "output-too-small":
            rooms[victim] //= 2
        return image, sizes, rooms

    def run(self, way, k):
        """(result, whether a canary was touched)."""
        victim = (7 * k + 5) % self.count
        image, sizes, rooms = self.inputs(way, k, victim)
        starts = np.arange(self.count, dtype=np.uint64)
        self.driver.upload(self.source, image)
        before = np.full((self.count, self.out_stride), CANARY, np.uint8)
        for c in range(self.count):
            before[c, GUARD:GUARD + int(rooms[c])] = POISON
        self.driver.upload(self.out, before.reshape(-1))
        tables = Tables(self.driver, self.memory, "tables", self.count)
        sources, lengths, capacities = tables.put(self.source + starts * self.in_stride), tables.put(sizes), tables.put(rooms)
        got, targets = tables.put(np.zeros(self.count)), tables.put(self.out + GUARD + starts * self.out_stride)
        status = tables.put(np.full(self.count, 2**64 - 1, np.uint64))
        try:
            self.library.call(self.codec, "DecompressAsync", u64(sources), u64(lengths), u64(capacities), u64(got), self.count, u64(self.temporary),
                              u64(self.room), u64(targets), self.decoding, u64(status), None)
        except NvcompError:
            self.driver.wait()
            return "refused", False
        self.driver.wait()
        statuses, after = np.empty(self.count, np.int32), np.empty_like(before)
        self.driver.download(statuses, status)
        self.driver.download(after.reshape(-1), self.out)
        outside = any((after[c, :GUARD] != CANARY).any() or (after[c, GUARD + int(rooms[c]):] != CANARY).any() for c in range(self.count))
        right = [np.array_equal(after[c, GUARD:GUARD + int(self.rooms[c])], self.plain[c * CHUNK:c * CHUNK + int(self.rooms[c])])
                 for c in range(self.count)]
        beside = [c for c in range(self.count) if c != victim and (statuses[c] != 0 or not right[c])]
        if beside:
            return "others", outside
        return "refused" if statuses[victim] != 0 else "right" if right[victim] else "wrong", outside


def main():
    libcuda, libnvcomp, path, codec, decoder, first = sys.argv[1:]
    codec, *words = codec.split(",")
    trials = Trials(Driver(libcuda), Nvcomp(libnvcomp), codec, words, decoder, np.fromfile(path, np.uint8))
    print(json.dumps({"ready": True}), flush=True)
    for number in range(int(first), len(TRIALS)):
        way, k = TRIALS[number]
        try:
            result, outside = trials.run(way, k)
        except CudaError as why:
            print(json.dumps({"trial": number, "way": way, "result": "lost", "outside": False, "message": str(why)}), flush=True)
            return 1
        print(json.dumps({"trial": number, "way": way, "result": result, "outside": outside}), flush=True)
    print(json.dumps({"done": True}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
