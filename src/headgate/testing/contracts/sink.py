"""Checks of what every sink must do: write each record once, wherever a job is stopped.

A check that needs an ability which the target or its test lacks is skipped with a reason.
"""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final
from unittest import SkipTest

from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.errors import SinkError
from headgate.functions.sink import CommitLostError, RetriableCommitError, Sink, SinkContext
from headgate.ids import CheckpointId
from headgate.testing.contracts.sink_run import (
    JOB,
    OTHER_JOB,
    OTHER_LINEAGE,
    SAVEPOINT,
    STEPS,
    Prepared,
    SinkCase,
    SinkRun,
    SinkTarget,
    commit,
    committables,
    open_sink,
    sink_context,
)

__all__ = [
    "JOB",
    "OTHER_JOB",
    "OTHER_LINEAGE",
    "SAVEPOINT",
    "SINK_CHECKS",
    "SinkCase",
    "SinkRun",
    "SinkTarget",
    "open_sink",
    "sink_context",
]


def check_nothing_is_seen_before_it_is_committed(case: SinkCase) -> None:
    """Written and prepared records are invisible; committed records are visible."""
    run = SinkRun(case.fresh(), case.records)
    run.write(3)
    assert run.target.read() == []
    run.prepare()
    run.complete()
    assert run.target.read() == []
    run.commit()
    assert _counted(run.target.read()) == _counted(case.records[:3])
    run.finish()
    assert _counted(run.target.read()) == _counted(case.records)


def check_stops_at_any_point_give_each_record_once(case: SinkCase) -> None:
    """The final output is the same, whatever stops, whenever and however often."""

    @settings(max_examples=case.histories, deadline=None, database=None)
    @given(st.lists(st.sampled_from(sorted(STEPS)), max_size=6))
    def run_and_stop(steps: list[str]) -> None:
        run = SinkRun(case.fresh(), case.records)
        for step in steps:
            run.write(2)
            STEPS[step](run)
        run.finish()
        assert _counted(run.target.read()) == _counted(case.records)

    run_and_stop()


def check_commits_may_be_repeated(case: SinkCase) -> None:
    """A repeated commit of committed records changes nothing, whoever repeats it."""
    run = SinkRun(case.fresh(), case.records)
    run.write(3)
    run.prepare()
    run.complete()
    run.commit()
    run.commit()
    run.restart()
    run.close()
    assert _counted(run.target.read()) == _counted(case.records[:3])


def check_a_dead_attempt_cannot_add_records(case: SinkCase) -> None:
    """An attempt that has not noticed its end may write, prepare, and commit an old checkpoint without harm."""
    run = SinkRun(case.fresh(), case.records)
    run.write(2)
    run.prepare()
    run.complete()
    old, committed = run.writer, run.durable[1]
    old.write(case.records[2:4])
    committer = run.committer
    run.restart()
    with suppress(SinkError):  # the target may refuse the dead attempt
        old.write(case.records[4:6])
        old.prepare_commit(CheckpointId(99))
    commit(run.target.sink, committer, committed)
    old.close()
    run.finish()
    assert _counted(run.target.read()) == _counted(case.records)


def check_what_others_wrote_stays(case: SinkCase) -> None:
    """Recovering one subtask touches neither other subtasks nor the output of other jobs, committed or prepared."""
    target = case.fresh()
    others = [sink_context(OTHER_JOB), sink_context(subtask=1)]
    prepared = [
        _prepared(target.sink, context, [record]) for context, record in zip(others, case.records, strict=False)
    ]
    committed = _prepared(target.sink, sink_context(OTHER_JOB, attempt=2), case.records[2:3])
    commit(target.sink, target.sink.committer(sink_context(OTHER_JOB, attempt=2)), committed)
    run = SinkRun(target, case.records[3:])
    run.restart()
    run.finish()
    for context, parts in zip(others, prepared, strict=True):
        commit(target.sink, target.sink.committer(context), parts)
    assert _counted(target.read()) == _counted(case.records)


def check_the_same_job_id_with_other_storage_writes_all_its_records(case: SinkCase) -> None:
    """Marks of an earlier run under the same job id do not make output of this run count as committed."""
    target = case.fresh()
    first, later = SinkRun(target, case.records[:4]), SinkRun(target, case.records[4:], OTHER_LINEAGE)
    first.write(2)
    first.prepare()
    first.complete()
    first.commit()
    first.write(1)
    first.prepare()
    first.complete()
    later.write(3)
    later.prepare()
    later.complete()
    later.restart()
    later.finish()
    target.sink.discard(OTHER_LINEAGE)
    first.commit()
    first.finish()
    assert _counted(target.read()) == _counted(case.records)


def check_a_job_back_from_a_backup_writes_all_its_records(case: SinkCase) -> None:
    """A copied or restored folder of a job counts attempts and checkpoints again, and still loses no records.

    Both histories have one lineage. Commits of the first history hide no output of the second.
    """
    target = case.fresh()
    other = replace(JOB, lineage=replace(JOB.lineage, driver="07ab3e19"))
    for identity, records in ((JOB, case.records[:4]), (other, case.records[4:])):
        run = SinkRun(target, records, identity)
        run.write(2)
        run.prepare()
        run.complete()
        run.commit()
        run.finish()
    assert _counted(target.read()) == _counted(case.records)


def check_what_a_savepoint_holds_stays(case: SinkCase) -> None:
    """The job goes back to before its savepoint, and ends: another job can still commit what the savepoint holds."""
    _go_on_from_a_savepoint(SinkRun(case.fresh(), case.records), case, lambda: None)


