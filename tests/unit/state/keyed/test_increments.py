"""Increments on the hash map: what is written, on what it builds, and what of it may be forgotten."""

from __future__ import annotations

import tracemalloc
from dataclasses import dataclass, replace
from typing import Any

import pytest

from headgate.errors import RestoreError
from headgate.ids import CheckpointId
from headgate.state.descriptors import ValueStateDescriptor
from headgate.state.files import FileHandle, KeyedState, StateFile
from headgate.state.formats.snapshot import SnapshotWriter, decode
from headgate.state.keyed.hashmap import HashMapBackend
from headgate.state.keyed.increments import LOG_FILES_MAX, IncrementBase, Increments
from headgate.types.row import Row
from headgate.types.typeinfo import Types
from tests.unit.state.backends import at, contents, context_of, put, value_state
from tests.unit.state.checkpointed import CHANGELOG, INCREMENTAL, PADDING, Job, size


def test_a_checkpoint_writes_only_what_changed_since_the_last_completed_one() -> None:
    job = Job()
    first = job.checkpoint()
    for key in range(10):
        job.put(key, 1)
    second = job.checkpoint()
    assert second.base == first.base
    assert len(second.log) == 1
    assert size(second) - size(first) < size(first) / 50
    job.expect(second)


def test_changes_of_a_checkpoint_that_was_given_up_are_in_the_next_one() -> None:
    job = Job()
    job.checkpoint()
    job.put(1, 1)
    lost, _ = job.store()
    job.backend.notify_aborted(lost)
    job.put(2, 2)
    after = job.checkpoint()
    assert len(after.log) == 1
    job.expect(after)


def test_a_checkpoint_whose_completion_is_not_known_is_not_built_upon() -> None:
    job = Job()
    first = job.checkpoint()
    job.put(1, 1)
    unknown, _ = job.store()
    job.put(2, 2)
    later, state = job.store()
    assert (state.base, len(state.log)) == (first.base, 1)
    job.backend.notify_completed(later)
    job.backend.notify_completed(unknown)
    job.put(3, 3)
    assert job.checkpoint().log[0] == state.log[0]


def test_keys_that_were_removed_are_removed_and_keys_that_came_back_are_there() -> None:
    job = Job()
    job.checkpoint()
    job.put(1, None)
    job.put(2, None)
    job.put(2, 7)
    job.put(3, None)
    job.put("short-lived", 1)
    job.put("short-lived", None)
    state = job.checkpoint()
    job.expect(state)
    assert {1, 3, "short-lived"} & set(contents(job.restored(state))) == set()


def test_a_list_changed_in_place_after_the_barrier_is_in_the_next_delta_only() -> None:
    job = Job()
    put(job.backend, job.state, "k", [1])
    job.checkpoint()
    with at(job.backend, "k"):
        job.state.value().append(2)  # type: ignore[union-attr]
    pending = job.backend.snapshot(CheckpointId(50))
    with at(job.backend, "k"):
        job.state.value().append(3)  # type: ignore[union-attr]
    while not pending.advance():
        pass
    assert contents(job.restored(pending.store(job.files)))["k"] == [1, 2]


def test_when_most_keys_have_changed_a_whole_snapshot_is_written() -> None:
    job = Job()
    first = job.checkpoint()
    for key in range(900):
        job.put(key, 1)
    second = job.checkpoint()
    assert second.base != first.base
    assert second.log == ()


def test_the_log_is_consolidated_before_it_is_long_or_larger_than_the_base() -> None:
    job = Job(keys=2000)
    longest = 0
    for round_ in range(2 * LOG_FILES_MAX):
        job.put(round_ % 7, round_)
        longest = max(longest, len(job.checkpoint().log))
    assert longest == LOG_FILES_MAX
    for round_ in range(10):
        for key in range(700):
            job.put(key, round_)
        state = job.checkpoint()
        assert sum(file.handle.size_bytes for file in state.log) <= 2 * sum(f.handle.size_bytes for f in state.base)
    job.expect(state)


def test_small_state_is_part_of_the_manifest_and_shares_no_files() -> None:
    job = Job(keys=5)
    for round_ in range(5):
        job.put(1, round_)
        state = job.checkpoint()
        assert not any(isinstance(handle, FileHandle) for handle in state.handles())
        job.expect(state)


def test_a_restored_checkpoint_is_built_upon() -> None:
    job = Job()
    first = job.checkpoint()
    job.backend = job.restored(first)
    job.state = value_state(job.backend)
    job.put(1, 1)
    second = job.checkpoint()
    assert second.base == first.base
    job.expect(second)


def test_a_restored_checkpoint_with_files_of_its_own_is_not_built_upon() -> None:
    job = Job({})
    job.files.inline_bytes = 0
    whole = job.checkpoint()
    job.settings = INCREMENTAL
    job.backend = job.restored(whole)
    job.state = value_state(job.backend)
    job.put(1, 1)
    state = job.checkpoint()
    assert not set(state.handles()) & set(whole.handles())
    job.expect(state)


