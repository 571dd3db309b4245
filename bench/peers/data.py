"""Data that is made, read or numbered: one array of bytes each, and for strings their offsets."""

import pathlib
import subprocess
import sys

import numpy as np

sys.dont_write_bytecode = True


def symbols(weights, size):
    """Bytes 0, 1, .. that occur as often as their weights say, independent of each other; the same for any machine."""
    edges = np.cumsum(np.asarray(weights, np.float64) / np.sum(weights))
    table = np.searchsorted(edges, (np.arange(1 << 16) + 0.5) / (1 << 16)).astype(np.uint8)
    table = np.minimum(table, len(weights) - 1).astype(np.uint8)
    draws = np.random.Generator(np.random.PCG64(7)).integers(0, 1 << 16, size, np.uint16)
    return table[draws]


def symbols3(size):
    return symbols([1, 2, 1], size)


def symbols64(size):
    return symbols([1 / (i + 2) for i in range(64)], size)


def corpora(directory, size):
    """The files of a directory behind each other, as often as fits."""
    files = sorted(p for p in pathlib.Path(directory).iterdir() if p.is_file())
    once = np.concatenate([np.fromfile(p, np.uint8) for p in files])
    return np.resize(once, max(once.size, size // once.size * once.size))


def make_tables(generator, directory, scale, tables):
    """TPC-H as CSV: one file a table, where it is not there yet."""
    directory.mkdir(parents=True, exist_ok=True)
    for table in tables:
        if not (directory / f"{table}.csv").exists():
            try:
                subprocess.run([generator, "csv", "-s", str(scale), "--tables", table, "--output-dir", directory], check=True, capture_output=True)
            except FileNotFoundError:
                raise ValueError(f"there is no {generator}: script/bootstrap installs it, and --tpchgen names another") from None
