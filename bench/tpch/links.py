"""The gain of Johnson's order on links that are not here: a model of the machine, made of what runs showed and checked against them.

    links.py QUERIES.json TPCH_LINKS      makes `links` of a report anew, from the units that it has, and prints the table

queries.py does the same with what it has measured. tpch_links (links.c) orders and simulates, by the library that orders pipelines' batches.
"""

import collections
import json
import math
import pathlib
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
import record_text  # noqa: E402

LINKS = {
    "pcie3": ("PCIe 3 x16", 13.8e9, "a quarter of PCIe 5's: each generation doubles the rate of its lanes and keeps their code, 128 of 130 bits"),
    "pcie4": ("PCIe 4 x16", 27.6e9, "half of PCIe 5's"),
    "pcie5": ("PCIe 5 x16", 55.2e9, "raw copies from pinned memory to an H200, bench/results/h200/2026-11-23-pipeline.json"),
    "c2c": ("NVLink-C2C", 375e9, "from the host's to the GPU's memory of a GH200, of 450 nominal: Schieffer et al., \"Harnessing Integrated CPU-GPU System "
                                 "Memory for HPC: a first look into Grace Hopper\", 2024"),
}
COUNTED = {
    "parameters": "bytes_per_second: the slope of the line that fits seconds over bytes of copies alone (`apart`) best, errors relative to seconds. The "
                  "rest is of overlapped runs in the order of the query (`given`). copy, beside: what a copy takes besides its bytes, from the end of the one "
                  "before, and how much longer it takes a second of decoding beside it: the plane that fits copies best that the link did not wait for. "
                  "queue: what the host takes to queue a unit: by each copy that the link waited for, and the units before it, the least; 0: there was none. "
                  "start: until the first copy begins to move bytes; end: from the last decode's end until the host knows; medians. hand_over: what a "
                  "decode alone waits, from the end of its copy on, while others would go on: that for which the model's whole times are closest. Nothing "
                  "is of runs in Johnson's order",
    "model": "a unit's copy takes copy + bytes by the link's rate, those of a set longer by `beside` of what its decodes take, but no more than if something "
             "were decoded all the time; its decode what it took alone, from the end of its copy, without hand_over; it is queued `queue` behind the one "
             "before, and copied when what is before it and not decoded leaves room, in the staging and in what the pipeline has under way (IN_FLIGHT). "
             "start, hand_over and end come to the whole. Other links change the rate alone: not what a copy costs besides, nor the host, the GPU or "
             "the units' size",
    "johnson": "the order that a pipeline would choose by what it expects of units, after two runs; on other links with the link's rate in its expectations",
    "same_order": "whether that is the order in which the batch went here",
    "gain": "seconds in the order of the query by those in Johnson's, both whole",
    "bound": "no order could take less, if the model holds",
    "slower": "sets where Johnson's fastest run took more than the median run in the order of the query",
}
FIELDS = ("column", "stored_bytes", "plain_bytes", "device_bytes", "expected_read", "expected_copy", "expected_decode", "copy", "hand_over", "decode",
          "copy_begin", "copy_end", "decode_begin", "decode_end", "johnson_position",
          "johnson_copy_begin", "johnson_copy_end", "johnson_decode_begin", "johnson_decode_end")
WHOLE = {"column", "stored_bytes", "plain_bytes", "device_bytes", "johnson_position"}  # the others are seconds, in reports microseconds
Unit = collections.namedtuple("Unit", FIELDS, defaults=(0.0,) * 4)  # Johnson's times are told, and not for the model
IN_FLIGHT = 64 << 20  # bytes that are queued and not decoded, or two units where those are larger (runtime/pipeline/stages.c, most_in_flight)
HAND_OVERS = [1e-6 * k for k in range(21)]  # of which one is chosen
IDLE = 5e-6  # a link that is idle for longer between two copies waits for the host: else they are 1 to 4 us apart on an H200
MANY = 4  # units before such a one, from which on they say how fast the host queues


# ---- Measurements -----------------------------------------------------------------------------------------------------


def to_text(unit):
    return " ".join(str(v) if name in WHOLE else f"{1e6 * v:.6f}".rstrip("0").rstrip(".") for name, v in zip(FIELDS, unit))


def from_text(text):
    return Unit(*(int(word) if name in WHOLE else float(word) / 1e6 for name, word in zip(FIELDS, text.split())))