def _go_on_from_a_savepoint(run: SinkRun, case: SinkCase, meanwhile: Callable[[], None]) -> None:
    if case.expires is not None:
        raise SkipTest(f"no savepoint holds output for long: {case.expires}")
    run.write(3)
    run.prepare_savepoint()
    meanwhile()
    held = pickle.loads(pickle.dumps(run.prepared))  # noqa: S301
    run.restart()
    run.close()
    run.target.sink.give_up(JOB, frozenset({"ff" * 16}))  # another savepoint
    run.target.sink.discard(JOB)
    run.target.sink.release(JOB)
    committer = run.target.sink.committer(sink_context(OTHER_JOB))
    committer.recover(committables(held))
    commit(run.target.sink, committer, held)
    assert _counted(run.target.read()) == _counted(case.records[:3])


def check_closing_drops_what_is_not_prepared(case: SinkCase) -> None:
    """A closed writer leaves nothing to see, and may be closed twice, also before it wrote."""
    target = case.fresh()
    unused, _ = open_sink(target.sink, sink_context())
    unused.close()
    unused.close()
    writer, _ = open_sink(target.sink, sink_context())
    writer.write(case.records)
    writer.close()
    writer.close()
    assert target.read() == []


def check_an_idle_subtask_commits_nothing(case: SinkCase) -> None:
    """Without records there is nothing to commit."""
    target = case.fresh()
    writer, committer = open_sink(target.sink, sink_context())
    writer.write([])
    commit(target.sink, committer, [(CheckpointId(1), writer.prepare_commit(CheckpointId(1)))])
    writer.close()
    assert target.read() == []


def check_target_can_be_taken_and_given_back_again(case: SinkCase) -> None:
    """The same job may prepare and release twice, as it does when its driver starts again; output stays."""
    run = SinkRun(case.fresh(), case.records)
    run.target.sink.prepare(JOB)
    run.target.sink.prepare(JOB)
    run.finish()
    run.target.sink.release(JOB)
    run.target.sink.release(JOB)
    run.target.sink.prepare(OTHER_JOB)
    run.target.sink.release(OTHER_JOB)
    assert _counted(run.target.read()) == _counted(case.records)


def check_a_target_that_is_away_is_asked_again(case: SinkCase) -> None:
    """A commit to an unavailable target raises RetriableCommitError, even half-way; a later commit succeeds."""
    run = SinkRun(case.fresh(), case.records)
    if run.target.be_away is None:
        raise SkipTest("the test cannot make the target unavailable")
    run.write(3)
    run.prepare()
    run.complete()
    run.target.be_away(True)
    for _ in range(2):
        try:
            run.commit()
        except RetriableCommitError:
            continue
        raise AssertionError("a commit to a target that is unavailable must raise RetriableCommitError")
    run.target.be_away(False)
    run.commit()
    run.finish()
    assert _counted(run.target.read()) == _counted(case.records)


def check_lost_output_is_told(case: SinkCase) -> None:
    """A commit of prepared output that is gone raises CommitLostError each time; it never skips the output."""
    run = SinkRun(case.fresh(), case.records)
    if run.target.lose is None:
        raise SkipTest("the test cannot lose what is prepared")
    run.write(3)
    run.prepare()
    run.complete()
    run.target.lose()
    told: list[str] = []
    for _ in range(2):
        try:
            run.commit()
        except CommitLostError as error:
            told.append(str(error))
    assert len(told) == 2, "a commit of lost output must raise CommitLostError"
    assert all(told), "the error must say what is lost, and where to look for it"
    run.close()


def check_a_loss_of_power_loses_no_record(case: SinkCase) -> None:
    """Secured output stays prepared, and committed output final, when the machine loses power."""
    for step in STEPS.values():
        run = SinkRun(case.fresh(), case.records)
        lose_power = _power_of(run)
        run.write(2)
        STEPS["checkpoint"](run)  # so that no later checkpoint may hold what it has committed
        run.write(2)
        step(run)
        run.write(2)
        lose_power()
        run.restart()
        run.finish()
        assert _counted(run.target.read()) == _counted(case.records)


def check_a_loss_of_power_takes_nothing_from_a_savepoint(case: SinkCase) -> None:
    """Output that a savepoint holds is kept for another job, also when the machine loses power."""
    run = SinkRun(case.fresh(), case.records)
    _go_on_from_a_savepoint(run, case, _power_of(run))


def _power_of(run: SinkRun) -> Callable[[], None]:
    if run.target.lose_power is None:
        raise SkipTest("the test cannot take the power away")
    return run.target.lose_power


SINK_CHECKS: Final[list[Callable[[SinkCase], None]]] = [
    check_nothing_is_seen_before_it_is_committed,
    check_stops_at_any_point_give_each_record_once,
    check_commits_may_be_repeated,
    check_a_dead_attempt_cannot_add_records,
    check_what_others_wrote_stays,
    check_the_same_job_id_with_other_storage_writes_all_its_records,
    check_a_job_back_from_a_backup_writes_all_its_records,
    check_what_a_savepoint_holds_stays,
    check_closing_drops_what_is_not_prepared,
    check_an_idle_subtask_commits_nothing,
    check_target_can_be_taken_and_given_back_again,
    check_a_target_that_is_away_is_asked_again,
    check_lost_output_is_told,
    check_a_loss_of_power_loses_no_record,
    check_a_loss_of_power_takes_nothing_from_a_savepoint,
]


def _prepared(sink: Sink[Any], context: SinkContext, records: list[Any]) -> list[Prepared]:
    writer = sink.writer(context)
    writer.write(records)
    prepared = writer.prepare_commit(CheckpointId(1))
    writer.close()
    return [(CheckpointId(1), prepared)]


def _counted(records: list[Any]) -> Counter[Any]:
    return Counter(map(repr, records))
