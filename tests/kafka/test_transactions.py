"""Transactions that outlive the process that wrote them, on a real broker."""

from __future__ import annotations

import dataclasses
import logging
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

from headgate.connectors.kafka.transaction_coordinator import TransactionCoordinator, TransactionState
from headgate.connectors.kafka.transactions import Transaction, of_other_lineages
from headgate.errors import SinkError
from headgate.functions.sink import CommitLostError, Sink, SinkContext
from headgate.ids import CheckpointId, JobId
from headgate.testing.contracts.sink import JOB, OTHER_JOB, OTHER_LINEAGE, SAVEPOINT
from headgate.testing.servers.kafka import KafkaBroker
from tests.kafka.broker import new_topic, texts
from tests.kafka.sinks import at, exactly_once

pytestmark = pytest.mark.slow

DEADLINE_S = 120.0
PREPARE_AND_DIE = """
import os, signal
from confluent_kafka import Producer
producer = Producer({"bootstrap.servers": %r, "transactional.id": %r})
producer.init_transactions()
producer.begin_transaction()
for number in range(10):
    producer.produce(%r, str(number))
assert producer.flush(30) == 0
os.kill(os.getpid(), signal.SIGKILL)
"""


def prepare(sink: Sink[Any], words: list[str], context: SinkContext, checkpoint: int = 1) -> list[Transaction]:
    """Return what a checkpoint is to commit, of a writer that then is lost."""
    writer = sink.writer(context)
    writer.write(words)
    return writer.prepare_commit(CheckpointId(checkpoint))


def fate(broker: KafkaBroker, transaction: Transaction) -> TransactionState:
    with TransactionCoordinator({"bootstrap.servers": broker.bootstrap}) as coordinator:
        return coordinator.describe(transaction.transactional_id).state


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, "it does not happen"
        time.sleep(0.1)


def test_a_transaction_is_committed_after_the_death_of_the_process_that_wrote_it(broker: KafkaBroker) -> None:
    topic = new_topic(broker)
    program = PREPARE_AND_DIE % (broker.bootstrap, f"{topic}-id", topic)
    killed = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=DEADLINE_S, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert texts(broker, topic) == []
    prepared = [Transaction(transactional_id=f"{topic}-id", topics=(topic,), records=10)]
    committer = exactly_once(broker, topic).build().committer(at())
    for _ in range(2):
        committer.commit(prepared)
        assert texts(broker, topic) == [str(number) for number in range(10)]


def test_a_prepared_transaction_outlives_the_broker(broker: KafkaBroker) -> None:
    topic = new_topic(broker)
    sink = exactly_once(broker, topic).build()
    prepared = prepare(sink, ["a", "b"], at())
    broker.kill()
    broker.start()
    sink.committer(at(attempt=2)).recover(prepared)
    sink.committer(at(attempt=2)).commit(prepared)
    assert texts(broker, topic) == ["a", "b"]


def test_what_the_broker_has_aborted_is_an_error_that_says_where_the_records_are(
    broker: KafkaBroker, caplog: pytest.LogCaptureFixture
) -> None:
    topic = new_topic(broker)
    builder = exactly_once(broker, topic).set_property("transaction.timeout.ms", "1000")
    [prepared] = prepare(builder.build(), ["a", "b", "c"], at())
    wait_for(lambda: fate(broker, prepared) is not TransactionState.OPEN)
    with pytest.raises(CommitLostError) as lost:
        builder.build().committer(at()).commit([prepared])
    for what in ("3 records", topic, repr(prepared.transactional_id), "producer id", "1000 ms", "read_uncommitted"):
        assert what in str(lost.value)
    with caplog.at_level(logging.ERROR):
        builder.ignore_failures_after_transaction_timeout().build().committer(at()).commit([prepared])
    assert "3 records" in caplog.text


def test_a_transaction_that_brokers_do_not_know_is_an_error(broker: KafkaBroker) -> None:
    topic = new_topic(broker)
    unknown = Transaction(transactional_id=f"{topic}-never", topics=(topic,), records=1)
    with pytest.raises(CommitLostError, match="unknown to the brokers"):
        exactly_once(broker, topic).build().committer(at()).commit([unknown])


