"""Checks by test_tpch.py of bench/tpch's simulation of links: of tpch_links, of the model, and of a report."""

import json
import math
import subprocess
import sys

import links

FOREVER = 2**64 - 1
ROOM = (FOREVER, 2**40)  # staging, and a unit, without limits


def check(what, *said):
    if not what:
        raise SystemExit(f"FAILED: {' '.join(map(str, said))}")


def near(a, b, error=1e-6):
    return math.isclose(a, b, rel_tol=error, abs_tol=1e-9)


# ---- The program ------------------------------------------------------------------------------------------------------


def ask(program, *problems):
    """A problem of (name, staging, columns, rows of units: a column, its bytes, expected and real seconds)."""
    text = []
    for name, staging, columns, rows in problems:
        text.append(f"problem {name} {columns} {FOREVER} {staging}\n")
        for column, held, *seconds in (row.split() for row in rows):
            text.append(f"unit {column} 1 {' '.join(seconds[:3])} {held} {' '.join(seconds[3:])}\n")
    return links.solve(program, text)


def seconds(found):
    return [round(found[method]["seconds"], 9) for method in ("given", "johnson")]


def programs(program):
    """Small problems with known answers, and what cannot be read."""
    found = ask(program, ("order", FOREVER, 2, ["0 1 0 3 1 0 3 1", "1 1 0 1 3 0 1 3"]), ("misled", FOREVER, 2, ["0 1 0 1 3 0 3 1", "1 1 0 3 1 0 1 3"]),
                ("reads", FOREVER, 2, ["0 1 9 1 3 0 3 1", "1 1 1 4 1 0 1 3"]),
                ("decodes", 9, 1, ["0 1 0 0 2 0 0 2", "0 1 0 0 3 0 0 3"]), ("copies", 9, 1, ["0 1 0 2 0 0 2 0", "0 1 0 3 0 0 3 0"]),
                ("queued", 99, 1, ["0 1 0 1 1 2 1 1"] * 3), ("full", 10, 1, ["0 10 0 1 3 0 1 3"] * 2), ("room", 20, 1, ["0 10 0 1 3 0 1 3"] * 2),
                ("whole", FOREVER, 2, [f"{c} 1 0 1 {d} 0 1 {d}" for c, d in ((0, .010), (0, .012), (1, .011), (1, .013))]), ("nothing", 1, 1, []))
    check(seconds(found["order"]) == [7, 5] and found["order"]["order"] == [1, 0] and near(found["order"]["bound"], 5), found["order"])
    check(seconds(found["misled"]) == [7, 7] and found["misled"]["order"] == [0, 1], "what is expected decides, what is real counts", found["misled"])
    check(found["reads"]["order"] == [1, 0], "what reading is expected to take decides, too", found["reads"])
    check(seconds(found["decodes"]) == [5, 5] and seconds(found["copies"]) == [5, 5] and seconds(found["nothing"]) == [0, 0], found)
    check(seconds(found["queued"]) == [8, 8] and seconds(found["full"]) == [8, 8] and seconds(found["room"]) == [7, 7], found)
    check(near(found["full"]["given"]["copy_blocked"], 3) and near(found["queued"]["given"]["copy_starved"], 4), found["full"], found["queued"])
    check(found["whole"]["rule"] == "columns" and found["whole"]["order"] in ([0, 1, 2, 3], [2, 3, 0, 1]), "columns stay whole", found["whole"])
    for wrong, told in (("unit 0 1 0 1 1 1 0 1 1\n", "line 1"), ("problem a 1 9\n", "line 1"), ("problem a 1 9 9\nunit 0 1 0 1 1 1 0 1\n", "line 2"),
                        ("problem a 1 9 99\nunit 0 10 0 1 1 1 0 1 1\n", "a cannot"), ("problem a 1 99 9\nunit 0 1 0 1 1 10 0 1 1\n", "a cannot"),
                        ("problem b 1 9 9\nunit 1 1 0 1 1 1 0 1 1\n", "b cannot")):
        said = subprocess.run([program], input=wrong, capture_output=True, text=True)
        check(said.returncode == 2 and told in said.stderr, wrong, said)


# ---- The model --------------------------------------------------------------------------------------------------------


