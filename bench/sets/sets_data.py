"""Sets of transactions, one for each item, and the layouts in which queries compare them."""

import json
import subprocess

import numpy as np

CODES = 127  # of a slot of batmap
LEAST_SHIFT = 2


class Sets:
    """`members[starts[i]:starts[i + 1]]` are the transactions of item i, rising. Larger sets come first."""

    def __init__(self, members, starts, transactions):
        self.members, self.starts, self.transactions = members, starts, transactions

    def __len__(self):
        return len(self.starts) - 1

    def of(self, item):
        return self.members[self.starts[item]:self.starts[item + 1]]

    @property
    def sizes(self):
        return np.diff(self.starts)


def drawn(generator, transactions, density):
    """Each transaction has the item with this probability: the gaps between its transactions are geometric."""
    expected = transactions * density
    gaps = generator.geometric(density, int(expected + 10 * expected**0.5 + 20))
    places = np.cumsum(gaps) - 1
    return places[places < transactions].astype(np.uint32)


def made(densities, transactions, seed):
    generator = np.random.default_rng(seed)
    sets = sorted((drawn(generator, transactions, density) for density in densities), key=len, reverse=True)
    sets = [one for one in sets if len(one) > 0]
    return Sets(np.concatenate(sets), np.cumsum([0, *map(len, sets)]), transactions)


def uniform(items, entries, density, seed):
    """Items of one density, as in the paper's synthetic data: about `entries` elements in all sets together."""
    return made([density] * items, max(int(entries / (items * density)), 1), seed)


def zipf(items, entries, transactions, seed, exponent=0.9, most=0.7):
    """Items whose densities fall with their rank, as words of web pages do; the first ones lie in `most` of all transactions."""
    ranks = np.arange(1, items + 1, dtype=float) ** -exponent
    low, high = 0.0, float(transactions)
    for _ in range(60):
        factor = (low + high) / 2
        few = np.minimum(factor * ranks, most).sum() * transactions < entries
        low, high = (factor, high) if few else (low, factor)
    return made(np.minimum(low * ranks, most), transactions, seed)


# ---- Layouts -------------------------------------------------------------------------------------------------------------------


def zfc(program, *words):
    done = subprocess.run([str(program), *map(str, words)], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"zfc {words[0]}: {done.stderr}")
    return done.stdout


def stored_streams(program, container):
    """The streams of the one column of a container, those of all blocks together."""
    about = json.loads(zfc(program, "inspect", "--json", container))
    data, streams = container.read_bytes(), {}
    for block in about["columns"][0]["blocks"]:
        for stream in block["streams"]:
            at = block["offset"] + stream["offset"]
            streams.setdefault(stream["path"], []).append(data[at:at + stream["bytes"]])
    return {path: b"".join(parts) for path, parts in streams.items()}


class Layout:
    """Params and inputs of a query; `words`: those that all its pairs compare; `missing`: elements that it lacks, by item."""

    def __init__(self, query, params, inputs, words, missing=()):
        self.query, self.params, self.inputs, self.words, self.missing = query, params, inputs, words, missing

    @property
    def bytes(self):
        return sum(array.nbytes for array in self.inputs.values())


def of_all_pairs(sizes, join):
    """The sum of join(a, b) over all pairs, with each number paired with itself, of sizes that fall."""
    behind = np.arange(len(sizes), 0, -1) if join is max else np.arange(1, len(sizes) + 1)
    return int((np.asarray(sizes, dtype=np.int64) * behind).sum())


def batmap(program, sets, folder):
    """Maps as `zfc encode` stores them, the largest first."""
    shift = LEAST_SHIFT
    while CODES << shift < sets.transactions:
        shift += 1
    items = np.repeat(np.arange(len(sets), dtype=np.uint64), sets.sizes)
    (folder / "member").write_bytes((items << np.uint64(32) | sets.members).tobytes())
    (folder / "sets.zf").write_text(f"table sets {{ member: u64 = batmap(shift: {shift}); }}\n")
    zfc(program, "encode", "-q", "-f", "-c", folder / "sets.zf", "-o", folder / "sets.zfd", f"member={folder / 'member'}")
    streams = stored_streams(program, folder / "sets.zfd")
    size = 3 << np.frombuffer(streams["logs"], np.uint8).astype(np.int64) >> 2
    start, item = np.cumsum(size) - size, np.frombuffer(streams["ids"], "<u4")
    order = np.argsort(-size, kind="stable")
    losses, lost = (np.frombuffer(streams[name], "<u4") for name in ("losses", "lost"))
    missing = list(zip(np.repeat(item, losses).tolist(), lost.tolist()))
    inputs = {"words": np.frombuffer(streams["words"], "<u4"), "start": start[order].astype("<u4"), "size": size[order].astype("<u4"), "set": item[order]}
    return Layout("batmap", {"maps": len(size), "sets": len(sets)}, inputs, of_all_pairs(size[order], max), missing)


def bitmap(program, sets, folder):
    del program, folder
    width = (sets.transactions + 31) // 32
    bits = np.zeros((len(sets), width * 4), np.uint8)
    for item in range(len(sets)):
        of = sets.of(item)
        np.bitwise_or.at(bits[item], of >> 3, (1 << (of & 7)).astype(np.uint8))
    words = bits.view("<u4").reshape(-1)
    return Layout("bitmap", {"sets": len(sets), "width": width}, {"words": words}, of_all_pairs([width] * len(sets), max))


def sorted_lists(program, sets, folder):
    del program, folder
    inputs = {"members": sets.members.astype("<u4"), "start": sets.starts.astype("<u4")}
    return Layout("sorted", {"sets": len(sets)}, inputs, of_all_pairs(sets.sizes, min))


LAYOUTS = {"batmap": batmap, "bitmap": bitmap, "sorted": sorted_lists}
