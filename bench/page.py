"""Writes tables and sentences of pages (PAGES) from the records in bench/results.

    page.py ROOT            renews the tables
    page.py ROOT --check    says whether they agree with the records; the exit status is 1 when they do not

A table stands between `<!-- table: NAME -->` and `<!-- end -->`. Each is of the newest record, by its date, that has what it shows, also where rows of that
failed: they are in the table, with the beginning of why, and are counted beside means. The sentences about a table's figures are made with it.
"""

import json
import pathlib
import re
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent / "tpch"), str(pathlib.Path(__file__).resolve().parent / "speed")]
import encoding as encoding_of_tpch  # noqa: E402
import from_files  # noqa: E402
import links as simulation  # noqa: E402
import page_peers as of_peers  # noqa: E402
import page_queries as of_queries  # noqa: E402
import rows as of_rows  # noqa: E402
import safety_tables as of_safety  # noqa: E402
import speed_tables as of_speed  # noqa: E402
from page_cells import between, choice, codec, good, having, is_of_numbers, limit, lines_of, listed, newest_of_part, of_part, origin, ratio, short, speed, table  # noqa: E402
from page_peers import DATA, TABLE2, slower_lanes  # noqa: E402


def is_uncommitted(record):
    return record.get("commit", "").endswith("-dirty")


def refuse_uncommitted(what, record):
    sys.exit(f"{what} is of {record['commit']}: nobody has the changes that it measured")


class Records:
    def __init__(self, root):
        self.all = []
        for path in sorted((root / "bench/results").glob("*/*.json")):
            self.all.append((path, json.loads(path.read_text())))
        self.root, fuzz = root, root / "tests/fuzz/results"
        self.fuzz = sorted((json.loads(path.read_text()) for path in fuzz.glob("2*.json")), key=lambda record: record["date"])
        for record in filter(is_uncommitted, self.fuzz):
            refuse_uncommitted(f"tests/fuzz/results: the record of {record['date']}", record)
        self.mended = json.loads((fuzz / "mended.json").read_text()) if (fuzz / "mended.json").exists() else []

    def newest(self, device, has):
        """(path, record) of the newest for which `has` says yes, or None. Refuses a record of changes that are in no commit."""
        fits = [(p, r) for p, r in self.all if p.parent.name == device and "date" in r and has(r)]
        found = max(fits, key=lambda pair: pair[1]["date"], default=None)
        if found and is_uncommitted(found[1]):
            path = found[0]
            refuse_uncommitted(path.relative_to(self.root) if path.is_relative_to(self.root) else path, found[1])
        return found


# ---- Tables: each gives a path and its record, which stand above it (or None twice), and a text; or None ---------------------


def of_bench(found, first=lambda r: r["column"]):
    path, record = found
    heads = ("column", "codec", "ratio", "kernels", "GB/s", "of the limit")
    rows = lines_of(record["results"], len(heads), lambda r: [first(r), codec(r)], lambda r: [ratio(r), str(r["kernels"]), speed(r), limit(r)])
    return path, record, "\n\n".join([table(heads, rows), *farthest(record["results"], first)])


def farthest(rows, first, most=5):
    """A sentence of the rows that are farthest from the limit."""
    by_limit = sorted(of_rows.good(rows), key=lambda r: r["fraction_of_limit"])[:most]
    return [f"Farthest from the limit: {', '.join(f'{first(r)} {limit(r)}' for r in by_limit)}."] if by_limit else []


def forms(records):
    found = records.newest("h200", lambda r: r.get("bench") == "decode" and "--generate" in r.get("command", ""))
    return found and of_bench(found)


def made(records):
    found = records.newest("h200", lambda r: r.get("bench") == "decode" and any(c.get("source") == "made.zfd" for c in r["results"]))
    return found and of_bench(found)


def columns_of(record):
    step = next((s for s in record.get("steps", []) if s["step"] == "bench_columns" and s["status"] != "skipped"), None)
    return step and (step.get("result") or {"results": [{"column": "all", "verified": False, "message": step.get("why")}]})


def tpch(records):
    found = records.newest("h200", columns_of)
    if not found:
        return None
    path, record = found
    return of_bench((path, {**record, **columns_of(record)}))


def lanes(records):
    found = records.newest("h200", lambda r: r.get("bench") == "peers lanes")
    if not found:
        found = records.newest("h200", lambda r: r.get("bench") == "decode" and any("tans" in c.get("codec", "") for c in r["results"]))
        return found and of_bench(found)
    path, record = found
    heads, rows = ("data", "by", "codec", "ratio", "kernels", "GB/s", "of the limit"), []
    for name, title in DATA.items():
        mine, theirs = having(record["results"], data=name, by="zipflow"), {}
        for r in good(record["results"], data=name, by="nvcomp"):
            theirs.setdefault(r["codec"].split()[0], []).append(r)
        rows += lines_of(mine, len(heads), lambda r: [title, r["name"], codec(r)], lambda r: [ratio(r), str(r["kernels"]), speed(r), limit(r)])
        for kind in theirs.values():
            fastest, smallest = max(kind, key=lambda r: r["gb_per_second"]), max(kind, key=lambda r: r["ratio"])
            chosen = [fastest] + ([smallest] if smallest["ratio"] > 1.02 * fastest["ratio"] else [])
            rows += [[title, "nvCOMP", choice(r), ratio(r), "", speed(r), limit(r)] for r in chosen]
        rows += [of_rows.failed_cells(len(heads), r, title, "nvCOMP", choice(r)) for r in of_rows.bad(having(record["results"], data=name, by="nvcomp"))]
    return path, record, "\n\n".join([table(heads, rows), *lanes_said(record["results"]), *of_speed.ended(record["results"])])


