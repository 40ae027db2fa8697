"""The end of a stream: a sink of the program, with PyFlink's name."""

from __future__ import annotations

from typing import NoReturn, final

from headgate import unsupported
from headgate.datastream.checks import check_positive, check_text, check_uid_hash
from headgate.datastream.slot_sharing_group import SlotSharingGroup
from headgate.errors import ProgramError
from headgate.graph.logical import ChainPolicy, Node


@final
class DataStreamSink:
    """The end of a stream. Its methods set something of the sink and return it.

    They raise ProgramError for an invalid value.
    """

    def __init__(self, node: Node) -> None:
        """Made by a stream, for instance by `sink_to`."""
        self._node = node

    def name(self, name: str) -> DataStreamSink:
        """Set the name of the sink, for logs and messages."""
        check_text("the name of a sink", name)
        self._node.name = name
        return self

    def uid(self, uid: str) -> DataStreamSink:
        """Set the id that the sink's state is stored under; it must be the only one of this id in the job."""
        check_text("the uid of a sink", uid)
        self._node.uid = uid
        return self

    def set_uid_hash(self, uid_hash: str) -> DataStreamSink:
        """Set another id that a snapshot may have the sink's state under; see `DataStream.set_uid_hash`."""
        check_uid_hash(uid_hash)
        self._node.uid_hash = uid_hash.lower()
        return self

    def set_parallelism(self, parallelism: int) -> DataStreamSink:
        """Set the number of subtasks of the sink."""
        check_positive("the parallelism", parallelism)
        self._node.parallelism = parallelism
        return self

    def disable_chaining(self) -> DataStreamSink:
        """Do not chain the sink to the operator before it."""
        self._node.chain = ChainPolicy.NEVER
        return self

    def slot_sharing_group(self, slot_sharing_group: str | SlotSharingGroup) -> DataStreamSink:
        """Change nothing, with a warning: each slot runs a subtask of every operator."""
        unsupported.ignored(f"slot_sharing_group({slot_sharing_group!r})", "each slot runs a subtask of every operator")
        return self

    def on_error(self, errors: object) -> NoReturn:
        """Raise ProgramError: a sink cannot leave out a record."""
        raise ProgramError(
            f"on_error() cannot be called on sink {self._node.name!r}, which writes records in batches and does not "
            "know which of them it failed for: encode them with map(...) before it, and call on_error() on that stream"
        )

    def set_description(self, description: str) -> DataStreamSink:
        """Set a longer text about the sink, for the execution plan."""
        self._node.description = description
        return self
