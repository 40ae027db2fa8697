"""`DataType`: the types of the columns of a DataFrame."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, final

from headgate.columns import logical_types as types
from headgate.columns.given_types import logical_type
from headgate.columns.logical_types import LogicalType

Fields = Mapping[str, "DataType"] | Iterable[tuple[str, "DataType"]]
_Number = int


@final
class DataType:
    """The type of a column: a type of SQL, and whether the column may have NULL.

    Types are equal if their parameters and their nullability are equal.

    >>> DataType.decimal(10, 2).not_null()
    DataType(DECIMAL(10, 2) NOT NULL)
    >>> DataType.struct({"id": DataType.int64(), "tags": DataType.list(DataType.string())})
    DataType(ROW<`id` BIGINT, `tags` ARRAY<STRING>>)
    """

    __slots__ = ("logical_type",)

    logical_type: Final[LogicalType]  # type: ignore[misc]  # set once, in __init__

    def __init__(self, table_type: Any) -> None:
        """`table_type` is a type of `DataTypes`, SQL text, or a Python class. Raises TypeError, ValueError for text."""
        object.__setattr__(self, "logical_type", logical_type(table_type))

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a DataType cannot be changed, so {name!r} cannot be set: make another type")

    def not_null(self) -> DataType:
        """Return the type without NULL. Raises ValueError for the type of nulls."""
        if self.logical_type.kind is types.Kind.NULL:
            raise ValueError("the type NULL has no value but NULL, so it cannot be NOT NULL")
        return DataType(self.logical_type.nulls(nullable=False))

    def nullable(self) -> DataType:
        """Return the type with NULL."""
        return DataType(self.logical_type.nulls())

    @classmethod
    def int8(cls) -> DataType:
        """TINYINT."""
        return cls(types.TINYINT)

    @classmethod
    def int16(cls) -> DataType:
        """SMALLINT."""
        return cls(types.SMALLINT)

    @classmethod
    def int32(cls) -> DataType:
        """INT."""
        return cls(types.INT)

    @classmethod
    def int64(cls) -> DataType:
        """BIGINT."""
        return cls(types.BIGINT)

    @classmethod
    def float32(cls) -> DataType:
        """FLOAT."""
        return cls(types.FLOAT)

    @classmethod
    def float64(cls) -> DataType:
        """DOUBLE."""
        return cls(types.DOUBLE)

    @classmethod
    def decimal(cls, precision: _Number, scale: _Number) -> DataType:
        """DECIMAL with `precision` digits, `scale` of them after the point. Raises ValueError for more than 38."""
        return cls(types.decimal(_integer("precision", precision), _integer("scale", scale)))

    @classmethod
    def bool(cls) -> DataType:
        """BOOLEAN."""
        return cls(types.BOOLEAN)

    @classmethod
    def null(cls) -> DataType:
        """NULL: the type of a column that has no value but NULL."""
        return cls(types.NULL)

    @classmethod
    def string(cls) -> DataType:
        """STRING."""
        return cls(types.STRING)

    @classmethod
    def fixed_size_string(cls, length: _Number) -> DataType:
        """CHAR of `length` characters."""
        return cls(types.text(_integer("length", length), fixed=True))

    @classmethod
    def binary(cls) -> DataType:
        """BYTES."""
        return cls(types.BINARY_STRING)

    @classmethod
    def fixed_size_binary(cls, length: _Number) -> DataType:
        """BINARY of `length` bytes."""
        return cls(types.binary(_integer("length", length), fixed=True))

    @classmethod
    def date(cls) -> DataType:
        """DATE."""
        return cls(types.DATE)

    @classmethod
    def time(cls, precision: _Number = 0) -> DataType:
        """TIME of day, with `precision` digits after the second."""
        return cls(types.time(_integer("precision", precision)))

    @classmethod
    def timestamp(cls, precision: _Number = 6) -> DataType:
        """TIMESTAMP: a date and time of day without a zone, with `precision` digits after the second."""
        return cls(types.timestamp(_integer("precision", precision)))

    @classmethod
    def timestamp_ltz(cls, precision: _Number = 6) -> DataType:
        """TIMESTAMP_LTZ: a point in time, with `precision` digits after the second."""
        return cls(types.timestamp_ltz(_integer("precision", precision)))

    @classmethod
    def list(cls, dtype: DataType) -> DataType:
        """ARRAY of elements of a type."""
        return cls(types.array(_inner(dtype)))

    @classmethod
    def map(cls, key_type: DataType, value_type: DataType) -> DataType:
        """MAP from keys to values."""
        return cls(types.map_of(_inner(key_type), _inner(value_type)))

    @classmethod
    def struct(cls, fields: Fields) -> DataType:
        """ROW with these fields: a dict, or a list of names and types. Raises ValueError if two have the same name."""
        pairs = fields.items() if isinstance(fields, Mapping) else fields
        return cls(types.row((name, _inner(own)) for name, own in pairs))

    def __eq__(self, other: object) -> _Bool:
        return isinstance(other, DataType) and self.logical_type == other.logical_type

    def __hash__(self) -> int:
        return hash(self.logical_type)

    def __repr__(self) -> str:
        return f"DataType({self.logical_type})"

    def __reduce__(self) -> tuple[Any, ...]:
        return DataType, (self.logical_type,)


_Bool = bool


def _integer(name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"the {name} of a type is an int, not {value!r}")
    return value


def _inner(given: object) -> LogicalType:
    if not isinstance(given, DataType):
        raise TypeError(f"a type within a type is a DataType, such as DataType.int64(), not {given!r}")
    return given.logical_type