def lanes_said(rows):
    """How much faster than fsst its groups are, and where nvCOMP's fastest is faster than all of ours."""
    groups = []
    for name, title in DATA.items():
        of = {r["name"]: r for r in good(rows, data=name, by="zipflow")}
        if "fsst" in of and "fsst_groups" in of:
            groups.append(f"{title}, {of_rows.speed(of['fsst_groups']) / of_rows.speed(of['fsst']):.0f}")
    losses = [f"{title}: {speed(other)} GB/s at a ratio of {ratio(other)}, `{ours['name']}` {speed(ours)} at {ratio(ours)}"
              for title, ours, other in slower_lanes(rows)]
    return ([f"How many times as fast `fsst_groups` is as `fsst`: {'; '.join(groups)}."] if groups else []) + \
           ([f"nvCOMP is faster on: {'; '.join(losses)}."] if losses else [])


def table2(records):
    found = records.newest("h200", lambda r: r.get("bench") == "peers table2" or of_part(r, "table2"))
    if not found:
        return None
    path, record = found
    measured, rows, lacking = [r for r in record["results"] if r.get("part", "table2") == "table2"], [], []
    for name in TABLE2:
        mine, theirs = having(measured, data=name, by="zipflow"), good(measured, data=name, by="nvcomp")
        paper = next((r for r in mine if r["name"] in ("the paper's", "bitpack", "numbered")), None)
        ours = next((r for r in mine if r["name"] == "ours"), None)
        if paper is None:
            lacking.append(name)
            continue
        fast = max((r for r in theirs if r["ratio"] > 1.05), key=lambda r: r["gb_per_second"], default=None)
        small = max(theirs, key=lambda r: r["ratio"], default=None)
        row = lines_of([paper], 5, lambda r: [name], lambda r: [ratio(r), str(r["kernels"]), speed(r), limit(r)])[0]
        row += ["" if ours is None else f"{ratio(ours)}, {speed(ours)}" if ours.get("verified") else of_rows.failure(ours)]
        row += [f"{choice(r)}: {ratio(r)}, {speed(r)}" if r else "" for r in (fast, small)]
        if failed := of_rows.bad(having(measured, data=name, by="nvcomp")):
            row[-2] += f"{'; ' if row[-2] else ''}{len(failed)} of {len(failed) + len(theirs)} {of_rows.failure(failed[0])}"
        rows.append(row)
    heads = ("column", "ratio", "kernels", "GB/s", "of the limit", "ours: ratio, GB/s", "nvCOMP, the fastest", "nvCOMP, the smallest")
    said = [f"Not measured there: {', '.join(lacking)}."] if lacking else []
    return path, record, "\n\n".join([table(heads, rows), *of_speed.ended(measured), *said])


def is_search(row):
    """Whether it is of what was found beside all combinations."""
    return "part_of_best" in row or row.get("name") == "search beside all combinations"


def searches(records):
    """(path, record, rows) of each record with searches beside all combinations of columns that none after it has, the newest first. One that failed is one."""
    def rows_of(record):
        return [r for r in of_part(record, "tuning") if is_search(r)]
    def tells(row):
        return "all" in row or not row.get("verified")  # older records do not say whether all were measured
    had, found, before = set(), [], "9"  # behind all dates
    while pair := records.newest("h200", lambda r: r["date"] < before and any(tells(row) and row["data"] not in had for row in rows_of(r))):
        now = {r["data"] for r in rows_of(pair[1]) if tells(r)} - had
        found.append((*pair, [r for r in rows_of(pair[1]) if r["data"] in now]))
        had |= now
        before = pair[1]["date"]
    return found


def tuning_rows(record):
    return [r for r in of_part(record, "tuning") if not is_search(r)]


def tuning_of_columns(records):
    """(path, record, rows) of what tuning took and what kernels are without it: of the newest record of any; records of searches alone have none."""
    found = records.newest("h200", tuning_rows)
    return (*found, tuning_rows(found[1])) if found else None


def not_measured(records, part, record):
    """Names of zipflow's rows that some record of a GPU has in this part, and this one does not."""
    def names(record):
        rows = tuning_rows(record) if part == "tuning" else of_part(record, part)
        return {r["data"]: None for r in rows if r["by"] == "zipflow" and of_speed.is_measured(r)}
    mine, others = names(record), {}
    for path, other in records.all:
        others |= names(other) if path.parent.name == "h200" else {}
    return [name for name in others if name not in mine]


def sources_of(records):
    """{part of bench/speed: [(path, record, rows)]}: of each the newest record that has it, of searches the newest of each column."""
    found = {part: newest_of_part(records, part) for part in ("work", "rle", "table2", "fusion", "ans", "bitpack", "configurations")}
    sources = {part: [(*pair, of_part(pair[1], part))] for part, pair in found.items() if pair}
    tuned = [source for source in (tuning_of_columns(records), *searches(records)) if source]
    return sources | ({"tuning": tuned} if tuned else {})


