"""Durable files on a local file system: they outlive a loss of power. All functions block, and raise OSError.

A file is durable when its contents and the names that lead to it are on the disk. A sync of the file writes its
contents, a sync of its folder writes its name. Until then a crash of the machine may leave any part of either.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterable
from typing import Final

_NO_LINKS: Final = frozenset({errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP})
_NO_FOLDER_SYNC: Final = frozenset({errno.EBADF, errno.EINVAL})
"""Error codes of file systems that lack the operation, such as some network file systems."""


def sync_file(path: str) -> None:
    """Write the contents of a closed file to the disk, whichever process has written it."""
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def sync_files(paths: Iterable[str]) -> None:
    """Write the contents of files to the disk. Files that do not exist are skipped."""
    for path in paths:
        with contextlib.suppress(FileNotFoundError):
            sync_file(path)


def sync_folder(path: str) -> None:
    """Write the names in a folder to the disk."""
    try:
        sync_file(path)
    except OSError as error:
        if error.errno not in _NO_FOLDER_SYNC:
            raise


def make_folder(path: str) -> None:
    """Make a durable folder with its parents, unless it exists."""
    if os.path.isdir(path):
        return
    above = os.path.dirname(path)
    make_folder(above)
    with contextlib.suppress(FileExistsError):  # another process was quicker
        os.mkdir(path)
    sync_folder(above)


def give_name(temporary: str, path: str) -> None:
    """Rename a file. The folder is not synced. Raises FileExistsError when a file has the new name."""
    try:
        os.link(temporary, path)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
    else:
        with contextlib.suppress(OSError):  # clean-up deletes what is left under the temporary name
            os.unlink(temporary)
        return
    if os.path.lexists(path):  # not atomic without links; it is enough because each name is used once
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
    os.rename(temporary, path)
