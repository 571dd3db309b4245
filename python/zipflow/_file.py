"""Files: opened lazily, read by columns and rows."""

import _thread
import io as _io
import itertools
import os

from . import _gpu, _home, _runtime, _types
from ._errors import ColumnError, InputError, UsageError, refuse, utf8
from ._table import Column, DeviceTable, StructColumn, Table


_ENDS, _VALUES = 1, 3  # zf_list_part


class Field:
    """A column of a file: its name, its type, and how it is stored."""

    __slots__ = ("name", "identifier", "_number", "type", "nullable", "codec", "format", "rows", "blocks", "rows_per_block", "plain_bytes", "stored_bytes",
                 "dictionary", "fields", "_zones", "_values", "_arrow", "_entries", "_digits")

    def __init__(self, number, parts, kept, entries):
        """number: its first column. parts: the facts of its columns: one, or of lists the ends, the validity if they have one, and the
        values. kept: what the file's schema says of it, or None. entries: those that the file keeps of a dictionary, or None."""
        self._number = number
        (self.identifier, self.name, _, _, _, _, self.nullable, self.type, self.codec, self.blocks,
         self.rows_per_block, self.plain_bytes, self.stored_bytes, self._zones, part, self.rows) = parts[0]
        self._arrow, self._entries = _types.field_of(self.name, parts, kept), entries
        self._digits = parts[-1][4]  # of decimals, the precision
        self.format = self._arrow[1]
        self.dictionary = self._arrow[5] and self._arrow[5][1]
        self._values, self.fields = None, ()
        if part == _ENDS:
            self._values = parts[-1]
            self.nullable = len(parts) == 3
            self.codec += "".join(f", {'values' if facts[-2] == _VALUES else 'validity'}: {facts[8]}" for facts in parts[1:])
            self.plain_bytes, self.stored_bytes = (sum(facts[k] for facts in parts) for k in (11, 12))

    @classmethod
    def _of_struct(cls, kept, columns, rows):
        """A struct. kept: its field in the file's schema. columns: those of its fields, and its own, in the order of `_types.fields_within`."""
        self = cls.__new__(cls)
        self.fields, self.name, self.identifier, self._number, self.rows = tuple(columns), kept[1], kept[1], None, rows
        self._arrow = _types.struct_of(kept, (column._arrow for column in columns))
        self.format, self.nullable, self.dictionary, self._values, self._entries = "+s", bool(kept[2] & _types.NULLABLE), None, None, None
        self.type = _struct_type(kept, iter(columns))
        self.codec = ", ".join(f"{column.name}: {column.codec}" for column in columns)
        self.blocks, self.plain_bytes, self.stored_bytes, self._zones = (
            sum(getattr(column, fact) for column in columns) for fact in ("blocks", "plain_bytes", "stored_bytes", "_zones"))
        self.rows_per_block = 0
        return self

    @property
    def ratio(self):
        """Plain bytes for each stored byte."""
        return self.plain_bytes / self.stored_bytes if self.stored_bytes else 0.0

    def __repr__(self):
        return f"<zipflow.Field {self.name}: {self.type} = {self.codec}>"


class Schema:
    """The fields of a file: by position, by name, in order; the fields of structs by names such as `place.x`. Exports `__arrow_c_schema__`."""

    __slots__ = ("_fields", "_named", "_metadata")

    def __init__(self, fields, metadata):
        self._fields, self._metadata = fields, metadata
        within = [field for top in fields for field in top.fields]
        self._named = {field.identifier: field for field in [*within, *fields]}
        self._named.update((field.name, field) for field in [*within, *fields])  # a full name goes before an identifier, a struct before its own column

    @property
    def names(self):
        """The names of the columns."""
        return [field.name for field in self._fields]

    def __len__(self):
        return len(self._fields)

    def __iter__(self):
        return iter(self._fields)

    def __contains__(self, name):
        return name in self._named

    def __getitem__(self, key):
        if isinstance(key, int):
            return self._fields[key]
        if key in self._named:
            return self._named[key]
        raise refuse(ColumnError, f"the file has no column {key!r}", hint=f"it has {', '.join(self.names) or 'none'}")

    def __arrow_c_schema__(self):
        return _runtime.export_schema(tuple(field._arrow for field in self._fields), self._metadata)

    def __repr__(self):
        return "\n".join(f"{field.name}: {field.type} = {field.codec}" for field in self._fields)


