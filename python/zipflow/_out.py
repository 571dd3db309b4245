"""Memory of the caller that rows are decoded into: `out` of `File.read`. Checked before anything is decoded."""

import math
import operator

from . import _runtime, _types
from ._errors import UnsupportedError, UsageError, refuse

PARTS = ("values", "offsets", "validity")
_KINDS = dict.fromkeys("bhilqn", "int") | dict.fromkeys("BHILQNc", "uint") | dict.fromkeys("efd", "float") | {"?": "bool"}  # of formats of buffers
_CODES = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex", 6: "bool"}  # of DLPack
_TYPESTR = {"i": "int", "u": "uint", "f": "float", "b": "bool"}  # of CUDA's array interface
_LETTERS = {letter: (kind, size) for kind, letters in (("int", "csil"), ("uint", "CSIL")) for letter, size in zip(letters, (1, 2, 4, 8))}
_LETTERS |= {"e": ("float", 2), "f": ("float", 4), "g": ("float", 8), "b": ("uint", 1), "tdD": ("int", 4), "tts": ("int", 4), "ttm": ("int", 4)}
_CPU = 1  # of DLPack


class _Memory:
    """Memory and the type of its elements. Its owner keeps it."""

    __slots__ = ("address", "kind", "size", "shape", "owner")

    def __init__(self, address, kind, size, shape, owner):
        self.address, self.kind, self.size, self.shape, self.owner = address, kind, size, tuple(shape), owner

    @property
    def nbytes(self):
        return self.size * math.prod(self.shape)

    def __str__(self):
        return f"{self.kind}{8 * self.size} of shape {self.shape}"


def _refuse(message, name, hint=""):
    return refuse(UsageError, f"out of column {name!r} {message}", name, hint)


def _buffer(thing, name):
    """Memory of the buffer protocol; None: the object has none."""
    try:
        view = memoryview(thing)
    except TypeError:
        return None
    except (ValueError, BufferError) as error:
        raise _refuse(f"gives no buffer: {error}", name, 'an array of dates or times has one as numbers: `array.view("i8")`') from None
    if view.readonly:
        raise _refuse("is read-only", name)
    if not view.c_contiguous:
        raise _refuse("is not contiguous", name)
    order, letter = (view.format[0], view.format[1:]) if view.format[:1] in tuple("@=<>!") else ("@", view.format)
    kind = _KINDS.get(letter, f"`{view.format}`, bits ")
    if order in ">!" and view.itemsize > 1:
        raise _refuse("has the highest byte first", name)
    return _Memory(_runtime.buffer_address(view), kind, view.itemsize, view.shape, view)


