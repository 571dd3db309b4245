"""Columns that are made: each a function of how many rows, the same for any machine. They give {ending: array} as `zfc decode` writes it."""

import sys

import numpy as np

sys.dont_write_bytecode = True
TYPES = {"u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "i32": np.int32, "u64": np.uint64, "i64": np.int64, "f64": np.float64}


def generator(*seed):
    return np.random.Generator(np.random.PCG64([len(seed), *seed]))


def bits(kind, width):
    """Numbers of `width` bits, uniformly."""

    def make(rows):
        return {kind: generator(1, width).integers(0, 1 << width, rows, np.uint64).astype(TYPES[kind])}

    return make


def steps(kind, width):
    """Sums of uniform numbers of `width` bits, modulo the type's size."""

    def make(rows):
        return {kind: np.cumsum(generator(2, width).integers(0, 1 << width, rows, np.uint64)).astype(TYPES[kind])}

    return make


# ---- Runs -----------------------------------------------------------------------------------------------------------


def even(length):
    return lambda rows: np.full(-(-rows // length), length, np.int64)


def random(most):
    """Runs of 1 to `most` rows, all as likely."""
    return lambda rows: generator(3, most).integers(1, most + 1, 22 * rows // (10 * (most + 1)) + most + 100)


def outlier(rows):
    """Runs of one row, of which one in 512 has 1024."""
    return np.where(generator(4).random(max(600, rows // 2)) < 1 / 512, 1024, 1)


def mixed(first, second):
    """Half of the rows of one kind, then half of another."""

    def lengths(rows):
        return np.concatenate([cut(first(rows // 2), rows // 2), cut(second(rows - rows // 2), rows - rows // 2)])

    return lengths


def cut(lengths, rows):
    """As many of the first runs as make so many rows, the last one shorter where it must be."""
    ends = np.cumsum(lengths)
    count = int(np.searchsorted(ends, rows)) + 1 if rows > 0 else 0
    if count > len(lengths):
        raise ValueError("too few runs were made")
    lengths = lengths[:count].copy()
    lengths[-1:] -= ends[count - 1:count] - rows
    return lengths


RUNS = {**{f"even-{n}": even(n) for n in (1, 2, 4, 16, 64, 256, 1024)}, **{f"random-{n}": random(n) for n in (4, 16, 256)}, "outlier": outlier,
        "even-2 + random-256": mixed(even(2), random(256)), "even-64 + outlier": mixed(even(64), outlier),
        "random-16 + outlier": mixed(random(16), outlier)}


def runs(kind, lengths):
    """Numbers of 16 bits, another one each run."""

    def make(rows):
        of = cut(lengths(rows), rows)
        values = np.cumsum(generator(5).integers(1, 1 << 16, len(of))) & 0xFFFF  # by 1 to 65535 further on, modulo 65536
        return {kind: np.repeat(values, of).astype(TYPES[kind])}

    return make


def ramps(kind, mean):
    """Arithmetic progressions of 2 to 2 * mean - 2 rows."""

    def make(rows):
        rng = generator(6, mean)
        of = cut(rng.integers(2, 2 * mean - 1, 2 * rows // mean + 100), rows)
        starts, strides = rng.integers(0, 1 << 27, len(of)), rng.integers(-16, 16, len(of))
        within = np.arange(rows) - np.repeat(np.cumsum(of) - of, of)
        return {kind: (np.repeat(starts, of) + np.repeat(strides, of) * within).astype(TYPES[kind])}

    return make


# ---- Others ---------------------------------------------------------------------------------------------------------


def nullable(kind, values):
    """A tenth of the rows null. `values`: function of generator and rows."""

    def make(rows):
        rng = generator(7)
        valid = rng.random(rows) > 0.1
        plain = np.where(valid, values(rng, rows), 0).astype(TYPES[kind])
        return {kind: plain, "valid": np.packbits(valid, bitorder="little")}

    return make


def hundredths(share):
    """Amounts in hundredths, of which so many of a hundred are any floats."""

    def make(rows):
        rng = generator(8)
        amounts = rng.integers(0, 100000, rows) / 100.0
        return {"f64": np.where(rng.random(rows) < share / 100, rng.random(rows), amounts)}

    return make


def symbols(weights):
    """Bytes 0, 1, .. that occur as often as their weights say, independent of each other."""

    def make(rows):
        edges = np.cumsum(np.asarray(weights, np.float64) / np.sum(weights))
        table = np.minimum(np.searchsorted(edges, (np.arange(1 << 16) + 0.5) / (1 << 16)), len(weights) - 1).astype(np.uint8)
        return {"u8": table[generator(9).integers(0, 1 << 16, rows, np.uint16)]}

    return make
