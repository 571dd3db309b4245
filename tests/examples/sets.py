"""examples/sets on made transactions: the counts of all pairs are those of a brute force.

    sets.py ZFC EXAMPLES
"""

import itertools
import os
import pathlib
import random
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
ZFC, EXAMPLE = sys.argv[1], pathlib.Path(sys.argv[2]).resolve() / "sets"
sys.path.insert(0, str(EXAMPLE))
import frequent_pairs as example  # noqa: E402


def transactions_of(rows, sizes, chosen):
    """Transactions in which item k occurs sizes[k] times."""
    made = [[] for _ in range(rows)]
    for number, size in enumerate(sizes):
        for row in chosen.sample(range(rows), size):
            made[row].append(f"i{number:03}")
    return made


def brute_force(transactions, support):
    sets = {}
    for number, transaction in enumerate(transactions):
        for item in transaction:
            sets.setdefault(item, set()).add(number)
    counts = ((a, b, len(sets[a] & sets[b])) for a, b in itertools.combinations(sorted(sets), 2))
    return [pair for pair in counts if pair[2] >= support]


def compare(what, transactions, support, devices=("cpu", "emu")):
    for device in devices:
        found, corrections = example.frequent_pairs(ZFC, transactions, support, device)
        if found != brute_force(transactions, support):
            raise SystemExit(f"{what} on {device}: {len(found)} pairs, others than those of a brute force")
    return len(found), corrections


def main():
    chosen = random.Random("sets")
    with tempfile.TemporaryDirectory() as name:
        os.environ["ZIPFLOW_CACHE_DIR"] = f"{name}/cache"
        compare("none", [], 1)
        compare("one", [["a"]], 1)
        compare("few", transactions_of(90, [chosen.randrange(90) for _ in range(30)], chosen), 3)
        compare("sizes", transactions_of(20_000, [3, 15_000, 700, 1, 4096, 9_999, 250, 64, 1500], chosen), 1)
        compare("all", transactions_of(example.LIMIT, [example.LIMIT, 5, 30_000, example.LIMIT, 1], chosen), 2)  # two chunks
        pairs, corrections = compare("full tables", transactions_of(60_000, [2048] * 45, chosen), 1)
        if corrections == 0:
            raise SystemExit("every element found a slot: nothing was corrected")
        streams = {"ids": bytes([0, 0, 0, 0, 1, 0, 0, 0]), "losses": bytes([1, 0, 0, 0] * 2), "lost": bytes([5, 0, 0, 0] * 2)}
        if example.missed(streams, [{5}, {5, 6}, {5}, {6}]) != {(5, a, b) for a in range(2) for b in range(a, 3)}:
            raise SystemExit("a transaction that is missing in two sets is not counted once for their pair")
        lines = pathlib.Path(name, "transactions")
        lines.write_text("bread milk\nbread butter milk\n\nbeer bread\nmilk butter bread bread\n")
        told = subprocess.run([sys.executable, EXAMPLE / "frequent_pairs.py", "--zfc", ZFC, lines, "2"], check=True, capture_output=True, text=True)
        if told.stdout != "bread butter 2\nbread milk 3\nbutter milk 2\n":
            raise SystemExit(f"another answer:\n{told.stdout}{told.stderr}")
    print(f"{pairs} pairs of full tables, {corrections} corrections")


if __name__ == "__main__":
    main()
