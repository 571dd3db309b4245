"""Pairs of items that occur together in at least SUPPORT transactions.

    frequent_pairs.py [--zfc ZFC] [--device DEVICE] TRANSACTIONS SUPPORT

A line of TRANSACTIONS has the items of one transaction, separated by spaces. The output has a line for each pair: both items, and
the number of their common transactions.
"""

import argparse
import array
import collections
import json
import pathlib
import subprocess
import tempfile

PROGRAM = pathlib.Path(__file__).resolve().parent / "frequent_pairs.zf"
LIMIT = 127 << 9  # of frequent_pairs.zf


def read_transactions(path):
    return [sorted(set(line.split())) for line in path.read_text().splitlines()]


def items_of(transactions, support):
    """Items that are frequent alone, and the transactions of each."""
    found = collections.defaultdict(list)
    for number, transaction in enumerate(transactions):
        for item in transaction:
            found[item].append(number)
    return {item: found[item] for item in sorted(found) if len(found[item]) >= support}


def encode(zfc, sets, directory):
    """Stores the sets, numbered in their order. Decodes them once more, as every reader would."""
    members = array.array("Q", (number << 32 | transaction for number, of in enumerate(sets) for transaction in of))
    (directory / "members").write_bytes(members.tobytes())
    container = directory / "frequent_pairs.zfd"
    subprocess.run([zfc, "encode", "-q", "-c", f"{PROGRAM}:sets", "-o", container, f"member={directory / 'members'}"], check=True)
    return container


def stored_streams(zfc, container):
    """The maps as the file has them: each stream's bytes, those of all blocks together."""
    said = json.loads(subprocess.run([zfc, "inspect", "--json", container], check=True, capture_output=True, text=True).stdout)
    data, streams = container.read_bytes(), collections.defaultdict(bytes)
    for block in said["columns"][0]["blocks"]:
        for stream in block["streams"]:
            at = block["offset"] + stream["offset"]
            streams[stream["path"]] += data[at:at + stream["bytes"]]
    return streams


def count_pairs(zfc, device, streams, items, directory):
    sizes = [3 * 2**log // 8 for log in streams["logs"]]
    starts = [0]
    for size in sizes:
        starts.append(starts[-1] + size)
    inputs = {"words": streams["words"], "start": array.array("I", starts[:-1]), "size": array.array("I", sizes), "item": streams["ids"]}
    query = "support" if device == "cpu" else "support_in_squares"
    command = [zfc, "query", "-q", "--device", device, f"{PROGRAM}:{query}", "-o", directory / "counts", "--param", f"maps={len(sizes)}", "--param", f"items={items}"]
    for name, values in inputs.items():
        (directory / name).write_bytes(values)
        command += ["--input", f"{name}={directory / name}"]
    subprocess.run(command, check=True)
    counts = array.array("q")
    counts.frombytes((directory / "counts/count.i64").read_bytes())
    return counts


def missed(streams, sets):
    """(transaction, first item, second item) where the transaction found no slot in the map of one of them, or of both: once."""
    ids, losses, lost = (array.array("I", streams[name]) for name in ("ids", "losses", "lost"))
    without = collections.defaultdict(set)
    at = 0
    for item, count in zip(ids, losses):
        for transaction in lost[at:at + count]:
            without[transaction].add(item)
        at += count
    having = {transaction: [item for item, of in enumerate(sets) if transaction in of] for transaction in without}
    return {(transaction, min(a, b), max(a, b)) for transaction, items in without.items() for a in items for b in having[transaction]}


def frequent_pairs(zfc, transactions, support, device="cpu"):
    """[(item, item, common transactions)], and how many pairs were corrected."""
    items = items_of(transactions, support)
    names, sets = list(items), [set(of) for of in items.values()]
    if len(transactions) > LIMIT:
        raise SystemExit(f"{len(transactions)} transactions, more than {LIMIT}: a larger `shift` in {PROGRAM.name} allows more")
    if not names:
        return [], 0
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        streams = stored_streams(zfc, encode(zfc, items.values(), directory))
        counts = count_pairs(zfc, device, streams, len(names), directory)
    corrections = missed(streams, sets)
    for _, a, b in corrections:
        counts[a * len(names) + b] += 1
    pairs = [(names[a], names[b], counts[a * len(names) + b]) for a in range(len(names)) for b in range(a + 1, len(names))]
    return [pair for pair in pairs if pair[2] >= support], len(corrections)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("transactions", type=pathlib.Path)
    parser.add_argument("support", type=int)
    parser.add_argument("--zfc", default="zfc")
    parser.add_argument("--device", default="cpu", help="that counts; a GPU is `cuda`")
    given = parser.parse_args()
    for pair in frequent_pairs(given.zfc, read_transactions(given.transactions), max(given.support, 1), given.device)[0]:
        print(*pair)


if __name__ == "__main__":
    main()
