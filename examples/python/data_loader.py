"""Batches of rows for training, by torch's DataLoader: data_loader.py [WORKERS]. Needs pyarrow and torch.

Each worker opens the file anew, whether it is forked or spawned. A worker has no GPU: it decodes on the CPU. Without workers a
batch may be decoded on the GPU.
"""

import sys
import tempfile

import numpy as np
import pyarrow as pa
import torch

import zipflow as zf


class Rows(torch.utils.data.Dataset):
    """Batches of `size` rows, each a tensor of columns."""

    def __init__(self, path, columns, size, device="cpu"):
        self.file, self.columns, self.size, self.device = zf.open(path), columns, size, device

    def __len__(self):
        return -(-len(self.file) // self.size)

    def __getitem__(self, k):
        table = self.file.read(self.columns, slice(k * self.size, (k + 1) * self.size), device=self.device)
        return torch.stack([torch.from_dlpack(table[name]).clone() for name in self.columns], dim=1)


def main():
    workers = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/t.zfd"
        schema = pa.schema([pa.field(name, pa.float32(), nullable=False) for name in ("x", "y")])
        zf.write_table(pa.table([np.arange(100_000, dtype="f4"), np.arange(100_000, dtype="f4") / 2], schema=schema), path)
        loader = torch.utils.data.DataLoader(Rows(path, ["x", "y"], 4096), batch_size=None, num_workers=workers)
        print("on the CPU:", sum(len(batch) for batch in loader), "rows in", len(loader), "batches")
        if torch.cuda.is_available():
            loader = torch.utils.data.DataLoader(Rows(path, ["x", "y"], 4096, "cuda:0"), batch_size=None)
            print("on the GPU:", sum(len(batch) for batch in loader), "rows in", len(loader), "batches")


if __name__ == "__main__":
    main()
