"""Tables and sentences of page.py: zipflow beside nvCOMP, and formats of others. Each function gives a path and its record, which stand above
it (or None twice), and a text; or None."""

import re

from page_cells import between, choice, good, having, limit, lines_of, listed, newest_of_part, origin, of_part, ratio, short, speed, table
import rows as of_rows
import speed_tables as of_speed

TABLE2 = ("l_orderkey", "o_orderkey", "l_partkey", "l_suppkey", "o_custkey", "l_extendedprice", "l_discount", "l_tax", "o_totalprice", "l_shipdate",
          "l_commitdate", "l_receiptdate", "o_orderdate", "l_returnflag", "l_linestatus", "l_quantity", "l_shipinstruct", "l_shipinstruct, numbered",
          "l_shipmode", "l_shipmode, numbered", "o_shippriority", "o_comment", "ps_partkey", "ps_suppkey", "ps_availqty", "ps_supplycost")
DATA = {"symbols3": "three symbols (.25, .5, .25), bytes", "symbols64": "64 symbols, p ~ 1/(i+2), bytes", "l_comment": "l_comment, characters",
        "o_comment": "o_comment, strings", "corpora": "texts of many kinds, characters"}
TEXTS = {DATA["o_comment"]: "o_comment", DATA["corpora"]: "a mix of text files"}  # data of `lanes`, as users know them


def slower_lanes(rows):
    """(title, ours, theirs) of data whose fastest codec is nvCOMP's."""
    found = []
    for name, title in DATA.items():
        ours, other = (max(good(rows, data=name, by=who), key=of_rows.speed, default=None) for who in ("zipflow", "nvcomp"))
        if ours and other and of_rows.speed(other) > of_rows.speed(ours):
            found.append((title, ours, other))
    return found


def beside_peers(records):
    """Means beside nvCOMP, and a table of the data that nvCOMP decodes faster."""
    found, link = newest_of_part(records, "table2"), records.newest("h200", lambda r: r.get("bench") == "tpch queries" and r.get("link_rate"))
    if not found or not link:
        return None
    path, record = found
    rows = of_part(record, "table2")
    means = of_speed.means_beside_nvcomp(rows, link[1]["link_rate"])
    if not means:
        return None
    said = [f"- {means['columns']} columns of TPC-H: {means['speed']:.2f} times the decoding speed and {means['ratio']:.2f} times the ratio of nvCOMP (geometric means). "
            "For each column we compare with nvCOMP's codec of the shortest copy + decode time. From zipflow we take the codecs that are at least as good as that one in each of three: copy + decode time, decoding speed, and ratio. "
            "We take the fastest of these. If there is none, we take zipflow's codec of the shortest copy + decode time.",
            f"- Copy + decode time is computed: the time of the stored bytes at {link[1]['link_rate'] / 1e9:.1f} GB/s (the measured PCIe rate) plus the decoding time. "
            f"By this measure zipflow takes less time on {means['sooner']} of {means['columns']} columns.",
            "- nvCOMP decodes the following data faster than the fastest zipflow codec in the same record. A column has two rows where two records measured different zipflow codecs:"]
    losses = [beside(name, mine, fast, path) for name, mine, fast in slower_columns(record["results"])]
    lanes_of = records.newest("h200", lambda r: r.get("bench") == "peers lanes")
    for title, ours, other in slower_lanes(lanes_of[1]["results"]) if lanes_of else ():
        losses.append(beside(TEXTS.get(title, title), ours, other, lanes_of[0]))
    heads = ("data", "zipflow's fastest codec", "ratio", "GB/s", "nvCOMP's fastest codec", "ratio", "GB/s", "record")
    return path, record, "\n".join([*said, "", table(heads, losses)] if losses else said[:-1])


def beside(name, ours, theirs, path):
    """A row: a codec of zipflow, one of nvCOMP, and the record of both."""
    return [name, short(ours), ratio(ours), speed(ours), choice(theirs), ratio(theirs), speed(theirs), f"`{path.stem}`"]


