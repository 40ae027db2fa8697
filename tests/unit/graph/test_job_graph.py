"""The job graph, and the execution plan as JSON."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import cloudpickle
import pytest

from headgate.errors import ProgramError
from headgate.graph.job_graph import JobGraph, JobOptions, execution_plan, plan
from headgate.graph.logical import GraphDefaults, LogicalGraph, Partitioning
from headgate.ids import SubtaskId, new_job_id, new_lineage
from headgate.options import resolve
from tests.unit.graph.programs import TWO, edge, line, node

SETTINGS = resolve({"pipeline.global-job-parameters": "city:Oslo"})


def plan_of(graph: LogicalGraph, defaults: GraphDefaults = TWO) -> JobGraph:
    options = JobOptions(
        job_id=new_job_id(random.Random(1)),
        lineage=new_lineage(random.Random(2), 0),
        job_name="j",
        defaults=defaults,
        settings=SETTINGS,
        checkpointing=False,
    )
    return plan(graph, options)


def keyed_job() -> JobGraph:
    """One source subtask, three keyed subtasks chained to their sink."""
    graph = line(node(0, "s", parallelism=1), node(1, "count", parallelism=3, uid="c"), node(2, "out", parallelism=3))
    graph.edges[0] = edge(0, 1, Partitioning.KEY_GROUP, abs)
    return plan_of(graph)


def test_vertices_and_edges_of_a_keyed_job() -> None:
    job = keyed_job()
    assert [(v.id, v.name, v.parallelism) for v in job.vertices] == [(0, "Source: s", 1), (1, "count -> Sink: out", 3)]
    assert [o.name for o in job.vertices[1].operators] == ["count", "Sink: out"]
    assert job.vertices[1].operators[0].uid == "c"
    assert [(e.source_vertex, e.target_vertex, e.key_selector) for e in job.edges] == [(0, 1, abs)]
    assert job.parameters == {"city": "Oslo"}
    assert job.vertex_of(SubtaskId(1, 2)).name == "count -> Sink: out"


def test_a_union_has_several_edges_into_one_input() -> None:
    graph = LogicalGraph(
        [node(0, "a", is_source=True), node(1, "b", is_source=True), node(2, "out", is_sink=True)],
        [edge(0, 2), edge(1, 2)],
    )
    job = plan_of(graph)
    assert [(e.source_vertex, e.target_vertex, e.input_index) for e in job.edges] == [(0, 2, 0), (1, 2, 0)]
    assert [(e.partitioning, e.is_implied) for e in job.edges] == [(Partitioning.FORWARD, True)] * 2


def test_a_chain_flushes_by_the_buffer_timeout_of_its_last_operator() -> None:
    job = plan_of(line(node(0, "a", buffer_timeout_ms=5), node(1, "b", buffer_timeout_ms=7)))
    assert [v.buffer_timeout_ms for v in job.vertices] == [7]


def test_a_plan_travels_as_bytes() -> None:
    job = keyed_job()
    assert cloudpickle.loads(cloudpickle.dumps(job)) == job


def test_a_wrong_program_has_no_plan() -> None:
    with pytest.raises(ProgramError):
        plan_of(LogicalGraph())


def test_two_inputs_have_edges_and_key_selectors_of_their_own() -> None:
    graph = LogicalGraph(
        [node(0, "s", is_source=True), node(1, "t", is_source=True), node(2, "both", is_sink=True)],
        [
            edge(0, 2, Partitioning.KEY_GROUP, abs),
            replace(edge(1, 2, Partitioning.BROADCAST), input_index=1, tag="rules"),
        ],
    )
    job = plan_of(graph)
    assert [(e.input_index, e.partitioning, e.key_selector, e.tag) for e in job.edges] == [
        (0, Partitioning.KEY_GROUP, abs, None),
        (1, Partitioning.BROADCAST, None, "rules"),
    ]
    assert [e.is_implied for e in job.edges] == [False, False]


def test_plan_lists_operators_with_what_they_read() -> None:
    graph = line(node(0, "numbers"), node(1, "count", uid="count", max_parallelism=64))
    graph.edges = [edge(0, 1, Partitioning.KEY_GROUP, str)]
    source, count = json.loads(execution_plan(graph, TWO))["nodes"]
    assert source["type"] == "Source: numbers"
    assert source["pact"] == "Data Source"
    assert "predecessors" not in source
    assert count == {
        "id": 1,
        "type": "Sink: count",
        "pact": "Data Sink",
        "contents": "Sink: count",
        "uid": "count",
        "operator": "SomeFactory",
        "parallelism": 2,
        "max_parallelism": 64,
        "predecessors": [{"id": 0, "ship_strategy": "HASH", "side": "first"}],
    }


def test_plan_tells_the_side_output_and_the_input_that_an_edge_connects() -> None:
    graph = line(node(0, "numbers"), node(1, "count", uid="count"))
    graph.edges.append(replace(edge(0, 1), tag="late", input_index=1))
    count = json.loads(execution_plan(graph, TWO))["nodes"][1]
    assert count["predecessors"] == [
        {"id": 0, "ship_strategy": "FORWARD", "side": "first"},
        {"id": 0, "ship_strategy": "FORWARD", "side": "second", "output_tag": "late"},
    ]
