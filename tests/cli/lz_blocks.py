"""Blocks of LZ4 and Snappy, and the streams of lz_split, made of sequences: (literals, distance, bytes copied). The last sequence of
a block copies nothing."""


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


def plain_of(sequences):
    """The bytes that sequences make."""
    out = bytearray()
    for literals, distance, length in sequences:
        out += literals
        if length:
            if not 0 < distance <= len(out):
                raise ValueError("a copy from nowhere")
            pattern = out[-distance:] if distance < length else out[-distance:len(out) - distance + length]
            out += (pattern * (length // len(pattern) + 1))[:length]
    return bytes(out)


def lz4_of(sequences):
    def more(n):
        return b"" if n < 15 else b"\xff" * ((n - 15) // 255) + bytes([(n - 15) % 255])
    out = b""
    for literals, distance, length in sequences:
        out += bytes([min(len(literals), 15) << 4 | (min(length - 4, 15) if length else 0)]) + more(len(literals)) + literals
        out += distance.to_bytes(2, "little") + more(length - 4) if length else b""
    return out


def sequences_of(block):
    """The sequences of an LZ4 block. Raises IndexError where it is cut."""
    at, out = 0, []

    def take(n):
        nonlocal at
        at += n
        if at > len(block):
            raise IndexError("the block ends")
        return block[at - n:at]

    def length(n):
        more = 255
        while n >= 15 and more == 255:
            more = take(1)[0]
            n += more
        return n
    while at < len(block):
        token = take(1)[0]
        literals = take(length(token >> 4))
        if at == len(block):
            out.append((literals, 0, 0))
        else:
            distance = int.from_bytes(take(2), "little")
            out.append((literals, distance, length(token & 15) + 4))
    return out


def snappy_of(sequences):
    out = varint(len(plain_of(sequences)))
    for literals, distance, length in sequences:
        n = len(literals)
        if n:
            size = (n - 1).bit_length() + 7 >> 3
            out += bytes([n - 1 << 2]) if n <= 60 else bytes([59 + size << 2]) + (n - 1).to_bytes(size, "little")
            out += literals
        while length:
            part = min(length, 64)
            if 4 <= part <= 11 and distance < 2048:
                out += bytes([distance >> 8 << 5 | part - 4 << 2 | 1, distance & 255])
            elif length % 2:  # both forms of far copies
                out += bytes([part - 1 << 2 | 3]) + distance.to_bytes(4, "little")
            else:
                out += bytes([part - 1 << 2 | 2]) + distance.to_bytes(2, "little")
            length -= part
    return out


def split_of(sequences):
    """Streams of lz_split: tokens, literals, distances, more."""
    tokens, literals, distances, more = b"", b"", [], b""
    for plain, distance, length in sequences:
        if plain or length:
            tokens += bytes([min(len(plain), 15) << 4 | (min(length - 3, 15) if length else 0)])
            more += varint(len(plain) - 15) if len(plain) >= 15 else b""
            more += varint(length - 18) if length >= 18 else b""
            literals += plain
            distances.append(distance if length else 1)
    return tokens, literals, distances, more


def sequences_of_split(tokens, literals, distances, more):
    """The sequences of lz_split's streams, all of which are used."""
    at, place, out = 0, 0, []

    def length(code):
        nonlocal place
        added, shift = 0, 0
        while code == 15:
            added |= (more[place] & 127) << shift
            shift += 7
            place += 1
            if more[place - 1] < 128:
                break
        return code + added
    assert len(tokens) == len(distances), "each token has a distance"
    for token, distance in zip(tokens, distances):
        n, m = length(token >> 4), length(token & 15)
        out.append((literals[at:at + n], distance, m + 3 if m else 0))
        at += n
    assert at == len(literals) and place == len(more), "literals or lengths are left"
    return out
