"""Tables of docs/safety.md: changed files on GPUs, damaged input beside nvCOMP, and fuzzing. A table without a record is empty."""

DEVICES = ("h100", "h200")
STEPS = {"hostile": "numbers and the library's nests, whole columns and ranges", "hostile_strings": "strings, nulls, trees, chunk programs; every second decode is a range"}
RESULTS = ("right", "refused", "other_rows", "wrong", "lost", "hung")


def of_any(records, has):
    """The newest record of any device, or None."""
    found = [f for f in (records.newest(device, has) for device in DEVICES) if f]
    return max(found, key=lambda pair: pair[1]["date"], default=None)


def steps_of(record):
    steps = record.get("steps")
    return {s["step"]: s["result"] for s in steps if s.get("step") in STEPS and isinstance(s.get("result"), dict)} if isinstance(steps, list) else {}


def hostile(records, table):
    """Changed containers of script/gpu-test."""
    found = of_any(records, lambda record: len(steps_of(record)) == len(STEPS))
    if not found:
        return None
    heads = ("files", "columns", "changed files", "not opened", "refused by the host", "failed in a kernel", "as on the CPU", "canaries touched", "contexts lost",
             "slowest, by the good one's time")
    keys = ("columns", "mutated", "not_opened", "refused_by_the_host", "failed_in_a_kernel", "same_as_cpu", "canaries_touched", "contexts_lost")
    rows = [[STEPS[name], *[f"{of[k]:,}" for k in keys], f"{of['slowest_by_the_good_one'][0]:.1f}"] for name, of in steps_of(found[1]).items()]
    return *found, table(heads, rows)


def damage(records, table):
    """Trials of bench/peers."""
    found = of_any(records, lambda r: r.get("bench") == "peers damage")
    if not found:
        return None
    heads = ("library", "what", "trials", "right", "refused", "another valid file", "wrong, unnoticed", "context lost", "never ended", "wrote outside")
    rows = []
    for by, name in (("zipflow", "zipflow"), ("nvcomp", "nvCOMP")):
        for r in [r for r in found[1]["results"] if r.get("by") == by and "trials" in r]:
            what = f"`{r['data']}`, {r['name']}" if by == "zipflow" else " ".join(w for w in (f"`{r['codec']}`", r.get("decoder", "")) if w)
            of = r["trials"]
            rows.append([name, what, f"{sum(of.values()):,}", *[f"{of[k]:,}" for k in RESULTS], str(r["outside"])])
    return *found, table(heads, rows)


def quiet_seconds(runs, mended):
    """CPU seconds of a target since its last finding, or since the last change that mended one. `runs` are in the order of their dates."""
    seconds, dates = 0.0, sorted(of["date"] for of in mended)
    for date, run in runs:
        while dates and dates[0] <= date:
            seconds = 0.0
            dates.pop(0)
        seconds = run["cpu_seconds_since_finding"] if run["findings"] else seconds + run["cpu_seconds"]
    return 0.0 if dates else seconds


def fuzz(records, table):
    """All runs of script/fuzz together, and the findings that are mended."""
    runs, names = {}, []
    for record in records.fuzz:
        names.append(f"{record['date'][:10]} ({record['machine']['cores']} cores, commit {record['commit'][:8]})")
        for of in record["targets"]:
            runs.setdefault(of["target"], []).append((record["date"], of))
    if not runs:
        return None
    heads = ("target", "CPU minutes", "executions", "executions per CPU second", "edges", "features", "findings", "CPU minutes since the last finding or its mend")
    rows = []
    for name, of in sorted(runs.items()):
        cpu, executions = (sum(run[key] for _, run in of) for key in ("cpu_seconds", "executions"))
        quiet = quiet_seconds(of, [m for m in records.mended if m["target"] == name])
        rate = executions / cpu if cpu else 0
        rows.append([f"`{name}`", f"{cpu / 60:.1f}", f"{executions:,}", f"{rate:,.0f}" if rate >= 10 else f"{rate:.1f}", f"{of[-1][1]['edges']:,}", f"{of[-1][1]['features']:,}",
                     str(sum(len(run["kinds"]) for _, run in of)), f"{quiet / 60:.1f}"])
    said = [f"- `{of['target']}`: {of['finding']} Mended in {of['commit'][:8]}." for of in records.mended]
    text = [f"Runs: {'; '.join(names)}. `edges` and `features` are those of the last run.", table(heads, rows)]
    return None, None, "\n\n".join([*text, *(["Findings:\n\n" + "\n".join(said)] if said else [])])
