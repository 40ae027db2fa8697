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
- one made ahead of its checkpoint, when a complete checkpoint names a later one of the same writer, since what a writer
  writes ahead is used in order; or when a checkpoint of a later attempt is complete

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
    """What is known of shared files at one moment. `written` is the highest number of each writer that is in use."""

    in_use: frozenset[str]
    newest: CheckpointId
    attempt: Attempt
    written: Mapping[str, int]

    def may_go(self, path: str) -> bool:
        """Return whether this is a shared file that no checkpoint needs, nor any to come can."""
        origin = paths.origin_of(path)
        if origin is None or path in self.in_use:
            return False
        if origin.checkpoint_id is not None:
            return origin.checkpoint_id <= self.newest
        if origin.attempt < self.attempt:
            return True
        return origin.number is not None and origin.number < self.written.get(origin.writer, 0)


@final
class SharedStateRegistry:
    """The shared files that the newest complete checkpoints name. Owned by the job master's loop."""

    def __init__(self, checkpoints_kept: int) -> None:
        self._checkpoints_kept = checkpoints_kept
        self._checkpoints: list[CheckpointId] = []
        self._last_used_by: dict[str, CheckpointId] = {}
        self._attempt = Attempt(0)

    def register(self, manifest: Manifest) -> None:
        """Note a complete or restored checkpoint, and drop what only older ones than are kept have used."""
        checkpoint_id = manifest.checkpoint_id
        self._checkpoints = sorted({*self._checkpoints, checkpoint_id})[-self._checkpoints_kept :]
        self._attempt = max(self._attempt, manifest.attempt)
        for path in manifest.files():
            if paths.origin_of(path) is not None:
                self._last_used_by[path] = max(self._last_used_by.get(path, checkpoint_id), checkpoint_id)
        lowest = self._checkpoints[0]
        self._last_used_by = {path: used_by for path, used_by in self._last_used_by.items() if used_by >= lowest}

    def unknown(self, manifest: Manifest) -> list[str]:
        """Return the files named by a manifest, not yet registered, that are none of its own and may have gone."""
        shared = self.files()
        return sorted(path for path in manifest.files() if shared.may_go(path))

    def files(self) -> SharedFiles:
        """Return what is known now."""
        written: dict[str, int] = {}
        for path in self._last_used_by:
            origin = paths.origin_of(path)
            if origin is not None and origin.number is not None:
                written[origin.writer] = max(written.get(origin.writer, 0), origin.number)
        return SharedFiles(
            in_use=frozenset(self._last_used_by),
            newest=max(self._checkpoints, default=CheckpointId(0)),
            attempt=self._attempt,
            written=written,
        )
