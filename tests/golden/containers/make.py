"""Writes a golden container: every type of element, nulls, zones, full names, a schema, metadata, and blocks of any number of rows.

python3 make.py LIBRARY STD OUT.zfd     LIBRARY: libzipflow-compile.so of the build that writes; STD: its dsl/std
python3 make.py ZFC OUT.zfd             a container with uneven chunks: LZ4 blocks of several lengths, by `zfc wrap`
python3 make.py ZFC --lists OUT.zfd     a container of lists

The first calls the C API, since `zfc encode` has no word for a schema. Rows arrive in batches of 1 to 700.
"""
import array
import ctypes
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import table  # noqa: E402

ROWS_PER_BLOCK = 900  # no multiple of 4096, nor of 8: blocks begin within bytes
SCHEMA = b"\xff\xff\xff\xff" + (16).to_bytes(4, "little") + b"no real schema.."  # only the frame of a message is checked
METADATA = (("source", b"tests/golden/containers/table.py"), ("empty", b""), ("binary", bytes(range(256))))


class Metadata(ctypes.Structure):
    _fields_ = [("key", ctypes.c_char_p), ("value", ctypes.c_char_p), ("bytes", ctypes.c_size_t)]


class Column(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("values", ctypes.c_char_p), ("offsets", ctypes.c_char_p), ("validity", ctypes.c_char_p),
                ("full_name", ctypes.c_char_p)]


class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("rows_per_block", ctypes.c_uint64), ("seek_interval", ctypes.c_uint), ("threads", ctypes.c_uint),
                ("overwrite", ctypes.c_bool), ("unfused", ctypes.c_char_p), ("progress", ctypes.c_void_p), ("progress_user", ctypes.c_void_p),
                ("format", ctypes.c_uint), ("schema", ctypes.c_char_p), ("schema_bytes", ctypes.c_size_t), ("metadata", ctypes.POINTER(Metadata)),
                ("metadata_count", ctypes.c_size_t), ("zones", ctypes.c_size_t), ("newer", ctypes.c_uint64 * 8)]  # which a newer library has


class Error(ctypes.Structure):
    _fields_ = [("status", ctypes.c_int), ("number", ctypes.c_int), ("code", ctypes.c_char * 8), ("message", ctypes.c_char * 512),
                ("place", ctypes.c_char * 256), ("hint", ctypes.c_char * 256)]


def full_name(name):
    return f"The column “{name}”"


def batch(columns, begin, end):
    """Columns of rows begin to end, as zf_table_writer_append takes them."""
    made = (Column * len(columns))()
    for to, (name, kind, _, value) in zip(made, columns):
        values, base = [value(k) for k in range(begin, end)], kind.rstrip("?")
        to.name, to.full_name = name.encode(), full_name(name).encode()
        if kind.endswith("?"):
            to.validity = table.bitmap([v is not None for v in values])
        if base == "string":
            ends, text = array.array("q", [0]), bytearray()
            for v in values:
                text += (v or "").encode()
                ends.append(len(text))
            to.values, to.offsets = bytes(text), ends.tobytes()
        elif base == "bool":
            to.values = bytes(bool(v) for v in values)
        else:
            to.values = table.packed(base, values)
    return made