def slower_columns(rows):
    """(name, ours, theirs) of columns whose fastest codec that compresses, of all parts of a record, is nvCOMP's."""
    found, rows = [], [r for r in rows if "codec" in r and "ratio" in r]
    for name in TABLE2:
        ours, other = good(rows, data=name, by="zipflow"), [r for r in good(rows, data=name, by="nvcomp") if r["ratio"] > 1.05]
        mine, fast = (max(side, key=of_rows.speed, default=None) for side in (ours, other))
        if mine and fast and of_rows.speed(fast) > of_rows.speed(mine):
            found.append((name, mine, fast))
    return found


def lost(records):
    """[(name, ours, theirs)] of the data that nvCOMP decodes faster than the fastest of ours in the same record; l_returnflag's rows."""
    found, lanes_of = newest_of_part(records, "table2"), records.newest("h200", lambda r: r.get("bench") == "peers lanes")
    columns = slower_columns(found[1]["results"]) if found else []
    texts = [(TEXTS.get(title, title), ours, other) for title, ours, other in (slower_lanes(lanes_of[1]["results"]) if lanes_of else ())]
    return columns + texts, having(of_part(found[1], "table2") if found else [], data="l_returnflag")


def lost_said(losses):
    """"`a`, `b`, at a lower ratio; c, at a higher ratio"."""
    kinds = {}
    for name, ours, other in losses:
        kinds.setdefault("lower" if other["ratio"] < ours["ratio"] else "higher", {})[f"`{name}`" if name in TABLE2 else name] = None
    return "; ".join(f"{listed(list(names))}, at a {kind} ratio" for kind, names in kinds.items())


def flags_said(rows):
    """The speeds of all codecs of l_returnflag beside nvCOMP's fastest."""
    ours, other = good(rows, by="zipflow"), max(good(rows, by="nvcomp"), key=of_rows.speed, default=None)
    if not ours or not other:
        return ""
    return f" On the flags of `l_returnflag`, nvCOMP's `{other['codec']}` decodes at {speed(other)} GB/s, " + \
        listed([f"{short(r)} at {speed(r)}" for r in sorted(ours, key=of_rows.speed)]) + "."


def beside_nvcomp(records):
    """docs/choosing.md: means, and data that nvCOMP decodes faster."""
    found, link = newest_of_part(records, "table2"), records.newest("h200", lambda r: r.get("bench") == "tpch queries" and r.get("link_rate"))
    means = of_speed.means_beside_nvcomp(of_part(found[1], "table2"), link[1]["link_rate"]) if found and link else None
    if not means:
        return None
    losses, flags = lost(records)
    said = (f"On {means['columns']} columns of TPC-H on an H200, zipflow decodes {means['speed']:.2f} times as fast as nvCOMP and has {means['ratio']:.2f} times the ratio "
            f"(geometric means, record `{found[0].stem}`). For each column we take the nvCOMP codec with the shortest *copy + decode time*: the time to copy the stored bytes over PCIe, "
            "plus the time to decode them.")
    if losses:
        said += f" nvCOMP decodes some data faster than the fastest zipflow codec in the same record: {lost_said(losses)}."
    return None, None, said + flags_said(flags)


# ---- Formats of others ----------------------------------------------------------------------------------------------


def newest_blocks(records):
    return records.newest("h200", lambda r: r.get("bench") == "peers blocks")


def kind_of(row):
    return re.match(r"\w+", row["name"])[0]


def size_of(row):
    chunk = row.get("chunk_bytes")
    return "" if not chunk else "1 MiB" if chunk == 1 << 20 else f"{chunk >> 10} KiB"


def same_format(rows, ours):
    """Rows of nvCOMP's decoder of the same format, of chunks of the same size from the same data."""
    kind = kind_of(ours).removesuffix("_split")
    return [t for t in having(rows, by="nvcomp", data=ours["data"], chunk_bytes=ours.get("chunk_bytes")) if t["codec"].split()[0] == kind]


def fastest_of(rows):
    return max(of_rows.good(rows), key=of_rows.speed, default=None)


def compared(ours, theirs):
    """How fast one row is beside another, in words."""
    times = of_rows.speed(ours) / of_rows.speed(theirs)
    if times >= 2:
        return f"{times:.1f} times as fast"
    if times < 0.5:
        return f"at {100 * times:.0f}% of the speed"
    percent = round(100 * (times - 1))
    return f"{abs(percent)}% {'faster' if percent > 0 else 'slower'}" if percent else "as fast"


