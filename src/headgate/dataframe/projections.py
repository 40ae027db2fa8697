"""The methods of a DataFrame that choose rows and columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self

from headgate.columns.logical_types import FLOATS, NULL, Kind
from headgate.columns.nodes import Call, Cast, Column, Literal, Named, Node, literal, name_of
from headgate.columns.schema import nearest
from headgate.columns.typed import Typed
from headgate.dataframe.frame import Columns, Frame, applied, node_of_column, refuse
from headgate.dataframe.over import with_overs
from headgate.dataframe.planner.logical import Distinct, Limit
from headgate.errors import InvalidExpressionError, UnsupportedError
from headgate.table.expression import Expression

_ROWS_MAX = 2**31 - 1


class Projections(Frame):
    """Rows and columns, one row at a time."""

    __slots__ = ()

    # --- columns

    def select(self, *columns: Columns | Iterable[Columns], **projections: Expression) -> Self:
        """Return these columns, in this order: names, expressions, or lists of them, then named expressions.

        An expression without a name becomes `_c0`, `_c1` and so on. Raises TypeError for other arguments, ValueError
        for an unknown column, or two columns with the same name.

        >>> from headgate import dataframe as pf
        >>> pf.range(3).select("id", twice=pf.col("id") + pf.col("id")).columns
        ['id', 'twice']
        """
        nodes = [node_of_column(column, "select") for column in _flat(columns)]
        nodes += [_named(name, own, "select") for name, own in projections.items()]
        if not nodes:
            raise ValueError("select() takes at least one column")
        frame = with_overs(self, nodes)
        return frame._projected(frame._named(nodes, "select"))

    def _named(self, nodes: Iterable[Node], method: str) -> list[tuple[str, Typed]]:
        outputs = []
        unnamed = 0
        for node in self._flattened(nodes, method):
            name = name_of(node)
            if name is None:
                name, unnamed = f"_c{unnamed}", unnamed + 1
            outputs.append((name, self._typed(node, f"{method}(), column {name!r}")))
        return outputs

    def _flattened(self, nodes: Iterable[Node], method: str) -> Iterable[Node]:
        for node in nodes:
            match node:
                case Call("flatten", (row,)):
                    kind = self._typed(row, f"{method}(), flatten").type
                    if kind.kind is not Kind.ROW:
                        raise InvalidExpressionError(f"{method}(): flatten is for a ROW, not for {kind}")
                    parent = name_of(row)
                    for field, _ in kind.fields:
                        own = Call("get", (row, literal(field)))
                        yield own if parent is None else Named(own, (f"{parent}${field}",))
                case _:
                    yield node

    def with_column(self, name: str, expr: Expression | Callable[[Self], Expression]) -> Self:
        """Return the DataFrame with a column added, or replaced in place if there is one with this name.

        `expr` is an expression, or a function from this DataFrame to an expression. Raises TypeError for others.
        """
        if not isinstance(name, str):
            raise TypeError(f"the name of a column is a str, not {name!r}")
        given = applied(expr, self, "with_column")
        return self._with_all([_named(name, given, "with_column")], "with_column")

    def with_columns(self, *exprs: Expression, **named_exprs: Expression) -> Self:
        """Return the DataFrame with columns added or replaced: first expressions with an alias, then named ones.

        All expressions refer to the columns of this DataFrame. Raises TypeError for an expression without a name.
        """
        nodes = []
        for own in exprs:
            if not isinstance(own, Expression):
                refuse("with_columns", own)
            if name_of(own.node) is None:
                raise TypeError(f"with_columns() needs a name for {own!r}: use alias()")
            nodes.append(own.node)
        nodes += [_named(name, own, "with_columns") for name, own in named_exprs.items()]
        return self._with_all(nodes, "with_columns")

    def _with_all(self, nodes: list[Node], method: str) -> Self:
        frame = with_overs(self, nodes)
        outputs = dict(self._all())
        outputs.update(frame._named(nodes, method))
        return frame._projected(outputs.items())

    def drop_columns(self, *columns: Columns, strict: bool = True) -> Self:
        """Return the DataFrame without these columns. With `strict` false, unknown names are ignored.

        Raises ValueError for an unknown name, or if no column is left.
        """
        dropped = set()
        for column in columns:
            node = node_of_column(column, "drop_columns")
            if not isinstance(node, Column):
                raise TypeError(f"drop_columns() takes columns, not the expression {column!r}")
            if strict:
                self.schema.index(node.name)
            dropped.add(node.name)
        kept = [(name, own) for name, own in self._all() if name not in dropped]
        if not kept:
            raise ValueError("drop_columns() leaves no column")
        return self if len(kept) == len(self.schema) else self._projected(kept)

    def drop(self, *columns: Columns, strict: bool = True) -> Self:
        """Return the same as `drop_columns`."""
        return self.drop_columns(*columns, strict=strict)

    def rename_columns(
        self,
        *args: Mapping[str, str] | Callable[[str], str] | str,
        mapping: Mapping[str, str] | Callable[[str], str] | None = None,
    ) -> Self:
        """Return the DataFrame with other names: from a dict, a function of a name, or old and new names in turn.

        Keys of a dict that are no columns are ignored. Raises ValueError for an odd number of names, an unknown name
        among them, or two columns with the same name; TypeError for other arguments.
        """
        if mapping is not None and args:
            raise ValueError("rename_columns() takes names or mapping, not both")
        rename = _renaming(args if mapping is None else (mapping,), self.columns)
        renamed = [(rename(name), own) for name, own in self._all()]
        for name, _ in renamed:
            if not isinstance(name, str):
                raise TypeError(f"the name of a column is a str, not {name!r}")
        return self if [name for name, _ in renamed] == self.columns else self._projected(renamed)

    def rename(
        self,
        *args: Mapping[str, str] | Callable[[str], str] | str,
        mapping: Mapping[str, str] | Callable[[str], str] | None = None,
    ) -> Self:
        """Return the same as `rename_columns`."""
        return self.rename_columns(*args, mapping=mapping)

    def __getitem__(self, key: str | Expression | list[Columns] | tuple[Columns, ...]) -> Any:
        """Return a column as an expression; for a list of columns `select`, for an expression `filter`."""
        if isinstance(key, str):
            self.schema.index(key)
            return Expression(Column(key))
        if isinstance(key, Expression):
            return self.filter(key)
        if not isinstance(key, list | tuple):
            refuse("[]", key)
        return self.select(*key)

    def pipe(self, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Return `func(self, *args, **kwargs)`."""
        return func(self, *args, **kwargs)

    # --- rows

    def filter(self, *predicates: Expression | str | Callable[[Self], Expression], **constraints: Any) -> Self:
        """Return the rows for which all predicates are true: expressions, SQL text, or functions of this DataFrame.

        `name=value` keeps rows where the column equals the value, `name=None` where it is NULL. Raises ValueError
        without predicates, and TypeError for other arguments.

        >>> from headgate import dataframe as pf
        >>> pf.range(5).filter(pf.col("id") > 3).collect()
        [Row(id=4)]
        """
        nodes = [self._predicate(own) for own in predicates]
        nodes += [_constraint(name, value) for name, value in constraints.items()]
        if not nodes:
            raise ValueError("filter() takes at least one predicate")
        node = nodes[0] if len(nodes) == 1 else Call("and", tuple(nodes))
        try:
            return self._filtered(self._scope.predicate(node))
        except InvalidExpressionError as error:
            raise InvalidExpressionError(f"filter(): {error}") from None

    def _predicate(self, given: Any) -> Node:
        if isinstance(given, str):
            from headgate.columns.sql_text import expression_of_text  # noqa: PLC0415  # its parser takes long to load

            return expression_of_text(given)
        made = applied(given, self, "filter")
        if not isinstance(made, Expression):
            raise TypeError(f"filter() takes expressions, SQL text and functions, not {made!r:.100}")
        return made.node

    def where(self, *predicates: Expression | str | Callable[[Self], Expression], **constraints: Any) -> Self:
        """Return the same as `filter`."""
        return self.filter(*predicates, **constraints)

    def limit(self, n: int) -> Self:
        """Return at most `n` rows. Which rows these are is not specified."""
        return self._with(Limit(self._plan, 0, _count(n, "limit")))

    def head(self, n: int) -> Self:
        """Return the same as `limit`."""
        return self.limit(n)

    def offset(self, n: int) -> Self:
        """Return the rows without the first `n`."""
        return self._with(Limit(self._plan, _count(n, "offset"), None))

    def drop_duplicates(
        self,
        subset: list[str] | None = None,
        *,
        keep: str = "first",
        order_by: Columns | None = None,
        nulls_first: bool | None = None,
    ) -> Self:
        """Return the first row to arrive of each key: the columns of `subset`, by default all columns.

        NULL is a key, too. The state grows with the number of keys. Raises ValueError for an unknown column, an empty
        list, another `keep`, or a key that is an ARRAY, MAP or ROW; UnsupportedError for `keep="last"` and `order_by`,
        whose results change with each row.

        >>> from headgate import dataframe as pf
        >>> pf.from_dict({"k": ["a", "b", "a"], "n": [1, 2, 3]}).drop_duplicates(["k"]).collect()
        [Row(k='a', n=1), Row(k='b', n=2)]
        """
        if keep not in ("first", "last"):
            raise ValueError(f"keep is 'first' or 'last', not {keep!r}")
        if order_by is not None and subset is None:
            raise ValueError("order_by needs subset, the columns of a key")
        if nulls_first is not None and order_by is None:
            raise ValueError("nulls_first needs order_by")
        if keep == "last" or order_by is not None:
            raise UnsupportedError(
                "drop_duplicates() keeps the first row to arrive: keep='last' and order_by are not supported yet, "
                "because their results change with each row"
            )
        keys = tuple(self.schema.index(name) for name in self._subset(subset))
        for key in keys:
            name, own = self.schema.columns[key]
            if own.fields:
                raise ValueError(f"drop_duplicates(): {name!r} is a {own}, which is no key: use a field of it")
        return self._with(Distinct(self._plan, keys))

    def distinct(self, subset: list[str] | None = None, **settings: Any) -> Self:
        """Do as `drop_duplicates`."""
        return self.drop_duplicates(subset, **settings)

    def unique(self, subset: list[str] | None = None, **settings: Any) -> Self:
        """Do as `drop_duplicates`."""
        return self.drop_duplicates(subset, **settings)

    # --- missing values

    def drop_null(self, subset: list[str] | None = None) -> Self:
        """Return the rows without NULL in these columns, by default in all."""
        tests = [Call("is_not_null", (Column(name),)) for name in self._subset(subset)]
        return self._filtered(self._scope.predicate(_all_true(tests)))

    def drop_nan(self, subset: list[str] | None = None) -> Self:
        """Return the rows without NaN in these columns, by default in all floating columns; NULL is kept."""
        names = [name for name in self._subset(subset) if subset is not None or self._is_floating(name)]
        tests = [Call("if_null", (Call("is_not_nan", (Column(name),)), literal(value=True))) for name in names]
        return self._filtered(self._scope.predicate(_all_true(tests))) if tests else self

    def fill_null(self, value: Any, subset: list[str] | None = None) -> Self:
        """Return the DataFrame with a value in place of NULL in these columns, by default in all.

        The value is cast to the type of each column. Raises ValueError for a column whose type it cannot have.
        """
        replaced = [
            Named(Call("if_null", (Column(name), self._cast(value, name))), (name,)) for name in self._subset(subset)
        ]
        return self._with_all(list(replaced), "fill_null")

    def fill_nan(self, value: Any, subset: list[str] | None = None) -> Self:
        """Return the DataFrame with a value in place of NaN in these columns, by default in all floating columns."""
        names = [name for name in self._subset(subset) if subset is not None or self._is_floating(name)]
        replaced = [
            Named(
                Call("if_then_else", (Call("is_nan", (Column(name),)), self._cast(value, name), Column(name))), (name,)
            )
            for name in names
        ]
        return self._with_all(list(replaced), "fill_nan")

    def _is_floating(self, name: str) -> bool:
        return self.schema.type_of(name).kind in FLOATS

    def _cast(self, value: Any, name: str) -> Node:
        own = self.schema.type_of(name)
        node = value.node if isinstance(value, Expression) else literal(value)
        is_null = isinstance(node, Literal) and node.type.kind is NULL.kind
        return Cast(node, own.nulls(is_null))

    def _subset(self, subset: list[str] | None) -> list[str]:
        if subset is None:
            return self.columns
        if not isinstance(subset, list):
            raise TypeError(f"subset is a list of names, not {subset!r}")
        if not subset:
            raise ValueError("subset has no names")
        for name in subset:
            if name not in self.schema:
                raise ValueError(f"subset has {name!r}, which is no column{nearest(str(name), self.columns)}")
        return subset


