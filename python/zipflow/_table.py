"""Decoded columns and tables."""

from . import _runtime, _types
from ._errors import ColumnError, refuse


class Column(_runtime.Column):
    """Rows of one column in host memory.

    Exports Arrow (`pyarrow.array(column)`, `polars.Series(column)`), and, if it holds numbers without nulls, DLPack and the buffer
    protocol, all without a copy. The memory is read-only, and lives as long as any of its users.
    """

    __slots__ = ()

    def __arrow_c_array__(self, requested_schema=None):
        column = self if requested_schema is None else _as_wanted(self, _runtime.describe_schema(requested_schema))
        return _runtime.Column.__arrow_c_array__(column)

    def numpy(self):
        """The column as a NumPy array.

        Numbers without nulls share the column's memory. Booleans, dates, timestamps and durations are copied, to bool, datetime64
        and timedelta64 of their unit; nulls of the latter three are NaT. Zones are dropped: such timestamps are UTC. Lists of one
        length of numbers have two dimensions, and BufferError where one is null. Raises TypeError for other types, and for numbers
        and booleans with nulls: their memory is in `values` and `validity`.
        """
        import numpy

        kind = self.format
        nulls = self.null_count
        if self.dictionary is not None:
            raise TypeError(f"column {self.name} is a dictionary: take .values, of indices, and .dictionary, or pyarrow")
        if kind.startswith("+w:"):
            return numpy.asarray(memoryview(self))
        if kind == "b" and not nulls:
            return numpy.unpackbits(numpy.asarray(self.values), count=len(self), bitorder="little").view(bool)
        unit = {"tdD": "D", "tdm": "ms"}.get(kind) or (_types.UNITS[kind[2]] if kind[:2] in ("ts", "tD") else None)
        if unit:
            out = numpy.asarray(self.values).astype("i8").view(f"{'m8' if kind[:2] == 'tD' else 'M8'}[{unit}]")
            if nulls:
                valid = numpy.unpackbits(numpy.asarray(self.validity), count=len(self), bitorder="little")
                out[valid == 0] = "NaT"
            return out
        if nulls:
            raise TypeError(f"column {self.name} has {nulls} nulls, which NumPy has no place for: use .values and .validity, or pyarrow")
        if kind not in tuple("cCsSiIlLefg"):
            raise TypeError(f"column {self.name} has Arrow's type `{kind}`, which NumPy has no array for: use pyarrow")
        return numpy.asarray(memoryview(self))

    def __repr__(self):
        nulls = f", {self.null_count:,} nulls" if self.null_count else ""
        entries = f", {len(self.dictionary):,} entries of `{self.dictionary.format}`" if self.dictionary is not None else ""
        return f"<zipflow.Column {self.name}: {len(self):,} rows of `{self.format}`{entries}{nulls}>"


class StructColumn:
    """Rows of structs in host memory: a column for each field, `s["x"]`, and which rows are null.

    Exports Arrow (`pyarrow.array(column)`), without a copy of the fields' rows.
    """

    __slots__ = ("_field", "_columns", "_rows", "_parts", "_presence")

    def __init__(self, field, columns, rows):
        """field: as _types.struct_of makes it. columns: of its fields, and its own, in the order of `_types.fields_within`."""
        self._field, self._columns, self._rows = field, columns, rows
        left = iter(columns)
        self._presence = next(left) if _types.has_presence(field[2], field[4]) else None
        self._parts = {}
        for part in field[4]:
            if part[1] == "+s":
                own = tuple(next(left) for _ in range(_types.count_columns(part)))
                self._parts[part[0]] = StructColumn((f"{self.name}.{part[0]}", *part[1:]), own, rows)
            else:
                self._parts[part[0]] = next(left)

    @property
    def name(self):
        """The column's name."""
        return self._field[0]

    @property
    def format(self):
        """Arrow's format of structs, "+s"."""
        return self._field[1]

    @property
    def nullable(self):
        """Whether the type has nulls."""
        return bool(self._field[2] & _types.NULLABLE)

    @property
    def null_count(self):
        """The number of nulls."""
        if not self.nullable:
            return 0
        bits = int.from_bytes(memoryview(self.validity).tobytes(), "little")
        return self._rows - (bits & (1 << self._rows) - 1).bit_count()

    @property
    def nbytes(self):
        """Bytes of the buffers of all fields together."""
        return sum(column.nbytes for column in self._columns)

    @property
    def names(self):
        """The names of the fields, in order."""
        return list(self._parts)

    @property
    def fields(self):
        """The fields, in order: each a Column or a StructColumn, whose rows are null where a struct is."""
        return list(self._parts.values())

    @property
    def validity(self):
        """A bitmap, lowest bit first, 1 for a struct; None where the type has no nulls."""
        return self._presence.values if self.nullable else None

    def __len__(self):
        return self._rows

    def __getitem__(self, name):
        try:
            return self._parts[name]
        except KeyError:
            raise refuse(ColumnError, f"column {self.name!r} has no field {name!r}", hint=f"it has {', '.join(self._parts) or 'none'}") from None

    def __contains__(self, name):
        return name in self._parts

    def __iter__(self):
        return iter(self._parts)

    def __arrow_c_schema__(self):
        return _runtime.export_struct(self._field, self._columns, self._rows)[0]

    def __arrow_c_array__(self, requested_schema=None):
        return _runtime.export_struct(self._field, self._columns, self._rows)

    def __repr__(self):
        nulls = f", {self.null_count:,} nulls" if self.null_count else ""
        return f"<zipflow.StructColumn {self.name}: {self._rows:,} rows of {', '.join(self._parts) or 'no fields'}{nulls}>"


