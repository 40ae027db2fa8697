"""The functions that begin expressions, with the names of `pyflink.table.expressions`."""

from __future__ import annotations

from typing import Any

from headgate import unsupported
from headgate.columns.given_types import logical_type
from headgate.columns.json_values import json_construction
from headgate.columns.nodes import Call, Column, literal
from headgate.columns.operand import node_of
from headgate.table.collection_functions import array, map_, map_from_arrays, row
from headgate.table.expression import Expression
from headgate.table.json_behavior import JsonOnNull
from headgate.table.time_functions import (
    convert_tz,
    current_date,
    current_time,
    current_timestamp,
    current_watermark,
    date_format,
    from_unixtime,
    local_time,
    local_timestamp,
    temporal_overlaps,
    timestamp_diff,
    to_date,
    to_timestamp,
    to_timestamp_ltz,
    unix_timestamp,
)

__all__ = [
    "and_",
    "array",
    "atan2",
    "call_sql",
    "coalesce",
    "col",
    "concat",
    "concat_ws",
    "convert_tz",
    "current_date",
    "current_time",
    "current_timestamp",
    "current_watermark",
    "date_format",
    "e",
    "from_unixtime",
    "greatest",
    "if_then_else",
    "json_array",
    "json_object",
    "json_string",
    "least",
    "lit",
    "local_time",
    "local_timestamp",
    "log",
    "map_",
    "map_from_arrays",
    "negative",
    "not_",
    "null_of",
    "or_",
    "pi",
    "rand",
    "rand_integer",
    "row",
    "temporal_overlaps",
    "timestamp_diff",
    "to_date",
    "to_timestamp",
    "to_timestamp_ltz",
    "typeof",
    "unix_timestamp",
    "uuid",
]


def col(name: str) -> Expression:
    """Return the column with this name. Raises TypeError if it is no string."""
    if not isinstance(name, str):
        raise TypeError(f"col() takes the name of a column, not {name!r}")
    return Expression(Column(name))


def lit(v: Any, data_type: Any = None) -> Expression:
    """Return a constant, whose type follows from its value unless it is given.

    Raises TypeError for a value without a type in SQL, and ValueError for a value that does not fit the type.
    """
    return Expression(literal(v, None if data_type is None else logical_type(data_type)))


def call_sql(sql_expression: str) -> Expression:
    """Return the expression of SQL text, such as `"price * 2 > 10 AND name LIKE 'a%'"`.

    The text must not contain aggregates or queries. Raises TypeError if it is no string, and
    `InvalidExpressionError`, a ValueError, if it is no expression of Flink SQL; the error names the place in the text.

    >>> call_sql("UPPER(name) || '!'")
    concat_operator(upper_case(name), '!')
    """
    if not isinstance(sql_expression, str):
        raise TypeError(f"call_sql() takes SQL text, not {sql_expression!r}")
    from headgate.columns.sql_text import expression_of_text  # noqa: PLC0415  # its parser takes long to load

    return Expression(expression_of_text(sql_expression))


def _call(function: str, *arguments: Any) -> Expression:
    return Expression(Call(function, tuple(map(node_of, arguments))))


def and_(predicate0: Any, predicate1: Any, *predicates: Any) -> Expression:
    """Whether all BOOLEANs are true. If none is false, NULL if one is NULL."""
    return _call("and", predicate0, predicate1, *predicates)


def or_(predicate0: Any, predicate1: Any, *predicates: Any) -> Expression:
    """Whether one of the BOOLEANs is true; if none is, NULL if one is NULL, else false."""
    return _call("or", predicate0, predicate1, *predicates)


def not_(expression: Any) -> Expression:
    """Whether the BOOLEAN is false; NULL for NULL."""
    return _call("not", expression)


def if_then_else(condition: Any, if_true: Any, if_false: Any) -> Expression:
    """Return `if_true` where the condition is true, else `if_false`. Each is computed only where it is the result."""
    return _call("if_then_else", condition, if_true, if_false)


def coalesce(*args: Any) -> Expression:
    """Return the first argument that is not NULL."""
    return _call("coalesce", *args)


def null_of(data_type: Any) -> Expression:
    """Return NULL as a value of a type."""
    return lit(None, data_type)


def negative(v: Any) -> Expression:
    """Return the number, or the interval of time, with the other sign."""
    return _call("negate", v)


def log(v: Any, base: Any = None) -> Expression:
    """Return the logarithm to a base, by default the natural logarithm."""
    return _call("ln", v) if base is None else _call("log", base, v)


def atan2(y: Any, x: Any) -> Expression:
    """Return the angle in radians of the point (x, y)."""
    return _call("atan2", y, x)


def pi() -> Expression:
    """Return the DOUBLE that is closest to pi."""
    return _call("pi")


def e() -> Expression:
    """Return the DOUBLE that is closest to Euler's number."""
    return _call("e")


def rand(seed: Any = None) -> Expression:
    """Return a random DOUBLE for each row, at least 0 and below 1. The same seed gives the same numbers in each run."""
    return _call("rand") if seed is None else _call("rand", seed)


def rand_integer(bound: Any, seed: Any = None) -> Expression:
    """Return a random INT for each row, at least 0 and below `bound`. The same seed gives the same numbers."""
    return _call("rand_integer", bound) if seed is None else _call("rand_integer", bound, seed)


def uuid() -> Expression:
    """Return a random UUID for each row, as text."""
    return _call("uuid")


def greatest(*args: Any) -> Expression:
    """Return the greatest of the arguments; NULL if one of them is NULL."""
    return _call("greatest", *args)


def least(*args: Any) -> Expression:
    """Return the least of the arguments; NULL if one of them is NULL."""
    return _call("least", *args)


def concat(first: Any, *others: Any) -> Expression:
    """Return texts, or bytes, one after the other; NULL if one is NULL."""
    return _call("concat", first, *others)


def concat_ws(separator: Any, first: Any, *others: Any) -> Expression:
    """Return texts with a separator between them. NULL texts are left out. NULL if the separator is NULL."""
    return _call("concat_ws", separator, first, *others)


def json_object(on_null: JsonOnNull = JsonOnNull.NULL, *args: Any) -> Expression:
    """Return a JSON object of keys and values in turns, as a text. Keys are constants.

    >>> json_object(JsonOnNull.ABSENT, "id", col("id"), "tags", json_array(JsonOnNull.NULL, "a"))
    json_object('id', id, 'tags', json_array('a', 'NULL', (False,)), 'ABSENT', (False, False, False, True))
    """
    return Expression(json_construction("json_object", on_null.name, [*map(node_of, args)]))


def json_array(on_null: JsonOnNull = JsonOnNull.ABSENT, *args: Any) -> Expression:
    """Return a JSON array of the values, as a text. Results of `json_object` and `json_array` are nested as JSON."""
    return Expression(json_construction("json_array", on_null.name, [*map(node_of, args)]))


def typeof(input: Any) -> Expression:
    """Return the type of an expression in SQL, as a text.

    >>> from headgate import dataframe as pf
    >>> pf.range(1).select(own=typeof(pf.col("id") / 2)).collect()
    [Row(own='BIGINT NOT NULL')]
    """
    return _call("typeof", input)


def json_string(value: Any) -> Expression:
    """Return the value as JSON; NULL for NULL."""
    return _call("json_string", value)


unsupported.guard(__name__, globals())
