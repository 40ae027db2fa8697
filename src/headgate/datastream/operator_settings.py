"""The settings of the operator that emits a stream: its name, its uid, its parallelism and so on."""

from __future__ import annotations

from dataclasses import replace
from typing import Self

from headgate import unsupported
from headgate.datastream.checks import check_positive, check_record_errors, check_text, check_timeout, check_uid_hash
from headgate.datastream.program import Upstream
from headgate.datastream.slot_sharing_group import SlotSharingGroup
from headgate.errors import ProgramError
from headgate.functions.record_errors import RecordErrors
from headgate.graph.logical import ChainPolicy, Node


class OperatorSettings:
    """The methods of a stream that change a setting of its operator and return the stream itself.

    The methods raise ProgramError for an invalid value, and on a stream that is not the main output of one operator.
    """

    _inputs: tuple[Upstream, ...]

    def get_name(self) -> str:
        """Return the name of the operator."""
        return self._operator("get_name").name

    def name(self, name: str) -> Self:
        """Set the name of the operator, for logs and messages."""
        check_text("the name of an operator", name)
        self._operator("name").name = name
        return self

    def uid(self, uid: str) -> Self:
        """Set the id under which the operator's state is stored; no other operator of the job may have it."""
        check_text("the uid of an operator", uid)
        self._operator("uid").uid = uid
        return self

    def set_uid_hash(self, uid_hash: str) -> Self:
        """Set the generated id under which an older snapshot may contain the operator's state.

        Headgate generates an id of 32 hexadecimal digits for each operator without a `uid`. `headgate state` shows the
        ids in a snapshot. New snapshots store the state under the operator's own uid.
        """
        check_uid_hash(uid_hash)
        self._operator("set_uid_hash").uid_hash = uid_hash.lower()
        return self

    def set_parallelism(self, parallelism: int) -> Self:
        """Set the number of subtasks of the operator."""
        check_positive("the parallelism", parallelism)
        self._operator("set_parallelism").parallelism = parallelism
        return self

    def set_max_parallelism(self, max_parallelism: int) -> Self:
        """Set the number of key groups of the operator, which limits its parallelism for the life of its state."""
        check_positive("the max parallelism", max_parallelism)
        self._operator("set_max_parallelism").max_parallelism = max_parallelism
        return self

    def force_non_parallel(self) -> Self:
        """Set the parallelism of the operator to 1; no other parallelism is accepted."""
        node = self._operator("force_non_parallel")
        node.parallelism = node.max_parallelism = node.parallelism_max = 1
        return self

    def set_buffer_timeout(self, timeout_millis: int) -> Self:
        """Set how long, in milliseconds, a record that the operator emits may wait for its batch to fill; 0: never."""
        check_timeout(timeout_millis)
        self._operator("set_buffer_timeout").buffer_timeout_ms = timeout_millis
        return self

    def start_new_chain(self) -> Self:
        """Do not chain the operator to the operator before it."""
        self._operator("start_new_chain").chain = ChainPolicy.HEAD
        return self

    def disable_chaining(self) -> Self:
        """Do not chain the operator to the operators before and after it."""
        self._operator("disable_chaining").chain = ChainPolicy.NEVER
        return self

    def on_error(self, errors: RecordErrors) -> Self:
        """Set what happens to a record for which the operator's function raises an exception; by default the job fails.

        Raises ProgramError for an operator that cannot skip records, such as a source or one that assigns timestamps.

        >>> from headgate.common import Configuration
        >>> from headgate.datastream import StreamExecutionEnvironment
        >>> in_this_process = Configuration().set_string("headgate.deploy.target", "minicluster")
        >>> env = StreamExecutionEnvironment.get_execution_environment(in_this_process)
        >>> numbers = env.from_collection(["1", "x", "3"]).map(int).on_error(RecordErrors.skip(ValueError))
        >>> with numbers.execute_and_collect() as records:
        ...     print(*records)
        1 3
        """
        node = self._operator("on_error")
        factory = check_record_errors(errors, node)
        # The factory keeps its class: the generated uid depends on it.
        node.operator = replace(factory, errors=errors if errors.kinds else None)
        node.failed_tag = None if errors.tag is None else errors.tag.tag_id
        return self

    def set_description(self, description: str) -> Self:
        """Set a longer text about the operator, for the execution plan."""
        self._operator("set_description").description = description
        return self

    def slot_sharing_group(self, slot_sharing_group: str | SlotSharingGroup) -> Self:
        """Change nothing, with a warning: each slot runs a subtask of every operator."""
        unsupported.ignored(f"slot_sharing_group({slot_sharing_group!r})", "each slot runs a subtask of every operator")
        return self

    def _operator(self, method: str) -> Node:
        return self._only_input(method).node

    def _only_input(self, method: str) -> Upstream:
        only = self._inputs[0]
        if len(self._inputs) != 1 or only.partitioning is not None or only.tag is not None:
            raise ProgramError(
                f"{method}() is about an operator, but this stream is a union or the result of key_by(), rebalance(), "
                f"broadcast(), forward() or get_side_output(): call {method}() on the stream before or after it"
            )
        return only
