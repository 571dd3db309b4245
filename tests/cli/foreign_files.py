"""Streams of ORC files and pages of Parquet files, as they are there, and what pyarrow reads of them.

Each is a Piece: a chunk of a codec of the library. Readers here know as much of the files' structure as finds the bytes."""

import fractions
import itertools
import struct
import zlib

import pyarrow
import pyarrow.compute
import pyarrow.orc
import pyarrow.parquet
from lz_blocks import plain_of, sequences_of


class Piece:
    """A chunk of `codec`, of so many rows of a type. `check` says whether rows that were decoded are those of the file."""

    def __init__(self, what, codec, kind, data, rows, check):
        self.what, self.codec, self.kind, self.data, self.rows, self.check = what, codec, kind, bytes(data), rows, check


def exactly(values):
    return lambda found: found == values


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


# ---- ORC ----------------------------------------------------------------------------------------------------------------------

BOOLEAN, BYTE, SHORT, INT, LONG, STRING, BINARY, TIMESTAMP, LIST, MAP, STRUCT, DECIMAL, DATE = 0, 1, 2, 3, 4, 7, 8, 9, 10, 11, 12, 14, 15
PRESENT, DATA, LENGTH, DICTIONARY_DATA, SECONDARY = 0, 1, 2, 3, 5
BLOCKS = {2: "snappy", 4: "lz4"}  # codecs of compressed blocks


def message(data):
    """Fields of a message of Protocol Buffers: lists by their numbers."""
    fields, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        else:
            size = 8 if key & 7 == 1 else 4
            value, at = data[at:at + size], at + size
        fields.setdefault(key >> 3, []).append(value)
    return fields


def packed_varints(data):
    values, at = [], 0
    while at < len(data):
        value, at = varint(data, at)
        values.append(value)
    return values


def bits(flags):
    """Bytes of flags, the first flag the highest bit."""
    flags = flags + [False] * (-len(flags) % 8)
    return [sum(flag << 7 - k for k, flag in enumerate(flags[at:at + 8])) for at in range(0, len(flags), 8)]


def nanoseconds(value):
    """As ORC stores them: without zeros at the end, whose number is in the lowest bits."""
    zeros = 0
    if value and value % 100 == 0:
        value //= 100
        zeros = 1
        while value % 10 == 0 and zeros < 7:
            value //= 10
            zeros += 1
    return value << 3 | zeros


