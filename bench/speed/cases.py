"""Cases measured on generated columns, and their least speeds.

`AT_LEAST` are the criteria: of rows by their names, parts of the limit (or GB/s of characters); of families the mean of their rows.
"""

import pathlib
import sys
import typing

sys.dont_write_bytecode = True
sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "peers")]
import made  # noqa: E402
from choices import RANS, TANS, choices  # noqa: E402


class Case(typing.NamedTuple):
    part: str
    family: str
    name: str  # of the data and the row: no two cases have the same
    kind: str  # type of the column as zfc has it
    codec: str
    make: typing.Callable  # made.py
    nvcomp: tuple = ()

    def data(self):
        """Cases of the same data have nvCOMP's figures together."""
        return self.name.split(", over")[0]


def packed_by_nvcomp(kind):
    return choices(f"bitcomp {kind} @64K", f"cascaded {kind} asym all L3 @64K", "ans s0 @256K")


def work():
    """The table of work, but for what is a column of TPC-H and what the other parts have."""
    for width in (1, 7, 12, 16, 25, 32):
        yield Case("work", "bitpack", f"bitpack-{width}-u32", "u32", "bitpack", made.bits("u32", width), packed_by_nvcomp("u32"))
    for width in (3, 7, 16, 25, 40):
        yield Case("work", "bitpack", f"bitpack-{width}-i64", "i64", "bitpack", made.bits("i64", width), packed_by_nvcomp("i64"))
    for kind, width in (("u8", 3), ("u8", 7), ("u16", 4), ("u16", 9), ("u16", 12)):
        yield Case("work", "bitpack, narrow", f"bitpack-{width}-{kind}", kind, "bitpack", made.bits(kind, width), packed_by_nvcomp(kind))
    for share in (0, 1, 3):
        yield Case("work", "alp", f"alp-{share}-f64", "f64", "alp(ints: bitpack, gaps: bitpack)", made.hundredths(share),
                   choices("ans s0 @256K", "gdeflate L2 @64K"))
    for width in (5, 12):
        for kind in ("u32", "u64"):
            yield Case("work", "delta", f"delta-{width}-{kind}", kind, "delta(bitpack)", made.steps(kind, width),
                       choices(f"cascaded {kind} sym all @64K", f"cascaded {kind} asym all L3 @64K"))
    for mean in (4, 64):
        yield Case("work", "delta_stride", f"delta_stride-{mean}-i64", "i64", "delta_stride(bitpack, bitpack, bitpack)", made.ramps("i64", mean),
                   choices("cascaded i64 asym all L3 @64K"))
    for name, kind, codec, values in (("bitpack-10-i32", "i32", "nullable(values: bitpack)", lambda rng, n: rng.integers(0, 1 << 10, n)),
                                      ("float2int-f64", "f64", "nullable(values: float2int(bitpack))", lambda rng, n: rng.integers(0, 100000, n) / 100.0),
                                      ("plain-i64", "i64", "nullable", lambda rng, n: rng.integers(0, 1 << 60, n))):
        yield Case("work", "nullable", f"nullable-{name}", f"{kind}?", codec, made.nullable(kind, values))
    yield Case("work", "gpu_for", "gpu_for-7-i32", "i32", "gpu_for", made.bits("i32", 7), packed_by_nvcomp("i32"))
    yield Case("work", "gpu_for", "gpu_dfor-7-i32", "i32", "gpu_dfor", made.steps("i32", 7), choices("cascaded i32 sym all @64K"))
    yield Case("work", "gpu_for", "gpu_rfor-16-i32", "i32", "gpu_rfor", made.runs("i32", made.RUNS["random-16"]))


def rle():
    """Runs of the paper's figure 13: fourteen ways to be long."""
    for name, lengths in made.RUNS.items():
        for kind in ("u32", "u64"):
            make = made.runs(kind, lengths)
            yield Case("rle", "rle", f"{name}, {kind}", kind, "rle", make, choices(f"cascaded {kind} asym all L3 @64K", f"bitcomp {kind} sparse @64K"))
            yield Case("rle", "rle over bitpack", f"{name}, {kind}, over bitpacks", kind, "rle(bitpack, bitpack)", make)


