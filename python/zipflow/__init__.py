"""zipflow: columns in files that decode fast, on CPUs and GPUs.

    import zipflow as zf
    zf.write_table(table, "lineitem.zfd")    # of pyarrow, polars or DuckDB; codecs are chosen
    f = zf.open("lineitem.zfd")              # the index only
    print(f)                                 # types, codecs, ratios
    t = f.read(["l_tax"], slice(0, 1000))    # Arrow, without a copy: polars.DataFrame(t), pyarrow.table(t)
    g = f.read(["l_tax"], device="cuda:0")   # on the GPU, checked: torch.from_dlpack(g["l_tax"])
"""

from ._errors import (CancelledError, ColumnError, DeviceError, ExistsError, FileError, InputError, InternalError, NoFileError, OutOfMemoryError,
                      PermissionDeniedError, UnsupportedError, UsageError, ZipflowError)
from ._chunks import write_chunks
from ._file import Batches, Field, File, Schema, open
from ._runtime import Buffer, DeviceBuffer, DeviceColumn, library_version as __version__
from ._program import Program
from ._query import Query, prepare_query, query
from ._table import Column, DeviceTable, StructColumn, Table
from ._write import write_table

__all__ = ["Batches", "Buffer", "CancelledError", "Column", "ColumnError", "DeviceBuffer", "DeviceColumn", "DeviceError", "DeviceTable", "ExistsError", "Field", "File", "FileError", "InputError", "InternalError",
           "NoFileError", "OutOfMemoryError", "Pending", "PermissionDeniedError", "Program", "Query", "Schema", "StructColumn", "Table", "UnsupportedError", "UsageError", "ZipflowError", "open", "prepare_query", "query", "write_chunks", "write_table"]


def __getattr__(name):
    if name == "Pending":  # its module imports more than `import zipflow` needs
        from ._pending import Pending

        return Pending
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
