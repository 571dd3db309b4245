"""Tables and sentences of page.py: zipflow beside nvCOMP, and formats of others. Each function gives a path and its record, which stand above
it (or None twice), and a text; or None."""

import re

from page_cells import choice, good, having, limit, lines_of, newest_of_part, of_part, ratio, short, speed, table
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
    losses = [beside(name, mine, fast, path) for name, mine, fast in slower_columns(rows)]
    lanes_of = records.newest("h200", lambda r: r.get("bench") == "peers lanes")
    for title, ours, other in slower_lanes(lanes_of[1]["results"]) if lanes_of else ():
        losses.append(beside(TEXTS.get(title, title), ours, other, lanes_of[0]))
    heads = ("data", "zipflow's fastest codec", "ratio", "GB/s", "nvCOMP's fastest codec", "ratio", "GB/s", "record")
    return path, record, "\n".join([*said, "", table(heads, losses)] if losses else said[:-1])


def beside(name, ours, theirs, path):
    """A row: a codec of zipflow, one of nvCOMP, and the record of both."""
    return [name, short(ours), ratio(ours), speed(ours), choice(theirs), ratio(theirs), speed(theirs), f"`{path.stem}`"]


def slower_columns(rows):
    """(name, ours, theirs) of columns whose fastest codec that compresses is nvCOMP's."""
    found = []
    for name in TABLE2:
        ours, other = good(rows, data=name, by="zipflow"), [r for r in good(rows, data=name, by="nvcomp") if r["ratio"] > 1.05]
        mine, fast = (max(side, key=of_rows.speed, default=None) for side in (ours, other))
        if mine and fast and of_rows.speed(fast) > of_rows.speed(mine):
            found.append((name, mine, fast))
    return found


def gpu_blocks(records):
    """Chunk programs on a GPU, nvCOMP's decoder of the same format beside them; programs of users in a sentence."""
    found = records.newest("h200", lambda r: r.get("bench") == "peers blocks")
    if not found:
        return None
    heads, rows, ours = ("data", "codec", "ratio", "GB/s", "of the limit", "nvCOMP", "ratio", "GB/s"), [], having(found[1]["results"], by="zipflow")
    users = [f"`{r['name'].partition(' ')[0]}` ({r['data']}) " + (speed(r) if r.get("verified") else of_rows.failure(r)) for r in ours if "program" in r]
    for r in (r for r in ours if "program" not in r):
        kind, chunk = re.match(r"\w+", r["name"])[0], r.get("chunk_bytes")
        theirs = [t for t in having(found[1]["results"], by="nvcomp", data=r["data"], chunk_bytes=chunk) if t["codec"].split()[0] == kind.removesuffix("_split")]
        fast = max(of_rows.good(theirs), key=of_rows.speed, default=None)
        beside = [choice(fast), ratio(fast), speed(fast)] if fast else [of_rows.failure(theirs[0]) if theirs else "", "", ""]
        size = f", {'1 MiB' if chunk == 1 << 20 else f'{chunk >> 10} KiB'}" if chunk else ""
        rows.append([*lines_of([r], len(heads) - len(beside), lambda r: [r["data"], f"`{kind}`{size}"], lambda r: [ratio(r), speed(r), limit(r)])[0], *beside])
    said = [f"\nPrograms that were written from the formats' documents alone, GB/s: {'; '.join(users)}."] if users else []
    return (*found, "\n".join([table(heads, rows), *said]))
