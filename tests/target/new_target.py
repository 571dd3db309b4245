"""A target that one row and one file add decodes the demo's tables.

Usage: new_target.py ROOT ZFC DECODE_COPY
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT, ZFC, DECODE = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
TABLES = ("customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier")

generator = ROOT / ".venv/bin/tpchgen-cli"
generator = str(generator) if generator.exists() else shutil.which("tpchgen-cli")
if generator is None:
    print("skipped: there is no tpchgen-cli")
    sys.exit(77)
with tempfile.TemporaryDirectory(prefix="zf-target-") as name:
    tree = pathlib.Path(name)
    os.environ["ZIPFLOW_CACHE_DIR"] = str(tree / "cache")
    subprocess.run([generator, "csv", "-s", "0.001", "--output-dir", tree], check=True, stdout=subprocess.DEVNULL)
    files = []
    for table in TABLES:
        files.append(tree / f"{table}.zfd")
        subprocess.run([ZFC, "encode", "-q", "-c", f"{ROOT}/examples/tpch/tpch.zf:{table}", "--rows-per-block", "4096",
                        "-o", files[-1], tree / f"{table}.csv"], check=True)
    sys.exit(subprocess.run([DECODE, *files], check=False).returncode)
