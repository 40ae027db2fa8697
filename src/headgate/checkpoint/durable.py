"""Files of a local file system that outlive a loss of power. All of it blocks, and raises OSError.

A file is durable when both its contents and the names that lead to it are on the disk: a sync of the file is for the
contents, one of its folder for the name in it. Until then a crash of the machine may leave any part of either.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterable
from typing import Final

_NO_LINKS: Final = frozenset({errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP})
_NO_FOLDER_SYNC: Final = frozenset({errno.EBADF, errno.EINVAL})
"""What file systems answer that have no such operation; some of those that reach a server by the network."""


def sync_file(path: str) -> None:
    """Bring the contents of a file to the disk, whoever has written and closed it."""
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def sync_files(paths: Iterable[str]) -> None:
    """Bring the contents of files to the disk, except those that are not there."""
    for path in paths:
        with contextlib.suppress(FileNotFoundError):
            sync_file(path)


def sync_folder(path: str) -> None:
    """Bring to the disk which names there are in a folder."""
    try:
        sync_file(path)
    except OSError as error:
        if error.errno not in _NO_FOLDER_SYNC:
            raise


def make_folder(path: str) -> None:
    """Make a folder, and those above it, unless they are there; what is made is durable."""
    if os.path.isdir(path):
        return
    above = os.path.dirname(path)
    make_folder(above)
    with contextlib.suppress(FileExistsError):  # another process was quicker
        os.mkdir(path)
    sync_folder(above)


def give_name(temporary: str, path: str) -> None:
    """Rename a file, unless there is one of the new name; the folder is not synced. Raises FileExistsError."""
    try:
        os.link(temporary, path)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
    else:
        with contextlib.suppress(OSError):  # the file has its name; what is left over is cleaned up by its own
            os.unlink(temporary)
        return
    if os.path.lexists(path):  # without links nothing is atomic; that names are used once has to do
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
    os.rename(temporary, path)
