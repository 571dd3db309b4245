"""A process that measures nvCOMP, one request a line, so that what takes it down or never ends costs one row. Started by peers.py.

Standard input has JSON: {"plain": FILE, "choice": [CODEC, WORDS, CHUNK], "bytes": N, "seconds": S}. Standard output gets a line for
each row, {"error": TEXT} when there is none, and {"done": true} behind them. The first line is what the machine is.

    nvcomp_worker.py LIBCUDA LIBNVCOMP BYTES
"""

import json
import sys
import time

sys.dont_write_bytecode = True

import numpy as np  # noqa: E402

from cuda_driver import CudaError, Driver, Memory  # noqa: E402
from nvcomp_batched import Nvcomp, NvcompError, copy_speed, measure  # noqa: E402


def say(what):
    print(json.dumps(what), flush=True)


def main():
    driver = Driver(sys.argv[1])
    memory, library = Memory(driver), Nvcomp(sys.argv[2])
    limit = copy_speed(driver, memory, int(sys.argv[3]))
    say({"gpu": driver.facts(), "nvcomp": library.version(), "copy_bytes_per_second": limit})
    name, plain = None, None
    for line in sys.stdin:
        asked = json.loads(line)
        if asked["plain"] != name:
            name, plain = asked["plain"], np.fromfile(asked["plain"], np.uint8)
        codec, words, chunk = asked["choice"]
        lost = False
        try:
            for row in measure(driver, memory, library, (codec, tuple(words), chunk), plain, asked["bytes"],
                               time.monotonic() + asked["seconds"]):
                moved = (row["plain_bytes"] + row["read_bytes"]) / row["decode_seconds"]["median"]
                say({**row, "fraction_of_limit": moved / limit})
        except (NvcompError, CudaError) as why:
            say({"error": str(why)})
            lost = isinstance(why, CudaError)
            if not lost:
                memory.release()
        say({"done": True})
        if lost:
            return 1  # the context may be lost: another process goes on
    return 0


if __name__ == "__main__":
    sys.exit(main())
