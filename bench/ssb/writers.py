"""Writers of tables, chunk by chunk: Parquet, CSV, .npy. A chunk is {column: array, Coded or Text}."""

import collections
import pathlib

import numpy as np
import schema

Coded = collections.namedtuple("Coded", "codes dictionary")  # numbers of a dictionary of schema.py
Text = collections.namedtuple("Text", "offsets bytes")  # offsets: i64, rows + 1
DTYPES = {"i32": "<i4", "u8": "|u1", "u16": "<u2"}


def arrow(made, text):
    """A column as Arrow has it: words of a dictionary, or their numbers."""
    import pyarrow as pa

    if isinstance(made, Coded) and text:
        return pa.DictionaryArray.from_arrays(made.codes, pa.array(schema.DICTIONARIES[made.dictionary]))
    if isinstance(made, Coded):
        return pa.array(made.codes)
    if isinstance(made, Text):
        return pa.LargeStringArray.from_buffers(len(made.offsets) - 1, pa.py_buffer(made.offsets), pa.py_buffer(made.bytes)).cast(pa.string())
    return pa.array(made)


class ArrowWriter:
    """A table as one file. `columns` is what schema.written returns."""

    ending = None

    def __init__(self, out, table, columns):
        self.path, self.columns, self.rows, self.file = pathlib.Path(out) / f"{table}.{self.ending}", columns, 0, None

    def write(self, made):
        import pyarrow as pa

        table = pa.table({name: self.shaped(arrow(made[source], kind == "text")) for name, (kind, source) in self.columns.items()})
        if self.file is None:
            self.file = self.opened(table.schema)
        self.file.write_table(table)
        self.rows += len(table)

    def shaped(self, column):
        return column

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        if self.file is not None:
            self.file.close()


class ParquetWriter(ArrowWriter):
    ending = "parquet"

    def opened(self, layout):
        import pyarrow.parquet

        return pyarrow.parquet.ParquetWriter(self.path, layout)


class CsvWriter(ArrowWriter):
    ending = "csv"

    def opened(self, layout):
        import pyarrow.csv

        return pyarrow.csv.CSVWriter(self.path, layout)

    def shaped(self, column):
        import pyarrow as pa

        return column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column


class NpyFile:
    """A one-dimensional .npy array that grows. Its header has the length, and is written again at the end."""

    def __init__(self, path, dtype):
        self.file, self.dtype, self.length = open(path, "wb"), np.dtype(dtype), 0
        self.header()

    def header(self):
        text = f"{{'descr': '{self.dtype.str}', 'fortran_order': False, 'shape': ({self.length},), }}"
        self.file.seek(0)
        self.file.write(b"\x93NUMPY\x01\x00" + (118).to_bytes(2, "little") + f"{text:117}\n".encode())

    def write(self, values):
        np.ascontiguousarray(values, self.dtype).tofile(self.file)
        self.length += len(values)

    def close(self):
        self.header()
        self.file.close()


class NpyWriter:
    """A table as OUT/TABLE.COLUMN.npy. Texts are TABLE.COLUMN.offsets.npy and TABLE.COLUMN.bytes.npy, as zfc takes them."""

    def __init__(self, out, table, columns):
        self.columns, self.rows, self.files = columns, 0, {}
        for name, (kind, _) in columns.items():
            for part, dtype in ((".offsets", "<i8"), (".bytes", "|u1")) if kind == "text" else (("", DTYPES[kind]),):
                self.files[name + part] = NpyFile(pathlib.Path(out) / f"{table}.{name}{part}.npy", dtype)

    def write(self, made):
        for name, (kind, source) in self.columns.items():
            column = made[source]
            if kind == "text":
                self.text(name, column)
            else:
                self.files[name].write(column.codes if isinstance(column, Coded) else column)
        first = next(iter(made.values()))
        self.rows += len(first)

    def text(self, name, column):
        import pyarrow as pa

        if isinstance(column, Coded):
            words = arrow(column, True).cast(pa.large_string())
            offsets = np.frombuffer(words.buffers()[1], np.int64, len(words) + 1)
            column = Text(offsets, np.frombuffer(words.buffers()[2], np.uint8, offsets[-1]))
        offsets, letters = self.files[name + ".offsets"], self.files[name + ".bytes"]
        begins = letters.length  # of this chunk's characters
        offsets.write((column.offsets if offsets.length == 0 else column.offsets[1:]) + begins)
        letters.write(column.bytes)

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        for file in self.files.values():
            file.close()


WRITERS = {"parquet": ParquetWriter, "csv": CsvWriter, "npy": NpyWriter}
