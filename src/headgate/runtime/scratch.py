"""Scratch: the local folder of one slot, for copies of state and for files that its backends work on."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import final

from headgate import options
from headgate.config import Settings
from headgate.errors import EnvironmentFault
from headgate.ids import SlotIndex


@final
class Scratch:
    """A folder that is made when it is first used, below one of `parents`, and removed at the end of the slot.

    Without parents it lies where the system keeps temporary files. May be used from several threads.
    """

    def __init__(self, number: int, parents: Sequence[str] = ()) -> None:
        """`number` is that of the slot: slots of one machine take the parents in turn."""
        self._parent = parents[number % len(parents)] if parents else None
        self._prefix = f"headgate-slot-{number}-"
        self._lock = threading.Lock()
        self._root: Path | None = None

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
            where = self._parent or tempfile.gettempdir()
            raise EnvironmentFault(
                f"cannot make a local folder in {where}: {error}. Set io.tmp.dirs to folders with room that the slots "
                "may write to"
            ) from error
        return path

    def _made(self) -> Path:
        with self._lock:
            if self._root is None:
                self._root = Path(tempfile.mkdtemp(prefix=self._prefix, dir=self._parent))
                # For a host that is gone without a word; `remove` is the rule.
                weakref.finalize(self, shutil.rmtree, os.fspath(self._root), ignore_errors=True)
            return self._root

    def clear(self, *names: str) -> None:
        """Remove the folder of these names and all that is in it, if it is there."""
        with self._lock:
            root = self._root
        if root is not None:
            shutil.rmtree(root.joinpath(*names), ignore_errors=True)

    def remove(self) -> None:
        """Remove everything. What is used after that begins anew."""
        with self._lock:
            root, self._root = self._root, None
        if root is not None:
            shutil.rmtree(root, ignore_errors=True)
