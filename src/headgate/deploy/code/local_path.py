"""Paths of the driver's machine that options name."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from headgate.config import Option
from headgate.errors import ConfigError

_SCHEME: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+:")


def local_path(option: Option[str | None], text: str) -> Path:
    """Return the absolute path of a file or folder of the driver's. Raises ConfigError when it is not there."""
    path = text.removeprefix("file://").removeprefix("file:")
    if _SCHEME.match(path):
        raise ConfigError(
            f"{option.key}: {text} is not on the driver's machine: copy it there, or have Spark fetch it (--py-files, "
            "--archives of spark-submit)"
        )
    found = Path(os.path.abspath(path))
    if not found.exists():
        raise ConfigError(f"{option.key}: there is no {found} on the driver's machine")
    return found