class Machine:
    """Another simulation, from event to event: what a machine of which all is known would show."""

    rate, copy, gap, queue, hand_over, start, end, beside = 50e9, 3e-6, 1e-6, 30e-6, 9e-6, 90e-6, 40e-6, 0.12

    def times(self, units, order):
        """[(copy begin, copy end, decode begin, decode end)] by unit, and when all is done."""
        out, decodes, copied = [None] * len(units), [], -1.0
        for k, place in enumerate(order):
            begin = max(self.start + k * self.queue, copied + self.gap)
            work, now = self.copy + units[place][1] / self.rate, begin
            for first, last in [*decodes, (math.inf, math.inf)]:
                alone = min(work, max(0.0, first - now))  # until it begins; then slowed until it ends
                now, work = now + alone, work - alone
                slowed = min(work, max(0.0, last - max(now, first)) * (1 - self.beside)) if work > 0 else 0.0
                now, work = now + slowed / (1 - self.beside), work - slowed
            copied = now
            decode = max(copied + self.hand_over, decodes[-1][1] if decodes else 0.0)
            decodes.append((decode, decode + units[place][2]))
            out[place] = (begin, copied, *decodes[-1])
        return out, decodes[-1][1] + self.end

    def measured(self, units, link=50e9):
        """A set as links.measured gives it, of [(column, bytes, decode seconds)]: Johnson's order is the reverse."""
        order = range(len(units))
        given, all_given = self.times(units, order)
        _, all_johnson = self.times(units, order[::-1])
        alone = [self.copy + size / self.rate for _, size, _ in units]
        rows = [links.Unit(c, size, 4 * size, size, 0.0, 5e-6 + size / link, decode, alone[k], self.hand_over, decode, *times, len(units) - 1 - k)
                for k, ((c, size, decode), times) in enumerate(zip(units, given))]
        of = {"given": all_given, "johnson": all_johnson}
        return {"expected_link_rate": link, "run_seconds": all_given, "seconds": {o: {"median": s, "least": 0.99 * s, "most": s} for o, s in of.items()},
                "units": [links.to_text(row) for row in rows]}


def all_of(program):
    programs(program)
    parts()
    models(program)
    parts_of_a_report(program)
    other_links(program)
    errors_of_the_model(program)


def models(program):
    """The model finds what such a machine is made of, and what it takes."""
    machine = Machine()
    growing = [(c, 5_000_000, 1e-6 * (10 + c)) for c in range(9)]  # Johnson's order is the reverse
    sets = {"large": machine.measured([(0, 30_000_000, 200e-6)] * 6 + [(1, 25_000_000, 60e-6)] * 6),
            "small": machine.measured([(c, 500 + c, 15e-6) for c in range(9)]), "gaps": machine.measured([(0, 2_000_000, 1e-6)] * 20),
            "mixed": machine.measured([(0, 500_000, 300e-6)] * 4 + [(1, 9_000_000, 1e-6)] * 4),
            "decoder": machine.measured([(0, 600_000, 200e-6)] * 10),
            "close": machine.measured([(c, 5_000_000, 1e-6 * (19 - c)) for c in range(9)]), "table2": machine.measured(growing)}
    found = links.simulate(program, sets, *ROOM)
    p = found["parameters"]
    wanted = {"bytes_per_second": machine.rate, "copy": machine.copy + machine.gap, "start": machine.start - machine.gap,
              **{name: getattr(machine, name) for name in ("queue", "hand_over", "end", "beside")}}
    check(set(p) == set(wanted) and all(near(p[name], value, 5e-3) for name, value in wanted.items()), p, wanted)
    rows = {row["set"]: row for row in found["check"]["sets"]}
    check(found["check"]["error_percent"]["given"]["most"] < 1 and abs(rows["table2"]["johnson"]["error_percent"]) < 1, "seconds", rows)
    check([rows[name]["same_order"] for name in ("large", "table2")] == [False, True], "orders", rows)
    slower = [name for name, one in sets.items() if one["seconds"]["johnson"]["least"] > one["seconds"]["given"]["median"]]
    check(found["check"]["slower"] == slower and slower and "close" not in slower and rows["close"]["gain_measured"] < 1, rows, slower)
    # A link without limits on a machine without constants: all that is left is decoding.
    nothing = dict.fromkeys(wanted, 0.0) | {"hand_over": machine.hand_over}
    for name, one in sets.items():
        units = [links.from_text(text) for text in one["units"]]
        check([links.to_text(unit) for unit in units] == one["units"], name)
        of = links.solve(program, [links.problem(name, units, nothing, ROOM, 1e30, 1e30, 50e9)])[name]
        total = sum(u.decode for u in units)
        check(near(of["given"]["seconds"], total) and near(of["johnson"]["seconds"], total) and near(of["bound"], total), name, of, total)
        slow = links.solve(program, [links.problem(name, units, nothing, ROOM, 1e3, 1e3, 50e9)])[name]
        copied, last = sum(u.stored_bytes for u in units) / 1e3, units[-1].decode
        check(near(slow["given"]["seconds"], copied + last), name, slow, copied)
    check(links.simulate(program, {}, *ROOM) is None, "no set")


