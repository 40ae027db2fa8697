"""Values of a type from parsed JSON: one reader, with the rules of Flink's messages or of files.

A row is an object: missing fields are None, and fields that the type does not have are left out. Lists and tuples are
arrays. Bytes are text in Base64, lengths of time ISO 8601 text. Null is None everywhere. Many values are read column by
column; a column whose values have the type already stays as it is.
"""

from __future__ import annotations

import datetime as dt
import json
import math
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from json.scanner import make_scanner
from typing import Any, Final, NoReturn, final

from headgate.errors import ProgramError
from headgate.types import text_values
from headgate.types.conversion import check_range, to_float, with_none
from headgate.types.fold import BITS, NoForm, SequenceTypeInfo, TypeFold, always
from headgate.types.json_rules import JsonRules, Read
from headgate.types.row import make_row, make_rows
from headgate.types.sql_types import DecimalTypeInfo
from headgate.types.type_information import TypeInformation
from headgate.types.typeinfo import BasicType, BasicTypeInfo, MapTypeInfo, RowTypeInfo, TupleTypeInfo, Types

ReadColumn = Callable[[list[Any]], list[Any]]
FAILURES: Final = (ValueError, TypeError, ArithmeticError, KeyError)
"""The errors for a value that does not fit its type."""

_NULL: Final = type(None)


@final
@dataclass(frozen=True, slots=True)
class TypeReader:
    """Reads values of a type. For a value that does not fit, `one` raises an error that says why, `column` any."""

    one: Read
    column: ReadColumn


@final
class JsonReader(TypeFold[TypeReader]):
    """Makes readers of types. `fail_on_missing`: a missing field is an error, not None.

    `ignore_errors`: a value that does not fit is None. `of` raises ProgramError for a type that has no form in JSON.

    >>> from headgate.types.json_rules import FILES
    >>> JsonReader(FILES).of(Types.ROW_NAMED(["id", "day"], [Types.LONG(), Types.SQL_DATE()])).column(
    ...     [{"id": 7, "day": "2024-02-29"}, {"id": 8}]
    ... )
    [Row(id=7, day=datetime.date(2024, 2, 29)), Row(id=8, day=None)]
    """

    def __init__(self, rules: JsonRules, *, fail_on_missing: bool = False, ignore_errors: bool = False) -> None:
        self._rules = rules
        self._fail_on_missing = fail_on_missing
        self._ignore_errors = ignore_errors

    def refusal(self, type_info: TypeInformation, path: str) -> ProgramError:
        return ProgramError(
            f"{f'field {path!r} is' if path else 'there is'} a {type_info}, which has no form in JSON: use rows, "
            "arrays, maps of text, and types of single values"
        )

    def _reading(self, read: Read, kinds: Sequence[type] = (), at_once: ReadColumn | None = None) -> TypeReader:
        """Return a reader for values that are not None. `at_once` reads a column whose values are of these kinds."""
        ignores, own_kinds = self._ignore_errors, frozenset([*kinds, _NULL])

        def one(value: Any) -> Any:
            if value is None:
                return None
            try:
                return read(value)
            except FAILURES:
                if ignores:
                    return None
                raise

        if at_once is None:
            return TypeReader(one, lambda values: list(map(one, values)))

        def column(values: list[Any]) -> list[Any]:
            found = set(map(type, values))
            if not own_kinds.issuperset(found):
                return list(map(one, values))
            try:
                is_whole = _NULL not in found or at_once is _as_they_are
                return at_once(values) if is_whole else _with_nulls(at_once, values)
            except FAILURES:
                return list(map(one, values))

        return TypeReader(one, column)

    # --- types of single values

    def string(self, type_info: BasicTypeInfo) -> TypeReader:
        if type_info.basic_type is BasicType.CHAR:
            return self._reading(text_values.read_char)
        return self._reading(self._rules.string, [str], _as_they_are)

    def boolean(self) -> TypeReader:
        return self._reading(self._rules.boolean, [bool], _as_they_are)

    def integer(self, type_info: BasicTypeInfo) -> TypeReader:
        bits, read = BITS[type_info.basic_type], self._rules.integer
        if type_info.basic_type in (BasicType.INT, BasicType.LONG):
            read = self._rules.int_or_long

        def at_once(values: list[int]) -> list[int]:
            check_range(values, bits)
            return values

        return self._reading(lambda value: text_values.checked(read(value), bits), [int], at_once)

    def floating(self, type_info: BasicTypeInfo) -> TypeReader:
        bounded = _as_it_is if self._rules.has_infinity else _finite
        read = self._rules.number
        if type_info.basic_type is BasicType.FLOAT:
            return self._reading(
                lambda value: bounded(to_float(read(value))),
                [float],
                lambda values: _bounded(bounded, array("f", values).tolist()),
            )
        return self._reading(lambda value: bounded(read(value)), [float], lambda values: _bounded(bounded, values))

    def decimal(self, type_info: BasicTypeInfo | DecimalTypeInfo) -> TypeReader:
        read, exact = self._rules.decimal, text_values.exact_decimal(type_info)
        decimals = self._rules.decimals if isinstance(type_info, BasicTypeInfo) else None
        return self._reading(lambda value: exact(read(value)), [str], decimals)

    def instant(self) -> TypeReader:
        return self._reading(self._rules.instant)

    def date(self) -> TypeReader:
        return self._reading(self._rules.date, [str], self._rules.dates)

    def time(self) -> TypeReader:
        return self._reading(self._rules.time)

    def timestamp(self) -> TypeReader:
        return self._reading(self._rules.timestamp, [str], self._rules.timestamps)

    def interval(self) -> TypeReader:
        return self._reading(_interval)

    def null(self) -> TypeReader:
        return self._reading(self._rules.null)

    def binary(self) -> TypeReader:
        return self._reading(text_values.read_bytes)

    def pickled(self) -> TypeReader:
        if not self._rules.has_anything:
            raise NoForm
        return TypeReader(_as_it_is, _as_they_are)

    # --- types that hold types

    def sequence(self, type_info: SequenceTypeInfo, element: TypeReader) -> TypeReader:
        def read(value: Any) -> list[Any]:
            items = _array(value)
            try:
                return element.column(items)
            except FAILURES:
                return list(map(element.one, items))  # says which field of an element is wrong

        return self._reading(read)

    def mapping(self, type_info: MapTypeInfo, key: TypeReader, value: TypeReader) -> TypeReader:
        if type_info.key_type_info != Types.STRING() and not self._rules.has_typed_keys:
            raise NoForm
        of_key, of_value = key.one, value.one
        return self._reading(lambda items: {of_key(name): of_value(each) for name, each in _object(items).items()})

    def tuple(self, type_info: TupleTypeInfo, fields: Sequence[TypeReader]) -> TypeReader:
        def read(value: Any) -> tuple[Any, ...]:
            items = _array(value)
            if len(items) != len(fields):
                raise ValueError(f"{value!r:.100} has {len(items)} fields instead of {len(fields)}")
            return tuple([field.one(item) for field, item in zip(fields, items, strict=True)])

        return self._reading(read)

    def row(self, type_info: RowTypeInfo, fields: Sequence[TypeReader]) -> TypeReader:
        names = type_info.field_names
        named = list(zip(names, fields, strict=True))
        one = self._reading(
            lambda value: make_row([self._field(_object(value), name, own.one) for name, own in named], names)
        ).one

        def column(values: list[Any]) -> list[Any]:
            if not names or set(map(type, values)) != {dict}:
                return list(map(one, values))
            if self._fail_on_missing:
                made = [own.column([value[name] for value in values]) for name, own in named]
            else:
                made = [own.column([value.get(name) for value in values]) for name, own in named]
            return make_rows(zip(*made, strict=True), names)

        return TypeReader(one, column)

    def _field(self, value: dict[str, Any], name: str, read: Read) -> Any:
        if self._fail_on_missing and name not in value:
            raise ValueError(f"there is no field {name!r}")
        try:
            return read(value.get(name))
        except FAILURES as error:
            raise ValueError(f"field {name!r}: {error}") from error