class Batches:
    """Columns, or some rows of them, as an Arrow stream that is decoded block by block, in the memory of about a block of each column.

    Each call of `__arrow_c_stream__` begins a stream of its own, which keeps the file open: `pyarrow.RecordBatchReader.from_stream(b)`.
    """

    __slots__ = ("_file", "_fields", "_begin", "_count", "_threads", "_binary")

    def __init__(self, file, fields, begin, count, threads, binary):
        self._file, self._fields, self._begin, self._count, self._threads, self._binary = file, fields, begin, count, threads, binary

    def __arrow_c_stream__(self, requested_schema=None):
        container, owner = self._file._opened()
        _home.with_compiler(owner)
        arrow = [arrow for _, arrow in self._fields]
        wanted = _types.wanted_fields(requested_schema, [field[0] for field in arrow]) if requested_schema is not None else ()
        arrow = list(map(_types.as_wanted, arrow, wanted)) if wanted else arrow
        columns = []
        for (field, _), form in zip(self._fields, arrow):
            if field.fields:
                columns += ((column._number, _types.as_bytes(column._arrow) if self._binary else column._arrow, column._entries) for column in field.fields)
            else:
                columns.append((field._number, form, field._entries))
        return container.batches(tuple(columns), tuple(arrow), self._begin, self._count, self._threads, self._file.schema._metadata)

    def __arrow_c_schema__(self):
        return _runtime.export_schema(tuple(arrow for _, arrow in self._fields), self._file.schema._metadata)

    def __repr__(self):
        return f"<zipflow.Batches: {self._count:,} rows, {len(self._fields)} columns of {self._file.name}>"


