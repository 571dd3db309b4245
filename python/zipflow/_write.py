"""Tables from Arrow to files."""

import _thread
import os

from . import _home, _types
from ._errors import InputError, UnsupportedError, UsageError, ZipflowError, of_system, refuse, utf8
from ._program import Program

# By format of Arrow's C data interface: the type in a table. Strings of all layouts are one type.
# Those of the second line are plain numbers, and come back by the schema that the file keeps, as null and binary do.
_PLAIN = dict(zip("c C s S i I l L f g b u U z Z vu vz tdD".split(),
                  "i8 u8 i16 u16 i32 u32 i64 u64 f32 f64 bool string string string string string string date32".split()))
_PLAIN |= dict(zip("e tdm tts ttm ttu ttn tDs tDm tDu tDn n".split(), "u16 i64 i32 i32 i64 i64 i64 i64 i64 i64 bool".split()))
_NAMES = dict(zip("c C s S i I l L e f g b u U z Z vu vz tdD tdm n +s +l +L +vl +vL +m +r".split(),
                  "int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64 bool utf8 large_utf8 binary large_binary utf8_view "
                  "binary_view date32 date64 null struct list large_list list_view large_list_view map run_end_encoded".split()))
_RESERVED = frozenset("algorithm as break codec const continue else emit extern false fn for fully_parallel group_parallel if import in let loop "
                      "non_parallel null param per refuse require return state table true var while zf".split())


def _name_of(form, children=(), dictionary=None):
    """A type as Arrow calls it, for errors."""
    if dictionary is not None:
        return f"dictionary<values={_name_of(dictionary[0], dictionary[4])}, indices={_name_of(form)}>"
    if form in _NAMES or form.startswith("+w:"):
        name = _NAMES.get(form) or f"fixed_size_list[{form[3:]}]"
        return name + f"<{', '.join(_name_of(*child[::4], child[5]) for child in children[:8])}>" * bool(children)
    if form.startswith("ts"):
        return f"timestamp[{_types.UNITS.get(form[2:3], '?')}{', tz=' * bool(form[4:])}{form[4:]}]"
    if form.startswith("tD"):
        return f"duration[{_types.UNITS.get(form[2:3], '?')}]"
    if form.startswith("tt"):
        return f"time[{_types.UNITS.get(form[2:3], '?')}]"
    if form.startswith("w:"):
        return f"fixed_size_binary[{form[2:]}]"
    if form.startswith("d:"):
        return f"decimal({form[2:].replace(',', ', ')})"
    if form.startswith("ti"):
        return "interval"
    if form.startswith("+u"):
        return "union"
    return f"`{form}`"


def _refused(field, hint="cast it, or leave the column out"):
    form, name, _, _, children, dictionary = field
    return refuse(UnsupportedError, f"column {name!r} has Arrow's type {_name_of(form, children, dictionary)}, which is not supported", name, hint)


def _type_of(field):
    """The type of a field in a table, without its nulls. Refuses what has none."""
    form, name, _, _, children, dictionary = field
    if not _is_lists(form) or dictionary is not None:
        return _flat_type(field)
    if len(children) != 1 or _is_lists(children[0][0]) and children[0][5] is None:
        raise _refused(field, "lists have flat values: cast it, or make a column of each level")
    try:
        return f"list<{_flat_type((children[0][0], name, *children[0][2:]))}{'?' * _is_nullable(children[0])}>"
    except UnsupportedError as error:
        raise _refused(field, error.hint) from None


def _columns(field, children, name, within=False):
    """[(full name, field, numbers of children)] of the columns of a field, in the order of `_types.fields_within`.

    A field that a nullable struct has may be null, since the struct's rows may be. A struct's own column is one of booleans.
    """
    form, _, flags, metadata, fields, dictionary = field
    if form != "+s" or dictionary is not None:
        return [(name, (form, name, flags | _types.NULLABLE * within, metadata, fields, dictionary), children)]
    nullable = bool(flags & _types.NULLABLE)
    columns = [(name, ("b", name, 0, b"", (), None), children)] if _types.has_presence(flags, fields) else []
    for number, child in enumerate(fields):
        columns += _columns(child, (*children, number), f"{name}.{child[1]}", within or nullable)
    return columns


