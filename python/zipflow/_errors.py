"""Exceptions of the package. Each is a ZipflowError and one of Python's own, so that either can be caught."""

import errno as _errno
import os as _os


class ZipflowError(Exception):
    """An error of zipflow.

    code: "ZF1208", stable, explained in docs/errors.md; "" for an error of the package itself.
    place: file, column, block, byte, or line and column of a program; "" where there is none.
    hint: what to try; "" where there is none.
    """

    code = place = hint = ""

    def __str__(self):
        # Those of OSError and KeyError would print numbers and quotes.
        text = self._message
        if self.code:
            text = f"[{self.code}] {text}"
        if self.place:
            text += f" (at {self.place})"
        return f"{text}\n{self.hint}" if self.hint else text

    def __reduce__(self):
        return _build, (type(self), self._message, self.code, self.place, self.hint, getattr(self, "errno", None))

    _message = ""


class InputError(ZipflowError, ValueError):
    """A file, a program or data is wrong: damaged, not a container, a value that a codec refuses."""


class UsageError(ZipflowError, ValueError):
    """An argument is wrong."""


class ColumnError(UsageError, KeyError):
    """There is no such column."""


class DeviceError(ZipflowError, RuntimeError):
    """A device is absent or failed."""


class OutOfMemoryError(ZipflowError, MemoryError):
    """Memory ended."""


class FileError(ZipflowError, OSError):
    """The operating system refused. `errno` is its number where it is known."""


class NoFileError(FileError, FileNotFoundError):
    """A file or a directory does not exist."""


class PermissionDeniedError(FileError, PermissionError):
    """The file may not be opened or made."""


class ExistsError(FileError, FileExistsError):
    """A file exists, and `overwrite` is false."""


class UnsupportedError(ZipflowError, NotImplementedError):
    """Valid, but this version does not support it."""


class InternalError(ZipflowError, RuntimeError):
    """A fault of zipflow; please report it."""


class CancelledError(ZipflowError, RuntimeError):
    """The call was cancelled."""


# By zf_status.
_CLASSES = {1: InputError, 2: UsageError, 3: DeviceError, 4: OutOfMemoryError, 5: FileError, 6: UnsupportedError, 7: InternalError,
            8: CancelledError}
_BY_ERRNO = {_errno.ENOENT: NoFileError, _errno.EACCES: PermissionDeniedError, _errno.EPERM: PermissionDeniedError, _errno.EEXIST: ExistsError}


def _build(kind, message, code, place, hint, number):
    error = kind(number, message) if issubclass(kind, OSError) else kind(message)
    error._message, error.code, error.place, error.hint = message, code, place, hint
    return error


def make(status, code, message, place, hint):
    """The exception of an error of the library."""
    kind, number = _CLASSES.get(status, InternalError), None
    if code == "ZF1105":
        kind = ColumnError
    elif kind is FileError:
        number = _errno.EEXIST if code == "ZF1501" else _number(message)
        kind = _BY_ERRNO.get(number, FileError)
    return _build(kind, message, code, place, hint, number)


def _number(message):
    """The system's number of an error, whose text ends the message."""
    reason = message.rpartition(": ")[2]
    return next((number for number in _errno.errorcode if _os.strerror(number) == reason), None)


def refuse(kind, message, place="", hint=""):
    """An exception of the package itself."""
    return _build(kind, message, "", place, hint, None)


def of_system(error, path):
    """The exception of an OSError about a path."""
    kind = _BY_ERRNO.get(error.errno, FileError)
    return _build(kind, f"cannot open the file: {_os.strerror(error.errno)}", "", path, "", error.errno)


def utf8(text, what):
    """Text as UTF-8. Raises UsageError for surrogates, which have none. what: the text, for the error."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise refuse(UsageError, f"{what} is not UTF-8: {text[max(error.start - 8, 0):error.end + 8]!r}") from None
