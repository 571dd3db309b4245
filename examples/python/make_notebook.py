"""Writes first_minute.ipynb from the cells below: make_notebook.py [--check]. A notebook is JSON, which nobody edits by hand."""

import json
import pathlib
import sys

PATH = pathlib.Path(__file__).with_name("first_minute.ipynb")
CELLS = [
    "# The first minute of zipflow\n\nA table to a file, and columns of it back. Needs `pyarrow` and `zipflow`.",
    ["import pyarrow as pa", "import zipflow as zf", "", "rows = 200_000", "orders = pa.table({",
     '    "key": pa.array(range(0, 4 * rows, 4)),', '    "price": pa.array([k * 7919 % 99991 / 100 for k in range(rows)]),',
     '    "status": pa.array([("open", "paid", "sent")[k % 3] for k in range(rows)]),', "})"],
    "Each column gets the default codec of its type. Every block is decoded and compared before it is written.",
    ['zf.write_table(orders, "orders.zfd")', 'f = zf.open("orders.zfd")', "print(f)"],
    "`read` decodes columns, all rows or a slice. The table exports Arrow without a copy.",
    ['table = pa.table(f.read(["key", "status"], slice(1000, 1005)))', "table.to_pylist()"],
    ['print(f.explain("price"))', "assert pa.table(f.read()).equals(orders)"],
    "With a GPU of NVIDIA the columns are decoded there. torch and CuPy take them where they are.",
    ["try:", '    price = f.read(["price"], device="cuda")["price"]', "    print(price)", "except zf.DeviceError as error:",
     '    print("no GPU here:", error)'],
]


def text():
    cells = []
    for cell in CELLS:
        source = cell if isinstance(cell, list) else cell.split("\n")
        lines = [line + "\n" for line in source[:-1]] + source[-1:]
        if isinstance(cell, list):
            cells.append({"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": lines})
        else:
            cells.append({"cell_type": "markdown", "metadata": {}, "source": lines})
    return json.dumps({"cells": cells, "metadata": {"language_info": {"name": "python"}}, "nbformat": 4, "nbformat_minor": 4}, indent=1) + "\n"


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(0 if PATH.read_text() == text() else f"{PATH.name} is not what make_notebook.py writes")
    PATH.write_text(text())
