"""What follows from the parallelism of an attempt: slots, channels, and the partitioning that the program left open."""

from __future__ import annotations

import pickle
from itertools import chain

import pytest

from headgate.errors import ProgramError
from headgate.graph.job_graph import JobGraph
from headgate.graph.logical import GraphDefaults, LogicalGraph, Partitioning
from headgate.graph.placement import Channels, Placement, as_programmed, edges_of, place
from headgate.ids import SubtaskId
from tests.unit.graph.programs import edge, line, node
from tests.unit.graph.test_job_graph import keyed_job, plan_of


def channels_of(job: JobGraph, placement: Placement) -> Channels:
    return Channels(edges_of(job, placement), placement)


def split_job(first: Partitioning | None = None) -> JobGraph:
    """A source of two subtasks that two sinks read: one as `first` says, the other as broadcast."""
    return plan_of(
        LogicalGraph(
            [node(0, "s", is_source=True), node(1, "a", is_sink=True), node(2, "b", is_sink=True)],
            [edge(0, 1, first), edge(0, 2, Partitioning.BROADCAST)],
        )
    )


def test_a_subtask_computes_its_channels_and_a_slot_its_subtasks() -> None:
    job = keyed_job()
    placement = as_programmed(job)
    channels = channels_of(job, placement)
    assert (placement.parallelism, placement.slots) == ((1, 3), 3)
    assert [str(s) for s in placement.subtasks()] == ["0.0", "1.0", "1.1", "1.2"]
    assert [str(s) for s in placement.subtasks_of(placement.slot_of(SubtaskId(0, 0)))] == ["0.0", "1.0"]
    assert [(c.id, c.edge, str(c.source)) for c in channels.into(SubtaskId(1, 2))] == [(2, 0, "0.0")]
    assert {e: [(c.id, str(c.target)) for c in own] for e, own in channels.out_of(SubtaskId(0, 0)).items()} == {
        0: [(0, "1.0"), (1, "1.1"), (2, "1.2")]
    }
    assert channels.out_of(SubtaskId(1, 0)) == {}


@pytest.mark.parametrize("parallelism", [(2, 2, 2), (3, 2, 5), (1, 4, 1)])
def test_both_ends_know_a_channel_by_the_same_number_and_no_two_channels_share_one(
    parallelism: tuple[int, ...],
) -> None:
    job = split_job()
    placement = place(job, parallelism)
    channels = channels_of(job, placement)
    ends = [c for subtask in placement.subtasks() for c in channels.into(subtask)]
    beginnings = [c for subtask in placement.subtasks() for c in chain.from_iterable(channels.out_of(subtask).values())]
    assert sorted(ends, key=lambda c: c.id) == sorted(beginnings, key=lambda c: c.id)
    assert sorted(c.id for c in ends) == list(range(len(ends)))


def test_forward_connects_equal_indexes_and_the_rest_everyone() -> None:
    job = split_job(Partitioning.FORWARD)
    channels = channels_of(job, as_programmed(job))
    outputs = [channels.out_of(SubtaskId(0, index)) for index in (0, 1)]
    assert [[str(c.target) for c in own[0]] for own in outputs] == [["1.0"], ["1.1"]]
    assert [[str(c.target) for c in own[1]] for own in outputs] == [["2.0", "2.1"]] * 2


def test_what_the_program_left_open_is_forward_where_the_parallelism_is_the_same_and_else_rebalance() -> None:
    job = split_job()
    for parallelism, expected in (((3, 3, 1), Partitioning.FORWARD), ((3, 2, 1), Partitioning.REBALANCE)):
        edges = edges_of(job, place(job, parallelism))
        assert [each.partitioning for each in edges] == [expected, Partitioning.BROADCAST]


def test_forward_of_the_program_ties_both_ends() -> None:
    job = split_job(Partitioning.FORWARD)
    assert place(job, (3, 3, 1)).slots == 3
    with pytest.raises(ProgramError, match=r"'Source: s' is to have 3 subtask\(s\) and 'Sink: a' 2, but forward\(\)"):
        place(job, (3, 2, 1))


def test_a_vertex_has_one_subtask_at_least_and_no_more_than_its_state_and_its_operators_allow() -> None:
    lone = node(0, "s", parallelism=1, parallelism_max=1)
    job = plan_of(line(lone, node(1, "a", parallelism=2, max_parallelism=4)), GraphDefaults(parallelism=2))
    assert place(job, (1, 4)).slots == 4
    for wrong in ((2, 2), (1, 5), (1, 0)):
        with pytest.raises(ProgramError, match="can have 1 to"):
            place(job, wrong)


def test_a_placement_travels_as_one_number_for_each_vertex() -> None:
    wide = Placement(parallelism=(512, 512))
    assert pickle.loads(pickle.dumps(wide)) == wide  # noqa: S301  # made here
    assert len(pickle.dumps(wide, 5)) < 200