def lz4_block(data, period=16):
    """A block of data with that period: its first bytes, a match, and the last five bytes, which are no match."""
    def more(n):
        return b"" if n < 15 else b"\xff" * ((n - 15) // 255) + bytes([(n - 15) % 255])

    match = len(data) - period - 5
    if match < 12:
        return bytes([min(len(data), 15) << 4]) + more(len(data)) + data
    return (bytes([15 << 4 | min(match - 4, 15)]) + more(period) + data[:period] + period.to_bytes(2, "little") + more(match - 4) +
            bytes([5 << 4]) + data[-5:])


def wrap(zfc, out):
    """Chunks of 1 to 500 rows, with bytes of no chunk between them."""
    (name, kind, codec, value), = table.WRAPPED
    begin, chunks, sizes = 0, b"", ""
    while begin < table.NEWEST_ROWS:
        end = min(table.NEWEST_ROWS, begin + 1 + table.mixed(begin) % 500)
        block = lz4_block(bytes(value(k) for k in range(begin, end)))
        chunks += b"\xee" * (begin % 3)
        sizes += f"{len(block)} {end - begin} {len(chunks)}\n"
        chunks, begin = chunks + block, end
    with tempfile.TemporaryDirectory() as directory:
        program, data = pathlib.Path(directory) / "table.zf", pathlib.Path(directory) / "data"
        program.write_text(f"table golden {{ {name}: {kind} = {codec}; }}\n")
        data.write_bytes(chunks)
        pathlib.Path(f"{data}.sizes").write_text(sizes)
        subprocess.run([zfc, "wrap", "-q", "-f", "--rows-per-block", str(ROWS_PER_BLOCK), "--zones", "-c", program, "-o", out, f"{name}={data}"], check=True)


def operand(name):
    """The name that `zfc encode` has for a file of `zfc decode`."""
    ending = name.rpartition(".")[2]
    return name if ending in ("offsets", "valid", "bytes") else name.rpartition(".")[0]


def lists(zfc, out):
    """Lists whose values are cut into blocks of their own, with zones."""
    with tempfile.TemporaryDirectory() as directory:
        program, words = pathlib.Path(directory) / "table.zf", []
        table.write(pathlib.Path(directory), 0, table.LISTED)
        for name, content in table.raw_files(table.NEWEST_ROWS, 0, table.LISTED).items():
            data = pathlib.Path(directory) / f"{name}.data"
            if name.endswith(".bool"):  # a byte each, as booleans are read
                values = array.array("q", table.raw_files(table.NEWEST_ROWS, 0, table.LISTED)[name.removesuffix(".values.bool") + ".offsets"])[-1]
                content = bytes(content[k // 8] >> k % 8 & 1 for k in range(values))
            data.write_bytes(content)
            words.append(f"{operand(name)}={data}")
        subprocess.run([zfc, "encode", "-q", "-f", "--rows-per-block", str(ROWS_PER_BLOCK), "--zones", "-c", program, "-o", out, *words], check=True)


def main():
    if sys.argv[2] == "--lists":
        return lists(sys.argv[1], sys.argv[3])
    if len(sys.argv) == 3:
        return wrap(*sys.argv[1:])
    library, std, out = sys.argv[1:]
    os.environ["ZIPFLOW_STD"] = std
    zf, error = ctypes.CDLL(library), Error()

    def call(name, *words):
        if getattr(zf, name)(*words, ctypes.byref(error)) != 0:
            sys.exit(f"{name}: {error.code.decode()} {error.message.decode()} ({error.place.decode()})")

    context, compiler, program, writer = (ctypes.c_void_p() for _ in range(4))
    call("zf_context_create", None, ctypes.byref(context))
    call("zf_compiler_create", context, None, ctypes.byref(compiler))
    with tempfile.TemporaryDirectory() as directory:
        table.write(pathlib.Path(directory), 0, table.NEWEST)
        call("zf_program_load", compiler, str(pathlib.Path(directory) / "table.zf").encode(), ctypes.byref(program))
    metadata = (Metadata * len(METADATA))(*[Metadata(key.encode(), value, len(value)) for key, value in METADATA])
    options = Options(size=ctypes.sizeof(Options), rows_per_block=ROWS_PER_BLOCK, overwrite=True, schema=SCHEMA, schema_bytes=len(SCHEMA),
                      metadata=metadata, metadata_count=len(METADATA), zones=1)
    call("zf_table_writer_create", program, None, batch(table.NEWEST, 0, 0), ctypes.c_size_t(len(table.NEWEST)), ctypes.byref(options), out.encode(),
         ctypes.byref(writer))
    begin = 0
    while begin < table.NEWEST_ROWS:
        end = min(table.NEWEST_ROWS, begin + 1 + table.mixed(begin) % 700)
        call("zf_table_writer_append", writer, batch(table.NEWEST, begin, end), ctypes.c_size_t(len(table.NEWEST)), ctypes.c_uint64(end - begin))
        begin = end
    call("zf_table_writer_finish", writer, None)
    for free, what in (("zf_table_writer_free", writer), ("zf_program_free", program), ("zf_compiler_free", compiler), ("zf_context_free", context)):
        getattr(zf, free)(what)
    return None


if __name__ == "__main__":
    main()
