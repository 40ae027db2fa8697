"""Validation: it finds the errors of a program that can be found before the job runs.

An operator without a reader of its output runs, as in Flink, and its output is dropped. Since the cause may be a
forgotten sink, validation warns.
"""

from __future__ import annotations

import warnings
from collections import Counter

from headgate.errors import IgnoredWarning, InternalError, ProgramError
from headgate.graph.closure import serialise
from headgate.graph.logical import Edge, GraphDefaults, LogicalGraph, Node, Partitioning
from headgate.graph.resolve import generate_uids, max_parallelism_of, parallelism_of
from headgate.state.keygroups import check_parallelism


def validate(graph: LogicalGraph, defaults: GraphDefaults) -> None:
    """Raise ProgramError for the first error found; its subclass SerializationError if a function cannot be pickled."""
    _check_not_empty(graph)
    uids = generate_uids(graph)
    for node in graph.nodes:
        _check_parallelism(node, uids[node.id], defaults)
        _check_buffer_timeout(node)
    _check_forward(graph, defaults)
    _check_inputs(graph)
    _check_sinks(graph)
    _check_failed_records(graph)
    _check_uids(graph)
    _check_uid_hashes(graph, uids)
    for node in graph.nodes:
        serialise(node.operator, node.name)
    for edge in graph.edges:
        _check_key_selector(edge, graph)


def _check_not_empty(graph: LogicalGraph) -> None:
    if not graph.nodes:
        raise ProgramError(
            "the program has no streams to run: make one, for instance with env.from_collection(...), and give it a "
            "sink such as print() before calling execute()"
        )


def _check_parallelism(node: Node, generated_uid: str, defaults: GraphDefaults) -> None:
    parallelism, max_parallelism = parallelism_of(node, defaults), max_parallelism_of(node, generated_uid, defaults)
    if max_parallelism < parallelism and max_parallelism in defaults.stored_max_parallelism.values():
        raise ProgramError(
            f"operator {node.name!r} is to have {parallelism} subtasks, but the state that it starts from was written "
            f"with max parallelism {max_parallelism}, which is fixed for its life: give it {max_parallelism} at most"
        )
    check_parallelism(f"operator {node.name!r}", parallelism, max_parallelism)
    if node.parallelism_max is not None and parallelism > node.parallelism_max:
        raise ProgramError(
            f"operator {node.name!r} can have {node.parallelism_max} subtask(s) at most, but its parallelism is set to "
            f"{parallelism}: leave set_parallelism out, and use rebalance() for more subtasks after it"
        )


def _check_buffer_timeout(node: Node) -> None:
    if node.buffer_timeout_ms is not None and node.buffer_timeout_ms < 0:
        raise ProgramError(
            f"operator {node.name!r} has the buffer timeout {node.buffer_timeout_ms} ms; it must be 0 (at once) or more"
        )


def _check_forward(graph: LogicalGraph, defaults: GraphDefaults) -> None:
    nodes = {node.id: node for node in graph.nodes}
    for edge in graph.edges:
        source, target = nodes[edge.source], nodes[edge.target]
        from_parallelism, to_parallelism = parallelism_of(source, defaults), parallelism_of(target, defaults)
        if edge.partitioning is Partitioning.FORWARD and from_parallelism != to_parallelism:
            raise ProgramError(
                f"forward() from operator {source.name!r} (parallelism {from_parallelism}) to {target.name!r} "
                f"(parallelism {to_parallelism}) needs the same parallelism on both sides: use rebalance(), or "
                "set_parallelism on one of them"
            )


def _check_inputs(graph: LogicalGraph) -> None:
    for node in graph.nodes:
        indexes = {edge.input_index for edge in graph.inputs_of(node.id)}
        if indexes not in (set(), {0}, {0, 1}):
            raise InternalError(f"operator {node.name!r} has the inputs {sorted(indexes)}, not 0, or 0 and 1")


def _check_sinks(graph: LogicalGraph) -> None:
    sources = {edge.source for edge in graph.edges}
    dangling = [node.name for node in graph.nodes if node.id not in sources and not node.is_sink]
    if dangling:
        warnings.warn(
            f"the output of operator {', '.join(map(repr, dangling))} goes nowhere, and is dropped: to keep it, end "
            "its stream with print(), sink_to(...), add_sink(...) or execute_and_collect()",
            IgnoredWarning,
            stacklevel=2,
        )


def _check_failed_records(graph: LogicalGraph) -> None:
    for node in graph.nodes:
        read = {edge.tag for edge in graph.outputs_of(node.id)}
        if node.failed_tag is not None and node.failed_tag not in read:
            raise ProgramError(
                f"what operator {node.name!r} fails for would be lost: nothing reads its side output. Give "
                f"get_side_output(OutputTag({node.failed_tag!r})) of its stream a sink, or drop it with "
                "on_error(RecordErrors.skip()), for files FileErrors.skip()"
            )


def _check_uids(graph: LogicalGraph) -> None:
    generated = generate_uids(graph)
    uids = {node.id: generated[node.id] if node.uid is None else node.uid for node in graph.nodes}
    for uid, count in Counter(uids.values()).items():
        if not uid:
            names = ", ".join(repr(node.name) for node in graph.nodes if node.uid == "")
            raise ProgramError(f"the uid of operator {names} is empty: give it a name that stays, or leave uid() out")
        if count > 1:
            names = " and ".join(repr(node.name) for node in graph.nodes if uids[node.id] == uid)
            raise ProgramError(
                f"the uid {uid!r} is given to {count} operators, {names}: state is stored by uid, so each needs its own"
            )


def _check_uid_hashes(graph: LogicalGraph, generated: dict[int, str]) -> None:
    users: dict[str, str] = {generated[node.id] if node.uid is None else node.uid: node.name for node in graph.nodes}
    for node in graph.nodes:
        own = generated[node.id] if node.uid is None else node.uid
        if node.uid_hash is None or node.uid_hash == own:
            continue
        if node.uid_hash in users:
            raise ProgramError(
                f"the uid hash {node.uid_hash} of operator {node.name!r} belongs to operator {users[node.uid_hash]!r} "
                "as well: state of a snapshot goes to one operator"
            )
        users[node.uid_hash] = node.name


def _check_key_selector(edge: Edge, graph: LogicalGraph) -> None:
    if edge.key_selector is not None:
        target = next(node.name for node in graph.nodes if node.id == edge.target)
        serialise(edge.key_selector, f"key_by before {target}")
