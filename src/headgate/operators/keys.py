"""Keys of records: the selector is called for each, and what it gives is looked up."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from headgate.elements import Batch
from headgate.errors import SerializationError
from headgate.operators.base import USER_ERRORS, UserCodeError, failed_at, last_index
from headgate.types.keys import canonical_bytes

Route = TypeVar("Route")


def select_keys(select: Callable[[Any], Any], batch: Batch) -> list[Any]:
    """Return the key of each record. Raises `UserCodeError` naming the record for which the selector fails."""
    records = batch.records
    position = iter(records)
    try:
        return [select(value) for value in position]
    except USER_ERRORS as error:
        raise failed_at(records, position) from error


def look_up(routes: Mapping[Any, Route], keys: list[Any], batch: Batch) -> list[Route]:
    """Return what the cache `routes` has for each key. Raises `UserCodeError` naming a record without a proper key."""
    position = iter(keys)
    try:
        return [routes[key] for key in position]
    except Exception as error:  # noqa: BLE001  # of the user's own hash or equality
        index = last_index(keys, position)
        raise UserCodeError(record=batch.records[index], key=keys[index]) from _refusal(keys[index], error)


def _refusal(key: Any, error: Exception) -> Exception:
    """Return the error that says why `key` cannot be one: for a key without a hash, that of its canonical bytes."""
    if isinstance(error, SerializationError):
        return error
    try:
        canonical_bytes(key)
    except SerializationError as better:
        return better
    return error