def test_leftovers_are_aborted_also_those_of_subtasks_that_there_are_no_more(broker: KafkaBroker) -> None:
    topic = new_topic(broker)
    sink = exactly_once(broker, topic).build()
    left = [each for subtask in range(3) for each in prepare(sink, ["lost"], at(subtask, 3))]
    for subtask in range(2):
        sink.committer(at(subtask, 2, attempt=2)).recover([])
        assert [fate(broker, each) for each in left].count(TransactionState.OPEN) == (1, 0)[subtask]
    assert texts(broker, topic) == []


def test_what_another_subtask_commits_after_rescaling_is_no_leftover(broker: KafkaBroker) -> None:
    topic = new_topic(broker)
    sink = exactly_once(broker, topic).build()
    first, second = (prepare(sink, [f"word {subtask}"], at(subtask, 2), checkpoint=4) for subtask in range(2))
    later = [dataclasses.replace(at(subtask, 2, attempt=2), restored_id=CheckpointId(4)) for subtask in range(2)]
    for context, restored in zip(later, (second, first), strict=True):
        sink.committer(context).recover(restored)
    for context, restored in zip(later, (second, first), strict=True):
        sink.committer(context).commit(restored)
    assert sorted(texts(broker, topic)) == ["word 0", "word 1"]


def test_what_comes_behind_the_restored_checkpoint_is_a_leftover(broker: KafkaBroker) -> None:
    topic = new_topic(broker)
    sink = exactly_once(broker, topic).build()
    writer = sink.writer(at())
    writer.write(["a"])
    [kept] = writer.prepare_commit(CheckpointId(1))
    writer.prepare_commit(CheckpointId(2))
    writer.write(["b"])
    [left] = writer.prepare_commit(CheckpointId(3))
    sink.committer(dataclasses.replace(at(attempt=2), restored_id=CheckpointId(2))).recover([])
    assert (fate(broker, kept), fate(broker, left)) == (TransactionState.OPEN, TransactionState.ABORTED)


def test_a_job_that_starts_from_the_snapshot_of_a_dead_one_aborts_what_that_left(broker: KafkaBroker) -> None:
    topic = new_topic(broker)
    sink = exactly_once(broker, topic).build()
    first = sink.writer(at(identity=OTHER_JOB))
    first.write(["a"])
    restored = first.prepare_commit(CheckpointId(1))
    first.write(["b"])
    [left] = first.prepare_commit(CheckpointId(2))
    heir = dataclasses.replace(at(), job_id=JobId("3" * 32), restored_id=CheckpointId(1), restored_job=OTHER_JOB.job_id)
    [of_heir] = prepare(sink, ["b"], heir, checkpoint=2)  # it starts from the same snapshot, and dies as well
    later = dataclasses.replace(at(), restored_id=CheckpointId(1), restored_job=OTHER_JOB.job_id)
    sink.committer(later).recover(restored)
    sink.committer(later).commit(restored)
    assert (fate(broker, left), fate(broker, of_heir)) == (TransactionState.ABORTED, TransactionState.ABORTED)
    assert texts(broker, topic) == ["a"]


def test_a_job_does_not_touch_the_transactions_of_another_prefix_that_begins_alike(broker: KafkaBroker) -> None:
    topic = new_topic(broker)
    of_others = exactly_once(broker, topic).set_transactional_id_prefix(f"test-{topic}-eu").build()
    [prepared] = prepare(of_others, ["a"], at(identity=OTHER_JOB))
    later = dataclasses.replace(at(), restored_id=CheckpointId(0), restored_job=OTHER_JOB.job_id)
    exactly_once(broker, topic).build().committer(later).recover([])
    assert fate(broker, prepared) is TransactionState.OPEN


def test_later_attempts_are_left_alone(broker: KafkaBroker) -> None:
    topic = new_topic(broker)
    sink = exactly_once(broker, topic).build()
    [prepared] = prepare(sink, ["a"], at(attempt=3))
    sink.committer(at(attempt=2)).recover([])
    assert fate(broker, prepared) is TransactionState.OPEN


