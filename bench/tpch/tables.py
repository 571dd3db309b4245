"""TPC-H's columns as files of plain rows: made by tpchgen-cli as Parquet, read by pyarrow, written as tables.zf has them.

A table's columns lie in DIRECTORY as TABLE.COLUMN (numbers), or TABLE.COLUMN.offsets (i64) and TABLE.COLUMN.bytes (strings).
"""

import pathlib
import re
import subprocess
import sys

import numpy as np

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
NUMBERS = {"i32": np.int32, "i64": np.int64, "date32": np.int32}


def declared(program=HERE / "tables.zf"):
    """{table: {column: (type, whether it is numbered)}} of a program."""
    found, table = {}, None
    for line in pathlib.Path(program).read_text().splitlines():
        begins, column = re.match(r"table (\w+)", line), re.match(r"\s+(\w+):\s+(\w+)\s*=", line)
        if begins:
            table = begins[1]
        elif column:
            found.setdefault(table, {})[column[1]] = (column[2], line.endswith("// numbered"))
    return found


def plain(column, kind, numbered):
    """{ending: array} of a column as pyarrow has it, in pieces."""
    import pyarrow as pa
    import pyarrow.compute

    if numbered:
        coded = pyarrow.compute.dictionary_encode(column.cast(pa.large_string())).combine_chunks()
        coded = coded.chunk(0) if isinstance(coded, pa.ChunkedArray) else coded
        if len(coded.dictionary) > 256:
            raise ValueError("more than 256 kinds of text cannot be numbered by bytes")
        return {"": coded.indices.to_numpy().astype(np.uint8)}
    if kind in ("string", "u8"):
        text = column.cast(pa.large_string()).combine_chunks()
        text = text.chunk(0) if isinstance(text, pa.ChunkedArray) else text
        offsets = np.frombuffer(text.buffers()[1], np.int64, len(text) + 1)
        letters = np.frombuffer(text.buffers()[2], np.uint8, offsets[-1])
        if kind == "string":
            return {".offsets": offsets, ".bytes": letters}
        if len(letters) != len(text):
            raise ValueError("a flag is not one character")
        return {"": letters}
    column = column.combine_chunks()
    column = column.chunk(0) if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_decimal(column.type):  # 128 bits, of which the upper half is the sign
        cents = np.frombuffer(column.buffers()[1], np.int64)[0 : 2 * len(column) : 2]
        return {"": cents / 100.0 if kind == "f64" else (cents // 100).astype(NUMBERS[kind])}
    return {"": (column.cast(pa.int32()) if kind == "date32" else column).to_numpy().astype(NUMBERS[kind])}


def make(generator, directory, scale, wanted):
    """Writes the columns of `wanted`, {table: {column: (type, numbered)}}, where they are not there yet."""
    import pyarrow.parquet

    directory.mkdir(parents=True, exist_ok=True)
    for table, columns in wanted.items():
        done = directory / f"{table}.done"
        there = done.read_text().split() if done.exists() else []
        missing = {name: how for name, how in columns.items() if name not in there}
        if not missing:
            continue
        try:
            subprocess.run([generator, "parquet", "-s", str(scale), "--tables", table, "--output-dir", directory], check=True, capture_output=True, text=True)
        except FileNotFoundError:
            raise ValueError(f"there is no {generator}: script/bootstrap installs it, and --tpchgen names another") from None
        except (OSError, subprocess.CalledProcessError) as why:
            raise ValueError(f"{generator}: {getattr(why, 'stderr', None) or why}") from None
        source = directory / f"{table}.parquet"
        for name, (kind, numbered) in missing.items():
            for ending, array in plain(pyarrow.parquet.read_table(source, columns=[name]).column(0), kind, numbered).items():
                np.ascontiguousarray(array).tofile(directory / f"{table}.{name}{ending}")
        source.unlink()
        done.write_text(" ".join([*there, *missing]))


def inputs(directory, table, columns):
    """The input of `zfc encode`."""
    return [word for name, (kind, _) in columns.items()
            for word in ([f"{name}.offsets={directory}/{table}.{name}.offsets", f"{name}.bytes={directory}/{table}.{name}.bytes"]
                         if kind == "string" else [f"{name}={directory}/{table}.{name}"])]
