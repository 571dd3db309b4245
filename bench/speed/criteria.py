"""Targets for several rows together; those of one row are beside the row's case (cases.py). And whether that was reached: only by what
was measured, never by what is printed of it."""

from rows import speed

MEAN_AT_LEAST = {"rle": .88, "rle over bitpack": .80}  # of the limit, means over the fourteen ways of runs
UNFUSED_AT_LEAST = .85  # of its own limit, each kernel of a nest that is not fused
BESIDE_AT_LEAST = {"speed": 2.5, "ratio": 1.3}  # times nvCOMP's, geometric means over the columns of table 2
# Criteria of one row: the key of the target, its unit, and whether it is the most.
OF_A_ROW = (
    ("at_least", lambda row: row["fraction_of_limit"], False),
    ("characters_at_least", speed, False),
    ("speedup_at_least", lambda row: row["speedup"], False),
    ("part_at_least", lambda row: row["part_of_best"] if "part_of_best" in row else row["untuned_part"], False),
    ("seconds_at_most", lambda row: row["seconds"], True),
    ("probes_at_most", lambda row: row["mean_probes"], True),
)


def is_missed(measured, wanted, most=False):
    return measured > wanted if most else measured < wanted


def mean_of(rows, family):
    """The mean part of the limit, over the runs of a family; None: none was measured."""
    of = [r["fraction_of_limit"] for r in rows if r.get("part") == "rle" and r.get("family") == family and r.get("by") == "zipflow" and r.get("verified")]
    return sum(of) / len(of) if of else None


def missed(rows):
    """Names of all criteria that rows of a report miss; what is wanted beside nvCOMP is not among them, as it takes a link's rate."""
    found = []
    for row in (r for r in rows if r.get("verified")):
        name = f"{row['part']}: {row['data']}" + (f", {row['name']}" if row.get("name", row["data"]) != row["data"] else "") + (f", kernel {row['kernel']}" if "kernel" in row else "")
        found += [f"{name} ({key})" for key, of, most in OF_A_ROW if key in row and is_missed(of(row), row[key], most)]
        found += [f"{name}, unfused kernel {k}" for k, kernel in enumerate(row.get("kernels_unfused", [])) if is_missed(kernel["fraction_of_limit"], UNFUSED_AT_LEAST)]
    means = {family: mean_of(rows, family) for family in MEAN_AT_LEAST}
    return found + [f"rle: {family}, mean" for family, mean in means.items() if mean is not None and is_missed(mean, MEAN_AT_LEAST[family])]
