"""The registry of shared files: which files in `shared/` a checkpoint may still need, and which may be deleted. Pure.

Theory of operation
-------------------
An increment names new files, and files of an earlier checkpoint that the subtask knows to be complete. The subtask may
learn of a completion late: at the barrier of checkpoint n it may not have heard that checkpoint n-1 is complete.
So the registry keeps a shared file for some checkpoints longer than the last checkpoint that names it.
`checkpoints_kept` is the number of retained checkpoints plus the number that may be under way at a time.

A file name is used once: it contains the checkpoint that the file was made for, and the attempt. So two files never
have the same name. A file that is not registered may be deleted as soon as no later checkpoint can name it:

- a file made for checkpoint n, when checkpoint n or a later one is complete: increments build on complete checkpoints
- a file made ahead of its checkpoint, when a complete checkpoint names this file or a later file of the same writer,
  because checkpoints use such files in order. It may also be deleted when a checkpoint of a later attempt is complete

By the same rule a manifest is refused when it names a file that may have been deleted (`unknown`). The registry lives
as long as the job master; a new one begins with the restored checkpoint.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

from headgate.checkpoint import paths
from headgate.checkpoint.manifest import Manifest
from headgate.ids import Attempt, CheckpointId


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SharedFiles:
    """The shared files in use at one moment.

    `newest` is the newest complete checkpoint, and `attempt` its attempt. `used_ahead` is, for each writer, the number
    of the last file written ahead that a complete checkpoint has used.
    """

    in_use: frozenset[str]
    newest: CheckpointId
    attempt: Attempt
    used_ahead: Mapping[str, int]

    def may_go(self, path: str) -> bool:
        """Return whether this is a shared file that no present or later checkpoint can need."""
        origin = None if path in self.in_use else paths.origin_of(path)
        if origin is None:
            return False
        if origin.checkpoint_id is not None:
            return origin.checkpoint_id <= self.newest
        if origin.attempt < self.attempt:
            return True
        return origin.number is not None and origin.number <= self.used_ahead.get(origin.writer, 0)


@final
class SharedStateRegistry:
    """The shared files that the newest complete checkpoints name. Owned by the job master's loop."""

    def __init__(self, checkpoints_kept: int) -> None:
        self._checkpoints_kept = checkpoints_kept
        self._checkpoints: list[CheckpointId] = []
        self._last_used_by: dict[str, CheckpointId] = {}
        self._attempt = Attempt(0)
        self._used_ahead: dict[str, int] = {}

    def register(self, manifest: Manifest) -> None:
        """Add a complete or restored checkpoint. Drop files that only checkpoints before the kept ones have used."""
        checkpoint_id = manifest.checkpoint_id
        self._checkpoints = sorted({*self._checkpoints, checkpoint_id})[-self._checkpoints_kept :]
        if manifest.attempt > self._attempt:
            self._attempt = manifest.attempt
            self._used_ahead = {}
        for path in manifest.files():
            known = self._last_used_by.get(path)
            if known is not None or self._is_shared(path):
                self._last_used_by[path] = max(known or checkpoint_id, checkpoint_id)
        lowest = self._checkpoints[0]
        self._last_used_by = {path: used_by for path, used_by in self._last_used_by.items() if used_by >= lowest}

    def _is_shared(self, path: str) -> bool:
        """Return whether the file, which is named for the first time, is shared; note its number if written ahead."""
        origin = paths.origin_of(path)
        if origin is not None and origin.number is not None and origin.attempt == self._attempt:
            self._used_ahead[origin.writer] = max(self._used_ahead.get(origin.writer, 0), origin.number)
        return origin is not None

    def unknown(self, manifest: Manifest) -> list[str]:
        """Return the files of a manifest, not yet registered, that may have been deleted already."""
        shared = self.files()
        return sorted(path for path in manifest.files() if shared.may_go(path))

    def files(self) -> SharedFiles:
        """Return the shared files as they are known now."""
        return SharedFiles(
            in_use=frozenset(self._last_used_by),
            newest=max(self._checkpoints, default=CheckpointId(0)),
            attempt=self._attempt,
            used_ahead=dict(self._used_ahead),
        )
