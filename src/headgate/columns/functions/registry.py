"""The built-in functions of expressions: how a call is checked, which type it has, and what computes it.

A function is a *rule*: it gets a `CallSite` with typed arguments, and returns a typed expression. Modules of this
package register their rules when they are imported, which `all_functions` does for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn, final

import pyarrow as pa

from headgate.columns.casting import coerced
from headgate.columns.functions.explicit_casts import cast
from headgate.columns.logical_types import Kind, LogicalType, widest
from headgate.columns.program import folded
from headgate.columns.schema import nearest
from headgate.columns.typed import Apply, Constant, Kernel, Typed, Values
from headgate.errors import InvalidExpressionError


@final
@dataclass(frozen=True, slots=True)
class CallSite:
    """One call of a function: its typed arguments, its options, and the time zone of the session."""

    function: str
    arguments: tuple[Typed, ...]
    options: tuple[Any, ...]
    zone: str

    @property
    def types(self) -> list[LogicalType]:
        """The types of the arguments."""
        return [own.type for own in self.arguments]

    def fail(self, wanted: str) -> NoReturn:
        """Raise `InvalidExpressionError`, which names the function and the types it was given."""
        given = ", ".join(map(str, self.types)) or "nothing"
        raise InvalidExpressionError(f"{self.function}() takes {wanted}, not {given}: cast the arguments")

    def expect(self, index: int, kinds: Iterable[Kind], wanted: str) -> Typed:
        """Return an argument. Raises `InvalidExpressionError` unless its kind is one of `kinds`, or NULL."""
        own = self.arguments[index]
        if own.type.kind is not Kind.NULL and own.type.kind not in tuple(kinds):
            self.fail(wanted)
        return own

    def expect_count(self, least: int, most: int | None = None) -> None:
        """Raise `InvalidExpressionError` unless there are `least` to `most` arguments; `most` None: exactly `least`."""
        most = least if most is None else most
        if not least <= len(self.arguments) <= most:
            count = f"{least}" if least == most else f"{least} to {most}"
            raise InvalidExpressionError(f"{self.function}() takes {count} arguments, not {len(self.arguments)}")

    def converted(self, index: int, kind: LogicalType) -> Typed:
        """Return an argument, converted without loss to a type. Raises `InvalidExpressionError` if it cannot be."""
        own = self.arguments[index]
        made = coerced(own, kind.nulls(own.type.nullable or own.type.kind is Kind.NULL))
        if made is None:
            self.fail(f"a {kind} as argument {index + 1}")
        return made

    def constant(self, index: int, kind: type[Any], wanted: str) -> Any:
        """Return the Python value of a constant argument. Raises `InvalidExpressionError` for any other argument."""
        own = self.arguments[index]
        value = own.value.as_py() if isinstance(own, Constant) else None
        if isinstance(value, kind) and not (kind is int and isinstance(value, bool)):
            return value
        raise InvalidExpressionError(f"argument {index + 1} of {self.function}() is {wanted}, a constant")

    def to_widest(self, arguments: Sequence[Typed] | None = None) -> list[Typed]:
        """Return the arguments, converted to their common type. Raises `InvalidExpressionError` if there is none.

        A TIMESTAMP beside a TIMESTAMP_LTZ is a time of the session's zone. A DECIMAL that has too many digits for the
        common type is NULL.
        """
        given = self.arguments if arguments is None else arguments
        common = widest(own.type for own in given)
        if common is None:
            self.fail("arguments of one type")
        found = [(own, coerced(own, common.nulls(own.type.nullable))) for own in given]
        return [cast(own, common, self.zone) if made is None else made for own, made in found]

    def apply(  # noqa: PLR0913  # the parts of a call
        self,
        kernel: Kernel,
        result: LogicalType,
        arguments: Sequence[Typed] | None = None,
        *,
        options: tuple[Any, ...] | None = None,
        can_fail: bool = False,
        by_value: bool = False,
        nullable: bool | None = None,
    ) -> Typed:
        """Return the call of a kernel; a constant if all arguments are.

        The result has NULL if an argument has, unless `nullable` says otherwise.
        """
        given = tuple(self.arguments if arguments is None else arguments)
        has_null = any(own.type.nullable for own in given) if nullable is None else nullable
        return folded(
            Apply(
                function=self.function,
                arguments=given,
                type=result.nulls(has_null),
                kernel=kernel,
                options=self.options if options is None else options,
                can_fail=can_fail,
                by_value=by_value,
            )
        )


Rule = Callable[[CallSite], Typed]

_RULES: Final[dict[str, Rule]] = {}


def function(*names: str) -> Callable[[Rule], Rule]:
    """Register the decorated rule under these names."""

    def register(rule: Rule) -> Rule:
        for name in names:
            assert name not in _RULES, name
            _RULES[name] = rule
        return rule

    return register


def simple(
    kernels: Mapping[str, Kernel], kinds: Sequence[Kind], wanted: str, result: LogicalType, **flags: Any
) -> None:
    """Register functions of one argument of these kinds, with the kernel of each name. `flags` go to `apply`."""
    for name, kernel in kernels.items():

        def rule(call: CallSite, kernel: Kernel = kernel) -> Typed:
            call.expect_count(1)
            call.expect(0, kinds, wanted)
            return call.apply(kernel, result, **flags)

        function(name)(rule)


def _rules() -> Mapping[str, Rule]:
    """Return the rules of all functions. The first call imports the modules that define them."""
    from headgate.columns.functions import all_functions  # noqa: F401, PLC0415  # takes long, and imports this module

    return _RULES


def rule_of(name: str) -> Rule:
    """Return the rule of a function. Raises `InvalidExpressionError` with the nearest name for an unknown one."""
    found = _rules().get(name)
    if found is None:
        raise InvalidExpressionError(f"there is no function {name}(){nearest(name, _RULES)}")
    return found


def names() -> list[str]:
    """Return the names of all functions, sorted."""
    return sorted(_rules())


def for_each(compute: Callable[..., Any], result: pa.DataType, *columns: Values) -> Values:
    """Return the column of what `compute` returns for the Python values of each row; NULL where an argument is.

    For functions that Arrow does not have. Give it to `CallSite.apply` as `partial(for_each, compute, type)`, with
    `by_value=True`.

    >>> for_each(lambda text: text[::2], pa.string(), pa.array(["abcd", None])).to_pylist()
    ['ac', None]
    """
    rows = max((len(own) for own in columns if not isinstance(own, pa.Scalar)), default=None)
    if rows is None:
        values = [own.as_py() for own in columns]
        return pa.scalar(None if None in values else compute(*values), result)
    given = [[own.as_py()] * rows if isinstance(own, pa.Scalar) else own.to_pylist() for own in columns]
    return pa.array(
        [None if any(value is None for value in row) else compute(*row) for row in zip(*given, strict=True)], result
    )
