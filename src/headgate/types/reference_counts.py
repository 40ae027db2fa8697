"""The meaning of reference counts: what `sys.getrefcount` returns for a value that nothing else holds.

CPython counts references exactly. The count for a value that only the caller holds depends on the interpreter, and is
measured when this module is imported. Where one more holder does not show as one more reference, as without a global
interpreter lock, every value counts as held.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from sys import getrefcount
from typing import Any, Final, final

from headgate.types.row import Row


@final
@dataclass(slots=True)
class References:
    """What `getrefcount` returns where nothing else holds a value, by place; -1: every value counts as held.

    `local`: the value is in the variable of a loop. `listed`: the same, and in a container. `passed`: in two variables,
    and in a list. `inner`: in one variable, and in an object that owns it. `given`: an argument that the caller has in
    a variable. `results`: the same, while a loop iterates over it.
    """

    local: int = -1
    listed: int = -1
    passed: int = -1
    inner: int = -1
    given: int = -1
    results: int = -1


ALONE: Final = References()
"""The counts on this interpreter."""


def _local(held: list[Any]) -> int:
    for record in iter(held) if held else map(list, ((),)):
        return getrefcount(record)
    return -1


def _listed(held: list[Any]) -> int:
    for record in [*held] if held else [[]]:
        return getrefcount(record)
    return -1


def _passed_on(value: Any) -> Any:
    return value


def _passed(held: list[Any]) -> int:
    for value in iter([*held] if held else [[]]):
        result = _passed_on(value)
        return getrefcount(result)
    return -1


def _inner(held: list[Any]) -> int:
    row = Row(0)
    if held:
        row._values = held[0]
    values = row._values
    return getrefcount(values)


def _given(held: list[Any]) -> int:
    def count(polled: Any) -> int:
        return getrefcount(polled)

    polled: list[Any] = held[0] if held else [0]
    return count(polled)


def _results(held: list[Any]) -> int:
    def count(results: Any) -> int:
        for _ in results:
            return getrefcount(results)
        return -1

    results: list[Any] = held[0] if held else [0]
    return count(results)


def references_given(count: Callable[[Any], int]) -> int:
    """Return what a compiled `count` says of an argument that the caller has in one variable; -1: not to be relied on.

    A caller may lend a reference that it does not own, so an argument can have one less than for a Python function.
    """
    alone = [0]
    held = [[0]]
    value = held[0]
    by_caller, by_another = count(alone), count(value)
    return by_caller if by_another == by_caller + 1 and 0 < by_caller <= _GIVEN_MAX else -1


_MEASURES: Final = {
    "local": _local,
    "listed": _listed,
    "passed": _passed,
    "inner": _inner,
    "given": _given,
    "results": _results,
}
"""Each returns the count for a value that nothing else holds, or that only the given list of one value holds."""

_GIVEN_MAX: Final = 2
"""The variable of the caller and the argument itself. A greater count would hide a holder."""
_EXPECTED: Final = References(local=2, listed=3, passed=4, inner=3, given=3, results=4)
"""The counts of CPython 3.11. A greater count would hide a holder."""


def _calibrate() -> None:
    """Set `ALONE` for this interpreter, unless one more holder does not show as one more reference."""
    alone = {name: count([]) for name, count in _MEASURES.items()}
    exact = all(count([[0]]) == alone[name] + 1 for name, count in _MEASURES.items())
    bounded = all(0 < alone[name] <= getattr(_EXPECTED, name) for name in alone)
    if exact and bounded and getattr(sys, "_is_gil_enabled", lambda: True)():
        for name, count in alone.items():
            setattr(ALONE, name, count)


_calibrate()
