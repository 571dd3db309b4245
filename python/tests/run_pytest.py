"""Runs tests of the Python package, on the package of a build. Skipped (77) where pytest or pyarrow is missing.

Usage: run_pytest.py DIRECTORY_OF_THE_PACKAGE FILE [pytest arguments]
"""

import importlib.util
import os
import pathlib
import sys
import tempfile

sys.dont_write_bytecode = True


def main():
    missing = [name for name in ("pytest", "pyarrow", "numpy") if importlib.util.find_spec(name) is None]
    if sys.version_info < (3, 11) or missing:
        print(f"skipped: {sys.executable} is Python {sys.version.split()[0]}" + (f" without {', '.join(missing)}" if missing else ""))
        print("script/bootstrap makes a .venv with what the tests need")
        return 77
    package, test, *more = sys.argv[1:]
    folder_of_tests = str(pathlib.Path(test).parent)
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(ZIPFLOW_CACHE_DIR=os.path.join(folder, "cache"), PYTHONDONTWRITEBYTECODE="1", PYTHONPATH=package)
        sys.path[:0] = [folder_of_tests, package]
        import pytest

        return pytest.main(["-p", "no:cacheprovider", "-q", "--basetemp", os.path.join(folder, "files"), "--rootdir", folder_of_tests, test, *more])


if __name__ == "__main__":  # children that tests spawn import this file, too
    sys.exit(int(main()))
