"""The functions of `pyflink.table.expressions` that make arrays, maps and rows."""

from __future__ import annotations

from typing import Any

from headgate.table.expression import Expression, call_of


def array(head: Any, *tail: Any) -> Expression:
    """Return an array of values, in their common type.

    >>> array(1, 2, 3)
    array(1, 2, 3)
    """
    return call_of("array", head, *tail)


def row(head: Any, *tail: Any) -> Expression:
    """Return a row of values, whose fields are named f0, f1 and so on."""
    return call_of("row", head, *tail)


def map_(key: Any, value: Any, *tail: Any) -> Expression:
    """Return a map of keys and values in turn. If a key occurs twice, its last value counts."""
    return call_of("map", key, value, *tail)


def map_from_arrays(key: Any, value: Any) -> Expression:
    """Return a map of an array of keys and an array of values. Arrays of different lengths fail the job."""
    return call_of("map_from_arrays", key, value)
