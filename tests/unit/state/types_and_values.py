"""Types, values of them, and later forms of a type that its values can follow: strategies and a check."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from headgate.types.row import Row, make_row
from headgate.types.typeinfo import (
    BasicType,
    BasicTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
)

WIDENED = {
    BasicType.BYTE: [BasicType.SHORT, BasicType.INT, BasicType.LONG, BasicType.BIG_INT],
    BasicType.SHORT: [BasicType.INT, BasicType.LONG, BasicType.BIG_INT],
    BasicType.INT: [BasicType.LONG, BasicType.BIG_INT],
    BasicType.LONG: [BasicType.BIG_INT],
    BasicType.FLOAT: [BasicType.DOUBLE],
}
BITS = {BasicType.BYTE: 8, BasicType.SHORT: 16, BasicType.INT: 32, BasicType.LONG: 64, BasicType.BIG_INT: 200}
BASIC = st.sampled_from([*BITS, BasicType.FLOAT, BasicType.DOUBLE, BasicType.STRING, BasicType.BOOLEAN])
NAMES = st.lists(st.sampled_from("abcde"), unique=True, min_size=1, max_size=4)
KEYS = st.sampled_from([Types.STRING(), Types.LONG()])


@st.composite
def rows(draw: DrawFn, fields: SearchStrategy[TypeInformation]) -> RowTypeInfo:
    names = draw(NAMES)
    return Types.ROW_NAMED(names, [draw(fields) for _ in names])


TYPES: SearchStrategy[TypeInformation] = st.recursive(
    BASIC.map(BasicTypeInfo),
    lambda inner: (
        inner.map(Types.LIST)
        | st.builds(Types.MAP, KEYS, inner)
        | st.lists(inner, max_size=3).map(Types.TUPLE)
        | rows(inner)
    ),
    max_leaves=6,
)


@st.composite
def values(draw: DrawFn, kind: TypeInformation) -> Any:
    """A value of the type."""
    match kind:
        case BasicTypeInfo():
            return draw(basic_values(kind.basic_type))
        case ListTypeInfo():
            return draw(st.lists(values(kind.element_type), max_size=3))
        case MapTypeInfo():
            return draw(st.dictionaries(values(kind.key_type_info), values(kind.value_type_info), max_size=3))
        case TupleTypeInfo():
            return tuple(draw(values(place)) for place in kind.field_types)
        case RowTypeInfo():
            items = [draw(st.none() | values(field)) for field in kind.field_types]
            return make_row(items, draw(st.sampled_from([None, kind.field_names])))
    raise AssertionError(kind)


def basic_values(basic: BasicType) -> SearchStrategy[Any]:
    if basic in BITS:
        return st.integers(-(2 ** (BITS[basic] - 1)), 2 ** (BITS[basic] - 1) - 1)
    if basic in (BasicType.FLOAT, BasicType.DOUBLE):
        return st.floats(width=32)
    return st.booleans() if basic is BasicType.BOOLEAN else st.text()


def conforms(value: Any, kind: TypeInformation) -> bool:
    """Whether a value is one of the type."""
    match kind:
        case BasicTypeInfo(basic) if basic in BITS:
            return type(value) is int and -(2 ** (BITS[basic] - 1)) <= value < 2 ** (BITS[basic] - 1)
        case BasicTypeInfo(basic):
            return type(value) is {"String": str, "Boolean": bool}.get(basic.value, float)
        case ListTypeInfo():
            return type(value) is list and all(conforms(item, kind.element_type) for item in value)
        case MapTypeInfo():
            return type(value) is dict and all(
                conforms(key, kind.key_type_info) and conforms(item, kind.value_type_info)
                for key, item in value.items()
            )
        case TupleTypeInfo():
            return type(value) is tuple and _all_conform(value, kind.field_types)
        case RowTypeInfo():
            named = isinstance(value, Row) and value._fields in (None, kind.field_names)
            return named and _all_conform(value, kind.field_types, nullable=True)
    raise AssertionError(kind)


def _all_conform(items: Any, kinds: tuple[TypeInformation, ...], nullable: bool = False) -> bool:
    return len(items) == len(kinds) and all(
        (nullable and item is None) or conforms(item, kind) for item, kind in zip(items, kinds, strict=True)
    )


@st.composite
def evolved(draw: DrawFn, kind: TypeInformation) -> TypeInformation:
    """A later form of the type: numbers wider, rows with other fields."""
    match kind:
        case BasicTypeInfo():
            return BasicTypeInfo(draw(st.sampled_from([kind.basic_type, *WIDENED.get(kind.basic_type, [])])))
        case ListTypeInfo():
            return Types.LIST(draw(evolved(kind.element_type)))
        case MapTypeInfo():
            return Types.MAP(kind.key_type_info, draw(evolved(kind.value_type_info)))
        case TupleTypeInfo():
            return Types.TUPLE([draw(evolved(place)) for place in kind.field_types])
        case RowTypeInfo():
            return draw(evolved_row(kind))
    raise AssertionError(kind)


@st.composite
def evolved_row(draw: DrawFn, kind: RowTypeInfo) -> RowTypeInfo:
    kept = draw(st.lists(st.sampled_from(kind.field_names), unique=True, min_size=1))
    fields = {name: draw(evolved(kind.field_types[kind.get_field_index(name)])) for name in kept}
    added = draw(st.lists(st.sampled_from(["v", "w"]), unique=True))
    fields |= {name: Types.STRING() for name in added}
    order = draw(st.permutations(list(fields)))
    defaults = draw(st.dictionaries(st.sampled_from(added), st.text())) if added else {}
    return Types.ROW_NAMED(order, [fields[name] for name in order], defaults)
