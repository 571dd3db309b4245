"""The context and the compiler that files and programs of this process share."""

import _thread
import os

from . import _runtime

_lock = _thread.allocate_lock()
_home = None


def home():
    """The Home of this process; made at the first use, and anew in a forked child."""
    global _home
    with _lock:
        if _home is None:
            _home = _runtime.home()
        return _home


def with_compiler(owner):
    """Gives a Home its compiler, which loads LLVM. Without zipflow-compile decodes say what they lack."""
    try:
        from . import _compile
    except ImportError as error:
        if error.name != "zipflow_compile":
            raise
        return
    folder = os.path.join(os.path.dirname(_compile.__file__), "std")  # of a wheel; a build has it beside its libraries
    with _lock:
        _compile.attach(owner._capsule(), os.fsencode(folder) if os.path.isdir(folder) else b"")


def check_threads(threads):
    """Refuses a number of threads that no call may have."""
    if not 0 <= threads <= 256:
        raise ValueError("threads must be between 0 and 256")


def _in_child():
    global _home, _lock
    _home, _lock = None, _thread.allocate_lock()


os.register_at_fork(after_in_child=_in_child)
