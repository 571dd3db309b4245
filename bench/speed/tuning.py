"""The costs and gains of tuning (the paper's table 3), and tuning before containers are measured. A program without `zfc tune` is measured as it is."""

import contextlib
import json
import pathlib
import statistics
import sys
import tempfile

sys.dont_write_bytecode = True
import cases  # noqa: E402
import peers  # noqa: E402
from peers import Failed  # noqa: E402

WANTED = {"total_seconds": 60, "mean_probes": 10, "part_of_best": .97, "untuned_part": .80, "untuned_mean": .90}
# Searched in all combinations: rows of cases.py, each with its part of --exhaustive (those of lanes and chunks have few), and
# columns of table 2.
EXHAUSTIVE = {"bitpack-3-u8": 1, "random-16, u32": 1, "1 : 2 : 1, over tans": .5, "1 : 2 : 1, over rans": .5, "gpu_rfor-16-i32": .5}
COLUMNS = {"lineitem": ("l_shipdate", "l_orderkey")}
CANNOT = ("no verb `tune`", "have no choices: GPUs' have")  # an older program; a device
# Spaces that are smaller, as those of other kinds of GPUs are: what the best combination in them is worth here. `None` is the default.
RESTRICTED = {
    "L, THREADS and C alone": {"STAGE": (0,), "PREFETCH": (0,), "REGISTERS": (None,), "TABLE": (None,), "WALK": (None,)},
    "neither staged nor prefetched": {"STAGE": (0,), "PREFETCH": (0,)},
    "thread blocks of at most 128": {"THREADS": (32, 64, 128)},
}


def known(s):
    """Whether the program can tune on the device at hand. It cannot if it says so, by the status of wrong words and one of CANNOT; all else is an error."""
    try:
        s.run(s.zfc, "tune", "--show", f"--device={s.options.device}")
        return True
    except Failed as why:
        if why.code == 2 and any(text in str(why) for text in CANNOT):
            s.note(f"no tuning: {why}")
            return False
        raise


def tune(s, containers, *words, seconds):
    """The output of `zfc tune --json`."""
    return json.loads(s.run(s.zfc, "tune", "--json", f"--device={s.options.device}", f"--bytes={s.options.bytes}", *words, *containers,
                            limit=60 + 2 * seconds))


def told(found):
    """The kept part of a report of `zfc tune`."""
    kernels, probes = found["kernels"], [k["probes"] for k in found["kernels"]]
    each = [{"column": k["column"], "kernel": k["kernel"], "chosen": chosen(k), **{name: k[name] for name in ("default_seconds", "seconds", "probes", "ended")}}
            for k in kernels]
    return {"seconds": found["total_seconds"], "kernels": len(probes), "mean_probes": sum(probes) / max(1, len(probes)), "each": each,
            "left_out": found.get("left_out", [])}


def chosen(kernel):
    """The choices better than the default, as --choose has them; "" is the default."""
    return ",".join(f"{name}={value}" for name, value in kernel["best"].items() if value != kernel["default"][name])


@contextlib.contextmanager
def nothing_found(s):
    """A cache of its own, in which nothing was found before."""
    with tempfile.TemporaryDirectory(dir=s.tree) as cache:
        kept, s.environment = s.environment, {**s.environment, "ZIPFLOW_CACHE_DIR": cache}
        try:
            yield
        finally:
            s.environment = kept


def prepare(s, report):
    """From now on containers are tuned once before they are measured."""
    if s.options.tune <= 0:
        return
    try:
        if not known(s):
            return
    except Failed as why:
        report.fail(why, by="zipflow", name="tune")
        return
    report.head["tuned"], done = [], set()

    def before(containers, *words):
        new = [c for c in containers if (c, *words) not in done]
        done.update((c, *words) for c in new)
        for container in new:
            try:
                found = tune(s, [container], *words, f"--budget={s.options.tune}s", seconds=s.options.tune)
                report.head["tuned"].append({"container": pathlib.PurePath(container).name, **told(found), **({"options": list(words)} if words else {})})
            except (Failed, KeyError, ValueError) as why:
                report.fail(why, data=pathlib.PurePath(container).name, by="zipflow", name="tune")

    s.before = before


def table2(s):
    """Containers of the columns of table 2 in the paper's nests, and their columns."""
    text, tables = peers.table2_program(pathlib.Path(peers.ROOT) / "examples/tpch/tpch.zf", True, s.options.wants)
    made = {}
    for table, columns in tables.items():
        sources = peers.decoded_files(columns, s.tpch(table, columns))
        made[peers.encode(s, f"{table}_tuned", text, table, [s.tree / "tpch" / f"{table}.csv"], sources)] = list(columns)
    return made


def keep_measured(report, found, label):
    """Adds what was measured of all combinations to OUT/search.json, which `zfc tune --replay` takes."""
    path = report.path.with_name("search.json")
    if not hasattr(report, "measured"):
        head = {key: report.head[key] for key in ("date", "command", "commit", "device") if key in report.head}
        report.measured = {"tune": "kernels", **head, "kernels": []}
    report.measured["kernels"] += [{**kernel, "column": label} for kernel in found["kernels"]]
    path.write_text(json.dumps(report.measured, separators=(",", ":")) + "\n")


def median(measured):
    return statistics.median(measured["seconds"])


