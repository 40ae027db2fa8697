"""Expressions as the program writes them: trees without types, which refer to columns by name."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Protocol, final

import pyarrow as pa

from headgate.columns import logical_types as types
from headgate.columns.frames import RowFrame
from headgate.columns.logical_types import LogicalType
from headgate.errors import InvalidExpressionError


@final
@dataclass(frozen=True, slots=True)
class Column:
    """The column with this name."""

    name: str


@final
@dataclass(frozen=True, slots=True)
class Literal:
    """A constant of a type."""

    value: pa.Scalar
    type: LogicalType


@final
@dataclass(frozen=True, slots=True)
class Call:
    """A call of a built-in function. `options` are arguments that are no expressions, such as a unit of time."""

    function: str
    arguments: tuple[Node, ...]
    options: tuple[Any, ...] = ()


@final
@dataclass(frozen=True, slots=True)
class Cast:
    """A conversion to a type. With `or_null`, a value that cannot be converted becomes NULL."""

    argument: Node
    type: LogicalType
    or_null: bool = False


@final
@dataclass(frozen=True, slots=True)
class Named:
    """An expression with a name for its column; several names for the columns of a function that makes several."""

    argument: Node
    names: tuple[str, ...]


class CalledFunction(Protocol):
    """A function of the user that is called within expressions."""

    name: str

    def typed(self, arguments: tuple[Any, ...], zone: str) -> Any:
        """Return the typed call. `zone` is the time zone of the session."""
        ...


@final
@dataclass(frozen=True, slots=True)
class UserCall:
    """A call of a function of the user."""

    function: CalledFunction
    arguments: tuple[Node, ...]


@final
@dataclass(frozen=True, slots=True)
class SortKey:
    """An expression to sort by."""

    argument: Node
    descending: bool = False
    nulls_first: bool | None = field(default=None)


@final
@dataclass(frozen=True, slots=True)
class Over:
    """An aggregate of the rows in a frame around each row, of the rows with equal keys in the order of a time."""

    aggregate: Node
    order_by: Node
    partition_by: tuple[Node, ...]
    frame: RowFrame


Node = Column | Literal | Call | Cast | Named | UserCall | SortKey | Over


def children(node: Node) -> tuple[Node, ...]:
    """Return the expressions directly within an expression."""
    match node:
        case Call() | UserCall():
            return node.arguments
        case Cast() | Named() | SortKey():
            return (node.argument,)
        case Over():
            return (node.aggregate, node.order_by, *node.partition_by)
    return ()


def walk(node: Node) -> Iterator[Node]:
    """Iterate over an expression and all expressions within it, outermost first."""
    yield node
    for inner in children(node):
        yield from walk(inner)


def name_of(node: Node) -> str | None:
    """Return the name that the expression's column has: a column keeps its name through casts; None if it has none."""
    match node:
        case Column():
            return node.name
        case Named():
            return node.names[0]
        case Cast():
            return name_of(node.argument)
    return None


def unnamed(node: Node) -> Node:
    """Return the expression without the name that it was given."""
    return unnamed(node.argument) if isinstance(node, Named) else node


def literal(value: Any, kind: LogicalType | None = None) -> Literal:
    """Return a constant. Without a type, its type follows from the value, as in Flink, and has no NULL.

    Raises TypeError for a value without a type in SQL, and `InvalidExpressionError` for a value that does not fit the
    type.

    >>> print(literal(7).type, literal("ab").type, literal(None, types.INT).type)
    INT NOT NULL CHAR(2) NOT NULL INT
    """
    own = _type_of(value) if kind is None else kind.nulls(value is None)
    try:
        return Literal(pa.scalar(_plain(value), own.arrow), own)
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        raise InvalidExpressionError(f"{value!r} is no value of {own}: {error}") from error


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


_INT: range = range(-(2**31), 2**31)
_BIGINT: range = range(-(2**63), 2**63)


def _type_of(value: Any) -> LogicalType:
    return _nullable_type_of(value).nulls(value is None)


def _nullable_type_of(value: Any) -> LogicalType:
    match value:
        case None:
            return types.NULL
        case bool():
            return types.BOOLEAN
        case int() if value in _INT:
            return types.INT
        case int() if value in _BIGINT:
            return types.BIGINT
        case float():
            return types.DOUBLE
        case str():
            return types.text(max(len(value), 1), fixed=True)
        case bytes():
            return types.binary(max(len(value), 1), fixed=True)
        case Decimal() if value.is_finite():
            return _decimal_type(value)
        case datetime.datetime():
            digits = len(f"{value.microsecond:06}".rstrip("0"))
            return types.timestamp_ltz(digits) if value.tzinfo else types.timestamp(digits)
        case datetime.date():
            return types.DATE
        case datetime.time():
            return types.time(len(f"{value.microsecond:06}".rstrip("0")))
        case datetime.timedelta():
            return types.day_interval(6 if value.microseconds % 1000 else 3)
        case list() | tuple():
            return _array_type(value)
    raise TypeError(f"{value!r} of type {type(value).__name__} has no type in SQL: give lit() a type, or convert it")


def _decimal_type(value: Decimal) -> LogicalType:
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    scale = max(-exponent, 0)
    return types.decimal(max(len(digits) + max(exponent, 0), scale, 1), scale)


def _array_type(values: list[Any] | tuple[Any, ...]) -> LogicalType:
    element = types.widest(_type_of(value) for value in values)
    if element is None:
        raise TypeError(f"the elements of {values!r} have no common type: convert them")
    return types.array(element)
