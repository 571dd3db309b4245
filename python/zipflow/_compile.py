"""The compiler where it is a package of its own, as with wheels. A build has the module in C in this place, which Python prefers."""

import sys

try:
    from zipflow_compile import _compile as module
except ModuleNotFoundError as error:
    if error.name not in ("zipflow_compile", "zipflow_compile._compile"):
        raise
    raise ModuleNotFoundError("zipflow-compile is not installed, which encodes, and decodes without a module: pip install zipflow",
                              name="zipflow_compile") from None
sys.modules[__name__] = module