def section_of(records, sources, title, section, parts):
    """A part of the page: of each record that it is made of, what that is, its table, and what is not in that."""
    of, said = {}, []
    for path, record, rows in (source for part in parts for source in sources.get(part, ())):
        of.setdefault(path, (record, []))[1].extend(rows)
    for number, (path, (record, rows)) in enumerate(of.items()):
        made_of = section(rows)
        notes = of_speed.ended(r for r in rows if r["part"] == parts[0])
        lacking = not_measured(records, parts[0], record) if number == 0 else []  # later ones are of searches, or of columns that have criteria
        notes += [f"Not measured there: {', '.join(lacking)}."] if lacking else []
        said += [origin(path, record), *([table(*made_of)] if made_of else []), *notes] if made_of or notes else []
    return [f"**{title}**", *said] if said else []


def at_the_limit(records):
    """The results of bench/speed on the GPU; each part is of the newest record that has it, which stands above its table; searches are by columns."""
    sources = sources_of(records)
    said = [text for section in of_speed.SECTIONS for text in section_of(records, sources, *section)]
    link = records.newest("h200", lambda r: r.get("bench") == "tpch queries" and r.get("link_rate"))
    if link and "table2" in sources:
        path, record, rows = sources["table2"][0]
        if made_of := of_speed.beside_nvcomp(rows, link[1]["link_rate"]):
            said += ["**Columns of table 2, to copy and to decode**", origin(path, record), f"{made_of[2]} The link's rate is of `{link[0].name}`.", table(*made_of[:2])]
    return (None, None, "\n\n".join(said)) if said else None


def ratios(records):
    found = newest_of_part(records, "ratios", ("cpu", "h200"))
    if not found:
        return None
    rows, smaller = of_rows.good(of_part(found[1], "ratios")), []
    for data in dict.fromkeys(r["data"] for r in rows):
        of = having(rows, data=data)
        best = max(of, key=lambda r: r["ratio"])
        if best["by"] != "zipflow" and having(of, by="zipflow"):
            smaller.append(f"{data} ({best['by']})")
    said = f"Smaller elsewhere than in both nests: {', '.join(smaller) or 'none'}."
    return (*found, "\n\n".join([table(*of_speed.ratios(of_part(found[1], "ratios"))), said, *of_speed.ended(of_part(found[1], "ratios"))]))


def checks(records):
    found = records.newest("h200", lambda r: r.get("bench") == "peers checks")
    if not found:
        return None
    path, record = found
    heads = ("form", "column", "GB/s", "without checks", "cost")
    rows = lines_of(record["results"], len(heads), lambda r: [r.get("form", ""), r["name"] if r.get("data", r["name"]) == r["name"] else f"{r['name']} ({r['data']})"],
                    lambda r: [f"{r['gb_per_second']:.0f}", f"{r['gb_per_second_without']:.0f}", f"{r['cost_percent']:.1f}%"])
    return path, record, table(heads, rows)


def of_zipflow(record):
    """Sets whose rows zipflow made right, also where nvCOMP's run was not reached."""
    return [r for r in record["results"] if "seconds" in r and "message" not in r]


def not_of_zipflow(record):
    return [r for r in record["results"] if not ("seconds" in r and "message" not in r)]


def pipeline_said(records, record):
    """The results of a run of the queries' columns, in sentences."""
    rows = of_zipflow(record)
    queries = [r for r in rows if r["set"] != "table2"]
    if not queries:
        return "None of the queries was measured."
    over = max(1e3 * (r["seconds"]["johnson"]["median"] - 1.05 * max(r["copy_bound"], r["decode_bound"])) for r in queries)
    failed = [r for r in not_of_zipflow(record) if r["set"] != "table2"]
    how_many = of_rows.counted(len(queries), len(failed))
    raw, ratios = (of_rows.geometric_mean(v) for v in ((r["johnson_beside"]["raw"] for r in queries), (r["ratio"] for r in queries)))
    lines = [f"- Each of {len(queries)} query sets takes at most 1.05 times the larger of its copies alone and its decodes alone, plus {max(over, 0):.2f} ms.",
             f"- {raw:.2f} times faster than raw copies (geometric mean, {how_many}). The ratios are {ratios:.2f}, so {100 * raw / ratios:.1f}% of the ideal gain is reached."]
    small = [(r["johnson_beside"]["small"], r["set"]) for r in rows if "small" in r["johnson_beside"]]
    if small:
        lines.append(f"- With 64 MiB of staging buffers a set takes at most {100 * (max(small)[0] - 1):.0f}% longer ({max(small)[1]}).")
    for path, of in ((None, record), whole_with_nvcomp(records)):
        theirs = [r for r in of["results"] if r["set"] != "table2"] if of else []
        beside = [r["johnson_beside"]["nvcomp"] for r in theirs if "nvcomp" in r.get("johnson_beside", {})]
        where = f" (`{path.name}`, commit {of['commit']})" if path else ""
        if beside and not (path and of is record):
            lines.append(f"- {of_rows.geometric_mean(beside):.2f} times faster than nvCOMP{where}: geometric mean of {len(beside)} of {len(theirs)} queries, at least {min(beside):.2f} times.")
    return "\n".join(lines)


def whole_with_nvcomp(records):
    """The newest run that has nvCOMP's times of every set."""
    return queries_that(records, lambda r: r["results"] and all("nvcomp" in row.get("seconds", {}) for row in r["results"])) or (None, None)


def failed_of(row, what):
    """Why there is no time of nvCOMP's, where it was tried."""
    theirs = row.get(what)
    return of_rows.failure(theirs) if isinstance(theirs, dict) and not theirs.get("verified") else ""