def parts():
    """The input of parameters."""
    points = [(x, y, 1 / y**2) for x, y in ((0, 2e-6), (10**6, 21e-6), (10**7, 250e-6), (10**9, 30e-3))]

    def error(constant, slope, points=points):
        return sum(w * (y - constant - slope * x) ** 2 for x, y, w in points)

    constant, slope = links.line(points)
    check(all(error(constant, slope) < min(error(constant * k, slope), error(constant, slope * k)) for k in (0.999, 1.001)), "a line", constant, slope)
    for values in (((1, 1.0), (2, 4.0)), ((1, 2.0), (2, 1.0)), ((0, -1), (1, 5), (2, 7)), ((0, 1), (1, -9))):  # the best line has a negative part
        few = [(x, y, 1.0) for x, y in values]
        best = min(((c / 50, k / 50) for c in range(200) for k in range(300)), key=lambda at: error(*at, few))
        check(max(abs(a - b) for a, b in zip(links.line(few), best)) < 0.03, values, links.line(few), best)
    check(links.line([(5, 10.0, 1)]) == (0, 2) and links.line([(0, 3.0, 1)]) == (3, 0), "one point")
    check(links.joined([(6, 7), (1, 2), (0, 5), (4, 5.5)]) == [[0, 5.5], [6, 7]] and links.median([3, 1, 2]) == 2 and links.median([]) == 0, "spans")

    def behind(begins, copy):  # units that begin then, each with a copy that takes so many microseconds
        return [links.Unit(0, 10, 10, 10, 0, 1, 1, 1e-6, 0, 1e-6, 1e-6 * b, 1e-6 * (b + copy), 1, 2, 0) for b in begins]

    # The first copy was late; another set's link waited once, long after the host had queued all.
    found = links.parameters({"a": (behind((100, 108, 150, 190, 230, 270), 1), 3), "b": (behind((100, 702, 1304, 1906, 2508, 3120), 600), 3)})
    check(near(found["queue"], 32.5e-6) and near(found["copy"], 602e-6, 0.01), found)
    check(links.parameters({"b": (behind((100, 702, 1304), 600), 3)})["queue"] == 0, "nobody waited for the host")
    tiny = [unit._replace(stored_bytes=size, copy=seconds) for unit, size, seconds in zip(behind((1, 9), 1), (10, 30), (5e-6, 3e-6))]
    check(near(links.parameters({"a": (tiny, 3)})["bytes_per_second"], 5e6), "more bytes that took less")


