"""Sets of columns from files: `tpch_measure --files` run, its rows, and a table of them."""

import json

COUNTED = {
    "warm": "all that is read lies in the page cache; `resident` is the least part of it that did, by mincore",
    "cold": "files were written to the disk and dropped from the page cache before each run; `resident` is the largest part that was still there. "
            "What the disk, or the host of a virtual machine, keeps in memory of its own is not known here",
    "direct": "the same, read past the page cache (O_DIRECT)",
    "zipflow": "Johnson's order, the blocks of the columns read, checked, copied and decoded; cold it reads past the page cache; `small` with 64 MiB "
               "of pinned memory; `memory`: the container in pinned memory before",
    "raw": "files of plain rows, read by `threads` threads in pieces of `piece_bytes`, four places of pinned memory for each, copied by a stream a "
           "thread; of offsets of strings four bytes a row are read; `raw_memory`: the rows in pinned memory before, copied",
    "read": "the blocks of the columns, read by as many threads into memory that was used before; nothing is copied or decoded",
    "cp": "the program, of the whole files to another directory (`sink`), where no file is; only where the set has nearly all that is in the files",
    "verified": "rows, or bytes, that the last run of each way left are compared; memory is poisoned before every run, and of `cp` no copy is there",
}
# The rows of tables: a title, and ways for: in memory, warm, cold, cold past the page cache.
WAYS = (
    ("zipflow", ("zipflow_memory", "zipflow_warm", "zipflow_cold", None)),
    ("zipflow, 64 MiB pinned", (None, "zipflow_warm_small", None, None)),
    ("plain rows", ("raw_memory", "raw_warm", "raw_cold", "raw_cold_direct")),
    ("stored bytes, read only", (None, "read_warm", "read_cold", "read_cold_direct")),
    ("stored files by `cp`", (None, "cp_warm", "cp_cold", None)),
)
COLD_MOST = 0.01  # of what is read, that may lie in the page cache where a run is called cold
WARM_LEAST = 0.99


def measured(s, sets, containers):
    """The part `files` of a report: `sets` is {name: columns}, `s` a session of queries.py."""
    listed = s.data / "sets-files"
    listed.write_text("".join(f"{name} {' '.join(columns)}\n" for name, columns in sets.items()))
    options = {"device": s.options.device, "repeats": s.options.file_repeats, "unit-bytes": s.options.unit_bytes, "orders": "johnson", "source": s.data,
               "files": s.options.sink, "piece-bytes": s.options.piece_bytes, "seconds": s.options.file_seconds}
    words = [w for name, value in options.items() if value for w in (f"--{name}", value)]
    found = json.loads(s.run(s.measure, *words, listed, *containers, codes=(0, 1)))
    return {"counted": COUNTED, "sink": s.options.sink, "results": [row_of(r) for r in found["sets"]]}


def row_of(found):
    row = {k: found[k] for k in ("set", "verified", "plain_bytes", "raw_bytes", "stored_bytes")}
    if "message" in found:
        return {**row, "message": found["message"]}
    row |= {k: v for k, v in found["files"].items() if k != "kinds"}
    row["ways"] = found["files"]["kinds"]
    if "raw_seconds" in found:
        row["ways"]["raw_memory"] = {"runs": None, "bytes": found["raw_bytes"], "seconds": found["raw_seconds"]}
    row["doubtful"] = [name for name, way in row["ways"].items() if doubtful(name, way)]
    if "zipflow_warm" in row["ways"]:
        row["beside"] = {name: row["ways"][name]["seconds"]["median"] / row["ways"][mine]["seconds"]["median"]
                         for name in row["ways"] for mine in [f"zipflow_{name.split('_')[1]}"] if mine in row["ways"] and name != mine}
    return row


def doubtful(name, way):
    """Whether the page cache was not as the name of the way says, or nobody could tell."""
    there = way.get("resident")
    if "_cold" in name:
        return there is None or there > COLD_MOST
    return "_warm" in name and (there is None or there < WARM_LEAST)


def cells(report):
    """Rows of a table: milliseconds, and GB/s of what is read."""
    found = []
    for row in report["results"]:
        for title, names in WAYS:
            ways = [row.get("ways", {}).get(name) if name else None for name in names]
            if not any(ways):
                continue
            read = next(w["bytes"] for w in ways if w)
            shown = [f"{1e3 * w['seconds']['median']:.2f}{'?' if n in row['doubtful'] else ''} ({w['bytes'] / w['seconds']['median'] / 1e9:.1f})" if w else ""
                     for n, w in zip(names, ways)]
            found.append([row["set"], title, f"{read / 1e6:.0f}", *shown])
    return found


HEADS = ("set", "what", "MB", "in memory, ms (GB/s)", "warm", "cold", "cold, past the page cache")


def table(report):
    lines = ["| " + " | ".join(HEADS) + " |", "|---" * len(HEADS) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in cells(report)])