def pipeline(records):
    found = queries_with(records, "nvcomp")
    if not found:
        return None
    path, record = found
    rows = []
    for r in of_zipflow(record):
        times = (f"{1e3 * r['seconds'][m]['median']:.2f}" if m in r["seconds"] else failed_of(r, m) for m in ("raw", "nvcomp", "apart", "given", "johnson", "small"))
        bounds = (f"{1e3 * r[b]:.2f}" for b in ("copy_bound", "decode_bound"))
        beside = (f"{r['johnson_beside'][m]:.2f}" if m in r["johnson_beside"] else "" for m in ("raw", "nvcomp"))
        rows.append([r["set"], str(len(r["columns"])), f"{r['raw_bytes'] / 1e6:.0f}", ratio(r), *times, *bounds, *beside])
    heads = ("set", "columns", "MB raw", "ratio", "raw", "nvCOMP", "apart", "FIFO", "Johnson", "64 MiB staging", "copies alone", "decodes alone",
             "sooner than raw", "than nvCOMP")
    rows += [of_rows.failed_cells(len(heads), r, r["set"]) for r in not_of_zipflow(record)]
    return path, record, f"{table(heads, rows)}\n\n{pipeline_said(records, record)}"


def queries_that(records, have):
    """The newest run of the queries for which `have` says yes."""
    return records.newest("h200", lambda r: r.get("bench") == "tpch queries" and r.get("scale", 0) >= 10 and have(r))


def queries_with(records, part):
    return queries_that(records, lambda r: r.get(part))


def reached_cold(record):
    """Whether something beside zipflow was reached of what was dropped from the page cache, which comes late."""
    return any({"cp_cold", "raw_cold"} & set(row.get("ways", {})) for row in record.get("files", {}).get("results", []))


def files(records):
    found = queries_that(records, reached_cold) or queries_with(records, "files")
    if not found:
        return None
    part, heads = found[1]["files"], from_files.HEADS
    failed = [of_rows.failed_cells(len(heads), r, r["set"]) for r in part["results"] if "ways" not in r or not r.get("verified")]
    return (*found, table(heads, from_files.cells(part) + failed))


def encoding(records):
    found = queries_with(records, "encoding")
    if not found:
        return None
    part = found[1]["encoding"]
    rows = [[c["column"], f"`{c['codec']}`", f"{c['plain_bytes'] / 1e6:.0f}", f"{c['plain_bytes'] / c['stored_bytes']:.2f}", f"{c['encode_seconds']:.1f}",
             f"{c['verify_seconds']:.1f}"] for c in part["columns"]]
    heads = ("column", "codec", "MB", "ratio", "encoding, s of one thread", "checking")
    said = encoding_of_tpch.line(part)
    return (*found, f"{said[0].upper()}{said[1:]}.\n\n{table(heads, rows)}")


def links(records):
    found = queries_with(records, "links")
    if not found:
        return None
    path, record = found
    return path, record, f"{table(*simulation.table(record['links']))}\n\n{simulation.said(record['links'])}"


def copies(records):
    """Units over the link: a row a size of unit and number of streams that wait, a column a depth of the queue."""
    found = records.newest("h200", lambda r: r.get("bench", "").startswith("copies in units"))
    if found is None:
        return None
    path, record = found
    depths = sorted({r["ahead"] for r in record["rows"] if r["streams"]}, key=lambda d: d or 1 << 30)
    cells = {}
    for r in record["rows"]:
        cells.setdefault((r["unit_bytes"], r["streams"]), {})[r["ahead"]] = r["gb_per_second"]
    rows = [[f"{unit >> 20} MiB", str(streams or "none"), *[f"{of.get(d if streams else 0, 0):.1f}" if streams or d == 0 else "" for d in depths]]
            for (unit, streams), of in cells.items()]
    heads = ["unit", "streams that wait", *[f"{d} units queued" if d else "all queued" for d in depths]]
    return path, record, table(heads, rows)


def cpu(records):
    found = records.newest("cpu", lambda r: r.get("bench") == "decode" and having(r["results"], source="generated"))
    if not found:
        return None
    path, record = found
    heads = ("column", "codec", "ratio", "GB/s", "of memcpy")
    rows = lines_of(having(record["results"], source="generated"), len(heads), lambda r: [r["column"], codec(r)],
                    lambda r: [ratio(r), f"{r['gb_per_second']:.1f}", f"{r['percent_of_copy']:.0f}%"])
    slow = sorted((r for r in good(record["results"], source="generated") if r["percent_of_copy"] < 100), key=lambda r: r["percent_of_copy"])
    below = ", ".join(f"{r['column']} {r['percent_of_copy']:.1f}%" for r in slow)
    return path, record, f"{table(heads, rows)}\n\nBelow memcpy: {below or 'none'}."