def _flat_type(field):
    import re  # here: it takes time that `import zipflow` need not

    form, name, _, _, _, dictionary = field
    if dictionary is not None:
        if dictionary[0] == "n" or dictionary[5] is not None:
            raise _refused(field)
        form = dictionary[0]
    if form in _PLAIN:
        return _PLAIN[form]
    if form.startswith("w:"):
        return "string"
    if form.startswith("ts") and len(form.encode()) <= 100:
        return "timestamp" if form[2] == "u" else "i64"
    decimal = re.fullmatch(r"d:(\d+),(-?\d+)(?:,\d+)?", form)
    if decimal:
        precision, scale = int(decimal[1]), int(decimal[2])
        if 1 <= precision <= 38 and 0 <= scale <= min(precision, 18):
            return f"decimal({min(precision, 18)}, {scale})"
        raise _refused(field, "decimals have at most 38 digits, and 0 to 18 of them behind the point: cast it")
    raise _refused(field)


def _is_nullable(field):
    return bool(field[2] & _types.NULLABLE) or field[0] == "n" and field[5] is None


def _is_lists(form):
    return form in ("+l", "+L") or form.startswith("+w:")


def identifiers_of(names):
    """An identifier of the language for each name, all different. A name that is one is its own, and no other's."""
    import re  # here: it takes time that `import zipflow` need not

    taken, out = set(names), []
    for number, name in enumerate(names):
        word = re.sub(r"[^A-Za-z0-9_]", "_", name)[:200]
        if not re.match(r"[A-Za-z_]", word) or word in _RESERVED:
            word = f"c_{word}" if word.strip("_") else f"c{number}"
        while word != name and word in taken:
            word += f"_{number}"
        taken.add(word)
        out.append(word)
    return out


def check_names(names):
    seen = set()
    for name in names:
        if name in seen:
            raise refuse(UsageError, f"two columns are called {name!r}", name)
        seen.add(name)
        if not name:
            raise refuse(UsageError, "a column has no name")
        if len(name.encode()) > 4096 or any(ord(c) < 32 or 127 <= ord(c) < 160 for c in name):
            raise refuse(UsageError, f"column {name[:40]!r} has a name of more than 4,096 bytes, or with control characters", name[:40])


def check_keys(pairs, what, hint=""):
    """Refuses keys that a file does not keep, or that are the package's. pairs: (key, value), bytes. what: the metadata, for errors.

    A key is a name, as those of columns are. hint: what to try with a key that is no name.
    """
    own = next((key for key, _ in pairs if key.startswith(_types.OWN_KEYS.encode())), None)
    if own is not None:
        raise refuse(UsageError, f"{what} has the key {own.decode(errors='replace')!r}: {_types.OWN_KEYS} begins keys of the package")
    for key, _ in pairs:
        try:
            text = key.decode()
            fits = 0 < len(key) <= 4096 and not any(ord(c) < 32 or 127 <= ord(c) < 160 for c in text)
        except UnicodeDecodeError:
            text, fits = key, False
        if not fits:
            shown = f"{text[:40]!r}{'...' * (len(text) > 40)}"
            raise refuse(UsageError, f"{what} has the key {shown}, which is empty, longer than 4,096 bytes, no UTF-8, or has control characters",
                         hint=hint)


def check_target(path, rows_per_block, threads):
    """The path of a file that is written, as bytes."""
    target = os.fsencode(path)
    if b"\0" in target:
        raise refuse(UsageError, "a path has no NUL character")
    _home.check_threads(threads)
    if not 0 <= rows_per_block <= 1 << 31:
        raise refuse(UsageError, "rows_per_block must be between 0 and 2^31")
    return target


def _codec_of(kind, nullable):
    """The default codec of a type: a name of dsl/std/defaults.zf."""
    base = "i64" if kind.startswith("decimal") else kind
    return f"default_{base}{'_or_null' * nullable}"


