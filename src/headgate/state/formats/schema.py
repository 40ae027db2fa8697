"""Schemas of states: the description of a state in a snapshot, and the conversion of values to a changed type.

`compatibility` compares a saved state with the declared one:

- `Same`: the values are read unchanged. This includes widened numbers, because Python has one `int` and one `float`.
- `Migrate`: a function converts each value: fields of rows were added, dropped or moved, at any depth.
- `Incompatible`: the restore is refused with a reason.

Pure. docs/guides/schema-evolution.md has the table of outcomes.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, final

from headgate.errors import RestoreError
from headgate.state.descriptors import KINDS
from headgate.state.kinds import forms
from headgate.state.kinds.forms import StoredForm
from headgate.types.row import Row, make_row
from headgate.types.typeinfo import (
    BasicArrayTypeInfo,
    BasicType,
    BasicTypeInfo,
    Json,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)

VERSION: Final = 1
"""Version of the description of a state in snapshots."""

Convert: TypeAlias = Callable[[Any], Any]


@final
@dataclass(frozen=True, slots=True)
class StateMeta:
    """The description of a state in a snapshot.

    `type` is the type of the whole state, as in descriptors: `Types.LIST(element)` of a list state, `Types.MAP(key,
    value)` of a map state, the type of the accumulator of an aggregating state. With `ttl`, stored values are pairs of
    a time and a value. A `namespaced` state has a value for each key and namespace.
    """

    name: str
    kind: str
    type: TypeInformation
    ttl: bool = False
    namespaced: bool = False

    @property
    def form(self) -> StoredForm:
        """The stored form: how columns hold the state."""
        return KINDS[self.kind].form

    def describe(self) -> str:
        """Return kind and type in words, for messages."""
        return f"{'namespaced ' if self.namespaced else ''}{self.kind} state of {self.type}"

    def to_json(self) -> Json:
        """Return the description that snapshots store; `from_json` reads it back."""
        return {
            "version": VERSION,
            "name": self.name,
            "kind": self.kind,
            "type": self.type.to_json(),
            "ttl": self.ttl,
            "namespaced": self.namespaced,
        }

    @staticmethod
    def from_json(description: Mapping[str, Any]) -> StateMeta:
        """Return the state of a description. Raises RestoreError for another version or an unknown kind."""
        version = description.get("version")
        if version != VERSION:
            raise RestoreError(
                f"state {description.get('name')!r} is described in version {version} of the schema and this headgate "
                f"reads version {VERSION}; restore with the release that wrote the snapshot, or a later one"
            )
        if description["kind"] not in KINDS:
            raise RestoreError(
                f"state {description['name']!r} is of kind {description['kind']!r}, which this headgate does not know; "
                "restore with the release that wrote the snapshot, or a later one"
            )
        type_info = TypeInformation.from_json(description["type"])
        return StateMeta(
            description["name"], description["kind"], type_info, description["ttl"], description["namespaced"]
        )


@final
@dataclass(frozen=True, slots=True)
class Same:
    """Saved values, and their bytes of `codecs.codec_for`, are values of the declared state."""


@final
@dataclass(frozen=True, slots=True)
class Migrate:
    """A function converts saved values to values of the declared state. It does not change its argument.

    It converts the content of a column: a value, the whole list, the whole map, in the stored form for the `ttl` of the
    *saved* state. Other functions then convert a changed time to live. A value that is not of the saved type stays
    unchanged: Python does not check types.
    """

    convert: Convert


@final
@dataclass(frozen=True, slots=True)
class Incompatible:
    """The values cannot be converted. `reason` names the state, both types and what to do."""

    reason: str


Compatibility: TypeAlias = Same | Migrate | Incompatible


def compatibility(old: StateMeta, new: StateMeta) -> Compatibility:
    """Return how values of a state saved as `old` become values of the state declared as `new`.

    >>> from headgate.types.typeinfo import Types
    >>> compatibility(StateMeta("n", "value", Types.INT()), StateMeta("n", "value", Types.LONG()))
    Same()
    >>> print(compatibility(StateMeta("n", "value", Types.LONG()), StateMeta("n", "value", Types.INT())).reason)
    state 'n' was saved as value state of Long and is now declared as value state of Integer: Long cannot become \
Integer; declare it as it was saved, or give the new state another name
    """
    if (old.kind, old.namespaced) != (new.kind, new.namespaced):
        return _incompatible(old, new, "a state keeps its kind")
    whole = _between(old.type, new.type)
    if isinstance(whole, str):
        return _incompatible(old, new, whole)
    if whole is _keep:
        return Same()
    item = _between(item_type(old), item_type(new))
    assert not isinstance(item, str)  # otherwise the whole would have been refused, too
    if old.ttl:
        item = _timed(item)
    return Migrate(_each(old.form, item))


def item_type(meta: StateMeta) -> TypeInformation:
    """Return the type of a list state's elements, of a map state's values, of any other state's value."""
    return meta.form.item_type(meta.type)


def _incompatible(old: StateMeta, new: StateMeta, why: str) -> Incompatible:
    return Incompatible(
        f"state {new.name!r} was saved as {old.describe()} and is now declared as {new.describe()}: {why}; "
        "declare it as it was saved, or give the new state another name"
    )


# --- converters of values


def _keep(value: Any) -> Any:
    return value


def _timed(convert: Convert) -> Convert:
    return lambda pair: (pair[0], convert(pair[1]))


def _each(form: StoredForm, convert: Convert) -> Convert:
    return lambda stored: form.converted(stored, convert)


