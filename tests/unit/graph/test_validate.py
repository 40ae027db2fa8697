from __future__ import annotations

import threading

import pytest

from headgate.errors import IgnoredWarning, ProgramError, SerializationError
from headgate.graph.logical import Edge, GraphDefaults, LogicalGraph, Node, Partitioning
from headgate.graph.validate import validate
from tests.unit.graph.programs import TWO, OtherFactory, SomeFactory, edge, line, node


def test_a_sound_program_passes() -> None:
    validate(line(node(0, "a"), node(1, "b", uid="b"), node(2, "c")), TWO)


def test_an_empty_program_says_what_is_missing() -> None:
    with pytest.raises(ProgramError, match=r"no streams to run.*from_collection"):
        validate(LogicalGraph(), TWO)


def test_a_duplicate_uid_names_both_operators() -> None:
    with pytest.raises(ProgramError, match=r"uid 'u'.*'first' and 'second'"):
        validate(line(node(0, "first", uid="u"), node(1, "second", uid="u")), TWO)


@pytest.mark.parametrize("other", [{"uid_hash": "0f" * 16}, {"uid": "0f" * 16}])
def test_state_of_a_snapshot_goes_to_one_operator(other: dict[str, str]) -> None:
    with pytest.raises(ProgramError, match=r"uid hash 0f0f\S+ of operator '(first|second)' belongs to operator"):
        validate(line(node(0, "first", uid_hash="0f" * 16), node(1, "second", **other)), TWO)


def test_more_subtasks_than_stored_state_has_key_groups_say_that_they_are_fixed() -> None:
    defaults = GraphDefaults(parallelism=65, stored_max_parallelism={"count": 64})
    with pytest.raises(ProgramError, match=r"'second' is to have 65 subtasks, but the state .* max parallelism 64"):
        validate(line(node(0, "first"), node(1, "second", uid="count")), defaults)


def test_an_empty_uid_is_refused() -> None:
    with pytest.raises(ProgramError, match="uid of operator 'first' is empty"):
        validate(line(node(0, "first", uid=""), node(1, "second")), TWO)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (node(0, "a", parallelism=0), "'a': the parallelism is 0"),
        (node(0, "a", parallelism=-1), "'a': the parallelism is -1"),
        (node(0, "a", parallelism=9, max_parallelism=8), "'a': the parallelism is 9.*max parallelism, 8"),
        (node(0, "a", max_parallelism=40_000), "'a': the max parallelism is 40000.*32768"),
        (node(0, "a", max_parallelism=0), "'a': the max parallelism is 0"),
        (node(0, "a", parallelism=2, parallelism_max=1), "'a' can have 1 subtask.*set to 2.*rebalance"),
        (node(0, "a", buffer_timeout_ms=-1), "'a' has the buffer timeout -1 ms"),
    ],
)
def test_a_bad_number_names_its_operator(wrong: Node, message: str) -> None:
    with pytest.raises(ProgramError, match=message):
        validate(line(wrong, node(1, "sink")), TWO)


def test_a_buffer_timeout_of_nothing_sends_at_once() -> None:
    validate(line(node(0, "a", buffer_timeout_ms=0), node(1, "sink")), TWO)


def test_a_bad_default_parallelism_is_refused() -> None:
    with pytest.raises(ProgramError, match="parallelism is 40000"):
        validate(line(node(0, "a"), node(1, "b")), GraphDefaults(parallelism=40_000))


def test_forward_between_different_parallelisms_names_both_sides() -> None:
    graph = line(node(0, "a", parallelism=1), node(1, "b"))
    graph.edges = [edge(0, 1, Partitioning.FORWARD)]
    with pytest.raises(ProgramError, match=r"forward\(\) from operator 'a' \(parallelism 1\) to 'b' \(parallelism 2\)"):
        validate(graph, TWO)


def test_a_stream_without_a_sink_names_the_last_operator() -> None:
    graph = line(node(0, "a"), node(1, "b"))
    graph.nodes.append(node(2, "forgotten"))
    graph.edges.append(edge(0, 2))
    with pytest.warns(IgnoredWarning, match=r"output of operator 'forgotten' goes nowhere.*print"):
        validate(graph, TWO)


def test_a_function_that_cannot_be_pickled_names_function_and_operator() -> None:
    lock = threading.Lock()

    def enrich(value: int) -> object:
        return value, lock

    with pytest.raises(SerializationError, match="function 'enrich' of operator 'b' captures 'lock'"):
        validate(line(node(0, "a"), node(1, "b", operator=SomeFactory(enrich)), node(2, "c")), TWO)


def test_a_key_selector_that_cannot_be_pickled_names_where_it_is() -> None:
    lock = threading.Lock()

    def key_of(value: int) -> object:
        return value, lock

    graph = line(node(0, "a"), node(1, "count", operator=OtherFactory()))
    graph.edges = [Edge(source=0, target=1, partitioning=Partitioning.KEY_GROUP, key_selector=key_of)]
    with pytest.raises(SerializationError, match="function 'key_of' of operator 'key_by before count'"):
        validate(graph, TWO)
