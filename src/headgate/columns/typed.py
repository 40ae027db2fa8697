"""Typed expressions: trees that refer to columns by position, and hold the function to call for each step.

Equal expressions are computed once, so expressions compare by their structure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import copysign
from typing import Any, final

import pyarrow as pa

from headgate.columns.logical_types import LogicalType

Values = Any
"""The values of an expression: a `pa.Array`, or a `pa.Scalar` for all rows if the expression is constant."""

Kernel = Callable[..., Values]
"""Computes the values of a function from the values of its arguments, all in their Arrow types. Must not change them.

A kernel gets scalars for constant arguments. It may return a scalar only if all its arguments are scalars.
"""


@final
@dataclass(frozen=True, slots=True)
class Field:
    """The column at a position."""

    index: int
    type: LogicalType


@final
@dataclass(frozen=True, slots=True)
class Constant:
    """The same value for all rows. Arrow says that 0.0 and -0.0 are equal, but they are two constants."""

    value: pa.Scalar
    type: LogicalType

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Constant) or self.type != other.type or self.value != other.value:
            return False
        if not pa.types.is_floating(self.value.type) or not self.value.is_valid:
            return True
        return copysign(1, self.value.as_py()) == copysign(1, other.value.as_py())


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Apply:
    """A function of columns. Two calls are equal if function, options and arguments are: `kernel` follows from these.

    `can_fail` tells that the function raises for some values: it is not called for rows whose result is not needed.
    A function that is not `deterministic` is called once for each call in the program. `takes_rows`, and each function
    that is not deterministic, gets the number of rows before its arguments. `by_value` tells that the kernel calls
    Python for each value.
    """

    function: str
    arguments: tuple[Typed, ...]
    type: LogicalType
    kernel: Kernel = field(compare=False)
    options: tuple[Any, ...] = ()
    can_fail: bool = False
    deterministic: bool = True
    takes_rows: bool = False
    by_value: bool = False


@final
@dataclass(frozen=True, slots=True)
class Choose:
    """`then` where the condition is true, `otherwise` where it is false or NULL. Both have the type of the whole."""

    condition: Typed
    then: Typed
    otherwise: Typed
    type: LogicalType


Typed = Field | Constant | Apply | Choose


def arguments(expression: Typed) -> tuple[Typed, ...]:
    """Return the expressions directly within an expression."""
    match expression:
        case Apply():
            return expression.arguments
        case Choose():
            return (expression.condition, expression.then, expression.otherwise)
    return ()


def all_fields(types: Iterable[LogicalType]) -> list[Field]:
    """Return the columns of a batch with these types, each by its position."""
    return [Field(place, own) for place, own in enumerate(types)]


def walk(expression: Typed) -> Iterator[Typed]:
    """Iterate over an expression and all expressions within it, outermost first."""
    yield expression
    for inner in arguments(expression):
        yield from walk(inner)


def can_fail(expression: Typed) -> bool:
    """Whether computing the expression may raise for some values."""
    return any(isinstance(inner, Apply) and inner.can_fail for inner in walk(expression))


def fields_of(expression: Typed) -> set[int]:
    """Return the positions of the columns that the expression reads."""
    return {inner.index for inner in walk(expression) if isinstance(inner, Field)}


def moved(expression: Typed, places: Mapping[int, int]) -> Typed:
    """Return the expression for a batch whose columns have other positions: `places` maps old to new positions."""
    match expression:
        case Field():
            return Field(places[expression.index], expression.type)
        case Apply():
            return replace(expression, arguments=tuple(moved(inner, places) for inner in expression.arguments))
        case Choose():
            condition, then, otherwise = (moved(inner, places) for inner in arguments(expression))
            return Choose(condition, then, otherwise, expression.type)
    return expression
