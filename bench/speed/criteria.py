"""What is wanted of several rows together; of one row it stands beside the row's case (cases.py). And whether that was reached: only by what
was measured, never by what is printed of it."""

MEAN_AT_LEAST = {"rle": .88, "rle over bitpack": .80}  # of the limit, means over the fourteen ways of runs
UNFUSED_AT_LEAST = .85  # of its own limit, each kernel of a nest that is not fused
BESIDE_AT_LEAST = {"speed": 2.5, "ratio": 1.3}  # times nvCOMP's, geometric means over the columns of table 2


def is_missed(measured, wanted, most=False):
    return measured > wanted if most else measured < wanted


def mean_of(rows, family):
    """Of the runs of a family, the mean part of the limit; None: none was measured."""
    of = [r["fraction_of_limit"] for r in rows if r.get("part") == "rle" and r.get("family") == family and r.get("by") == "zipflow" and r.get("verified")]
    return sum(of) / len(of) if of else None
