"""The job graph of a plan as text: vertices, exchanges, uids, and where rows replace columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from headgate.graph.chain import ChainedGraph, Vertex
from headgate.graph.job_graph import SHIP_STRATEGIES
from headgate.graph.resolve import ResolvedNode
from headgate.operators.async_calls import AsyncFactory
from headgate.operators.columns.aggregation import MergedFactory, PartialFactory
from headgate.operators.columns.async_calls import CallRecordsFactory
from headgate.operators.columns.distinct import FirstRowsFactory, ValuesFactory
from headgate.operators.columns.joins import JoinFactory
from headgate.operators.columns.keyed_rows import KeyedRowsFactory
from headgate.operators.columns.over import OverFactory, OverInput, OverOutput
from headgate.operators.columns.rows import RowsFactory
from headgate.operators.sink import SinkFactory
from headgate.operators.source import SourceFactory
from headgate.operators.watermarks import AssignFactory

_COLUMNS_OF: Final = "headgate.operators.columns."
_KEYED: Final = "rows: keyed state is kept for each row"
FORMS: Final[dict[type, str]] = {
    SourceFactory: "columns",
    AssignFactory: "columns",
    SinkFactory: "columns if the sink takes them",
    PartialFactory: "columns, then rows: partial results of each batch, which keyed state merges",
    MergedFactory: "rows, then columns",
    FirstRowsFactory: "columns, then rows: the first rows of each batch, which keyed state compares",
    ValuesFactory: "rows, then columns",
    OverInput: "columns, then rows: keyed state keeps rows with their partial results",
    OverFactory: _KEYED,
    OverOutput: "rows, then columns",
    KeyedRowsFactory: "columns, then rows: keyed state keeps the rows of both sides",
    JoinFactory: "rows, then columns: pairs of rows in keyed state, on which conditions are computed",
    CallRecordsFactory: "columns, then rows: the state has the rows whose calls have not ended",
    AsyncFactory: "rows: each has a call of its own",
    RowsFactory: "columns, then rows: the stream is for functions of the DataStream API",
}
"""How operators work that are not columnar from input to output."""


def text_of_job(graph: ChainedGraph, first: int, uids: set[str]) -> str:
    """Return a line for each vertex, and one for each of its operators.

    Nodes before `first` are operators of the DataStream API. `uids` are the uids that the planner has given.
    """
    return "\n".join(line for place in range(len(graph.vertices)) for line in _lines(graph, place, first, uids))


def _lines(graph: ChainedGraph, place: int, first: int, uids: set[str]) -> Iterator[str]:
    vertex = graph.vertices[place]
    numbers = {node.id: number for number, own in enumerate(graph.vertices, 1) for node in own.nodes}
    inputs = [
        f"{SHIP_STRATEGIES[edge.partitioning]} from {numbers[edge.source]}"
        for edge in graph.edges
        if edge.target == vertex.nodes[0].id
    ]
    yield ", ".join([f"{place + 1}: {_name(vertex)}", f"parallelism {vertex.nodes[0].parallelism}", *inputs])
    for node in vertex.nodes:
        uid = f", uid {node.uid}" if node.uid in uids else ""
        yield f"   {node.name}{uid}: {_form(node, first)}"


def _name(vertex: Vertex) -> str:
    return " -> ".join(node.name for node in vertex.nodes)


def _form(node: ResolvedNode, first: int) -> str:
    if node.id < first:
        return "rows: an operator of the DataStream API"
    kind = type(node.operator)
    columnar = "columns" if kind.__module__.startswith(_COLUMNS_OF) else _KEYED
    return FORMS.get(kind, columnar)
