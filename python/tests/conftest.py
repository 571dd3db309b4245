"""Shared by the tests of the Python package. They run on the package of a build: PYTHONPATH=BUILD/python."""

import os
import random

import pyarrow as pa
import pytest

import zipflow as zf

ROWS = 10_007  # no multiple of 8


def values_of(kind):
    """The type of the values of lists and dictionaries; of others their own."""
    while pa.types.is_nested(kind) or pa.types.is_dictionary(kind):
        kind = kind.value_type
    return kind


def leaves(field, name):
    """(name, type) of each column of a field: of structs those of their fields."""
    if not pa.types.is_struct(field.type):
        return [(name, field.type)]
    return [leaf for child in field.type for leaf in leaves(child, f"{name}.{child.name}")]


def plain(schema):
    """Codecs that are compiled quickly, where codecs do not matter."""
    text = ("string", "binary")
    columns = [leaf for field in schema for leaf in leaves(field, field.name)]
    return {name: "plain(strings)" if any(word in str(values_of(kind)) for word in text) else "plain" for name, kind in columns}


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory):
    """Compiled code is kept here, and not where users keep theirs."""
    assert "ZIPFLOW_CACHE_DIR" in os.environ, "CTest gives the tests a cache of their own"


@pytest.fixture
def trip(tmp_path):
    """Writes a table and reads it: trip(table, codecs=None, **read)."""

    def go(table, codecs=None, **read):
        path = tmp_path / "trip.zfd"
        zf.write_table(table, path, codecs)
        with zf.open(path) as file:
            return pa.table(file.read(**read))

    return go


@pytest.fixture(scope="session")
def mixed():
    """A table of several types, with and without nulls."""
    chosen = random.Random(7)
    numbers = [chosen.randrange(-1000, 1000) for _ in range(ROWS)]
    return pa.table(
        [pa.array(numbers, pa.int64()), pa.array([None if k % 7 == 0 else k / 4 for k in numbers], pa.float64()),
         pa.array([f"näme {k % 19}" for k in numbers]), pa.array([None if k % 5 == 0 else k % 2 == 0 for k in numbers], pa.bool_())],
        schema=pa.schema([pa.field("number", pa.int64(), nullable=False), pa.field("quarter", pa.float64()),
                          pa.field("text", pa.string(), nullable=False), pa.field("flag", pa.bool_())]))


@pytest.fixture
def file(mixed, tmp_path):
    """The path of a file with the mixed table, in blocks of 1000 rows."""
    path = tmp_path / "mixed.zfd"
    zf.write_table(mixed, path, rows_per_block=1000)
    return path
