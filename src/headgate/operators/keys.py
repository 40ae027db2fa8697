"""User code that says where a record goes: key selectors, and partitioners of `partition_custom`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from operator import index
from types import ModuleType
from typing import Any, Final, NoReturn, TypeVar, final

from headgate.elements import Batch
from headgate.errors import SerializationError
from headgate.functions.api import Function, KeySelector, Partitioner
from headgate.functions.context import RuntimeContext
from headgate.graph.logical import AnyKeySelector
from headgate.operators.base import USER_ERRORS, FunctionWrapper, UserCodeError, failed_at, last_index, method_of
from headgate.types.conversion import UNFIT, Conversion, conversion, culprit
from headgate.types.type_information import TypeInformation
from headgate.types.typed_key import all_typed, key_bytes, typed, untyped

Route = TypeVar("Route")

_SIMPLE: Final = frozenset({int, str, bytes})


@final
class DeclaredKeys(FunctionWrapper, KeySelector):
    """A key selector that converts keys to their declared type."""

    def __init__(self, selector: AnyKeySelector, key_type: TypeInformation) -> None:
        self.selector = selector
        self.key_type = key_type

    @property
    def inner(self) -> tuple[object]:
        return (self.selector,)

    def get_key(self, value: Any) -> Any:
        return untyped(KeySelection(self).keys(Batch([value]))[0])


@final
class KeySelection:
    """Computes the keys of records: calls the user's selector, and converts keys to the declared type, if any."""

    def __init__(self, selector: AnyKeySelector, native: ModuleType | None = None) -> None:
        """`native` is the compiled module, if the job uses it."""
        self._selected: Selected = _selected if native is None else native.selected
        self._type = selector.key_type if isinstance(selector, DeclaredKeys) else None
        self._convert = None if self._type is None else conversion(self._type)
        own = selector.selector if isinstance(selector, DeclaredKeys) else selector
        self.select: Callable[[Any], Any] = method_of(own, "get_key")
        """The user's selector."""

    def keys(self, batch: Batch) -> list[Any]:
        """Return the key of each record, in the form in which keys are looked up.

        Raises `UserCodeError` naming the record for which the selector fails or returns an invalid key.
        """
        return self.checked(batch)[0]

    def checked(self, batch: Batch) -> tuple[list[Any], bool]:
        """Return the keys, as `keys` does, and whether all are known to be valid, as any int, str and bytes is."""
        records, select = batch.records, self.select
        position = iter(records)
        try:
            keys, are_simple = self._selected(select, position)
        except USER_ERRORS as error:
            raise failed_at(records, position) from error
        if self._convert is not None:
            keys = self._declared(keys, self._convert, batch)
            are_simple = _are_simple(keys)
        if are_simple:
            return keys, True
        try:
            return all_typed(keys), False
        except Exception:  # noqa: BLE001  # of the user's own classes
            return _typed_one_by_one(keys, batch), False

    def _declared(self, keys: list[Any], convert: Conversion, batch: Batch) -> list[Any]:
        try:
            return list(convert(keys))
        except UNFIT:
            index, error = culprit(convert, keys)
            refusal = TypeError(f"the key is not of its declared type {self._type}: {error}")
            raise UserCodeError(record=batch.records[index], key=keys[index]) from refusal


Selected = Callable[[Callable[[Any], Any], Iterator[Any]], tuple[list[Any], bool]]
"""Calls a selector for each record: the keys, and whether all are of exactly int, str or bytes."""


def _selected(select: Callable[[Any], Any], records: Iterator[Any]) -> tuple[list[Any], bool]:
    keys = [select(value) for value in records]
    return keys, _are_simple(keys)


def _are_simple(keys: list[Any]) -> bool:
    return _SIMPLE.issuperset(map(type, keys))


def _typed_one_by_one(keys: list[Any], batch: Batch) -> list[Any]:
    """Return the keys in the form in which they are looked up. Raises `UserCodeError` naming the record."""
    position = iter(keys)
    try:
        return [typed(key) for key in position]
    except Exception as error:
        index = last_index(keys, position)
        raise UserCodeError(record=batch.records[index], key=keys[index]) from error


def look_up(routes: Mapping[Any, Route], keys: list[Any], batch: Batch) -> list[Route]:
    """Return the entry of the cache `routes` for each key. Raises `UserCodeError` for the record of an invalid key."""
    position = iter(keys)
    try:
        return [routes[key] for key in position]
    except Exception as error:  # noqa: BLE001  # of the user's own hash or equality
        invalid_key(keys, position, batch, error)


def invalid_key(keys: list[Any], position: Iterator[Any], batch: Batch, error: Exception) -> NoReturn:
    """Raise the `UserCodeError` for the record whose key the iterator gave last, and which has caused the error."""
    index = last_index(keys, position)
    raise UserCodeError(record=batch.records[index], key=untyped(keys[index])) from _refusal(keys[index], error)


def _refusal(key: Any, error: Exception) -> Exception:
    """Return the error that says why `key` is invalid. For an unhashable key it is the error of its canonical bytes."""
    if isinstance(error, SerializationError):
        return error
    try:
        key_bytes(key)
    except SerializationError as better:
        return better
    return error


AnyPartitioner = Partitioner | Callable[[Any, int], int]
"""A partitioner of the user: called with a key and the number of subtasks, it returns the index of a subtask."""


@final
class CustomPartition(KeySelector):
    """The selector and the partitioner of `partition_custom`."""

    def __init__(self, partitioner: AnyPartitioner, selector: AnyKeySelector) -> None:
        self.partitioner = partitioner
        self.selector = selector

    def open(self, runtime_context: RuntimeContext) -> None:
        for part in (self.partitioner, self.selector):
            if isinstance(part, Function):
                part.open(runtime_context)

    def close(self) -> None:
        for part in (self.partitioner, self.selector):
            if isinstance(part, Function):
                part.close()

    def get_key(self, value: Any) -> Any:
        return method_of(self.selector, "get_key")(value)

    def targets(self, batch: Batch, count: int) -> list[int]:
        """Return the subtask for each record, an index below `count`. Raises `UserCodeError` naming the record."""
        select, partition = method_of(self.selector, "get_key"), method_of(self.partitioner, "partition")
        records = batch.records
        position = iter(records)
        targets = []
        try:
            for record in position:
                target = partition(select(record), count)
                if not (hasattr(target, "__index__") and 0 <= target < count):
                    raise ValueError(f"the partitioner returned {target!r}, not a number from 0 to {count - 1}")
                targets.append(index(target))
        except USER_ERRORS as error:
            raise failed_at(records, position, "partition_custom") from error
        return targets
