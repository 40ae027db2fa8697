"""Records are values: how a record passes from the function that emits it to its receivers.

With `pipeline.object-reuse: false`, the default, each receiver sees a record as it was when it was emitted, and a
change by one receiver is invisible elsewhere. A record is copied only if somebody else could change it: immutable
values are not copied, nor are values that the emitting function no longer holds. Reference counts tell which values it
still holds: a fresh dict has no reference but ours; a dict that the function, its state or a closure still holds has
another reference, and is copied.

=================================  =================================================================================
kind of value                      is passed without a copy if
=================================  =================================================================================
`ATOMIC` types, enums              always
tuple, frozenset                   its contents are immutable, or nothing else holds the tuple or its contents
frozen dataclass, function         the same; a function has no closure and no attributes
list, dict, set, `Row`, named      nothing else holds it or its contents
tuple, instance of a plain class
anything else: arrays, buffers,    never: it is copied by pickling, as on its way to another slot
views, subclasses of containers
=================================  =================================================================================

The counts of an interpreter are measured: see `reference_counts`. Where the measurement does not hold, every value that
can change is copied.
"""

from __future__ import annotations

import datetime as dt
import pickle
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import cache, cached_property
from itertools import chain
from operator import attrgetter
from sys import getrefcount
from types import BuiltinFunctionType, FunctionType, ModuleType, NoneType
from typing import Any, Final, Protocol, final
from weakref import getweakrefcount
from zoneinfo import ZoneInfo

from headgate.types import by_value
from headgate.types.instant import Instant
from headgate.types.output_tag import OutputTag
from headgate.types.reference_counts import ALONE, references_given
from headgate.types.row import Row, RowKind
from headgate.types.sql_types import (
    DateTypeInfo,
    DecimalTypeInfo,
    IntervalTypeInfo,
    NullTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
)
from headgate.types.type_information import TypeInformation
from headgate.types.typeinfo import BasicTypeInfo

ATOMIC: Final = frozenset(
    {
        *(NoneType, bool, int, float, complex, str, bytes, type(Ellipsis), type(NotImplemented), range),
        *(dt.date, dt.time, dt.datetime, dt.timedelta, dt.timezone, ZoneInfo, Decimal, Fraction, uuid.UUID),
        *(type, ModuleType),  # pickled by name, so that copies would be the same
        *(Instant, OutputTag, RowKind),
    }
)
"""Types whose values nothing can change."""


# --- what nothing can change, and copies of the rest


def is_immutable(value: Any) -> bool:
    """Return whether a value, and all in it, can never change.

    >>> is_immutable((1, "a", (None, 2.5))), is_immutable((1, []))
    (True, False)
    """
    kind = type(value)
    return kind in ATOMIC or (kind is tuple and ATOMIC.issuperset(map(type, value))) or _are_immutable([value], set())


def _are_immutable(values: list[Any], seen: set[int]) -> bool:
    """Return whether values can never change. Visits each value in them once, and adds it to both arguments."""
    for value in values:  # which grows: values may be nested deeply
        kind = _kind_of(type(value))
        parts = kind.parts(value) if kind.frozen else None
        if parts is None:
            return False
        for part in parts:
            if type(part) not in ATOMIC and id(part) not in seen:
                seen.add(id(part))
                values.append(part)
    return True