def parts_of_a_report(program):
    """Units are found again in the other order; sets that failed or were not measured in all orders are left out; what goes wrong is said."""
    fields = ["column", "first_row", *links.FIELDS[1:-1]]
    times = {"median": 3.0, "least": 2.0, "most": 4.0}

    def order(places, expected):  # (column, first row), sizes that tell them apart; what is expected is of Johnson's order alone
        units = [[c, row, 100 + c, 200 + row, 50, 0, expected + c, expected, 1 + c, 0, 1 + row, 2 * k + 1, 2 * k + 2, 2 * k + 2, 2 * k + 3 + row]
                 for k, (c, row) in enumerate(places)]
        return {"seconds": times, "run_seconds": 20.0, "link_rate": 1e9, "of_units": units}

    as_given = order(((0, 0), (0, 8), (1, 0)), 7)
    alone = {**as_given, "of_units": [[*unit[:8], unit[8] / 2, 0, unit[10] / 2, 0, 0, 0, 0] for unit in as_given["of_units"]]}
    good = {"set": "a", "verified": True, "apart": alone, "given": as_given, "johnson": order(((1, 0), (0, 0), (0, 8)), 9)}
    sets = [good, {**good, "set": "b", "verified": False}, {"set": "c", "verified": True, "given": as_given, "johnson": as_given},
            {"set": "d", "verified": True, "apart": {}, "given": {}, "johnson": {}}]
    found = {"sets": sets, "unit_fields": fields, "device_staging": 1000, "unit_bytes": 200}
    simulated, wrong = links.part(program, found)
    check(wrong == [] and list(simulated["links"]["measured"]) == ["a"], simulated, wrong)
    units = [links.from_text(text) for text in simulated["links"]["measured"]["a"]["units"]]
    check([u.johnson_position for u in units] == [1, 2, 0] and [u.expected_copy for u in units] == [9, 9, 10], units)
    told = [(u.stored_bytes, u.plain_bytes, u.copy, u.decode, u.decode_end) for u in units]
    check(told == [(100, 200, 0.5, 0.5, 3), (100, 208, 0.5, 4.5, 13), (101, 200, 1, 0.5, 7)], told)
    check(links.part(program, {**found, "sets": sets[1:]}) == ({}, []), "nothing to simulate")
    missing, small = links.part("/nowhere/tpch_links", found), links.part(program, {**found, "device_staging": 10})
    check(missing[0] == small[0] == {} and "nowhere" in missing[1][0] and "cannot be ordered" in small[1][0], missing, small)


