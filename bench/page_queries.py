"""Tables of queries that page.py writes, of the records of bench/ssb, bench/sets and examples/tile_kernel."""

import math
import sys

from page_cells import having, table

WAYS = {"decoded": ("ssb_fused", "decoded"), "plain": ("ssb_plain", "fused"), "fused": ("ssb_fused", "fused"), "host": ("ssb_fused", "host")}


def mean(values):
    """The geometric mean."""
    return math.exp(sum(map(math.log, values)) / len(values))


def of_scale(records, scale, having_crystal=False):
    return records.newest("h200", lambda r: r.get("bench") == "ssb" and r.get("scale") == scale and (not having_crystal or r.get("crystal")))


def right(rows):
    """The rows, of which none may be wrong."""
    wrong = [r for r in rows if not r["right"]]
    if wrong:
        sys.exit(f"a record has wrong answers, such as {wrong[0]}")
    return rows


def times(record, way):
    """{query: milliseconds}"""
    codecs, way = WAYS[way]
    return {r["query"]: r["milliseconds"] for r in right(having(record["results"], codecs=codecs, way=way))}


def of_crystal(record, variant):
    return {r["query"]: r["scan_ms_warm"] for r in right(having(record.get("crystal", []), variant=variant))}


def ratios(mine, theirs):
    """{query: their time divided by mine}"""
    return {query: theirs[query] / mine[query] for query in mine if query in theirs}


def summary(mine, theirs):
    """The geometric mean of the ratios, and the least."""
    found = ratios(mine, theirs)
    return f"{mean(found.values()):.2f} ({min(found.values()):.2f})" if found else ""


def ssb(records):
    """Each query, and how many times as long others take."""
    found = of_scale(records, 20)
    if not found:
        return None
    path, record = found
    peer = of_scale(records, 20, having_crystal=True)
    mine = times(record, "fused")
    ours = [times(record, way) for way in ("plain", "decoded")]
    theirs = [of_crystal(peer[1] if peer else {}, variant) for variant in ("plain", "plain_pred", "for", "best")]
    then = times(peer[1], "fused") if peer else {}
    heads = ["query", "fused", "4-byte columns", "decoded first", "Crystal, plain", "Crystal, predicated loads", "Crystal, GPU-FOR", "Crystal, best"]
    rows = [[query, *(f"{each[query]:.3f}" if query in each else "" for each in (mine, *ours, *theirs))] for query in mine]
    rows.append(["times as long: geometric mean (least)", "1", *(summary(mine, each) for each in ours), *(summary(then, each) for each in theirs)])
    text = [table(heads, rows)]
    if peer and peer[0] != path:
        text.append(f"Crystal's columns are of `{peer[0].stem}`, an earlier run, and their means are beside the fused queries of that run.")
    if large := of_scale(records, 100):
        many = large[1]
        found = ratios(times(many, "fused"), times(many, "plain")).values()
        text.append(f"At scale factor 100 (`{large[0].stem}`), {many['rows']['lineorder']:,} rows, the same kernels take {mean(found):.2f} times as long on 4-byte columns, and at least {min(found):.2f}.")
    return path, record, "\n\n".join(text)


def ssb_host(records):
    """Queries of columns in the host's memory, beside their bytes alone on the link."""
    found = of_scale(records, 20)
    rows = right(having(found[1]["results"], codecs="ssb_fused", way="host")) if found else []
    if not rows:
        return None
    path, record = found
    more = [r["milliseconds"] - r["link_milliseconds"] for r in rows]
    share = [r["milliseconds"] / r["link_milliseconds"] - 1 for r in rows]
    plain = {r["query"]: 1e3 * r["stored_bytes"] / record["link_bytes_per_second"] for r in right(having(record["results"], codecs="ssb_plain", way="fused"))}
    faster = mean([plain[r["query"]] / r["milliseconds"] for r in rows])
    return None, None, (f"From pinned host memory (`{path.stem}`) the 13 queries take {100 * min(share):.1f} to {100 * max(share):.1f}% more than their stored bytes alone on the link, at most {max(more):.2f} ms. "
                        f"The 4-byte columns alone would take {faster:.1f} times as long on it (geometric mean).")


def sets(records):
    cells, layouts = {}, ["batmap", "bitmap", "sorted"]
    while found := records.newest("h200", lambda r: r.get("bench") == "sets" and not {(row["point"], row["layout"]) for row in r["results"]} <= set(cells)):
        for row in right(found[1]["results"]):
            cells.setdefault((row["point"], row["layout"]), (found, row))
    if not cells:
        return None
    path, record = max((found for found, _ in cells.values()), key=lambda found: len(found[1]["results"]))
    points = sorted({point: None for point, _ in cells}, key=lambda point: point != "headline")
    rows = []
    for point in points:
        by = {layout: cells[point, layout][1] for layout in layouts if (point, layout) in cells}
        rows.append([point, f"{next(iter(by.values()))['sets']:,}", *(f"{by[k]['milliseconds']:.1f}" if k in by else "not run" for k in layouts)])
    text = [table(["point", "sets", "BATMAP, ms", "bitmaps, ms", "sorted lists, ms"], rows)]
    others = {found[0].stem: [] for found, _ in cells.values() if found[0] != path}
    for (point, layout), (found, _) in cells.items():
        if found[0] != path:
            others[found[0].stem].append(f"{point} ({layout})")
    text += [f"Measured in `{stem}`: {', '.join(sorted(names))}." for stem, names in others.items()]
    return path, record, "\n\n".join(text)


def tile_kernel(records):
    found = records.newest("h200", lambda r: r.get("bench") == "tile_kernel")
    if not found:
        return None
    path, record = found
    rows = [[r["query"], f"{r['kernel_ms']:.3f}", f"{r['query_ms']:.3f}", f"{r['ratio']:.2f}"] for r in right(record["results"])]
    return path, record, table(["query", "kernel of nvcc, ms", "`zfc query`, ms", "ratio"], rows)
