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


NULLABLE, ORDERED = 2, 1  # flags of a field
OWN_KEYS = "zipflow:"  # how keys begin that a file keeps for the package: entries of dictionaries
_ROOM = 100  # bytes of a format that _runtime has room for, and a zero and what it adds
_DECIMALS = {"32": 9, "64": 18, "128": 38, "256": 38}  # bits and digits
_SINGLE = {"i64": ("tdm", "ttu", "ttn"), "i32": ("tts", "ttm"), "u16": ("e",), "string": ("z", "U", "Z", "vu", "vz"), "bool": ("n",)}


def _length(form, prefix):
    """The length that a type of rows of one length has; None for other types."""
    digits = form[len(prefix):]
    fits = form.startswith(prefix) and digits.isascii() and digits.isdecimal() and len(digits) < 11 and int(digits) < 1 << 31
    return int(digits) if fits else None


def row_length(form):
    """Bytes, or values, of each row of a type of rows of one length; 0 for others."""
    return _length(form, "w:") or _length(form, "+w:") or 0


def restore(plain, element, logical, scale, form):
    """The format of a column whose file keeps the schema of its table: `form` where the column can hold such values, else `plain`."""
    if not isinstance(form, str) or not form.isprintable() or len(form.encode()) > _ROOM:
        return plain
    if logical == DECIMAL:
        precision, digits, bits = (form[2:].split(",") + ["128"])[:3] if form.count(",") in (1, 2) else ("", "", "")
        fits = form.startswith("d:") and digits == str(scale) and precision.isdecimal() and precision.isascii() and len(precision) < 3
        return form if fits and max(scale, 1) <= int(precision) <= _DECIMALS.get(bits, 0) else plain
    if logical == TIMESTAMP:
        return form if form.startswith("tsu:") else plain
    if logical:
        return plain
    fits = form in _SINGLE.get(element, ()) or element == "i64" and form[:2] in ("ts", "tD") or element == "string" and _length(form, "w:") is not None
    return form if fits else plain


def field_of(name, facts, kept):
    """The field of a column: (name, format, flags, metadata, child, dictionary), as _runtime takes it.

    facts: the library's, of each part of the column. kept: what the file's schema says of it, in the same form, with None for formats
    that the column says by itself; None: nothing. A schema that says something else than the column has is not believed.
    """
    if kept and kept[0] == "+s":
        kept = None
    form, _, flags, metadata, child, entries = kept or (None, "", 0, None, None, None)
    _, _, element, logical, precision, scale, nullable = facts[-1][:7]
    element = ELEMENTS[element]
    if facts[0][-2]:  # lists: the values are the last part
        values = field_of(_text(child[1]) if child else "item", (facts[-1][:-2] + (0, 0),), child)
        form = form if isinstance(form, str) and (form in ("+l", "+L") or _length(form, "+w:") is not None) else "+l"
        return name, form, NULLABLE * (len(facts) == 3), metadata, values, None
    plain, flag = arrow_format(element, logical, precision, scale), NULLABLE * bool(nullable)
    if entries and isinstance(form, str) and len(form) == 1 and form in "cCsSiIlL":
        entry = restore(plain, element, logical, scale, entries[0])
        if entry != "n":
            return name, form, flag | flags & ORDERED, metadata, None, ("", entry, NULLABLE, None, None, None)
    if entries:
        return name, plain, flag, None, None, None
    form = restore(plain, element, logical, scale, form)
    if form == "n":
        form, flag = (form, flags & NULLABLE) if nullable else (plain, flag)
    return name, form, flag, metadata, None, None


def has_presence(flags, children):
    """Whether a struct has a column of its own, of booleans, which says whether a row is there: if it is nullable or has no fields."""
    return bool(flags & NULLABLE or not children)


def fields_within(kept, name=None):
    """[(full name, field or None, whether a column has it)] of a field of a schema and of all within it: the fields of a struct have its name
    and a point before theirs. None: a struct. kept: with its name, if that is None."""
    form, own, flags, _, children, entries = kept[:6]
    name = own if name is None else name
    if form != "+s" or entries is not None:
        return [(name, kept, True)]
    fields = [(name, None, has_presence(flags, children))]
    for child in children:
        fields += fields_within(child, f"{name}.{child[1]}")
    return fields


def count_columns(field):
    """How many columns a field has, as `struct_of` makes it."""
    _, form, flags, _, children, _ = field
    if form != "+s":
        return 1
    return has_presence(flags, children) + sum(map(count_columns, children))


