"""The measured cases: data, our codecs on them, and which of nvCOMP's codecs and options.

A choice of nvCOMP's is (codec, words, chunk): nvcomp_batched.options_of says what the words mean. For the TPC-H columns they are what
a search over all options found at scale factor 10 on an H200, at 8 KiB to 1 MiB a chunk: the best ratio, the shortest copy and
decode, and the fastest of those that compress (ratio above 1.05), in this order where they differ.
"""

K, M = 1 << 10, 1 << 20


def nv(text):
    """"cascaded i32 asym all L3 @32K" as a choice."""
    words, chunk = text.split(" @")
    codec, *rest = words.split()
    return codec, tuple(rest), int(chunk[:-1]) * (K if chunk.endswith("K") else M)


def choices(*texts):
    return tuple(nv(text) for text in texts)


# ---- Bytes coded by how often they occur ----------------------------------------------------------------------------

ANS = choices("ans s0 @256K", "ans s0 @1M", "ans s0 @64K", "ans s1 @256K", "ans s1 @64K")
TANS = "tans(slots: tans_slots(tans_symbols))"
RANS = "rans(slots: rans_slots)"
RANS_8 = "rans(slots: rans_slots, bits: 8)"
HUFFMAN = "huffman(slots: huffman_table)"
FSST = "fsst(symbols: fsst_symbols, lengths: rle)"
FSST_GROUPS = "fsst_groups(symbols: fsst_symbols, lengths: rle)"

# Name of the data (data.py): our codecs by the names that pages have them under, nvCOMP's choices. The first rows are the ones that
# must not be left out where time runs short.
LANES = {
    "symbols3": {
        "ours": {"tans": TANS, "bitpack over tans": f"bitpack(packed: u8[] = {TANS})", "rans": RANS, "rans, 8 bits": RANS_8, "huffman": HUFFMAN,
                 "tans, log 8": TANS[:-1] + ", log: 8)",
                 "bitpack over tans, log 8": f"bitpack(packed: u8[] = {TANS[:-1]}, log: 8))", "bitpack": "bitpack"},
        "nvcomp": ANS + choices("bitcomp u8 @64K", "cascaded u8 asym all L3 @64K", "gdeflate L1 @64K", "zstd @64K"),
    },
    "symbols64": {
        "ours": {"tans": TANS, "rans": RANS, "rans, 8 bits": RANS_8, "huffman": HUFFMAN},
        "nvcomp": ANS + choices("gdeflate L1 @64K", "zstd @64K"),
    },
    "l_comment": {
        "ours": {"huffman": HUFFMAN, "fsst": FSST, "fsst_groups": FSST_GROUPS, "tans": TANS, "rans": RANS},
        "nvcomp": ANS[:3] + choices("snappy @32K", "lz4 i8 @16K", "gdeflate L1 @64K", "zstd @64K", "gdeflate L5 @64K"),
    },
    "o_comment": {
        "ours": {"words over bitpack": "strings(lengths: bitpack, bytes: words(tokens: bitpack, entries: strings(bitpack)))",
                 "words over bitpack over rans":
                     f"strings(bitpack, words(tokens: bitpack(packed: u8[] = {RANS}), entries: strings(bitpack)))",
                 "words over bitpack over tans":
                     f"strings(bitpack, words(tokens: bitpack(packed: u8[] = {TANS}), entries: strings(bitpack)))",
                 "strings over fsst_groups": f"strings(lengths: bitpack, bytes: {FSST_GROUPS})",
                 "strings over huffman": f"strings(lengths: bitpack, bytes: {HUFFMAN})"},
        "nvcomp": ANS[:3] + choices("snappy @32K", "gdeflate L1 @64K", "zstd @64K", "deflate L4 @64K"),
    },
    "corpora": {
        "ours": {"fsst": FSST, "fsst_groups": FSST_GROUPS, "huffman": HUFFMAN, "tans": TANS},
        "nvcomp": ANS[:3] + choices("snappy @32K", "lz4 i8 @16K", "gdeflate L1 @64K", "zstd @64K"),
    },
}

# ---- The paper's table 2 --------------------------------------------------------------------------------------------