def other_links(program):
    """On another link the pipeline expects other copies, and the order is another one."""
    one = Machine().measured([(0, 4_000_000, 60e-6), (1, 2_000_000, 30e-6)])
    found = links.simulate(program, {"q1": one}, *ROOM)["links"]
    check(near(found["here"]["gain_mean"], 1) and found["c2c"]["gain_mean"] > 1.01, found["here"], found["c2c"])
    units = [links.from_text(text) for text in one["units"]]
    none = dict.fromkeys(("copy", "queue", "beside", "hand_over"), 0)
    rows = links.problem("q1", units, none | {"copy": 1e-3, "queue": 2e-3, "hand_over": 4e-6}, ROOM, 1e9, 2e9, 50e9).splitlines()
    check(rows[0] == f"problem q1 2 {FOREVER} {3 * 2**40}" and rows[1].split()[1:3] == ["0", "4000000"], rows)
    small = links.problem("q1", units, none, (ROOM[0], 1 << 20), 1e9, 2e9, 50e9).splitlines()
    check(small[0].split()[-1] == str(65 << 20), "units that are small: 64 MiB, and one more", small)
    check([float(w) for w in rows[1].split()[3:]] == [0, 5e-6 + 2e-3, 60e-6, 4000000, 2e-3, 5e-3, 65e-6], rows)
    slowed = links.problem("q1", units, none | {"beside": 0.2}, ROOM, 1e12, 2e9, 50e9).splitlines()
    check([near(float(row.split()[8]), u.stored_bytes / 1e12 / 0.8) for row, u in zip(slowed[1:], units)] == [True] * 2, "decoding all the time", slowed)
    # A unit holds the larger of its part of the staging and its part of the bytes that may be in flight.
    held = [links.problem("q1", units[:1], none, room, 1e9, 2e9, 50e9).split()[11] for room in ((8_000_000, 10**6), (4 * 10**9, 10**7), (4_000_000, 10**9))]
    check(held == [str(((64 << 20) + 10**6) // 2), "4000000", str(3 * 10**9)], held)


def errors_of_the_model(program):
    """Where expectations are right, Johnson's order is the library's own here, too, and its time is predicted."""
    machine = Machine()
    units = [(c, 2_000_000 * (1 + c % 5), 10e-6 * (1 + 7 * c % 11)) for c in range(20)]
    one = machine.measured(units)
    order = links.simulate(program, {"q1": one}, *ROOM)["links"]["here"]
    read = [links.from_text(text) for text in one["units"]]
    asked = links.solve(program, [links.problem("q1", read, links.parameters({"q1": (read, one["run_seconds"])}), ROOM, 50e9, 50e9, 50e9)])["q1"]["order"]
    _, real = machine.times(units, asked)
    check(near(order["sets"][0]["johnson"], real, 0.01), "Johnson's order", order, real)


# ---- A report ---------------------------------------------------------------------------------------------------------


def blocks(zfc, containers):
    """Bytes of all blocks of a column, stored and plain: {TABLE.COLUMN: ...}."""
    out = {}
    for path in containers:
        file = json.loads(subprocess.run([zfc, "inspect", "--json", path], capture_output=True, text=True, check=True).stdout)
        for column in file["columns"]:
            out[f"{file['table']}.{column['column']}"] = (sum(block["bytes"] for block in column["blocks"]), column["plain_bytes"])
    return out


def report(program, path, found, stored):
    """Units add up to the columns' blocks; orders are those of the batches; figures agree with each other; it can be made anew."""
    simulated, rows = found["links"], {row["set"]: row for row in found["results"]}
    check(set(simulated["measured"]) == set(rows) and simulated["unit_fields"] == list(links.FIELDS), simulated["measured"].keys())
    for name, one in simulated["measured"].items():
        units, row = [links.from_text(text) for text in one["units"]], rows[name]
        check(len(units) == row["units"] and [u.column for u in units] == sorted(u.column for u in units), name)
        for c, column in enumerate(row["columns"]):
            mine = [u for u in units if u.column == c]
            check((sum(u.stored_bytes for u in mine), sum(u.plain_bytes for u in mine)) == stored[column], name, column, mine, stored[column])
        check(sorted(u.johnson_position for u in units) == list(range(len(units))), name, "positions")
        check(all(0 < u.device_bytes <= simulated["device_staging"] and u.expected_copy > 0 and u.expected_decode > 0 for u in units), name, units)
        check(all(u.copy > 0 and u.decode > 0 and u.hand_over >= 0 for u in units), name, units)
        check(all(0 < u.copy_begin <= u.copy_end <= u.decode_begin <= u.decode_end for u in units), name, units)
        check(row["seconds"]["given"]["least"] <= one["run_seconds"] <= row["seconds"]["given"]["median"], name, one["run_seconds"])
        timed = {order: row["seconds"][order] for order in ("given", "johnson")}
        check(all(sorted(t["runs"])[0] == t["least"] and t | one["seconds"][order] == t for order, t in timed.items()), name, timed)
    for row in simulated["check"]["sets"]:
        check(row["same_order"], "another order than the batch's", row)
        for method in ("given", "johnson"):
            of = row[method]
            check(of["measured"] == rows[row["set"]]["seconds"][method]["median"], row)
            check(near(of["predicted"], of["measured"] * (1 + of["error_percent"] / 100)), row)
        check(near(row["gain_measured"], rows[row["set"]]["johnson_beside"]["given"]), row)
    check(list(simulated["links"]) == ["here", "pcie3", "pcie4", "pcie5", "c2c"], simulated["links"].keys())
    for key, link in simulated["links"].items():
        queries = [r["gain"] for r in link["sets"] if r["set"] != "table2"]
        check(near(link["gain_mean"] or 1, math.prod(queries) ** (1 / max(1, len(queries)))), key)
        for r in link["sets"]:
            check(r["bound"] <= 1.0000001 * min(r["given"], r["johnson"]) and near(r["gain"], r["given"] / r["johnson"]), key, r)
    slower = [name for name, row in rows.items() if row["seconds"]["johnson"]["least"] > row["seconds"]["given"]["median"]]
    check(simulated["check"]["slower"] == slower, simulated["check"]["slower"], slower)
    rates = [link["bytes_per_second"] for key, link in simulated["links"].items() if key != "here"]
    check(rates == sorted(rates) and near(rates[1], 2 * rates[0]) and near(rates[2], 4 * rates[0]), rates)
    slow, fast = ({r["set"]: r for r in simulated["links"][key]["sets"]} for key in ("pcie3", "c2c"))
    check(all(fast[name]["given"] <= slow[name]["given"] + 1e-12 for name in rows), "a faster link")
    anew = subprocess.run([sys.executable, links.__file__, path, program], capture_output=True, text=True)
    check(anew.returncode == 0 and json.loads(path.read_text()) == found, "made anew it is another one", anew)
    said = anew.stdout.splitlines()
    check(len(said) == len(rows) + 5 and "PCIe 4 x16" in said[0] and all("FIFO" in said[k] for k in (0, -1)), said)
