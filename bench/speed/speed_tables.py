"""The results of speed.py as tables: each function takes rows, and gives heads and cells, or None where there are none. Rows that failed are shown as such,
with the beginning of why, and counted beside means; those that are no row's, but say how a part ended, are the page's (`ended`).

`wanted` stands beside what was measured where there is a criterion; `against` says where that is missed, also where both round to the same.
"""

from criteria import BESIDE_AT_LEAST, MEAN_AT_LEAST, UNFUSED_AT_LEAST, is_missed, mean_of
from rows import bad, by, counted, failed_cells, failure, fastest, geometric_mean, good, speed

WIDTHS_A_ROW = 8


def percent(part):
    return f"{100 * part:.0f}%"


def against(text, measured, wanted, most=False):
    """A measurement as text, and whether it misses its target; None: there is none."""
    return text + (", above" if most else ", below") if wanted is not None and is_missed(measured, wanted, most) else text


def part_against(row, what="fraction_of_limit", wanted="at_least"):
    """A part of a row beside its criterion."""
    return against(percent(row[what]), row[what], row.get(wanted))


def peer_cell(rows, least=1.05):
    """nvCOMP's fastest of rows, and how many failed."""
    theirs = by(rows, "nvcomp")
    row, failed = fastest(theirs, least), bad(theirs)
    cells = [f"{row['codec']}: {row['ratio']:.2f}, {speed(row):.0f}"] if row else []
    return "; ".join(cells + ([f"{len(failed)} of {len(theirs)} {failure(failed[0])}"] if failed else []))


def of_parts(rows, *parts):
    """Rows of something that is measured."""
    return [r for r in rows if r["part"] in parts and is_measured(r)]


def is_measured(row):
    """Not a part that ended, nor a container that could not be tuned and was measured as it is."""
    return "data" in row and row.get("name") != "tune"


def ended(rows):
    """Why parts ended early, and why containers were not tuned: sentences."""
    rows = [r for r in bad(rows) if "name" in r and not is_measured(r)]
    return [f"Not tuned: {r['data']}, {failure(r)}." if "data" in r else f"Ended early: {r.get('part', r.get('by'))}, {r['name']}, {failure(r)}." for r in rows]


def work(rows):
    """Every row with a criterion but those of `rle`; what failed of `work` is there without one, too."""
    heads = ("data", "codec", "ratio", "GB/s", "of the limit", "wanted", "nvCOMP, the fastest: ratio, GB/s")
    rows, of_data = [r for r in rows if is_measured(r)], {}
    for row in rows:
        of_data.setdefault((row["part"], row["data"]), []).append(row)
    cells = []
    for row in rows:
        failed = not row.get("verified")
        if row["part"] == "rle" or not ("at_least" in row or "characters_at_least" in row or (failed and row["part"] == "work" and row["by"] == "zipflow")):
            continue
        name = row["data"] if row["part"] != "work" or row["data"] == row["name"] else f"{row['data']}, {row['name']}"
        if failed:
            cells.append(failed_cells(len(heads), row, name))
            continue
        wanted = percent(row["at_least"]) if "at_least" in row else f"{row['characters_at_least']} GB/s"
        cells.append([name, f"`{row['codec']}`", f"{row['ratio']:.2f}", against(f"{speed(row):.0f}", speed(row), row.get("characters_at_least")), part_against(row), wanted,
                      peer_cell(of_data[row["part"], row["data"]])])
    return (heads, cells) if cells else None


def family_of(row):
    """Which runs these are; rows that failed did not always say so."""
    return row.get("family") or ("rle over bitpack" if row["name"].endswith("over bitpacks") else "rle")


def of_family(rows, family):
    rows = [r for r in by(rows, "zipflow") if family_of(r) == family]
    return counted(len(good(rows)), len(bad(rows)))


