"""The compiler refuses a runtime of another build: its functions would not be those that it calls."""

import subprocess
import sys

import pytest

CODE = """
import ctypes, sys
import zipflow._runtime as runtime

class Library(ctypes.Structure):
    _fields_ = [("text", ctypes.c_char_p), ("count", ctypes.c_size_t), ("functions", ctypes.c_void_p)]

api = ctypes.pythonapi
api.PyCapsule_GetPointer.restype, api.PyCapsule_GetPointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
api.PyCapsule_New.restype, api.PyCapsule_New.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
name = b"zipflow._runtime.library"
real = Library.from_address(api.PyCapsule_GetPointer(runtime.library, name))
text, count = real.text, real.count
version, *functions = text.decode().split()
assert len(functions) == count > 20
CHANGE
other = Library(text, count, real.functions)
if name:
    runtime.library = api.PyCapsule_New(ctypes.addressof(other), name, None)
else:
    del runtime.library
import zipflow as zf
zf.Program("table t { n: i64 = bitpack; }")
"""


EARLIER, BUILD, ABSENT = "the runtime has 0.0.9\n", "both of version", "the runtime has an earlier one"


@pytest.mark.parametrize("change, refused", [
    ("", False),
    ("text = b'0.0.9:' + text[len(version):]", EARLIER),
    ("text, count = text.rsplit(b' ', 1)[0], count - 1", BUILD),
    ("count -= 1", BUILD),
    ("functions[3:5] = functions[4:2:-1]; text = ' '.join([version, *functions]).encode()", BUILD),
    ("name = b'another'", ABSENT),
    ("name = None", ABSENT),
])
def test_another_build(change, refused):
    done = subprocess.run([sys.executable, "-c", CODE.replace("CHANGE", change)], capture_output=True, text=True)
    if refused:
        assert done.returncode == 1 and "ImportError: zipflow-runtime and zipflow-compile are of different builds" in done.stderr, done
        assert refused in done.stderr, done
    else:
        assert done.returncode == 0, done.stderr
