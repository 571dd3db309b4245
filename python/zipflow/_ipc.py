"""Arrow schemas as messages of Arrow's IPC format: a flatbuffer behind eight bytes. Files keep the schema that a table had.

The tables are those of Schema.fbs and Message.fbs (github.com/apache/arrow/tree/main/format); numbers below are their slots and types.
"""

from . import _types

_UNITS = "smun"
_SIZES = {"b": 1, "h": 2, "i": 4, "q": 8}
_V5, _SCHEMA = 4, 1


class _Writer:
    """A flatbuffer, written from the root on: each reference goes forward, so it is patched when its target is there."""

    def __init__(self):
        self.out = bytearray()
        self.dictionaries = 0  # each has a number of its own

    def align(self, size):
        self.out += bytes(-len(self.out) % size)

    def patch(self, place, target):
        self.out[place:place + 4] = (target - place).to_bytes(4, "little")

    def table(self, slots):
        """slots: {number: (letter of its size, value)}, or {number: function that writes the target and returns its place}."""
        self.align(2)
        directory, count = len(self.out), max(slots, default=-1) + 1
        self.out += bytes(4 + 2 * count)
        self.align(4)
        begin, references = len(self.out), []
        self.out += (begin - directory).to_bytes(4, "little")
        for number, value in slots.items():
            size = 4 if callable(value) else _SIZES[value[0]]
            self.align(size)
            place = len(self.out)
            self.out[directory + 4 + 2 * number:directory + 6 + 2 * number] = (place - begin).to_bytes(2, "little")
            self.out += bytes(size) if callable(value) else value[1].to_bytes(size, "little", signed=value[1] < 0)
            if callable(value):
                references.append((place, value))
        self.out[directory:directory + 4] = (4 + 2 * count).to_bytes(2, "little") + (len(self.out) - begin).to_bytes(2, "little")
        for place, write in references:
            self.patch(place, write())
        return begin

    def text(self, data):
        self.align(4)
        begin = len(self.out)
        self.out += len(data).to_bytes(4, "little") + data + b"\0"
        return begin

    def vector(self, writers):
        self.align(4)
        begin = len(self.out)
        self.out += len(writers).to_bytes(4, "little") + bytes(4 * len(writers))
        for number, write in enumerate(writers):
            self.patch(begin + 4 + 4 * number, write())
        return begin

    def pairs(self, pairs):
        return self.vector([lambda pair=pair: self.table({0: lambda: self.text(pair[0]), 1: lambda: self.text(pair[1])}) for pair in pairs])

    def field(self, field):
        form, name, flags, metadata, _, dictionary = field
        kind, slots = _type(dictionary[0] if dictionary else form, self)
        own = {0: lambda: self.text(name.encode()), 1: ("b", flags >> 1 & 1), 2: ("b", kind), 3: lambda: self.table(slots)}
        if dictionary:
            index, number = _type(form, self)[1], self.dictionaries
            self.dictionaries += 1
            own[4] = lambda: self.table({0: ("q", number), 1: lambda: self.table(index), 2: ("b", flags & 1)})
        children = [] if dictionary else field[4]
        own[5] = lambda: self.vector([lambda c=c: self.field(c) for c in children])
        if metadata:
            own[6] = lambda: self.pairs(metadata)
        return self.table(own)