TABLE2 = {
    "lineitem": {
        "l_orderkey": choices("cascaded i64 asym all L3 @32K", "cascaded u64 sym all @64K", "ans s0 @256K"),
        "l_partkey": choices("cascaded i32 asym all L3 @32K", "bitcomp u32 @32K", "ans s0 @64K"),
        "l_suppkey": choices("cascaded i32 sym rle @64K", "bitcomp i32 @32K", "ans s0 @64K"),
        "l_quantity": choices("bitcomp i32 @64K", "cascaded i32 asym all L3 @64K", "ans s0 @64K"),
        "l_extendedprice": choices("deflate L5 @64K", "ans s1 @256K", "ans s0 @256K"),
        "l_discount": choices("gdeflate L5 @1M", "snappy @32K", "ans s0 @256K"),
        "l_tax": choices("gdeflate L5 @1M", "gdeflate L4 @32K", "ans s0 @256K"),
        "l_returnflag": choices("gdeflate L5 @1M", "ans s1 @64K", "ans s0 @64K"),
        "l_linestatus": choices("gdeflate L5 @1M", "ans s1 @64K", "ans s0 @64K"),
        "l_shipdate": choices("cascaded i32 asym all L3 @64K", "ans s0 @64K"),
        "l_commitdate": choices("cascaded i32 asym all L3 @32K", "ans s0 @64K"),
        "l_receiptdate": choices("cascaded i32 asym all L3 @32K", "ans s0 @64K"),
        "l_shipinstruct": choices("gdeflate L5 @64K", "ans s1 @256K", "ans s0 @256K"),
        "l_shipmode": choices("deflate L5 @64K", "ans s1 @256K", "ans s0 @64K"),
    },
    "orders": {
        "o_orderkey": choices("cascaded i64 asym all L3 @16K", "cascaded i64 sym all @32K", "ans s0 @64K"),
        "o_custkey": choices("cascaded i32 asym rle+for L3 @32K", "bitcomp i32 @8K", "ans s0 @64K"),
        "o_totalprice": choices("gdeflate L2 @64K", "ans s0 @256K", "ans s0 @64K"),
        "o_orderdate": choices("cascaded i32 asym all L3 @64K", "ans s0 @64K"),
        "o_shippriority": choices("zstd @1M", "bitcomp u32 sparse @256K", "bitcomp u32 sparse @64K"),
        "o_comment": choices("deflate L4 @64K", "ans s0 @256K"),
    },
    "partsupp": {
        "ps_partkey": choices("cascaded i32 asym all L3 @64K", "cascaded i32 sym all @32K", "cascaded i32 sym all @64K"),
        "ps_suppkey": choices("lz4 u32 msb @1M", "lz4 u32 msb @16K", "ans s0 @64K"),
        "ps_availqty": choices("cascaded i32 asym all L3 @32K", "bitcomp i32 @32K", "ans s0 @64K"),
        "ps_supplycost": choices("gdeflate L4 @64K", "ans s0 @256K", "ans s0 @64K"),
    },
}

# Times --bytes that are decoded of a column. A tile of l_orderkey takes a warp 20 us or more: of 1 GiB, decoded in 300 us, the last ones would weigh.
VOLUME = {"l_orderkey": 4}

# The paper numbers these two beforehand; here also so: a byte a row, by these of our codecs.
NUMBERED_OURS = {"bitpack": "bitpack", "tans": f"{TANS[:-1]}, chunk: 65536)"}
NUMBERED = {
    "l_shipinstruct": choices("bitcomp u8 @32K", "ans s1 @64K", "ans s0 @64K"),
    "l_shipmode": choices("ans s0 @256K", "ans s1 @64K", "ans s0 @64K"),
}

# ---- The cost of checks ---------------------------------------------------------------------------------------------