def _flat(columns: Iterable[Any]) -> list[Any]:
    flat: list[Any] = []
    for column in columns:
        flat += column if isinstance(column, list | tuple) else [column]
    return flat


def _named(name: str, given: Any, method: str) -> Node:
    if not isinstance(given, Expression):
        raise TypeError(f"column {name!r} of {method}() is an expression, not {given!r:.100}: use lit() for a constant")
    return given.alias(name).node


def _constraint(name: str, value: Any) -> Node:
    if value is None:
        return Call("is_null", (Column(name),))
    return Call("equals", (Column(name), value.node if isinstance(value, Expression) else literal(value)))


def _all_true(tests: list[Call]) -> Node:
    return tests[0] if len(tests) == 1 else Call("and", tuple(tests))


def _renaming(args: tuple[Any, ...], columns: list[str]) -> Callable[[str], str]:
    if len(args) == 1 and isinstance(args[0], Mapping):
        given: Mapping[str, str] = args[0]
        return lambda name: given.get(name, name)
    if len(args) == 1 and callable(args[0]):
        function: Callable[[str], str] = args[0]
        return function
    if not args or not all(isinstance(own, str) for own in args):
        raise TypeError("rename_columns() takes a dict, a function, or old and new names in turn")
    if len(args) % 2:
        raise ValueError(f"rename_columns() takes old and new names in turn, but got {len(args)} names")
    pairs = dict(zip(args[::2], args[1::2], strict=True))
    for name in pairs:
        if name not in columns:
            raise ValueError(f"there is no column {name!r}{nearest(name, columns)}")
    return lambda name: pairs.get(name, name)


def _count(n: Any, method: str) -> int:
    if isinstance(n, bool) or not isinstance(n, int):
        raise TypeError(f"{method}() takes an int, not {n!r}")
    if not 0 <= n <= _ROWS_MAX:
        raise ValueError(f"{method}() takes 0 to {_ROWS_MAX} rows, not {n}")
    return n
