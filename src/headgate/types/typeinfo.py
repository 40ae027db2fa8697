"""Type information: the types of a stream's records or a state's values, as frozen, comparable values.

Each type has a readable text for error messages (`str`) and a stable description for snapshots (`to_json`,
`from_json`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, final

from headgate.types.sql_types import (
    DateTypeInfo,
    DecimalTypeInfo,
    IntervalTypeInfo,
    LocalTimeTypeInfo,
    NullTypeInfo,
    SqlTimeTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
)
from headgate.types.type_information import READERS, Json, Reader, TypeInformation

__all__ = [
    "BasicArrayTypeInfo",
    "BasicType",
    "BasicTypeInfo",
    "DateTypeInfo",
    "DecimalTypeInfo",
    "InstantTypeInfo",
    "IntervalTypeInfo",
    "Json",
    "ListTypeInfo",
    "LocalTimeTypeInfo",
    "MapTypeInfo",
    "NullTypeInfo",
    "ObjectArrayTypeInfo",
    "PickledBytesTypeInfo",
    "PrimitiveArrayTypeInfo",
    "RowTypeInfo",
    "SqlTimeTypeInfo",
    "TimeTypeInfo",
    "TimestampTypeInfo",
    "TupleTypeInfo",
    "TypeInformation",
    "Types",
]


class BasicType(Enum):
    """The types of single values."""

    STRING = "String"
    BYTE = "Byte"
    BOOLEAN = "Boolean"
    SHORT = "Short"
    INT = "Integer"
    LONG = "Long"
    FLOAT = "Float"
    DOUBLE = "Double"
    CHAR = "Char"
    BIG_INT = "BigInteger"
    BIG_DEC = "BigDecimal"
    INSTANT = "Instant"


def _basic(basic: BasicType) -> Callable[[], BasicTypeInfo]:
    return lambda: InstantTypeInfo(basic) if basic is BasicType.INSTANT else BasicTypeInfo(basic)


@dataclass(frozen=True, slots=True, repr=False)
class BasicTypeInfo(TypeInformation):
    """The type of a single value: text, a number, a boolean, an instant."""

    basic_type: BasicType

    def to_json(self) -> Json:
        return {"type": self.basic_type.name}

    def __repr__(self) -> str:
        return self.basic_type.value

    STRING_TYPE_INFO = staticmethod(_basic(BasicType.STRING))
    BOOLEAN_TYPE_INFO = staticmethod(_basic(BasicType.BOOLEAN))
    BYTE_TYPE_INFO = staticmethod(_basic(BasicType.BYTE))
    SHORT_TYPE_INFO = staticmethod(_basic(BasicType.SHORT))
    INT_TYPE_INFO = staticmethod(_basic(BasicType.INT))
    LONG_TYPE_INFO = staticmethod(_basic(BasicType.LONG))
    FLOAT_TYPE_INFO = staticmethod(_basic(BasicType.FLOAT))
    DOUBLE_TYPE_INFO = staticmethod(_basic(BasicType.DOUBLE))
    CHAR_TYPE_INFO = staticmethod(_basic(BasicType.CHAR))
    BIG_INT_TYPE_INFO = staticmethod(_basic(BasicType.BIG_INT))
    BIG_DEC_TYPE_INFO = staticmethod(_basic(BasicType.BIG_DEC))
    INSTANT_TYPE_INFO = staticmethod(_basic(BasicType.INSTANT))


@final
class InstantTypeInfo(BasicTypeInfo):
    """A point in time (`Instant`)."""

    __slots__ = ()


@final
@dataclass(frozen=True, slots=True, repr=False)
class PickledBytesTypeInfo(TypeInformation):
    """Any Python object that can be pickled."""

    def to_json(self) -> Json:
        return {"type": "PICKLED_BYTE_ARRAY"}

    def __repr__(self) -> str:
        return "PickledByteArrayTypeInfo"


@dataclass(frozen=True, slots=True, repr=False)
class _Collection(TypeInformation):
    element_type: TypeInformation

    def to_json(self) -> Json:
        return {"type": _COLLECTION_NAMES[type(self)], "element": self.element_type.to_json()}

    def __repr__(self) -> str:
        return f"{type(self).__name__}<{self.element_type}>"


@final
class PrimitiveArrayTypeInfo(_Collection):
    """An array of numbers or booleans, none of them None; `bytes` when the element type is BYTE."""

    __slots__ = ()

    def __init__(self, element_type: TypeInformation) -> None:
        _check_element(element_type, _PRIMITIVES, "PRIMITIVE_ARRAY")
        super().__init__(element_type)


@final
class BasicArrayTypeInfo(_Collection):
    """A list of numbers, booleans or strings."""

    __slots__ = ()

    def __init__(self, element_type: TypeInformation) -> None:
        _check_element(element_type, _PRIMITIVES | {BasicType.STRING}, "BASIC_ARRAY")
        super().__init__(element_type)


@final
class ObjectArrayTypeInfo(_Collection):
    """A list of values of any one type."""

    __slots__ = ()


@final
class ListTypeInfo(_Collection):
    """A list of values of any one type."""

    __slots__ = ()


@final
@dataclass(frozen=True, slots=True, repr=False)
class MapTypeInfo(TypeInformation):
    """A dict."""

    key_type_info: TypeInformation
    value_type_info: TypeInformation

    def to_json(self) -> Json:
        return {"type": "MAP", "key": self.key_type_info.to_json(), "value": self.value_type_info.to_json()}

    def __repr__(self) -> str:
        return f"MapTypeInfo<{self.key_type_info}, {self.value_type_info}>"


@final
@dataclass(frozen=True, slots=True, repr=False, init=False)
class TupleTypeInfo(TypeInformation):
    """A tuple with a type for each position."""

    field_types: tuple[TypeInformation, ...]

    def __init__(self, field_types: Sequence[TypeInformation]) -> None:
        object.__setattr__(self, "field_types", _checked_types(field_types, "TUPLE"))

    def get_field_types(self) -> list[TypeInformation]:
        """Return the types by position."""
        return list(self.field_types)

    def to_json(self) -> Json:
        return {"type": "TUPLE", "fields": [field.to_json() for field in self.field_types]}

    def __repr__(self) -> str:
        return f"TupleTypeInfo({', '.join(map(str, self.field_types))})"


@final
@dataclass(frozen=True, slots=True, repr=False, init=False)
class RowTypeInfo(TypeInformation):
    """A `Row` with a type and a name for each field; names not given are f0, f1 and so on.

    Unlike in Java, two row types with the same types under other names are not equal.

    `field_defaults` has the values of fields that restored rows do not have yet; a field without a default is None.
    Defaults are not part of the type: they are neither compared nor described in snapshots.

    Raises TypeError for a field type that is not a type, ValueError for names that are not unique or as many as types.
    """

    field_types: tuple[TypeInformation, ...]
    field_names: tuple[str, ...]
    field_defaults: Mapping[str, Any] = field(compare=False)

    def __init__(
        self,
        field_types: Sequence[TypeInformation],
        field_names: Sequence[str] | None = None,
        field_defaults: Mapping[str, Any] | None = None,
    ) -> None:
        types = _checked_types(field_types, "ROW")
        names = tuple(f"f{place}" for place in range(len(types))) if field_names is None else tuple(field_names)
        if len(names) != len(types):
            raise ValueError(f"a row type needs as many names as types; got the names {names} for {len(types)} types")
        if len(set(names)) != len(names):
            raise ValueError(f"the field names of a row type must differ; got {names}")
        defaults = dict(field_defaults or {})
        if not defaults.keys() <= set(names):
            raise ValueError(f"field_defaults has values for {sorted(defaults)}, but the fields are {names}")
        object.__setattr__(self, "field_types", types)
        object.__setattr__(self, "field_names", names)
        object.__setattr__(self, "field_defaults", defaults)

    def get_field_names(self) -> list[str]:
        """Return the names of the fields, in order."""
        return list(self.field_names)

    def get_field_types(self) -> list[TypeInformation]:
        """Return the types of the fields, in order."""
        return list(self.field_types)

    def get_field_index(self, field_name: str) -> int:
        """Return the position of the field, from 0. Raises ValueError when there is no such field."""
        if field_name not in self.field_names:
            raise ValueError(f"{self} has no field {field_name!r}")
        return self.field_names.index(field_name)

    def to_json(self) -> Json:
        fields = [field.to_json() for field in self.field_types]
        return {"type": "ROW", "names": list(self.field_names), "fields": fields}

    def __repr__(self) -> str:
        pairs = zip(self.field_names, self.field_types, strict=True)
        return f"RowTypeInfo({', '.join(f'{name}: {field}' for name, field in pairs)})"


class Types:
    """All types by name.

    >>> Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])
    RowTypeInfo(id: Long, name: String)
    """

    STRING = staticmethod(BasicTypeInfo.STRING_TYPE_INFO)
    """Texts."""
    BYTE = staticmethod(BasicTypeInfo.BYTE_TYPE_INFO)
    """Integers of 8 bits."""
    BOOLEAN = staticmethod(BasicTypeInfo.BOOLEAN_TYPE_INFO)
    """Booleans."""
    SHORT = staticmethod(BasicTypeInfo.SHORT_TYPE_INFO)
    """Integers of 16 bits."""
    INT = staticmethod(BasicTypeInfo.INT_TYPE_INFO)
    """Integers of 32 bits."""
    LONG = staticmethod(BasicTypeInfo.LONG_TYPE_INFO)
    """Integers of 64 bits."""
    FLOAT = staticmethod(BasicTypeInfo.FLOAT_TYPE_INFO)
    """Floats, as near as 32 bits allow."""
    DOUBLE = staticmethod(BasicTypeInfo.DOUBLE_TYPE_INFO)
    """Floats."""
    CHAR = staticmethod(BasicTypeInfo.CHAR_TYPE_INFO)
    """Texts."""
    BIG_INT = staticmethod(BasicTypeInfo.BIG_INT_TYPE_INFO)
    """Integers of any size."""
    BIG_DEC = staticmethod(BasicTypeInfo.BIG_DEC_TYPE_INFO)
    """Decimals."""
    INSTANT = staticmethod(BasicTypeInfo.INSTANT_TYPE_INFO)
    """Points in time, as `Instant`."""
    SQL_DATE = staticmethod(SqlTimeTypeInfo.DATE)
    """Dates."""
    SQL_TIME = staticmethod(SqlTimeTypeInfo.TIME)
    """Times of the day."""
    SQL_TIMESTAMP = staticmethod(SqlTimeTypeInfo.TIMESTAMP)
    """Dates with a time of the day."""
    SQL_DECIMAL = DecimalTypeInfo
    """Decimals of a precision and scale."""
    SQL_INTERVAL = IntervalTypeInfo
    """Lengths of time."""
    SQL_NULL = NullTypeInfo
    """None."""
    PICKLED_BYTE_ARRAY = PickledBytesTypeInfo
    """Any Python objects."""
    ROW = RowTypeInfo
    """Rows whose fields may have names."""
    TUPLE = TupleTypeInfo
    """Tuples."""
    PRIMITIVE_ARRAY = PrimitiveArrayTypeInfo
    """Lists of numbers or booleans; of `BYTE()`, bytes."""
    BASIC_ARRAY = BasicArrayTypeInfo
    """Lists of single values."""
    OBJECT_ARRAY = ObjectArrayTypeInfo
    """Lists of values of any type."""
    MAP = MapTypeInfo
    """Dicts."""

    @staticmethod
    def LIST(element_type_info: TypeInformation) -> ListTypeInfo:
        """Return the type of lists of values of this type."""
        return ListTypeInfo(element_type_info)

    @staticmethod
    def ROW_NAMED(
        field_names: Sequence[str],
        field_types: Sequence[TypeInformation],
        field_defaults: Mapping[str, Any] | None = None,
    ) -> RowTypeInfo:
        """Return a row type with the given names. Restored rows get `field_defaults` for fields that they lack."""
        return RowTypeInfo(field_types, field_names, field_defaults)


_PRIMITIVES: Final = frozenset(BasicType) - {
    BasicType.STRING,
    BasicType.BIG_INT,
    BasicType.BIG_DEC,
    BasicType.INSTANT,
}
_COLLECTION_NAMES: Final[dict[type[_Collection], str]] = {
    PrimitiveArrayTypeInfo: "PRIMITIVE_ARRAY",
    BasicArrayTypeInfo: "BASIC_ARRAY",
    ObjectArrayTypeInfo: "OBJECT_ARRAY",
    ListTypeInfo: "LIST",
}


def _check_element(element: TypeInformation, allowed: frozenset[BasicType], owner: str) -> None:
    if not isinstance(element, BasicTypeInfo) or element.basic_type not in allowed:
        names = ", ".join(sorted(basic.name for basic in allowed))
        raise TypeError(f"Types.{owner} must hold one of {names}, not {element}; use Types.OBJECT_ARRAY or Types.LIST")


def _checked_types(types: Sequence[TypeInformation], owner: str) -> tuple[TypeInformation, ...]:
    for place, candidate in enumerate(types):
        if not isinstance(candidate, TypeInformation):
            raise TypeError(f"field {place} of Types.{owner} must be a type such as Types.INT(), not {candidate!r}")
    return tuple(types)


def _fields(description: Json) -> list[TypeInformation]:
    return [TypeInformation.from_json(field) for field in description["fields"]]


def _basic_reader(basic: BasicType) -> Reader:
    read = _basic(basic)()
    return lambda _: read


def _collection_reader(kind: type[_Collection]) -> Reader:
    return lambda description: kind(TypeInformation.from_json(description["element"]))


READERS.update(
    {
        **{basic.name: _basic_reader(basic) for basic in BasicType},
        **{name: _collection_reader(kind) for kind, name in _COLLECTION_NAMES.items()},
        "PICKLED_BYTE_ARRAY": lambda _: PickledBytesTypeInfo(),
        "MAP": lambda description: MapTypeInfo(
            TypeInformation.from_json(description["key"]), TypeInformation.from_json(description["value"])
        ),
        "TUPLE": lambda description: TupleTypeInfo(_fields(description)),
        "ROW": lambda description: RowTypeInfo(_fields(description), description["names"]),
    }
)
