"""Checks of the arguments of `map_batches`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from headgate.datastream.checks import check_choice, check_positive, check_retry_strategy
from headgate.errors import ProgramError
from headgate.functions.api import Function
from headgate.functions.asynchronous import AsyncRetryStrategy, class_of
from headgate.functions.windows.assigner import millis_of
from headgate.operators.slot_function import BatchCalls
from headgate.types.instant import Duration, Time
from headgate.types.typeinfo import TypeInformation

_TAKES: Final = "map_batches() takes a function of a batch, or a class with a method __call__ that is one"


def batch_calls(  # noqa: PLR0913  # the arguments of `map_batches`
    func: Callable[..., Any],
    input_type: TypeInformation | None,
    *,
    batch_format: str,
    concurrency: int,
    batch_size: int,
    max_wait: Time | Duration,
    timeout: Time | Duration | None,
    async_retry_strategy: AsyncRetryStrategy | None,
    calls_per_second: float | None,
) -> BatchCalls:
    """Return how to call a function for batches of records of a type. Raises ProgramError for invalid arguments."""
    _check_function(func)
    check_choice("map_batches", "batch_format", batch_format, ("rows", "arrow"))
    check_positive("the concurrency of map_batches()", concurrency)
    check_positive("the batch_size of map_batches()", batch_size)
    strategy = AsyncRetryStrategy.no_restart() if async_retry_strategy is None else async_retry_strategy
    check_retry_strategy("map_batches", strategy)
    return BatchCalls(
        func=func,
        schema=_schema(input_type) if batch_format == "arrow" else None,
        batch_size=batch_size,
        max_wait_s=_seconds("max_wait", max_wait, least_ms=0),
        concurrency=concurrency,
        timeout_s=None if timeout is None else _seconds("timeout", timeout, least_ms=1),
        async_retry_strategy=strategy,
        calls_per_second=None if calls_per_second is None else _rate(calls_per_second),
    )


def _check_function(func: object) -> None:
    made = class_of(func)
    if isinstance(func, Function) or (made is not None and issubclass(made, Function)):
        raise ProgramError(f"{_TAKES}, but {(made or type(func)).__name__} is a function of single records")
    is_function = callable(func) if made is None else any("__call__" in vars(each) for each in made.__mro__)
    if not is_function:
        raise ProgramError(f"{_TAKES}, not {func!r}")


def _schema(input_type: TypeInformation | None) -> Any:
    if input_type is None:
        raise ProgramError(
            'map_batches(batch_format="arrow") needs to know the columns: give the operator before it an output_type, '
            'for instance map(..., output_type=Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()]))'
        )
    from headgate.types.arrow import arrow_schema  # noqa: PLC0415  # Arrow takes long to load

    return arrow_schema(input_type)


def _seconds(name: str, length: Time | Duration, least_ms: int) -> float:
    millis = millis_of(f"the {name} of map_batches()", length)
    if millis < least_ms:
        raise ProgramError(f"the {name} of map_batches() must be at least {least_ms} ms, not {millis} ms")
    return millis / 1000.0


def _rate(calls_per_second: float) -> float:
    if isinstance(calls_per_second, bool) or not isinstance(calls_per_second, int | float) or not calls_per_second > 0:
        raise ProgramError(f"calls_per_second of map_batches() must be a number above 0, not {calls_per_second!r}")
    return float(calls_per_second)