def cpu_columns(records):
    """Columns of strings, and nests, fused and not, of a record that has both files of a table."""
    def is_unfused(row):
        return pathlib.Path(row["source"]).stem.endswith("_unfused")

    found = records.newest("cpu", lambda r: r.get("bench") == "decode" and any(map(is_unfused, r["results"])))
    if not found:
        return None
    path, record = found
    apart = {r["column"]: r for r in record["results"] if is_unfused(r)}
    heads, rows = ("column", "codec", "ratio", "GB/s; of strings, characters", "of memcpy, offsets too", "GB/s, `--unfused all`"), []
    for r in (r for r in record["results"] if not is_unfused(r)):
        other = apart.get(r["column"])
        if bad := of_rows.bad(x for x in (r, other) if x is not None):
            rows.append(of_rows.failed_cells(len(heads), bad[0], r["column"] + ("" if bad[0] is r else ", `--unfused all`"), codec(r)))
            continue
        differs = other is not None and other["kernels"] != r["kernels"]
        if differs or "characters_gb_per_second" in r:
            rows.append([r["column"], f"`{r['codec']}`", ratio(r), f"{of_rows.speed(r):.1f}", f"{r['percent_of_copy']:.0f}%",
                         f"{of_rows.speed(other):.1f}" if differs else ""])
    return path, record, table(heads, rows)


def before_first_byte(records, device):
    found = records.newest(device, lambda r: r.get("bench") == "first byte")
    if not found:
        return None
    path, record = found
    rows = []
    for r in record["columns"] + record["tables"]:
        cold, cached = r["cold"], r["cached"]
        text = cached.get("program.parse", 0) + cached.get("program.check", 0)
        rows.append([r.get("column") or f"{r['table']}, {r['columns']} columns, {r['threads']} thread{'s' if r['threads'] > 1 else ''}",
                     *[f"{ms:.1f}" for ms in (cold["before"], cold["processor"], cold.get("code.optimise", 0), cold.get("code.emit", 0), cold["device"],
                                              cold["load"], cached["before"], cached["processor"], text, cached["load"])]])
    heads = ("column", "cold", "processors", "LLVM's passes", "instructions", "device", "loading", "cached", "processors", "text", "loading")
    loads = f"load {record['load_before']} before and {record.get('load_after', '?')} after; {record['cores']} cores"
    return path, record, f"A process that does nothing: {record['start']:.1f} ms; {loads}.\n\n{table(heads, rows)}"


def first_byte(records):
    return before_first_byte(records, "cpu")


def first_byte_gpu(records):
    return before_first_byte(records, "h200")


# Rows of docs/performance.md: a name, and where the row is: a part of bench/speed or of lanes, the data, the codec's name.
OF_GPUS = (("u32, 7 significant bits", "work", "bitpack-7-u32", "bitpack-7-u32"), ("i64, 25 significant bits", "work", "bitpack-25-i64", "bitpack-25-i64"),
           ("l_shipdate (date32)", "table2", "l_shipdate", "the paper's"), ("l_extendedprice (f64)", "table2", "l_extendedprice", "the paper's"),
           ("u32, steps of 5 bits", "work", "delta-5-u32", "delta-5-u32"), ("u32, runs of length 64", "rle", "even-64, u32", "even-64, u32, over bitpacks"),
           ("u32, runs of length 2", "rle", "even-2, u32", "even-2, u32, over bitpacks"), ("l_orderkey (i64)", "table2", "l_orderkey", "the paper's"),
           ("i32, one tenth null", "work", "nullable-bitpack-10-i32", "nullable-bitpack-10-i32"), ("f64 with two decimals, 1% other values", "work", "alp-1-f64", "alp-1-f64"),
           ("u8, three symbols in proportion 1:2:1", "ans", "1 : 2 : 1", "1 : 2 : 1, over tans"), ("l_comment, characters only", "lanes", "l_comment", "huffman"),
           ("l_shipmode (string)", "table2", "l_shipmode", "the paper's"), ("o_comment (string)", "table2", "o_comment", "the paper's"))


def rows_of_gpus(records):
    """[(title, path, record, row)] of OF_GPUS, each of the newest record that has its part."""
    found = {part: newest_of_part(records, part) for part in ("work", "table2", "rle", "ans")}
    found["lanes"] = records.newest("h200", lambda r: r.get("bench") == "peers lanes")
    def of(record, part, data, name):
        return next((r for r in having(record["results"], data=data, by="zipflow", name=name) if r.get("part", part) == part and "volume" not in r), {})
    return [(title, *found[part], of(found[part][1], part, data, name)) for title, part, data, name in OF_GPUS if found[part]]


def parts_of_numbers(records):
    """Parts of the limit of those that are columns of numbers."""
    return [row["fraction_of_limit"] for *_, row in rows_of_gpus(records) if row.get("verified") and is_of_numbers(row)]


def gpu(records):
    """Rows of each kind, of the newest records, which are named below."""
    heads, rows, used, numbers = ("column", "codec", "ratio", "GB/s", "of the limit", "record"), [], {}, parts_of_numbers(records)
    for title, path, record, row in rows_of_gpus(records):
        used[path] = record
        number = str(list(used).index(path) + 1)
        rows.append([*lines_of([row], len(heads) - 1, lambda r: [title, short(r)], lambda r: [ratio(r), speed(r), limit(r)])[0], number])
    named = [f"{number}. {origin(*pair)}" for number, pair in enumerate(used.items(), 1)]
    said = [f"The columns of numbers below reach {between(numbers)} of this limit. Entropy coders (`tans`, `rans`, `huffman`), strings and "
            "[some nests of numbers](#where-zipflow-loses) reach less.", ""] if numbers else []
    return (None, None, "\n".join([*said, table(heads, rows), "", "Records:", "", *named, *h100(records), *other_choices(records)])) if rows else None