def struct_of(kept, columns):
    """The field of a struct whose columns have these fields, in the order of `fields_within`. columns: an iterator."""
    form, name, flags, metadata, children, entries = kept
    if form != "+s" or entries is not None:
        _, form, own, metadata, child, entries = next(columns)
        return name, form, own & ~NULLABLE | flags & NULLABLE, metadata, child, entries
    if has_presence(flags, children):
        next(columns)
    return name, "+s", flags & NULLABLE, metadata, [struct_of(child, columns) for child in children], None


def _text(name):
    """A name that a schema has, where it fits."""
    return name if name.isprintable() and len(name.encode()) <= 4096 else "item"


_AS_BYTES = {"u": "z", "U": "Z", "vu": "vz"}


_FAMILIES = {form: text for text in (("u", "U", "vu"), ("z", "Z", "vz")) for form in text}


def _family(form):
    """Types whose values are those of `form`, or for decimals what they have in common."""
    return form.split(",")[:2] if form.startswith("d:") else _FAMILIES.get(form, form)


def as_wanted(field, wanted):
    """The field in the layout of `wanted`, a description of a schema, as far as layouts of strings, dictionaries and decimals go."""
    name, form, flags, metadata, child, entries = field
    if form == "+s":
        return field
    theirs, _, _, _, children, coded = wanted
    if child:
        fits = theirs.startswith("+") and len(children) == 1 and coded is None
        return (name, form, flags, metadata, as_wanted(child, children[0]), None) if fits else field
    own, value = entries[1] if entries else form, coded[0] if coded else theirs
    if _family(own) != _family(value) or own.startswith("d:") and restore("", "i64", DECIMAL, int(own.split(",")[1]), value) != value:
        return field
    if coded is None:
        return (name, value, flags & NULLABLE, metadata if entries is None else None, None, None)
    if theirs not in tuple("cCsSiIlL") or own == "n":
        return field
    return name, theirs, flags, metadata, None, ("", value, NULLABLE, None, None, None)


def wanted_fields(requested_schema, names):
    """The descriptions of the columns of a requested schema, which must have them in this order, or none of its wishes is granted."""
    from . import _runtime

    try:
        form, _, _, _, fields, _ = _runtime.describe_schema(requested_schema)
    except ValueError:  # no column has such a name, or nests so deep
        return ()
    return fields if form == "+s" and [field[1] for field in fields] == list(names) else ()


def of_description(field):
    """A description of a schema as a field."""
    form, name, flags, metadata, children, entries = field
    return name, form, flags, metadata or None, of_description(children[0]) if children else None, of_description(entries) if entries else None


def as_bytes(field):
    """The field with bytes in place of text."""
    name, form, flags, metadata, child, entries = field
    if form == "+s":
        return name, form, flags, metadata, [as_bytes(one) for one in child], None
    if child or entries:
        return name, form, flags, metadata if child else None, child and as_bytes(child), entries and as_bytes(entries)
    return (name, _AS_BYTES[form], flags, None, None, None) if form in _AS_BYTES else field


def on_gpu(field, digits=0):
    """The field as a GPU has it: offsets and decimals of 64 bits, values for dictionaries. Metadata stays where the type does.

    digits: those that decimals of the column may have, so that a schema with fewer is not believed: nobody looks at the rows there.
    """
    name, form, flags, metadata, child, entries = field
    if entries:
        return on_gpu((name, entries[1], flags & NULLABLE, None, None, None), digits)
    if child:
        return name, form if form.startswith("+w:") else "+L", flags, metadata, on_gpu(child, digits), None
    if form in ("u", "U", "vu"):
        there = "U"
    elif form in ("z", "Z", "vz") or form.startswith("w:"):
        there = "Z"
    elif form.startswith("d:"):
        precision, scale = form[2:].split(",")[:2]
        there = f"d:{max(int(precision), digits)},{scale},64"
    else:
        there = "b" if form == "n" else form
    return name, there, flags if form != "n" else NULLABLE, metadata if there == form else None, None, None


def encode_metadata(pairs):
    """Arrow's encoding of keys, text or bytes, and values; None where there are none."""
    if not pairs:
        return None
    parts = [len(pairs).to_bytes(4, "little")]
    for key, value in pairs:
        for part in (key.encode() if isinstance(key, str) else key, value):
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
