"""Queries over the rows of a file: prepared once, run often."""

import _thread
import operator
import os

from . import _gpu, _home, _types
from ._errors import UsageError, refuse, utf8
from ._file import File, open as _open
from ._program import Program

_PARAM, _INPUT, _RESULT = range(3)  # zf_query_role
_KINDS = ("sum", "min", "max", "xor", "any", "all", "set", "mask", "select")  # by zf_query_kind
_DTYPES = {name: f"<{name[0]}{int(name[1:]) // 8}" for name in _types.ELEMENTS if name not in ("bool", "string")} | {"bool": "?"}


def _device_name(device):
    return "cuda:0" if str(device) == "cuda" else str(device)


def _program_of(program):
    """A Program of itself, of a path, or of text."""
    if isinstance(program, Program):
        return program
    if isinstance(program, os.PathLike) or isinstance(program, str) and program.endswith(".zf") and "\n" not in program:
        path = os.fspath(program)
        try:
            with open(path, encoding="utf-8") as file:
                return Program(file.read(), path)
        except OSError as error:
            from ._errors import of_system

            raise of_system(error, path) from None
    if not isinstance(program, str):
        raise TypeError(f"a query is of a Program, a path ending in .zf, or text, not {type(program).__name__}")
    return Program(program)


def _member(row):
    name, element, default, kind, dimensions = row
    return name, _types.ELEMENTS[element], bool(default), _KINDS[kind], dimensions


class Query:
    """A query that was prepared for a file and a device, `zf.prepare_query(...)`: `run` runs it, as often as wanted.

    A context manager. It keeps the file open, and on a GPU the columns that it reads in its memory, until `close`. Several threads may
    have it; their runs take turns.
    """

    __slots__ = ("_query", "_device", "_table", "_params", "_inputs", "_results", "_lock", "_owner")

    def __init__(self, query, owner, device, table):
        self._query, self._owner, self._device, self._table, self._lock = query, owner, device, table, _thread.allocate_lock()
        self._params, self._inputs, self._results = (tuple(map(_member, query.members(role))) for role in (_PARAM, _INPUT, _RESULT))

    @property
    def device(self):
        """The device that runs it: "cpu", "emu" or "cuda:N"."""
        return self._device

    @property
    def table(self):
        """The name of its table; None: it is of pairs."""
        return self._table

    @property
    def params(self):
        """The params, in order: {name: (type, whether it must be given)}."""
        return {name: (kind, not default) for name, kind, default, _, _ in self._params}

    @property
    def inputs(self):
        """The inputs, in order: {name: type}."""
        return {name: kind for name, kind, _, _, _ in self._inputs}

    @property
    def results(self):
        """The results, in order: {name: (type, kind, dimensions)}."""
        return {name: (kind, how, dimensions) for name, kind, _, how, dimensions in self._results}

    def run(self, params=None, inputs=None, *, stream=None, out=None):
        """Runs the query over its rows, and returns {name: array of NumPy} of its results, in order.

        params: {name: number or bool}; those with defaults may be missing. inputs: {name: array}, all of them: what NumPy takes as an
        array of the input's type (buffer protocol, DLPack, Column), lists of numbers, or on a GPU what has `__cuda_array_interface__`.
        Bools are arrays of bool, or of the bytes of a bitmap, the lowest bit first. `bytes` are the elements themselves, little-endian.

        Results without dimensions are arrays of shape (). Those of `min` and `max` are masked arrays: an element that no row gave a value
        is masked. Those of bools are arrays of bool.

        On a GPU the run begins behind the work on `stream`, as that of `read`. out: {name: memory of the GPU} of results that stay there,
        with `__cuda_array_interface__`, contiguous, of the result's type (bools: bytes of a bitmap) and at least its length. `run` returns the
        shape in place of the array. Which elements of `min` and `max` have a value is not said there.

        Raises UsageError for params, inputs and `out` that do not fit, InputError with the row where a check of the query fails.
        """
        handle = _gpu.stream_handle(stream)
        out = dict(out or {})
        given = tuple(_param(name, value) for name, value in dict(params or {}).items())
        with self._lock:
            query = self._opened()
            arrays, held = self._arrays(dict(inputs or {}))
            unknown = next((name for name in out if name not in self.results), None)
            if unknown is not None:
                raise refuse(UsageError, f"out names {unknown!r}, which is no result of the query", hint=f"it has {', '.join(self.results)}")
            try:
                query.run(given, arrays, handle)
                del held
                return {row[0]: self._take(query, k, row, handle, out.get(row[0])) for k, row in enumerate(self._results)}
            finally:
                _home.drain()

    def close(self):
        """Frees the query, and its memory on a device."""
        with self._lock:
            query, self._query = self._query, None
        if query is not None:
            query.close()

    def _opened(self):
        if self._query is None:
            raise ValueError("the query is closed")
        if self._owner is not _home.home():
            raise RuntimeError("the query was prepared before a fork: prepare it in the child")
        return self._query

    def _arrays(self, inputs):
        """The inputs as _compile takes them, and who holds their memory."""
        types, rows, held = self.inputs, [], []
        for name, thing in inputs.items():
            if name not in types:
                raise refuse(UsageError, f"the query has no input {name!r}", hint=f"it has {', '.join(types) or 'none'}")
            there = self._device != "cpu" and hasattr(thing, "__cuda_array_interface__")
            if there:
                address, nbytes = _on_gpu(thing, name, types[name], f"the input {name!r}", False)
            else:
                thing = _on_host(thing, name, types[name])
                address, nbytes = _address(thing), thing.nbytes
            held.append(thing)
            rows.append((name.encode(), address, nbytes, there))
        return tuple(rows), held

    def _take(self, query, k, row, handle, out):
        """A result of the last run."""
        import numpy

        name, kind, _, how, _ = row
        shape, nbytes, validity_bytes = query.size(k)
        if out is not None:
            address, room = _on_gpu(out, name, kind, f"out of the result {name!r}", True)
            query.take(k, address, room, True, 0, 0, handle)
            return shape
        values = numpy.empty(nbytes, "u1")
        validity = numpy.empty(validity_bytes, "u1")
        query.take(k, _address(values), nbytes, False, _address(validity) if validity_bytes else 0, validity_bytes, handle)
        count = int(numpy.prod(shape, dtype="u8"))
        array = (_bools(values, count) if kind == "bool" else values.view(_DTYPES[kind])).reshape(shape)
        if how not in ("min", "max"):
            return array
        return numpy.ma.masked_array(array, mask=~_bools(validity, count).reshape(shape))

    def __enter__(self):
        self._opened()
        return self

    def __exit__(self, *_):
        self.close()

    def __repr__(self):
        return f"<zipflow.Query over {self._table or 'pairs'} on {self._device}: {', '.join(self.results)}>"


