"""Reads that have begun. Imported at the first: concurrent.futures takes time that `import zipflow` need not."""

import concurrent.futures
import threading

from . import _home
from ._errors import UsageError, refuse


class Pending:
    """A read that has begun: `result()` waits for its table, `futures` has a future for each column.

    On a GPU it keeps the file open. When nobody has it or its futures, the read ends early, unless `unverified` was called. On the CPU columns that have not begun when the file is closed
    are ValueErrors.
    """

    __slots__ = ("_names", "_wait", "_reading", "_table", "_futures", "_lock")

    def __init__(self, names, wait, reading, table):
        self._names, self._wait, self._reading, self._table = names, wait, reading, table
        self._futures, self._lock = None, threading.Lock()
        if reading is None:  # on the CPU a thread decodes; a GPU's pipeline has its own
            self.futures

    @property
    def futures(self):
        """{column: concurrent.futures.Future of its Column or DeviceColumn}, which a thread completes: `asyncio.wrap_future` takes them.

        They cannot be cancelled.
        """
        with self._lock:
            if self._futures is None:
                self._futures = {name: concurrent.futures.Future() for name in self._names}
                for future in self._futures.values():
                    future.set_running_or_notify_cancel()
                threading.Thread(target=_complete, args=(list(self._futures.values()), self._wait), name="zipflow.Pending", daemon=True).start()
            return dict(self._futures)

    def result(self):
        """Waits for all columns, and returns their Table or DeviceTable, checked. Raises as `read` does, for the first column that failed."""
        try:
            if self._reading is not None:
                return self._table([self._wait(k) for k in range(len(self._names))])
            return self._table([future.result() for future in self.futures.values()])
        finally:
            _home.drain()

    def done(self):
        """Whether `result` returns at once."""
        if self._reading is not None:
            return all(self._reading.done(k) for k in range(len(self._names)))
        return all(future.done() for future in self.futures.values())

    def unverified(self):
        """The DeviceTable now. Its stream waits for the rows, the host does not, and nothing is checked: a damaged file is an error of
        `result` alone, so call that in the end. `nbytes` of strings is an upper bound until then. A stream that DLPack names waits for
        its stream; CUDA's array interface names it; Arrow's interfaces of its columns raise UsageError until they are checked.

        Raises UsageError for a read on the CPU.
        """
        if self._reading is None:
            raise refuse(UsageError, "columns on the CPU are not there before they are checked: use result()")
        self._reading.follow()
        return self._table([self._reading.column(k) for k in range(len(self._names))])

    def _early(self, what):
        return refuse(UsageError, f"a Pending has no {what}: its rows are not there yet", hint="use result(), or unverified()")

    def __getitem__(self, name):
        raise self._early("columns")

    def __arrow_c_stream__(self, requested_schema=None):
        raise self._early("Arrow stream")

    def __arrow_c_device_array__(self, requested_schema=None, **keywords):
        raise self._early("Arrow array")

    def __arrow_c_device_stream__(self, requested_schema=None, **keywords):
        raise self._early("Arrow stream")

    def __repr__(self):
        return f"<zipflow.Pending: {', '.join(self._names)}>"


def _complete(futures, wait):
    """Completes each future."""
    for k, future in enumerate(futures):
        try:
            future.set_result(wait(k))
        except BaseException as error:
            future.set_exception(error)
