"""Functions of batches, such as models, with the settings that `map_batches` was given."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, final

from headgate.functions.asynchronous import AsyncRetryStrategy

if TYPE_CHECKING:
    import pyarrow as pa


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class BatchCalls:
    """A function of batches and its settings. `schema` is the schema of Arrow batches; None: batches are lists."""

    func: Callable[..., Any]
    schema: pa.Schema | None
    batch_size: int
    max_wait_s: float
    concurrency: int
    timeout_s: float | None
    async_retry_strategy: AsyncRetryStrategy
    calls_per_second: float | None


def class_of(func: object) -> type | None:
    """Return the class whose instances are the function: `func` itself, or the class in a `partial`; None for others.

    >>> class_of(partial(int, base=2)), class_of(len)
    (<class 'int'>, None)
    """
    made = func.func if isinstance(func, partial) else func
    return made if isinstance(made, type) else None


def is_coroutine_function(func: object) -> bool:
    """Return whether a function, or a method `__call__` of a class or an instance, is declared with `async def`."""
    of_call = getattr(class_of(func) or func, "__call__", None)  # noqa: B004  # its declaration is looked at
    return inspect.iscoroutinefunction(func) or inspect.iscoroutinefunction(of_call)