def _table_text(name, fields, identifiers, codecs):
    """The text of a program with one table."""
    import re  # here: it takes time that `import zipflow` need not

    lines = ['import "defaults.zf";', f"table {name} {{"]
    for field, identifier in zip(fields, identifiers):
        nullable = _is_nullable(field)
        kind = _type_of(field)
        of_lists = kind.startswith("list<")
        values = kind[len("list<"):-1].rstrip("?") if of_lists else kind
        values_nullable = _is_nullable(field[4][0]) if of_lists else nullable
        codec = codecs.get(field[1])
        if codec is None:
            codec = _codec_of(values, values_nullable)
        elif values_nullable and not re.search(r"\bnullable\b|_or_null\b", codec):
            codec = f"nullable(validity: rle(plain, bitpack) | plain, values: {codec})"
        if of_lists:
            codec = f"default_i64{', validity: default_bool' * nullable}, values: {codec}"
        lines.append(f"    {identifier}: {kind}{'?' * nullable} = {codec};")
    return "\n".join(lines + ["}", ""])


_programs = {}  # the last ones by text: a program is checked, and its encoders are made, once for tables with the same columns
_PROGRAMS_MOST = 4
_lock = _thread.allocate_lock()  # of _programs


def _in_child():
    global _lock
    _lock = _thread.allocate_lock()


os.register_at_fork(after_in_child=_in_child)


def _program_of(text):
    """The kept program with a text, or a new one, which is kept. Two threads may make the same one; the last is kept."""
    with _lock:
        program = _programs.pop(text, None)
        if program:
            _programs[text] = program
            return program
    program = Program(text, "codecs")  # takes time
    gone = []  # freed without the lock
    with _lock:
        gone.append(_programs.pop(text, None))
        _programs[text] = program
        while len(_programs) > _PROGRAMS_MOST:
            gone.append(_programs.pop(next(iter(_programs))))
    return program


def load(text, names):
    """The program; an error in a codec names the column."""
    import re  # here: it takes time that `import zipflow` need not

    try:
        if os.path.exists("defaults.zf"):  # a file of the user's, which may change
            return Program(text, "codecs")
        return _program_of(text)
    except InputError as error:
        line = re.fullmatch(r"codecs:(\d+):\d+", error.place)
        number = int(line[1]) - 3 if line else -1
        if 0 <= number < len(names):
            error.place = f"the codec of column {names[number]}"
        raise


def _with_pairs(field):
    """The field with its metadata as pairs, and those of its children."""
    return (*field[:3], _types.decode_metadata(field[3]), tuple(_with_pairs(child) for child in field[4]), field[5])


def _source(table):
    """The object that exports an Arrow stream; for a Parquet file pyarrow's reader, batch by batch."""
    if isinstance(table, (str, os.PathLike)):
        path = os.fspath(table)
        if not path.lower().endswith((".parquet", ".pq")):
            raise TypeError(f"write_table takes an Arrow table, or the path of a .parquet file, not {path!r}")
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError:
            raise ImportError("write_table reads .parquet files with pyarrow, which is not installed") from None
        try:
            file = pyarrow.parquet.ParquetFile(path)
        except (OSError, pyarrow.ArrowException) as error:
            if getattr(error, "errno", None):
                raise of_system(error, path) from None
            raise refuse(InputError, f"pyarrow does not read the Parquet file: {error}", path) from None
        return pyarrow.RecordBatchReader.from_batches(file.schema_arrow, file.iter_batches())
    if not hasattr(table, "__arrow_c_stream__"):
        raise TypeError(f"write_table takes an object with __arrow_c_stream__ (pyarrow, polars, DuckDB), not {type(table).__name__}")
    return table


def name_columns(error, names):
    """Errors of the encoder name columns by their identifiers in the program: here they get their names. names: by identifier."""
    import re  # here: it takes time that `import zipflow` need not

    def named(found):
        return found[1] + names.get(found[2], found[2])

    error.place = re.sub(r"^(column )(\w+)(?=, |\.valid|\.values|$)", named, error.place)
    error._message = re.sub(r"(column `)(\w+)(?=`|\.valid|\.values)", named, error._message)