class File:
    """An open file. Only its index was read: `read` decodes.

    A context manager. Several threads may read one file. A table that was read does not need the file any more. A child that was
    forked opens it anew by its path, or in the same memory. Files that were opened by path or from bytes can be pickled.
    """

    __slots__ = ("_source", "_programs", "_name", "_kind", "_open_in", "_lock", "_index", "_path", "_footer", "_coded", "__weakref__")

    def __init__(self, source, programs="all"):
        if programs not in ("all", "known"):
            raise refuse(UsageError, f'programs must be "all" or "known", not {programs!r}')
        self._source, self._programs = source, programs
        self._open_in = None  # (container, Home) of the process that opened it, always together; None: closed
        self._lock = _thread.allocate_lock()
        self._path = self._footer = None
        if isinstance(source, (str, os.PathLike)):
            self._kind, self._name = 0, os.fspath(source)
        elif _is_bytes(source):
            self._kind, self._name = 1, "(memory)"
        elif hasattr(source, "read") and hasattr(source, "seek"):
            self._kind, self._name = 2, str(getattr(source, "name", "(file object)"))
        else:
            raise TypeError(f"open takes a path, bytes, or a file object with read and seek, not {type(source).__name__}")
        self._open()

    def _open(self):
        source = self._source
        owner = _home.home()
        name = os.fsencode(self._name)
        if self._kind == 0:
            if b"\0" in name:
                raise refuse(UsageError, "a path has no NUL character")
            if self._path is None:  # for children and pickles, whose working directory may be another
                self._path = os.path.abspath(self._name)
            elif _footer(self._path) != self._footer:
                raise refuse(InputError, "the file is another one than when it was opened", self._path)
            source = os.fsencode(self._path) if self._footer is not None else name
        elif self._kind == 2:
            source = _reader(source)
        container = _runtime.open(owner, source, name.replace(b"\0", b"?"), self._kind, self._programs == "known")
        if self._kind == 0 and self._footer is None:
            self._footer = _footer(self._path)
        table, rows, size, schema, metadata = container.facts()
        columns, kept = container.columns(), {}
        if schema is not None:
            from . import _ipc

            kept = _ipc.fields(schema, len(columns))
        grouped = []
        for number, facts in enumerate(columns):
            if facts[-2] > _ENDS:
                grouped[-1][1].append(facts)
            else:
                grouped.append((number, [facts]))
        entries = {key: value for key, value in metadata if key.startswith(_types.OWN_KEYS)}
        pairs = [(key, value) for key, value in metadata if key not in entries]
        fields = _fields_of(grouped, kept, entries, rows)
        self._index = table, rows, size, schema, dict(pairs), Schema(fields, _types.encode_metadata(pairs))
        self._coded = set()  # columns whose code was got
        self._open_in = container, owner
        _home.drain(owner)

    def _opened(self):
        """The container and its Home, in a process that may use them."""
        opened, owner = self._open_in, _home.home()
        if opened is not None and opened[1] is owner:
            return opened  # without the lock, which another thread may have had at a fork
        with self._lock:
            if self._open_in is None:
                raise ValueError("the file is closed")
            if self._open_in[1] is not owner:  # another process
                if self._kind == 2:
                    raise RuntimeError("the file was opened through a file object before a fork: open it in the child")
                self._open()
            return self._open_in

    # ---- Facts

    @property
    def name(self):
        """The path, or what stands for it in errors."""
        return self._name

    @property
    def table_name(self):
        """The name of the table."""
        return self._index[0]

    @property
    def num_rows(self):
        """The number of rows."""
        return self._index[1]

    @property
    def nbytes(self):
        """The size of the file in bytes."""
        return self._index[2]

    @property
    def arrow_schema(self):
        """The Arrow schema that the file keeps, an IPC message; None where it keeps none."""
        return self._index[3]

    @property
    def metadata(self):
        """Keys and values (bytes) that the file keeps."""
        return dict(self._index[4])

    @property
    def schema(self):
        """The columns: names, types, codecs, bytes."""
        return self._index[5]

    @property
    def closed(self):
        """Whether the file is closed."""
        return self._open_in is None

    def __len__(self):
        return self.num_rows

    def __bool__(self):
        return True  # a file of no rows is a file

    def __arrow_c_schema__(self):
        return self.schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema=None):
        return self.batches().__arrow_c_stream__(requested_schema)

    def __repr__(self):
        lines = [("column", "type", "rows", "bytes", "ratio", "codec")]
        lines += [(f.name, f.type, f"{f.rows:,}", f"{f.stored_bytes:,}", f"{f.ratio:.2f}", f.codec) for f in self.schema]
        lines = [tuple(_cut(cell, most) for cell, most in zip(line, (32, 24, 20, 20, 12, 60))) for line in lines]
        widths = [max(len(line[k]) for line in lines) for k in range(6)]
        head = f"{self._name}: table {self.table_name}, {self.num_rows:,} rows, {len(self.schema)} columns, {self.nbytes:,} bytes"
        rows = ["  " + "  ".join(cell.rjust(width) if 2 <= k <= 4 else cell.ljust(width) for k, (cell, width) in enumerate(zip(line, widths)))
                for line in lines]
        return "\n".join([head] + [row.rstrip() for row in rows])

    def explain(self, name):
        """How a column is stored, as text. Kernels are shown by `python -m zipflow explain FILE:COLUMN`."""
        field = self.schema[name]
        if field.fields:
            lines = [f"{field.name}: {field.type}", *(self._explain(column) for column in field.fields)]
            return "\n".join(lines)
        return self._explain(field)

    def _explain(self, field):
        per_block = f"{field.rows_per_block:,} rows a block" if field.rows_per_block else "blocks of different numbers of rows"
        lines = [f"{field.name}: {field.type}",
                 f"  codec    {field.codec}",
                 f"  rows     {field.rows:,} in {field.blocks:,} block{'s' * (field.blocks != 1)}, {per_block}",
                 f"  bytes    {field.plain_bytes:,} plain, {field.stored_bytes:,} stored: ratio {field.ratio:.2f}",
                 f"  Arrow    `{field.format}`{f', dictionary of `{field.dictionary}`' if field.dictionary else ''}{', nullable' * field.nullable}"]
        if field._zones:
            lines.append(f"  zones    {field._zones:,}, of 65,536 rows")
        return "\n".join(lines)

    # ---- Reading

    def _rows(self, rows):
        """The first row and the number of rows of a slice."""
        if rows is None:
            return 0, self.num_rows
        if not isinstance(rows, slice):
            raise TypeError(f"rows must be a slice, not {type(rows).__name__}")
        begin, end, step = rows.indices(self.num_rows)
        if step != 1:
            raise refuse(UsageError, f"rows must be a slice with a step of 1, not {step}")
        return begin, max(end - begin, 0)

    def _fields(self, columns, container):
        if columns is None:
            return list(self.schema)
        if isinstance(columns, (str, bytes)):
            raise TypeError(f"columns must be a list of names: [{columns!r}]")
        fields = []
        for name in columns:
            if not isinstance(name, str):
                raise TypeError(f"the name of a column is text, not {type(name).__name__}")
            if name not in self.schema:
                raise self._no_column(container, name)
            fields.append(self.schema[name])
        names = [field.name for field in fields]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise refuse(UsageError, f"column {twice!r} is wanted twice")
        return fields

    def _no_column(self, container, name):
        """The error of a name that no column has. The library counts parts of lists as columns, so it may know one or come near to one."""
        utf8(name, "the name of a column")
        error = refuse(ColumnError, f"{name!r} is a part of a column of lists, and not read by itself", self._name)
        try:
            container.find(name)
        except ColumnError as unknown:
            error = unknown
            if not any(field._values is not None for field in self.schema._named.values()):
                return error
        import difflib  # here: it takes time that `import zipflow` need not

        lists = [field.name for field in self.schema._named.values() if field._values is not None and name.startswith(f"{field.name}.")]
        near = lists or difflib.get_close_matches(name, list(self.schema._named), 1)
        error.hint = f"did you mean {near[0]}?" if near else f"it has {', '.join(self.schema.names)}"
        error.code = "ZF1105"
        return error

    def sizes(self, columns=None, rows=None):
        """Bytes that `read` needs for each column, by name: {"values": ..., "offsets": ..., "validity": ..., "workspace": ...}.

        `values` of some rows of strings is an upper bound; of lists it is all that their values take, of all rows. `workspace` is freed before `read` returns.
        """
        container, owner = self._opened()
        begin, count = self._rows(rows)
        fields = self._fields(columns, container)
        _home.with_compiler(owner)
        try:
            return {field.name: _sizes(container, field, begin, count) for field in fields}
        finally:
            _home.drain(owner)

    def read(self, columns=None, rows=None, *, device="cpu", threads=0, binary=False, stream=None, allocator=None, out=None):
        """Decodes columns into host memory, and returns a Table; or into a GPU's memory, and returns a DeviceTable.

        columns: names, in the order of the result; None: all. rows: a slice; None: all. device: "cpu", or a GPU such as "cuda:0", also
        as torch.device; "cuda" is the first. threads: on the CPU, which also decodes the ends of lists; 0: one per core. binary: strings are bytes, which need not be UTF-8.

        On a GPU the rows are there, and checked, when the call returns. stream: memory comes and goes in the order of this stream of
        CUDA, and rows are written behind its work; None: the default stream. The columns keep a stream object; a number must name a
        stream that outlives them. Work on other streams is not waited for when a column goes: keep it until they have passed. allocator(nbytes, stream): makes memory, aligned to 256 bytes, for use on that stream (a number);
        it returns an object with `__cuda_array_interface__`, which the columns keep. None: the driver's pool.

        out: {column: memory that its rows are decoded into}; the columns of the result share it, and keep it. On the CPU it has the buffer
        protocol (NumPy, bytearray) or DLPack (torch), on a GPU `__cuda_array_interface__`. It has the type and the shape of the rows,
        (rows,) or of lists of one length (rows, length): numbers; dates, times and decimals of 64 bits as their integers; booleans as
        bytes of a bitmap. Bytes (u8) of the same size do for any type. Or {column: {part: memory}}, of the parts that `sizes` names:
        "values", "validity" (bytes of a bitmap) and, of strings, "offsets" (i64). Others are refused (UnsupportedError), as are lists of
        which one is null. Memory of a GPU is aligned to 256 bytes and may be longer, since kernels write whole words; rows begin where a
        block does. Columns that it does not name get memory of their own. After an error its contents are unspecified.

        Raises ColumnError (a KeyError) for an unknown column, InputError (a ValueError) for a damaged file or, on CPUs and unless
        `binary`, a string that is not UTF-8, FileError (an OSError) if the file cannot be read, ValueError if it is closed, DeviceError
        for a GPU that is absent, fails or has no memory, UsageError (a ValueError) for `out` of another type or shape, that is read-only,
        not contiguous or not aligned, or that overlaps.
        """
        container, owner = self._opened()
        place, fields, begin, count = self._wanted(container, owner, columns, rows, device, threads, stream, allocator)
        try:
            return self._read(container, place, fields, begin, count, threads, binary, stream, allocator, out)
        finally:
            _home.drain(owner)

    def _wanted(self, container, owner, columns, rows, device, threads, stream, allocator):
        """The place, fields and rows of the arguments of `read`, which are checked; the compiler is there then."""
        begin, count = self._rows(rows)
        fields = self._fields(columns, container)
        _home.check_threads(threads)
        place = _gpu.device_name(device)
        if place == "cpu" and (stream is not None or allocator is not None):
            raise refuse(UsageError, "stream and allocator are for GPUs, and device is the CPU")
        _home.with_compiler(owner)
        return place, fields, begin, count

    def _read(self, container, place, fields, begin, count, threads, binary, stream, allocator, out):
        if place != "cpu":
            fields = _flat(fields)
            columns = _gpu.read(container.decode_gpu, container, place, fields, begin, count, threads, stream, allocator, binary, out)
            return DeviceTable(columns, count, place, self.schema._metadata)
        given = self._given(container, fields, begin, count, binary, out)
        self._obtain(container, fields, begin, count, threads)
        return Table([_decode(container, field, begin, count, threads, binary, memory) for field, memory in zip(fields, given)], count,
                     self.schema._metadata)

    def _obtain(self, container, fields, begin, count, threads):
        """Gets the code of columns over several threads: each is decoded behind the other. Once; a file that is far reads nothing for it."""
        if self._kind == 2 or count == 0:
            return
        numbers = [column._number for field in fields for column in (field.fields or (field,)) if column._values is None]
        fresh = [number for number in numbers if number not in self._coded]
        if len(fresh) > 1:
            container.obtain(tuple(fresh), begin, count, threads)
            self._coded.update(fresh)

    def _given(self, container, fields, begin, count, binary, out):
        """The memory of `out`, by column."""
        if out is None:
            return [None] * len(fields)
        from . import _out

        source = None
        if self._kind == 1:
            source = _runtime.buffer_address(self._source), memoryview(self._source).nbytes
        arrow = [_types.as_bytes(field._arrow) if binary else field._arrow for field in fields]
        return _out.take(out, arrow, count, lambda k: _sizes(container, fields[k], begin, count), _out.on_host, source)

    def read_async(self, columns=None, rows=None, *, device="cpu", threads=0, binary=False, stream=None, allocator=None, out=None):
        """Begins what `read` does with the same arguments, and returns a Pending.

        On a GPU the ends of lists are decoded before the call returns, and code is compiled. A file object is read on the thread that
        calls `read`, so files that were opened through one are refused. Raises as `read` does where that is known at once.
        """
        from . import _pending

        container, owner = self._opened()
        if self._kind == 2:
            raise refuse(UsageError, "a file object is read on the thread that calls read: open a path or bytes for read_async", self._name)
        place, fields, begin, count = self._wanted(container, owner, columns, rows, device, threads, stream, allocator)
        fields = fields if place == "cpu" else _flat(fields)
        names, metadata = [field.name for field in fields], self.schema._metadata
        if place == "cpu":
            given = self._given(container, fields, begin, count, binary, out)
            return _pending.Pending(names, lambda k: _decode(container, fields[k], begin, count, threads, binary, given[k]), None,
                                    lambda done: Table(done, count, metadata))
        try:
            reading = _gpu.read(container.start_gpu, container, place, fields, begin, count, threads, stream, allocator, binary, out)
        finally:
            _home.drain(owner)
        return _pending.Pending(names, reading.wait, reading, lambda done: DeviceTable(done, count, place, metadata))

    def batches(self, columns=None, rows=None, *, threads=0, binary=False):
        """Columns as an Arrow stream that is decoded block by block, a Batches. The arguments are those of `read`, into host memory.

        A batch has as many rows as all columns have in one block. Faults of a block are errors of the consumer that asks for it.
        """
        container, _ = self._opened()
        begin, count = self._rows(rows)
        _home.check_threads(threads)
        fields = self._fields(columns, container)
        return Batches(self, [(field, _types.as_bytes(field._arrow) if binary else field._arrow) for field in fields], begin, count, threads, binary)

    # ---- Life

    def close(self):
        """Closes the file. Reads that other threads have begun end first; tables stay."""
        with self._lock:
            opened, self._open_in = self._open_in, None
        if opened is not None:
            opened[0].close()

    def __enter__(self):
        self._opened()
        return self

    def __exit__(self, *_):
        self.close()

    def __reduce__(self):
        self._opened()
        if self._kind == 0:
            return _again, (self._path, self._footer, self._programs)
        if self._kind == 1:
            return File, (bytes(self._source), self._programs)
        raise TypeError("a file that was opened through a file object cannot be pickled")