def losses(records):
    """Where zipflow loses: what records say of it."""
    found = {part: newest_of_part(records, part) for part in ("work", "table2", "rle")}
    rows = {part: good(of_part(pair[1], part), by="zipflow") if pair else [] for part, pair in found.items()}
    said, (lost, flags) = [], of_peers.lost(records)
    if lost:
        said.append("- **nvCOMP** decodes some data faster than the fastest zipflow codec in the same record ([above](#beside-nvcomp)): "
                    f"{of_peers.lost_said(lost)}.{of_peers.flags_said(flags)}")
    strings = [r for r in rows["work"] + rows["table2"] if r.get("type") == "string"]
    kinds = {"prose": [r for r in strings if r["data"].endswith("comment")], "short strings": [r for r in strings if not r["data"].endswith("comment")]}
    names = {kind: listed([f"`{name}`" for name in dict.fromkeys(r["data"] for r in some)]) for kind, some in kinds.items() if some}
    parts = [f"{between([r['fraction_of_limit'] for r in kinds[kind]])} of the limit for {kind} ({of})" for kind, of in names.items()]
    if parts:
        said.append(f"- **Strings**: {', '.join(parts)}. The limit includes the offsets that are written; GB/s count characters only.")
    least = min(parts_of_numbers(records), default=0)
    slow = sorted((r for r in rows["work"] + rows["table2"] if is_of_numbers(r) and r["fraction_of_limit"] < least), key=lambda r: r["fraction_of_limit"])
    if slow:
        runs = [r["fraction_of_limit"] for r in rows["rle"] if is_of_numbers(r)]
        named = listed([short(r) + (f" of `{r['data']}`" if r["part"] == "table2" else "") + f" {limit(r)}" for r in slow])
        said.append(f"- **Nests of numbers** that are below the {100 * least:.0f}% of the [first table](#on-a-gpu): {named}." +
                    (f" Runs of all the lengths that were made reach {between(runs)} ([measurements.md](internals/measurements.md))." if runs else ""))
    lanes_of = records.newest("h200", lambda r: r.get("bench") == "peers lanes")
    coders = [r["fraction_of_limit"] for r in (good(lanes_of[1]["results"], by="zipflow") if lanes_of else ()) if re.match(r"(tans|rans|huffman)\b", r["codec"])]
    if coders:
        said.append(f"- **Entropy coders** (`tans`, `rans`, `huffman`): {between(coders)} of the limit, because instructions bound them, not memory.")
    said += of_peers.lost_formats(records)
    return (None, None, "\n".join(said)) if said else None


def h100(records):
    """The part of its own limit that an H100 reaches."""
    found = records.newest("h100", lambda r: any("after_fraction_of_limit" in row for row in r.get("results", [])))
    rows = of_rows.good(found[1]["results"]) if found else []
    if not rows:
        return []
    of = [100 * r["after_fraction_of_limit"] for r in rows]
    one = next((f". `bitpack` decodes u32 of 7 significant bits at {r['after_gb_per_second']:.0f} GB/s" for r in rows if r["column"] == "bitpack-7-u32"), "")
    name, untuned = found[1]["device"]["description"].partition(",")[0], " without tuning" if "--untuned" in found[1].get("command", "") else ""
    return [f"\nOn an {name}, {len(of)} generated numeric columns reach {min(of):.0f} to {max(of):.0f}% of that GPU's limit{untuned}{one} (record `{found[0].name}`)."]


def other_choices(records):
    """How fast the first GPU of a record is with choices that were found on others."""
    found = newest_of_part(records, "configurations")
    rows = good(of_part(found[1], "configurations"), by="zipflow") if found else []
    first = next((r["configuration"] for r in rows if "normalised" in r), None)
    parts = {}
    for row in rows:
        if "normalised" in row and row["configuration"] != first:
            parts.setdefault(row["configuration"], []).append(100 * row["normalised"])
    return ["`zfc tune` selects the fastest kernel variants for a GPU (see the end of this page). "
            f"On an {first}, variants that were tuned on an {name} reach {min(of):.0f} to {max(of):.0f}% of the speed of those that were tuned on the {first} itself. "
            f"The figures are of the {len(of)} numeric columns where the two tunings differ (record `{found[0].name}`)." for name, of in parts.items()]


def over_link(records):
    """A run of the queries' columns, in sentences."""
    found = queries_with(records, "nvcomp")
    if not found:
        return None
    queries = [r for r in of_zipflow(found[1]) if r["set"] != "table2"]
    raw, ratios = (of_rows.geometric_mean(v) for v in ((r["johnson_beside"]["raw"] for r in queries), (r["ratio"] for r in queries)))
    def over(r):
        return 1e3 * (r["seconds"]["johnson"]["median"] - 1.05 * max(r["copy_bound"], r["decode_bound"]))
    worst = max(queries, key=over)
    said = [f"- {raw:.2f} times faster than copies of the uncompressed columns (geometric mean of {len(queries)} queries). The mean ratio is {ratios:.2f}, so this is {100 * raw / ratios:.1f}% of the gain that the ratio allows.",
            "- Copies and decodes overlap. A query cannot take less than its copies alone, or less than its decodes alone. The larger of the two is its bound. "
            f"Every query takes at most 5% more than its bound, plus {max(over(worst), 0):.2f} ms. The worst case is {worst['set']}: it takes {1e3 * worst['seconds']['johnson']['median']:.1f} ms, "
            f"which is {max(over(worst), 0):.2f} ms above 1.05 times its bound.",
            *fixed_costs(found[1]), *less_staging(found[1])]
    path, whole = whole_with_nvcomp(records)
    if path:
        beside = [r["johnson_beside"]["nvcomp"] for r in whole["results"] if r["set"] != "table2"]
        said.append(f"- {of_rows.geometric_mean(beside):.2f} times faster than nvCOMP in the same pipeline (geometric mean of {len(beside)} queries, record `{path.name}`), at least {min(beside):.2f} times.")
    return (*found, "\n".join([*said, *read_from_files(records)]))