# Kinds of kernels: containers of LANES (data, name), or generators of `zfc bench`.
CHECKED = (
    ("lanes", "symbols3", "tans"), ("lanes", "symbols64", "tans"), ("lanes", "symbols3", "rans"), ("lanes", "symbols3", "bitpack over tans"),
    ("lanes", "l_comment", "huffman"), ("numbers", "l_comment", "fsst_groups"),
    ("words", "o_comment", "words over bitpack"),
    ("map", "", "bitpack-7-u32"), ("map", "", "dictionary-12-i32"), ("groups", "", "rle-random16-i32"), ("scan", "", "delta-5-i64"),
)

# ---- Blocks and runs in formats of others ---------------------------------------------------------------------------

SPLIT = "zstd_split(chunk: %d, steps: zstd_steps(rows: zstd_tables), literals: zstd_literals(code: zstd_codes))"  # frames taken apart
# Data that orc_runs.py makes, and the mode of ORC's runs that it encodes them in.
MODES = {
    "runs of 3 to 10, i64": "short repeats",
    "an exception in 20, i64": "patched base",
    "steps of 8 bits, i64": "delta",
}
# Data (blocks_data of peers.py): codec, what compresses its chunks: a library of pyarrow's (`zstd`: level 3), or zlib (`deflate` and `gzip`, level 6), or
# a mode of orc_runs.py, or none (then our encoder does), bytes of such a chunk, the target in GB/s or none.
BLOCKS = {
    "l_comment, characters": (
        ("lz4", "lz4_raw", 64 * K, 180),
        ("lz4(chunk: 1048576)", "lz4_raw", M, 70),
        ("snappy", "snappy", 64 * K, 195),
        ("deflate", "deflate", 64 * K, 60),
        ("gzip", "gzip", 64 * K, 60),
        ("zstd", "zstd", 64 * K, 90),
        (SPLIT % (64 * K), "zstd", 64 * K, 90),
        (SPLIT % M, "zstd", M, 70),
        ("lz_split", None, 0, 320),
    ),
    "l_orderkey, bytes": (
        ("lz4", "lz4_raw", 64 * K, 190),
        ("snappy", "snappy", 64 * K, 200),
    ),
    "l_shipdate sorted, i64": (
        ("orc_rle1", None, 0, 1000),
        ("orc_rle2", None, 0, 600),
    ),
    "l_partkey, i64": (
        ("orc_rle1", None, 0, 300),
        ("orc_rle2", None, 0, 600),
        ("delta_binary_packed", None, 0, 600),
    ),
    "l_orderkey, i64": (
        ("orc_rle2", None, 0, 600),
        ("delta_binary_packed", None, 0, 600),
    ),
    "l_linenumber, i64": (("orc_rle2", None, 0, 600),),
    **{name: (("orc_rle2", mode, 128 * K, 600),) for name, mode in MODES.items()},
    "l_shipdate, u32 from 0": (("parquet_hybrid", None, 0, 1200),),
    "l_shipdate sorted, u32 from 0": (("parquet_hybrid", None, 0, 1200),),
    "l_returnflag, characters": (
        ("packbits", None, 0, None),
        ("orc_byte_rle", None, 0, None),
    ),
}
BLOCKS_NVCOMP = {
    "l_comment, characters": choices("lz4 i8 @64K", "lz4 i8 @1M", "snappy @64K", "deflate L4 @64K", "gdeflate L4 @64K", "zstd @64K"),
    "l_orderkey, bytes": choices("lz4 i8 @64K", "lz4 i32 @64K", "snappy @64K"),
}
CHUNKS_OF_1M = 1 / 2  # times --bytes that are decoded of chunks of 1 MiB: 512 of them of 1 GiB
# Programs of --programs, by file, and their data. Those in programs/ are kept as they were written.
PROGRAMS = {
    "lz4.zf": (("l_comment, characters", "lz4_block", "lz4_raw", 64 * K),),
    "orc_rle1.zf": (("l_shipdate sorted, i64", "orc_rle1", None, 0), ("l_partkey, i64", "orc_rle1", None, 0)),
    "parquet_delta.zf": (("l_partkey, i64", "delta_binary_packed", None, 0), ("l_orderkey, i64", "delta_binary_packed", None, 0)),
    "packbits.zf": (("l_returnflag, characters", "packbits", None, 0),),
    "rice.zf": (("l_shipdate, u32 from 0", "rice", None, 0),),
}