def copied(value: Any) -> Any:
    """Return the value, or a copy of it if it, or something in it, can change. Raises TypeError if it cannot be copied.

    >>> shared = [1]
    >>> copied(shared) is shared, copied("text")
    (False, 'text')
    """
    kind = type(value)
    if kind in ATOMIC:
        return value
    if kind is tuple:
        for item in value:
            if type(item) not in ATOMIC:
                break
        else:
            return value
    elif kind is dict:
        if ATOMIC.issuperset(map(type, value.values())) and ATOMIC.issuperset(map(type, value)):
            return value.copy()
    elif kind is list:
        if ATOMIC.issuperset(map(type, value)):
            return value.copy()
    else:
        found = _kind_of(kind)
        if found is _ROW:
            values = value._values
            if ATOMIC.issuperset(map(type, values)):
                row = Row.__new__(kind)
                row._fields, row._values, row._row_kind = value._fields, list(values), value._row_kind
                return row
        elif found.parts is _attributes and not found.frozen and ATOMIC.issuperset(map(type, value.__dict__.values())):
            made = object.__new__(kind)
            made.__dict__.update(value.__dict__)
            return made
    return value if is_immutable(value) else _through_pickle(value)


def _through_pickle(value: Any) -> Any:
    """Return the value as another slot would receive it."""
    try:
        try:
            return pickle.loads(pickle.dumps(value, 5))  # noqa: S301  # our own pickle
        except Exception:  # noqa: BLE001  # whatever pickle raises, for a local class, say
            return pickle.loads(by_value.dumps(value))  # noqa: S301
    except Exception as error:
        raise TypeError(
            f"a record of type {type(value).__name__} cannot be copied ({type(error).__name__}: {error}), but another "
            "function may hold it, or something in it: emit records that can be pickled, or set pipeline.object-reuse "
            "to true and change no record after it was emitted or received"
        ) from error


# --- what nothing else holds


@final
@dataclass(frozen=True, slots=True)
class _Kind:
    """How to find the parts of a type's values, and whether a value can change only in its parts (`frozen`).

    `parts` returns a container of the parts, None if something else may hold that container.
    """

    parts: Callable[[Any], Iterable[Any] | None]
    frozen: bool = False
    known: bool = True


def _itself(value: Any) -> Any:
    return value


def _no_parts(value: Any) -> tuple[()]:
    return ()


def _set_items(value: Any) -> Iterable[Any] | None:
    return None if getweakrefcount(value) else value


def _dict_values(value: dict[Any, Any]) -> Iterable[Any] | None:
    return value.values() if ATOMIC.issuperset(map(type, value)) or all(map(is_immutable, value)) else None


def _row_values(value: Row) -> Iterable[Any] | None:
    values = value._values
    return None if getrefcount(values) > ALONE.inner and not is_immutable(values) else values


def _attributes(value: Any) -> Iterable[Any] | None:
    attributes = value.__dict__
    if getrefcount(attributes) > ALONE.inner or getweakrefcount(value):
        return None
    return attributes.values()  # type: ignore[no-any-return]


def _function_parts(value: FunctionType) -> Iterable[Any] | None:
    if value.__closure__ or value.__dict__ or value.__kwdefaults__:
        return None
    return value.__defaults__ or ()


def _owner(value: BuiltinFunctionType) -> tuple[Any]:
    return (value.__self__,)


_ENUM: Final = _Kind(_no_parts, frozen=True)
_ROW: Final = _Kind(_row_values)
_UNKNOWN: Final = _Kind(_no_parts, known=False)
_KINDS_MAX: Final = 4096
_KINDS: Final[dict[type, _Kind]] = {
    tuple: _Kind(_itself, frozen=True),
    frozenset: _Kind(_set_items, frozen=True),
    list: _Kind(_itself),
    set: _Kind(_set_items),
    dict: _Kind(_dict_values),
    FunctionType: _Kind(_function_parts, frozen=True),
    BuiltinFunctionType: _Kind(_owner, frozen=True),
}


def _kind_of(kind: type) -> _Kind:
    """Return the `_Kind` of a type, from the table or by `_classified`."""
    found = _KINDS.get(kind)
    if found is None:
        if len(_KINDS) >= _KINDS_MAX:  # a program creates classes again and again
            return _classified(kind)
        found = _KINDS[kind] = _classified(kind)
    return found


class _Plain:
    """A class of nothing but attributes."""