def _address(array):
    return array.__array_interface__["data"][0]


def _bools(bits, count):
    import numpy

    return numpy.unpackbits(bits, count=count, bitorder="little").view(bool)


def _param(name, value):
    """A param as _compile takes it: its name and its value as text."""
    if not isinstance(name, str):
        raise TypeError(f"the name of a param is text, not {type(name).__name__}")
    if type(value).__name__ in ("bool", "bool_"):  # of Python and of NumPy
        text = "true" if value else "false"
    elif hasattr(value, "__index__"):
        text = str(operator.index(value))
    elif hasattr(value, "__float__"):
        text = repr(float(value))
    else:
        raise TypeError(f"the param {name!r} is a number or a bool, not {type(value).__name__}")
    return utf8(name, "the name of a param"), text.encode()


def _wrong(name, kind, has):
    return refuse(UsageError, f"the input {name!r} is {kind}, and is given {has}", name)


def _on_host(thing, name, kind):
    """An array of NumPy with the memory of an input."""
    import numpy

    dtype = numpy.dtype(_DTYPES[kind])
    if isinstance(thing, (bytes, bytearray)):  # as files of `zfc query -o` have them
        return numpy.frombuffer(thing, "u1")
    if isinstance(thing, numpy.ma.MaskedArray) and thing.mask.any():
        raise _wrong(name, kind, "an array whose elements are masked: fill them")
    if isinstance(thing, (list, tuple)):
        try:
            array, given = numpy.array(thing, dtype), numpy.array(thing, object)
        except (ValueError, TypeError, OverflowError) as error:
            raise _wrong(name, kind, f"a {type(thing).__name__} that is none: {error}") from None
        if dtype.kind != "f" and (changed := given.flat[numpy.flatnonzero(array.astype(object) != given)]).size:
            raise _wrong(name, kind, f"{changed[0]!r}")
    elif hasattr(thing, "numpy") and hasattr(thing, "__arrow_c_array__"):  # a Column
        array = thing.numpy()
    else:
        try:
            whole = not hasattr(thing, "__dlpack__") or hasattr(thing, "__array_interface__") or hasattr(thing, "__array__")
            array = numpy.asarray(thing) if whole else numpy.from_dlpack(thing)
        except (BufferError, RuntimeError, TypeError, ValueError) as error:
            raise _wrong(name, kind, f"{type(thing).__name__}, which is no array: {error}") from None
    if kind == "bool" and array.dtype == dtype:
        return numpy.packbits(array, bitorder="little")
    if array.dtype != ("u1" if kind == "bool" else dtype):
        raise _wrong(name, kind, f"an array of {array.dtype}")
    return numpy.ascontiguousarray(array)