def _in_tuple(converters: list[Convert]) -> Convert:
    def convert_tuple(values: Any) -> Any:
        if not isinstance(values, tuple) or len(values) != len(converters):
            return values
        make = getattr(values, "_make", tuple)
        return make(convert(value) for convert, value in zip(converters, values, strict=True))

    return convert_tuple


@final
class _RowConverter:
    """Converts a row to the fields of another type by name. A row without names has the names of its old type."""

    def __init__(self, old: RowTypeInfo, new: RowTypeInfo, converters: Mapping[str, Convert]) -> None:
        self._old_names = old.field_names
        self._new_names = new.field_names
        self._defaults = new.field_defaults
        self._converters = converters

    def __call__(self, value: Any) -> Any:
        if isinstance(value, Row):
            return self._row(value)
        if isinstance(value, (tuple, list)) and len(value) == len(self._old_names):
            values = self._values(dict(zip(self._old_names, value, strict=True)))
            return values if isinstance(value, list) else tuple(values)
        return value

    def _row(self, row: Row) -> Row:
        names = self._old_names if row._fields is None else row._fields
        if len(row) != len(self._old_names) or set(names) != set(self._old_names):
            return row
        values = self._values(dict(zip(names, row, strict=True)))
        return make_row(values, None if row._fields is None else self._new_names, row.get_row_kind())

    def _values(self, saved: dict[str, Any]) -> list[Any]:
        return [
            self._converters[name](saved[name]) if name in saved else copy.deepcopy(self._defaults.get(name))
            for name in self._new_names
        ]


# --- from one type to another: the converter, or the reason why there is none

_WIDER: Final[dict[BasicType, frozenset[BasicType]]] = {
    BasicType.BYTE: frozenset({BasicType.SHORT, BasicType.INT, BasicType.LONG, BasicType.BIG_INT}),
    BasicType.SHORT: frozenset({BasicType.INT, BasicType.LONG, BasicType.BIG_INT}),
    BasicType.INT: frozenset({BasicType.LONG, BasicType.BIG_INT}),
    BasicType.LONG: frozenset({BasicType.BIG_INT}),
    BasicType.FLOAT: frozenset({BasicType.DOUBLE}),
}


def _between(old: TypeInformation, new: TypeInformation) -> Convert | str:
    if isinstance(old, RowTypeInfo) and isinstance(new, RowTypeInfo):
        return _between_rows(old, new)
    if old == new:
        return _keep
    if isinstance(old, BasicTypeInfo) and isinstance(new, BasicTypeInfo):
        wider = new.basic_type in _WIDER.get(old.basic_type, ())
        return _keep if wider else _refusal(old, new)
    if isinstance(old, TupleTypeInfo) and isinstance(new, TupleTypeInfo):
        return _between_tuples(old, new)
    if isinstance(old, MapTypeInfo) and isinstance(new, MapTypeInfo):
        return _between_maps(old, new)
    return _between_lists(old, new)


def _refusal(old: TypeInformation, new: TypeInformation) -> str:
    return f"{old} cannot become {new}"


def _between_lists(old: TypeInformation, new: TypeInformation) -> Convert | str:
    for kind in (ListTypeInfo, ObjectArrayTypeInfo, BasicArrayTypeInfo, PrimitiveArrayTypeInfo):
        if isinstance(old, kind) and isinstance(new, kind):
            if PrimitiveArrayTypeInfo(BasicTypeInfo(BasicType.BYTE)) in (old, new):
                return f"{_refusal(old, new)}, because one is bytes and the other a list"
            return _wrapped(_between(old.element_type, new.element_type), forms.LIST, "in the elements, ")
    return _refusal(old, new)


def _between_maps(old: MapTypeInfo, new: MapTypeInfo) -> Convert | str:
    if _between(old.key_type_info, new.key_type_info) is not _keep:
        return f"the keys of a map keep their type: {_refusal(old.key_type_info, new.key_type_info)}"
    return _wrapped(_between(old.value_type_info, new.value_type_info), forms.MAP, "in the values, ")


def _wrapped(inner: Convert | str, form: StoredForm, place: str) -> Convert | str:
    if isinstance(inner, str):
        return place + inner
    return _keep if inner is _keep else _each(form, inner)


def _between_tuples(old: TupleTypeInfo, new: TupleTypeInfo) -> Convert | str:
    if len(old.field_types) != len(new.field_types):
        return f"a tuple keeps its length ({len(old.field_types)}, now {len(new.field_types)}); use a row to add fields"
    converters: list[Convert] = []
    for place, (before, after) in enumerate(zip(old.field_types, new.field_types, strict=True)):
        converter = _between(before, after)
        if isinstance(converter, str):
            return f"at place {place} of the tuple, {converter}"
        converters.append(converter)
    return _keep if all(converter is _keep for converter in converters) else _in_tuple(converters)


def _between_rows(old: RowTypeInfo, new: RowTypeInfo) -> Convert | str:
    saved = dict(zip(old.field_names, old.field_types, strict=True))
    converters: dict[str, Convert] = {}
    for name, after in zip(new.field_names, new.field_types, strict=True):
        if name in saved:
            converter = _between(saved[name], after)
            if isinstance(converter, str):
                return f"in field {name!r}, {converter}"
            converters[name] = converter
    if saved and not converters:
        return "no field of the saved row is left; a field that is renamed counts as dropped and added"
    if old.field_names == new.field_names and all(converter is _keep for converter in converters.values()):
        return _keep
    return _RowConverter(old, new, converters)