def fixed_costs(record):
    """The model's costs besides bytes: of a unit's copy, and of a set's start and end."""
    model = record.get("links", {}).get("parameters")
    if not model:
        return []
    whole = model["start"] + model["end"] + model["hand_over"]
    return [f"- A model fitted to the runs gives these fixed costs: {1e6 * model['copy']:.0f} us per copy (of up to 32 MiB) and {1e6 * whole:.0f} us per query."]


def less_staging(record):
    small = [(r["johnson_beside"]["small"], r["set"]) for r in of_zipflow(record) if "small" in r["johnson_beside"]]
    if not small or "device_staging" not in record.get("links", {}):
        return []
    return [f"- With {record['small_staging'] >> 20} MiB of staging buffers on the GPU in place of {record['links']['device_staging'] >> 20} MiB, a query takes at most "
            f"{100 * (max(small)[0] - 1):.0f}% longer ({max(small)[1]})."]


def read_from_files(records):
    """GB/s of stored bytes, from files to the GPU's memory."""
    found = queries_that(records, reached_cold) or queries_with(records, "files")
    row = next((r for r in found[1]["files"]["results"] if r.get("verified") and {"zipflow_warm", "zipflow_cold"} <= set(r.get("ways", {}))), None) if found else None
    if not row:
        return []
    warm, cold = (row["ways"][w]["bytes"] / row["ways"][w]["seconds"]["median"] / 1e9 for w in ("zipflow_warm", "zipflow_cold"))
    alone = row["ways"].get("read_cold_direct")
    read = alone["bytes"] / alone["seconds"]["median"] / 1e9 if alone else None
    cause = f" Reading alone is no faster ({read:.1f} GB/s), so the disk is the bottleneck." if alone and read < 1.1 * cold else f" Reading alone reached {read:.1f} GB/s." if alone else ""
    return [f"- From files, the pipeline processes {warm:.1f} GB/s of stored bytes out of the page cache and {cold:.1f} GB/s from disk (record `{found[0].name}`).{cause}"]


CPU_ROWS = {"bitpack-7-u32": "u32, 7 significant bits", "bitpack-25-i64": "i64, 25 significant bits", "dictionary-4-i32": "i32, 16 distinct values", "dictionary-12-i32": "i32, 4096 distinct values",
            "float2int-20-f64": "f64 with two decimals, 20 bits", "delta-5-i64": "i64, steps of 5 bits", "rle-even2-i32": "i32, runs of length 2", "rle-64-i32": "i32, run lengths 2 to 126"}


def cpu_rows(records):
    """Some rows of a CPU, beside memcpy."""
    found = records.newest("cpu", lambda r: r.get("bench") == "decode" and having(r["results"], source="generated"))
    if not found:
        return None
    heads = ("column", "codec", "ratio", "GB/s", "of memcpy")
    rows = [r for name in CPU_ROWS for r in having(found[1]["results"], source="generated", column=name)]
    return (*found, table(heads, lines_of(rows, len(heads), lambda r: [CPU_ROWS[r["column"]], short(r)],
                                          lambda r: [ratio(r), f"{r['gb_per_second']:.1f}", f"{r['percent_of_copy']:.0f}%"])))


def blocks(records):
    """Chunk programs and bit packing with all that a CPU has and with AVX2 alone, LZ4 and Snappy beside the libraries."""
    found = records.newest("cpu", lambda r: r.get("bench") == "blocks")
    if not found:
        return None
    rows = []
    for name in dict.fromkeys(r["data"] for r in found[1]["results"]):
        here, level = having(found[1]["results"], data=name)
        beside = [f"{here['library_gb_per_second']:.2f}", f"{level['percent_of_library']:.0f}%"] if "library" in here else ["", ""]
        rows.append([name, f"{here['ratio']:.2f}", f"{here['gb_per_second']:.2f}", f"{level['gb_per_second']:.2f}", f"{level['percent_of_copy']:.0f}%", *beside])
    heads = ("data", "ratio", "GB/s", "GB/s, AVX2 alone", "of memcpy", "the library, GB/s", "of the library")
    return (*found, f"{table(heads, rows)}\n\n`of memcpy` and `of the library` are of the code for AVX2 alone.")


README_ROWS = ("l_extendedprice", "l_orderkey", "l_shipdate", "l_returnflag", "l_shipmode")


def readme(records):
    """README.md's five rows, nvCOMP's fastest beside each; the last is one that nvCOMP decodes faster."""
    found = newest_of_part(records, "table2")
    if not found:
        return None
    heads, rows, settings = ("TPC-H column", "codec", "ratio", "GB/s", "fastest nvCOMP codec", "ratio", "GB/s"), [], set()
    for name in README_ROWS:
        measured = [r for r in having(found[1]["results"], data=name) if r.get("part", "table2") == "table2"]
        mine = next((r for r in having(measured, by="zipflow") if r["name"] == "the paper's"), {})
        fast = max((r for r in good(measured, by="nvcomp") if r["ratio"] > 1.05), key=of_rows.speed, default=None)
        peer = [choice(fast), ratio(fast), speed(fast)] if fast else ["", "", ""]
        settings |= set(choice(fast).replace(",", "").split()) if fast else set()
        rows.append(lines_of([mine], len(heads), lambda r: [name, short(r)], lambda r: [ratio(r), speed(r), *peer])[0])
    path, record = found
    terms = [text for word, text in (("s0", "`ans s0` is nvCOMP's ANS with its default setting."),
                                     ("validated", "*Not validated*: this decoder does not check its input. zipflow's always does.")) if word in settings]
    return None, None, "\n\n".join([f"Record: [{path.stem}](bench/results/{path.parent.name}/{path.name}), an H200 at commit {record['commit']}.", table(heads, rows), *([" ".join(terms)] if terms else [])])


