"""The program under construction: the operators that the streams of one environment have added so far."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import final

from headgate.errors import ProgramError
from headgate.graph.logical import AnyKeySelector, AnyOperatorFactory, Edge, LogicalGraph, Node, Partitioning
from headgate.operators.source import SourceFactory
from headgate.types.type_information import TypeInformation


@final
@dataclass(frozen=True, slots=True)
class Upstream:
    """An operator that emits records, and how its records are partitioned for the next operator.

    `tag` is the id of the side output that emits the records, `tag_type` its type; None means the main output.
    """

    node: Node
    partitioning: Partitioning | None = None
    key_selector: AnyKeySelector | None = None
    tag: str | None = None
    tag_type: TypeInformation | None = None


@final
class Program:
    """Collects operators. Not for use by several threads at a time."""

    def __init__(self) -> None:
        self._graph = LogicalGraph()
        self._new: list[int] = []

    def add(
        self,
        name: str,
        operator: AnyOperatorFactory,
        inputs: Iterable[Upstream] = (),
        second_inputs: Iterable[Upstream] = (),
    ) -> Node:
        """Add an operator and return it. `inputs` together form its first input, `second_inputs` its second, if any."""
        node = Node(id=len(self._graph.nodes) + 1, name=name, operator=operator)
        self._graph.nodes.append(node)
        self._graph.edges += [
            Edge(
                source=upstream.node.id,
                target=node.id,
                partitioning=upstream.partitioning,
                key_selector=upstream.key_selector,
                input_index=index,
                tag=upstream.tag,
                tag_type=upstream.tag_type,
            )
            for index, upstreams in enumerate((inputs, second_inputs))
            for upstream in upstreams
        ]
        self._new.append(node.id)
        return node

    def graph(self) -> LogicalGraph:
        """Return the graph of the next job: the operators added since the last job, and all operators upstream."""
        return self._graph.upstream_of(self._new)

    def attempted(self, add: Callable[[], object]) -> tuple[LogicalGraph, int]:
        """Return the graph of the next job if `add` adds its operators, and the id of the first of these.

        The program stays as it is.
        """
        nodes, edges, new = len(self._graph.nodes), len(self._graph.edges), len(self._new)
        try:
            add()
            return self.graph(), nodes + 1
        finally:
            del self._graph.nodes[nodes:], self._graph.edges[edges:], self._new[new:]

    def check_bounded(self, method: str) -> None:
        """Raise ProgramError if a source of the next job is unbounded; the error names the source and `method`."""
        for node in self.graph().nodes:
            if isinstance(node.operator, SourceFactory) and not node.operator.source.bounded:
                raise ProgramError(f"{method} needs streams that end, but source {node.name!r} never does")

    def take(self) -> LogicalGraph:
        """Return `graph()`, and begin the next job without operators."""
        graph = self.graph()
        self._new = []
        return graph


def acknowledges(graph: LogicalGraph) -> bool:
    """Return whether a source of the program acknowledges records, which requires checkpoints."""
    sources = [node.operator.source for node in graph.nodes if isinstance(node.operator, SourceFactory)]
    return any(source.acknowledger() is not None for source in sources)
