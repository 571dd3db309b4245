"""How fast a GPU's link copies units, alone and while streams wait for them: link_copies, with the machine and the commit beside.

    copies.py [--pack ARCHIVE | --program LINK_COPIES] [--device cuda] [--bytes N] [--repeats N] --out FILE.json
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import time

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "script"))
from gpu_test import machine, needed, unplaced  # noqa: E402


def measured(program, options):
    words = [str(program), "--device", options.device, "--bytes", str(options.bytes), "--repeats", str(options.repeats)]
    result = subprocess.run(words, capture_output=True, text=True, timeout=300)
    if result.returncode != 0:
        sys.exit(f"copies: {result.stderr.strip()}")
    return json.loads(result.stdout)


def main():
    parser = argparse.ArgumentParser(prog="copies.py", description="Measures copies to a GPU beside streams that wait for them.")
    parser.add_argument("--pack", default=ROOT / "build/zipflow-pack.tar.xz", help="archive of script/pack (default: build/zipflow-pack.tar.xz)")
    parser.add_argument("--program", help="a link_copies, instead of the archive's")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--bytes", type=int, default=1 << 30)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--out", required=True, help="the report")
    options = parser.parse_args()
    report = {"date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "machine": machine(), "commit": "unknown",
              "command": " ".join(["bench/link/copies.py", *[unplaced(w) for w in sys.argv[1:]]])}
    if options.program:
        report |= measured(options.program, options)
    else:
        with tempfile.TemporaryDirectory() as tree:
            with tarfile.open(needed(options.pack, "script/pack makes it; --program does without")) as archive:
                archive.extractall(tree, filter="data")
            pack = pathlib.Path(tree) / "zipflow-pack"
            report["commit"] = (pack / "COMMIT").read_text(encoding="utf-8").strip()
            report |= measured(pack / "bin/link_copies", options)
    pathlib.Path(options.out).write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    for row in report["rows"]:
        waiting = f"{row['streams']} streams wait, {row['ahead'] or 'all'} units ahead" if row["streams"] else "alone"
        print(f"{row['unit_bytes'] >> 20:4} MiB, {waiting}: {row['gb_per_second']:.1f} GB/s")


if __name__ == "__main__":
    main()