class OrcFile:
    def __init__(self, path):
        self.path, self.file, self.blocks = path, path.read_bytes(), []
        tail = self.file[-1]
        end = len(self.file) - 1 - tail
        self.postscript = message(self.file[end:-1])
        self.compression = self.postscript.get(2, [0])[0]
        self.footer = message(self.plain(self.file[end - self.postscript[1][0]:end]))
        self.types = [message(data) for data in self.footer.get(4, [])]

    def plain(self, data):
        """A stream without compression; its blocks are kept in `blocks`: (bytes, plain bytes)."""
        if self.compression == 0:
            return data
        out, at = b"", 0
        while at < len(data):
            head = int.from_bytes(data[at:at + 3], "little")
            block = data[at + 3:at + 3 + (head >> 1)]
            at += 3 + len(block)
            if head & 1:
                out += block
            else:
                plain = PLAIN_OF[self.compression](block)
                self.blocks.append((block, plain))
                out += plain
        return out

    def pieces(self):
        found = pyarrow.orc.ORCFile(self.path)
        for number, data in enumerate(self.footer.get(3, [])):
            stripe = message(data)
            offset, index, size, foot = (stripe[k][0] for k in (1, 2, 3, 4))
            footer = message(self.plain(self.file[offset + index + size:offset + index + size + foot]))
            self.streams, at = {}, offset
            for stream in map(message, footer.get(1, [])):
                kind, column, length = (stream.get(k, [0])[0] for k in (1, 2, 3))
                if at >= offset + index:
                    self.streams[column, kind] = self.file[at:at + length]
                at += length
            self.encodings = [message(encoding) for encoding in footer[2]]
            batch = found.read_stripe(number)
            rows = pyarrow.StructArray.from_arrays(batch.columns, batch.schema.names)
            yield from self.walk(0, rows, f"{self.path.name}, stripe {number}")
        codec = BLOCKS.get(self.compression)
        if codec is not None:
            for number, (block, plain) in enumerate(self.blocks):
                yield Piece(f"{self.path.name}, block {number}", codec, "u8", block, len(plain), exactly(list(plain)))

    def walk(self, column, array, where):
        """Pieces of a column's streams, and of the columns below."""
        where = f"{where}, column {column}"
        kind, below = self.types[column].get(1, [0])[0], []
        for data in self.types[column].get(2, []):
            below += packed_varints(data) if isinstance(data, bytes) else [data]
        encoding = self.encodings[column].get(1, [0])[0]
        integers = "orc_rle2" if encoding >= 2 else "orc_rle1"

        def piece(stream, codec, row, values, check=None):
            data = self.plain(self.streams.get((column, stream), b""))
            rows = values if isinstance(values, int) else len(values)
            if rows:
                yield Piece(f"{where}, stream {stream}", codec, row, data, rows, check or exactly(values))

        if (column, PRESENT) in self.streams:
            yield from piece(PRESENT, "orc_byte_rle", "u8", bits(array.is_valid().to_pylist()))
        array = array.drop_null()
        if kind == BOOLEAN:
            yield from piece(DATA, "orc_byte_rle", "u8", bits(array.to_pylist()))
        elif kind == BYTE:
            yield from piece(DATA, "orc_byte_rle", "u8", [value & 255 for value in array.to_pylist()])
        elif kind in (SHORT, INT, LONG, DATE):
            values = array.cast(pyarrow.int32()) if kind == DATE else array
            yield from piece(DATA, integers, "i64", values.to_pylist())
        elif kind in (STRING, BINARY) and encoding in (1, 3):
            entries = [bytes(value, "utf-8") if isinstance(value, str) else value for value in array.to_pylist()]
            data, sizes = self.plain(self.streams.get((column, DICTIONARY_DATA), b"")), []

            def lengths(found):
                sizes[:] = found
                return sum(found) == len(data)

            def codes(found):
                ends = [0, *itertools.accumulate(sizes)]
                return [data[ends[code]:ends[code + 1]] for code in found] == entries
            yield from piece(LENGTH, integers, "u64", self.encodings[column].get(2, [0])[0], lengths)
            yield from piece(DATA, integers, "u64", len(entries), codes)
        elif kind in (STRING, BINARY):
            yield from piece(LENGTH, integers, "u64", pyarrow.compute.binary_length(array).to_pylist())
        elif kind == TIMESTAMP:
            times = array.cast(pyarrow.timestamp("ns")).cast(pyarrow.int64()).to_pylist()
            yield from piece(SECONDARY, integers, "u64", [nanoseconds(time % 10**9) for time in times])
            begin = 1420070400  # 2015-01-01; in the writer's time zone

            def seconds(found):
                return all(abs(value + begin - time // 10**9) <= 86400 for value, time in zip(found, times))
            yield from piece(DATA, integers, "i64", len(times), seconds)
        elif kind == DECIMAL:
            unscaled = [code >> 1 ^ -(code & 1) for code in packed_varints(self.plain(self.streams[column, DATA]))]
            numbers = array.to_pylist()

            def scales(found):  # pyarrow cuts digits that the column's type has no room for
                least = fractions.Fraction(1, 10**array.type.scale)
                return all(abs(fractions.Fraction(v, 10**scale) - fractions.Fraction(d)) < least
                           for v, scale, d in zip(unscaled, found, numbers))
            yield from piece(SECONDARY, integers, "i64", len(numbers), scales)
        elif kind in (LIST, MAP):
            yield from piece(LENGTH, integers, "u64", [len(value) for value in array.to_pylist()])
            parts = [array.flatten()] if kind == LIST else [array.keys, array.items]
            for child, part in zip(below, parts):
                yield from self.walk(child, part, where)
        elif kind == STRUCT:
            for k, child in enumerate(below):
                yield from self.walk(child, array.field(k), where)


def lz4_plain(block):
    return plain_of(sequences_of(block))


def snappy_plain(block):
    return pyarrow.Codec("snappy").decompress(block, varint(block, 0)[0], asbytes=True)


def zstd_plain(block):
    return pyarrow.CompressedInputStream(pyarrow.BufferReader(block), "zstd").read()


PLAIN_OF = {1: lambda block: zlib.decompress(block, -15), 2: snappy_plain, 4: lz4_plain, 5: zstd_plain}


# ---- Parquet ------------------------------------------------------------------------------------------------------------------

DICTIONARY_PAGE, DATA_PAGE, DATA_PAGE_2 = 2, 0, 3
PLAIN, PLAIN_DICTIONARY, RLE, DELTA_BINARY, DELTA_LENGTH, DELTA_BYTES, RLE_DICTIONARY = 0, 2, 3, 5, 6, 7, 8
FIXED = {"INT32": "i", "INT64": "q", "FLOAT": "f", "DOUBLE": "d"}
PAGE_CODECS = {"SNAPPY": ("snappy", "snappy"), "LZ4": ("lz4", "lz4_raw"), "GZIP": (None, "gzip"), "ZSTD": (None, "zstd")}


def thrift(data, at):
    """A struct of Thrift's compact protocol: values by their numbers, and where it ends."""
    def value(kind):
        nonlocal at
        if kind in (1, 2):
            return kind == 1
        if kind == 3:
            at += 1
            return data[at - 1]
        if kind in (4, 5, 6):
            code, at = varint(data, at)
            return code >> 1 ^ -(code & 1)
        if kind == 7:
            at += 8
            return data[at - 8:at]
        if kind == 8:
            size, at = varint(data, at)
            at += size
            return data[at - size:at]
        if kind in (9, 10):
            head, at = data[at], at + 1
            count = head >> 4
            if count == 15:
                count, at = varint(data, at)
            return [value(head & 15) for _ in range(count)]
        out, at = thrift(data, at)
        return out
    fields, last = {}, 0
    while data[at]:
        head, at = data[at], at + 1
        if head >> 4:
            last += head >> 4
        else:
            code, at = varint(data, at)
            last = code >> 1 ^ -(code & 1)
        fields[last] = value(head & 15)
    return fields, at + 1


def plain_values(data, physical, count):
    if physical in FIXED:
        return list(struct.unpack(f"<{count}{FIXED[physical]}", data[:count * struct.calcsize(FIXED[physical])]))
    values, at = [], 0
    for _ in range(count):
        size = int.from_bytes(data[at:at + 4], "little")
        values.append(data[at + 4:at + 4 + size])
        at += 4 + size
    return values


def stored_form(array):
    """Values of a column as pages have them."""
    if pyarrow.types.is_date32(array.type):
        array = array.cast(pyarrow.int32())
    elif pyarrow.types.is_timestamp(array.type):
        array = array.cast(pyarrow.int64())
    return [value.encode() if isinstance(value, str) else value for value in array.to_pylist()]


class ParquetFile:
    def __init__(self, path):
        self.path, self.file = path, path.read_bytes()
        self.reader = pyarrow.parquet.ParquetFile(path)

    def pieces(self):
        """Pieces of all columns without lists whose pages pyarrow's codecs decompress."""
        for group in range(self.reader.metadata.num_row_groups):
            table = self.reader.read_row_group(group)
            names = table.schema.names
            for number in range(self.reader.metadata.num_columns):
                chunk = self.reader.metadata.row_group(group).column(number)
                kind = self.reader.schema.column(number)
                known = chunk.compression == "UNCOMPRESSED" or chunk.compression in PAGE_CODECS
                flat = kind.max_repetition_level == 0 and kind.path in names and (chunk.physical_type in FIXED or chunk.physical_type in ("BYTE_ARRAY", "BOOLEAN"))
                if known and flat and not pyarrow.types.is_decimal(table.schema.field(kind.path).type):
                    rows = table.column(kind.path).combine_chunks()
                    where = f"{self.path.name}, group {group}, column {kind.path}"
                    yield from self.column(chunk, kind.max_definition_level, rows, where)

    def column(self, chunk, levels, rows, where):
        at = chunk.dictionary_page_offset or chunk.data_page_offset
        codec = PAGE_CODECS.get(chunk.compression)
        entries, begin, number = None, 0, 0
        while begin < chunk.num_values:
            head, at = thrift(self.file, at)
            data, at = self.file[at:at + head[3]], at + head[3]
            place = f"{where}, page {number}"
            number += 1
            level_bytes, compressed = b"", codec is not None
            if head[1] == DATA_PAGE_2:
                repeated, size = head[8].get(6, 0), head[8].get(5, 0)
                level_bytes, data = data[repeated:repeated + size], data[repeated + size:]
                head[2] -= repeated + size
                compressed = compressed and head[8].get(7, True)
            if compressed and data:
                plain = pyarrow.Codec(codec[1]).decompress(data, head[2], asbytes=True)
                if codec[0] is not None:
                    yield Piece(f"{place}, compressed", codec[0], "u8", data, len(plain), exactly(list(plain)))
                data = plain
            if head[1] == DICTIONARY_PAGE:
                entries = plain_values(data, chunk.physical_type, head[7][1])
                continue
            facts = head[8] if head[1] == DATA_PAGE_2 else head[5]
            count, encoding = facts[1], facts[4] if head[1] == DATA_PAGE_2 else facts[2]
            part = rows.slice(begin, count)
            begin += count
            if levels and head[1] == DATA_PAGE:
                if facts[3] != RLE:
                    continue  # bits of an old form
                size = int.from_bytes(data[:4], "little")
                level_bytes, data = data[4:4 + size], data[4 + size:]
            if levels == 1 and level_bytes:
                flags = [int(flag) for flag in part.is_valid().to_pylist()]
                yield Piece(f"{place}, levels", "parquet_hybrid", "u8", b"\1" + level_bytes, count, exactly(flags))
            yield from self.values(place, encoding, data, chunk.physical_type, stored_form(part.drop_null()), entries)

    def values(self, place, encoding, data, physical, values, entries):
        if not values:
            return
        if encoding in (PLAIN_DICTIONARY, RLE_DICTIONARY):
            yield Piece(place, "parquet_hybrid", "u32", data, len(values), lambda found: [entries[code] for code in found] == values)
        elif encoding == RLE:
            size = int.from_bytes(data[:4], "little")
            yield Piece(place, "parquet_hybrid", "u8", b"\1" + data[4:4 + size], len(values), exactly([int(value) for value in values]))
        elif encoding == DELTA_BINARY:
            yield Piece(place, "delta_binary_packed", "i32" if physical == "INT32" else "i64", data, len(values), exactly(values))
        elif encoding == DELTA_LENGTH:
            yield Piece(place, "delta_binary_packed", "i32", data, len(values), exactly([len(value) for value in values]))
        elif encoding == DELTA_BYTES:
            shared = [0]
            for before, value in zip(values, values[1:]):
                n = 0
                while n < min(len(before), len(value)) and before[n] == value[n]:
                    n += 1
                shared.append(n)
            yield Piece(place, "delta_binary_packed", "i32", data, len(values), exactly(shared))
