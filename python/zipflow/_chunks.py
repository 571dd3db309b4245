"""Chunks that other programs compressed, to files as they are."""

import os
import stat

from . import _home
from ._errors import FileError, UsageError, ZipflowError, of_system, refuse, utf8
from ._program import Program
from ._write import check_keys, check_names, check_target, identifiers_of, load, name_columns

_PARTS = ("bytes", "sizes", "rows", "offsets")


def _table_text(identifiers, codecs):
    """The text of a program with one table. Its columns begin in the line in which `load` expects them."""
    lines = [f"    {identifier}: {codec};" for identifier, codec in zip(identifiers, codecs)]
    return "\n".join(['import "defaults.zf";', "table data {", *lines, "}", ""])


def _program_of(codecs, names):
    """(the program, the identifiers of its columns)."""
    if isinstance(codecs, Program):
        has = list(codecs.columns)
        if not has:
            raise refuse(UsageError, "the program must have one table")
        return codecs, has
    if not hasattr(codecs, "items"):
        raise TypeError(f"codecs must be a mapping of columns to types and codecs, or a Program, not {type(codecs).__name__}")
    texts = dict(codecs)
    for name, text in texts.items():
        if not isinstance(text, str):
            raise TypeError(f"the type and codec of column {name!r} must be text such as 'u8 = lz4', not {type(text).__name__}")
        utf8(text, f"the codec of column {name!r}")
        if name in names and "=" not in text:
            raise refuse(UsageError, f"the codec of column {name!r} has no type: {text[:80]!r}", f"the codec of column {name}", "write TYPE = CODEC, such as 'u8 = lz4'")
    _compare(texts, names, "codecs")
    identifiers = identifiers_of(names)
    program = load(_table_text(identifiers, [texts[name] for name in names]), names)
    if list(program.columns) != identifiers:
        raise refuse(UsageError, "codecs has a text that is more than one type and codec", hint="make a Program of longer texts")
    return program, identifiers


def _compare(has, names, what):
    wrong = set(has) ^ set(names)
    if wrong:
        raise refuse(UsageError, f"{what} and the data differ in the columns {', '.join(sorted(map(str, wrong)))}")


def _parts_of_file(path, dictionary):
    """The chunks of a `.gz` or `.zst` file. dictionary: what frames of Zstandard were compressed with, or None."""
    from array import array  # here: `import zipflow` need not wait for it

    from . import _compile

    path = os.fsdecode(path)
    try:
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:  # which does not wait for a pipe
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise refuse(FileError, "cannot open the file: it is not a regular file", path)
            data = file.read()
    except OSError as error:
        if isinstance(error, ZipflowError):
            raise
        raise of_system(error, path) from None
    sizes, rows = _compile.find_chunks(os.fsencode(path), data, dictionary)
    return data, array("Q", sizes), array("Q", rows), None


def _parts_of(chunks, name, dictionary):
    """The chunks of a column as the compiler takes them: an iterable of pairs, or the parts of one buffer."""
    if isinstance(chunks, (str, os.PathLike)):
        return _parts_of_file(chunks, dictionary)
    if not hasattr(chunks, "items"):
        return (chunks,)
    parts = dict(chunks)
    lacks, more = set(_PARTS[:3]) - set(parts), [part for part in parts if part not in _PARTS]
    if lacks or more:
        raise refuse(UsageError, f"the chunks of column {name!r} need bytes, sizes and rows, and may have offsets: " +
                     (f"they have {more[0]!r}" if more else f"they lack {', '.join(sorted(lacks))}"), f"column {name}")
    return tuple(map(parts.get, _PARTS))


def _dictionaries_of(dictionaries, names):
    """The dictionaries of columns, as bytes."""
    if not hasattr(dictionaries, "items"):
        raise TypeError(f"dictionaries must be a mapping of columns to bytes, not {type(dictionaries).__name__}")
    texts = dict(dictionaries)
    for name, text in texts.items():
        if name not in names:
            raise refuse(UsageError, f"dictionaries has a column that the data lack: {name!r}")
        if not isinstance(text, (bytes, bytearray, memoryview)):
            raise TypeError(f"the dictionary of column {name!r} must be bytes, not {type(text).__name__}")
    return {name: bytes(text) for name, text in texts.items()}


def _pairs_of(metadata):
    """Keys and values as bytes."""
    if not hasattr(metadata, "items"):
        raise TypeError(f"metadata must be a mapping of text to bytes or text, not {type(metadata).__name__}")
    pairs = []
    for key, value in metadata.items():
        if not isinstance(key, str) or not isinstance(value, (bytes, bytearray, str)):
            raise TypeError(f"metadata must be a mapping of text to bytes or text, not of {type(key).__name__} to {type(value).__name__}")
        pairs.append((utf8(key, "a key of the metadata"), utf8(value, f"the metadata of {key!r}") if isinstance(value, str) else bytes(value)))
    check_keys(pairs, "the metadata")
    return tuple(pairs)


