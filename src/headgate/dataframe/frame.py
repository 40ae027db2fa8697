"""The base of `DataFrame`: its plan, its environment, and how arguments become expressions."""

from __future__ import annotations

import keyword
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Self

from headgate.columns.nodes import Column, Node
from headgate.columns.resolve import ExpressionScope
from headgate.columns.schema import Schema
from headgate.columns.typed import Typed, all_fields
from headgate.dataframe.planner.logical import Filter, Project, Relation
from headgate.dataframe.planner.optimizer import optimized
from headgate.dataframe.planner.plan_file import CompiledPlan, Uids
from headgate.errors import InvalidExpressionError
from headgate.table.expression import Expression
from headgate.unsupported import Missing

if TYPE_CHECKING:
    from headgate.dataframe.planner.physical import Translation
    from headgate.table.table_environment import TableEnvironment

Columns = str | Expression
"""A column by its name, or an expression."""


class Frame:
    """Holds a plan and the environment in which it runs."""

    __slots__ = ("_environment", "_plan", "_scope")

    def __init__(self, plan: Relation, environment: TableEnvironment) -> None:
        """DataFrames are made by functions such as `from_records`, and by other DataFrames."""
        self._plan = plan
        self._environment = environment
        self._scope = ExpressionScope(plan.schema, environment.get_config().get_local_timezone())

    @property
    def schema(self) -> Schema:
        """The names and types of the columns."""
        return self._scope.schema

    @property
    def columns(self) -> list[str]:
        """The names of the columns, in a new list."""
        return self.schema.names

    def _with(self, plan: Relation) -> Self:
        return type(self)(plan, self._environment)

    def _projected(self, outputs: Iterable[tuple[str, Typed]]) -> Self:
        plan = Project(self._plan, tuple(outputs))
        assert plan.schema  # raises for two columns with the same name
        return self._with(plan)

    def _filtered(self, predicate: Typed) -> Self:
        return self._with(Filter(self._plan, predicate))

    def _all(self) -> list[tuple[str, Typed]]:
        """Return all columns as outputs of a projection."""
        return list(zip(self.columns, all_fields(self.schema.types), strict=True))

    def _typed(self, node: Node, where: str) -> Typed:
        """Return an expression of the columns. Raises `InvalidExpressionError`, which begins with `where`."""
        try:
            return self._scope.typed(node)
        except InvalidExpressionError as error:
            raise InvalidExpressionError(f"{where}: {error}") from None

    def _column_attribute(self, name: str) -> Expression:
        plain = name.isidentifier() and not keyword.iskeyword(name) and not name.startswith("_")
        if plain and name in self.schema:
            return Expression(Column(name))
        if isinstance(vars(type(self)).get(name), Missing):
            getattr(type(self), name)  # raises its error again, which Python dropped for `__getattr__`
        raise AttributeError(f"a DataFrame has no attribute {name!r}, and no such column")


def translation_of(
    plans: Sequence[Relation], environment: TableEnvironment, pinned: CompiledPlan | None = None
) -> Translation:
    """Return a translation of plans into one job. Raises ValueError if they have streams of several environments."""
    from headgate.dataframe.planner.physical import Translation, environment_of  # noqa: PLC0415  # loads all operators

    return Translation(environment_of(plans, environment), Uids([optimized(plan) for plan in plans], pinned))


def node_of_column(column: Any, method: str) -> Node:
    """Return the expression of an argument: the name of a column, or an expression. Raises TypeError for others."""
    if isinstance(column, str):
        return Column(column)
    if not isinstance(column, Expression):
        refuse(method, column)
    return column.node


def refuse(method: str, given: Any) -> NoReturn:
    """Raise TypeError for an argument that is neither a name nor an expression."""
    raise TypeError(f"{method}() takes names of columns and expressions, not {given!r:.100} of {type(given).__name__}")


def applied(given: Any, frame: Frame, method: str) -> Any:
    """Return an expression, or what a callable returns for the DataFrame. Raises TypeError for a class."""
    if isinstance(given, Expression) or not callable(given):
        return given
    if isinstance(given, type):
        raise TypeError(
            f"{method}() takes an expression or a function of the DataFrame, not the class {given.__name__}"
        )
    call: Callable[[Frame], Any] = given
    return call(frame)
