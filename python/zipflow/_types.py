"""Types: what the library stores, and what Arrow calls it."""

# By zf_element.
ELEMENTS = ("u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "f32", "f64", "bool", "string")
_FORMATS = dict(zip(ELEMENTS, "C S I L c s i l f g b u".split()))
DATE, TIMESTAMP, DECIMAL = 1, 2, 3  # zf_logical
UNITS = {"s": "s", "m": "ms", "u": "us", "n": "ns"}  # of time: by the letter in a format, as NumPy and people write them


def arrow_format(element, logical, precision, scale):
    """The format string of Arrow's C data interface, by name of the element and number of its meaning."""
    if logical == DATE:
        return "tdD"
    if logical == TIMESTAMP:
        return "tsu:"
    if logical == DECIMAL:
        return f"d:{precision},{scale}"
    return _FORMATS[element]


def restore(plain, element, logical, scale, form):
    """The format of a column whose file keeps the schema of its table: `form` where the column holds such values, else `plain`."""
    if not isinstance(form, str) or not form.isprintable() or len(form.encode()) > 100:  # bytes: what _runtime has room for
        return plain
    if logical == DECIMAL:
        precision, _, digits = form[2:].partition(",")
        fits = form.startswith("d:") and digits == str(scale) and precision.isdecimal() and len(precision) < 3 and scale <= int(precision) <= 38
        return form if fits and precision.isascii() and int(precision) > 0 else plain
    if logical == TIMESTAMP:
        return form if form.startswith("tsu:") else plain
    if logical:
        return plain
    fits = {"i64": form[:2] in ("ts", "tD") or form in ("tdm", "ttu", "ttn"), "i32": form in ("tts", "ttm"), "u16": form == "e", "string": form == "z"}
    return form if fits.get(element) else plain


def list_child(facts, form):
    """The field (name, format, nullable) of the values of lists: `facts` are those of their column, `form` what a schema says of it."""
    _, _, element, logical, precision, scale, nullable = facts[:7]
    name, kept = form[1:] if isinstance(form, tuple) else ("item", None)
    if not name.isprintable() or len(name.encode()) > 4096:
        name = "item"
    return name, restore(arrow_format(ELEMENTS[element], logical, precision, scale), ELEMENTS[element], logical, scale, kept), nullable


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
