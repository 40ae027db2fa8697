"""The base of public expressions: an immutable value that holds an expression tree."""

from __future__ import annotations

from typing import Any, NoReturn, Self

from headgate.columns.logical_types import LogicalType
from headgate.columns.nodes import Call, Cast, Column, Literal, Named, Node, Over, SortKey, literal


class Operand:
    """Holds an expression; its subclasses have the operators and functions of expressions.

    Expressions are built, not computed: a DataFrame computes them on its columns.
    """

    __slots__ = ("node",)

    def __init__(self, node: Node) -> None:
        """Expressions are made by `col`, `lit` and other expressions, not by programs."""
        self.node = node

    def _call(self, function: str, *arguments: Any, options: tuple[Any, ...] = ()) -> Self:
        """Return the call of a function, with this expression as its first argument."""
        return type(self)(Call(function, (self.node, *map(node_of, arguments)), options))

    def __bool__(self) -> NoReturn:
        raise TypeError("an expression has no truth value: use & for and, | for or, ~ for not, with parentheses")

    def __hash__(self) -> int:
        return hash(self.node)

    def __repr__(self) -> str:
        return text_of(self.node)


def node_of(value: Any) -> Node:
    """Return the tree of an expression; any other value becomes a literal. Raises TypeError as `literal` does."""
    return value.node if isinstance(value, Operand) else literal(value)


def text_of(node: Node) -> str:
    """Return an expression as `explain()` and errors show it.

    >>> text_of(Call("plus", (Column("price"), literal(1))))
    'plus(price, 1)'
    """
    match node:
        case Column():
            return node.name
        case Literal():
            value = node.value.as_py()
            return "NULL" if value is None else repr(value)
        case Call():
            return f"{node.function}({', '.join([*map(text_of, node.arguments), *map(_option, node.options)])})"
        case Cast():
            return f"{'try_cast' if node.or_null else 'cast'}({text_of(node.argument)} as {node.type})"
        case Named():
            return f"{text_of(node.argument)} as {', '.join(node.names)}"
        case SortKey():
            return f"{text_of(node.argument)} {'desc' if node.descending else 'asc'}"
        case Over():
            return _text_of_over(node)
    return f"{node.function.name}({', '.join(map(text_of, node.arguments))})"


def _text_of_over(node: Over) -> str:
    keys = "".join(f"{text_of(key)}, " for key in node.partition_by)
    partition = f"PARTITION BY {keys.removesuffix(', ')} " if keys else ""
    return f"{text_of(node.aggregate)} OVER ({partition}ORDER BY {text_of(node.order_by)} {node.frame})"


def _option(value: Any) -> str:
    return str(value) if isinstance(value, LogicalType) else repr(value)