def test_a_job_that_ends_without_checkpoints_aborts_what_it_prepared_and_no_savepoint_holds(
    broker: KafkaBroker,
) -> None:
    topic = new_topic(broker)
    sink = exactly_once(broker, topic).build()
    [held] = prepare(sink, ["a"], at())
    [dropped] = prepare(sink, ["b"], at(subtask=1))
    [of_others] = prepare(sink, ["c"], at(identity=OTHER_JOB))
    sink.committer(at()).keep([held], SAVEPOINT)
    sink.discard(JOB)
    assert [fate(broker, each) for each in (held, dropped, of_others)] == [
        TransactionState.OPEN,
        TransactionState.ABORTED,
        TransactionState.OPEN,
    ]


def test_what_was_kept_for_a_savepoint_that_never_was_complete_is_aborted(broker: KafkaBroker) -> None:
    topic = new_topic(broker)
    sink = exactly_once(broker, topic).build()
    [held], [dropped] = prepare(sink, ["a"], at()), prepare(sink, ["b"], at(subtask=1))
    sink.committer(at()).keep([held], SAVEPOINT)
    sink.committer(at()).keep([held, dropped], "ab" * 16)
    for _ in range(2):
        sink.give_up(JOB, frozenset({"ab" * 16}))
    for subtask in range(2):
        sink.committer(at(subtask=subtask, attempt=2)).recover([])
    assert (fate(broker, held), fate(broker, dropped)) == (TransactionState.OPEN, TransactionState.ABORTED)
    sink.committer(at()).commit([held])
    assert texts(broker, topic) == ["a"]


def test_what_ended_lineages_of_the_job_id_left_open_is_aborted_so_that_readers_do_not_wait_for_it(
    broker: KafkaBroker,
) -> None:
    topic = new_topic(broker)
    sink = exactly_once(broker, topic).build()
    [held] = prepare(sink, ["held"], at())
    [kept] = prepare(sink, ["kept"], at(subtask=1))
    [left] = prepare(sink, ["left"], at(subtask=2))
    [of_others] = prepare(sink, ["of others"], at(identity=OTHER_JOB))
    sink.committer(at()).keep([kept], SAVEPOINT)
    sink.end_others(OTHER_LINEAGE, [held])()
    assert [fate(broker, each) for each in (held, kept, left, of_others)] == [
        TransactionState.OPEN,
        TransactionState.OPEN,
        TransactionState.ABORTED,
        TransactionState.OPEN,
    ]
    own = prepare(sink, ["own"], at(identity=OTHER_LINEAGE))
    for transactions in ([held], [kept], [of_others], own):
        sink.committer(at(identity=OTHER_LINEAGE)).commit(transactions)
    assert sorted(texts(broker, topic)) == ["held", "kept", "of others", "own"]


@pytest.mark.parametrize(
    ("name", "is_left"),
    [
        ("test-t-{job}-{lineage}-out-1-0-3", False),
        ("test-t-{job}-{other}-out-9-7-3", True),
        ("test-t-{job}-out-1-0-3", True),  # of a release without lineages
        ("test-t-{job}-{other}-out-1-0-3-kept", False),
        ("test-t-{job}-{other}-in-1-0-3", False),
        ("test-t-{other}-{lineage}-out-1-0-3", False),
        ("other-{job}-{other}-out-1-0-3", False),
    ],
)
def test_transactions_of_other_lineages_are_known_by_their_names(name: str, is_left: bool) -> None:
    identity = dataclasses.replace(JOB, uid="out")
    full = name.format(job=JOB.job_id, lineage=JOB.lineage, other="9" * 32)
    assert of_other_lineages([full], "test-t", identity) == ([full] if is_left else [])


def test_what_no_snapshot_holds_is_aborted_on_request(broker: KafkaBroker) -> None:
    topic = new_topic(broker)
    sink = exactly_once(broker, topic).build()
    [dropped], [other] = prepare(sink, ["a"], at()), prepare(sink, ["b"], at(subtask=1))
    for _ in range(2):
        sink.committer(at()).abort([dropped])
    assert (fate(broker, dropped), fate(broker, other)) == (TransactionState.ABORTED, TransactionState.OPEN)


def test_a_longer_transaction_than_brokers_allow_is_refused_before_anything_runs(broker: KafkaBroker) -> None:
    topic = new_topic(broker)
    sink = exactly_once(broker, topic).set_property("transaction.timeout.ms", "3600000").build()
    assert sink.transaction_timeout_ms == 3_600_000
    with pytest.raises(SinkError, match=r"transaction\.max\.timeout\.ms"):
        sink.prepare(JOB)
