"""The compiled module `headgate._native`, which is optional: whether this process has it, and whether a job uses it.

Without the module everything runs in Python, with the same results, errors and snapshots, and slower. The module is
built where a C compiler is found when headgate is installed.
"""

from __future__ import annotations

import importlib
import logging
import os
import sysconfig
from functools import cache
from types import ModuleType
from typing import Final

from headgate.errors import EnvironmentFault

_log: Final = logging.getLogger(__name__)
SWITCH: Final = "HEADGATE_NATIVE"
"""The environment variable that keeps a process from loading the module when it is `off`."""
COMPILED: Final = "compiled"
"""What `describe` returns where the hot path is compiled."""
INTERFACE: Final = "d64938b4"
"""The CRC of `_native.pyi`, in hexadecimal. A module that was built with another one in `native.h` is not used."""
_NAME: Final = "headgate._native"
_INSTALL: Final = (
    "install a C compiler and Python's headers, then install headgate again with pip install --no-cache-dir"
)


@cache
def _found() -> tuple[ModuleType | None, str, str]:
    """Return the module, or None, why there is none, and what to do to have one."""
    if os.environ.get(SWITCH) == "off":
        return None, f"switched off by the environment variable {SWITCH}", "unset the variable"
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        reason = "not for free-threaded Python, whose reference counts do not tell who holds an object"
        return None, reason, "use a Python with the global interpreter lock"
    try:
        module = importlib.import_module(_NAME)
    except ModuleNotFoundError:
        return None, "not built: headgate was installed without a C compiler or the headers of Python", _INSTALL
    except ImportError as error:  # of another Python or another C library
        return None, f"not to be loaded: {error}", _INSTALL
    if getattr(module, "INTERFACE", None) != INTERFACE:
        reason = "stale: it was built from the sources of another headgate"
        return None, reason, "run make native in a checkout, or install headgate again"
    return module, "", ""


@cache
def describe() -> str:
    """Return which code the hot path of this process runs, in words. The first call also writes them into the log."""
    module, reason, step = _found()
    if module is not None:
        _log.info("hot path: %s", COMPILED)
        return COMPILED
    words = f"Python ({_NAME} is {reason})"
    _log.info("hot path: %s; to run compiled code, %s", words, step)
    return words


def chosen(wish: str) -> ModuleType | None:
    """Return the module that a job uses, by its option `headgate.native`; None: the job runs in Python.

    Raises EnvironmentFault for `on` where the module is missing.
    """
    if wish == "off":
        return None
    module, reason, step = _found()
    if module is None and wish == "on":
        raise EnvironmentFault(
            f"headgate.native is on, but {_NAME} is {reason}: {step}, on the driver and every worker; or set "
            "headgate.native to auto"
        )
    return module
