"""Functions of JSON in texts."""

from __future__ import annotations

import base64
import datetime
from collections.abc import Callable, Sequence
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal, InvalidOperation
from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headgate.columns.functions.registry import CallSite, for_each, function
from headgate.columns.functions.text_calls import checked, per_option, text_function
from headgate.columns.functions.texts import joined
from headgate.columns.json_paths import JsonPath, NotFoundError, json_path
from headgate.columns.json_values import in_quotes, parsed, quoted, without_halves, written
from headgate.columns.logical_types import BOOLEAN, FLOATS, INTEGERS, STRING, TEXTS, Kind, LogicalType
from headgate.columns.nodes import literal
from headgate.columns.typed import Typed, Values
from headgate.errors import InvalidExpressionError

_KINDS: Final[dict[str, tuple[type, ...]]] = {
    "VALUE": (object,),
    "ARRAY": (list,),
    "OBJECT": (dict,),
    "SCALAR": (str, int, Decimal, bool, type(None)),
}


@function("is_json")
def is_json(call: CallSite) -> Typed:
    """Never NULL. The kind of JSON is an option, or a constant argument."""
    given = checked(call, ["text", "text"], least=1)
    kind = call.constant(1, str, "a kind of JSON") if len(given) > 1 else (call.options or ("VALUE",))[0]
    if kind not in _KINDS:
        raise InvalidExpressionError(f"is_json() takes one of {', '.join(_KINDS)}, not {kind!r}")
    kernel = partial(_is_json, _KINDS[kind])
    return call.apply(kernel, BOOLEAN, given[:1], options=(kind,), by_value=True, nullable=False)


def _is_json(kinds: tuple[type, ...], value: Values) -> Values:
    def test(text: str) -> bool:
        try:
            return isinstance(parsed(text), kinds)
        except ValueError:
            return False

    return pc.fill_null(for_each(test, pa.bool_(), value), False)  # a value, no flag


def _read(path: JsonPath, text: str) -> Any:
    """Return what a path leads to in a text; None if a lax path leads to nothing.

    Raises ValueError or `NotFoundError` for a strict path.
    """
    try:
        found = path.read(parsed(text))
    except (ValueError, NotFoundError):
        if path.is_lax:
            return None
        raise
    if found is None and not path.is_lax:
        raise NotFoundError("the path leads to null")
    return found


def _failed(function_name: str, path: str, text: str, reason: object) -> ValueError:
    shown = text if len(text) <= 100 else f"{text[:100]}..."
    return ValueError(f"{function_name}() of {shown!r} with the path {path!r}: {reason}")


def _path(call: CallSite) -> tuple[Typed, str]:
    """Return the text and the path. Raises `InvalidExpressionError` for a path that is none."""
    call.expect_count(2)
    text = checked(CallSite(call.function, call.arguments[:1], (), call.zone), ["text"])[0]
    path = call.constant(1, str, "a path into JSON")
    json_path(path)
    return text, path


@function("json_exists")
def json_exists(call: CallSite) -> Typed:
    """The option is what an error is: TRUE, FALSE, UNKNOWN or ERROR."""
    text, path = _path(call)
    on_error = (call.options or ("FALSE",))[0]
    compute = partial(_exists, path, on_error)
    kernel = partial(for_each, compute, pa.bool_())
    options = (path, on_error)
    return call.apply(
        kernel, BOOLEAN, [text], options=options, can_fail=on_error == "ERROR", by_value=True, nullable=True
    )


def _exists(path: str, on_error: str, text: str) -> bool | None:
    try:
        return _read(json_path(path), text) is not None
    except (ValueError, NotFoundError) as error:
        if on_error == "ERROR":
            raise _failed("json_exists", path, text, error) from None
        return None if on_error == "UNKNOWN" else on_error == "TRUE"


@function("json_value")
def json_value(call: CallSite) -> Typed:
    """The options are the type, what nothing is and its default, what an error is and its default."""
    text, path = _path(call)
    kind, on_empty, default_on_empty, on_error, default_on_error = call.options or (STRING, "NULL", None, "NULL", None)
    if kind.kind not in (Kind.BOOLEAN, *INTEGERS, *FLOATS, Kind.DECIMAL, *TEXTS):
        raise InvalidExpressionError(f"json_value() has no {kind}: cast what it returns")
    defaults = [
        None if default is None else literal(default, kind.nulls()).value.as_py()
        for default in (default_on_empty, default_on_error)
    ]
    compute = partial(_value, path, kind, (on_empty, defaults[0]), (on_error, defaults[1]))
    return call.apply(
        partial(for_each, compute, kind.arrow),
        kind,
        [text],
        options=(path, kind, on_empty, defaults[0], on_error, defaults[1]),
        can_fail="ERROR" in (on_empty, on_error),
        by_value=True,
        nullable=True,
    )