def blocks_of(record):
    """Rows of zipflow's own codecs that were measured."""
    return [r for r in good(record["results"], by="zipflow") if "program" not in r]


FORMATS = {"lz4": "LZ4", "snappy": "Snappy", "deflate": "Deflate", "zstd_split": "Zstandard, taken apart (`zstd_split`)", "zstd": "Zstandard as it is (`zstd`)"}


def formats_beside_nvcomp(records):
    """docs/choosing.md: how fast each format is beside nvCOMP's decoder of it."""
    found, of = newest_blocks(records), {}
    if not found:
        return None
    for r in blocks_of(found[1]):
        if theirs := fastest_of(same_format(found[1]["results"], r)):
            of.setdefault(kind_of(r), []).append((r["data"].partition(",")[0], size_of(r), compared(r, theirs)))
    lines = []
    for kind in sorted(of, key=[*FORMATS, *of].index):
        cells = [f"`{data}` in chunks of {size} {how}" for data, size, how in of[kind]]
        lines.append(f"- {FORMATS.get(kind, kind)}: {', '.join(cells)}.")
    return None, None, "\n".join([f"On an H200, zipflow decodes these formats beside nvCOMP's decoder of the same one (record `{found[0].stem}`, "
                                  "[all figures](performance.md#formats-of-others)):", "", *lines]) if lines else None


def gpu_blocks(records):
    """Chunk programs on a GPU, nvCOMP's decoder of the same format beside them; programs of users in a sentence."""
    found = newest_blocks(records)
    if not found:
        return None
    heads, rows, ours = ("data", "codec", "ratio", "GB/s", "of the limit", "nvCOMP", "ratio", "GB/s"), [], having(found[1]["results"], by="zipflow")
    users = [f"`{r['name'].partition(' ')[0]}` ({r['data']}) " + (speed(r) if r.get("verified") else of_rows.failure(r)) for r in ours if "program" in r]
    for r in (r for r in ours if "program" not in r):
        theirs, size = same_format(found[1]["results"], r), size_of(r)
        fast = fastest_of(theirs)
        beside = [choice(fast), ratio(fast), speed(fast)] if fast else [of_rows.failure(theirs[0]) if theirs else "", "", ""]
        title = f"`{kind_of(r)}`" + (f", {size}" if size else "")
        rows.append([*lines_of([r], len(heads) - len(beside), lambda r: [r["data"], title], lambda r: [ratio(r), speed(r), limit(r)])[0], *beside])
    said = [f"\nPrograms that were written from the formats' documents alone (`bench/peers/programs`), GB/s: {'; '.join(users)}."] if users else []
    return (*found, "\n".join([table(heads, rows), *said]))


def lost_formats(records):
    """docs/performance.md: where formats of others lose."""
    found = newest_blocks(records)
    rows = blocks_of(found[1]) if found else []
    def of(size, *kinds):
        return [r for r in rows if kind_of(r) in kinds and size_of(r) == size]
    def part(rows):
        return between([r["fraction_of_limit"] for r in rows])
    said = []
    if some := of("64 KiB", "lz4", "snappy") + of("", "packbits", "orc_byte_rle"):
        said.append(f"{part(some)} of the limit, for each step depends on the steps before")
    others = (("`lz_split`", of("", "lz_split")), ("LZ4 with few large chunks", of("1 MiB", "lz4")), ("Deflate and gzip", of("64 KiB", "deflate", "gzip")))
    said += [f"{title} {part(some)}" for title, some in others if some]
    slower = [f"`{kind_of(r)}` of `{r['data'].partition(',')[0]}` {compared(theirs, r)}" for r in rows
              if (theirs := fastest_of(same_format(found[1]["results"], r))) and of_rows.speed(theirs) > of_rows.speed(r)]
    text = "; ".join(said) + "."
    if slower:
        text += f" nvCOMP decodes {listed(slower)} ([above](#formats-of-others))."
    whole, apart = (of("64 KiB", kind) for kind in ("zstd", "zstd_split"))
    if whole and apart:
        theirs = fastest_of(same_format(found[1]["results"], apart[0]))
        text += (" `zstd` is slow on GPUs: its tables and its walk are made by one warp a chunk. Frames that are taken apart (`zstd_split`) are "
                 f"{of_rows.speed(apart[0]) / of_rows.speed(whole[0]):.1f} times as fast" + (f", {of_rows.speed(apart[0]) / of_rows.speed(theirs):.1f} times as fast as nvCOMP's" if theirs else "") +
                 f", and {100 * (whole[0]['ratio'] / apart[0]['ratio'] - 1):.1f}% larger.")
    return [f"- **LZ4, Snappy, bytes in runs**: {text}"] if said else []