def beside_all(kernel, searched):
    """The result of a search, beside all combinations of the kernel that were measured; it is one of them, since it was known."""
    ran = [m for m in kernel["measured"] if m["runs"]]
    best = min(median(m) for m in ran)
    picked = [median(m) for m in ran if m["choice"] == searched["best"]]
    if not picked:
        raise Failed(f"what the search found was not measured again: {searched['best']}")
    return {"part_of_best": best / picked[0], "part_at_least": WANTED["part_of_best"], "untuned_part_of_best": best / median(kernel["measured"][0]),
            "probes": searched["probes"], "combinations": len(kernel["measured"]), "all": kernel["ended"] == "all were measured",
            "choices": chosen(searched) or "default", "verified": True}


def partners(report, exhaustive, searched, label):
    """[(kernel, the same of the search)] by number and shape: a run may leave kernels out. Those that one of them alone has are left out here."""
    known = [{(k["kernel"], k["shape"]): k for k in kernels} for kernels in (exhaustive, searched)]
    for key in (key for of in known for key in of if not all(key in other for other in known)):
        report.leave_out(f"only one of the two runs has the kernel: {key[1]}", part="tuning", data=label, name="search beside all combinations", kernel=key[0])
    return [(kernel, known[1][key]) for key, kernel in known[0].items() if key in known[1]]


def exhaustively(s, report, container, column, label, part=1):
    """All combinations of a column's kernels, and a search that knows of none."""
    try:
        seconds = s.options.exhaustive * part
        with nothing_found(s):
            picked = pathlib.Path(s.environment["ZIPFLOW_CACHE_DIR"]) / "picked.txt"
            searched = tune(s, [container], f"--columns={column}", "-o", picked, seconds=seconds)
            found = tune(s, [container], "--exhaustive", f"--tuned={picked}", f"--budget={seconds}s", f"--columns={column}", seconds=seconds)
        keep_measured(report, found, label)
        for kernel, of_search in partners(report, found["kernels"], searched["kernels"], label):
            report.add({"data": label, "by": "zipflow", "name": "search beside all combinations", "kernel": kernel["kernel"], **beside_all(kernel, of_search)})
            restricted(report, kernel, label)
    except (Failed, KeyError, ValueError) as why:
        report.fail(why, data=label, by="zipflow", name="search beside all combinations")


def restricted(report, kernel, label):
    """The best of each smaller space that leaves something out, beside the best of all."""
    measured = [(median(m), m["choice"]) for m in kernel["measured"] if m["runs"]]
    for name, space in RESTRICTED.items():
        allowed = {kind: [kernel["default"][kind] if v is None else v for v in values] for kind, values in space.items() if kind in kernel["default"]}
        within = [m for m in measured if all(m[1][kind] in values for kind, values in allowed.items())]
        if not within or len(within) == len(measured):
            continue
        best = min(within, key=lambda m: m[0])
        report.add({"data": label, "by": "zipflow", "name": "the best of fewer choices", "kernel": kernel["kernel"], "configuration": name,
                    "choices": ",".join(f"{kind}={value}" for kind, value in best[1].items()), "part_of_best": min(measured, key=lambda m: m[0])[0] / best[0],
                    "combinations": len(within), "verified": True})


def part(s, report):
    if not known(s):
        report.leave_out("this program cannot tune on this device", part="tuning")
        return []
    with nothing_found(s):
        return searched(s, report)


def searched(s, report):
    made = table2(s)
    if made:
        found = tune(s, list(made), seconds=300)
        report.add({"data": "table 2", "by": "zipflow", "name": "tuning", **told(found), "seconds_at_most": WANTED["total_seconds"],
                    "probes_at_most": WANTED["mean_probes"], "verified": True})
    parts = []
    for path, columns in made.items():
        rows = [peers.bench(s, report, [*more, path]) for more in (("--untuned",), ())]
        for column in columns:
            cold, tuned = (r.get((str(path), column), {}) for r in rows)
            if not (cold.get("verified") and tuned.get("verified")):
                report.fail(cold.get("message") or tuned.get("message", "not measured"), data=column, by="zipflow", name="without results")
                continue
            parts.append(cold["gb_per_second"] / tuned["gb_per_second"])
            report.add({"data": column, "by": "zipflow", "name": "without results", "codec": tuned["codec"], "ratio": tuned["ratio"],
                        "gb_per_second": tuned["gb_per_second"], "gb_per_second_untuned": cold["gb_per_second"], "untuned_part": parts[-1],
                        "part_at_least": WANTED["untuned_part"], "verified": True})
    if parts:
        report.add({"data": "table 2", "by": "zipflow", "name": "without results, mean", "untuned_part": sum(parts) / len(parts),
                    "part_at_least": WANTED["untuned_mean"], "verified": True})
    if s.options.exhaustive <= 0:
        return []
    for path, columns in made.items():
        for column in (c for c in columns if c in COLUMNS.get(pathlib.PurePath(path).name.split("_")[0], ())):
            exhaustively(s, report, path, column, column)
    for case in (c for c in cases.CASES if c.name in EXHAUSTIVE and s.options.wants(c.name)):
        rows = max(1, s.options.made // 4)
        arrays = case.make(rows)
        ending, array = next(iter(arrays.items()))
        source = s.tree / f"tuning.{ending}"
        array.tofile(source)
        program = f'import "std.zf"; table t {{ c: {case.kind} = {case.codec}; }}\n'
        exhaustively(s, report, peers.encode(s, "tuning", program, "t", [f"c={source}"], {f"c.{ending}": array}), "c", case.name, EXHAUSTIVE[case.name])
    return []
