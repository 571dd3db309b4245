"""Runs of ORC's integers, version 2, one mode a column: rows, and chunks of them (ORC specification v1, "Integer Run Length Encoding, version 2").

Our encoder chooses modes by itself, and makes no patched bases. Rows are i64, the same on any machine.
"""

import numpy as np

RUN, CHUNK = 512, 16384  # rows of a run, and at most of a chunk
LOW, HIGH, GAP = 8, 24, 5  # bits of a value, of what an exception has above them, and of the distance to the next exception
LOW_CODE, HIGH_CODE = LOW - 1, HIGH - 1  # of widths up to 24
EVERY = 20  # rows to one exception


def rows(mode, size):
    """At most `size` bytes of rows, in whole runs."""
    chosen, count = np.random.Generator(np.random.PCG64(5)), size // 8
    if mode == "short repeats":
        lengths = chosen.integers(3, 11, count // 3)
        lengths = lengths[:np.searchsorted(np.cumsum(lengths), count, "right")]
        values = 2 * chosen.integers(-1 << 14, 1 << 14, len(lengths), np.int64) + np.arange(len(lengths)) % 2  # neighbours differ
        return np.repeat(values, lengths)
    count = count // RUN * RUN
    if mode == "delta":
        return np.cumsum(chosen.integers(0, 1 << LOW, count, np.int64))
    values = chosen.integers(0, 1 << LOW, count, np.int64)
    at = np.arange(0, count, EVERY)[:-1]
    values[at + chosen.integers(0, EVERY // 2, len(at))] |= chosen.integers(1, 1 << HIGH, len(at), np.int64) << LOW
    return values


def packed(values, width):
    """Numbers of `width` bits, the highest bit first, and bits of 0 to a whole byte."""
    bits = np.unpackbits(values.astype(">u8").view(np.uint8).reshape(-1, 8), axis=1)
    return np.packbits(bits[:, 64 - width:]).tobytes()


def varint(number):
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes(found) + bytes([number])


def head(mode, width_code, count):
    return bytes([mode << 6 | width_code << 1 | count - 1 >> 8, count - 1 & 255])


def repeats(values):
    return bytes([1 << 3 | len(values) - 3]) + int(values[0] << 1 ^ values[0] >> 63).to_bytes(2, "big")


def patched(values):
    """A base of 0, in one byte."""
    at = np.flatnonzero(values >> LOW)
    gaps = np.diff(at, prepend=0)
    entries = packed(gaps << HIGH | values[at] >> LOW, 30)  # the width of the format that has room for HIGH + GAP
    counts = bytes([HIGH_CODE, GAP - 1 << 5 | len(at)])
    return head(2, LOW_CODE, len(values)) + counts + bytes(1) + packed(values & (1 << LOW) - 1, LOW) + entries


def differences(values):
    first, second = int(values[0]), int(values[1] - values[0])
    return head(3, LOW_CODE, len(values)) + varint(2 * first) + varint(2 * second) + packed(np.diff(values[1:]), LOW)


MODES = {"short repeats": repeats, "patched base": patched, "delta": differences}


def chunks(mode, plain):
    """[(bytes of a chunk, its rows)]"""
    runs = np.split(plain, np.flatnonzero(np.diff(plain)) + 1 if mode == "short repeats" else np.arange(RUN, len(plain), RUN))
    found, now, held = [], [], 0
    for run in runs:
        if held + len(run) > CHUNK:
            found.append((b"".join(now), held))
            now, held = [], 0
        now.append(MODES[mode](run))
        held += len(run)
    return found + [(b"".join(now), held)]
