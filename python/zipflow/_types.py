"""Types: what the library stores, and what Arrow calls it."""

# By zf_element.
ELEMENTS = ("u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "f32", "f64", "bool", "string")
_FORMATS = dict(zip(ELEMENTS, "C S I L c s i l f g b u".split()))
WIDTHS = dict(zip(ELEMENTS, (1, 2, 4, 8, 1, 2, 4, 8, 4, 8, 0, 0)))
DATE, TIMESTAMP, DECIMAL = 1, 2, 3  # zf_logical


def arrow_format(element, logical, precision, scale):
    """The format string of Arrow's C data interface, by name of the element and number of its meaning."""
    if logical == DATE:
        return "tdD"
    if logical == TIMESTAMP:
        return "tsu:"
    if logical == DECIMAL:
        return f"d:{precision},{scale}"
    return _FORMATS[element]


def encode_metadata(pairs):
    """Arrow's encoding of keys and values; None where there are none."""
    if not pairs:
        return None
    parts = [len(pairs).to_bytes(4, "little")]
    for key, value in pairs:
        for part in (key.encode(), value):
            parts += len(part).to_bytes(4, "little"), part
    return b"".join(parts)


def decode_metadata(data):
    """The keys and values, bytes, of Arrow's encoding."""
    if not data:
        return []
    at, pairs = 4, []
    for _ in range(int.from_bytes(data[:4], "little")):
        pair = []
        for _ in range(2):
            size = int.from_bytes(data[at:at + 4], "little")
            pair.append(data[at + 4:at + 4 + size])
            at += 4 + size
        pairs.append(tuple(pair))
    return pairs
