"""`write_chunks`: chunks that others compressed go to a file as they are; wrong ones are named and leave no file."""

import array
import ctypes
import gc
import gzip
import mmap
import os
import random
import signal
import subprocess
import sys
import threading

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import zipflow as zf

LENGTHS = (65536, 1, 7, 4095, 4097, 30000)  # of plain chunks, in turn
CODECS = {"lz4": "lz4_raw", "snappy": "snappy"}  # and their names in pyarrow, which has liblz4 and libsnappy
FORMS = ["pairs", "generator", "zip", "buffer", "offsets"]

# Runs: a count and a number of two bytes. Flags: a byte for each. Zeros: no bytes at all. Nobody has an encoder.
PROGRAM = """
algorithm runs(src: u8[] per chunk) -> u16[] non_parallel(chunk = 500) {
    decode { while !src.at_end() { let n = src.u8(); let v = src.u16(); emit k in 0..n: v; } }
    encode extern "nobody";
}
algorithm flags(src: u8[] per chunk) -> bool[] non_parallel(chunk = 64) {
    decode { while out.pos < out.len { emit src.u8() != 0; } }
    encode extern "nobody";
}
algorithm zeros(src: u8[] per chunk) -> u8[] non_parallel(chunk = 100) {
    decode { emit k in 0..out.len: 0; }
    encode extern "nobody";
}
"""