CODAG = (("l_comment", "deflate", 1 << 16), ("l_partkey", "rle1", 1 << 17), ("l_partkey", "rle2", 1 << 17), ("l_orderkey", "rle1", 1 << 17), ("l_orderkey", "rle2", 1 << 17),
         ("l_linenumber", "rle1", 1 << 17), ("l_linenumber", "rle2", 1 << 17), ("l_shipdate sorted", "rle1", 1 << 17), ("l_shipdate sorted", "rle2", 1 << 17))


def codag(records):
    """CODAG's kernels, zipflow in the same call, and zipflow in the record of formats of others, which is newer."""
    found, newer = records.newest("h200", lambda r: r.get("bench") == "CODAG's kernels"), newest_blocks(records)
    if not found:
        return None
    def named(row):  # "l_partkey, i64 (first 22 MiB, x48)", "l_shipdate sorted, i32": other rows
        return row["data"].partition(",")[0] if ", i32" not in row["data"] else ""
    rows = []
    for data, codec, chunk in CODAG:
        ours = {"rle1": "orc_rle1", "rle2": "orc_rle2"}.get(codec, codec)
        theirs = [r for r in good(found[1]["results"], by="codag", codec=codec, chunk_bytes=chunk) if named(r) == data and (codec != "deflate" or "zlib level 6" in r["note"])]
        then = [r for r in good(found[1]["results"], by="zipflow", codec=ours) if named(r) == data]
        now = [r for r in blocks_of(newer[1]) if kind_of(r) == ours and r["data"].partition(",")[0] == data and "bytes" not in r["data"]] if newer else []
        in_call = [speed(max(some, key=of_rows.speed)) if some else "" for some in (theirs, then)]
        title = {"rle1": "RLE v1", "rle2": "RLE v2", "deflate": "Deflate"}[codec]
        rows.append([then[0]["data"] if then else data, title, in_call[0], f"`{ours}`", in_call[1], speed(now[0]) if now else ""])
    heads = ("data", "CODAG", "GB/s", "zipflow", "GB/s in the same call", "GB/s in the table above")
    said = f"`bench/results/h200/{found[0].name}`: {found[1]['gpu']['name']}; zipflow at commit {found[1]['commit']}, {found[1]['date'][:10]}; one run."
    if newer and "scale" in newer[1]:
        said += f" The last column is of another run, of commit {newer[1]['commit']}: the same columns at scale factor {newer[1]['scale']:g} in place of 0.5."
    return None, None, f"{said}\n\n{table(heads, rows)}"


# ---- Pages of contributors ------------------------------------------------------------------------------------------

# Strings, which the record of formats does not have: data and name in bench/speed, and the target in GB/s of characters.
STRINGS = (("l_shipmode", "the paper's", 850), ("o_comment", "words over bitpack", 1200))


