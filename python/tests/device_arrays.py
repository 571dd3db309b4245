"""Arrow's device arrays, taken apart: for tests of columns in a GPU's memory."""

import ctypes


class Array(ctypes.Structure):
    pass


Array._fields_ = [("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64), ("n_buffers", ctypes.c_int64),
                  ("n_children", ctypes.c_int64), ("buffers", ctypes.POINTER(ctypes.c_void_p)), ("children", ctypes.POINTER(ctypes.POINTER(Array))),
                  ("dictionary", ctypes.c_void_p), ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(Array))), ("private_data", ctypes.c_void_p)]


class DeviceArray(ctypes.Structure):
    _fields_ = [("array", Array), ("device_id", ctypes.c_int64), ("device_type", ctypes.c_int32), ("sync_event", ctypes.c_void_p),
                ("reserved", ctypes.c_int64 * 3)]


class DeviceStream(ctypes.Structure):
    pass


DeviceStream._fields_ = [("device_type", ctypes.c_int32), ("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(DeviceStream), ctypes.c_void_p)),
                         ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(DeviceStream), ctypes.POINTER(DeviceArray))),
                         ("get_last_error", ctypes.c_void_p), ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(DeviceStream))),
                         ("private_data", ctypes.c_void_p)]

_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


def array_of(column):
    """The device array of a column or a table, and the capsules, which keep it."""
    kept = column.__arrow_c_device_array__()
    return array_at(kept), kept


def array_at(capsules):
    """The device array in the capsules of one."""
    return DeviceArray.from_address(_pointer(capsules[1], b"arrow_device_array"))


def stream_of(table):
    """The device stream of a table, and the capsule, which keeps it."""
    capsule = table.__arrow_c_device_stream__()
    return DeviceStream.from_address(_pointer(capsule, b"arrow_device_array_stream")), capsule


def buffers_of(array):
    """Addresses; None for a buffer that there is not."""
    return [array.buffers[k] for k in range(array.n_buffers)]