def _fields_of(grouped, kept, entries, rows):
    """The fields of a file. grouped: (number, facts of its parts) of each column; kept: by name, what the schema says; entries: by key."""
    places = {facts[0][1]: k for k, (_, facts) in enumerate(grouped)}
    own, structs, within = dict(kept), {}, set()  # own: with what the schema says of structs' columns; structs: by their first column
    known = [_types.fields_within(field) for field in kept.values()]
    seen, twice = set(), set()
    for name, _, _ in itertools.chain.from_iterable(known):
        (twice if name in seen else seen).add(name)
    for field, full in zip(kept.values(), known):
        if field[0] == "+s" and field[5] is None:
            columns = [(name, of) for name, of, is_column in full if is_column]
            names = [name for name, _ in columns]
            # A schema that says something else than the columns are is not believed: it names each column once, and has no other struct of its name.
            fits = all(name not in twice and (name in places) == is_column for name, _, is_column in full)
            if fits and all(of is not None or _is_presence(grouped[places[name]][1]) for name, of in columns):
                own.update(columns)
                structs[places[names[0]]] = field, [places[name] for name in names]
                within.update(places[name] for name in names)
    made = [Field(number, facts, own.get(facts[0][1]), entries.get(f"{_types.OWN_KEYS}dictionary:{k}")) for k, (number, facts) in enumerate(grouped)]
    fields = []
    for k, field in enumerate(made):
        if k in structs:
            fields.append(Field._of_struct(structs[k][0], [made[one] for one in structs[k][1]], rows))
        elif k not in within:
            fields.append(field)
    return fields


