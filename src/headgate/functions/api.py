"""The function interfaces that a user program implements, with PyFlink's names.

A function object is pickled once, sent to each subtask, opened there, called for each record, finished when bounded
input ends, and closed. `open`, `finish` and `close` may be left out. A method emits the values that it returns or,
where its docstring says so, yields.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar

from headgate import unsupported
from headgate.functions import context
from headgate.functions.context import RuntimeContext


class Function(ABC):
    """Root of all user functions."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Prepare, once for each subtask, before the first record: get state, open files."""

    def finish(self) -> None:
        """Write what the function has buffered, once all records, timers and watermarks are processed.

        Called when bounded input ends, or a savepoint with `drain` ends it: once for each subtask and attempt, before
        the last checkpoint. A restart after that calls it again. Not called when the job is cancelled, suspended or
        rescaled, when it fails, or when a savepoint stops it without `drain`: keep in state what must survive these.
        There is no current key, and nothing can be emitted. An error fails the attempt, and the job restarts. Not
        called on key selectors and partitioners.

        >>> class Rows(SinkFunction):
        ...     def open(self, runtime_context):
        ...         self.rows = []
        ...     def invoke(self, value, context):
        ...         self.rows.append(value)
        ...     def finish(self):
        ...         insert(self.rows)
        """

    def close(self) -> None:
        """Release what `open` acquired. Called also after a failure, and after the last checkpoint: write in `finish`.

        An error at the end of a job fails the job for good: the output is committed by then, and a restart would not
        process the records again. When the job ends in another way, or restarts, the error is logged.
        """


class MapFunction(Function):
    """One record in, one record out."""

    @abstractmethod
    def map(self, value: Any) -> Any:
        """Return the record that takes the place of `value`."""


class FlatMapFunction(Function):
    """One record in, any number out."""

    @abstractmethod
    def flat_map(self, value: Any) -> Iterable[Any] | None:
        """Yield the records that take the place of `value`, or return an iterable of them; None means no result."""


class FilterFunction(Function):
    """Keeps or drops records."""

    @abstractmethod
    def filter(self, value: Any) -> bool:
        """Return whether to keep `value`."""


class ReduceFunction(Function):
    """Combines two records of a key into one."""

    @abstractmethod
    def reduce(self, value1: Any, value2: Any) -> Any:
        """Return the combination of the result so far, `value1`, and the next record, `value2`."""


class AggregateFunction(Function):
    """Collects values in an accumulator and computes a result from it. The three may be of different types.

    `merge` is called for windows that merge, such as sessions. A class that sets `mergeable = True` declares that
    `merge` accepts any two accumulators of a key: sliding windows then keep one accumulator for each slice of time.
    """

    mergeable: ClassVar[bool] = False

    @abstractmethod
    def create_accumulator(self) -> Any:
        """Return an accumulator without any value in it."""

    @abstractmethod
    def add(self, value: Any, accumulator: Any) -> Any:
        """Return the accumulator with `value` added: a new object, or the same one changed."""

    @abstractmethod
    def get_result(self, accumulator: Any) -> Any:
        """Return the result of the accumulator, without changing the accumulator."""

    @abstractmethod
    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        """Return an accumulator with the values of both: a new object, or one of the two changed."""


class Partitioner(Function):
    """Chooses the subtask that receives the records of a key: for `partition_custom`."""

    @abstractmethod
    def partition(self, key: Any, num_partitions: int) -> int:
        """Return the number of the subtask, from 0 to `num_partitions` - 1. It may differ from call to call."""


class KeySelector(Function):
    """Takes the key out of a record."""

    @abstractmethod
    def get_key(self, value: Any) -> Any:
        """Return the key of `value`: always the same for the same record, in every process."""


class SinkFunction(Function):
    """Writes records to the outside, one at a time, at least once. See `Sink` for exactly once."""

    @abstractmethod
    def invoke(self, value: Any, context: context.Context) -> None:
        """Write `value`. May be called again for the same record after a restart. While it blocks, the job waits."""


class ProcessFunction(Function):
    """One record in, any number out, with a context."""

    class Context(context.Context, ABC):
        """The context of `process_element`: the current record's timestamp and the clocks."""

        __slots__ = ()

        @abstractmethod
        def timer_service(self) -> context.TimerService:
            """Return the clocks. Their methods for timers raise StateAccessError: only keyed streams have timers."""

    @abstractmethod
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterable[Any] | None:
        """Yield the results for `value`, or return an iterable of them; None means no result.

        A result that is a tuple of an `OutputTag` and a value goes to that side output, in all process functions.
        """


class KeyedProcessFunction(Function):
    """One record of a keyed stream in, any number out, with a context and state for each key.

    >>> class Count(KeyedProcessFunction):
    ...     def open(self, runtime_context):
    ...         self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
    ...     def process_element(self, value, ctx):
    ...         count = (self.count.value() or 0) + 1
    ...         self.count.update(count)
    ...         yield ctx.get_current_key(), count
    """

    class Context(context.Context, ABC):
        """The context of `process_element`: the current record's key and timestamp, and the timers."""

        __slots__ = ()

        @abstractmethod
        def get_current_key(self) -> Any:
            """Return the key of the current record or timer."""

        @abstractmethod
        def timer_service(self) -> context.TimerService:
            """Return the clocks, and the timers of the current key."""

    class OnTimerContext(Context, ABC):
        """The context of `on_timer`; `timestamp()` is the time of the timer."""

        __slots__ = ()

        @abstractmethod
        def time_domain(self) -> context.TimeDomain:
            """Return the clock that the timer follows."""

    @abstractmethod
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterable[Any] | None:
        """Yield the results for `value`, or return an iterable of them; None means no result."""

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterable[Any] | None:
        """Yield results when a timer registered with `timer_service()` is due, or return an iterable of them.

        `timestamp` is the time of the timer in milliseconds; the current key is the key that registered the timer.
        """


unsupported.guard_members("datastream.functions", globals())
