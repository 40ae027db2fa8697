"""The functions of Flink SQL, registered under their names in the Table API."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from typing import Any, Final

from headgate.columns.json_values import json_construction
from headgate.columns.nodes import Call, Node, literal
from headgate.errors import InvalidExpressionError

_SAME_NAME: Final = """
    ABS ACOS ASIN ATAN ATAN2 BIN CEIL COS COSH COT DEGREES E EXP FLOOR HEX LN LOG LOG10 LOG2 PI POWER RADIANS RAND
    RAND_INTEGER ROUND SIGN SIN SINH SQRT TAN TANH TRUNCATE UNHEX UUID
    ASCII BTRIM CHAR_LENGTH CHR CONCAT CONCAT_WS DECODE ELT ENCODE FROM_BASE64 INSTR LEFT LOCATE LPAD LTRIM OVERLAY
    PARSE_URL PRINTF REGEXP REGEXP_COUNT REGEXP_EXTRACT REGEXP_EXTRACT_ALL REGEXP_INSTR REGEXP_REPLACE
    REGEXP_SUBSTR REPEAT REPLACE REVERSE RIGHT RPAD RTRIM SPLIT SPLIT_INDEX STR_TO_MAP SUBSTR SUBSTRING TO_BASE64
    TRANSLATE URL_DECODE URL_ENCODE MD5 SHA1 SHA224 SHA256 SHA384 SHA512 SHA2
    CONVERT_TZ CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP CURRENT_WATERMARK DATE_FORMAT EXTRACT FROM_UNIXTIME PROCTIME
    SOURCE_WATERMARK TO_DATE TO_TIMESTAMP TO_TIMESTAMP_LTZ UNIX_TIMESTAMP
    COALESCE GREATEST LEAST TYPEOF
    ARRAY ARRAY_APPEND ARRAY_CONCAT ARRAY_CONTAINS ARRAY_DISTINCT ARRAY_EXCEPT ARRAY_INTERSECT ARRAY_JOIN ARRAY_MAX
    ARRAY_MIN ARRAY_POSITION ARRAY_PREPEND ARRAY_REMOVE ARRAY_REVERSE ARRAY_SLICE ARRAY_SORT ARRAY_UNION CARDINALITY
    ELEMENT MAP MAP_ENTRIES MAP_FROM_ARRAYS MAP_KEYS MAP_UNION MAP_VALUES ROW
    JSON_EXISTS JSON_QUERY JSON_QUOTE JSON_STRING JSON_UNQUOTE JSON_VALUE
"""

_REGISTERED: Final[dict[str, str]] = {
    **{name: name.lower() for name in _SAME_NAME.split()},
    "CEILING": "ceil",
    "CHARACTER_LENGTH": "char_length",
    "CURRENT_ROW_TIMESTAMP": "current_timestamp",
    "ENDSWITH": "ends_with",
    "IF": "if_then_else",
    "IFNULL": "if_null",
    "INITCAP": "init_cap",
    "LOCALTIME": "local_time",
    "LOCALTIMESTAMP": "local_timestamp",
    "LOWER": "lower_case",
    "MOD": "modulo",
    "NOW": "current_timestamp",
    "NULLIF": "null_if",
    "STARTSWITH": "starts_with",
    "TIMESTAMPADD": "timestamp_add",
    "TIMESTAMPDIFF": "timestamp_diff",
    "UPPER": "upper_case",
}

_UNIT_OF: Final = {
    **{name: name for name in ("YEAR", "QUARTER", "MONTH", "WEEK", "HOUR", "MINUTE", "SECOND")},
    "DAYOFYEAR": "DOY",
    "DAYOFMONTH": "DAY",
    "DAYOFWEEK": "DOW",
}
"""Functions that are other names of EXTRACT, with their units."""

_AGGREGATES: Final = """
    APPROX_COUNT_DISTINCT ARRAY_AGG AVG COLLECT COUNT FIRST_VALUE JSON_ARRAYAGG JSON_OBJECTAGG LAST_VALUE LISTAGG MAX
    MIN PERCENTILE STDDEV_POP STDDEV_SAMP SUM VAR_POP VAR_SAMP VARIANCE
    CUME_DIST DENSE_RANK LAG LEAD NTILE PERCENT_RANK RANK ROW_NUMBER
"""


_TRIMS: Final = {"BOTH": "trim", "LEADING": "trim_leading", "TRAILING": "trim_trailing"}


def _trim(arguments: Sequence[Node], units: Sequence[Any]) -> Node:
    if not units:
        return Call("trim", tuple(arguments))
    characters, text = arguments
    spaces = characters == literal(" ")
    return Call(_TRIMS[units[0]], (text,) if spaces else (text, characters))


def _position(arguments: Sequence[Node], units: Sequence[Any]) -> Node:
    return Call("position" if len(arguments) < 3 else "locate", tuple(arguments))


def _json_object(arguments: Sequence[Node], options: Sequence[Any]) -> Node:
    return json_construction("json_object", options[0], arguments)


def _json_array(arguments: Sequence[Node], options: Sequence[Any]) -> Node:
    return json_construction("json_array", options[0], arguments)


_SPECIAL: Final[dict[str, Callable[[Sequence[Node], Sequence[Any]], Node]]] = {
    "JSON_ARRAY": _json_array,
    "JSON_OBJECT": _json_object,
    "POSITION": _position,
    "TRIM": _trim,
}


def call_of(name: str, arguments: Sequence[Node], *options: Any) -> Node:
    """Return the call of a function by its name in SQL, in any case. `options` are words, such as a unit of time.

    Raises `InvalidExpressionError` with the nearest name for an unknown function.

    >>> from headgate.columns.nodes import Column
    >>> call_of("Upper", [Column("name")])
    Call(function='upper_case', arguments=(Column(name='name'),), options=())
    """
    wanted = name.upper()
    if wanted in _SPECIAL:
        return _SPECIAL[wanted](arguments, options)
    if wanted in _UNIT_OF:
        return Call("extract", tuple(arguments), (_UNIT_OF[wanted],))
    registered = _REGISTERED.get(wanted)
    if registered is not None:
        return Call(registered, tuple(arguments), options)
    if wanted in _AGGREGATES.split():
        raise InvalidExpressionError(
            f"{wanted}() computes one value of many rows: an expression in text is computed on each row, so aggregate "
            "with the methods of expressions, such as col('x').sum"
        )
    near = difflib.get_close_matches(wanted, names(), 1)
    hint = f"; did you mean {near[0]}()?" if near else ": see the functions of Flink SQL"
    raise InvalidExpressionError(f"there is no function {name}(){hint}")


def names() -> list[str]:
    """Return the names of all functions in SQL, sorted."""
    return sorted({*_REGISTERED, *_SPECIAL, *_UNIT_OF})