@pytest.mark.slow
def test_keys_that_come_and_go_between_two_checkpoints_leave_nothing_in_memory_nor_in_the_file() -> None:
    job = Job(keys=3000)

    def come_and_go() -> None:
        for key in range(10_000, 20_000):
            job.put(key, 0)
            job.put(key, None)

    come_and_go()  # the key groups of so many keys are remembered
    job.checkpoint()
    tracemalloc.start()
    try:
        come_and_go()
        kept_bytes, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept_bytes < 1_000_000
    assert job.checkpoint().log[-1].handle.size_bytes < 1000


def test_keys_that_were_removed_stay_removed_when_many_others_come_and_go_before_the_next_checkpoint() -> None:
    job = Job(keys=5000)
    job.checkpoint()
    for key in range(100):
        job.put(key, None)
    for key in range(10_000, 15_000):
        job.put(key, 0)
        job.put(key, None)
    state = job.checkpoint()
    assert len(state.log) == 1
    job.expect(state)


@pytest.mark.slow
def test_without_checkpoints_nothing_is_kept_nor_written_for_them() -> None:
    job = Job(CHANGELOG, keys=0)
    job.backend = HashMapBackend(replace(context_of(settings=CHANGELOG, files=job.files), checkpointing=False))
    job.state = value_state(job.backend)
    tracemalloc.start()
    try:
        for key in range(10_000):
            job.put(key, 0)
            job.put(key, None)
        kept_bytes, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept_bytes < 1_000_000
    job.put(1, 1)
    assert job.backend.background(0.0) is None


@pytest.mark.parametrize("settings", [INCREMENTAL, CHANGELOG])
def test_when_checkpoints_keep_failing_the_changes_do_not_pile_up(
    settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headgate.state.keyed.hashmap.CHANGES_MAX", 100)
    job = Job(settings, keys=50)
    job.checkpoint()
    for number in range(12):
        for key in range(50):
            job.put(key, number)
        given_up, state = job.store()
        job.backend.notify_aborted(given_up)
    assert state.log == ()
    job.expect(job.checkpoint())


def test_after_other_key_groups_were_taken_over_the_first_snapshot_is_a_whole_one() -> None:
    job = Job()
    state = job.checkpoint()
    half = HashMapBackend(context_of(range(64), settings=INCREMENTAL, files=job.files))
    half.restore([job.files.fetch(state)], "a checkpoint")
    value_state(half)
    pending = half.snapshot(CheckpointId(2))
    while not pending.advance():
        pass
    assert pending.store(job.files).log == ()


def test_state_whose_type_was_widened_is_written_anew() -> None:
    job = Job(keys=0)
    old = job.backend.state(ValueStateDescriptor("row", Types.ROW_NAMED(["a"], [Types.STRING()])))
    for key in range(500):
        put(job.backend, old, key, Row(a=f"{key}{PADDING}"))
    first = job.checkpoint()
    job.backend = job.restored(first)
    new = job.backend.state(ValueStateDescriptor("row", Types.ROW_NAMED(["a", "b"], [Types.STRING(), Types.LONG()])))
    with at(job.backend, 3):
        assert new.value()["b"] is None
    second = job.checkpoint()
    assert second.log == ()
    again = job.restored(second)
    assert again.state(ValueStateDescriptor("row", Types.ROW_NAMED(["a", "b"], [Types.STRING(), Types.LONG()])))


def test_a_key_that_is_in_the_wrong_group_is_named() -> None:
    job = Job()
    state = job.checkpoint()
    data = bytearray(job.files.files[state.base[0].handle.path])  # type: ignore[union-attr]
    other = HashMapBackend(context_of(settings=INCREMENTAL, files=job.files))
    saved = decode(bytes(data), "", {})
    writer = SnapshotWriter(saved.states, delta=False)
    writer.add(5, [[5, "not of group 5", "x"]])
    job.files.files[state.base[0].handle.path] = b"".join(writer.finish())  # type: ignore[union-attr]
    with pytest.raises(RestoreError, match="was saved in key group 5 and now belongs to"):
        other.restore([job.files.fetch(state)], "a checkpoint")


# --- the changelog


def test_a_base_written_ahead_is_passed_over_when_a_checkpoint_has_completed_with_a_newer_one() -> None:
    def state_of(base: str) -> KeyedState:
        file = StateFile(base, FileHandle(f"shared/1-a1-op-0-{base}", 1, 1))
        return KeyedState(key_groups=(0, 127), kind="entries", base=(file,))

    @dataclass
    class Taken:
        generation: int
        stored: IncrementBase | None

    increments = Increments()
    increments.advance(IncrementBase(1, state_of("old")))
    increments.whole_begun(2)
    whole = IncrementBase(3, state_of("whole"))
    increments.begun(CheckpointId(7), Taken(3, whole))
    increments.completed(CheckpointId(7))
    assert increments.kept_since == 3
    # The files of what was written ahead may be gone: no complete checkpoint names them.
    increments.whole_written(IncrementBase(2, state_of("ahead")))
    assert increments.base is whole
