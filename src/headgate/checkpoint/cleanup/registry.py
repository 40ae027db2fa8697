"""The registry of shared files: which files in `shared/` checkpoints may still need, and which may go. Pure.

Theory of operation
-------------------
A subtask that takes an increment names, beside the files that it writes, files of a checkpoint that it knows to be
complete. It may know late: at the barrier of checkpoint n it may not yet have heard of the completion of n-1. A shared
file is therefore kept for some checkpoints longer than the last one that names it: `checkpoints_kept` are as many as
are retained, and as many more as may be under way at one time.

A name is used once: it tells the checkpoint that the file was made for, and the attempt. So there are never two files
of one name to choose from, and a file that is not registered may go as soon as no checkpoint to come can name it:

- one made for checkpoint n, when a checkpoint from n on is complete: increments build on complete checkpoints only
- one made ahead of its checkpoint, when a complete checkpoint has named it or a later one of the same writer, since
  what a writer writes ahead is used in order; or when a checkpoint of a later attempt is complete

By the same rule a manifest that names a file which may have gone is refused (`unknown`). The registry lives as long as
the job master; a new one begins with the checkpoint that it restores.
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
    """What is known of shared files at one moment. `used_ahead`: how far complete checkpoints have come, by writer."""

    in_use: frozenset[str]
    newest: CheckpointId
    attempt: Attempt
    used_ahead: Mapping[str, int]

    def may_go(self, path: str) -> bool:
        """Return whether this is a shared file that no checkpoint needs, nor any to come can."""
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
        """Note a complete or restored checkpoint, and drop what only older ones than are kept have used."""
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
        """Return whether the file, named for the first time, is a shared one; note how far its writer has come."""
        origin = paths.origin_of(path)
        if origin is not None and origin.number is not None and origin.attempt == self._attempt:
            self._used_ahead[origin.writer] = max(self._used_ahead.get(origin.writer, 0), origin.number)
        return origin is not None

    def unknown(self, manifest: Manifest) -> list[str]:
        """Return the files named by a manifest, not yet registered, that are none of its own and may have gone."""
        shared = self.files()
        return sorted(path for path in manifest.files() if shared.may_go(path))

    def files(self) -> SharedFiles:
        """Return what is known now."""
        return SharedFiles(
            in_use=frozenset(self._last_used_by),
            newest=max(self._checkpoints, default=CheckpointId(0)),
            attempt=self._attempt,
            used_ahead=dict(self._used_ahead),
        )
