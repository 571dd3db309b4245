"""audit.py names each fault: modules that have one are linked here, and one that has none.

Usage: audit_red.py CC
"""

import pathlib
import subprocess
import sys
import sysconfig
import tempfile

import audit

CC, INCLUDE = sys.argv[1], sysconfig.get_path("include")
SOURCE = """
#include <Python.h>
#include <fcntl.h>
#include <stdlib.h>
static int execute(PyObject *module) { return open(PyModule_GetName(module), O_RDONLY) < 0; }
static PyModuleDef_Slot slots[] = {{Py_mod_exec, execute}, {0}};
static struct PyModuleDef definition = {.m_base = PyModuleDef_HEAD_INIT, .m_name = "red", .m_slots = slots};
PyMODINIT_FUNC PyInit__red(void) { return PyModuleDef_Init(&definition); }
"""
MAP = "{ global: PyInit_*; more*; local: *; };"
# Name of the fault, more source, more words of the linker, the glibc that is allowed, words of the fault.
CASES = (
    ("none", "", [], "2.17", None),
    ("a second symbol", "void more(void); void more(void) {}", [], "2.17", "exports PyInit__red, more,"),
    ("a symbol of nobody", "void nobody(void); void more_calls(void); void more_calls(void) { nobody(); }", [], "2.17", "needs nobody, which has no version"),
    ("a weak symbol of nobody", "__attribute__((weak)) void nobody(void); void more_calls(void); void more_calls(void) { if (nobody) nobody(); }", [],
     "2.17", "needs nobody, which has no version"),
    ("an old glibc", "", [], "2.1", "needs glibc 2.2.5, later than 2.1"),
    ("a library", "", ["-Wl,--no-as-needed", "-lgcc_s"], "2.17", "needs libgcc_s.so.1"),
    ("memory of threads", "static __thread int own __attribute__((tls_model(\"initial-exec\"))); int more(void); int more(void) { return own++; }", [],
     "2.17", "has static memory of threads"),
    ("a stack with code", "", ["-Wl,-z,execstack"], "2.17", "asks for a stack that can be executed"),
    ("a search path", "", ["-Wl,-rpath,$ORIGIN"], "2.17", "has a search path"),
    ("no module", "", ["-DPyMODINIT_FUNC=static PyObject*", "-Wno-unused-function"], "2.17", "exports nothing"),
)

wrong = 0
with tempfile.TemporaryDirectory() as folder:
    source, versions, module = pathlib.Path(folder, "red.c"), pathlib.Path(folder, "red.map"), pathlib.Path(folder, "_red.abi3.so")
    versions.write_text(MAP)
    for name, more, words, glibc, expected in CASES:
        source.write_text(SOURCE + more)
        # Without the system's start files, whose weak symbols Zig's do not have.
        subprocess.run([CC, "-w", "-fPIC", "-shared", "-nostartfiles", "-DPy_LIMITED_API=0x030B0000", f"-I{INCLUDE}", f"-Wl,--version-script={versions}",
                        "-o", module, source, *words], check=True)
        faults = audit.audit(module, glibc)[1]
        if (faults != []) if expected is None else not any(fault.startswith(expected) for fault in faults):
            print(f"{name}: {faults or 'nothing is found'}")
            wrong += 1
print(f"{len(CASES)} modules, {wrong} wrong")
sys.exit(wrong > 0)
