"""The disk of simulated storage: it loses files when the power fails, and files can be damaged.

A file is at risk until it is synced, and so is its name. A durable file may still be damaged: cut short, emptied or
deleted, by a failing disk or by hand. The user, told the name of the file, restores it.
"""

from __future__ import annotations

from typing import Final, final

from headgate.checkpoint import paths
from headgate.checkpoint.drivers.completion_evidence import evidence_in
from headgate.checkpoint.store import MemoryStore
from headgate.testing.sim.ledger import Ledger
from headgate.testing.sim.world import World

_WRITTEN: Final = ("stays", "is lost", "is empty", "is torn")
_RENAMED: Final = ("stays", "is lost", "has its old name")
_DAMAGE: Final = ("is lost", "is empty", "is torn")


def beginning(world: World, data: bytes) -> bytes:
    """Return a random beginning of a file, which may be empty or the whole file."""
    return data[: world.rng.randrange(len(data) + 1)]


@final
class Disk:
    """The disk that holds the files of one folder."""

    def __init__(self, world: World, memory: MemoryStore, ledger: Ledger) -> None:
        self.damaged: dict[str, bytes] = {}
        """The contents of damaged files before the damage."""
        self._world = world
        self._memory = memory
        self._ledger = ledger
        self._at_risk: dict[str, tuple[str, ...]] = {}
        self._old_names: dict[str, str] = {}

    # --- what is durable

    def write(self, path: str, data: bytes) -> None:
        """Write a file on which no process has acted yet."""
        self._memory.files[path] = data
        self._at_risk[path] = _WRITTEN

    def rename(self, temporary: str, path: str) -> None:
        """Rename a synced temporary file to its final name."""
        self._memory.files.pop(temporary, None)
        self._at_risk.pop(temporary, None)
        self._at_risk[path] = _RENAMED
        self._old_names[path] = temporary

    def synced(self, path: str) -> None:
        """Mark a file as durable."""
        self._at_risk.pop(path, None)

    def delete(self, path: str) -> None:
        """Delete a file for good."""
        self._memory.files.pop(path, None)
        self._at_risk.pop(path, None)
        self.damaged.pop(path, None)

    def lose_power(self) -> None:
        """Lose some or all files at risk; the remaining files are durable."""
        at_risk, self._at_risk = self._at_risk, {}
        for path, fates in sorted(at_risk.items()):
            fate = self._world.rng.choice(fates)
            self._world.note("disk", f"{path} {fate}")
            if fate != "stays":
                self._ledger.lost(path)
                self._change(path, fate)
        for path in self.damaged:
            self._lose_unless_evident(path)

    def _lose_unless_evident(self, path: str) -> None:
        """Treat a damaged manifest as never written if there is no evidence of it, as no driver has acted on it."""
        manifest = self._ledger.manifests.get(path)
        if manifest is not None and all(
            each.checkpoint_id != manifest.checkpoint_id for each in evidence_in(self._memory.files)
        ):
            self._ledger.lost(path)

    def _change(self, path: str, fate: str) -> None:
        data = self._memory.files.pop(path)
        if fate == "is empty":
            self._memory.files[path] = b""
        elif fate == "is torn":
            self._memory.files[path] = beginning(self._world, data)
        elif fate == "has its old name":
            self._memory.files[self._old_names[path]] = data

    # --- damage

    def damage(self) -> bool:
        """Damage the newest checkpoint's manifest, or a file that it names; return whether a file was damaged."""
        newest = self._ledger.newest
        if newest is None or self.damaged:
            return False
        metadata = paths.metadata(newest)
        files = sorted(self._ledger.manifests[metadata].files() - {metadata})
        path = metadata if not files or self._world.chance(0.5) else self._world.rng.choice(files)
        if path not in self._memory.files or path in self._at_risk:
            return False
        fate = self._world.rng.choice(_DAMAGE)
        self._world.note("disk", f"{path} {fate}: it is damaged")
        self.damaged[path] = self._memory.files[path]
        self._change(path, fate)
        self._lose_unless_evident(path)
        return True

    def mend(self) -> None:
        """Restore the damaged files."""
        for path, data in self.damaged.items():
            self._world.note("user", f"brings back {path}")
            self._memory.files[path] = data
            if path not in self._ledger.manifests:
                self._ledger.written(path, data)
        self.damaged = {}
