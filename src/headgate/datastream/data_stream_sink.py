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
    """The end of a stream. Each method changes a setting of the sink and returns the sink.

    The methods raise ProgramError for an invalid value.
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
        """Set the id under which the sink's state is stored; no other operator of the job may have it."""
        check_text("the uid of a sink", uid)
        self._node.uid = uid
        return self

    def set_uid_hash(self, uid_hash: str) -> DataStreamSink:
        """Set an id under which an older snapshot may contain the sink's state; see `DataStream.set_uid_hash`."""
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
        """Raise ProgramError: a sink cannot skip a single record."""
        raise ProgramError(
            f"on_error() cannot be called on sink {self._node.name!r}, which writes records in batches and does not "
            "know which record failed: encode records with map(...) before the sink, and call on_error() on that stream"
        )

    def set_description(self, description: str) -> DataStreamSink:
        """Set a longer text about the sink, for the execution plan."""
        self._node.description = description
        return self