def _on_gpu(thing, name, kind, what, writes):
    """The address and the bytes of memory of a GPU. what: the memory, for errors. writes: it is for a result."""
    from . import _out

    memory = _out.on_gpu(thing, name, lambda message, name: refuse(UsageError, f"{what} {message}", name), writes)
    form = _DTYPES["u8" if kind == "bool" else kind]
    if (memory.kind, memory.size) != ({"u": "uint", "i": "int", "f": "float"}[form[1]], int(form[2])):
        raise refuse(UsageError, f"{what} is {kind}{', bytes of a bitmap,' * (kind == 'bool')} and is given as {memory}", name)
    return memory.address, memory.nbytes


def prepare_query(program, tables=None, *, device="cpu", name=None, rows=None, threads=0, from_host=False, unit_bytes=0):
    """Prepares a query for a file and a device: a `Query`, which runs often with other params and inputs.

    program: a Program, the path of a `.zf` file, or text of the language (docs/queries.md). tables: a File or what `open` takes; or {name
    of a table: file}, of which the query's table is taken; None for a query of pairs. device: "cpu", a GPU such as "cuda:0", or "emu", an emulated GPU for tests.
    name: of the query, if the program has several. rows: a slice of the file's rows. threads: that decode and run rows on a CPU, 0 for one per core.
    from_host: on a GPU the columns stay in pinned memory of the host, and every run brings those of rows that may matter, in units of
    about unit_bytes stored bytes (0: 32 MiB), while the units before them are queried. The GPU's memory holds four units.

    Raises InputError for a program that is wrong, UsageError for a query or a table that does not exist, ColumnError for columns that the
    file lacks or has with other types.
    """
    from . import _compile

    _home.check_threads(threads)
    if not 0 <= operator.index(unit_bytes) < 1 << 63:
        raise refuse(UsageError, f"unit_bytes is a number of bytes, not {unit_bytes}")
    if from_host and _device_name(device) == "cpu":
        raise refuse(UsageError, "from_host is for GPUs: on a CPU columns are in the host's memory")
    program, device = _program_of(program), _device_name(device)
    loaded = program._get()
    asked = None if name is None else utf8(name, "the name of a query").decode()
    table = _compile.query_table(loaded, asked)
    if table is None:
        raise refuse(UsageError, "name a query: the program has none, or several" if name is None else f"the program has no query {name!r}")
    name_of_device = utf8(device, "the name of a device")
    if table == "":  # of pairs, which lie in inputs
        if tables is not None or rows is not None:
            raise refuse(UsageError, "the query is of pairs, which reads no file and no rows")
        return Query(_compile.query(loaded, asked, None, name_of_device, 0, 0, threads, False, 0), program._owner, device, None)
    if isinstance(tables, dict):
        if table not in tables:
            raise refuse(UsageError, f"the query is over the table {table!r}, which is not given", hint=f"given are {', '.join(map(str, tables)) or 'none'}")
        tables = tables[table]
    file = tables if isinstance(tables, File) else _open(tables)
    try:
        container, owner = file._opened()
        if file._kind == 2:
            raise refuse(UsageError, "a query reads no file that was opened through a file object", hint="open it by its path, or its bytes")
        begin, count = file._rows(rows)
        query = _compile.query(loaded, asked, container.hold(), name_of_device, begin, count, threads, bool(from_host), operator.index(unit_bytes))
        return Query(query, owner, device, table)
    finally:
        _home.drain()
        if file is not tables:
            file.close()  # which the query keeps open


def query(program, tables=None, params=None, inputs=None, *, device="cpu", name=None, rows=None, threads=0, from_host=False, unit_bytes=0):
    """Runs a query once: {name: array of NumPy} of its results. Arguments are those of `prepare_query` and `Query.run`."""
    more = {"from_host": from_host, "unit_bytes": unit_bytes}
    with prepare_query(program, tables, device=device, name=name, rows=rows, threads=threads, **more) as prepared:
        return prepared.run(params, inputs)