def _with_nulls(at_once: ReadColumn, values: list[Any]) -> list[Any]:
    there = [value for value in values if value is not None]
    made = at_once(there)
    return values if made is there else with_none(values, made)


def _as_it_is(value: Any) -> Any:
    return value


def _as_they_are(values: list[Any]) -> list[Any]:
    return values


def _finite(number: float) -> float:
    if not math.isfinite(number):
        raise ValueError("the number is out of range")
    return number


def _bounded(bounded: Callable[[float], float], numbers: list[float]) -> list[float]:
    bounded(sum(numbers))
    return numbers


def _interval(value: Any) -> dt.timedelta:
    if not isinstance(value, str):
        raise ValueError(f"{value!r:.100} is not text")
    return text_values.read_interval(value)


def _array(value: Any) -> list[Any]:
    if type(value) is not list:
        raise ValueError(f"{value!r:.100} is not a JSON array")
    return value


def _object(value: Any) -> dict[str, Any]:
    if type(value) is not dict:
        raise ValueError(f"{value!r:.100} is not a JSON object")
    return value


# --- text as parsed JSON


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


@final
class JsonParser:
    """Parses JSON. `exact`: numbers with a fraction are decimals."""

    def __init__(self, *, exact: bool = False) -> None:
        self._decoder = json.JSONDecoder(parse_constant=_no_constant, parse_float=Decimal if exact else None)
        self.scan: Final = make_scanner(self._decoder)  # type: ignore[arg-type]  # wrong in the stubs
        """Returns the value at a position of a text, and the position after it.

        The scanner accepts no blanks before a value and ignores text after it, but it is the part that is written in C.
        """

    def parse(self, text: str) -> Any:
        """Return the value of a text. Raises ValueError if it is not JSON."""
        try:
            return self._decoder.decode(text)
        except json.JSONDecodeError as error:
            raise ValueError(f"it is not JSON: {error.msg} at character {error.pos + 1}") from None
        except RecursionError:
            raise ValueError("it is nested too deeply") from None


def has_escaped_surrogates(text: str) -> bool:
    """Return whether the value of a JSON text may contain surrogates, which are halves of characters."""
    return "\\" in text and ("\\ud" in text or "\\uD" in text)


def check_characters(value: Any) -> None:
    """Raise ValueError if a value contains a surrogate without its pair, which cannot be encoded."""
    try:
        json.dumps(value, ensure_ascii=False, default=str).encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"it holds {error.object[error.start]!r}, half a character: a surrogate without its pair"
        ) from None


class _HasDecimal(TypeFold[bool]):
    """Whether a type has decimals anywhere."""

    string = always(False)

    boolean = integer = floating = instant = date = time = timestamp = interval = null = binary = pickled = string

    decimal = always(True)

    def sequence(self, type_info: SequenceTypeInfo, element: bool) -> bool:
        return element

    def mapping(self, type_info: MapTypeInfo, key: bool, value: bool) -> bool:
        return value

    def tuple(self, type_info: TupleTypeInfo | RowTypeInfo, fields: Sequence[bool]) -> bool:
        return any(fields)

    row = tuple


has_decimal: Final = _HasDecimal().of