_Behavior = tuple[str, Any]


def _value(path: str, kind: LogicalType, empty: _Behavior, failure: _Behavior, text: str) -> Any:
    read = json_path(path)
    try:
        found = _read(read, text)
        if not isinstance(found, (list, dict)) and found is not None:
            return _converted(found, kind)
        if not read.is_lax:
            raise ValueError("there is no text, number or boolean")  # an error of the path
    except (ValueError, NotFoundError) as error:
        reason: object = error
        behavior, default = failure
    else:
        reason = "it leads to nothing"
        behavior, default = empty
    if behavior == "ERROR":
        raise _failed("json_value", path, text, reason)
    return default if behavior == "DEFAULT" else None


_TRUTH: Final = dict.fromkeys(("true", "t", "yes", "1"), True) | dict.fromkeys(("false", "f", "no", "0"), False)
_BITS: Final = {Kind.TINYINT: 8, Kind.SMALLINT: 16, Kind.INT: 32, Kind.BIGINT: 64}


def _converted(value: Any, kind: LogicalType) -> Any:
    """Return a value of JSON as one of SQL. Raises ValueError if it is none."""
    wrong = ValueError(f"{value!r} is no {kind}")
    if kind.is_text:
        return without_halves(value if isinstance(value, str) else written(value))
    if kind.kind is Kind.BOOLEAN:
        made = _TRUTH.get(value.strip().lower()) if isinstance(value, str) else value
        if not isinstance(made, bool):
            raise wrong
        return made
    if isinstance(value, bool):
        raise wrong
    try:
        number = Decimal(value)
        if kind.kind in INTEGERS:
            whole = int(number.to_integral_value(ROUND_DOWN))
            limit = 1 << (_BITS[kind.kind] - 1)
            if not -limit <= whole < limit:
                raise wrong
            return whole
        if kind.kind is Kind.DECIMAL:
            made = number.quantize(Decimal(1).scaleb(-kind.scale), ROUND_HALF_UP)
            if made.adjusted() >= kind.precision - kind.scale and made:
                raise wrong
            return made
        if not number.is_finite():
            raise wrong
    except (InvalidOperation, OverflowError):
        raise wrong from None
    made = float(number)
    if made in (float("inf"), float("-inf")) or (kind.kind is Kind.FLOAT and abs(made) > _MAX_FLOAT):
        raise wrong
    return made


_MAX_FLOAT: Final = 3.4028235677973366e38


@function("json_query")
def json_query(call: CallSite) -> Typed:
    """The options are how what is found becomes an array, what nothing is, and what an error is."""
    text, path = _path(call)
    wrapper, on_empty, on_error = call.options or ("WITHOUT_ARRAY", "NULL", "NULL")
    compute = partial(_queried, path, wrapper, on_empty, on_error)
    return call.apply(
        partial(for_each, compute, pa.string()),
        STRING,
        [text],
        options=(path, wrapper, on_empty, on_error),
        can_fail="ERROR" in (on_empty, on_error),
        by_value=True,
        nullable=True,
    )


def _queried(path: str, wrapper: str, on_empty: str, on_error: str, text: str) -> str | None:
    read = json_path(path)
    behavior, reason = on_empty, "it leads to nothing"
    try:
        found = _read(read, text)
        if found is not None and (
            wrapper == "UNCONDITIONAL_ARRAY" or (wrapper == "CONDITIONAL_ARRAY" and not isinstance(found, list))
        ):
            found = [found]
        if isinstance(found, (list, dict)):
            return without_halves(written(found))
        if not read.is_lax:
            behavior, reason = on_error, "there is no object or array"
    except (ValueError, NotFoundError) as error:
        behavior, reason = on_error, str(error)
    if behavior == "ERROR":
        raise _failed("json_query", path, text, reason)
    return {"EMPTY_ARRAY": "[]", "EMPTY_OBJECT": "{}"}.get(behavior)


def _unquoted(text: str) -> str:
    if len(text) < 2 or not (text.startswith('"') and text.endswith('"')):
        return text
    try:
        return without_halves(parsed(text))
    except ValueError as error:
        raise ValueError(f"json_unquote() of {text!r}: {error}") from None


text_function("json_quote", takes="text", compute=quoted, result=STRING)
text_function(
    "json_unquote",
    takes="text",
    compute=partial(for_each, _unquoted, pa.string()),
    result=STRING,
    can_fail=True,
    by_value=True,
)


