"""Asynchronous calls for the records of a stream, many at a time, with PyFlink's names."""

from __future__ import annotations

import inspect
from typing import final

from headgate import unsupported
from headgate.datastream.checks import check_positive, check_process_function, check_retry_strategy
from headgate.datastream.data_stream import DataStream
from headgate.errors import ProgramError
from headgate.functions.asynchronous import AsyncFunction, AsyncFunctionDescriptor, AsyncRetryStrategy
from headgate.functions.windows.assigner import millis_of
from headgate.operators.async_calls import AsyncFactory
from headgate.types.instant import Duration, Time
from headgate.types.typeinfo import TypeInformation

__all__ = ["AsyncDataStream"]

_ORDERED = AsyncFunctionDescriptor.OutputMode.ORDERED
_UNORDERED = AsyncFunctionDescriptor.OutputMode.UNORDERED


@final
class AsyncDataStream:
    """Calls an `AsyncFunction` for each record of a stream.

    At most `capacity` records of a subtask are in progress at a time: their call runs, or their results are not emitted
    yet. `timeout` limits the time of each record from its first call, retries included. Watermarks keep their place
    between the records. All methods raise ProgramError for invalid arguments.

    >>> import asyncio
    >>> from headgate.common import Configuration
    >>> from headgate.datastream import StreamExecutionEnvironment
    >>> class Double(AsyncFunction):
    ...     async def async_invoke(self, value):
    ...         await asyncio.sleep(0.01)
    ...         return [value * 2]
    >>> in_this_process = Configuration().set_string("headgate.deploy.target", "minicluster")
    >>> env = StreamExecutionEnvironment.get_execution_environment(in_this_process)
    >>> numbers = env.from_collection([1, 2, 3])
    >>> doubled = AsyncDataStream.ordered_wait(numbers, Double(), timeout=Time.seconds(10), capacity=50)
    >>> with doubled.execute_and_collect() as results:
    ...     print(*results)
    2 4 6
    """

    @staticmethod
    def unordered_wait(
        data_stream: DataStream,
        async_function: AsyncFunction,
        timeout: Time | Duration,
        capacity: int = 100,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Emit results as soon as they arrive: between two watermarks, in any order."""
        once = AsyncRetryStrategy.no_restart()
        descriptor = AsyncFunctionDescriptor(async_function, timeout, capacity, once, _UNORDERED)
        return _with_calls("unordered_wait", data_stream, descriptor, output_type)

    @staticmethod
    def unordered_wait_with_retry(  # noqa: PLR0913  # as in PyFlink
        data_stream: DataStream,
        async_function: AsyncFunction,
        timeout: Time | Duration,
        async_retry_strategy: AsyncRetryStrategy,
        capacity: int = 100,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Do as `unordered_wait` does; the strategy determines which calls are repeated, and when."""
        descriptor = AsyncFunctionDescriptor(async_function, timeout, capacity, async_retry_strategy, _UNORDERED)
        return _with_calls("unordered_wait_with_retry", data_stream, descriptor, output_type)

    @staticmethod
    def ordered_wait(
        data_stream: DataStream,
        async_function: AsyncFunction,
        timeout: Time | Duration,
        capacity: int = 100,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Emit results in the order of the records."""
        once = AsyncRetryStrategy.no_restart()
        descriptor = AsyncFunctionDescriptor(async_function, timeout, capacity, once, _ORDERED)
        return _with_calls("ordered_wait", data_stream, descriptor, output_type)

    @staticmethod
    def ordered_wait_with_retry(  # noqa: PLR0913  # as in PyFlink
        data_stream: DataStream,
        async_function: AsyncFunction,
        timeout: Time | Duration,
        async_retry_strategy: AsyncRetryStrategy,
        capacity: int = 100,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Do as `ordered_wait` does; the strategy determines which calls are repeated, and when."""
        descriptor = AsyncFunctionDescriptor(async_function, timeout, capacity, async_retry_strategy, _ORDERED)
        return _with_calls("ordered_wait_with_retry", data_stream, descriptor, output_type)


def _with_calls(
    method: str, stream: DataStream, descriptor: AsyncFunctionDescriptor, output_type: TypeInformation | None
) -> DataStream:
    if not isinstance(stream, DataStream):
        raise ProgramError(f"{method}() takes a stream first, not {stream!r}")
    function = descriptor.async_function
    check_process_function(function, AsyncFunction)
    if not inspect.iscoroutinefunction(function.async_invoke):
        raise ProgramError(
            f"async_invoke() of {type(function).__name__} must be declared with async def, and return a list of records"
        )
    if millis_of(f"the timeout of {method}()", descriptor.timeout) <= 0:
        raise ProgramError(f"{method}() takes a timeout of at least 1 ms, such as Time.seconds(10)")
    check_positive(f"the capacity of {method}()", descriptor.capacity)
    check_retry_strategy(method, descriptor.async_retry_strategy)
    return stream._then("async wait operator", AsyncFactory(descriptor, keyed=stream.is_keyed), output_type)


unsupported.guard(__name__, globals())
