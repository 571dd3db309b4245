"""Frames of Zstandard with every kind of block, literals, tables and sequences, by chance: `made_chunk`."""

OWN = (  # the format's tables: of the lengths of literals, of distances, of the lengths of copies
    (6, [4, 3] + [2] * 11 + [1] * 3 + [2] * 9 + [3, 2] + [1] * 5 + [-1] * 4),
    (5, [1] * 6 + [2] * 3 + [1] * 15 + [-1] * 5),
    (6, [1, 4, 3] + [2] * 6 + [1] * 37 + [-1] * 7),
)
FAULTS = (
    "block larger than its frame", "reserved bit", "block larger than its window", "window", "dictionary",
    "content size", "checksum", "magic", "kind of block", "size of a block", "no whole code", "log of weights",
    "no code before", "few literals in four", "end of one of four", "no end of one of four", "end of literals",
    "too many literals", "copy of nothing", "copy from too far", "distance 0", "number of sequences",
    "more than no sequences", "no table before", "symbol of a run", "log of a table", "symbol of a table",
    "reserved kinds", "end of sequences", "frame to be skipped", "cut", "more",
)
MOST = (35, 31, 52)
MOST_LOG = (9, 8, 9)


def bases(alone, least, bits):
    """The least value of each symbol, and how many bits follow: `alone` symbols without bits, then those of `bits`."""
    rows, value = [(least + k, 0) for k in range(alone)], least + alone
    for count in bits:
        rows.append((value, count))
        value += 1 << count
    return rows


LITERALS = bases(16, 0, [1] * 4 + [2] * 2 + [3] * 2 + [4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16])
COPIES = bases(32, 3, [1] * 4 + [2] * 2 + [3] * 2 + [4] * 2 + [5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16])


def symbol_of(rows, value):
    """The symbol of a value with what follows it, and in how many bits."""
    symbol = max(s for s, (base, _) in enumerate(rows) if base <= value)
    return symbol, value - rows[symbol][0], rows[symbol][1]


