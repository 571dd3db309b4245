"""The machine that a benchmark runs on."""

import pathlib
import platform


def processor():
    """The model of the processor, as the system calls it."""
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()
