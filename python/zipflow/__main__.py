"""`python -m zipflow` is the command zfc: that of the build where the package lies, else that inside the compiler, else that in PATH."""

import os
import shutil
import signal
import sys


def find_zfc():
    """The path of the zfc of a build; None where the package is none of a build."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bin", "zfc")
    return path if os.access(path, os.X_OK) else None


def main():
    zfc = find_zfc()
    if zfc is None:
        try:
            from . import _compile
        except ModuleNotFoundError as error:
            if error.name != "zipflow_compile":
                raise
            zfc = shutil.which("zfc")
            if zfc is None:
                print("zipflow: the command zfc is not installed: it comes with zipflow-compile", file=sys.stderr)
                return 2
        else:
            os.environ.setdefault("ZIPFLOW_STD", os.path.join(os.path.dirname(_compile.__file__), "std"))
            for number in (signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ):  # which Python handles or ignores, and zfc does not
                signal.signal(number, signal.SIG_DFL)
            return _compile.command([b"zfc", *map(os.fsencode, sys.argv[1:])])
    os.execv(zfc, ["zfc", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
