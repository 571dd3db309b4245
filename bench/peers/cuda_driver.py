"""CUDA's driver by ctypes: memory, copies, a clock. All that a comparison on one GPU needs, and no toolkit.

Everything runs on the default stream. Sizes are bytes; addresses are of the device.
"""

import ctypes

import numpy as np

CAPABILITY_MAJOR, CAPABILITY_MINOR, MULTIPROCESSORS, L2_BYTES = 75, 76, 16, 38  # CUdevice_attribute


class CudaError(Exception):
    """A call of the driver failed."""


class Driver:
    def __init__(self, path="libcuda.so.1", device=0):
        self.library = ctypes.CDLL(path)
        self.call("cuInit", ctypes.c_uint(0))
        self.device = ctypes.c_int()
        self.call("cuDeviceGet", ctypes.byref(self.device), ctypes.c_int(device))
        context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), self.device)  # the one that runtime libraries use, too
        self.call("cuCtxPushCurrent_v2", context)

    def call(self, name, *arguments):
        result = getattr(self.library, name)(*arguments)
        if result == 0:
            return
        said = ctypes.c_char_p()
        self.library.cuGetErrorName(result, ctypes.byref(said))
        raise CudaError(f"{name}: {said.value.decode() if said.value else result}")

    def facts(self):
        name, version, total = ctypes.create_string_buffer(128), ctypes.c_int(), ctypes.c_size_t()
        self.call("cuDeviceGetName", name, ctypes.c_int(128), self.device)
        self.call("cuDriverGetVersion", ctypes.byref(version))
        self.call("cuDeviceTotalMem_v2", ctypes.byref(total), self.device)
        value = ctypes.c_int()

        def attribute(number):
            self.call("cuDeviceGetAttribute", ctypes.byref(value), ctypes.c_int(number), self.device)
            return value.value

        return {"name": name.value.decode(), "capability": f"{attribute(CAPABILITY_MAJOR)}.{attribute(CAPABILITY_MINOR)}",
                "multiprocessors": attribute(MULTIPROCESSORS), "l2_bytes": attribute(L2_BYTES), "memory": total.value,
                "driver_for_cuda": f"{version.value // 1000}.{version.value % 1000 // 10}"}

    def free_bytes(self):
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self.call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return free.value

    def wait(self):
        self.call("cuStreamSynchronize", None)

    def fill(self, address, byte, size):
        if size > 0:
            self.call("cuMemsetD8Async", ctypes.c_uint64(address), ctypes.c_ubyte(byte), ctypes.c_size_t(size), None)

    def copy(self, to, source, size):
        """Within the device. May still run on return."""
        if size > 0:
            self.call("cuMemcpyDtoDAsync_v2", ctypes.c_uint64(to), ctypes.c_uint64(source), ctypes.c_size_t(size), None)

    def upload(self, to, array):
        array = np.ascontiguousarray(array)
        if array.nbytes > 0:
            self.call("cuMemcpyHtoDAsync_v2", ctypes.c_uint64(to), ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes), None)
        self.wait()

    def download(self, array, source):
        """Fills an array, contiguous. Complete on return."""
        if array.nbytes > 0:
            self.call("cuMemcpyDtoHAsync_v2", ctypes.c_void_p(array.ctypes.data), ctypes.c_uint64(source), ctypes.c_size_t(array.nbytes), None)
        self.wait()

    def seconds(self, work):
        """How long what `work` starts takes the device, behind what was started before: while that still runs, what the host needs
        to start the rest does not count. Complete on return."""
        events = [ctypes.c_void_p(), ctypes.c_void_p()]
        for event in events:
            self.call("cuEventCreate", ctypes.byref(event), ctypes.c_uint(0))
        try:
            self.call("cuEventRecord", events[0], None)
            work()
            self.call("cuEventRecord", events[1], None)
            self.call("cuEventSynchronize", events[1])
            milliseconds = ctypes.c_float()
            self.call("cuEventElapsedTime", ctypes.byref(milliseconds), *events)
            return milliseconds.value / 1e3
        finally:
            for event in events:
                self.library.cuEventDestroy_v2(event)


class Memory:
    """Buffers of the device by name, each made anew only when it is too small, and all of them freed together."""

    def __init__(self, driver):
        self.driver = driver
        self.buffers = {}  # name: (address, bytes)
        self.landing = None

    def need(self, name, size):
        address, room = self.buffers.get(name, (0, 0))
        if size <= room and address:
            return address
        self.release(name)
        made = ctypes.c_uint64()
        room = (max(size, 1) + (1 << 21)) >> 21 << 21
        self.driver.call("cuMemAlloc_v2", ctypes.byref(made), ctypes.c_size_t(room))
        self.buffers[name] = (made.value, room)
        return made.value

    def release(self, *names):
        for name in names or list(self.buffers):
            address, _ = self.buffers.pop(name, (0, 0))
            if address:
                self.driver.wait()
                self.driver.call("cuMemFree_v2", ctypes.c_uint64(address))

    def host(self, size):
        """Bytes of the host that the device copies to quickly: one array, good until the next call."""
        if self.landing is None or self.landing.nbytes < size:
            if self.landing is not None:
                self.driver.call("cuMemFreeHost", ctypes.c_void_p(self.landing.ctypes.data))
                self.landing = None
            pointer = ctypes.c_void_p()
            self.driver.call("cuMemHostAlloc", ctypes.byref(pointer), ctypes.c_size_t(size), ctypes.c_uint(0))
            self.landing = np.frombuffer((ctypes.c_ubyte * size).from_address(pointer.value), np.uint8)
        return self.landing[:size]
