"""A hash map with its checkpoints, some of which are increments."""

from __future__ import annotations

from itertools import count
from typing import Any

from headgate.clock import VirtualClock
from headgate.ids import CheckpointId
from headgate.state.files import KeyedState
from headgate.state.keyed.hashmap import HashMapBackend
from tests.unit.state.backends import Files, contents, context_of, put, value_state

INCREMENTAL = {"execution.checkpointing.incremental": True}
CHANGELOG = {"state.changelog.enabled": True, "headgate.changelog.cut-interval": "100 ms"}
PADDING = "x" * 100


class Job:
    """A backend with its checkpoints."""

    def __init__(self, settings: dict[str, Any] = INCREMENTAL, keys: int = 1000) -> None:
        self.files = Files()
        self.clock = VirtualClock()
        self.settings = settings
        self.backend = self.open()
        self.state = value_state(self.backend)
        self._ids = count(1)
        for key in range(keys):
            self.put(key, 0)

    def open(self) -> HashMapBackend:
        return HashMapBackend(context_of(settings=self.settings, files=self.files, clock=self.clock))

    def put(self, key: Any, number: int | None) -> None:
        put(self.backend, self.state, key, None if number is None else f"{number}{PADDING}")

    def store(self) -> tuple[CheckpointId, KeyedState]:
        """Take and store a snapshot; whether it completes is left open."""
        checkpoint_id = CheckpointId(next(self._ids))
        pending = self.backend.snapshot(checkpoint_id)
        while not pending.advance():
            pass
        state = pending.store(self.files)
        self.backend.forget(pending)
        return checkpoint_id, state

    def checkpoint(self) -> KeyedState:
        """Take a checkpoint that completes."""
        checkpoint_id, state = self.store()
        self.backend.notify_completed(checkpoint_id)
        return state

    def restored(self, state: KeyedState) -> HashMapBackend:
        backend = self.open()
        backend.restore([self.files.fetch(state)], "a checkpoint")
        return backend

    def expect(self, state: KeyedState) -> None:
        """Check that the checkpoint holds what the backend holds now."""
        assert contents(self.restored(state)) == contents(self.backend)


def size(state: KeyedState) -> int:
    return sum(handle.size_bytes for handle in state.handles())
