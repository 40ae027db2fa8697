"""Checks of the arguments that a program passes to a stream's methods. Errors say what to pass instead."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Collection
from types import ModuleType
from typing import Protocol

from headgate.datastream.execution_mode import RuntimeExecutionMode
from headgate.errors import ProgramError
from headgate.functions.api import (
    AggregateFunction,
    FilterFunction,
    FlatMapFunction,
    Function,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    Partitioner,
    ProcessFunction,
    ReduceFunction,
    SinkFunction,
)
from headgate.functions.asynchronous import AsyncFunction, AsyncRetryStrategy
from headgate.functions.broadcast import BroadcastProcessFunction, KeyedBroadcastProcessFunction
from headgate.functions.checkpointed import CheckpointedFunction, CheckpointListener
from headgate.functions.connected import CoFlatMapFunction, CoMapFunction, CoProcessFunction, KeyedCoProcessFunction
from headgate.functions.joins import CoGroupFunction, JoinFunction, ProcessJoinFunction
from headgate.functions.patterns.functions import PatternProcessFunction
from headgate.functions.record_errors import RecordErrors
from headgate.functions.sink import Sink
from headgate.functions.source import Source
from headgate.functions.watermarks import WatermarkStrategy
from headgate.functions.windows.functions import (
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)
from headgate.graph.logical import Node
from headgate.operators.async_calls import AsyncFactory
from headgate.operators.batch_calls import BatchCallFactory
from headgate.operators.source import SourceFactory
from headgate.operators.user_function import FunctionFactory
from headgate.operators.watermarks import AssignFactory
from headgate.state.descriptors import MapStateDescriptor
from headgate.types.output_tag import OutputTag
from headgate.types.typeinfo import TypeInformation

_METHODS = {
    MapFunction: "map",
    FlatMapFunction: "flat_map",
    FilterFunction: "filter",
    ReduceFunction: "reduce",
    KeySelector: "key_by",
    Partitioner: "partition_custom",
    ProcessFunction: "process",
    KeyedProcessFunction: "process",
    SinkFunction: "add_sink",
    CoMapFunction: "connect(...).map",
    CoFlatMapFunction: "connect(...).flat_map",
    CoProcessFunction: "connect(...).process",
    KeyedCoProcessFunction: "connect(...).process",
    BroadcastProcessFunction: "connect(...).process",
    KeyedBroadcastProcessFunction: "connect(...).process",
    JoinFunction: "join(...).where(...).equal_to(...).window(...).apply",
    CoGroupFunction: "co_group(...).where(...).equal_to(...).window(...).apply",
    ProcessJoinFunction: "process",
    PatternProcessFunction: "CEP.pattern(...).process",
    AggregateFunction: "window(...).aggregate",
    AsyncFunction: "AsyncDataStream.unordered_wait",
    WindowFunction: "window(...).apply",
    ProcessWindowFunction: "window(...).process",
    AllWindowFunction: "window_all(...).apply",
    ProcessAllWindowFunction: "window_all(...).process",
}
"""The method of a stream that takes each class of functions."""

_ADVICE = {
    (KeyedProcessFunction, ProcessFunction): "call key_by(...) before process(...)",
    (ProcessFunction, KeyedProcessFunction): "on a keyed stream, derive it from KeyedProcessFunction",
    (KeyedCoProcessFunction, CoProcessFunction): "call connect(...).key_by(selector1, selector2) before process(...)",
    (KeyedBroadcastProcessFunction, BroadcastProcessFunction): "call key_by(...) before connect(...)",
    (BroadcastProcessFunction, KeyedBroadcastProcessFunction): (
        "with a keyed stream, derive it from KeyedBroadcastProcessFunction"
    ),
    (BroadcastProcessFunction, CoProcessFunction): "pass the other stream's broadcast(descriptor) to connect(...)",
    (KeyedBroadcastProcessFunction, KeyedCoProcessFunction): (
        "pass the other stream's broadcast(descriptor) to connect(...)"
    ),
}
"""Advice by the class of the given function and the class that the method takes."""

_CHECKPOINT_METHODS = {
    "initialize_state": CheckpointedFunction,
    "snapshot_state": CheckpointedFunction,
    "notify_checkpoint_complete": CheckpointListener,
    "notify_checkpoint_aborted": CheckpointListener,
}
"""The methods of functions that take part in checkpoints, and the class from which a function must derive."""


_AWAITED = frozenset({"async_invoke", "process_element", "on_timer"})
"""Methods that may be coroutines: `async_invoke`, and with `enable_async_state()` the others."""
_ASYNC_ADVICE = "make calls of services with AsyncDataStream, or with enable_async_state() on a keyed stream"


class _Stream(Protocol):
    """A stream, which belongs to an environment."""

    def get_execution_environment(self) -> object: ...


def check_function(function: object, kind: type[Function]) -> None:
    """Raise ProgramError unless `function` is a `kind` or a plain callable (a lambda, a function, `str`)."""
    _check_kind(function, kind)
    if inspect.iscoroutinefunction(function):
        raise ProgramError(
            f"{_METHODS[kind]}() was given {function.__name__}(), which is declared with async def and would not be "
            f"awaited: {_ASYNC_ADVICE}"
        )
    if not isinstance(function, Function) and not callable(function):
        raise ProgramError(f"{_METHODS[kind]}() takes {_a(kind)} or a callable such as a lambda, not {function!r}")


def check_process_function(function: object, kind: type[Function]) -> None:
    """Raise ProgramError unless `function` is a `kind`; plain callables are rejected."""
    _check_kind(function, kind)
    if not isinstance(function, Function):
        raise ProgramError(f"{_METHODS[kind]}() takes {_a(kind)}, not {function!r}: make a subclass of it")


def check_retry_strategy(method: str, strategy: object) -> None:
    """Raise ProgramError unless `strategy` is an AsyncRetryStrategy."""
    if not isinstance(strategy, AsyncRetryStrategy):
        raise ProgramError(
            f"{method}() takes an AsyncRetryStrategy, such as AsyncRetryStrategy.fixed_delay(...), not {strategy!r}"
        )


def check_not_async(function: Function) -> None:
    """Raise ProgramError if methods of the function are coroutines, which this operator would not await."""
    for method in (getattr(function, name, None) for name in ("process_element", "on_timer")):
        if inspect.iscoroutinefunction(method) or inspect.isasyncgenfunction(method):
            raise ProgramError(
                f"{method.__name__}() of {type(function).__name__} is declared with async def: call "
                "enable_async_state() on the keyed stream before process()"
            )


def _check_awaited(function: Function, kind: type[Function]) -> None:
    """Raise ProgramError if a method is a coroutine that the operator would not await."""
    for name in dir(kind):
        if not name.startswith("_") and name not in _AWAITED and inspect.iscoroutinefunction(getattr(function, name)):
            advice = "do there what needs no await" if name in ("open", "finish", "close", "timeout") else _ASYNC_ADVICE
            raise ProgramError(
                f"{name}() of {type(function).__name__} is declared with async def, but would not be awaited: {advice}"
            )


def _check_kind(function: object, kind: type[Function]) -> None:
    method = _METHODS[kind]
    if isinstance(function, type) and issubclass(function, Function):
        name = function.__name__
        raise ProgramError(f"{method}() was given the class {name} itself: pass an instance, {name}(...)")
    if isinstance(function, Function) and not isinstance(function, kind):
        raise ProgramError(f"{method}() takes {_a(kind)}, but {_describe(function)}: {_advice(function, kind)}")
    if isinstance(function, Function):
        _check_awaited(function, kind)
        _check_finish(function)
    _check_part_in_checkpoints(function, kind)


def _check_finish(function: Function) -> None:
    """Raise ProgramError if `finish` emits records, or cannot be called without arguments."""
    name = f"finish() of {type(function).__name__}"
    if inspect.isgeneratorfunction(function.finish):
        raise ProgramError(
            f"{name} yields, but nothing can be emitted there: on a keyed stream, yield in on_timer() of an event-time "
            "timer at 2**63 - 1, which is due when bounded input ends; for records in groups call map_batches(...)"
        )
    try:
        inspect.signature(function.finish).bind()
    except ValueError:
        return  # a compiled method may have no signature
    except TypeError as error:
        raise ProgramError(
            f"{name} cannot be called when its input ends, without arguments: {error}. If the method is one of your "
            "own, give it another name"
        ) from error


def _check_part_in_checkpoints(function: object, kind: type[Function]) -> None:
    """Raise ProgramError if the function has methods for checkpoints that would never be called."""
    for name, interface in _CHECKPOINT_METHODS.items():
        if not callable(getattr(function, name, None)):
            continue
        given = f"{_METHODS[kind]}() was given a {type(function).__name__} that has {name}()"
        if kind is KeySelector:
            raise ProgramError(f"{given}, but keys must follow from records alone: key selectors have no state")
        if not isinstance(function, interface):
            raise ProgramError(
                f"{given} but is no {interface.__name__}, so it would never be called: derive the class from "
                f"{interface.__name__} (headgate.datastream.functions), too"
            )


def _describe(function: Function) -> str:
    known = next((_a(kind) for kind in _METHODS if isinstance(function, kind)), None)
    return f"{type(function).__name__} is {known or 'no such function'}"


def _a(kind: type[Function]) -> str:
    """Return the name of a class of functions with its article."""
    return f"{'an' if kind.__name__[0] in 'AEIOU' else 'a'} {kind.__name__}"


def _advice(function: Function, kind: type[Function]) -> str:
    for (given, wanted), advice in _ADVICE.items():
        if isinstance(function, given) and wanted is kind:
            return advice
    other = next((method for known, method in _METHODS.items() if isinstance(function, known)), None)
    if other is None or other == _METHODS[kind]:
        return f"derive it from {kind.__name__}"
    return f"call {other}(...) with it"


def check_other_stream(method: str, stream: _Stream, other: object, kind: type[_Stream]) -> None:
    """Raise ProgramError unless `other` is a stream (a `kind`) of the same environment as `stream`."""
    if not isinstance(other, kind):
        raise ProgramError(f"{method}() takes streams, not {other!r}")
    if other.get_execution_environment() is not stream.get_execution_environment():
        raise ProgramError(f"{method}() takes streams of the same environment; these come from two environments")


def check_broadcast(descriptors: list[MapStateDescriptor]) -> None:
    """Raise ProgramError unless the descriptors can be the broadcast states of one operator."""
    for descriptor in descriptors:
        if not isinstance(descriptor, MapStateDescriptor):
            raise ProgramError(
                f"broadcast() takes a MapStateDescriptor for each state, not {descriptor!r}; without "
                "descriptors, it only sends each record to all subtasks"
            )
        if descriptor.ttl is not None:
            raise ProgramError(
                f"broadcast() was given state {descriptor.name!r} with a time to live, which only keyed state has"
            )
    names = [descriptor.name for descriptor in descriptors]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ProgramError(f"broadcast() was given two states with the name {twice!r}; give one another name")


def check_source(source: object) -> None:
    """Raise ProgramError unless `source` is a Source."""
    if isinstance(source, type):
        raise ProgramError(f"from_source() was given the class {source.__name__} itself: pass an instance of it")
    _check_built("from_source", source)
    if not isinstance(source, Source):
        raise ProgramError(
            f"from_source() takes a Source, such as NumberSequenceSource or FileSource, not {source!r}; for a list "
            "use from_collection(...), for a Spark DataFrame from_spark(...)"
        )


def check_strategy(method: str, strategy: object) -> None:
    """Raise ProgramError unless `strategy` is a WatermarkStrategy."""
    if not isinstance(strategy, WatermarkStrategy):
        raise ProgramError(
            f"{method}() takes a WatermarkStrategy, such as WatermarkStrategy.for_monotonous_timestamps() or "
            f"WatermarkStrategy.no_watermarks(), not {strategy!r}"
        )


def check_tag(method: str, tag: object) -> None:
    """Raise ProgramError unless `tag` is an OutputTag."""
    if not isinstance(tag, OutputTag):
        raise ProgramError(f"{method}() takes an OutputTag, such as OutputTag('late'), not {tag!r}")


def check_record_errors(errors: object, node: Node) -> FunctionFactory:
    """Return the operator's factory.

    Raises ProgramError unless the operator calls a function for each record and `errors` is RecordErrors.
    """
    if not isinstance(errors, RecordErrors):
        raise ProgramError(
            "on_error() takes RecordErrors.skip(), RecordErrors.side_output(tag) or RecordErrors.fail(), not "
            f"{errors!r}"
        )
    if isinstance(node.operator, FunctionFactory):
        return node.operator
    raise ProgramError(f"on_error() cannot be called on {node.name!r}, which is {_why_not_guarded(node)}")


def _why_not_guarded(node: Node) -> str:
    if isinstance(node.operator, SourceFactory):
        return (
            "a source: have it read raw records, such as lines or bytes, parse them with map(...) after it, and call "
            "on_error() on the stream of that map"
        )
    if isinstance(node.operator, AssignFactory):
        return (
            "to give each record a timestamp: compute the timestamp with map(...) before it, and call on_error() on "
            "the stream of that map"
        )
    if isinstance(node.operator, AsyncFactory):
        return (
            "an asynchronous call: catch in async_invoke() the errors you expect and return a record that describes "
            "them, or repeat the call with a retry strategy"
        )
    if isinstance(node.operator, BatchCallFactory):
        return (
            "a call for batches of records: catch in the function the errors you expect and return a record that "
            "describes them, or repeat the call with a retry strategy"
        )
    return "no operator that calls a function for each record"


def check_sink(sink: object) -> None:
    """Raise ProgramError unless `sink` is a Sink."""
    if isinstance(sink, SinkFunction):
        raise ProgramError(f"sink_to() takes a Sink, but {type(sink).__name__} is a SinkFunction: call add_sink(...)")
    _check_built("sink_to", sink)
    if not isinstance(sink, Sink):
        raise ProgramError(f"sink_to() takes a Sink, such as FileSink, not {sink!r}")


def _check_built(method: str, given: object) -> None:
    if not isinstance(given, type) and callable(getattr(given, "build", None)):
        raise ProgramError(f"{method}() was given a {type(given).__name__}: call build() on it first")


def check_type(method: str, output_type: object) -> None:
    """Raise ProgramError unless `output_type` is a TypeInformation or None."""
    if output_type is not None and not isinstance(output_type, TypeInformation):
        raise ProgramError(f"the output type of {method}() must be a type such as Types.LONG(), not {output_type!r}")


def check_positive(what: str, value: object) -> None:
    """Raise ProgramError unless `value` is an integer of at least 1."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ProgramError(f"{what} must be a whole number of at least 1, not {value!r}")


