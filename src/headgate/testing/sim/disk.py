"""The disk below simulated storage: what it loses with the power, and what becomes of its files by themselves.

A file is at risk until it is synced, and so is its name. What is durable may still be damaged: cut short, emptied or
deleted, by a disk that fails or by hand. The user who is told which file it is brings it back.
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
    """Return the first part of a file, which may be nothing or all of it."""
    return data[: world.rng.randrange(len(data) + 1)]


@final
class Disk:
    """Below the files of one folder."""

    def __init__(self, world: World, memory: MemoryStore, ledger: Ledger) -> None:
        self.damaged: dict[str, bytes] = {}
        """The files that are damaged, as they were before."""
        self._world = world
        self._memory = memory
        self._ledger = ledger
        self._at_risk: dict[str, tuple[str, ...]] = {}
        self._old_names: dict[str, str] = {}

    # --- what is durable

    def write(self, path: str, data: bytes) -> None:
        """Write a file that no process has acted upon yet."""
        self._memory.files[path] = data
        self._at_risk[path] = _WRITTEN

    def rename(self, temporary: str, path: str) -> None:
        """Give a synced file its name, under which it is put there."""
        self._memory.files.pop(temporary, None)
        self._at_risk.pop(temporary, None)
        self._at_risk[path] = _RENAMED
        self._old_names[path] = temporary

    def synced(self, path: str) -> None:
        """The file is durable."""
        self._at_risk.pop(path, None)

    def delete(self, path: str) -> None:
        """Delete a file for good."""
        self._memory.files.pop(path, None)
        self._at_risk.pop(path, None)
        self.damaged.pop(path, None)

    def lose_power(self) -> None:
        """Lose what is at risk, or some of it; what is left is durable."""
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
        """A damaged manifest is as one that was never written if there is no evidence: no driver has acted upon it."""
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
        """Damage a file of the newest checkpoint, its manifest or one that this names; return whether there is one."""
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
        """Bring back what was damaged."""
        for path, data in self.damaged.items():
            self._world.note("user", f"brings back {path}")
            self._memory.files[path] = data
            if path not in self._ledger.manifests:
                self._ledger.written(path, data)
        self.damaged = {}