def _struct_type(kept, columns):
    """The type of a field that a struct has, or of one that is a struct: in the names of a program's types."""
    if kept[0] != "+s" or kept[5] is not None:
        return next(columns).type
    nullable = bool(kept[2] & _types.NULLABLE)
    if _types.has_presence(kept[2], kept[4]):
        next(columns)
    return f"struct<{', '.join(f'{child[1]}: {_struct_type(child, columns)}' for child in kept[4])}>{'?' * nullable}"


def _is_presence(facts):
    """Whether a column says which rows of a struct are there: booleans that are not null."""
    _, _, element, logical, _, _, nullable = facts[0][:7]
    return len(facts) == 1 and _types.ELEMENTS[element] == "bool" and not logical and not nullable


def _flat(fields):
    """The columns of fields: a GPU has those of structs as columns of their own."""
    flat = {column.name: column for field in fields for column in (field.fields or (field,))}
    return list(flat.values())


def _decode(container, field, begin, count, threads, binary, given):
    """A column in host memory. given: what _out.take says of it, or None."""
    if field.fields:
        columns = tuple(_decode(container, column, begin, count, threads, binary, None) for column in field.fields)
        return StructColumn(_types.as_bytes(field._arrow) if binary else field._arrow, columns, count)
    arrow = _types.as_bytes(field._arrow) if binary else field._arrow
    return container.decode(Column, field._number, begin, count, threads, arrow, field._entries, given)