def check_lateness(value: object) -> None:
    """Raise ProgramError unless `value` is a whole number of milliseconds, at least 0."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ProgramError(f"allowed_lateness() takes a number of milliseconds of at least 0, not {value!r}")


def check_timeout(value: object) -> None:
    """Raise ProgramError unless `value` is a whole number of milliseconds, at least 0."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ProgramError(f"the buffer timeout must be 0 (send at once) or a number of milliseconds, not {value!r}")


def check_runtime_mode(mode: object) -> None:
    """Raise ProgramError unless `mode` is a RuntimeExecutionMode."""
    if not isinstance(mode, RuntimeExecutionMode):
        raise ProgramError(
            f"set_runtime_mode() takes a RuntimeExecutionMode, such as RuntimeExecutionMode.BATCH, not {mode!r}"
        )


def check_uid_hash(value: object) -> None:
    """Raise ProgramError unless the value is text of 32 hexadecimal digits."""
    if not isinstance(value, str) or re.fullmatch(r"[0-9A-Fa-f]{32}", value) is None:
        raise ProgramError(f"a uid hash must be 32 hexadecimal digits, as operators without a uid have, not {value!r}")


def check_text(what: str, value: object) -> None:
    """Raise ProgramError unless `value` is text that is not blank."""
    if not isinstance(value, str) or not value.strip():
        raise ProgramError(f"{what} must be text that is not empty, not {value!r}")


def check_not_importing() -> None:
    """Raise ProgramError if a module that is still being imported runs the job.

    An import ends with the module's last line. Slots that import the same module would wait for the end of the job, or
    run the job themselves.
    """
    frame = sys._getframe()
    while frame.f_back is not None:
        frame = frame.f_back
        name = frame.f_globals.get("__name__")
        if frame.f_code.co_name == "<module>" and name != "__main__" and _is_importing(sys.modules.get(str(name))):
            raise ProgramError(
                f"the job is run while module {name!r} is being imported, and its slots import the module, too: put "
                "the run into a function, and call the function under if __name__ == '__main__'"
            )


def _is_importing(module: ModuleType | None) -> bool:
    return bool(getattr(getattr(module, "__spec__", None), "_initializing", False))


def check_choice(method: str, argument: str, given: object, known: Collection[str]) -> None:
    """Raise ProgramError unless the argument is one of the known words."""
    if not isinstance(given, str) or given not in known:
        raise ProgramError(f"{method}() takes {argument}={' or '.join(map(repr, known))}, not {given!r}")
