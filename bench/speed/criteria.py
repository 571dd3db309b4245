"""What is wanted of several rows together; of one row it stands beside the row's case (cases.py)."""

MEAN_AT_LEAST = {"rle": .88, "rle over bitpack": .80}  # of the limit, means over the fourteen ways of runs
UNFUSED_AT_LEAST = .85  # of its own limit, each kernel of a nest that is not fused
BESIDE_AT_LEAST = {"speed": 2.5, "ratio": 1.3}  # times nvCOMP's, geometric means over the columns of table 2
