"""Runs tests of the Python package, on the package of a build. Skipped (77) where pytest or pyarrow is missing.

Usage: run_pytest.py DIRECTORY_OF_THE_PACKAGE FILE [pytest arguments]
"""

import importlib.util
import os
import pathlib
import sys
import tempfile

sys.dont_write_bytecode = True
missing = [name for name in ("pytest", "pyarrow", "numpy") if importlib.util.find_spec(name) is None]
if sys.version_info < (3, 11) or missing:
    print(f"skipped: {sys.executable} is Python {sys.version.split()[0]}" + (f" without {', '.join(missing)}" if missing else ""))
    print("script/bootstrap makes a .venv with what the tests need")
    sys.exit(77)
package, test, *more = sys.argv[1:]
with tempfile.TemporaryDirectory() as folder:
    os.environ.update(ZIPFLOW_CACHE_DIR=os.path.join(folder, "cache"), PYTHONDONTWRITEBYTECODE="1", PYTHONPATH=package)
    sys.path.insert(0, package)
    sys.path.insert(0, str(pathlib.Path(test).parent))
    import pytest

    status = pytest.main(["-p", "no:cacheprovider", "-q", "--basetemp", os.path.join(folder, "files"), "--rootdir", str(pathlib.Path(test).parent), test, *more])
sys.exit(int(status))