def rle(rows):
    """A row for each way to be long and type, and the means."""
    rows, cells = of_parts(rows, "rle"), []
    for data in dict.fromkeys(r["data"] for r in rows):
        mine = {family_of(r): r for r in rows if r["data"] == data and r["by"] == "zipflow"}
        line = [data]
        for family in MEAN_AT_LEAST:
            row = mine.get(family)
            line += ["", ""] if row is None else [f"{row['gb_per_second']:.0f}", part_against(row)] if row.get("verified") else [failure(row), ""]
        wanted = mine.get("rle", {}).get("at_least")
        cells.append([*line[:3], percent(wanted) if wanted else "", *line[3:], peer_cell([r for r in rows if r["data"] == data])])
    if not cells:
        return None
    wanted, means = MEAN_AT_LEAST, {family: mean_of(rows, family) for family in MEAN_AT_LEAST}
    plain, packed = (", ".join([*([against(percent(mean), mean, wanted[family])] if mean is not None else []), of_family(rows, family)]) for family, mean in means.items())
    cells.append(["mean", "", plain, percent(wanted["rle"]), "", f"{packed} (wanted: {percent(wanted['rle over bitpack'])})", ""])
    return ("runs", "plain streams: GB/s", "of the limit", "wanted", "over bitpacks: GB/s", "of the limit", "nvCOMP, the fastest: ratio, GB/s"), cells


def widths(rows):
    found = {int(r["data"].split()[0]): percent(r["fraction_of_limit"]) if r.get("verified") else failure(r) for r in by(of_parts(rows, "bitpack"), "zipflow")}
    if not found:
        return None
    cells = [[f"{at} to {at + WIDTHS_A_ROW - 1}", *[found.get(w, "") for w in range(at, at + WIDTHS_A_ROW)]]
             for at in range(1, 65, WIDTHS_A_ROW)]
    return ("bits of an i64", *[""] * WIDTHS_A_ROW), cells


def ratio_and_speed(row):
    return "" if row is None else f"{row['ratio']:.2f}, {row['gb_per_second']:.0f}" if row.get("verified") else failure(row)


def entropy(rows):
    rows, cells = [r for r in of_parts(rows, "ans") if "volume" not in r], []
    for data in dict.fromkeys(r["data"] for r in rows):
        mine = {r["name"].rpartition(" ")[2]: r for r in rows if r["data"] == data and r["by"] == "zipflow"}
        cells.append([data, *[ratio_and_speed(mine.get(c)) for c in ("tans", "rans")], peer_cell([r for r in rows if r["data"] == data], 0)])
    return (("frequencies", "tans: ratio, GB/s", "rans: ratio, GB/s", "nvCOMP, the fastest: ratio, GB/s"), cells) if cells else None


def chunks(rows):
    rows = [r for r in of_parts(rows, "ans") if "volume" in r]
    volumes = sorted({r["volume"] for r in rows})
    if not rows:
        return None
    cells = []
    for name in dict.fromkeys(r["name"] for r in rows if r["by"] == "zipflow"):
        of = {r["volume"]: r for r in rows if r.get("name") == name}
        cells.append([" ".join(name.split()[-2:]), *[ratio_and_speed(of.get(v)) for v in volumes]])
    cells.append(["nvCOMP, the fastest", *[peer_cell([r for r in rows if r["volume"] == v], 0) for v in volumes]])
    return ("tans, chunks of", *[f"{v / (1 << 20):g} MiB: ratio, GB/s" for v in volumes]), cells


def fusion(rows):
    heads = ("nest", "fused: GB/s", "a kernel a stage: GB/s", "times as fast", "wanted", "by the bytes", "in the paper",
             f"unfused kernels, of their own limits (wanted: {percent(UNFUSED_AT_LEAST)})")
    cells = []
    for r in of_parts(rows, "fusion"):
        if not r.get("verified"):
            cells.append(failed_cells(len(heads), r, f"{r['name']}, {r['data']}"))
            continue
        each = ", ".join(against(percent(k["fraction_of_limit"]), k["fraction_of_limit"], UNFUSED_AT_LEAST) for k in r["kernels_unfused"])
        cells.append([f"{r['name']}, {r['data']}", f"{r['gb_per_second']:.0f}", f"{r['gb_per_second_unfused']:.0f}", against(f"{r['speedup']:.2f}", r["speedup"], r["speedup_at_least"]),
                      f"{r['speedup_at_least']:.2f}", f"{r['predicted']:.2f}", f"{r['paper']:.2f}", each])
    return (heads, cells) if cells else None