def units_of(row, fields):
    """The units of a set as tpch_measure tells them, in the order of the query: alone, overlapped, and where Johnson's order has them."""
    orders = {order: [dict(zip(fields, unit)) for unit in row[order]["of_units"]] for order in ("apart", "given", "johnson")}
    places = {(unit["column"], unit["first_row"]): position for position, unit in enumerate(orders["johnson"])}
    out = []
    for alone, beside in zip(orders["apart"], orders["given"]):
        place = places[alone["column"], alone["first_row"]]
        expected = orders["johnson"][place]
        found = {name: expected[name] for name in FIELDS[:7]} | {name: alone[name] for name in ("copy", "hand_over", "decode")}
        out.append(Unit(**found, **{name: beside[name] for name in FIELDS[10:14]}, johnson_position=place,
                        **{f"johnson_{name}": expected[name] for name in FIELDS[10:14]}))
    return out


def measured(found):
    """The input of the model, from tpch_measure's output: {set: ...}. Sets without it are skipped."""
    return {row["set"]: {"expected_link_rate": row["johnson"]["link_rate"], "run_seconds": row["given"]["run_seconds"],
                         "seconds": {order: row[order]["seconds"] for order in ("given", "johnson")},
                         "units": [to_text(unit) for unit in units_of(row, found["unit_fields"])]}
            for row in found["sets"] if row["verified"] and all("of_units" in row.get(o, {}) for o in ("apart", "given", "johnson"))}


# ---- The model --------------------------------------------------------------------------------------------------------


def median(values):
    values = sorted(values)
    half = len(values) // 2
    return (values[half] + values[~half]) / 2 if values else 0.0


def line(points):
    """(constant, slope), not negative, of the line through [(x, y, weight)] for which the squares of the errors in y, weighted, are least."""
    total, x, y = (sum(w * v for v, w in of) for of in zip(*(((1, w), (x, w), (y, w)) for x, y, w in points)))
    xx, xy = sum(w * x * x for x, _, w in points), sum(w * x * y for x, y, w in points)
    room = total * xx - x * x
    if room <= 1e-9 * total * xx:
        return (0.0, max(0.0, xy / xx)) if xx > 0 else (max(0.0, y / total), 0.0)
    slope = (total * xy - x * y) / room
    constant = (y - slope * x) / total
    if slope > 0 and constant >= 0:
        return constant, slope
    return max(((max(0.0, y / total), 0.0), (0.0, max(0.0, xy / xx))),
               key=lambda found: -sum(w * (y - found[0] - found[1] * x) ** 2 for x, y, w in points))


def joined(spans):
    """The same time in spans that do not touch."""
    out = []
    for begin, end in sorted(spans):
        if out and begin <= out[-1][1]:
            out[-1][1] = max(out[-1][1], end)
        else:
            out.append([begin, end])
    return out


def copies_of(units):
    """[(unit, seconds from the end of the copy before, of which something was decoded)] where the link did not wait, and where it did:
    [seconds that the host took a unit until then]."""
    decodes, busy, waited = joined((u.decode_begin, u.decode_end) for u in units), [], []
    for k in range(1, len(units)):
        before, end = units[k - 1].copy_end, units[k].copy_end
        if units[k].copy_begin - before <= IDLE:
            busy.append((units[k], end - before, sum(max(0.0, min(last, end) - max(first, before)) for first, last in decodes)))
        elif k >= MANY:
            waited.append((units[k].copy_begin - units[0].copy_begin) / k)
    return busy, waited


def parameters(sets):
    """All but hand_over, of {set: (units, seconds of the run that they are of)}."""
    alone = [(u.stored_bytes, u.copy, 1 / u.copy**2) for units, _ in sets.values() for u in units if u.copy > 0]
    constant, slope = line(alone)
    if slope == 0:  # copies so small that more bytes do not take longer
        constant, slope = 0.0, sum(seconds for _, seconds, _ in alone) / sum(size for size, _, _ in alone)
    found = [copies_of(units) for units, _ in sets.values()]
    busy = [(beside, seconds - slope * u.stored_bytes, 1 / seconds**2) for copies, _ in found for u, seconds, beside in copies if seconds > 0]
    copy, beside = line(busy) if busy else (constant, 0.0)
    return {"bytes_per_second": 1 / slope, "copy": copy, "beside": min(beside, 0.9),
            "queue": min((seconds for _, waited in found for seconds in waited), default=0.0),
            "start": median(units[0].copy_end - copy - slope * units[0].stored_bytes for units, _ in sets.values()),
            "end": median(seconds - max(u.decode_end for u in units) for units, seconds in sets.values()), "hand_over": 0.0}


