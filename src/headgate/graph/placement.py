"""Placement: the parallel instances of a job in one attempt, and the channels between them. Pure.

A job graph says what runs; a placement says with which parallelism, and in which slots. It holds one number for each
vertex and one address for each slot. The channels are derived from these. P subtasks that shuffle to P subtasks have P
times P channels, so no list of all channels is ever made: a subtask computes the 2 P channels that begin or end at it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Final, final

from headgate.errors import ProgramError
from headgate.graph.job_graph import EdgePlan, JobGraph, VertexPlan
from headgate.graph.logical import Partitioning
from headgate.ids import Attempt, ChannelId, SlotIndex, SubtaskId

_ANY: Final = Attempt(0)

Addresses = Mapping[SlotIndex, tuple[str, int]]
"""Host and port at which each slot listens for the others."""

PlacementPolicy = Callable[[JobGraph, Attempt], "Placement"]
"""Returns the placement of an attempt. Pure: two calls with the same attempt return the same placement."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Where the subtasks of one attempt run. `parallelism` has the number of subtasks of each vertex, by its id.

    The number of slots is the highest parallelism of a vertex. Subtasks with the same index share a slot. `addresses`
    is empty until all slots have registered. With `typed_batches`, slots send each other batches in their typed form.
    """

    parallelism: tuple[int, ...]
    addresses: Addresses = field(default_factory=dict)
    typed_batches: bool = False

    @property
    def slots(self) -> int:
        """The number of slots."""
        return max(self.parallelism)

    def subtasks(self) -> list[SubtaskId]:
        """Return all subtasks, by vertex, then by index."""
        return [subtask for vertex in range(len(self.parallelism)) for subtask in self.instances_of(vertex)]

    def instances_of(self, vertex: int) -> list[SubtaskId]:
        """Return the subtasks of a vertex, by index."""
        return [SubtaskId(vertex, index) for index in range(self.parallelism[vertex])]

    def slot_of(self, subtask: SubtaskId) -> SlotIndex:
        """Return the slot that hosts the subtask."""
        return SlotIndex(subtask.index)

    def subtasks_of(self, slot: SlotIndex) -> list[SubtaskId]:
        """Return the subtasks that the slot hosts, by vertex."""
        return [SubtaskId(vertex, slot) for vertex, count in enumerate(self.parallelism) if slot < count]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelPlan:
    """One channel of an edge, from one subtask to another. `edge` is an index into the edges of the graph."""

    id: ChannelId
    edge: int
    source: SubtaskId
    target: SubtaskId


@final
class Channels:
    """The channels of one attempt, computed for one subtask at a time. `edges` are the result of `edges_of`.

    Channels are numbered by edge, then by the index of the source, then by the index of the target.
    """

    def __init__(self, edges: Sequence[EdgePlan], placement: Placement) -> None:
        self._edges = edges
        self._parallelism = placement.parallelism
        self._first = list(accumulate(map(self._count, edges), initial=0))

    def into(self, subtask: SubtaskId) -> list[ChannelPlan]:
        """Return the channels that end at the subtask, ordered by edge, then by the index of the source."""
        return [
            self._channel(number, source, subtask.index)
            for number, edge in enumerate(self._edges)
            if edge.target_vertex == subtask.vertex
            for source in self._partners(edge, edge.source_vertex, subtask.index)
        ]

    def out_of(self, subtask: SubtaskId) -> dict[int, list[ChannelPlan]]:
        """Return the channels that begin at the subtask, by the index of their edge, in the order of their targets."""
        return {
            number: [
                self._channel(number, subtask.index, target)
                for target in self._partners(edge, edge.target_vertex, subtask.index)
            ]
            for number, edge in enumerate(self._edges)
            if edge.source_vertex == subtask.vertex
        }

    def _partners(self, edge: EdgePlan, vertex: int, index: int) -> range:
        """Return the subtasks of `vertex` to which the subtask `index`, at the other end of the edge, has channels."""
        is_one = edge.partitioning is Partitioning.FORWARD
        return range(index, index + 1) if is_one else range(self._parallelism[vertex])

    def _count(self, edge: EdgePlan) -> int:
        return self._parallelism[edge.source_vertex] * self._width(edge)

    def _width(self, edge: EdgePlan) -> int:
        """Return the number of channels that begin at each subtask of the source."""
        return 1 if edge.partitioning is Partitioning.FORWARD else self._parallelism[edge.target_vertex]

    def _channel(self, number: int, source: int, target: int) -> ChannelPlan:
        edge = self._edges[number]
        place = source if edge.partitioning is Partitioning.FORWARD else source * self._width(edge) + target
        return ChannelPlan(
            id=ChannelId(self._first[number] + place),
            edge=number,
            source=SubtaskId(edge.source_vertex, source),
            target=SubtaskId(edge.target_vertex, target),
        )


def edges_of(graph: JobGraph, placement: Placement) -> tuple[EdgePlan, ...]:
    """Return the edges for a placement. Its parallelism decides partitionings that the program does not set."""

    def placed(edge: EdgePlan) -> EdgePlan:
        same = placement.parallelism[edge.source_vertex] == placement.parallelism[edge.target_vertex]
        implied = Partitioning.FORWARD if same else Partitioning.REBALANCE
        return replace(edge, partitioning=implied) if edge.is_implied else edge

    return tuple(map(placed, graph.edges))


def as_programmed(graph: JobGraph, _attempt: Attempt = _ANY) -> Placement:
    """Return the placement with the program's parallelism of each vertex, the same for every attempt."""
    return Placement(parallelism=tuple(vertex.parallelism for vertex in graph.vertices))


def place(graph: JobGraph, parallelism: Sequence[int]) -> Placement:
    """Return the placement with the given parallelism of each vertex, by its id.

    Raises ProgramError if a vertex cannot have that parallelism, or if forward() connects two vertices with different
    parallelism.
    """
    for vertex, count in zip(graph.vertices, parallelism, strict=True):
        if not 1 <= count <= vertex.parallelism_max:
            raise ProgramError(
                f"{vertex.name!r} is to have {count} subtask(s), but can have 1 to {vertex.parallelism_max}"
            )
    for edge in graph.edges:
        _check_tied(graph.vertices[edge.source_vertex], graph.vertices[edge.target_vertex], edge, parallelism)
    return Placement(parallelism=tuple(parallelism))


def fitted(placement: Placement, slots: int | None) -> Placement:
    """Return the placement with at most `slots` subtasks of each vertex. None: no limit.

    >>> fitted(Placement(parallelism=(1, 3)), 2).parallelism
    (1, 2)
    """
    if slots is None or placement.slots <= slots:
        return placement
    return replace(placement, parallelism=tuple(min(count, slots) for count in placement.parallelism))


def _check_tied(source: VertexPlan, target: VertexPlan, edge: EdgePlan, parallelism: Sequence[int]) -> None:
    one, other = parallelism[source.id], parallelism[target.id]
    if edge.partitioning is Partitioning.FORWARD and not edge.is_implied and one != other:
        raise ProgramError(
            f"{source.name!r} is to have {one} subtask(s) and {target.name!r} {other}, but forward() ties them: give "
            "both the same parallelism, or use rebalance() between them"
        )
