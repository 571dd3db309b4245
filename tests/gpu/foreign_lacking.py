"""gpu_foreign where the library of a format is missing: it says so, and succeeds where it has no other format. A format that fails
before any of its chunks is judged is no format without a library.

    foreign_lacking.py GPU_FOREIGN
"""

import json
import os
import resource
import signal
import subprocess
import sys

FAILS = "split"  # any format whose library is here


def run(formats, lacking, file_bytes=resource.RLIM_INFINITY):
    """Exit status and output, where no file may have more than `file_bytes` bytes."""

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, resource.RLIM_INFINITY))

    done = subprocess.run([sys.argv[1], "--count", "1", "--formats", ",".join(formats), "--lacking", ",".join(lacking)], text=True,
                          stdout=subprocess.PIPE, preexec_fn=limit, restore_signals=False, env=os.environ)
    return done.returncode, done.stdout


def report(output):
    return json.loads([line for line in output.splitlines() if line.startswith("{")][-1])


wrong = 0
for formats in (["snappy"], ["lz4", "snappy", "deflate", "zlib", "gzip", "zstd", "split", "dictionary"]):
    code, output = run(formats, formats)
    said = report(output)
    if code != 0 or said["formats"] != {} or said["skipped"] != formats or said["failures"] != 0:
        print(f"without the libraries of {formats}: exit status {code}: {output}")
        wrong += 1
code, output = run([FAILS, "snappy"], ["snappy"])
said = report(output)
if FAILS in said["skipped"]:
    print(f"the library of {FAILS} is missing here")
    sys.exit(wrong > 0)
if code != 0 or sorted(said["formats"]) != [FAILS] or said["skipped"] != ["snappy"]:
    print(f"without the library of snappy: exit status {code}: {output}")
    wrong += 1
code, output = run([FAILS, "snappy"], ["snappy"], file_bytes=0)  # its container cannot be written
if code != 1 or "snappy" not in output:
    print(f"where {FAILS} fails at once: exit status {code}: {output}")
    wrong += 1
sys.exit(wrong > 0)
