"""Why a folder of a local file system cannot be used, in plain words: the system's own are about what lies below it."""

from __future__ import annotations

import errno
import os
from pathlib import Path


def in_plain_words(error: Exception, path: str, verb: str) -> str:
    """Return why `path` could not be read or written, whatever the verb is; else what the error says itself.

    >>> in_plain_words(NotADirectoryError(20, "Not a directory"), "/etc/passwd/checkpoints/_result", "read")
    '/etc/passwd is a file, not a folder'
    """
    number = error.errno if isinstance(error, OSError) else None
    nearest = _nearest(Path(path))
    if number in (errno.ENOTDIR, errno.EEXIST) and nearest.is_file():
        return f"{nearest} is a file, not a folder"
    if number in (errno.EACCES, errno.EPERM):
        return f"this user may not {verb} {'in ' if nearest.is_dir() else ''}{nearest}"
    return str(error)


def _nearest(path: Path) -> Path:
    """Return the path, or the nearest folder above it that this user can see."""
    return next((each for each in (path, *path.parents) if os.path.lexists(each)), path)