@function("json_object", "json_array")
def construct(call: CallSite) -> Typed:
    """Never NULL. The options are what NULL becomes, and which values are JSON already."""
    is_object = call.function == "json_object"
    on_null, is_json_text = call.options or ("NULL" if is_object else "ABSENT", (False,) * len(call.arguments))
    keys: tuple[str, ...] = ()
    values = call.arguments
    if is_object:
        if len(values) % 2:
            raise InvalidExpressionError("json_object() takes a key and a value in turns")
        keys = tuple(call.constant(index, str, "a key") for index in range(0, len(values), 2))
        values, is_json_text = values[1::2], is_json_text[1::2]
    cells = tuple(None if raw else _writer(own.type, call) for own, raw in zip(values, is_json_text, strict=True))
    kernel = partial(_constructed, keys if is_object else None, cells, on_null == "ABSENT")
    by_value = any(_is_by_value(own.type) for own in values)
    return call.apply(kernel, STRING, values, options=(on_null, keys, is_json_text), by_value=by_value, nullable=False)


_Writer = Callable[[Any], Any]


def _constructed(
    keys: Sequence[str] | None, writers: Sequence[_Writer | None], without_nulls: bool, *columns: Values
) -> Values:
    cells = [
        own if write is None else per_option(partial(_cells, write), pa.string(), 1, own)
        for write, own in zip(writers, columns, strict=True)
    ]
    if not without_nulls:
        cells = [pc.fill_null(own, "null") for own in cells]
    if keys is not None:  # the last value of a key counts, and keys are in order
        last = dict(zip(keys, cells, strict=True))
        cells = [pc.binary_join_element_wise(f"{written(key)}:", last[key], "") for key in sorted(last)]
    inner = joined(pa.scalar(","), *cells) if cells else pa.scalar("")
    start, end = "[]" if keys is None else "{}"
    return pc.binary_join_element_wise(start, inner, end, "")


_PLAIN: Final = (*INTEGERS, Kind.BOOLEAN, Kind.DECIMAL, Kind.DATE, *TEXTS, Kind.NULL)


def _is_by_value(kind: LogicalType) -> bool:
    return kind.kind not in _PLAIN


def _cells(write: _Writer, value: pa.Array) -> pa.Array:
    """Return each value as JSON; NULL for NULL."""
    own = value.type
    if pa.types.is_string(own):
        return in_quotes(value)
    if pa.types.is_date(own):
        return in_quotes(value.cast(pa.string()))
    if pa.types.is_integer(own) or pa.types.is_boolean(own) or pa.types.is_decimal(own) or pa.types.is_null(own):
        return value.cast(pa.string())
    return for_each(lambda own: written(write(own)), pa.string(), value)


def _as_is(value: Any) -> Any:
    return value


def _as_base64(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _as_float(value: float) -> float:
    return float(str(np.float32(value)))  # the shortest that is the same FLOAT


def _as_time(suffix: str, value: datetime.datetime) -> str:
    """As Flink: with a `T`, and as many digits after the second as the value has."""
    fraction = f"{value.microsecond:06}".rstrip("0")
    return f"{value:%Y-%m-%dT%H:%M:%S}{'.' + fraction if fraction else ''}{suffix}"


def _as_list(element: Callable[[Any], Any], value: Sequence[Any]) -> list[Any]:
    return [None if own is None else element(own) for own in value]


def _as_map(element: Callable[[Any], Any], value: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    return {key: None if own is None else element(own) for key, own in value}


def _as_row(elements: dict[str, Callable[[Any], Any]], value: dict[str, Any]) -> dict[str, Any]:
    return {name: None if value[name] is None else write(value[name]) for name, write in elements.items()}


def _writer(kind: LogicalType, call: CallSite) -> Callable[[Any], Any]:
    """Return what makes a value of JSON of a value of a type."""
    match kind.kind:
        case Kind.BINARY | Kind.VARBINARY:
            return _as_base64
        case Kind.FLOAT:
            return _as_float
        case Kind.TIMESTAMP:
            return partial(_as_time, "")
        case Kind.TIMESTAMP_LTZ:
            return partial(_as_time, "Z")
        case Kind.DATE | Kind.TIME:
            return str
        case Kind.ARRAY:
            return partial(_as_list, _writer(kind.element, call))
        case Kind.MAP if kind.key.is_text:
            return partial(_as_map, _writer(kind.value, call))
        case Kind.ROW:
            return partial(_as_row, {name: _writer(inner, call) for name, inner in kind.fields})
        case Kind.DAY_INTERVAL | Kind.MONTH_INTERVAL | Kind.MAP:
            raise InvalidExpressionError(f"{call.function}() has no {kind}: cast it to STRING")
    return _as_is


@function("json_string")
def json_string(call: CallSite) -> Typed:
    """The value as JSON; NULL for NULL."""
    call.expect_count(1)
    kernel = partial(per_option, partial(_cells, _writer(call.types[0], call)), pa.string(), 1)
    return call.apply(kernel, STRING, by_value=_is_by_value(call.types[0]))