def _sizes(container, field, begin, count):
    if field.fields:
        sizes = [_sizes(container, column, begin, count) for column in field.fields]
        return {part: max(size[part] for size in sizes) if part == "workspace" else sum(size[part] for size in sizes) for part in sizes[0]}
    number = field._number
    values, offsets, validity, workspace = container.sizes(number, begin, count, 0)
    if field._values is not None:  # ends, which become offsets
        of = container.sizes(number + 1 + field.nullable, 0, field._values[-1], 0)
        values, offsets, validity, workspace = sum(of[:3]), 8 * (count + 1), (count + 7) // 8 * field.nullable, max(workspace, of[3])
    values = max(values, count * _types.row_length(field.format))  # rows of one length have it where they are null, too
    return {"values": values, "offsets": offsets, "validity": validity, "workspace": workspace}


def _footer(path):
    """The end of a file, which has the checksum of its index."""
    with _io.open(path, "rb") as file:
        if file.seek(0, os.SEEK_END) >= 64:
            file.seek(-64, os.SEEK_END)
        return file.read()


def _again(path, footer, programs):
    """Opens a file that was pickled, if it is still the one that was opened."""
    if _footer(path) != footer:
        raise refuse(InputError, "the file is another one than when it was opened", os.fspath(path))
    return File(path, programs)


