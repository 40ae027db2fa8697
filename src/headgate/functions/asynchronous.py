"""Asynchronous functions, with PyFlink's names: calls that wait for a service while the operator takes further records.

A retry strategy decides whether and when a call is repeated.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any, TypeVar, final

from headgate.errors import ProgramError
from headgate.functions.api import Function
from headgate.types.instant import Duration, Time


class AsyncFunction(Function):
    """One record in, any number out. Many calls run at a time, all on one thread.

    While a call awaits, the others run. `open` and `close` are called on the asyncio loop of the calls, so they may
    create and close clients. The operator waits briefly for a task that `close` creates, such as
    `create_task(client.aclose())`. After a failure the function is called again for each record whose call had not
    ended: services see each call at least once.
    """

    @abstractmethod
    async def async_invoke(self, value: Any) -> Iterable[Any]:
        """Return the records that take the place of `value`, as a list. An error fails the job."""

    def timeout(self, value: Any) -> Iterable[Any]:
        """Return the records that take the place of `value` after its call timed out and was cancelled."""
        raise TimeoutError(
            f"the asynchronous call for {value!r:.200} has not ended in time: give it a longer timeout, or say in "
            f"{type(self).__name__}.timeout() which records take its place"
        )


@final
@dataclass(frozen=True, slots=True)
class AsyncFunctionDescriptor:
    """An asynchronous function and its settings, made by `AsyncDataStream`."""

    class OutputMode(Enum):
        """The order in which results leave."""

        ORDERED = 0
        """The order of the records."""
        UNORDERED = 1
        """The order in which calls end; no result overtakes a watermark."""

    async_function: AsyncFunction
    timeout: Time | Duration
    capacity: int
    async_retry_strategy: AsyncRetryStrategy
    output_mode: OutputMode


N = TypeVar("N", int, float)
ResultPredicate = Callable[[list[Any]], bool]
"""Takes the results of a call, and returns whether to repeat the call."""
ExceptionPredicate = Callable[[Exception], bool]
"""Takes the exception of a call, and returns whether to repeat the call."""


class RetryAfter(Exception):  # named after the header of an HTTP response
    """A service refuses calls for the next `retry_after` seconds, at least 0.

    An attribute `retry_after` of any other exception, a number of seconds, means the same.
    """

    def __init__(self, retry_after: float, message: str = "the service refuses calls for now") -> None:
        super().__init__(message)
        self.retry_after = retry_after

    def __reduce__(self) -> tuple[type[RetryAfter], tuple[float, str]]:
        return RetryAfter, (self.retry_after, str(self))


def retry_after_s(error: object) -> float:
    """Return the seconds that the exception of a call asks to wait before the next call; 0.0 if it asks for none.

    >>> retry_after_s(RetryAfter(1.5)), retry_after_s(OSError())
    (1.5, 0.0)
    """
    seconds = getattr(error, "retry_after", None)
    return max(0.0, seconds) if isinstance(seconds, int | float) else 0.0


class AsyncRetryPredicate(ABC):
    """Decides which results and which exceptions of a call make the call repeat."""

    @abstractmethod
    def result_predicate(self) -> ResultPredicate | None:
        """Return the predicate on the results of a call; None accepts all results."""

    @abstractmethod
    def exception_predicate(self) -> ExceptionPredicate | None:
        """Return the predicate on the exception of a call; None: every exception fails the job."""


class AsyncRetryStrategy(ABC):
    """Decides whether and when a call is repeated. One object serves many records at the same time."""

    @abstractmethod
    def can_retry(self, current_attempts: int) -> bool:
        """Return whether a record may have another call after this many calls, at least 1."""

    @abstractmethod
    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """Return how many milliseconds to wait after this many calls."""

    @abstractmethod
    def get_retry_predicate(self) -> AsyncRetryPredicate:
        """Return the predicate that selects the calls to repeat."""

    @staticmethod
    def no_restart() -> AsyncRetryStrategy:
        """Return the strategy that repeats no call."""
        return NoRetryStrategy()

    @staticmethod
    def fixed_delay(
        max_attempts: int,
        backoff_time_millis: int,
        result_predicate: ResultPredicate | None,
        exception_predicate: ExceptionPredicate | None,
    ) -> AsyncRetryStrategy:
        """Return a strategy that waits for the same time before each of at most `max_attempts` further calls."""
        return FixedDelayRetryStrategy(max_attempts, backoff_time_millis, result_predicate, exception_predicate)

    @staticmethod
    def exponential_backoff(  # noqa: PLR0913  # as in PyFlink
        max_attempts: int,
        initial_delay: int,
        max_retry_delay: int,
        multiplier: float,
        result_predicate: ResultPredicate | None,
        exception_predicate: ExceptionPredicate | None,
    ) -> AsyncRetryStrategy:
        """Return a strategy that multiplies the wait before each further call; times are in milliseconds."""
        return ExponentialBackoffDelayRetryStrategy(
            max_attempts, initial_delay, max_retry_delay, multiplier, result_predicate, exception_predicate
        )


@final
class RetryPredicate(AsyncRetryPredicate):
    """Decides by two functions. Either may be None. Raises ProgramError for anything else."""

    def __init__(
        self, result_predicate: ResultPredicate | None, exception_predicate: ExceptionPredicate | None
    ) -> None:
        for name, predicate in (("result_predicate", result_predicate), ("exception_predicate", exception_predicate)):
            if predicate is not None and not callable(predicate):
                raise ProgramError(f"{name} must be a function that says whether to call again, not {predicate!r}")
        self._result_predicate = result_predicate
        self._exception_predicate = exception_predicate

    def result_predicate(self) -> ResultPredicate | None:
        return self._result_predicate

    def exception_predicate(self) -> ExceptionPredicate | None:
        return self._exception_predicate


@final
class NoRetryStrategy(AsyncRetryStrategy):
    """Repeats no call."""

    def can_retry(self, current_attempts: int) -> bool:
        return False

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        return -1

    def get_retry_predicate(self) -> AsyncRetryPredicate:
        return RetryPredicate(None, None)


@final
class FixedDelayRetryStrategy(AsyncRetryStrategy):
    """Waits for the same time before each further call. Raises ProgramError for numbers that are not above 0."""

    def __init__(
        self,
        max_attempts: int,
        backoff_time_millis: int,
        result_predicate: ResultPredicate | None,
        exception_predicate: ExceptionPredicate | None,
    ) -> None:
        self._max_attempts = _above_0("max_attempts", max_attempts)
        self._backoff_time_millis = _above_0("backoff_time_millis", backoff_time_millis)
        self._predicate = RetryPredicate(result_predicate, exception_predicate)

    def can_retry(self, current_attempts: int) -> bool:
        return current_attempts <= self._max_attempts

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        return self._backoff_time_millis

    def get_retry_predicate(self) -> AsyncRetryPredicate:
        return self._predicate


@final
class ExponentialBackoffDelayRetryStrategy(AsyncRetryStrategy):
    """Waits `initial_delay` ms, and `multiplier` times as long before each further call, up to `max_retry_delay` ms.

    Raises ProgramError for numbers that are not above 0.

    >>> strategy = ExponentialBackoffDelayRetryStrategy(4, 100, 350, 2.0, None, lambda error: True)
    >>> [strategy.get_backoff_time_millis(calls) for calls in (1, 2, 3, 4)]
    [100, 200, 350, 350]
    >>> strategy.can_retry(4), strategy.can_retry(5)
    (True, False)
    """

    def __init__(  # noqa: PLR0913  # as in PyFlink
        self,
        max_attempts: int,
        initial_delay: int,
        max_retry_delay: int,
        multiplier: float,
        result_predicate: ResultPredicate | None,
        exception_predicate: ExceptionPredicate | None,
    ) -> None:
        self._max_attempts = _above_0("max_attempts", max_attempts)
        self._initial_delay = _above_0("initial_delay", initial_delay)
        self._max_retry_delay = _above_0("max_retry_delay", max_retry_delay)
        self._multiplier = _above_0("multiplier", multiplier)
        self._predicate = RetryPredicate(result_predicate, exception_predicate)

    def can_retry(self, current_attempts: int) -> bool:
        return current_attempts <= self._max_attempts

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        delay = float(self._initial_delay)
        for _ in range(current_attempts - 1):  # a power of many calls would overflow
            delay *= self._multiplier
            if delay >= self._max_retry_delay:
                break
        return int(min(delay, self._max_retry_delay))

    def get_retry_predicate(self) -> AsyncRetryPredicate:
        return self._predicate


def _above_0(name: str, number: N) -> N:
    if isinstance(number, bool) or not isinstance(number, int | float) or not number > 0:
        raise ProgramError(f"{name} must be a number above 0, not {number!r}")
    return number


def class_of(func: object) -> type | None:
    """Return the class whose instances are the function: `func` itself, or the class in a `partial`; None for others.

    >>> class_of(partial(int, base=2)), class_of(len)
    (<class 'int'>, None)
    """
    made = func.func if isinstance(func, partial) else func
    return made if isinstance(made, type) else None


def is_coroutine_function(func: object) -> bool:
    """Return whether a function, or a method `__call__` of a class or an instance, is declared with `async def`."""
    of_call = getattr(class_of(func) or func, "__call__", None)  # noqa: B004  # to see how it is declared
    return inspect.iscoroutinefunction(func) or inspect.iscoroutinefunction(of_call)
