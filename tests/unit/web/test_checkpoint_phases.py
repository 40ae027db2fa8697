"""What was slowest in a checkpoint, and why, told in a sentence."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.elements import Barrier
from headgate.ids import Attempt, CheckpointId, SubtaskId
from headgate.runtime.monitoring.checkpoint_record import CheckpointRecord, CheckpointStatus, SubtaskFigures
from headgate.web.checkpoint_phases import CheckpointPhase, Slowest, VertexNames, phases, slowest

FLOW = VertexNames(("source", "map", "sink"), {0: frozenset(), 1: frozenset({0}), 2: frozenset({1})})
SOURCE, MAP, SINK = SubtaskId(0, 0), SubtaskId(1, 0), SubtaskId(2, 0)
TRIGGER_MS = 1_000_000


def figures(unaligned: bool = False, ack_ms: float = 1.0, size_bytes: int = 0, **took: float) -> SubtaskFigures:
    """What a subtask reports whose time goes into these phases, upload being a part of async."""
    all_: dict[str, Any] = dict.fromkeys(("start_delay_ms", "alignment_ms", "sync_ms", "async_ms", "upload_ms"), 0.0)
    all_ |= took
    duration_ms = round(sum(all_.values()) - all_["upload_ms"] + ack_ms)
    return SubtaskFigures(
        acked_ms=TRIGGER_MS + duration_ms,
        duration_ms=duration_ms,
        checkpointed_bytes=size_bytes,
        state_bytes=size_bytes,
        processed_bytes=0,
        persisted_bytes=0,
        unaligned=unaligned,
        pending=0,
        **all_,
    )


def record(
    found: dict[SubtaskId, SubtaskFigures],
    parallelism: tuple[int, ...] = (1, 1, 1),
    status: CheckpointStatus = CheckpointStatus.COMPLETED,
    failed_after_ms: int | None = None,
) -> CheckpointRecord:
    return CheckpointRecord(
        barrier=Barrier(CheckpointId(7), TRIGGER_MS),
        attempt=Attempt(1),
        parallelism=parallelism,
        began_ms=0.0,
        status=status,
        subtasks=found,
        failed_ms=None if failed_after_ms is None else TRIGGER_MS + failed_after_ms,
    )


def told(made: CheckpointRecord, after_ms: int = 0) -> Slowest:
    found = slowest(made, FLOW, TRIGGER_MS + after_ms)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("subtask", "own", "phase", "text"),
    [
        (
            SINK,
            figures(start_delay_ms=4200.0),
            CheckpointPhase.START_DELAY,
            "The barrier took 4.2 s to reach sink, subtask 0: it waited behind data (back-pressure).",
        ),
        (
            SOURCE,
            figures(start_delay_ms=900.0),
            CheckpointPhase.START_DELAY,
            "source, subtask 0, noticed the trigger only after 900 ms: it was busy, or its output was full "
            "(back-pressure).",
        ),
        (
            MAP,
            figures(alignment_ms=3000.0),
            CheckpointPhase.ALIGNMENT,
            "Alignment of map, subtask 0, took 3.0 s: its inputs come at different speeds; unaligned checkpoints would "
            "not wait.",
        ),
        (
            MAP,
            figures(alignment_ms=3000.0, unaligned=True),
            CheckpointPhase.ALIGNMENT,
            "The last barrier reached map, subtask 0, 3.0 s after the first; records went on meanwhile.",
        ),
        (
            MAP,
            figures(sync_ms=500.0),
            CheckpointPhase.SYNC,
            "The synchronous part of map, subtask 0, took 500 ms: its records stood still while sinks and lists were "
            "copied.",
        ),
        (
            MAP,
            figures(async_ms=2000.0, upload_ms=100.0, size_bytes=80_000_000),
            CheckpointPhase.WALK,
            "Taking the state of map, subtask 0, took 1.9 s for 80 MB: it is done between batches, and the subtask was "
            "busy.",
        ),
        (
            MAP,
            figures(async_ms=2200.0, upload_ms=2100.0, size_bytes=80_000_000),
            CheckpointPhase.UPLOAD,
            "Upload of map, subtask 0, took 2.1 s for 80 MB: the storage is slow.",
        ),
        (
            MAP,
            figures(async_ms=2200.0, upload_ms=2100.0, size_bytes=2_000_000_000),
            CheckpointPhase.UPLOAD,
            "Upload of map, subtask 0, took 2.1 s for 2.0 GB: there was much to write.",
        ),
        (
            SINK,
            figures(async_ms=2200.0, upload_ms=2100.0, size_bytes=4_200),
            CheckpointPhase.UPLOAD,
            "Upload of sink, subtask 0, took 2.1 s for 4.2 kB: the storage is slow, or that of its sink.",
        ),
        (
            MAP,
            figures(ack_ms=700.0),
            CheckpointPhase.ACK,
            "The driver took 700 ms to note the acknowledgement of map, subtask 0: the driver or the network is slow.",
        ),
    ],
)
def test_the_longest_phase_of_the_slowest_subtask_is_told(
    subtask: SubtaskId, own: SubtaskFigures, phase: CheckpointPhase, text: str
) -> None:
    quick = {each: figures() for each in (SOURCE, MAP, SINK)}
    found = told(record(quick | {subtask: own}))
    assert (found.subtask, found.phase, found.text) == (subtask, phase, text)


def test_a_late_barrier_is_the_delay_of_who_passed_it_on_late() -> None:
    found = {
        SOURCE: figures(),
        MAP: figures(start_delay_ms=100.0, alignment_ms=3000.0),
        SINK: figures(start_delay_ms=3200.0),
    }
    assert (told(record(found)).subtask, told(record(found)).phase) == (MAP, CheckpointPhase.ALIGNMENT)
    found[MAP] = figures(start_delay_ms=100.0, alignment_ms=500.0)
    assert (told(record(found)).subtask, told(record(found)).phase) == (SINK, CheckpointPhase.START_DELAY)


def test_of_many_senders_the_first_to_pass_the_barrier_on_made_it_no_later() -> None:
    other = SubtaskId(1, 1)
    found = {
        SOURCE: figures(),
        MAP: figures(alignment_ms=3000.0),
        other: figures(),
        SINK: figures(start_delay_ms=3200.0),
    }
    assert told(record(found, (1, 2, 1))).subtask == SINK
    found[other] = figures(alignment_ms=2900.0)
    assert told(record(found, (1, 2, 1))).subtask == other


def test_who_passes_a_barrier_on_before_it_is_aligned_makes_it_no_later() -> None:
    found = {SOURCE: figures(), MAP: figures(alignment_ms=3000.0, unaligned=True), SINK: figures(start_delay_ms=3200.0)}
    assert told(record(found)).subtask == SINK


def test_storage_is_slow_that_takes_less_than_50_mb_in_a_second() -> None:
    for size_bytes, why in ((99_000_000, "the storage is slow"), (101_000_000, "there was much to write")):
        own = figures(async_ms=2000.0, upload_ms=2000.0, size_bytes=size_bytes)
        assert told(record({SOURCE: figures(), MAP: own, SINK: figures()})).text.endswith(f"{why}.")


def test_a_quick_checkpoint_had_nothing_slow() -> None:
    assert "Nothing was slow" in told(record({MAP: figures(async_ms=199.0)}, (0, 1, 0))).text
    assert "Nothing was slow" not in told(record({MAP: figures(async_ms=200.0)}, (0, 1, 0))).text
    quick = {each: figures(async_ms=30.0) for each in (SOURCE, MAP, SINK)}
    assert told(record(quick)).text == "Nothing was slow: every subtask answered in 31 ms."


def test_of_subtasks_that_have_not_answered_the_first_in_the_flow_is_told() -> None:
    waiting = record({SOURCE: figures()}, status=CheckpointStatus.IN_PROGRESS)
    assert told(waiting, 2500) == Slowest(
        subtask=MAP,
        phase=None,
        text="Subtask 0 of map has not answered yet, 2.5 s after the trigger; nor has one other.",
    )
    last = record({SOURCE: figures(), MAP: figures()}, status=CheckpointStatus.IN_PROGRESS)
    assert told(last, 300).text == "Subtask 0 of sink has not answered yet, 300 ms after the trigger."


def test_a_checkpoint_that_was_given_up_tells_who_had_not_answered() -> None:
    failed = record({SOURCE: figures()}, (1, 2, 1), CheckpointStatus.FAILED, failed_after_ms=10_000)
    assert told(failed, 99_000).text == (
        "Subtask 0 of map had not answered when the checkpoint was given up, 10.0 s after the trigger; nor had any of "
        "2 others."
    )


def test_nothing_is_told_of_a_checkpoint_without_figures() -> None:
    assert slowest(record({}, ()), FLOW, 0) is None


@given(
    took=st.fixed_dictionaries(
        {name: st.floats(0, 1e6) for name in ("start_delay_ms", "alignment_ms", "sync_ms", "async_ms", "upload_ms")}
    ),
    duration_ms=st.integers(0, 10**7),
    unaligned=st.booleans(),
)
def test_phases_are_never_negative_and_cover_the_duration(
    took: dict[str, float], duration_ms: int, unaligned: bool
) -> None:
    own = SubtaskFigures(
        acked_ms=TRIGGER_MS + duration_ms,
        duration_ms=duration_ms,
        checkpointed_bytes=0,
        state_bytes=0,
        processed_bytes=0,
        persisted_bytes=0,
        unaligned=unaligned,
        pending=0,
        **took,
    )
    found = phases(own)
    assert min(found.values()) >= 0
    assert sum(found.values()) >= duration_ms - 1e-3