class Bits:
    """Bits, lowest first."""

    def __init__(self):
        self.whole, self.value, self.count = bytearray(), 0, 0

    def put(self, value, count):
        self.value |= (value & (1 << count) - 1) << self.count
        self.count += count
        if self.count >= 512:
            self.whole += (self.value & (1 << 512) - 1).to_bytes(64, "little")
            self.value >>= 512
            self.count -= 512

    def bytes(self):
        return bytes(self.whole) + self.value.to_bytes((self.count + 7) // 8, "little")

    def ended(self):
        """The bytes of a stream that is read from its end."""
        self.put(1, 1)
        return self.bytes()


def turned(v, n):
    return (v << n | v >> 64 - n) & (1 << 64) - 1


def xxh64(data):
    p1, p2, p3, p4, p5 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
    mask = (1 << 64) - 1

    def step(v, word):
        return turned((v + word * p2) & mask, 31) * p1 & mask

    at, h = 0, p5
    if len(data) >= 32:
        v = [(p1 + p2) & mask, p2, 0, -p1 & mask]
        while at + 32 <= len(data):
            v = [step(v[k], int.from_bytes(data[at + 8 * k:at + 8 * k + 8], "little")) for k in range(4)]
            at += 32
        h = (turned(v[0], 1) + turned(v[1], 7) + turned(v[2], 12) + turned(v[3], 18)) & mask
        for one in v:
            h = ((h ^ step(0, one)) * p1 + p4) & mask
    h = (h + len(data)) & mask
    while at + 8 <= len(data):
        h = (turned(h ^ step(0, int.from_bytes(data[at:at + 8], "little")), 27) * p1 + p4) & mask
        at += 8
    if at + 4 <= len(data):
        h = (turned(h ^ int.from_bytes(data[at:at + 4], "little") * p1 & mask, 23) * p2 + p3) & mask
        at += 4
    for byte in data[at:]:
        h = turned(h ^ byte * p5 & mask, 11) * p1 & mask
    h = (h ^ h >> 33) * p2 & mask
    h = (h ^ h >> 29) * p3 & mask
    return h ^ h >> 32


def rows_of(counts, log):
    """The rows of a table: symbol, bits, and the least next row."""
    size, high = 1 << log, 1 << log
    symbols = [None] * size
    for symbol, count in enumerate(counts):
        if count == -1:
            high -= 1
            symbols[high] = symbol
    place = 0
    for symbol, count in enumerate(counts):
        for _ in range(count):
            symbols[place] = symbol
            place = (place + (size >> 1) + (size >> 3) + 3) % size
            while place >= high:
                place = (place + (size >> 1) + (size >> 3) + 3) % size
    following, rows = [max(count, -count) for count in counts], []
    for symbol in symbols:
        bits = log + 1 - following[symbol].bit_length()
        rows.append((symbol, bits, (following[symbol] << bits) - size))
        following[symbol] += 1
    return rows


def put_before(bits, rows, symbol, following, fitting=lambda rows: rows[0]):
    """Writes how the next row follows from a row of the symbol, which is returned. Without a next row it is one of those fitting."""
    if following is None:
        return fitting([place for place, row in enumerate(rows) if row[0] == symbol])
    for place, (found, width, base) in enumerate(rows):
        if found == symbol and base <= following < base + (1 << width):
            bits.put(following - base, width)
            return place
    raise ValueError("no table")


def put_counts(counts, log):
    bits, left, symbol = Bits(), (1 << log) + 1, 0
    bits.put(log - 5, 4)
    while left > 1:
        value, width = counts[symbol] + 1, left.bit_length()
        half = 1 << width - 1
        short = 2 * half - 1 - left
        bits.put(value if value < half else value + short, width - (value < short))
        left -= abs(counts[symbol])
        symbol += 1
        if value == 1:
            zeros = 0
            while symbol + zeros < len(counts) and counts[symbol + zeros] == 0:
                zeros += 1
            symbol += zeros
            for _ in range(zeros // 3):
                bits.put(3, 2)
            bits.put(zeros % 3, 2)
    return bits.bytes()


def counts_with(chosen, wanted, most, log):
    """Rows of a table of 2^log for the wanted symbols and others up to `most`."""
    room = (1 << log) - len(wanted)
    others = [s for s in range(most + 1) if s not in wanted]
    used = sorted(wanted) + chosen.sample(others, min(len(others), room, chosen.choice((0, 0, 1, 3, 9))))
    counts = [0] * (most + 1)
    for symbol in used:
        counts[symbol] = chosen.choice((1, 1, -1))
    if not any(count > 0 for count in counts):
        counts[used[0]] = 1
    left, growing = (1 << log) - len(used), [s for s in range(most + 1) if counts[s] > 0]
    while left > 0:
        more = min(left, chosen.choice((1, 3, 10, 1 << log)))
        counts[chosen.choice(growing)] += more
        left -= more
    return counts


def whole_code(chosen, symbols, most):
    """Lengths of a complete code: leaves of a tree that grows by chance."""
    leaves = [0]
    while len(leaves) < symbols:
        k = chosen.randrange(len(leaves)) if chosen.randrange(3) else len(leaves) - 1
        if leaves[k] == most:
            k = leaves.index(min(leaves))
        leaves[k:k + 1] = [leaves[k] + 1] * 2
    chosen.shuffle(leaves)
    return leaves


class Maker:
    """A chunk that grows, perhaps with a fault at one of the places where it can have the one that is wanted."""

    def __init__(self, chosen, wanted):
        self.chosen, self.wanted = chosen, wanted
        self.fault = None

    def at_fault(self, name):
        if name == self.wanted and self.fault is None and self.chosen.randrange(3) == 0:
            self.fault = name
            return True
        return False

    # -- a frame

    def frame(self):
        chosen = self.chosen
        self.plain, self.recent, self.code, self.tables = b"", [1, 4, 8], None, None
        self.largest = 0  # block, both ways
        blocks = [self.block() for _ in range(chosen.choice((1, 1, 2, 3, 6)))]
        body = b""
        for k, (kind, size, data) in enumerate(blocks):
            body += ((k == len(blocks) - 1) | kind << 1 | size << 3).to_bytes(3, "little") + data
        whole = chosen.randrange(2)
        if whole and self.largest > len(self.plain):
            whole = self.at_fault("block larger than its frame")
        forms = [f for f, (low, high) in enumerate(((0 if whole else 1 << 70, 255), (256, 65791), (0, 1 << 32), (0, 1 << 64)))
                 if low <= len(self.plain) <= high] + ([] if whole else [0])
        form, identity = chosen.choice(forms), chosen.choice((0, 0, 1, 2, 3))
        check = chosen.randrange(2)
        head = bytes([form << 6 | whole << 5 | check << 2 | identity | chosen.choice((0, 16)) | (8 if self.at_fault("reserved bit") else 0)])
        if not whole:
            window = chosen.choice((0, 0x07, 0x35, 0xaf))
            if self.largest > (1920 if window else 1024) and window < 0x35 and not self.at_fault("block larger than its window"):
                window = 0x35
            head += bytes([chosen.choice((0xb0, 0xff)) if self.at_fault("window") else window])
        told = bytearray(bytes((0, 1, 2, 4)[identity]))
        if told and self.at_fault("dictionary"):
            told[chosen.randrange(len(told))] = chosen.randrange(1, 256)
        if form or whole:
            width, value = 1 << form, len(self.plain) - (256 if form == 1 else 0)
            wrong = value ^ 1 << chosen.randrange(8 * width)
            told += (wrong if self.at_fault("content size") else value).to_bytes(width, "little")
        end = (xxh64(self.plain) & 0xffffffff).to_bytes(4, "little") if check else b""
        if check and self.at_fault("checksum"):
            end = bytes([end[0] ^ 1]) + end[1:]
        magic = b"\x28\xb5\x2f\xfd" if not self.at_fault("magic") else b"\x28\xb5\x2f\xfe"
        return magic + head + bytes(told) + body + end

    def block(self):
        before = len(self.plain)
        kind, size, data = self.some_block()
        self.largest = max(self.largest, size, len(self.plain) - before)
        return kind, size, data

    def some_block(self):
        chosen = self.chosen
        if self.at_fault("kind of block"):
            return 3, 1, b"?"
        kind = chosen.choice((0, 1, 2, 2, 2, 2))
        if kind == 0:
            text = chosen.randbytes(chosen.choice((0, 1, 9, 200)))
            self.plain += text
            return 0, len(text), text
        if kind == 1:
            byte, times = chosen.randbytes(1), chosen.choice((0, 1, 70, 400))
            self.plain += byte * times
            return 1, times, byte
        data = self.compressed()
        size = len(data)
        if self.at_fault("size of a block"):
            data = data[:-1] if chosen.randrange(2) else data + b"\x01"
            size = len(data)
        return 2, size, data

    # -- literals

    def code_of_literals(self, text):
        """A new code for these bytes and others: its description."""
        chosen = self.chosen
        wanted = sorted(set(text))
        others = [s for s in range(256) if s not in wanted]
        used = sorted(wanted + chosen.sample(others, min(len(others), max(2 - len(wanted), chosen.choice((0, 0, 1, 5, 40))))))
        lengths = dict(zip(used, whole_code(chosen, len(used), 11)))
        log, last = max(lengths.values()), used[-1]
        weights = [log + 1 - lengths[s] if s in lengths else 0 for s in range(last + 1)]
        self.code, place = {}, 0
        for weight in range(1, 12):
            for symbol in used:
                if weights[symbol] == weight:
                    self.code[symbol] = (place >> weight - 1, log + 1 - weight)
                    place += 1 << weight - 1
        listed = weights[:-1]
        if last <= 128 and listed and self.at_fault("no whole code"):
            change = [k for k in range(last) if weights[k] in (0, 1)]
            if change and log > 1:
                k = chosen.choice(change)
                listed[k] = 1 - listed[k]
            else:
                listed[0] = 15
        coded = self.coded_weights(listed) if last > 128 or chosen.randrange(2) else None
        if coded or last > 128:
            return coded
        listed = listed + [0] * (len(listed) % 2)
        return bytes([127 + last]) + bytes(16 * a + b for a, b in zip(listed[::2], listed[1::2]))

    def coded_weights(self, weights):
        """Weights by a table of their own, or None."""
        chosen = self.chosen
        if len(weights) < 2:
            return None
        log = chosen.choice((5, 6))
        counts = counts_with(chosen, set(weights), max(11, *weights), log)
        rows = rows_of(counts, log)
        bits, now = Bits(), [None, None]
        for k in reversed(range(len(weights))):
            if now[k & 1] is None:
                fitting = [r for r, row in enumerate(rows) if row[0] == weights[k] and row[1] > 0]
                if not fitting:
                    return None
                now[k & 1] = chosen.choice(fitting)
            else:
                now[k & 1] = put_before(bits, rows, weights[k], now[k & 1])
        bits.put(now[1], log)
        bits.put(now[0], log)
        data = put_counts(counts, log) + bits.ended()
        if len(data) > 127:
            return None
        if self.at_fault("log of weights"):
            data = bytes([data[0] & 0xf0 | chosen.randrange(2, 16)]) + data[1:]
        return bytes([len(data)]) + data

    def stream(self, text):
        bits = Bits()
        for byte in reversed(text):
            bits.put(*self.code[byte])
        return bits.ended()

    def literals(self, text):
        """The section of literals."""
        chosen = self.chosen
        kinds = [0, 2, 2, 2] + ([1] if len(set(text)) == 1 else []) * 3
        if self.code is not None and set(text) <= set(self.code):
            kinds += [3] * 4
        kind = chosen.choice(kinds)
        if self.code is None and self.at_fault("no code before"):
            self.code, kind = {byte: (k, 8) for k, byte in enumerate(set(text))}, 3
        if kind < 2:
            form = chosen.choice([form for form, most in ((0, 31), (2, 31), (1, 4095), (3, 1 << 20)) if len(text) <= most])
            width = {0: 5, 2: 5, 1: 12, 3: 20}[form]
            bits = Bits()
            bits.put(kind | form << 2, 4 if form & 1 else 3)
            bits.put(len(text), width)
            return bits.bytes() + (text if kind == 0 else text[:1])
        before = self.code
        tree = b"" if kind == 3 else self.code_of_literals(text)
        if tree is None:
            self.code = before
            return self.literals(text)
        count, four = len(text), len(text) >= 6 and chosen.randrange(2)
        if 0 < len(text) < 6 and self.at_fault("few literals in four"):
            four = 1
        if four:
            part = (count + 3) // 4
            streams = [self.stream(text[k * part:(k + 1) * part]) for k in range(4)]
            if self.at_fault("end of one of four"):
                k = chosen.randrange(4)
                streams[k] = self.stream(text[k * part:(k + 1) * part] + text[:1]) if chosen.randrange(2) else streams[k] + b"\x01"
            elif self.at_fault("no end of one of four"):
                streams[chosen.randrange(4)] += b"\x00"
            data = tree + b"".join(len(stream).to_bytes(2, "little") for stream in streams[:3]) + b"".join(streams)
        else:
            stream = self.stream(text)
            if self.at_fault("end of literals"):
                stream = chosen.choice((stream + b"\x00", stream + b"\x01", self.stream(text + text[:1]) if text else b"", b""))
            data = tree + stream
        forms = [form for form, most in ((1, 1023), (2, 16383), (3, 262143)) if max(count, len(data)) <= most]
        form = chosen.choice(forms) if four else 0
        width = {0: 10, 1: 10, 2: 14, 3: 18}[form]
        if form == 0 and max(count, len(data)) > 1023:
            self.code = before
            return self.literals(text)
        bits = Bits()
        bits.put(kind | form << 2, 4)
        bits.put(count, width)
        bits.put(len(data), width)
        return bits.bytes() + data

    # -- sequences

    def sequences_of(self, text):
        """Sequences that take these literals, with what they make: lengths, coded distances."""
        chosen, found, at = self.chosen, [], 0
        for _ in range(chosen.choice((0, 1, 2, 10, 60, 200))):
            n = min(max(len(text) - at, 0), chosen.choice((0, 0, 1, 3, 18, 70)))
            if self.plain and self.at_fault("too many literals"):
                n = len(text) - at + 1
            self.plain += text[at:at + n]
            at += n
            m = chosen.choice((3, 4, 5, 17, 35, 36, 60, 130, 300))
            reach = len(self.plain)
            which = chosen.randrange(3) + (n == 0)
            back = self.recent[which] if which < 3 else self.recent[0] - 1
            if chosen.randrange(2) == 0 or not 1 <= back <= reach:
                which, back = 4, chosen.choice((1, min(2, reach), reach, chosen.randint(1, max(reach, 1))))
            if reach == 0:
                if not self.at_fault("copy of nothing"):
                    continue
            elif self.at_fault("copy from too far"):
                which, back = 4, reach + chosen.choice((1, 2, 70000))
            elif n == 0 and self.recent[0] == 1 and self.at_fault("distance 0"):
                which, back = 3, 0
            coded = back + 3 if which == 4 else which + (n > 0)
            if which > 1:
                self.recent[2] = self.recent[1]
            if which > 0:
                self.recent[1] = self.recent[0]
            self.recent[0] = back
            for _ in range(m if self.fault is None else 0):
                self.plain += self.plain[len(self.plain) - back:len(self.plain) - back + 1]
            found.append((n, coded, m))
        self.plain += text[at:]
        return found

    def compressed(self):
        chosen = self.chosen
        symbols = chosen.choice((1, 2, 5, 30, 129, 256))
        text = bytes(min(chosen.randrange(symbols), chosen.randrange(symbols)) for _ in range(chosen.choice((0, 1, 5, 6, 9, 40, 250, 700))))
        section = self.literals(text)
        found = self.sequences_of(text)
        count = len(found)
        told = count + 1 if found and self.at_fault("number of sequences") else count
        if told < 128 and (told or chosen.randrange(4)):
            section += bytes([told])
        else:
            section += bytes([128 + (told >> 8), told & 255])
        if not told:
            return section + (b"\x00" if self.at_fault("more than no sequences") else b"")
        parts = [symbol_of(LITERALS, n) for n, _, _ in found], [(v.bit_length() - 1, v - (1 << v.bit_length() - 1), v.bit_length() - 1) for _, v, _ in found], \
            [symbol_of(COPIES, m) for _, _, m in found]
        kinds, described, tables = 0, b"", []
        for t in range(3):
            wanted = {symbol for symbol, _, _ in parts[t]}
            ways = [2, 2, 2] + ([1] * 3 if len(wanted) == 1 else []) + ([0] * 2 if max(wanted) < len(OWN[t][1]) else [])
            if self.tables and wanted <= {row[0] for row in self.tables[t][1]}:
                ways += [3] * 4
            way = chosen.choice(ways)
            if self.tables is None and self.at_fault("no table before"):
                way = 3
            kinds |= way << 6 - 2 * t
            if way == 0:
                tables.append((OWN[t][0], rows_of(OWN[t][1], OWN[t][0])))
            elif way == 1:
                symbol = min(wanted)
                described += bytes([MOST[t] + 1 if self.at_fault("symbol of a run") else symbol])
                tables.append((0, [(symbol, 0, 0)]))
            elif way == 2:
                log = chosen.choice([log for log in range(5, MOST_LOG[t] + 1) if 1 << log >= len(wanted)])
                most = MOST[t]
                if self.at_fault("log of a table"):
                    log = MOST_LOG[t] + 1
                elif self.at_fault("symbol of a table"):
                    most += 1
                counts = counts_with(chosen, wanted | ({most} if most > MOST[t] else set()), most, log)
                described += put_counts(counts, log)
                tables.append((log, rows_of(counts, log)))
            else:
                tables.append(self.tables[t] if self.tables else (OWN[t][0], rows_of(OWN[t][1], OWN[t][0])))
        self.tables = tables
        section += bytes([kinds | (chosen.randrange(1, 4) if self.at_fault("reserved kinds") else 0)]) + described
        if self.fault == "no table before" and any(symbol >= len(OWN[t][1]) for t in range(3) for symbol, _, _ in parts[t]):
            return section
        bits, now = Bits(), [None] * 3
        if self.at_fault("end of sequences"):
            bits.put(0, 1)
        for k in reversed(range(count)):
            for t in (1, 2, 0):
                now[t] = put_before(bits, tables[t][1], parts[t][k][0], now[t], chosen.choice)
            for t in (0, 2, 1):
                bits.put(*parts[t][k][1:])
        for t in (2, 1, 0):
            bits.put(now[t], tables[t][0])
        return section + bits.ended()


def made_chunk(chosen, wanted=None):
    """A chunk with the fault that is wanted, one of FAULTS, or a good one; and its bytes."""
    while True:
        maker = Maker(chosen, wanted)
        data = plain = b""
        for _ in range(chosen.choice((1, 1, 1, 2))):
            if chosen.randrange(8) == 0:
                skipped = chosen.randbytes(chosen.choice((0, 5)))
                told = len(skipped) + (1000000 if maker.at_fault("frame to be skipped") else 0)
                data += (0x184d2a50 + chosen.randrange(16)).to_bytes(4, "little") + told.to_bytes(4, "little") + skipped
            data += maker.frame()
            plain += maker.plain
        if maker.at_fault("cut"):
            data = data[:chosen.randrange(1, len(data))]
        elif maker.at_fault("more"):
            data += chosen.randbytes(chosen.randrange(1, 5))
        if plain and maker.fault == wanted:
            return data, plain
