"""What earlier releases have left in snapshots and at brokers."""

from __future__ import annotations

import pickle
from typing import Final

from headgate.connectors.kafka.fetcher import KafkaSplit
from headgate.connectors.kafka.transactions import leftovers, mark_of, of_other_lineages, sink_prefix, voids_of
from headgate.functions.sink import SinkContext, SinkIdentity
from headgate.ids import Attempt, JobId, Lineage
from headgate.state.formats.unpickle import load

JOB: Final = JobId("ab" * 16)
OTHER_JOB: Final = JobId("cd" * 16)
LINEAGE: Final = Lineage("ef" * 16, 0)
SINK: Final = SinkIdentity(job_id=JOB, lineage=LINEAGE, uid="sink")
SAVEPOINT: Final = "5a" * 16
OLD: Final = f"p-{JOB}-sink-1-0-3"
"""A transaction of a release without lineages."""
OLD_MARK: Final = f"{OLD}-kept"
"""How such a release noted that a savepoint holds the transaction."""
OLD_SPLIT: Final = (
    b"\x80\x05\x95I\x00\x00\x00\x00\x00\x00\x00\x8c!headgate.connectors.kafka.fetcher\x94\x8c\nKafkaSplit\x94\x93\x94)\x81"
    b"\x94]\x94(\x8c\x05words\x94K\x01K\x05Neb."
)
"""Partition 1 of topic `words` at offset 5, without an id of the topic."""


def test_a_split_without_an_id_of_its_topic_is_read() -> None:
    split = load(OLD_SPLIT, {}, "a snapshot")
    assert split == KafkaSplit(topic="words", partition=1, offset=5)
    assert load(pickle.dumps(split), {}, "a snapshot") == split


def test_a_split_keeps_the_id_of_its_topic() -> None:
    split = KafkaSplit(topic="words", partition=1, offset=5, stop=9, topic_id="id")
    assert load(pickle.dumps(split), {}, "a snapshot") == split


def test_a_transaction_that_a_savepoint_holds_is_not_another_lineages() -> None:
    assert of_other_lineages([OLD], "p", SINK) == [OLD]
    assert of_other_lineages([OLD, OLD_MARK], "p", SINK) == []


def test_a_transaction_that_a_savepoint_of_another_job_holds_is_not_left_over() -> None:
    context = SinkContext(
        job_id=OTHER_JOB,
        lineage=LINEAGE,
        uid="sink",
        subtask=0,
        parallelism=1,
        attempt=Attempt(1),
        restored_job=JOB,
    )
    assert leftovers([OLD], "p", context) == [OLD]
    assert leftovers([OLD, OLD_MARK], "p", context) == []


def test_no_savepoint_that_is_given_up_voids_a_mark_without_a_savepoint() -> None:
    new = f"{sink_prefix('p', SINK)}1-0-3"
    unfinished = [OLD, OLD_MARK, new, mark_of(new, SAVEPOINT)]
    assert voids_of(unfinished, frozenset({SAVEPOINT})) == [f"{mark_of(new, SAVEPOINT)}-void"]
