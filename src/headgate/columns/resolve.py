"""From expressions of the program to typed expressions: names, types and arguments are checked here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import final

from headgate.columns.functions.explicit_casts import cast
from headgate.columns.functions.registry import CallSite, rule_of
from headgate.columns.logical_types import Kind
from headgate.columns.nodes import Call, Cast, Column, Literal, Named, Node, Over, SortKey, UserCall
from headgate.columns.schema import Schema
from headgate.columns.typed import Constant, Field, Typed
from headgate.errors import InvalidExpressionError


@final
@dataclass(frozen=True, slots=True)
class ExpressionScope:
    """What expressions refer to: the columns, and the time zone of the session, such as `Asia/Tokyo`."""

    schema: Schema
    zone: str = "UTC"
    overs: Mapping[Over, Typed] = field(default_factory=dict)
    """The columns that have the results of `over()`."""

    def typed(self, node: Node) -> Typed:
        """Return the typed expression.

        Raises `InvalidExpressionError` for an unknown column or function, and for arguments of wrong types.
        """
        match node:
            case Column():
                return Field(self.schema.index(node.name), self.schema.type_of(node.name))
            case Literal():
                return Constant(node.value, node.type)
            case Named():
                return self.typed(node.argument)
            case Cast():
                return cast(self.typed(node.argument), node.type, self.zone, or_null=node.or_null)
            case Call():
                site = CallSite(node.function, tuple(map(self.typed, node.arguments)), node.options, self.zone)
                return rule_of(node.function)(site)
            case SortKey():
                raise InvalidExpressionError("asc and desc are for sort() and over(): remove them from the expression")
            case Over():
                return self._over(node)
            case UserCall():
                called: Typed = node.function.typed(tuple(map(self.typed, node.arguments)), self.zone)
                return called

    def _over(self, node: Over) -> Typed:
        found = self.overs.get(node)
        if found is None:
            raise InvalidExpressionError(
                "over() is for select(), with_column() and with_columns(): name its result there, then use the column"
            )
        return found

    def predicate(self, node: Node) -> Typed:
        """Return the typed expression. Raises `InvalidExpressionError` if it is not a BOOLEAN."""
        found = self.typed(node)
        if found.type.kind in (Kind.BOOLEAN, Kind.NULL):
            return found
        raise InvalidExpressionError(f"a predicate is a BOOLEAN, but this expression is a {found.type}: compare it")

    def all_typed(self, nodes: Iterable[Node]) -> list[Typed]:
        """Return the typed expressions."""
        return [self.typed(node) for node in nodes]
