"""Calls of the methods of user functions, and how their return values become the results of a record.

Where a job runs compiled, calls are objects of the compiled module, whose loops emit a record without a tuple of one.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain
from types import GeneratorType, ModuleType
from typing import Any, Final, Protocol, final

from headgate.errors import ProgramError
from headgate.operators.base import method_of

RecordCall = Callable[[Any, Any], "Iterable[Any] | None"]
"""A call with a record and a context, which returns the results for the record."""

UserMethod = Callable[..., Any]


class CallScope(Protocol):
    """The context of an operator or of its function, as far as it says which path the job runs."""

    @property
    def native(self) -> ModuleType | None:
        """The compiled module, None if the job runs in Python."""
        ...


def _one(method: UserMethod, native: ModuleType | None) -> RecordCall:
    if native is not None:
        return _compiled(native, "one", method)
    return lambda value, context: (method(value),)


def _at_most_one(method: UserMethod, native: ModuleType | None) -> RecordCall:
    if native is not None:
        return _compiled(native, "optional", method)

    def call(value: Any, context: Any) -> Iterable[Any] | None:
        result = method(value)
        return None if result is None else (result,)

    return call


def _itself(method: UserMethod, native: ModuleType | None) -> RecordCall:
    if native is not None:
        return _compiled(native, "itself", method)
    return lambda value, context: (value,) if method(value) else None


def _without_context(method: UserMethod, native: ModuleType | None) -> RecordCall:
    if native is not None:
        return _compiled(native, "many_of_one", method)
    checked = many_of_one(method, None)
    return lambda value, context: checked(value)


def _compiled(native: ModuleType, kind: str, method: UserMethod) -> RecordCall:
    call: RecordCall = native.Call(kind, method, expect_records)
    return call


_RECORDS: Final = frozenset({type(None), list, tuple, GeneratorType, map, filter, zip, chain, type(iter([]))})
"""Classes of usual return values, which `expect_records` need not check."""


def many(method: UserMethod, native: ModuleType | None) -> UserMethod:
    """Return a method of two arguments with a check that its result is an iterable of records, or None.

    A generator function is returned unchanged: it can only return a generator, so no check is needed.
    """
    if inspect.isgeneratorfunction(method):
        return method
    if native is not None:
        return _compiled(native, "many", method)

    def call(value: Any, context: Any) -> Iterable[Any] | None:
        results = method(value, context)
        if type(results) not in _RECORDS:
            expect_records(results, method)
        return results  # type: ignore[no-any-return]  # a cast costs a call for each record

    return call


def many_of_one(method: UserMethod, native: ModuleType | None) -> UserMethod:
    """Do as `many` does with a method of one argument."""
    if inspect.isgeneratorfunction(method):
        return method
    if native is not None:
        return _compiled(native, "many_of_one", method)

    def call(value: Any) -> Iterable[Any] | None:
        results = method(value)
        if type(results) not in _RECORDS:
            expect_records(results, method)
        return results  # type: ignore[no-any-return]

    return call


def many_of_pair(method: UserMethod) -> UserMethod:
    """Do as `many` does with a method of two records and a context."""
    if inspect.isgeneratorfunction(method):
        return method

    def call(left: Any, right: Any, context: Any) -> Iterable[Any] | None:
        results = method(left, right, context)
        if type(results) not in _RECORDS:
            expect_records(results, method)
        return results  # type: ignore[no-any-return]

    return call


def expect_records(results: object, method: UserMethod) -> None:
    """Raise ProgramError, naming the method, unless the results are iterable."""
    if not hasattr(results, "__iter__"):
        name = getattr(method, "__name__", type(method).__name__)
        raise ProgramError(
            f"{name}() returned {results!r:.100}, of type {type(results).__name__}, but it may emit any number of "
            "records: yield it, or return a list of records"
        )


@final
@dataclass(frozen=True, slots=True)
class Method:
    """A method of user functions, and the adapter that turns its return value into an operator's results."""

    name: str
    adapt: Callable[[UserMethod, ModuleType | None], RecordCall]

    def call(self, function: object, scope: CallScope) -> RecordCall:
        """Return the adapted call of the method; a plain callable is adapted itself."""
        return self.adapt(method_of(function, self.name), scope.native)


MAP: Final = Method("map", _one)
FLAT_MAP: Final = Method("flat_map", _without_context)
FILTER: Final = Method("filter", _itself)
PROCESS: Final = Method("process_element", many)
CO_MAP: Final = Method("map1", _at_most_one), Method("map2", _at_most_one)
CO_FLAT_MAP: Final = Method("flat_map1", _without_context), Method("flat_map2", _without_context)
CO_PROCESS: Final = Method("process_element1", many), Method("process_element2", many)