def words(count):
    """Text that compresses, of at least so many bytes."""
    numbers = random.Random(count)
    return b" ".join(numbers.choice((b"alpha", b"beta", b"gamma", b"delta", b"epsilon")) for _ in range(count // 4))[:count]


def compressed(data, codec="lz4", lengths=LENGTHS):
    """[(chunk, rows)]."""
    chunks, at = [], 0
    while at < len(data):
        plain = data[at:at + lengths[len(chunks) % len(lengths)]]
        chunks.append((pa.Codec(CODECS[codec]).compress(plain, asbytes=True), len(plain)))
        at += len(plain)
    return chunks


def given(chunks, form, numbers=np.int64):
    """The chunks in one of the forms that a caller may have them in."""
    packed, rows = [chunk for chunk, _ in chunks], [count for _, count in chunks]
    if form == "pairs":
        return chunks
    if form == "generator":
        return (pair for pair in chunks)
    if form == "zip":
        return zip(pa.array(packed, pa.binary()), np.array(rows, numbers))
    parts = {"sizes": np.array([len(chunk) for chunk in packed], numbers), "rows": np.array(rows, numbers)}
    if form == "buffer":
        return {"bytes": b"".join(packed), **parts}
    together, offsets = bytearray(), []  # the last chunk first, and poison between them
    for chunk in reversed(packed):
        together += b"\xaa" * 5
        offsets.insert(0, len(together))
        together += chunk
    return {"bytes": bytes(together), "offsets": offsets, **parts}


def blocks_of(chunks, rows_per_block):
    """The block that each chunk is in: a block ends with the chunk with which it has so many rows."""
    blocks, block, in_block = [], 0, 0
    for _, rows in chunks:
        if rows_per_block and in_block >= rows_per_block:
            block, in_block = block + 1, 0
        blocks.append(block)
        in_block += rows
    return blocks


def read(path, name="text", rows=None):
    with zf.open(path) as f:
        return f.read([name], rows)[name].numpy().tobytes()


def refused(kind, path, chunks, codecs="u8 = lz4", name="text", **more):
    """The error of a call that is refused, and that leaves what was there and nothing else."""
    path.write_bytes(b"as it was")
    with pytest.raises(kind) as caught:
        zf.write_chunks({name: chunks}, path, {name: codecs} if isinstance(codecs, str) else codecs, **more)
    assert path.read_bytes() == b"as it was" and os.listdir(path.parent) == [path.name]
    return caught.value


@pytest.fixture
def path(tmp_path):
    return tmp_path / "t.zfd"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("codec", CODECS)
def test_round_trip(path, codec, form):
    """Uneven chunks come back, all rows and a few; the file has their bytes as they were."""
    data = words(300_000)
    chunks = compressed(data, codec)
    packed = b"".join(chunk for chunk, _ in chunks)
    plain, stored = zf.write_chunks({"text": given(chunks, form)}, path, {"text": f"u8 = {codec}"}, zones=True)["text"]
    assert plain == len(data) and len(packed) < stored < len(packed) + 4096
    assert packed in path.read_bytes()
    border = LENGTHS[0]
    for begin, end in (0, len(data)), (border - 1, border), (border - 2, border + 9), (border + 3, border + 5000), (len(data) - 1, len(data)):
        assert read(path, rows=slice(begin, end)) == data[begin:end]
    with zf.open(path) as f:
        field = f.schema["text"]
        assert (f.num_rows, field.type, field.nullable, field.codec, field.format) == (len(data), "u8", False, codec, "C")


@pytest.mark.parametrize("form", FORMS)
def test_ten_thousand(path, form):
    """Chunks of 80 to 160 bytes, in one block and in many: both forms give the same file."""
    lengths = [80 + k * 37 % 81 for k in range(10_000)]
    data = words(sum(lengths))
    chunks = compressed(data, lengths=lengths)
    assert len(chunks) == 10_000
    for rows_per_block in (0, 1000):
        zf.write_chunks({"text": given(chunks, form)}, path, {"text": "u8 = lz4"}, rows_per_block=rows_per_block, threads=2)
        assert read(path) == data
        assert read(path, rows=slice(777_777, 779_000)) == data[777_777:779_000]
        with zf.open(path) as f:
            assert f.schema["text"].blocks == blocks_of(chunks, rows_per_block)[-1] + 1
        other = path.with_name("other.zfd")
        zf.write_chunks({"text": chunks}, other, {"text": "u8 = lz4"}, rows_per_block=rows_per_block)
        assert other.read_bytes() == path.read_bytes()


def test_other_rows(path):
    """Numbers of two bytes, booleans and chunks of no bytes, of a Program whose columns have another order."""
    numbers = np.repeat(np.arange(100, dtype="u2") * 7, np.arange(100) + 1)
    runs = [(bytes([k + 1]) + (7 * k).to_bytes(2, "little"), k + 1) for k in range(100)]
    flags = np.arange(len(numbers)) % 3 == 0
    bools = [(flags[at:at + 64].view("u1"), min(64, len(flags) - at)) for at in range(0, len(flags), 64)]
    zeros = [(b"", min(100, len(flags) - at)) for at in range(0, len(flags), 100)]
    program = zf.Program(PROGRAM + "table t { z: u8 = zeros; f: bool = flags; n: u16 = runs; }")
    sizes = zf.write_chunks({"n": runs, "z": iter(zeros), "f": bools}, path, program, metadata={"made by": "a test", "bytes": b"\0\xff"})
    assert {name: plain for name, (plain, _) in sizes.items()} == {"z": len(flags), "f": (len(flags) + 7) // 8, "n": numbers.nbytes}
    with zf.open(path) as f:
        t = f.read()
        assert np.array_equal(t["n"].numpy(), numbers) and np.array_equal(t["f"].numpy(), flags) and not t["z"].numpy().any()
        assert f.metadata == {"made by": b"a test", "bytes": b"\0\xff"}
    # A chunk of seven booleans may end a block, and not begin one.
    error = refused(zf.InputError, path, [(b"\1" * 7, 7), (b"\1" * 8, 8)], zf.Program(PROGRAM + "table t { f: bool = flags; }"), "f")
    assert error.code == "ZF1322" and error.place.startswith("column f, block 0")


def test_params(path):
    """Params of a codec have values: the text's, and the defaults."""
    more = """algorithm more(src: u8[] per chunk, param by: u8, param plus: u8 = 5) -> u8[] non_parallel(chunk = 64) {
        decode { while out.pos < out.len { emit (src.next() ^ by) + plus; } }
        encode extern "nobody";
    }
    """
    for codec, plain in ("more(by: 1)", b"ehgjil"), ("more(by: 3, plus: 250)", b"\\[Za`_"):
        zf.write_chunks({"text": [(b"ab", 2), (b"cdef", 4)]}, path, zf.Program(f"{more}table t {{ text: u8 = {codec}; }}"))
        assert read(path) == plain
    error = refused(zf.UsageError, path, [(b"ab", 2)], zf.Program(f"{more}table t {{ text: u8 = more; }}"))
    assert error.code == "ZF1509" and "a param without a value" in str(error)


def test_names_and_codecs(path):
    """Columns of any name; the text of a codec has params and the library's names."""
    data = words(100_000)
    large = [(pa.Codec("lz4_raw").compress(data, asbytes=True), len(data))]
    columns = {"ä b": large, "table": large, "c.d": compressed(data, "snappy"), "ä_b": compressed(data)}
    codecs = {"table": "u8 = lz4(chunk: 131072)", "ä b": "u8 = lz4(chunk: 100000)", "c.d": "u8 = snappy", "ä_b": "u8 = lz4"}
    assert list(zf.write_chunks(columns, path, codecs)) == list(columns)
    with zf.open(path) as f:
        t = f.read()
        assert t.column_names == list(columns) and all(t[name].numpy().tobytes() == data for name in columns)
    error = refused(zf.InputError, path, large, "u8 = lz4(chunk: 99999)", "ä b")
    assert error.code == "ZF1508" and error.place == "column ä b, chunk 0" and "column `ä b` has 100000 rows" in str(error) and "chunk: N" in error.hint


def test_empty(path):
    for chunks in [], iter(()), {"bytes": b"", "sizes": [], "rows": []}, {"bytes": b"left out", "sizes": np.zeros(0, "u1"), "rows": (), "offsets": []}:
        assert zf.write_chunks({"text": chunks}, path, {"text": "u8 = lz4"}) == {"text": (0, 0)}
        assert read(path) == b""
    assert zf.write_chunks({"text": [(b"\0", 0)][:0], "more": ()}, path, zf.Program("table t { more: u8 = lz4; text: u8 = snappy; }")) == {
        "more": (0, 0), "text": (0, 0)}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("at", [0, 7, 17])
def test_damaged_chunk_is_named(path, form, at):
    """Wrong bytes, and rows that a chunk has not: the error has the chunk's number."""
    chunks = compressed(words(300_000))
    assert len(chunks) == 18
    packed, rows = chunks[at]
    block = blocks_of(chunks, 70_000)[at]
    wrong = {"cut": (packed[:len(packed) // 2], rows), "no bytes": (b"", rows), "a byte more": (packed + b"\x10", rows), "lengths": (b"\xff" * len(packed), rows),
             "rows more": (packed, rows + 1), "distance": (b"\x10a\x09\x00" + packed, rows)}
    if rows > 1:
        wrong["rows less"] = (packed, rows - 1)
    if rows == 65536:
        wrong.pop("rows more")  # more than the codec has: below
    for what, pair in wrong.items():
        error = refused(zf.InputError, path, given(chunks[:at] + [pair] + chunks[at + 1:], form), rows_per_block=70_000)
        assert error.place.startswith(f"column text, block {block}, chunk {at}, row "), (what, error)
        assert error.code.startswith("ZF13") and error.hint.startswith(f"the chunk has {len(pair[0])} bytes for {pair[1]} rows"), (what, error)
    for count, says in (0, "no rows"), (65537, "has 65537 rows; `lz4` has at most 65536"), (2**64 - 1, "has 18446744073709551615 rows"):
        error = refused(zf.InputError, path, given(chunks[:at] + [(packed, count)] + chunks[at + 1:], form, np.uint64))
        assert error.code == "ZF1508" and error.place == f"column text, chunk {at}" and says in str(error)


def test_wrong_sizes(path):
    """Sizes that do not fit the buffer, or that cut chunks at other bytes."""
    chunks = compressed(words(300_000))
    good = given(chunks, "buffer")

    def wrong(kind, **parts):
        return refused(kind, path, {**good, **parts})

    moved = good["sizes"].copy()
    moved[4] += 1
    moved[5] -= 1
    error = wrong(zf.InputError, sizes=moved)
    assert error.place.startswith("column text, block 0, chunk 4, row ")
    moved[5] += 1
    error = wrong(zf.UsageError, sizes=moved)
    size, all_bytes = int(good["sizes"][17]), len(good["bytes"])
    assert error.place == "column text, chunk 17" and str(error).startswith(f"chunk 17 has {size} bytes from byte {all_bytes - size + 1} on, and there are {all_bytes}")
    moved[5] -= 3
    assert f"the sizes add up to {all_bytes - 2} bytes, and there are {all_bytes}" in str(wrong(zf.UsageError, sizes=moved))
    for sizes in [2**64 - 1] * 18, np.full(18, 2**63 - 1), np.full(18, 2**64 - 1, "u8"):
        assert wrong(zf.UsageError, sizes=sizes).place == "column text, chunk 0"
    for offsets, at in ([0] * 17 + [all_bytes - size + 1], 17), ([2**64 - 1] + [0] * 17, 0), (np.full(18, all_bytes + 1), 0):
        assert wrong(zf.UsageError, offsets=offsets).place == f"column text, chunk {at}"
    assert "there are 18 sizes and 17 rows" in str(wrong(zf.UsageError, rows=good["rows"][1:]))
    assert "there are 18 sizes and 1 offsets" in str(wrong(zf.UsageError, offsets=[0]))
    assert "they lack rows, sizes" in str(refused(zf.UsageError, path, {"bytes": b""}))
    assert "they have 'row'" in str(wrong(zf.UsageError, row=1))
    # Chunks may overlap, and one may come twice.
    twice = [int(good["sizes"][0])] * 2
    zf.write_chunks({"text": {"bytes": good["bytes"], "sizes": twice, "rows": [65536] * 2, "offsets": [0, 0]}}, path, {"text": "u8 = lz4"})
    assert read(path) == words(300_000)[:65536] * 2


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_types_of_numbers(path, kind):
    """Sizes, rows and offsets of every type of integer, with strides; what no chunk has is refused with the number of the chunk."""
    data = words(120 * 40)
    chunks = compressed(data, lengths=[120])
    sizes, rows = [len(chunk) for chunk, _ in chunks], [count for _, count in chunks]
    assert max(sizes) < 128 and len(chunks) == 40
    packed = b"".join(chunk for chunk, _ in chunks)
    dtype = np.dtype(kind)
    wide, backwards = np.zeros((40, 3), kind), np.array(sizes[::-1], kind)
    wide[:, 1] = sizes
    offsets = np.cumsum([0, *sizes[:-1]])
    for parts in ({"sizes": wide[:, 1], "rows": array.array(dtype.char, rows)}, {"sizes": backwards[::-1], "rows": memoryview(np.array(rows, kind))},
                  {"sizes": list(wide[:, 1]), "rows": pa.array(rows, kind)}, {"sizes": pd.Series(sizes, dtype=kind), "rows": iter(rows)},
                  {"sizes": sizes, "rows": tuple(rows), "offsets": offsets.astype("u2")}):
        path.unlink(missing_ok=True)
        zf.write_chunks({"text": {"bytes": packed, **parts}}, path, {"text": "u8 = lz4"})
        assert read(path) == data
    good = {"bytes": packed, "sizes": np.array(sizes, kind), "rows": np.array(rows, kind), "offsets": np.zeros(40, kind)}
    most = np.iinfo(kind).max
    if most <= 65536:  # the highest bit of a number without a sign
        text = words(int(most))
        zf.write_chunks({"text": {"bytes": compressed(text)[0][0], "sizes": [len(compressed(text)[0][0])], "rows": np.array([most], kind)}}, path, {"text": "u8 = lz4"})
        assert read(path) == text
    for part, what in ("sizes", "size"), ("rows", "number of rows"), ("offsets", "offset"):
        wrong = np.full(40, 1, kind)
        wrong[23] = most
        if most > (65536 if part == "rows" else len(packed)):
            error = refused(zf.InputError if part == "rows" else zf.UsageError, path, {**good, part: wrong})
            assert error.place == "column text, chunk 23" and "chunk 23 " in str(error) and str(most) in str(error)
        if kind.startswith("i"):
            wrong[23] = -1
            error = refused(zf.UsageError, path, {**good, part: wrong})
            assert error.place == "column text, chunk 23" and str(error).startswith(f"the {what} of chunk 23 is negative"), error
        if dtype.itemsize > 1:
            assert f"{part} has the highest byte first" in str(refused(zf.UsageError, path, {**good, part: good[part].astype(dtype.newbyteorder(">"))}))


def test_wrong_numbers(path):
    class Broken:
        def __index__(self):
            raise RuntimeError("no index")

    good = given(compressed(words(100)), "buffer")
    for wrong, says in ((np.array([1.0]), "format `d`"), (np.array([True]), "format `?`"), (np.array([[1]]), "2 dimensions"), (np.int64(1), "0 dimensions"),
                        (b"1", "not bytes"), (bytearray(1), "not bytearray"), ("1", "not str"), (5, "not int"), (None, "not NoneType"), ({1}, "not set"),
                        ({1: 1}, "not dict"), ([1.0], "must be an integer, not float"), (["1"], "must be an integer, not str"), ([2**64], "2^64 or more"),
                        ([-1], "is negative"), ([-2**70], "is negative"), (np.array([1], object), "format `O`"), (np.array([1], "c16"), "format `Zd`"), (np.zeros(1, "i4,i4"), "format `T{"),
                        (np.array(["2001-01-01"], "M8[D]"), "must be an array of integers")):
        for part in ("sizes", "rows", "offsets"):
            if wrong is None and part == "offsets":
                continue
            error = refused(zf.UsageError, path, {**good, part: wrong})
            assert says in str(error) and error.place in ("column text", "column text, chunk 0"), (part, error)
    for wrong, says in ((1.0, "an integer, not float"), ("1", "an integer, not str"), (None, "an integer, not NoneType"), (2**64, "2^64 or more"), (-1, "is negative")):
        error = refused(zf.UsageError, path, [(b"\x10a", 1), (b"\x10a", wrong)])
        assert error.place == "column text, chunk 1" and f"the number of rows of chunk 1" in str(error) and says in str(error)
    with pytest.raises(RuntimeError, match="no index"):
        zf.write_chunks({"text": [(b"", Broken())]}, path, {"text": "u8 = lz4"})


def sources(packed):
    """Objects with the same bytes: read-only and writable, of other types of elements, mapped, sliced."""
    mapped = mmap.mmap(-1, len(packed))
    mapped[:] = packed
    structs = np.frombuffer(packed, np.dtype([("Open", "<u4"), ("x", "<i2"), ("y", "i1"), ("O", "i1")]))  # its format has letters O, in names
    return {"bytes": packed, "bytearray": bytearray(packed), "memoryview": memoryview(packed), "cast": memoryview(packed).cast("d"), "array": array.array("q", packed),
            "mmap": mapped, "ctypes": (ctypes.c_char * len(packed)).from_buffer_copy(packed), "f4": np.frombuffer(packed, "f4"), "2d": np.frombuffer(packed, "u2").reshape(-1, 4),
            "c8": np.frombuffer(packed, "c8"), "structs": structs,
            "pyarrow": pa.py_buffer(packed), "scalar": pa.scalar(packed), "slice": memoryview(b"xx" + packed + b"y")[2:-1]}


def test_sources_of_bytes(path):
    """Any contiguous buffer is bytes; what is none is refused with its chunk; all are let go of."""
    data = next(text for text in map(words, range(5000, 6000)) if len(compressed(text)[0][0]) % 8 == 0 and len(compressed(text)) == 1)
    packed, rows = compressed(data)[0]
    for name, source in sources(packed).items():
        zf.write_chunks({"text": [(source, rows)]}, path, {"text": "u8 = lz4"})
        assert read(path) == data, name
        zf.write_chunks({"text": {"bytes": source, "sizes": [len(packed)], "rows": [rows]}}, path, {"text": "u8 = lz4"})
        assert read(path) == data, name
    square = np.zeros((4, 4), "u1")
    gone = memoryview(bytearray(packed))
    gone.release()
    for wrong in square[:, ::2], square.T, np.asfortranarray(np.arange(6).reshape(2, 3)), np.array([1, None]), np.array(["2001-01-01"], "M8[D]"), memoryview(packed)[::2], gone, "text", 5, None, [1]:
        error = refused(zf.UsageError, path, [(packed, rows), (wrong, rows)])
        assert error.place == "column text, chunk 1" and str(error).startswith("chunk 1 must be contiguous bytes-like data"), error
        error = refused(zf.UsageError, path, {"bytes": wrong, "sizes": [len(packed)], "rows": [rows]})
        assert error.place == "column text" and str(error).startswith("bytes must be contiguous bytes-like data"), error


def test_objects_are_let_go_of(path):
    """Neither a file nor an error keeps the memory of chunks, or the numbers."""
    packed, rows = compressed(words(5000))[0]
    for count, kind in (rows, None), (rows - 1, zf.InputError), (-1, zf.UsageError), ("x", zf.UsageError):
        chunk, together, sizes = bytearray(packed), bytearray(packed * 2), array.array("q", [len(packed)] * 2)
        before = [sys.getrefcount(thing) for thing in (chunk, together, sizes)]
        for chunks in [(packed, rows), (chunk, count)], {"bytes": together, "sizes": sizes, "rows": [rows, count]}:
            if kind is None:
                zf.write_chunks({"text": chunks}, path, {"text": "u8 = lz4"})
            else:
                refused(kind, path, chunks)
        del chunks
        gc.collect()
        assert [sys.getrefcount(thing) for thing in (chunk, together, sizes)] == before
        for thing in chunk, together, sizes:
            thing.append(1)  # memory that a buffer holds cannot be made larger


def test_wrong_arguments(path):
    chunks = compressed(words(1000))
    for wrong in None, 5, b"text", np.zeros(4), {(b"", 1)}, object():
        assert "chunks must be pairs (bytes, rows), a mapping of bytes, sizes and rows, or a path, not" in str(refused(zf.UsageError, path, wrong))
    for wrong in b"text", (b"text",), (b"text", 1, 1), None, 5, "ab":
        error = refused(zf.UsageError, path, [*chunks, wrong])
        assert error.place == "column text, chunk 1" and "must be a pair (bytes, rows)" in str(error)

    def broken():
        yield chunks[0]
        raise KeyError("of the caller's code")

    refused(KeyError, path, broken())
    for codec, kind, code, place in (("u8 = nosuch", zf.InputError, "ZF0201", "the codec of column text"), ("i64 = lz4", zf.InputError, "ZF0703", "the codec of column text"),
                                     ("u8 = bitpack", zf.UsageError, "ZF1509", ""), ("u8? = nullable(values: lz4)", zf.UsageError, "ZF1509", ""),
                                     ("u8 = lz4 | snappy", zf.UsageError, "ZF1509", ""), ("u8 = lz4(bitpack)", zf.UsageError, "ZF1509", ""),
                                     ("string = strings(bytes: lz4)", zf.UsageError, "ZF1509", ""), ("lz4", zf.UsageError, "", "the codec of column text"),
                                     ("u8 = lz4; more: u8 = lz4", zf.UsageError, "", ""), ("u8 = lz4; } table u { x: u8 = lz4", zf.UsageError, "", ""),
                                     ("u8 = \ud800", zf.UsageError, "", "")):
        error = refused(kind, path, chunks, codec)
        assert (error.code, error.place) == (code, place), (codec, error)
    for codecs, kind, says in ((5, TypeError, "codecs must be a mapping"), ({"text": 5}, TypeError, "must be text such as 'u8 = lz4'"), ({}, zf.UsageError, "differ in the columns text"),
                               ({"text": "u8 = lz4", "x": "u8 = lz4"}, zf.UsageError, "differ in the columns x"), (zf.Program(PROGRAM), zf.UsageError, "must have one table"),
                               (zf.Program("table t { x: u8 = lz4; }"), zf.UsageError, "differ in the columns text, x")):
        assert says in str(refused(kind, path, chunks, codecs))
    for more, kind, says in (({"threads": -1}, zf.UsageError, "threads"), ({"rows_per_block": -1}, zf.UsageError, "rows_per_block"), ({"overwrite": False}, zf.ExistsError, "exists already"),
                             ({"metadata": 5}, TypeError, "metadata must be a mapping"), ({"metadata": {"a": 5}}, TypeError, "metadata must be a mapping"),
                             ({"metadata": {"": b""}}, zf.UsageError, "the metadata has the key ''"), ({"metadata": {"zipflow:x": b""}}, zf.UsageError, "begins keys of the package"),
                             ({"metadata": {"a\nb": b""}}, zf.UsageError, "control characters")):
        assert says in str(refused(kind, path, chunks, **more))
    for columns, kind, says in ((5, TypeError, "write_chunks takes a mapping"), ([chunks], TypeError, "not list"), ({}, zf.UsageError, "no columns"), ({5: chunks}, TypeError, "must be text, not int"),
                                ({"": chunks}, zf.UsageError, "no name"), ({"\ud800": chunks}, zf.UsageError, "UTF-8")):
        with pytest.raises(kind, match=says):
            zf.write_chunks(columns, path, {"text": "u8 = lz4"})
    with pytest.raises(zf.InputError, match="column `b c` has 1000 rows, column `a` 0"):
        zf.write_chunks({"a": [], "b c": chunks}, path, {"a": "u8 = lz4", "b c": "u8 = lz4"})
    with pytest.raises(zf.UsageError, match="NUL"):
        zf.write_chunks({"text": chunks}, "a\0b", {"text": "u8 = lz4"})
    with pytest.raises(zf.NoFileError):
        zf.write_chunks({"text": chunks}, path.parent / "none" / "t.zfd", {"text": "u8 = lz4"})


SLOW = """
import os, signal, sys, threading
import zipflow as zf

# Blocks of a chunk each, of 65,536 times the same letter: the call ends soon after the interrupt, and long after it began.
chunk = b"\\x1fa\\x01\\x00" + b"\\xff" * 256 + b"\\xe7\\x50aaaaa"
chunks = {"bytes": chunk, "sizes": [len(chunk)] * 20_000, "rows": [65536] * 20_000, "offsets": [0] * 20_000}
folder, name = sys.argv[1:]

def is_written():
    "Whether the process has a file of the folder open."
    def target(fd):
        try:
            return os.readlink(f"/proc/self/fd/{fd}")
        except OSError:
            return ""
    return any(target(fd).startswith(folder + "/") for fd in os.listdir("/proc/self/fd"))

def interrupt():
    while not is_written():
        pass
    os.kill(os.getpid(), signal.SIGINT)
"""
INTERRUPTED = SLOW + """
threading.Thread(target=interrupt, daemon=True).start()
try:
    zf.write_chunks({"text": chunks}, f"{folder}/{name}", {"text": "u8 = lz4"}, rows_per_block=1)
except KeyboardInterrupt:
    print("interrupted", os.listdir(folder))
"""
ELSEWHERE = SLOW + """
ended = False
def write():
    global ended
    zf.write_chunks({"text": chunks}, f"{folder}/{name}", {"text": "u8 = lz4"}, rows_per_block=1)
    ended = True
thread = threading.Thread(target=write)
thread.start()
while not is_written() and not ended:
    pass
print("seen" if not ended else "only after its end")
thread.join()
print(os.listdir(folder))
"""


@pytest.mark.parametrize(("script", "says"), [(INTERRUPTED, ["interrupted []"]), (ELSEWHERE, ["seen", "['t.zfd']"])])
def test_other_threads_run_meanwhile(tmp_path, script, says):
    """A thread of Python sees the file while it is written, by the main thread, which it interrupts, or by another one."""
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path), "t.zfd"], capture_output=True, text=True, timeout=250)
    assert done.stdout.splitlines() == says, (done.stdout, done.stderr)


@pytest.mark.parametrize("kind", [str, lambda file: file])
def test_files_of_others(path, tmp_path, kind):
    """Members of a .gz file and frames of a .zst file are found; the file has their bytes as they were."""
    data = words(200_000)
    parts = [data[at:at + 65536] for at in range(0, len(data), 65536)]
    for name, packed, codec in (("t.gz", b"".join(map(gzip.compress, [b"", *parts, b""])), "gzip"),
                                ("t.zst", b"".join(pa.Codec("zstd").compress(part, asbytes=True) for part in parts), "zstd")):
        (tmp_path / name).write_bytes(packed)
        assert zf.write_chunks({"text": kind(tmp_path / name)}, path, {"text": f"u8 = {codec}"})["text"][0] == len(data)
        assert packed in path.read_bytes() and read(path) == data


SPLIT = "u8 = zstd_split(steps: zstd_steps(rows: zstd_tables), literals: zstd_literals(code: zstd_codes))"


def test_frames_taken_apart(path):
    """Frames of Zstandard in another form: the rows are the same, and a wrong frame is named with the byte."""
    data = words(200_000)
    parts = [data[at:at + 65536] for at in range(0, len(data), 65536)]
    chunks = [(pa.Codec("zstd").compress(part, asbytes=True), len(part)) for part in parts]
    zf.write_chunks({"text": chunks}, path, {"text": SPLIT}, overwrite=True)
    assert read(path) == data
    assert read(path, rows=slice(65000, 66000)) == data[65000:66000]
    chunks[1] = (chunks[1][0][:-9], len(parts[1]))
    error = refused(zf.InputError, path, chunks, SPLIT)
    assert "taken apart: it ends inside a frame, at byte" in str(error) and error.place.endswith("block 0, chunk 1")


def test_literals_taken_apart(path):
    """Damage of literals, which a stage of its own finds, is of the frame that they are of."""
    # Ten bytes as they are, then a literal of one bit, of whose stream the damaged frame has two.
    good = b"\x28\xb5\x2f\xfd\xa0" + (11).to_bytes(4, "little") + b"\x50\0\0" + b"0123456789" + b"\x3d\0\0\x12\xc0\0\x80\x10\2\0"
    assert zf.write_chunks({"text": [(good, 11)]}, path, {"text": SPLIT})["text"][0] == 11 and read(path) == b"0123456789\0"
    path.unlink()
    error = refused(zf.InputError, path, [(good, 11)] * 3 + [(good[:-2] + b"\6\0", 11)] + [(good, 11)], SPLIT)
    assert error.code == "ZF1306" and error.place.startswith("column text, block 0, chunk 3, element 10 of literals"), error


def test_dictionaries(path):
    """The dictionary of a column comes with its name; `cli.zstd_dictionary` has frames that use theirs."""
    data = words(60_000)
    chunks = [(pa.Codec("zstd").compress(data, asbytes=True), len(data))]
    codec = SPLIT.replace("zstd_split", "zstd_split_dictionary")
    for dictionary in (b"any bytes", bytearray(b"any bytes"), memoryview(b"any bytes"), b""):
        zf.write_chunks({"text": chunks}, path, {"text": codec}, dictionaries={"text": dictionary})
        assert read(path) == data
    with pytest.raises(zf.UsageError, match="needs a dictionary"):
        zf.write_chunks({"text": chunks}, path, {"text": codec})
    with pytest.raises(zf.UsageError, match="has no dictionary"):
        zf.write_chunks({"text": chunks}, path, {"text": SPLIT}, dictionaries={"text": b"any bytes"})
    with pytest.raises(zf.UsageError, match="'other'"):
        zf.write_chunks({"text": chunks}, path, {"text": codec}, dictionaries={"other": b"any bytes"})
    with pytest.raises(TypeError, match="must be bytes, not str"):
        zf.write_chunks({"text": chunks}, path, {"text": codec}, dictionaries={"text": "any text"})
    with pytest.raises(zf.InputError, match="the dictionary is wrong") as error:
        zf.write_chunks({"text": chunks}, path, {"text": codec}, dictionaries={"text": bytes.fromhex("37a430ec0100000000")})
    assert error.value.code == "ZF1512" and error.value.place == "column text"


def test_files_that_are_none(tmp_path):
    """Neither waited for nor replaced."""
    os.mkfifo(tmp_path / "pipe")
    for name in (tmp_path / "pipe", "/dev/null", "/dev/zero", tmp_path):
        with pytest.raises(zf.FileError) as error:
            zf.write_chunks({"text": str(name)}, tmp_path / "t.zfd", {"text": "u8 = zstd"})
        assert error.value.place == str(name)
    packed = gzip.compress(b"abc")
    (tmp_path / "t.gz").write_bytes(packed)
    os.symlink(tmp_path / "t.gz", tmp_path / "link")
    for name in ("t.gz", "link"):
        with pytest.raises(zf.UsageError, match="has the chunks of column 'text'"):
            zf.write_chunks({"text": tmp_path / "t.gz"}, tmp_path / name, {"text": "u8 = gzip"})
    assert (tmp_path / "t.gz").read_bytes() == packed


def test_damaged_files(tmp_path):
    (tmp_path / "out").mkdir()
    path, file = tmp_path / "out" / "t.zfd", tmp_path / "t.gz"
    packed = gzip.compress(b"abc" * 9)
    for content, says, place in ((packed[:-1], "ends inside the member that begins at byte 0", len(packed) - 1), (packed + b"x", "no member of gzip", len(packed)), (b"", "is empty", 0)):
        file.write_bytes(content)
        error = refused(zf.InputError, path, file, "u8 = gzip")
        assert says in str(error) and error.place == f"{file}, byte {place}" and error.code == "ZF1510"
    error = refused(zf.NoFileError, path, tmp_path / "none.gz", "u8 = gzip")
    assert error.place == str(tmp_path / "none.gz")
