"""Scratch: the local folder of one slot, for copies of state and for the working files of its backends.

The folder is locked while its process lives. So the next slot that makes a folder beside it recognises the folders of
killed processes, and removes them.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import threading
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Final, final

from headgate import options
from headgate.config import Settings
from headgate.errors import EnvironmentFault
from headgate.ids import SlotIndex

PREFIX: Final = "headgate-scratch-"


@final
class Scratch:
    """A folder below one of `parents`, made at its first use and removed at the end of the slot.

    Without parents it is in the system's temporary folder. May be used from several threads.
    """

    def __init__(self, number: int, parents: Sequence[str] = ()) -> None:
        """`number` is the index of the slot: the slots of one machine take the parents in turn."""
        self._parent = parents[number % len(parents)] if parents else tempfile.gettempdir()
        self._prefix = f"{PREFIX}{number}-"
        self._lock = threading.Lock()
        self._root: Path | None = None
        self._end: weakref.finalize[[Path, int], Scratch] | None = None

    @classmethod
    def by(cls, settings: Settings, slot: SlotIndex, otherwise: str = "") -> Scratch:
        """Return the scratch folder of a slot, below the folders of the settings, which are separated by commas.

        If the settings name no folder, `otherwise` replaces them, in the same form.
        """
        configured = settings.get(options.LOCAL_DIRS) or otherwise
        return cls(slot, [parent.strip() for parent in configured.split(",") if parent.strip()])

    def folder(self, *names: str) -> Path:
        """Make the subfolder of these names, unless it exists, and return it. Raises EnvironmentFault if that fails."""
        try:
            path = self._made().joinpath(*names)
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise EnvironmentFault(
                f"cannot make a local folder in {self._parent}: {error}. Set io.tmp.dirs to folders with room that "
                "the slots may write to"
            ) from error
        return path

    def _made(self) -> Path:
        with self._lock:
            if self._root is None:
                _remove_abandoned(self._parent)
                root, lock = _make_locked(self._prefix, self._parent)
                self._root = root
                # `remove` deletes the folder; this is for a host that ends without calling it.
                self._end = weakref.finalize(self, _remove_locked, root, lock)
            return self._root

    def clear_all_but(self, *names: str) -> None:
        """Remove everything except the folders of these names."""
        with self._lock:
            root = self._root
        if root is not None:
            for path in list(root.glob("*")):
                if path.name not in names:
                    shutil.rmtree(path, ignore_errors=True)

    def remove(self) -> None:
        """Remove the whole folder. A later use makes a new one."""
        with self._lock:
            end, self._end = self._end, None
            self._root = None
        if end is not None:
            end()


def _make_locked(prefix: str, parent: str) -> tuple[Path, int]:
    """Make a new folder. Return its path and the descriptor that holds its lock."""
    while True:
        path = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        lock = _lock(path)
        if lock is not None:
            return path, lock  # else another process removed it as abandoned before it was locked


def _lock(path: Path) -> int | None:
    try:
        lock = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    with contextlib.suppress(OSError):  # without file locks no folder ever counts as abandoned
        fcntl.flock(lock, fcntl.LOCK_EX)
    if path.exists():
        return lock
    os.close(lock)
    return None


def _remove_abandoned(parent: str) -> None:
    """Remove scratch folders of processes that are gone."""
    for path in Path(parent).glob(f"{PREFIX}*"):
        try:
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError:
            continue  # another user's, or gone by now
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)  # in use
        else:
            _remove_locked(path, lock)


def _remove_locked(path: Path, lock: int) -> None:
    shutil.rmtree(path, ignore_errors=True)
    os.close(lock)