def _tensor(thing, name):
    """Memory of DLPack."""
    if not (hasattr(thing, "__dlpack__") and hasattr(thing, "__dlpack_device__")):
        raise _refuse(f"is {type(thing).__name__}, which has neither the buffer protocol nor DLPack", name)
    if thing.__dlpack_device__()[0] != _CPU:
        raise _refuse("is not in host memory", name)
    try:
        try:
            capsule = thing.__dlpack__(max_version=(1, 0))
        except TypeError:  # of a producer that knows no versions
            capsule = thing.__dlpack__()
        address, device, code, bits, lanes, shape, contiguous, read_only = _runtime.describe_tensor(capsule)
    except (BufferError, RuntimeError, ValueError) as error:
        raise _refuse(f"gives no tensor: {error}", name) from None
    if device != _CPU:
        raise _refuse("is not in host memory", name)
    if read_only:
        raise _refuse("is read-only", name)
    if not contiguous:
        raise _refuse("is not contiguous", name)
    return _Memory(address, _CODES.get(code, f"type {code}, bits ") if lanes == 1 and bits % 8 == 0 else f"{lanes} lanes of {bits} bits, bytes ", bits // 8, shape, capsule)


def on_host(thing, name):
    """Memory of the CPU that can be written."""
    return _buffer(thing, name) or _tensor(thing, name)


def on_gpu(thing, name, refuse=_refuse, writes=True):
    """Memory of a GPU, by CUDA's array interface. refuse(message, name): the exception of what does not fit. writes: it is written to."""
    interface = getattr(thing, "__cuda_array_interface__", None)
    if not isinstance(interface, dict):
        raise refuse(f"is {type(thing).__name__}, which has no __cuda_array_interface__", name)
    try:
        typestr, shape, strides, (address, read_only) = interface["typestr"], interface["shape"], interface.get("strides"), interface["data"]
        shape, size = tuple(operator.index(extent) for extent in shape), int(typestr[2:])
        steps = tuple(size * math.prod(shape[k + 1:]) for k in range(len(shape)))
        strides = steps if strides is None or 0 in shape else tuple(operator.index(step) for step in strides)
        address = operator.index(address)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise refuse(f"is {type(thing).__name__}, whose __cuda_array_interface__ is wrong ({error!r})", name) from None
    if read_only and writes:
        raise refuse("is read-only", name)
    if any(stride != step for stride, step, extent in zip(strides, steps, shape) if extent != 1) or len(strides) != len(shape):
        raise refuse("is not contiguous", name)
    if typestr[0] == ">":
        raise refuse("has the highest byte first", name)
    return _Memory(address, _TYPESTR.get(typestr[1], f"`{typestr}`, bits "), size, shape, thing)


def _element(name, form):
    """The kind and size of an element of the rows of a plain type, as they are stored; None: rows are not as they are stored."""
    if form[:2] in ("ts", "tD") or form in ("tdm", "ttu", "ttn") or form.startswith("d:") and form.endswith(",64"):
        return "int", 8
    return ("uint", 1) if form in ("u", "U", "z", "Z") else _LETTERS.get(form)


def _wanted(field, count, sizes):
    """{part: (kind, size of an element, shape)} that a column has memory for. The shape of the values of strings is the least."""
    name, form, flags, _, child, entries = field
    width = _types.row_length(form) if child and form.startswith("+w:") else None
    plain = child if width is not None else field
    element = None if plain[5] or plain[4] else _element(name, plain[1])
    if element is None or child and (width is None or plain[1] in ("b", "u", "U", "z", "Z")):
        raise refuse(UnsupportedError, f"column {name!r} has Arrow's type `{form}`, whose rows are not decoded into memory of the caller", name,
                     "read it without out")
    if width is not None:
        return {"values": (*element, (count, width))}
    bits = ("uint", 1, ((count + 7) // 8,))
    if form == "b":
        parts = {"values": bits}
    elif form in ("u", "U", "z", "Z"):
        parts = {"values": (*element, (sizes["values"],)), "offsets": ("int", 8, (count + 1,))}
    else:
        parts = {"values": (*element, (count,))}
    return parts | {"validity": bits} if flags & _types.NULLABLE else parts


def _check(memory, wanted, name, part, at_least):
    kind, size, shape = wanted
    needs = f"needs {kind}{8 * size} of shape {shape}{' at least' * at_least} for its {part}"
    has, nbytes = memory.shape, size * math.prod(shape)
    if (memory.kind, memory.size) == (kind, size) and len(has) == len(shape):
        fits = has[1:] == shape[1:] and (has[0] == shape[0] or at_least and has[0] > shape[0])
    else:  # bytes do for any type
        fits = memory.kind == "uint" and memory.size == 1 and len(has) == 1 and (has[0] == nbytes or at_least and has[0] > nbytes)
    if not fits:
        raise _refuse(f"{needs}, and is {memory}", name)
    if memory.address % size:
        raise _refuse(f"is not aligned to the {size} bytes of an element", name)


def _overlap(taken):
    """Refuses memory that has two uses. taken: (address, bytes, (name, part)), of memory that is only read with None."""
    taken.sort(key=lambda row: row[0])
    end, last = 0, None
    for address, nbytes, use in taken:
        if nbytes and address < end:
            first, second = sorted((last, use), key=lambda one: one is None)
            if first is not None:
                other = "the memory that the file is read from" if second is None else f"the {second[1]} of column {second[0]!r}"
                raise _refuse(f"has {first[1]} whose memory overlaps {other}", first[0])
        if address + nbytes > end:
            end, last = address + nbytes, use


def take(out, fields, count, sizes, convert, source=None):
    """[(values, offsets, validity)], for each column (address, bytes, owner) or None of each part.

    out: {column: memory, or {part: memory}}. fields: of the columns, as _types.field_of makes them. sizes(k): what `File.sizes` says of
    column k. convert: on_host or on_gpu. source: the address and bytes of the file, where it is read from memory.
    """
    if not hasattr(out, "items"):
        raise refuse(UsageError, f"out must be a mapping of columns to memory, not {type(out).__name__}")
    names = [field[0] for field in fields]
    other = next((name for name in out if name not in names), None)
    if other is not None:
        within = [name for name in names if isinstance(other, str) and other.startswith(f"{name}.")]
        raise refuse(UsageError, f"out names {other!r}, which is no column of the read",
                     hint=f"a field of a struct is read by itself for out: {[other]!r} in place of {within[:1]!r}" if within else f"it reads {', '.join(names)}")
    taken, rows = [(*source, None)] if source else [], []
    for k, field in enumerate(fields):
        name, parts = field[0], [None] * len(PARTS)
        given = out.get(name)
        if given is not None:
            given = dict(given) if hasattr(given, "items") else {"values": given}
            wanted = _wanted(field, count, sizes(k) if field[1] in ("u", "U", "z", "Z") else None)
            for part, thing in given.items():
                if part not in wanted:
                    raise _refuse(f"has {part!r}, and the column has {', '.join(wanted)}", name)
                memory = convert(thing, name)
                _check(memory, wanted[part], name, part, convert is on_gpu or part == "values" and "offsets" in wanted)
                taken.append((memory.address, memory.nbytes, (name, part)))
                parts[PARTS.index(part)] = (memory.address, memory.nbytes, memory.owner) if memory.nbytes else None
        rows.append(tuple(parts))
    _overlap(taken)
    return rows