def write_table(table, path, codecs=None, *, overwrite=True, rows_per_block=0, threads=0, zones=False):
    """Encodes a table to the file `path`, and returns {column: (plain bytes, stored bytes)}.

    table: an object with `__arrow_c_stream__` (pyarrow's tables and readers, polars, DuckDB's relations), or the path of a .parquet
    file, which pyarrow reads. Batches are encoded as they come, in the memory of a few blocks of 16 MiB a column.
    codecs: {column: text of a codec}; other columns have the default of their type (dsl/std/defaults.zf). The codec of a column with
    nulls is that of its values, unless it names `nullable`; that of a column of lists is that of their values. The fields of structs are columns with
    names such as `place.x`. Or a Program with one table, whose columns are the table's, by name.
    rows_per_block: 0: 16 MiB of values. threads: 0: one per core. zones: keep minimum, maximum and nulls of every 65,536 rows.

    The file appears under its name when it is complete; nothing is left after an error. Every block is decoded and compared before it
    is written. Raises UnsupportedError (a NotImplementedError) with the column for a type that is not supported; InputError (a
    ValueError) for a codec or data that is wrong; ExistsError (a FileExistsError) where `overwrite` is false and the file is there.
    """
    from . import _compile

    target = check_target(path, rows_per_block, threads)
    stream = _compile.stream(_source(table).__arrow_c_stream__())
    try:
        form, _, _, metadata, fields, _ = stream.schema()
    except UnicodeDecodeError as error:
        raise refuse(InputError, f"a name or a type in the schema of the Arrow stream is not UTF-8: {error.object[:80]!r}") from None
    except ValueError as error:  # nested too deep
        raise refuse(UsageError, str(error)) from None
    if form != "+s":
        raise refuse(UsageError, f"the Arrow stream has values of type {_name_of(form)}, and not the columns of a table")
    flat = [column for number, field in enumerate(fields) for column in _columns(field, (number,), field[1])]
    names = [name for name, _, _ in flat]
    check_names([name for field in fields for name, _, _ in _types.fields_within(field)])
    if not names:
        raise refuse(UsageError, "the table has no columns")
    if isinstance(codecs, Program):
        program = codecs
        has = list(program.columns)
        if not has:
            raise refuse(UsageError, "the program must have one table")
        wrong = set(has) ^ set(names)
        if wrong:
            raise refuse(UsageError, f"the program's table and the data differ in the columns {', '.join(sorted(wrong))}")
        columns = tuple((name.encode(), name.encode(), flat[names.index(name)][2]) for name in has)
    else:
        if codecs is not None and not hasattr(codecs, "items"):
            raise TypeError(f"codecs must be a mapping of columns to codecs, or a Program, not {type(codecs).__name__}")
        codecs = dict(codecs or {})
        for name, codec in codecs.items():
            if name not in names:
                raise refuse(UsageError, f"codecs names the column {name!r}, which the table does not have", hint=f"it has {', '.join(names)}")
            if isinstance(codec, str):
                utf8(codec, f"the codec of column {name!r}")
            else:
                raise TypeError(f"the codec of column {name!r} must be text, not {type(codec).__name__}")
        identifiers = identifiers_of(names)
        program = load(_table_text("data", [field for _, field, _ in flat], identifiers, codecs), names)
        columns = tuple((identifier.encode(), name.encode(), children) for identifier, (name, _, children) in zip(identifiers, flat))
    from . import _ipc

    pairs = tuple(_types.decode_metadata(metadata))
    check_keys(pairs, "the schema's metadata",
               "metadata of fields may have such keys, or leave it out: `table.replace_schema_metadata(None)` of pyarrow")
    schema = _ipc.encode([_with_pairs(field) for field in fields], pairs)
    try:
        stats = stream.write(program._get(), columns, target, bool(overwrite), rows_per_block, threads, bool(zones), schema, pairs)
    except ZipflowError as error:
        name_columns(error, {identifier.decode(): full.decode() for identifier, full, _ in columns})
        raise
    finally:
        _home.drain()
    return {full.decode(): pair for (_, full, _), pair in zip(columns, stats)}
