"""Makes the data of bench/made_columns.zf and says how to encode and measure them. Usage: made_columns.py DIRECTORY [ROWS]"""

import pathlib
import string
import sys

import numpy as np


def main():
    words = sys.argv[1:]
    if len(words) not in (1, 2) or words[0].startswith("-") or not all(w.isdigit() for w in words[1:]):
        sys.exit(__doc__)
    directory, rows = pathlib.Path(words[0]), int(words[1]) if len(words) > 1 else 4000000
    directory.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(1)

    def column(name, values, valid=None):
        np.save(directory / f"{name}.npy", values)
        inputs.append(f"{name}={name}.npy")
        if valid is not None:
            np.packbits(valid, bitorder="little").tofile(directory / f"{name}.valid")
            inputs.append(f"{name}.valid={name}.valid")

    inputs = []
    valid = rng.random(rows) > 0.1
    column("ni32", np.where(valid, rng.integers(0, 1000, rows), 0).astype(np.int32), valid)
    column("nf64", np.where(valid, rng.integers(0, 100000, rows) / 100.0, 0.0), valid)
    column("nraw", np.where(valid, rng.integers(0, 1 << 60, rows), 0).astype(np.int64), valid)
    runs = np.repeat(rng.random(rows // 50 + 1) > 0.2, 50)[:rows]
    column("nrle", np.where(runs, rng.integers(0, 1000, rows), 0).astype(np.int32), runs)
    column("ngap", np.where(valid, rng.integers(0, 1000, rows), 0).astype(np.int32), valid)
    column("drle", np.cumsum(np.repeat(rng.integers(0, 100, rows // 20 + 1), 20)[:rows]).astype(np.int64))
    walk = np.cumsum(rng.integers(-50, 51, rows)) / 100.0
    column("alpd", np.where(rng.random(rows) < 0.01, rng.random(rows), walk))
    hundredths = rng.integers(0, 100000, rows) / 100.0
    for name, share in (("alp1", 0.01), ("alp5", 0.05)):
        column(name, np.where(rng.random(rows) < share, rng.random(rows), hundredths))
    column("gfor", rng.integers(0, 128, rows).astype(np.int32))
    column("gdfor", np.cumsum(rng.integers(0, 100, rows)).astype(np.int32))
    exceptions = rng.random(rows) < 0.01
    column("pf", np.where(exceptions, rng.integers(0, 1 << 30, rows), rng.integers(0, 128, rows)).astype(np.int32))
    offsets = np.concatenate([[0], np.cumsum(rng.integers(5, 25, rows))]).astype(np.int64)
    offsets.tofile(directory / "texts.offsets")
    letters = np.frombuffer(string.ascii_lowercase.encode(), np.uint8)
    letters[rng.integers(0, 26, offsets[-1])].tofile(directory / "texts.bytes")
    inputs += ["texts.offsets=texts.offsets", "texts.bytes=texts.bytes"]
    print(f"cd {directory}")
    print("zfc encode -c", pathlib.Path(__file__).resolve().with_suffix(".zf"), "-o made.zfd", *inputs)
    print("zfc bench --json --device cuda --bytes 1073741824 made.zfd")


if __name__ == "__main__":
    main()