def python(records):
    """Columns to a GPU from Python: beside the link alone, and beside Parquet through the host."""
    found = max(filter(None, (records.newest(device, lambda r: r.get("bench") == "python minute" and r.get("gpu_reads")) for device in ("h100", "h200"))),
                key=lambda pair: pair[1]["date"], default=None)
    if not found:
        return None
    path, r = found
    heads = ("columns", "plain", "stored", "first read", "later reads", "plain bytes from pinned memory", "Parquet by way of the host", "sooner than the link alone", "sooner than Parquet")
    rows = []
    for of in r["gpu_reads"]:
        ms = {name: f"{seconds * 1e3:.1f} ms" for name, seconds in of["seconds"].items()}
        rows.append([of["what"], f"{of['plain_bytes'] / 1e6:,.0f} MB", f"{of['stored_bytes'] / 1e6:,.0f} MB", ms["first"], ms["again, torch's memory"], ms["copy"], ms["parquet"],
                     f"{of['times_sooner_than_copy']:.2f} times", f"{of['times_sooner_than_parquet']:.1f} times"])
    said = (f"`bench/results/{path.parent.name}/{path.name}`: {r['gpu']}; commit {r['commit']}, {r['date'][:10]}; lineitem of {r['rows']:,} rows, "
            f"{r['cores']} cores. `import zipflow` took {r['seconds']['import zipflow'] * 1e3:.0f} ms, `open` {r['seconds']['open'] * 1e3:.1f} ms.")
    return None, None, f"{said}\n\n{table(heads, rows)}"


TABLES = {f.__name__: f for f in (forms, made, tpch, lanes, at_the_limit, table2, ratios, checks, pipeline, copies, links, files, encoding, cpu, cpu_columns, first_byte, first_byte_gpu)}

LEADS = {"first_byte_gpu": "On a GPU:"}  # what stands above a table, where there is one


PAGES = {"docs/internals/measurements.md": TABLES, "README.md": {"readme": readme},
         "docs/performance.md": {"gpu": gpu, "beside_peers": of_peers.beside_peers, "gpu_blocks": of_peers.gpu_blocks, "codag": of_peers.codag,
                             "over_link": over_link, "ssb": of_queries.ssb, "ssb_host": of_queries.ssb_host, "sets": of_queries.sets,
                             "tile_kernel": of_queries.tile_kernel, "python": python, "cpu_rows": cpu_rows, "blocks": blocks, "losses": losses},
         "docs/choosing.md": {"formats_beside_nvcomp": of_peers.formats_beside_nvcomp, "beside_nvcomp": of_peers.beside_nvcomp},
         "docs/internals/roadmap.md": {"reached": of_peers.reached, "reached_on_cpus": of_peers.reached_on_cpus},
         "docs/internals/gpu-kernels.md": {"walks": of_peers.walks},
         "docs/safety.md": {"hostile": lambda records: of_safety.hostile(records, table), "damage": lambda records: of_safety.damage(records, table),
                        "fuzz": lambda records: of_safety.fuzz(records, table)}}


def page(root, name, records):
    """(a page, what it should be)"""
    text, tables = (root / name).read_text(), PAGES[name]

    def renew(match):
        path, record, text = tables[match[1]](records) or (None, None, "")
        body = "\n\n".join(part for part in (LEADS.get(match[1]) if text else None, origin(path, record) if path else None, text) if part)
        return f"<!-- table: {match[1]} -->\n\n{body}\n\n<!-- end -->" if body else f"<!-- table: {match[1]} -->\n<!-- end -->"

    missing = [table for table in tables if f"<!-- table: {table} -->" not in text]
    if missing:
        sys.exit(f"{name} has no table {', '.join(missing)}")
    return text, re.sub(r"<!-- table: (\w+) -->.*?<!-- end -->", renew, text, flags=re.DOTALL)


def main():
    words = [w for w in sys.argv[1:] if w != "--check"]
    if len(words) != 1 or words[0].startswith("-") or not all((pathlib.Path(words[0]) / name).is_file() for name in PAGES):
        sys.exit(f"usage: page.py ROOT [--check]     ROOT: the project's directory, which has {' and '.join(PAGES)}")
    root = pathlib.Path(words[0])
    records, status = Records(root), 0
    pages = {name: page(root, name, records) for name in PAGES}  # all of them before one is written
    for name, (text, wanted) in pages.items():
        if "--check" not in sys.argv:
            (root / name).write_text(wanted)
        elif text != wanted:
            lines = [(a, b) for a, b in zip(text.splitlines(), wanted.splitlines()) if a != b]
            print(f"{name} does not agree with the records: bench/page.py . renews it")
            for a, b in lines[:3]:
                print(f"- {a}\n+ {b}")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