def tuning(rows):
    """The costs of searches, and the speeds of kernels without their results."""
    rows, cells = of_parts(rows, "tuning"), []
    for r in rows:
        if not r.get("verified"):
            cells.append(failed_cells(3, r, f"{r['data']}: {r['name']}"))
        elif "configuration" in r:
            cells.append([f"{r['data']}, kernel {r['kernel']}: {r['name']}, {r['configuration']}", f"{percent(r['part_of_best'])} of {r['combinations']}", ""])
        elif "part_of_best" in r:
            how_many = f"{r['combinations']}, all of them" if r.get("all") else f"{r['combinations']} of more" if "all" in r else f"{r['combinations']} that were measured"
            part = against(f"{100 * r['part_of_best']:.1f}%", r["part_of_best"], r["part_at_least"])
            cells.append([f"{r['data']}, kernel {r['kernel']}: {r['name']}", f"{part}, {r['probes']} probes of {how_many}",
                          percent(r["part_at_least"])])
        elif "untuned_part" in r:
            of = [other for other in rows if other["name"] == "without results"] if "mean" in r["name"] else []
            how_many = f", {counted(len(good(of)), len(bad(of)))}" if of else ""
            cells.append([f"{r['data']}: {r['name']}, of the tuned speed", part_against(r, "untuned_part", "part_at_least") + how_many, percent(r["part_at_least"])])
        else:
            took = [against(f"{r['seconds']:.1f} s", r["seconds"], r["seconds_at_most"], most=True),
                    against(f"{r['mean_probes']:.1f} probes a kernel", r["mean_probes"], r["probes_at_most"], most=True)]
            cells.append([f"{r['data']}: {r['name']} from nothing, {r['kernels']} kernels", ", ".join(took),
                          f"{r['seconds_at_most']} s, {r['probes_at_most']}"])
    return (("what", "measured", "wanted"), cells) if cells else None


def configurations(rows):
    def cell(row):
        if row is None or not row.get("verified"):
            return failure(row) if row else ""
        return f"{row['gb_per_second']:.0f}, {percent(row['normalised']) if 'normalised' in row else 'beside none'}"

    rows = of_parts(rows, "configurations")
    names = list(dict.fromkeys(r["configuration"] for r in rows if "configuration" in r))
    cells = []
    for name in dict.fromkeys(r["name"] for r in rows):
        of = {r.get("configuration"): r for r in rows if r["name"] == name}  # a container that could not be made has none
        cells.append([name, *[cell(of.get(c, of.get(None))) for c in names]])
    return (("row", *[f"{c}: GB/s, of the first" for c in names]), cells) if cells else None


def whole(row, link):
    """Seconds a plain byte takes over a link of so many bytes a second, and to be decoded."""
    return 1 / row["ratio"] / link + 1 / speed(row) / 1e9


def ours_beside(rows, theirs, link):
    """Our row of a column that decodes fastest among those that are sooner copied and decoded than theirs, and no larger; else the soonest."""
    better = [r for r in rows if whole(r, link) < whole(theirs, link) and r["ratio"] >= theirs["ratio"] and speed(r) > speed(theirs)]
    return max(better, key=speed, default=None) or min(rows, key=lambda r: whole(r, link), default=None)


def beside_nvcomp(rows, link):
    """Columns of table 2: of nvCOMP's what is soonest copied and decoded, and ours beside it. Also the sentence of the means."""
    heads = ("column", "codec", "ratio, GB/s, ms a GB to copy and decode", "nvCOMP, the soonest: the same", "times sooner")
    rows, cells, gains, ratios, failed = of_parts(rows, "table2"), [], [], [], 0
    for data in dict.fromkeys(r["data"] for r in rows):
        every = {who: by([r for r in rows if r["data"] == data], who) for who in ("zipflow", "nvcomp")}
        of = {who: good(found) for who, found in every.items()}
        if not of["zipflow"] or not of["nvcomp"]:
            why = next((bad(found)[0] for who, found in every.items() if found and not of[who]), None)
            if why and every["nvcomp"]:
                cells.append(failed_cells(len(heads), why, data))
                failed += 1
            continue
        theirs = min(of["nvcomp"], key=lambda r: whole(r, link))
        mine = ours_beside(of["zipflow"], theirs, link)
        gains.append(speed(mine) / speed(theirs))
        ratios.append(mine["ratio"] / theirs["ratio"])
        cells.append([data, f"`{mine['codec']}`", f"{mine['ratio']:.2f}, {speed(mine):.0f}, {1e12 * whole(mine, link):.1f}",
                      f"{theirs['codec']}: {theirs['ratio']:.2f}, {speed(theirs):.0f}, {1e12 * whole(theirs, link):.1f}",
                      f"{whole(theirs, link) / whole(mine, link):.2f}"])
    if not cells:
        return None
    if not gains:
        return heads, cells, f"Over a link of {link / 1e9:.1f} GB/s."
    gain, ratio = geometric_mean(gains), geometric_mean(ratios)
    said = (f"Over a link of {link / 1e9:.1f} GB/s. nvCOMP's row of a column is the one copied and decoded soonest; ours is the one that decodes fastest among those that are "
            f"sooner, faster and no larger, else the soonest. Geometric means beside nvCOMP, {counted(len(gains), failed, ' columns')}: {against(f'{gain:.2f} times as fast to decode', gain, BESIDE_AT_LEAST['speed'])} (wanted: {BESIDE_AT_LEAST['speed']}), "
            f"{against(f'{ratio:.2f} times the ratio', ratio, BESIDE_AT_LEAST['ratio'])} (wanted: {BESIDE_AT_LEAST['ratio']}).")
    return heads, cells, said