def constant_of(model):
    """Seconds of a set besides what is simulated, where the first unit waits until it is queued, too."""
    return model["start"] - model["queue"] + model["hand_over"] + model["end"]


def problem(name, units, model, room, rate, expected_rate, expected_rate_here):
    """The input of tpch_links: a set over a link of `rate` bytes a second, of which the pipeline expects `expected_rate`, and here expected another; `room`
    is the staging's bytes and those of a unit."""
    staging, most = room[0], max(IN_FLIGHT, 2 * room[1]) + room[1]  # one more unit may begin
    copies, decodes = [model["copy"] + u.stored_bytes / rate for u in units], [max(0.0, u.hand_over + u.decode - model["hand_over"]) for u in units]
    beside = model["beside"]
    longer = min(1 + beside * sum(decodes) / sum(copies), 1 / (1 - beside)) if sum(copies) > 0 else 1.0
    lines = [f"problem {name} {1 + max(u.column for u in units)} {staging} {most}"]
    for u, copy, decode in zip(units, copies, decodes):
        expected = max(0.0, u.expected_copy - u.stored_bytes / expected_rate_here + u.stored_bytes / expected_rate)
        held = max(min(u.stored_bytes, most), -(-u.device_bytes * most // staging))  # what holds of both
        lines.append(f"unit {u.column} {u.device_bytes} {u.expected_read:.12f} {expected:.12f} {u.expected_decode:.12f} "
                     f"{held} {model['queue']:.12f} {copy * longer:.12f} {decode:.12f}")
    return "\n".join(lines) + "\n"


def solve(program, problems):
    """{name: what tpch_links says of it}."""
    said = subprocess.run([str(program)], input="".join(problems), capture_output=True, text=True)
    if said.returncode != 0:
        raise ValueError(said.stderr.strip())
    return {row["problem"]: row for row in json.loads(said.stdout)["problems"]}


def mean(values):
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def of_check(name, one, given, johnson, order):
    """The model's seconds beside those that were measured."""
    row = {"same_order": [u.johnson_position for u in one["read"]] == sorted(range(len(order)), key=order.__getitem__)}
    for method, seconds in (("given", given), ("johnson", johnson)):
        here = one["seconds"][method]["median"]
        row[method] = {"predicted": seconds, "measured": here, "error_percent": 100 * (seconds / here - 1)}
    medians = {method: times["median"] for method, times in one["seconds"].items()}
    return {"set": name, **row, "gain_predicted": given / johnson, "gain_measured": medians["given"] / medians["johnson"]}


def with_hand_over(program, sets, model, room):
    """The model, with that hand_over for which FIFO's times are closest to those that were measured."""
    models = {str(k): model | {"hand_over": seconds} for k, seconds in enumerate(HAND_OVERS)}
    found = solve(program, [problem(f"{key}/{name}", one["read"], of, room, of["bytes_per_second"], one["expected_link_rate"], one["expected_link_rate"])
                            for key, of in models.items() for name, one in sets.items()])

    def error(key):
        return sum(abs((constant_of(models[key]) + found[f"{key}/{name}"]["given"]["seconds"]) / one["seconds"]["given"]["median"] - 1)
                   for name, one in sets.items())

    return models[min(models, key=lambda key: (round(error(key), 6), int(key)))]


def simulate(program, sets, staging, unit_bytes):
    """`links` of a report, of what `measured` gave; None where nothing was."""
    sets = {name: one | {"read": [from_text(text) for text in one["units"]]} for name, one in sets.items()}
    if not sets:
        return None
    room = (staging, unit_bytes)
    model = with_hand_over(program, sets, parameters({name: (one["read"], one["run_seconds"]) for name, one in sets.items()}), room)
    rates = {"here": model["bytes_per_second"], **{key: rate for key, (_, rate, _) in LINKS.items()}}
    problems = [problem(f"{key}/{name}", one["read"], model, room, rate, one["expected_link_rate"] * rate / rates["here"], one["expected_link_rate"])
                for key, rate in rates.items() for name, one in sets.items()]
    found, rest = solve(program, problems), constant_of(model)
    checks, links = [], {}
    for key, rate in rates.items():
        rows = []
        for name, one in sets.items():
            of = found[f"{key}/{name}"]
            given, johnson, bound = (rest + seconds for seconds in (of["given"]["seconds"], of["johnson"]["seconds"], of["bound"]))
            rows.append({"set": name, "given": given, "johnson": johnson, "gain": given / johnson, "bound": bound, "rule": of["rule"]})
            if key == "here":
                checks.append(of_check(name, one, given, johnson, of["order"]))
        title, _, source = LINKS.get(key, ("here", 0, "as measured here"))
        links[key] = {"name": title, "bytes_per_second": rate, "source": source, "gain_mean": mean(r["gain"] for r in rows if r["set"] != "table2"),
                      "sets": rows}
    errors = {method: [abs(row[method]["error_percent"]) for row in checks] for method in ("given", "johnson")}
    return record_text.rounded({"counted": COUNTED, "parameters": model, "device_staging": staging, "unit_bytes": unit_bytes,
            "check": {"error_percent": {method: {"mean": sum(e) / len(e), "most": max(e)} for method, e in errors.items()},
                      "slower": [name for name, one in sets.items() if one["seconds"]["johnson"]["least"] > one["seconds"]["given"]["median"]],
                      "gain_mean": mean(row["gain_measured"] for row in checks if row["set"] != "table2"), "sets": checks},
            "links": links, "unit_fields": FIELDS, "measured": {name: {k: v for k, v in one.items() if k != "read"} for name, one in sets.items()}})


def part(program, found):
    """The output of tpch_measure as a part of a report, {} where it has nothing of the kind; and what went wrong."""
    try:
        simulated = simulate(program, record_text.rounded(measured(found)), found["device_staging"], found["unit_bytes"])
    except (OSError, ValueError) as why:
        return {}, [f"links: {why}"]
    return {"links": simulated} if simulated else {}, []


# ---- Tables -----------------------------------------------------------------------------------------------------------


def percent(gain):
    return f"{100 * (gain - 1):+.1f}%"


def table(links):
    """(heads, rows): for each set the model's error, what Johnson's order gained here, and milliseconds and gain on each link."""
    others = {key: link for key, link in links["links"].items() if key != "here"}
    heads = ["set", "model, FIFO", "model, Johnson", "gain, measured", "gain, model", *(link["name"] for link in others.values())]
    here = {row["set"]: row for row in links["links"]["here"]["sets"]}
    there = {key: {row["set"]: row for row in link["sets"]} for key, link in others.items()}
    rows = [[row["set"], *(f"{row[m]['error_percent']:+.1f}%" for m in ("given", "johnson")), percent(row["gain_measured"]),
             percent(here[row["set"]]["gain"]),
             *(f"{1e3 * there[key][row['set']]['johnson']:.2f} ms, {percent(there[key][row['set']]['gain'])}" for key in others)]
            for row in links["check"]["sets"]]
    errors = links["check"]["error_percent"]
    if links["check"]["gain_mean"] is not None:
        rows.append(["mean", *(f"{errors[m]['mean']:.1f}%" for m in ("given", "johnson")), percent(links["check"]["gain_mean"]),
                     percent(links["links"]["here"]["gain_mean"]), *(percent(link["gain_mean"]) for link in others.values())])
    return heads, rows


def said(links):
    """The model in some sentences."""
    p, errors, slower = links["parameters"], links["check"]["error_percent"], links["check"]["slower"]
    rates = ", ".join(f"{link['name']} {link['bytes_per_second'] / 1e9:.1f}" for key, link in links["links"].items() if key != "here")
    given, johnson = (f"{errors[method]['mean']:.1f}% on the mean and {errors[method]['most']:.1f}% at most" for method in ("given", "johnson"))
    constants = {"cost": p["copy"], "queue": p["queue"], "set": p["start"] + p["hand_over"] + p["end"]}
    us = {name: f"{1e6 * value:.1f} us" for name, value in constants.items()}
    return (f"Beyond noise, Johnson's order was slower than FIFO here in: {', '.join(slower) or 'none'}. The model: copies at "
            f"{p['bytes_per_second'] / 1e9:.1f} GB/s and {us['cost']} besides, longer by {100 * p['beside']:.0f}% of what is decoded beside them; "
            f"{us['queue']} to queue a unit; {us['set']} a set for its start and end. It is off by {given} for FIFO, by {johnson} for Johnson's order. "
            f"Effective GB/s of the links: {rates}.")


def markdown(links):
    heads, rows = table(links)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (heads, ["---"] * len(heads), *rows)) + f"\n\n{said(links)}"


def main():
    path = pathlib.Path(sys.argv[1])
    report = json.loads(path.read_text())
    if "links" not in report:
        print("links: the report has no units", file=sys.stderr)
        return 1
    report["links"] = simulate(sys.argv[2], *(report["links"][name] for name in ("measured", "device_staging", "unit_bytes")))
    path.write_text(record_text.text(report))
    print(markdown(report["links"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
