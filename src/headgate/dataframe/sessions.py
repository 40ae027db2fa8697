"""Sessions: windows of a key that end when no row has followed for a while."""

from __future__ import annotations

from typing import Generic, TypeVar, final

from headgate.columns.nodes import Node
from headgate.dataframe.frame import Columns, Frame, node_of_column
from headgate.dataframe.grouping import GroupedDataFrame
from headgate.errors import InvalidExpressionError

F = TypeVar("F", bound=Frame)


@final
class SessionOf(Generic[F]):
    """A DataFrame whose rows are in sessions, made by `session`. Its only method is `group_by`."""

    def __init__(self, frame: F, keys: tuple[Node, ...], gap_ms: int) -> None:
        """Made by `session`."""
        self._frame = frame
        self._keys = keys
        self._gap_ms = gap_ms

    def group_by(self, *columns: Columns) -> GroupedDataFrame[F]:
        """Return the groups of rows with equal keys in one session.

        Raises ValueError unless the keys of the sessions, and no others, are among the columns.
        """
        nodes = [node_of_column(column, "group_by") for column in columns]
        bounds = ("window_start", "window_end", "window_time")
        own = [node for node in nodes if getattr(node, "name", None) not in bounds]
        if set(own) != set(self._keys):
            raise InvalidExpressionError(
                "group_by() after session() takes window_start, window_end and the keys of partition_by, and no others"
            )
        return GroupedDataFrame(self._frame, nodes, self._gap_ms)
