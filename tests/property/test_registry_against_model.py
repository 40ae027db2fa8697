"""The registry of shared files against subtasks that take increments and hear late of what is complete.

Each subtask builds on the newest checkpoint that it has heard of, or again. Whatever is deleted by the registry's word,
no complete checkpoint that is kept may miss a file, and no checkpoint that was accepted may.
"""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from headgate.checkpoint.cleanup.registry import SharedStateRegistry
from headgate.checkpoint.manifest import Manifest
from headgate.ids import Attempt
from tests.unit.checkpoint.manifests import file, keyed, manifest, operator

SUBTASKS = 2


class Subtasks:
    """All subtasks of a job: what they have stored for each checkpoint, and what each has heard to be complete."""

    def __init__(self, attempt: int, restored: dict[int, list[str]]) -> None:
        self.attempt = attempt
        self.stored: dict[int, dict[int, list[str]]] = {0: restored}
        self.heard = dict.fromkeys(range(SUBTASKS), 0)

    def snapshot(self, checkpoint_id: int, whole: set[int]) -> dict[int, list[str]]:
        """Take checkpoint `checkpoint_id`, which is no increment in the subtasks of `whole`."""
        self.stored[checkpoint_id] = {}
        for subtask in range(SUBTASKS):
            base = [] if subtask in whole else self.stored[self.heard[subtask]].get(subtask, [])
            new = f"shared/{checkpoint_id}-a{self.attempt}-op-{subtask}-file"
            self.stored[checkpoint_id][subtask] = [*base, new]
        return self.stored[checkpoint_id]


def manifest_of(checkpoint_id: int, attempt: int, parts: dict[int, list[str]]) -> Manifest:
    states = [keyed("op", 0, 127, file(path)) for paths in parts.values() for path in paths]
    return replace(manifest(checkpoint_id, operator("op", *states)), attempt=Attempt(attempt))


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["complete", "complete", "complete", "fail", "restart", "new master"]),
        st.sets(st.integers(0, SUBTASKS - 1)),
        st.sets(st.integers(0, SUBTASKS - 1)),
    ),
    max_size=25,
)


@given(retained=st.integers(1, 3), steps=STEPS)
def test_no_kept_checkpoint_ever_misses_a_file_and_leftovers_go(
    retained: int, steps: list[tuple[str, set[int], set[int]]]
) -> None:
    registry = SharedStateRegistry(retained + 1)
    subtasks = Subtasks(1, {})
    storage: set[str] = set()
    kept: list[Manifest] = []
    for checkpoint_id, (what, whole, hears) in enumerate(steps, start=1):
        if what in ("restart", "new master"):
            restored = kept[-1] if kept else None
            registry = SharedStateRegistry(retained + 1) if what == "new master" else registry
            parts = subtasks.stored[restored.checkpoint_id] if restored else {}
            subtasks = Subtasks(subtasks.attempt + 1, parts)
            if restored is not None:
                subtasks.stored[restored.checkpoint_id] = parts
                registry.register(restored)
                kept = [restored]
            continue
        parts = subtasks.snapshot(checkpoint_id, whole)
        storage |= {path for own in parts.values() for path in own if path.startswith(f"shared/{checkpoint_id}-")}
        taken = manifest_of(checkpoint_id, subtasks.attempt, parts)
        if what == "fail" or registry.unknown(taken):
            continue
        assert taken.files() <= storage
        registry.register(taken)
        kept = [*kept, taken][-retained:]
        storage -= {path for path in storage if registry.files().may_go(path)}
        for subtask in hears:
            subtasks.heard[subtask] = checkpoint_id
        assert all(each.files() <= storage for each in kept)
    if kept:
        for extra in range(retained + 1):
            registry.register(manifest_of(len(steps) + 1 + extra, subtasks.attempt, {}))
        assert all(registry.files().may_go(path) for path in storage)
