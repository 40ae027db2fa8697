"""The advice for a module that is missing in a slot: where the driver has it, and each way to ship it.

The driver tells the slots the files of its own modules that are not installed. So a slot that lacks such a module can
name its file in the error message. The driver itself looks the file up.
"""

from __future__ import annotations

import os
import site
import sys
import sysconfig
from collections.abc import Mapping
from functools import cache
from typing import Final

_of_driver: Final[dict[str, str]] = {}


def files_of_modules() -> dict[str, str]:
    """Return the modules and packages of this process that are not installed, with their files or folders."""
    folders = _installed()
    found = {}
    for name, module in sys.modules.copy().items():
        if "." in name or name == "__main__":
            continue
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and not file.startswith(folders):
            found[name] = os.path.dirname(file) if hasattr(module, "__path__") else file
    return found


@cache
def _installed() -> tuple[str, ...]:
    """The folders of installed modules, each with a separator at its end."""
    folders = {sysconfig.get_path(kind) for kind in ("stdlib", "platstdlib", "purelib", "platlib")}
    folders.update((*site.getsitepackages(), site.getusersitepackages()))
    return tuple(f"{folder}{os.sep}" for folder in folders)


def remember(files: Mapping[str, str]) -> None:
    """Remember the files of the driver's modules, for messages of this process."""
    _of_driver.update(files)


def how_to_ship(module: str) -> str:
    """Return where the driver has a module, and each way to ship it to the slots, as the end of a message.

    >>> how_to_ship("numpy.linalg")  # doctest: +ELLIPSIS
    'the package numpy must be ...: install it on the workers, name it in a file for env.set_python_requirements(), ...
    """
    name = module.partition(".")[0]
    file = _of_driver.get(name) or files_of_modules().get(name)
    if file is None:
        return (
            f"the package {name} must be installed where slots run: install it on the workers, name it in a "
            "file for env.set_python_requirements(), or ship an environment that has it (headgate pack)"
        )
    zipped = file if file.endswith(".py") else f"{file}, zipped,"
    return (
        f"the driver has it as {file}. Ship it with the job: env.add_python_file({file!r}), or {zipped} with "
        f"--py-files of spark-submit, or in an environment: headgate pack --add {file}"
    )