def _is_bytes(source):
    try:
        memoryview(source).release()
    except TypeError:
        return False
    return True


def _reader(file):
    """(read(offset, bytes), size) of a file object; one of fsspec is read by ranges of its file system, since it fills a cache itself."""
    fs, path, size = (getattr(file, name, None) for name in ("fs", "path", "size"))
    if callable(getattr(fs, "cat_file", None)) and isinstance(path, str) and isinstance(size, int) and getattr(file, "compression", None) is None:
        return lambda offset, count: fs.cat_file(path, start=offset, end=offset + count), size
    size = file.seek(0, os.SEEK_END)
    if size is None:
        size = file.tell()

    def read(offset, count):
        file.seek(offset)
        return file.read(count)

    return read, size


def _cut(text, most):
    return text if len(text) <= most else text[:most - 3] + "..."


def open(source, *, programs="all"):
    """Opens a file of zipflow: a path, bytes-like data, or a file object with `read` and `seek`.

    Reads and checks the index, and no more. The data of bytes must not change while the file is open. A file object is read by
    ranges, from the thread that reads the file; close it after the File.

    programs: the decoders that the file may bring: "all", or "known": the library's (dsl/std), by the hash of their text. A read of a
    file with others raises InputError (ZF1218) before any of them is compiled. Pickles and forked children keep it.

    Raises FileError (an OSError; NoFileError is a FileNotFoundError) if it cannot be opened, InputError (a ValueError) if it is not a
    file of zipflow, is of another version, or is damaged.
    """
    return File(source, programs)
