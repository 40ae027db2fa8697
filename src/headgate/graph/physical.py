"""The physical graph: the plan of a job as subtasks and channels, which deployments and slots work from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

from headgate.config import Settings
from headgate.graph.chain import ChainedGraph, Vertex, chain
from headgate.graph.logical import AnyKeySelector, GraphDefaults, LogicalGraph, OperatorFactory, Partitioning
from headgate.graph.resolve import ResolvedEdge, resolve
from headgate.graph.validate import validate
from headgate.ids import ChannelId, JobId, SlotIndex, SubtaskId
from headgate.options import JOB_PARAMETERS


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorPlan:
    """One operator of a vertex. `uid` is what its state is stored under; snapshots may have it under `uid_hash`."""

    uid: str
    name: str
    factory: OperatorFactory
    uid_hash: str | None = None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class VertexPlan:
    """A chain of operators, head first, that runs as `parallelism` subtasks. `id` is its index in the plan."""

    id: int
    name: str
    operators: tuple[OperatorPlan, ...]
    parallelism: int
    max_parallelism: int
    buffer_timeout_ms: int


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class EdgePlan:
    """An edge between two vertices. `key_selector` is there exactly for KEY_GROUP, as the user gave it.

    It ends at input `input_index` of the target's head, and begins at the side output `tag` of the source's tail, or
    at its main output (None).
    """

    source_vertex: int
    target_vertex: int
    partitioning: Partitioning
    key_selector: AnyKeySelector | None
    input_index: int
    tag: str | None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelPlan:
    """One channel of an edge, from one subtask to another. `edge` is an index into the plan's edges."""

    id: ChannelId
    edge: int
    source: SubtaskId
    target: SubtaskId


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class JobPlan:
    """All that is needed to run a job, but for the state it starts from. Pickled, it goes to every slot."""

    job_id: JobId
    job_name: str
    vertices: tuple[VertexPlan, ...]
    edges: tuple[EdgePlan, ...]
    channels: tuple[ChannelPlan, ...]
    slots: int
    settings: Settings
    checkpointing: bool
    parameters: dict[str, str] = field(default_factory=dict)
    """Global job parameters, for `RuntimeContext.get_job_parameter`."""

    def subtasks(self) -> list[SubtaskId]:
        """Return all subtasks, by vertex, then by index."""
        return [SubtaskId(vertex.id, index) for vertex in self.vertices for index in range(vertex.parallelism)]

    def slot_of(self, subtask: SubtaskId) -> SlotIndex:
        """Return the slot that hosts the subtask."""
        return SlotIndex(subtask.index % self.slots)

    def subtasks_of(self, slot: SlotIndex) -> list[SubtaskId]:
        """Return the subtasks that the slot hosts, by vertex."""
        return [subtask for subtask in self.subtasks() if self.slot_of(subtask) == slot]

    def vertex_of(self, subtask: SubtaskId) -> VertexPlan:
        """Return the vertex that the subtask is an instance of."""
        return self.vertices[subtask.vertex]

    def inputs_of(self, subtask: SubtaskId) -> list[ChannelPlan]:
        """Return the channels that end at the subtask, by edge, then by the index of their source."""
        return [channel for channel in self.channels if channel.target == subtask]

    def outputs_of(self, subtask: SubtaskId) -> dict[int, list[ChannelPlan]]:
        """Return the channels that begin at the subtask: by edge index, in the order of their targets."""
        outputs: dict[int, list[ChannelPlan]] = {}
        for channel in self.channels:
            if channel.source == subtask:
                outputs.setdefault(channel.edge, []).append(channel)
        return outputs


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class JobOptions:
    """What a plan needs besides the graph."""

    job_id: JobId
    job_name: str
    defaults: GraphDefaults
    settings: Settings
    checkpointing: bool


def plan(graph: LogicalGraph, options: JobOptions) -> JobPlan:
    """Check the graph and return the plan of the job. Raises ProgramError, see `validate`."""
    validate(graph, options.defaults)
    chained = chain(resolve(graph, options.defaults))
    vertices = tuple(_vertex_plan(index, vertex) for index, vertex in enumerate(chained.vertices))
    edges = tuple(_edge_plans(chained))
    return JobPlan(
        job_id=options.job_id,
        job_name=options.job_name,
        vertices=vertices,
        edges=edges,
        channels=tuple(_channels(vertices, edges)),
        slots=max(vertex.parallelism for vertex in vertices),
        settings=options.settings,
        checkpointing=options.checkpointing,
        parameters=options.settings.get(JOB_PARAMETERS),
    )


def _vertex_plan(index: int, vertex: Vertex) -> VertexPlan:
    return VertexPlan(
        id=index,
        name=vertex.name,
        operators=tuple(
            OperatorPlan(uid=node.uid, name=node.name, factory=node.operator, uid_hash=node.uid_hash)
            for node in vertex.nodes
        ),
        parallelism=vertex.head.parallelism,
        max_parallelism=vertex.head.max_parallelism,
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
        )

    return [edge_plan(edge) for edge in graph.edges]


def _channels(vertices: tuple[VertexPlan, ...], edges: tuple[EdgePlan, ...]) -> list[ChannelPlan]:
    pairs = [
        (index, SubtaskId(edge.source_vertex, source), SubtaskId(edge.target_vertex, target))
        for index, edge in enumerate(edges)
        for source in range(vertices[edge.source_vertex].parallelism)
        for target in _targets(edge, source, vertices[edge.target_vertex].parallelism)
    ]
    return [
        ChannelPlan(id=ChannelId(number), edge=index, source=source, target=target)
        for number, (index, source, target) in enumerate(pairs)
    ]


def _targets(edge: EdgePlan, source: int, parallelism: int) -> range:
    if edge.partitioning is Partitioning.FORWARD:
        return range(source, source + 1)
    return range(parallelism)
