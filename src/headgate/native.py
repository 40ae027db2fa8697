"""The compiled module `headgate._native`, which is optional: whether this process has it, and whether a job uses it.

Without the module everything runs in Python, with the same results, errors and snapshots, and slower. The module is
built where a C compiler is found when headgate is installed.
"""

from __future__ import annotations

import importlib
import logging
import os
from functools import cache
from types import ModuleType
from typing import Final

from headgate.errors import EnvironmentFault

_log: Final = logging.getLogger(__name__)
SWITCH: Final = "HEADGATE_NATIVE"
"""The environment variable that keeps a process from loading the module when it is `off`."""
_NAME: Final = "headgate._native"


@cache
def _found() -> tuple[ModuleType | None, str]:
    """Return the module, or None and why there is none."""
    if os.environ.get(SWITCH) == "off":
        return None, f"switched off by the environment variable {SWITCH}"
    try:
        module = importlib.import_module(_NAME)
    except ModuleNotFoundError:
        return None, "not built: headgate was installed without a C compiler or the headers of Python"
    except ImportError as error:  # of another Python or another C library
        return None, f"not to be loaded: {error}"
    return module, ""


@cache
def describe() -> str:
    """Return which code the hot path of this process runs, in words. The first call also writes them into the log."""
    module, reason = _found()
    words = "compiled" if module is not None else f"Python ({_NAME} is {reason})"
    _log.info("hot path: %s", words)
    return words


def chosen(wish: str) -> ModuleType | None:
    """Return the module that a job uses, by its option `headgate.native`; None: the job runs in Python.

    Raises EnvironmentFault for `on` where the module is missing.
    """
    if wish == "off":
        return None
    module, reason = _found()
    if module is None and wish == "on":
        raise EnvironmentFault(
            f"headgate.native is on, but {_NAME} is {reason}: install a C compiler and Python's headers, then install "
            "headgate again with pip install --no-cache-dir, on the driver and every worker; or set it to auto"
        )
    return module