def reached(records):
    """docs/internals/roadmap.md: formats of others on a GPU beside their targets."""
    found, strings = newest_blocks(records), newest_of_part(records, "table2")
    if not found:
        return None
    def beside_target(row, target):
        of = row["data"].partition(",")[0]
        return f"{of} {speed(row)}" + (f" ({target:,}{', missed' if of_rows.speed(row) < target else ''})" if target else "")
    of = {}
    for r in blocks_of(found[1]):
        size = size_of(r)
        of.setdefault(f"`{kind_of(r)}`" + (f", {size}" if size else ""), []).append(beside_target(r, r.get("gb_per_second_at_least")))
    more = [beside_target(r, target) for data, name, target in (STRINGS if strings else ()) for r in good(strings[1]["results"], by="zipflow", data=data, name=name)[:1]]
    kinds = list(dict.fromkeys(name.partition(",")[0] for name in of))
    rows = [[name, "; ".join(of[name])] for name in sorted(of, key=lambda name: kinds.index(name.partition(",")[0]))] + ([["strings, characters", "; ".join(more)]] if more else [])
    said = f"GB/s on an H200, in brackets the target. `{found[0].stem}` at {found[1]['commit']}" + (f"; strings: `{strings[0].stem}` at {strings[1]['commit']}." if more else ".")
    return None, None, f"{said}\n\n{table(('codec', 'reached'), rows)}"


# Targets on a CPU: percent of the library, of maps percent of memcpy.
ON_CPUS = {**{f"{kind}-{data}": ("percent_of_library", least) for kind, least in (("zstd", 40), ("zstd_split", 40), ("deflate", 50)) for data in ("text", "keys")},
           **{f"bitpack-{bits}-{kind}": ("percent_of_copy", 120) for kind in ("u32", "i64") for bits in (7, 16, 25)}}


def reached_on_cpus(records):
    """docs/internals/roadmap.md: the records of bench/blocks.py beside the targets."""
    found = sorted(((path, r) for path, r in records.all if path.parent.name == "cpu" and r.get("bench") == "blocks"), key=lambda pair: pair[1]["date"], reverse=True)
    if not found:
        return None
    rows, missed = [], []
    for data, (what, least) in ON_CPUS.items():
        cells, below = [], 0
        for _, record in found:
            of = [r[what] for code in ("cpu", "x86-64-v3") for r in having(record["results"], data=data, code=code) if what in r]
            cells.append(" / ".join(f"{v:.1f}" for v in of))
            below += any(v < least for v in of)
        rows.append([data, f"{least}% of {'the library' if what == 'percent_of_library' else 'memcpy'}", *cells])
        missed += [f"`{data}` on {below} of {len(found)}"] if below else []
    heads = ("data", "target", *(f"{r['device']}, `{path.stem}`" for path, r in found))
    return None, None, (f"Percent, with all that the CPU has / by code for AVX2 alone (`bench/results/cpu`).\n\n{table(heads, rows)}\n\n"
                        f"CPUs that miss a target by one of the two or both: {listed(missed) if missed else 'none'}.")


# GB/s of the record before steps were guessed between others, which history keeps: `git show f2f74c44:bench/results/h200/2026-11-29-blocks.json`.
BEFORE_GUESSES = {("orc_rle2", "l_partkey, i64", None): 1578, ("orc_rle2", "l_linenumber, i64", None): 1233, ("orc_rle2", "l_shipdate sorted, i64", None): 3205,
                  ("orc_rle2", "l_orderkey, i64", None): 155, ("lz4", "l_comment, characters", 1 << 16): 196, ("lz4", "l_orderkey, bytes", 1 << 16): 252,
                  ("lz4", "l_comment, characters", 1 << 20): 71, ("snappy", "l_comment, characters", 1 << 16): 199, ("snappy", "l_orderkey, bytes", 1 << 16): 248,
                  ("lz_split", "l_comment, characters", None): 319, ("packbits", "l_returnflag, characters", None): 195, ("orc_byte_rle", "l_returnflag, characters", None): 207}


def walks(records):
    """docs/internals/gpu-kernels.md: walks that guess steps, and the same before."""
    found = newest_blocks(records)
    if not found:
        return None
    rows = []
    for r in blocks_of(found[1]):
        before = BEFORE_GUESSES.get((kind_of(r), r["data"], r.get("chunk_bytes")))
        if before or kind_of(r) == "orc_rle2":
            size = size_of(r)
            rows.append([f"`{kind_of(r)}`" + (f", {size}" if size else ""), r["data"], speed(r), f"{before}" if before else "not measured",
                         f"{100 * (of_rows.speed(r) / before - 1):+.0f}%" if before else ""])
    return (*found, table(("codec", "data", "GB/s", "before", "change"), rows))
