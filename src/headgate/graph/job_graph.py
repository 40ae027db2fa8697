"""The job graph: chained operators and the edges between them, which deployments and slots run.

It does not contain subtasks: `placement` derives them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Final, final

from headgate.config import Settings
from headgate.graph.chain import ChainedGraph, Vertex, chain
from headgate.graph.logical import AnyKeySelector, AnyOperatorFactory, GraphDefaults, LogicalGraph, Partitioning
from headgate.graph.resolve import ResolvedEdge, ResolvedGraph, resolve
from headgate.graph.validate import validate
from headgate.ids import JobId, Lineage, SubtaskId
from headgate.options import JOB_PARAMETERS
from headgate.types.type_information import TypeInformation


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorPlan:
    """One operator of a vertex. Its state is stored under `uid`; a snapshot may have it under `uid_hash` instead.

    `output_type` is the type that the operator's records are converted to; None: no conversion.
    """

    uid: str
    name: str
    factory: AnyOperatorFactory
    uid_hash: str | None = None
    output_type: TypeInformation | None = None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class VertexPlan:
    """A chain of operators, head first. `id` is its index in the plan.

    `parallelism` is the program's value. An attempt may have another parallelism, up to `parallelism_max`.
    """

    id: int
    name: str
    operators: tuple[OperatorPlan, ...]
    parallelism: int
    max_parallelism: int
    parallelism_max: int
    buffer_timeout_ms: int


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class EdgePlan:
    """An edge between two vertices. Only KEY_GROUP and CUSTOM have a `key_selector`, the user's.

    The edge begins at the side output `tag` of the source's tail, or at its main output (None). It ends at input
    `input_index` of the target's head. `is_implied` says that the program does not set the partitioning: the edge is
    forward in a placement with the same parallelism at both ends, else rebalance.
    """

    source_vertex: int
    target_vertex: int
    partitioning: Partitioning
    key_selector: AnyKeySelector | None
    input_index: int
    tag: str | None
    tag_type: TypeInformation | None = None
    is_implied: bool = False


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class JobGraph:
    """A job, independent of attempts and their parallelism. It is pickled and sent to every slot."""

    job_id: JobId
    lineage: Lineage
    """The lineage made for this submission. A job that continues a checkpoint of an earlier lineage keeps that one."""
    job_name: str
    vertices: tuple[VertexPlan, ...]
    edges: tuple[EdgePlan, ...]
    settings: Settings
    checkpointing: bool
    parameters: dict[str, str] = field(default_factory=dict)
    """Global job parameters, for `RuntimeContext.get_job_parameter`."""

    def vertex_of(self, subtask: SubtaskId) -> VertexPlan:
        """Return the vertex that the subtask is an instance of."""
        return self.vertices[subtask.vertex]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class JobOptions:
    """The inputs of `plan` besides the graph."""

    job_id: JobId
    lineage: Lineage
    job_name: str
    defaults: GraphDefaults
    settings: Settings
    checkpointing: bool


def plan(graph: LogicalGraph, options: JobOptions) -> JobGraph:
    """Validate the graph and return the job graph. Raises the errors of `validate`."""
    validate(graph, options.defaults)
    chained = chain(resolve(graph, options.defaults))
    return JobGraph(
        job_id=options.job_id,
        lineage=options.lineage,
        job_name=options.job_name,
        vertices=tuple(_vertex_plan(index, vertex) for index, vertex in enumerate(chained.vertices)),
        edges=tuple(_edge_plans(chained)),
        settings=options.settings,
        checkpointing=options.checkpointing,
        parameters=options.settings.get(JOB_PARAMETERS),
    )


def _vertex_plan(index: int, vertex: Vertex) -> VertexPlan:
    return VertexPlan(
        id=index,
        name=vertex.name,
        operators=tuple(
            OperatorPlan(
                uid=node.uid,
                name=node.name,
                factory=node.operator,
                uid_hash=node.uid_hash,
                output_type=node.output_type,
            )
            for node in vertex.nodes
        ),
        parallelism=vertex.head.parallelism,
        max_parallelism=vertex.head.max_parallelism,
        parallelism_max=min(node.parallelism_max for node in vertex.nodes),
        buffer_timeout_ms=vertex.tail.buffer_timeout_ms,
    )


def _edge_plans(graph: ChainedGraph) -> list[EdgePlan]:
    vertex_of = {node.id: index for index, vertex in enumerate(graph.vertices) for node in vertex.nodes}

    def edge_plan(edge: ResolvedEdge) -> EdgePlan:
        return EdgePlan(
            source_vertex=vertex_of[edge.source],
            target_vertex=vertex_of[edge.target],
            partitioning=edge.partitioning,
            key_selector=edge.key_selector,
            input_index=edge.input_index,
            tag=edge.tag,
            tag_type=edge.tag_type,
            is_implied=edge.is_implied,
        )

    return [edge_plan(edge) for edge in graph.edges]


SHIP_STRATEGIES: Final = {
    Partitioning.FORWARD: "FORWARD",
    Partitioning.REBALANCE: "REBALANCE",
    Partitioning.RESCALE: "RESCALE",
    Partitioning.SHUFFLE: "SHUFFLE",
    Partitioning.CUSTOM: "CUSTOM",
    Partitioning.KEY_GROUP: "HASH",
    Partitioning.BROADCAST: "BROADCAST",
}
"""Flink's names of partitionings."""


def execution_plan(graph: LogicalGraph, defaults: GraphDefaults) -> str:
    """Return the graph as JSON, as Flink's execution plan: one entry for each operator. Raises as `validate` does."""
    validate(graph, defaults)
    resolved = resolve(graph, defaults)
    return json.dumps({"nodes": [_node(node, resolved) for node in resolved.nodes]}, indent=2)


def _node(node_id: int, graph: ResolvedGraph) -> dict[str, object]:
    node = graph.nodes[node_id]
    predecessors = [_predecessor(edge) for edge in graph.edges if edge.target == node_id]
    described = {
        "id": node.id,
        "type": node.name,
        "pact": "Data Source" if not predecessors else "Data Sink" if node.is_sink else "Operator",
        "contents": node.name if node.description is None else node.description,
        "parallelism": node.parallelism,
        "max_parallelism": node.max_parallelism,
        "uid": node.uid,
        "operator": type(node.operator).__name__,
    }
    return described | {"predecessors": predecessors} if predecessors else described


def _predecessor(edge: ResolvedEdge) -> dict[str, object]:
    predecessor = {
        "id": edge.source,
        "ship_strategy": SHIP_STRATEGIES[edge.partitioning],
        "side": ("first", "second")[edge.input_index],
    }
    return predecessor if edge.tag is None else predecessor | {"output_tag": edge.tag}