def bitpack():
    """Widths 1 to 64 of figure 12."""
    for width in range(1, 65):
        peers = choices("bitcomp i64 @64K", "cascaded i64 asym all L3 @64K") if width % 8 == 0 or width == 1 else ()
        yield Case("bitpack", "widths", f"{width} bits", "i64", "bitpack", made.bits("i64", width), peers)


# Weights of bytes: of figure 14 on the left more and more compressed, on the right of three symbols one more and more frequent.
ENTROPY = {"256 alike": [1] * 256, "64 alike": [1] * 64, "16 alike": [1] * 16, "4 alike": [1] * 4,
           "1 : 1 : 1": [1, 1, 1], "1 : 2 : 1": [1, 2, 1], "1 : 8 : 1": [1, 8, 1], "1 : 32 : 1": [1, 32, 1]}


def ans():
    for name, weights in ENTROPY.items():
        for codec in (TANS, RANS):
            yield Case("ans", "entropy", f"{name}, over {codec.split('(')[0]}", "u8", codec, made.symbols(weights),
                       choices("ans s0 @64K", "ans s0 @256K", "ans s0 @1M") if codec == TANS else ())


CHUNKS = (1 << 12, 1 << 13, 1 << 14, 1 << 15, 1 << 16, 1 << 17, 1 << 18)


def chunks():
    """Figure 15: the same bytes in chunks of several sizes."""
    for size in CHUNKS:
        yield Case("ans", "chunks", f"1 : 2 : 1, over tans in chunks of {size >> 10} KiB", "u8", f"{TANS[:-1]}, chunk: {size})", made.symbols(ENTROPY["1 : 2 : 1"]))


CASES = (*work(), *rle(), *bitpack(), *ans())

# ---- Criteria -------------------------------------------------------------------------------------------------------

AT_LEAST = {
    **{case.name: .94 for case in CASES if case.family == "bitpack"}, "bitpack-1-u32": .91, "bitpack-7-u32": .91, "bitpack-3-i64": .91, "bitpack-7-i64": .91,
    **{case.name: .92 for case in CASES if case.family == "bitpack, narrow"},
    "alp-0-f64": .90, "alp-1-f64": .85, "alp-3-f64": .80,
    "delta-5-u32": .82, "delta-5-u64": .90, "delta-12-u32": .81, "delta-12-u64": .84,
    **{case.name: .85 for case in CASES if case.family in ("delta_stride", "nullable")},
    "gpu_for-7-i32": .80, "gpu_dfor-7-i32": .65, "gpu_rfor-16-i32": .50,
    **{case.name: {"even-1": .81, "even-64": .85}.get(case.name.split(", ")[0], .86) for case in CASES if case.family == "rle"},
}

# Columns of table 2, in the paper's nests.
OF_COLUMNS = {**{c: .92 for c in ("l_shipdate", "l_extendedprice", "l_discount", "l_tax", "o_totalprice", "ps_supplycost")},
              "l_orderkey": .88, "ps_partkey": .75}
CHARACTERS = {"o_comment": 800}  # GB/s, by words over bitpack

# ---- Fusion ---------------------------------------------------------------------------------------------------------


class Nest(typing.NamedTuple):
    """A nest of two stages, of which the inner one unpacks bits."""

    name: str
    table: str
    column: str
    kind: str
    codec: str
    between: int  # bytes of an element that the inner stage leaves in memory, where nothing is fused
    inner: str  # the stream that the inner stage reads
    groups: str  # the stream of so many elements as the inner stage has; "": as many as there are rows
    volume: int  # times --bytes that are decoded: an inner stage of few elements has enough to do then
    at_least: float  # times as fast
    paper: float


NESTS = (Nest("dictionary over bitpack", "lineitem", "l_shipdate", "date32", "dictionary(codes: bitpack)", 4, "codes.packed", "", 1, 2.2, 2.45),
         Nest("float2int over bitpack", "lineitem", "l_extendedprice", "f64", "float2int(ints: bitpack)", 8, "ints.packed", "", 1, 2.0, 2.08),
         Nest("rle over bitpack", "lineitem", "l_orderkey", "i64", "rle(counts: bitpack)", 4, "counts.packed", "values", 4, 1.15, 1.18))
