"""Scratch: the local folder of one slot, for copies of state and for files that its backends work on.

It is locked for as long as its process lives, so that whoever makes the next one beside it can tell what a process that
was killed has left, and removes that.
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
    """A folder that is made when it is first used, below one of `parents`, and removed at the end of the slot.

    Without parents it lies where the system keeps temporary files. May be used from several threads.
    """

    def __init__(self, number: int, parents: Sequence[str] = ()) -> None:
        """`number` is that of the slot: slots of one machine take the parents in turn."""
        self._parent = parents[number % len(parents)] if parents else tempfile.gettempdir()
        self._prefix = f"{PREFIX}{number}-"
        self._lock = threading.Lock()
        self._root: Path | None = None
        self._end: weakref.finalize[[Path, int], Scratch] | None = None

    @classmethod
    def by(cls, settings: Settings, slot: SlotIndex, otherwise: str = "") -> Scratch:
        """Return the scratch folder of a slot of a job, below folders separated by commas: those configured, or others.

        `otherwise` are the others, for when the settings name none.
        """
        configured = settings.get(options.LOCAL_DIRS) or otherwise
        return cls(slot, [parent.strip() for parent in configured.split(",") if parent.strip()])

    def folder(self, *names: str) -> Path:
        """Return the folder of these names, made if need be. Raises EnvironmentFault when it cannot be."""
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
                # For a host that ends without a word; `remove` is the rule.
                self._end = weakref.finalize(self, _remove_locked, root, lock)
            return self._root

    def clear_all_but(self, *names: str) -> None:
        """Remove everything but the folders of these names."""
        with self._lock:
            root = self._root
        if root is not None:
            for path in list(root.glob("*")):
                if path.name not in names:
                    shutil.rmtree(path, ignore_errors=True)

    def remove(self) -> None:
        """Remove everything. What is used after that begins again."""
        with self._lock:
            end, self._end = self._end, None
            self._root = None
        if end is not None:
            end()


def _make_locked(prefix: str, parent: str) -> tuple[Path, int]:
    """Make a new folder; return it and the descriptor that holds its lock."""
    while True:
        path = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        lock = _lock(path)
        if lock is not None:
            return path, lock  # else another process took it for abandoned before it was locked


def _lock(path: Path) -> int | None:
    try:
        lock = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    with contextlib.suppress(OSError):  # a file system without locks: then nothing is ever taken for abandoned
        fcntl.flock(lock, fcntl.LOCK_EX)
    if path.exists():
        return lock
    os.close(lock)
    return None


def _remove_abandoned(parent: str) -> None:
    """Remove folders beside the one to be made whose processes are gone."""
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
