"""`python -m zipflow` is the command zfc, where it is: in a wheel, beside a build, or in PATH."""

import os
import shutil
import sys


def find_zfc():
    """The path of zfc; None where there is none."""
    here = os.path.dirname(os.path.abspath(__file__))
    for path in (os.path.join(here, "bin", "zfc"), os.path.join(here, "..", "..", "bin", "zfc")):
        if os.access(path, os.X_OK):
            return path
    return shutil.which("zfc")


def main():
    zfc = find_zfc()
    if zfc is None:
        print("zipflow: the command zfc is not installed: it is in no wheel without it, beside no build, and not in PATH", file=sys.stderr)
        return 2
    os.execv(zfc, ["zfc", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
