"""Where a program gives up the order of a source in front of a key_by, without saying so."""

from __future__ import annotations

from typing import Any

import pytest

from headgate.graph.logical import GraphDefaults, LogicalGraph, Node, Partitioning
from headgate.graph.order import lost_orders
from tests.unit.graph.programs import TWO, edge, node


def program(source: dict[str, Any], *others: dict[str, Any], dealt: Partitioning | None = None) -> LogicalGraph:
    """A source, some operators in a line, and a keyed one."""
    nodes = [node(number, f"op{number}", **options) for number, options in enumerate([source, *others, {}])]
    nodes[0].is_source = True
    edges = [edge(number, number + 1, dealt if number == 0 else None) for number in range(len(others))]
    last = edge(len(nodes) - 2, len(nodes) - 1, Partitioning.KEY_GROUP, str)
    return LogicalGraph(nodes, [*edges, last])


def found(graph: LogicalGraph, defaults: GraphDefaults = TWO) -> list[tuple[str, str, str]]:
    return [(lost.source, lost.dealt_to, lost.keyed) for lost in lost_orders(graph, defaults)]


def test_the_operator_behind_a_source_with_one_subtask_is_named() -> None:
    (lost,) = lost_orders(program({"parallelism": 1}, {}), TWO)
    assert str(lost).startswith("operator 'op1' has 2 subtasks, and source 'op0' before it has 1: ")
    assert "may reach 'op2' in another order" in str(lost)


@pytest.mark.parametrize(
    "others",
    [
        [{"parallelism": 1}, {}],  # the operators that keep the order come first
        [{}, {}],
        [{}, {"parallelism": 1}],
    ],
)
def test_any_operator_on_the_way_to_the_key_by_is_found(others: list[dict[str, Any]]) -> None:
    graph = program({"parallelism": 1}, *others)
    named = "op1" if others[0] == {} else "op2"
    assert found(graph) == [("op0", named, "op3")]


def test_an_operator_with_another_parallelism_than_a_source_with_the_default_is_named() -> None:
    assert found(program({}, {"parallelism": 3})) == [("op0", "op1", "op2")]


@pytest.mark.parametrize(
    "graph",
    [
        program({"parallelism": 1}),  # the key_by is directly on the source
        program({}, {}),
        program({"parallelism": 1}, {"parallelism": 1}),
        program({"parallelism": 1}, {}, dealt=Partitioning.REBALANCE),  # the program says so
        program({"parallelism": 3}, {"parallelism": 1}),  # all records take one way
        program({"parallelism_max": 1}, {}),  # a collection, which the user did not set to 1
        program({"parallelism_max": 1}, {"parallelism": 2}),
    ],
)
def test_other_programs_are_left_alone(graph: LogicalGraph) -> None:
    assert found(graph) == []


def test_without_a_key_by_order_is_not_looked_at() -> None:
    nodes = [node(0, "source", parallelism=1), node(1, "map"), node(2, "sink")]
    assert found(LogicalGraph(nodes, [edge(0, 1), edge(1, 2)])) == []


def test_records_that_were_dealt_by_key_before_are_left_alone() -> None:
    nodes = [node(0, "source", parallelism=1), node(1, "first"), node(2, "map", parallelism=3), node(3, "second")]
    edges = [edge(0, 1, Partitioning.KEY_GROUP, str), edge(1, 2), edge(2, 3, Partitioning.KEY_GROUP, str)]
    assert found(LogicalGraph(nodes, edges)) == []


def test_a_program_with_many_ways_is_looked_at_in_no_time() -> None:
    nodes: list[Node] = [node(0, "source", parallelism=1), *(node(number, f"op{number}") for number in range(1, 1_500))]
    edges = [edge(number - 1, number) for number in range(1, 1_500)] + [
        edge(number, number + 2) for number in range(1, 1_490)
    ]
    assert found(LogicalGraph(nodes, sorted(edges, key=lambda each: each.target))) == []
