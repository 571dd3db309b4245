"""The context and the compiler that files and programs of this process share."""

import _thread
import atexit
import os
import sys

from . import _runtime
from ._errors import UsageError, refuse

_lock = _thread.allocate_lock()
_home = None


def home():
    """The Home of this process; made at the first use, and anew in a forked child."""
    global _home
    with _lock:
        if _home is None:
            _home = _runtime.home()
        owner = _home
    drain(owner)
    return owner


_LEVELS = (40, 30, 20, 10)  # of logging, by zf_log_level
_quiet = False  # the logger has the handler that a library's logger should have


def drain(owner=None):
    """Gives the lines of the library's log to the logger "zipflow", if the process uses `logging`.

    The library's threads leave lines in a queue of 1,024, since they must not wait for the GIL. Calls of the package empty it
    when they begin; those that read or write, and `Pending.result`, also when they end. Lines of a stream's batches wait for the
    next call.
    """
    global _quiet
    owner = owner or _home
    if owner is None:
        return
    logging = sys.modules.get("logging")  # who does not use it hears nothing, and need not wait for its import
    logger = logging.getLogger("zipflow") if hasattr(logging, "NullHandler") else None
    if logger and not _quiet:
        logger.addHandler(logging.NullHandler())
        _quiet = True
    most = sum(logger.isEnabledFor(level) for level in _LEVELS) - 1 if logger else -1
    lines, dropped = owner.log(most)
    for level, line in lines if logger else ():
        logger.log(_LEVELS[level], "%s", line)
    if dropped and logger:
        logger.warning("%d lines of the log were dropped", dropped)


atexit.register(drain)


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
        raise refuse(UsageError, "threads must be between 0 and 256")


def _in_child():
    global _home, _lock
    _home, _lock = None, _thread.allocate_lock()


os.register_at_fork(after_in_child=_in_child)