def _parts_of(column):
    """A column as _runtime exports it."""
    return (column._field, column._columns) if isinstance(column, StructColumn) else column


def _as_wanted(column, wanted):
    """The column in another layout; itself where it is in that one, or where its values are others."""
    if isinstance(column, StructColumn):
        return column
    field = _types.of_description(column._type)
    other = _types.as_wanted(field, wanted)
    return column if other == field else _runtime.convert(column, other)


class _Columns:
    """Columns of equal length, in the order in which they were read."""

    __slots__ = ("_columns", "_rows")

    def __init__(self, columns, rows):
        self._columns, self._rows = {column.name: column for column in columns}, rows

    @property
    def num_rows(self):
        """The number of rows."""
        return self._rows

    @property
    def num_columns(self):
        """The number of columns."""
        return len(self._columns)

    @property
    def column_names(self):
        """The names of the columns, in order."""
        return list(self._columns)

    @property
    def columns(self):
        """The columns, in order."""
        return list(self._columns.values())

    @property
    def nbytes(self):
        """Bytes of all columns together."""
        return sum(column.nbytes for column in self._columns.values())

    def __getitem__(self, name):
        try:
            return self._columns[name]
        except KeyError:
            raise refuse(ColumnError, f"the table has no column {name!r}", hint=f"it has {', '.join(self._columns) or 'none'}") from None

    def __contains__(self, name):
        return name in self._columns

    def __iter__(self):
        return iter(self._columns)

    def __len__(self):
        return self._rows

    def __repr__(self):
        lines = [f"<zipflow.{type(self).__name__}: {self._rows:,} rows, {len(self._columns)} columns{self._where()}>"]
        return "\n".join(lines + [f"  {column.name}: {column.format}" for column in self._columns.values()])

    def _where(self):
        return ""


class Table(_Columns):
    """Columns of equal length in host memory, in the order in which they were read.

    Exports Arrow: `pyarrow.table(t)`, `polars.DataFrame(t)` and DuckDB take it without a copy. `t["x"]` is a Column.
    """

    __slots__ = ("_metadata",)

    def __init__(self, columns, rows, metadata):
        super().__init__(columns, rows)
        self._metadata = metadata

    def __arrow_c_stream__(self, requested_schema=None):
        columns = tuple(self._columns.values())
        if requested_schema is not None:
            wanted = _types.wanted_fields(requested_schema, self.column_names)
            columns = tuple(map(_as_wanted, columns, wanted)) if wanted else columns
        return _runtime.export_stream(tuple(map(_parts_of, columns)), self._rows, self._metadata)

    def __arrow_c_schema__(self):
        return _runtime.export_schema(tuple(map(_parts_of, self._columns.values())), self._metadata)


class DeviceTable(_Columns):
    """Columns of equal length in a GPU's memory, in the order in which they were read. `t["x"]` is a DeviceColumn.

    Exports Arrow's device arrays and streams: `pylibcudf.Table.from_arrow(t)` takes it without a copy.
    """

    __slots__ = ("_device", "_metadata")

    def __init__(self, columns, rows, device, metadata):
        super().__init__(columns, rows)
        self._device, self._metadata = device, metadata

    @property
    def device(self):
        """The GPU: "cuda:0"."""
        return self._device

    def _where(self):
        return f" on {self._device}"

    def _export(self, export, call, keywords):
        unknown = next((name for name, value in keywords.items() if value is not None), None)
        if unknown is not None:
            raise NotImplementedError(f"{call} has no argument {unknown}")
        number = int(self._device.partition(":")[2])
        return export(tuple(self._columns.values()), self._rows, self._metadata, number)

    def __arrow_c_device_array__(self, requested_schema=None, **keywords):
        return self._export(_runtime.export_device_array, "__arrow_c_device_array__", keywords)

    def __arrow_c_device_stream__(self, requested_schema=None, **keywords):
        return self._export(_runtime.export_device_stream, "__arrow_c_device_stream__", keywords)

    def __arrow_c_schema__(self):
        return _runtime.export_schema(tuple(self._columns.values()), self._metadata)