def means_beside_nvcomp(rows, link):
    """For columns that both decode: their number, the geometric means of speeds and ratios, and on how many ours is copied and decoded sooner."""
    gains, ratios, sooner = [], [], 0
    for data in dict.fromkeys(r["data"] for r in of_parts(rows, "table2")):
        of = {who: good(by([r for r in of_parts(rows, "table2") if r["data"] == data], who)) for who in ("zipflow", "nvcomp")}
        if not of["zipflow"] or not of["nvcomp"]:
            continue
        theirs = min(of["nvcomp"], key=lambda r: whole(r, link))
        mine = ours_beside(of["zipflow"], theirs, link)
        gains.append(speed(mine) / speed(theirs))
        ratios.append(mine["ratio"] / theirs["ratio"])
        sooner += whole(mine, link) < whole(theirs, link)
    return {"columns": len(gains), "speed": geometric_mean(gains), "ratio": geometric_mean(ratios), "sooner": sooner} if gains else None


def ratio_cell(row, with_codec=False):
    if row is None or not row.get("verified"):
        return failure(row) if row else ""
    return f"{row['ratio']:.2f}" + (f" ({row['codec'].split(',')[0]})" if with_codec else "")


def ratios(rows):
    """Columns of table 2: what everybody stores."""
    rows = of_parts(rows, "ratios")
    others = list(dict.fromkeys(r["by"] for r in rows if r["by"] != "zipflow"))
    cells, beside = [], {who: [] for who in others}
    for data in dict.fromkeys(r["data"] for r in rows):
        mine = {r["name"]: r for r in rows if r["data"] == data and r["by"] == "zipflow"}
        theirs = {r["by"]: r for r in rows if r["data"] == data and r["by"] != "zipflow"}
        paper = mine.get("the paper's") or mine.get("bitpack")
        best = max(good(mine.values()), key=lambda r: r["ratio"], default=None)
        for who, row in theirs.items() if mine else ():
            beside[who].append(best["ratio"] / row["ratio"] if best and row.get("verified") else None)
        if mine:
            cells.append([data, f"{best['plain_bytes'] / 1e6:.1f}" if best else "", ratio_cell(paper), ratio_cell(mine.get("ours")),
                          *[ratio_cell(theirs.get(who), with_codec=True) for who in others]])
    if not cells:
        return None
    means = []
    for who in others:
        of = [v for v in beside[who] if v is not None]
        means.append((f"{geometric_mean(of):.2f}, " if of else "") + counted(len(of), len(beside[who]) - len(of)))
    cells.append(["geometric mean of what zipflow's better nest is beside it", "", "", "", *means])
    return ("column", "MB", "the paper's nest", "ours", *others), cells


# The sections of a page: the title above a table, the table, and its parts.
SECTIONS = (("Targets and results", work, ("work", "table2")), ("Runs (the paper's figure 13)", rle, ("rle",)),
            ("Bit-packing, parts of the limit (figure 12)", widths, ("bitpack",)), ("Entropy coders (figure 14)", entropy, ("ans",)),
            ("Chunks, three symbols, 1 : 2 : 1 (figure 15)", chunks, ("ans",)), ("Fusion (figure 18)", fusion, ("fusion",)), ("Tuning (table 3)", tuning, ("tuning",)),
            ("Configurations (figure 22)", configurations, ("configurations",)))