_LAYOUT: Final = attrgetter("__basicsize__", "__itemsize__", "__dictoffset__", "__weakrefoffset__")


def _classified(kind: type) -> _Kind:
    if issubclass(kind, Enum):
        return _ENUM
    if issubclass(kind, Row):
        return _ROW if _LAYOUT(kind) == _LAYOUT(Row) else _UNKNOWN
    if issubclass(kind, tuple):
        is_plain = _LAYOUT(kind) == _LAYOUT(tuple) and kind.__iter__ is tuple.__iter__
        return _KINDS[tuple] if is_plain else _UNKNOWN
    of_numpy = {base.__name__ for base in kind.__mro__ if base.__module__ == "numpy"}
    if "generic" in of_numpy:  # a `void` is a view of its array
        return _ENUM if kind.__module__ == "numpy" and "void" not in of_numpy else _UNKNOWN
    if _LAYOUT(kind) != _LAYOUT(_Plain) or kind.__reduce_ex__ is not object.__reduce_ex__:
        return _UNKNOWN
    if any(hook in base.__dict__ for base in kind.__mro__[:-1] for hook in _HOOKS):
        return _UNKNOWN
    return _Kind(_attributes, frozen=_is_frozen(kind))


def _is_frozen(kind: type) -> bool:
    """Return whether no attribute of the instances is ever set: a subclass of a frozen dataclass may set others."""
    parameters = kind.__dict__.get("__dataclass_params__")
    caches = (isinstance(each, cached_property) for base in kind.__mro__ for each in base.__dict__.values())
    return parameters is not None and parameters.frozen and not any(caches)


_HOOKS: Final = (
    *("__new__", "__getnewargs__", "__getnewargs_ex__", "__reduce__", "__getstate__", "__setstate__"),
    *("__getattribute__", "__del__"),
)
"""Methods whose presence means that an object may be more than its attributes."""


def _is_alone(value: Any) -> bool:
    """Return whether only `value` holds its changeable parts; holders of `value` itself do not matter."""
    holders = [value]
    immutable: set[int] | None = None
    while holders:
        kind = _kind_of(type(holders[-1]))
        parts = kind.parts(holders.pop()) if kind.known else None
        if parts is None:
            return False
        if ATOMIC.issuperset(map(type, parts)):
            continue
        for part in parts:
            if type(part) in ATOMIC:
                continue
            if getrefcount(part) <= ALONE.listed:
                holders.append(part)
                continue
            if immutable is None:
                immutable = set()
            if id(part) not in immutable and not _are_immutable([part], immutable):
                return False
            immutable.add(id(part))
    return True


# --- passing


Extend = Callable[[list[Any], Iterable[Any]], None]


class Polled(Protocol):
    """The result of a poll of a source reader."""

    @property
    def records(self) -> Any: ...


@final
@dataclass(frozen=True, slots=True)
class Passing:
    """How records pass to their receivers. The functions raise TypeError for a value that cannot be copied.

    `extend(out, results)` adds the records that one call of a function emits. The caller has `results` in one variable.
    `mapped(call, records)` returns the result of each call, for the iterator of a list, and whether all are plain.
    `owned(polled)` returns a new list of `polled.records`, and whether all are plain. The caller has `polled` in one
    variable, and no part of it elsewhere. `copied(value)` returns a record for a function that may change it, while it
    is kept. `is_plain(records)` tells whether all are *plain*: no receiver could change such a record, so it is never
    copied.
    """

    extend: Extend
    mapped: Callable[[Callable[[Any], Any], Iterator[Any]], tuple[list[Any], bool]]
    owned: Callable[[Polled], tuple[list[Any], bool]]
    copied: Callable[[Any], Any]
    is_plain: Callable[[list[Any]], bool]

    def each_copied(self, records: list[Any]) -> list[Any]:
        """Return the records for one more receiver, in a new list."""
        return list(records) if self.is_plain(records) else list(map(self.copied, records))

    def of_type(self, type_info: TypeInformation | None) -> Passing:
        """Return the `Passing` for records of a declared type: records of an immutable type need no check."""
        return BY_REFERENCE if isinstance(type_info, _IMMUTABLE_TYPES) else self


