"""Reading columns into a GPU's memory: devices, streams, allocators."""

import operator

from . import _types
from ._errors import UnsupportedError, UsageError, refuse

_LEGACY = 1  # CU_STREAM_LEGACY: the default stream of CUDA, of torch and of CuPy


def device_name(device):
    """The name of a device, "cpu" or "cuda:0": of text, or of an object that prints as such (torch.device)."""
    name = "cuda:0" if str(device) == "cuda" else str(device)
    kind, _, number = name.partition(":")
    if name == "cpu" or (kind == "cuda" and len(number) < 10 and number.isascii() and number.isdigit() and number == str(int(number))):
        return name
    raise refuse(UsageError, f'device must be "cpu" or a GPU such as "cuda:0", not {name!r}')


def stream_handle(stream):
    """The address of a stream: None, a number, what has `__cuda_stream__`, a stream of torch (`cuda_stream`) or of CuPy (`ptr`)."""
    if stream is None:
        return _LEGACY
    if hasattr(stream, "__cuda_stream__"):
        handle = stream.__cuda_stream__() if callable(stream.__cuda_stream__) else stream.__cuda_stream__
        if not isinstance(handle, tuple) or len(handle) != 2:
            raise refuse(UsageError, f"__cuda_stream__ of {type(stream).__name__} is not (version, address): {str(handle)[:80]}")
        handle = handle[1]
    else:
        handle = next((getattr(stream, name) for name in ("cuda_stream", "ptr") if hasattr(stream, name)), stream)
    if isinstance(handle, bool) or not isinstance(handle, int):
        raise refuse(UsageError, f"stream must be a stream of CUDA, not {type(stream).__name__}", hint="it has __cuda_stream__, or is the address of one")
    if not 0 <= handle < 1 << 64:
        raise refuse(UsageError, f"{handle} is not the address of a stream")
    if handle == 2:  # CU_STREAM_PER_THREAD: memory goes back on any thread, for which 2 is another stream
        raise refuse(UsageError, "a default stream per thread has no order for columns that other threads may release", hint="give a stream of its own")
    return handle or _LEGACY


def _allocate(allocator, nbytes, handle, name):
    """(address, bytes, owner) of memory of the caller's allocator."""
    if nbytes == 0:
        return None
    if not callable(allocator):
        raise refuse(UsageError, f"allocator must be a function of bytes and a stream, not {type(allocator).__name__}")
    memory = allocator(nbytes, handle)
    interface = getattr(memory, "__cuda_array_interface__", None)
    if not isinstance(interface, dict):
        raise refuse(UsageError, f"the allocator returned {type(memory).__name__}, which has no __cuda_array_interface__", name)
    try:
        width, shape, strides, (address, read_only) = int(interface["typestr"][2:]), interface["shape"], interface.get("strides"), interface["data"]
        size = width
        for extent in shape:
            size *= operator.index(extent)
        gaps = strides is not None and tuple(strides) != (width,)
    except (KeyError, TypeError, ValueError) as error:
        raise refuse(UsageError, f"the allocator returned {type(memory).__name__}, whose __cuda_array_interface__ is wrong ({error!r})", name) from None
    if gaps:
        raise refuse(UsageError, "the allocator's memory has gaps", name)
    if size < nbytes:
        raise refuse(UsageError, f"the allocator returned {size} bytes, and {nbytes} are needed", name)
    address, read_only = interface["data"]
    if read_only or isinstance(address, bool) or not isinstance(address, int) or not 0 < address < 1 << 64:
        raise refuse(UsageError, "the allocator's memory cannot be written", name)
    return address, size, memory


def _check_room(parts, fields, sizes):
    """Refuses memory of `out` that kernels cannot fill: they write whole words, and all rows of a tile, from a multiple of 256 bytes on."""
    for given, field, row in zip(parts, fields, sizes):
        for part, nbytes in zip(given, row if field._values is None else (0,) * len(row)):  # lists are checked when their ends are known
            if part is not None and part[1] < nbytes:
                raise refuse(UsageError, f"out of column {field.name!r} has {part[1]} bytes, and {nbytes} are needed: kernels write whole words, and "
                             "all rows of a tile", field.name, "give longer memory for rows that begin where a block does, or read them without out")
            if part is not None and part[0] % 256:
                raise refuse(UsageError, f"out of column {field.name!r} is not aligned to 256 bytes", field.name)


def read(call, container, device, fields, begin, count, threads, stream, allocator, binary, out):
    """Decodes columns into a GPU's memory. call: decode_gpu or start_gpu of the container, whose result it returns."""
    lists = next((field.name for field in fields if field._values is not None), None)
    if lists is not None and allocator is not None:
        raise refuse(UnsupportedError, f"column {lists!r} is of lists, for which no allocator is asked", lists, "read it in a call without one")
    handle = stream_handle(stream)
    numbers = tuple(field._number for field in fields)
    there = [_types.on_gpu(_types.as_bytes(field._arrow) if binary else field._arrow, field._digits) for field in fields]
    parts = [(None, None, None)] * len(fields)
    sizes = container.gpu_sizes(device, numbers, begin, count) if allocator is not None or out is not None else ()
    if out is not None:
        from . import _out

        parts = _out.take(out, there, count, lambda k: {"values": sizes[k][0]}, _out.on_gpu)
        _check_room(parts, fields, sizes)
    if allocator is not None:
        parts = [tuple(part or _allocate(allocator, nbytes, handle, field.name) for part, nbytes in zip(given, row))
                 for given, field, row in zip(parts, fields, sizes)]
    columns = tuple((number, field, part, int(field[1][3:]) if field[1].startswith("+w:") else 0) for number, field, part in zip(numbers, there, parts))
    return call(device, handle, stream, columns, begin, count, threads)