def _type(form, writer):
    """(number of the type, slots of its table) of a format of the C data interface that `write_table` takes."""
    integers = "cCsSiIlL"
    if form in integers:
        number = integers.index(form)
        return 2, {0: ("i", 8 << number // 2), 1: ("b", 1 - number % 2)}
    if form in "efg":
        return 3, {0: ("h", "efg".index(form))}
    single = {"n": 1, "z": 4, "u": 5, "b": 6, "Z": 19, "U": 20, "vz": 23, "vu": 24}
    if form in single:
        return single[form], {}
    if form in ("+l", "+L", "+s"):
        return {"+l": 12, "+L": 21, "+s": 13}[form], {}
    if form.startswith(("+w:", "w:")):
        return 16 if form[0] == "+" else 15, {0: ("i", int(form.partition(":")[2]))}
    if form.startswith("d:"):
        numbers = [int(part) for part in form[2:].split(",")]
        return 7, {0: ("i", numbers[0]), 1: ("i", numbers[1]), 2: ("i", (numbers + [128])[2])}
    if form.startswith("td"):
        return 8, {0: ("h", "Dm".index(form[2]))}
    if form.startswith("tt"):
        unit = _UNITS.index(form[2])
        return 9, {0: ("h", unit), 1: ("i", 32 if unit < 2 else 64)}
    if form.startswith("ts"):
        slots = {0: ("h", _UNITS.index(form[2]))}
        if form[4:]:
            slots[1] = lambda: writer.text(form[4:].encode())
        return 10, slots
    if form.startswith("tD"):
        return 18, {0: ("h", _UNITS.index(form[2]))}
    raise ValueError(form)


def encode(fields, pairs):
    """The message of a schema. fields: as `_compile.Stream.schema` returns them, with lists of pairs as metadata."""
    writer = _Writer()
    writer.out += bytes(4)
    slots = {0: ("h", 0), 1: lambda: writer.vector([lambda f=f: writer.field(f) for f in fields])}
    if pairs:
        slots[2] = lambda: writer.pairs(pairs)
    writer.patch(0, writer.table({0: ("h", _V5), 1: ("b", _SCHEMA), 2: lambda: writer.table(slots), 3: ("q", 0)}))
    writer.align(8)
    return b"\xff\xff\xff\xff" + len(writer.out).to_bytes(4, "little") + bytes(writer.out)


class _Reader:
    """Reads a flatbuffer that anybody may have made: what lies outside of it is a ValueError, and what is read many times, too."""

    def __init__(self, data):
        self.data = data
        self.left = 2 * len(data)  # an honest message has no byte twice

    def number(self, place, size, signed=False):
        if place < 0 or place + size > len(self.data):
            raise ValueError("outside of the message")
        return int.from_bytes(self.data[place:place + size], "little", signed=signed)

    def follow(self, place):
        return place + self.number(place, 4)

    def slot(self, table, number):
        """The place of a slot; None where the table lacks it."""
        directory = table - self.number(table, 4, True)
        if self.number(directory, 2) < 6 + 2 * number:
            return None
        offset = self.number(directory + 4 + 2 * number, 2)
        return table + offset if offset else None

    def scalar(self, table, number, size, default=0):
        place = self.slot(table, number)
        return default if place is None else self.number(place, size, True)

    def child(self, table, number):
        place = self.slot(table, number)
        return None if place is None else self.follow(place)

    def spend(self, size):
        self.left -= size
        if self.left < 0:
            raise ValueError("the message is larger than it says")

    def text(self, table, number):
        """Bytes of a text or of an array of bytes."""
        place = self.child(table, number)
        if place is None:
            return b""
        size = self.number(place, 4)
        if place + 4 + size > len(self.data):
            raise ValueError("outside of the message")
        self.spend(size + 8)
        return self.data[place + 4:place + 4 + size]

    def places(self, vector):
        """Where the elements of a vector of tables are."""
        count = self.number(vector, 4) if vector is not None else 0
        self.spend(4 * count)
        return [self.follow(vector + 4 + 4 * k) for k in range(count)]

    def format(self, kind, table):
        """The format of a type; None for types that a column says by itself, and those that are not stored here."""
        single = {1: "n", 4: "z", 5: "u", 12: "+l", 13: "+s", 19: "Z", 20: "U", 21: "+L", 23: "vz", 24: "vu"}
        if kind in single or table is None:
            return single.get(kind)
        if kind == 2:
            log = {8: 0, 16: 1, 32: 2, 64: 3}.get(self.scalar(table, 0, 4))
            return None if log is None else "CcSsIiLl"[2 * log + (self.scalar(table, 1, 1) != 0)]
        if kind in (15, 16):
            return f"{'+' * (kind == 16)}w:{self.scalar(table, 0, 4)}"
        if kind == 7:
            precision, scale, bits = (self.scalar(table, k, 4, 128 if k == 2 else 0) for k in range(3))
            return f"d:{precision},{scale}" + f",{bits}" * (bits != 128)
        unit = self.scalar(table, 0, 2, 1 if kind in (8, 9, 18) else 0)
        if kind == 3:
            return "efg"[unit] if 0 <= unit < 3 else None
        if kind == 8:
            return ("tdD", "tdm")[unit] if 0 <= unit < 2 else None
        if not 0 <= unit < 4:
            return None
        if kind == 9:
            return f"tt{_UNITS[unit]}"
        if kind == 10:
            return f"ts{_UNITS[unit]}:{self.text(table, 1).decode()}"
        return f"tD{_UNITS[unit]}" if kind == 18 else None

    def field(self, place, depth=0):
        """(format, name, flags, metadata, child, dictionary) of a field: as `field_of` takes it. The child of a struct is a list."""
        self.spend(16)
        form, name = self.format(self.scalar(place, 2, 1), self.child(place, 3)), self.text(place, 0).decode()
        pairs = [(self.text(pair, 0), self.text(pair, 1)) for pair in self.places(self.child(place, 6))]
        children = self.places(self.child(place, 5)) if form and form[0] == "+" else []
        if depth > 64:
            raise ValueError("nested deeper than 64 types")
        if form == "+s":
            child = [self.field(one, depth + 1) for one in children]
        else:
            child = self.field(children[0], depth + 1) if len(children) == 1 else None
        flags, entries, coded = 2 * (self.scalar(place, 1, 1) != 0), None, self.child(place, 4)
        if coded is not None:
            entries, index = (form, "", 0, None, None, None), self.child(coded, 1)
            form = "i" if index is None else self.format(2, index)
            flags |= self.scalar(coded, 2, 1) != 0
        return form, name, flags, _types.encode_metadata(pairs), child, entries


def fields(message, most):
    """{name: field} of a schema: what the columns of a file do not say by themselves.

    A message that is wrong, or has more than `most` fields, says nothing: {}. It says nothing of fields of which two have one name.
    """
    reader = _Reader(message[8:])
    try:
        root = reader.follow(0)
        schema = reader.child(root, 2)
        vector = reader.child(schema, 1) if reader.scalar(root, 1, 1) == _SCHEMA and schema is not None else None
        if vector is None or reader.number(vector, 4) > most:
            return {}
        found, twice = {}, set()
        for field in map(reader.field, reader.places(vector)):
            if found.setdefault(field[1], field) is not field:
                twice.add(field[1])
        return {name: field for name, field in found.items() if name not in twice}
    except ValueError:  # UnicodeDecodeError is one
        return {}