_IMMUTABLE_TYPES: Final = (
    BasicTypeInfo,
    DateTypeInfo,
    DecimalTypeInfo,
    IntervalTypeInfo,
    NullTypeInfo,
    TimeTypeInfo,
    TimestampTypeInfo,
)


def _is_plain(records: list[Any]) -> bool:
    kinds = set(map(type, records))
    if kinds <= ATOMIC:
        return True
    return kinds == {tuple} and set(map(type, chain.from_iterable(records))) <= ATOMIC


def _owned(polled: Polled) -> tuple[list[Any], bool]:
    records = polled.records
    if _is_plain(records):
        return list(records), True
    is_kept = getrefcount(polled) > ALONE.given or getrefcount(records) > ALONE.inner
    out = []
    for record in records:
        if type(record) not in ATOMIC and (is_kept or getrefcount(record) > ALONE.listed or not _is_alone(record)):
            out.append(copied(record))
        else:
            out.append(record)
    return out, False


def _extend(out: list[Any], results: Iterable[Any], atomic: frozenset[type] = ATOMIC) -> None:
    for record in results:
        if type(record) is tuple:  # the most common record: checked here, as a call would double the cost
            if len(record) == 2:  # without a loop: an eighth of the look
                item, other = record
                if type(item) in atomic and type(other) in atomic:
                    out.append(record)
                    continue
                item = other = None  # they would count as holders
            elif atomic.issuperset(map(type, record)):
                out.append(record)
                continue
        elif type(record) in atomic:
            out.append(record)
            continue
        if type(results) is list or type(results) is tuple:
            is_held = getrefcount(record) > ALONE.listed or getrefcount(results) > ALONE.results
        else:
            is_held = getrefcount(record) > ALONE.local
        out.append(copied(record) if is_held or not _is_alone(record) else record)


def _mapped(
    call: Callable[[Any], Any], records: Iterator[Any], atomic: frozenset[type] = ATOMIC
) -> tuple[list[Any], bool]:
    out: list[Any] = []
    plain = True
    for value in records:
        result = call(value)
        if type(result) is tuple:
            if len(result) == 2:
                item, other = result
                if type(item) in atomic and type(other) in atomic:
                    out.append(result)
                    continue
                item = other = None
            elif atomic.issuperset(map(type, result)):
                out.append(result)
                continue
        elif type(result) in atomic:
            out.append(result)
            continue
        plain = False
        is_held = getrefcount(result) > (ALONE.passed if result is value else ALONE.local)
        out.append(copied(result) if is_held or not _is_alone(result) else result)
    return out, plain


BY_VALUE: Final = Passing(_extend, _mapped, _owned, copied, _is_plain)
"""Each receiver gets separate records."""


@cache
def passing_by_value(native: ModuleType | None) -> Passing:
    """Return `BY_VALUE`, with the functions of the compiled module if there is one.

    Where reference counts do not tell what is held, and where the module sees other counts than Python code, the
    functions stay those in Python.
    """
    if native is None or ALONE.local < 0:
        return BY_VALUE
    given = references_given(native.Ownership.references)
    if given < 0:
        return BY_VALUE
    ownership = native.Ownership(ATOMIC, copied, _is_alone, given)
    return Passing(ownership.extend, ownership.mapped, ownership.owned, copied, ownership.is_plain)


BY_REFERENCE: Final = Passing(
    extend=list.extend,
    mapped=lambda call, records: ([call(value) for value in records], True),
    owned=lambda polled: (list(polled.records), True),
    copied=_itself,
    is_plain=lambda records: True,
)
"""`pipeline.object-reuse: true`: a record is one object wherever it is."""