def write_chunks(columns, path, codecs, *, overwrite=True, rows_per_block=0, threads=0, zones=False, metadata=None, dictionaries=None):
    """Writes chunks that other programs compressed to the file `path`, as they are, and returns {column: (plain bytes, stored bytes)}.

    columns: {column: chunks}, in the order of the column's rows. Chunks are an iterable of pairs (bytes, rows): bytes-like data that is
    contiguous, such as an LZ4 block, and the number of rows that it decodes to. Or, for chunks that lie in one buffer, a mapping: "bytes",
    the buffer; "sizes" and "rows", for each chunk its bytes and its rows; "offsets", the byte at which each begins, which may be left out
    where chunks follow each other and are the whole buffer. Chunks that
    have offsets may overlap, and leave bytes out. Sizes, rows and offsets are arrays of any type of integer, of one dimension (NumPy,
    `array`), or sequences of integers. Or the path of a `.gz` or `.zst` file, for a column of bytes: each member of gzip, block of BGZF and
    frame of Zstandard is a chunk, and members without bytes and skippable frames go with one. zlib or libzstd must be installed where the
    file does not tell how long they are. All columns have as many rows.
    codecs: {column: "TYPE = CODEC"}, such as {"text": "u8 = lz4"}, or a Program with one table, whose columns are those of the data, by
    name. The codec is a `non_parallel` algorithm with one stream `u8[] per chunk`, without alternatives; rows are neither null, strings nor
    lists. A chunk has at most the rows that the codec's `chunk: N` says; chunks of booleans have a multiple of 8, but for a block's last.
    rows_per_block: the rows from which on a block takes no more chunks; 0: 16 MiB of values. threads: 0: one per core. zones: keep minimum
    and maximum of every 65,536 rows. metadata: {key: bytes or text}, which the file keeps (`File.metadata`). dictionaries: {column: bytes},
    for columns whose codec is `zstd_split_dictionary`: what the frames were compressed with. Each frame is a chunk then.

    No chunk is copied before its block is written; objects are held until the call ends, and must not change meanwhile. Every block is
    decoded before it is written, so that wrong sizes and damaged bytes are found; rows are compared with nothing, since their source is
    not known. The file appears under its name when it is complete; nothing is left after an error, or after an interrupt, which ends the
    call at the next block. Raises UsageError (a ValueError) for arguments, objects and numbers that are wrong, and for a codec that takes
    no chunks; InputError (a ValueError) for the text of a codec that is wrong, a chunk that has no rows or too many, or that does not decode
    to its rows. Where a chunk is wrong, `place` has its column and its number, from 0. Raises ExistsError (a FileExistsError) where
    `overwrite` is false and the file is there. Exceptions of the iterators pass.
    """
    from . import _compile

    target = check_target(path, rows_per_block, threads)
    if not hasattr(columns, "items"):
        raise TypeError(f"write_chunks takes a mapping of columns to chunks, not {type(columns).__name__}")
    columns = dict(columns)
    for name in columns:
        if not isinstance(name, str):
            raise TypeError(f"the name of a column must be text, not {type(name).__name__}")
        utf8(name, "the name of a column")
    names = list(columns)
    check_names(names)
    if not names:
        raise refuse(UsageError, "the table has no columns")
    pairs = _pairs_of(metadata or {})
    program, identifiers = _program_of(codecs, names)
    if isinstance(codecs, Program):
        _compare(identifiers, names, "the program's table")
        names = identifiers
    for name, chunks in columns.items():
        if isinstance(chunks, (str, os.PathLike)) and os.path.exists(chunks) and os.path.exists(target) and os.path.samefile(chunks, target):
            raise refuse(UsageError, f"the file that is written has the chunks of column {name!r}", os.fsdecode(target))
    texts = _dictionaries_of({} if dictionaries is None else dictionaries, names)
    given = tuple((identifier.encode(), name.encode(), texts.get(name), *_parts_of(columns[name], name, texts.get(name)))
                  for identifier, name in zip(identifiers, names))
    try:
        stats = _compile.wrap(program._get(), given, target, bool(overwrite), rows_per_block, threads, bool(zones), pairs)
    except ZipflowError as error:
        name_columns(error, dict(zip(identifiers, names)))
        raise
    finally:
        _home.drain()
    return dict(zip(names, stats))
