"""The walk over a type: one case for each kind of type, from the innermost types outwards.

Everything that depends on a type is made by such a walk: Arrow types and columns, conversions, checks, JSON, CSV and
text. A walk is a subclass of `TypeFold` with a method for each kind of type. A module makes its walk when it is
imported, so a missing method is an error at import.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Final, Generic, TypeVar

from headgate.errors import ProgramError
from headgate.types.sql_types import (
    DateTypeInfo,
    DecimalTypeInfo,
    IntervalTypeInfo,
    NullTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
)
from headgate.types.type_information import TypeInformation
from headgate.types.typeinfo import (
    BasicArrayTypeInfo,
    BasicType,
    BasicTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PickledBytesTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    Types,
)

T = TypeVar("T")

SequenceTypeInfo = BasicArrayTypeInfo | ListTypeInfo | ObjectArrayTypeInfo | PrimitiveArrayTypeInfo
"""Lists and arrays, all of which are lists in Python; an array of bytes is a separate kind of type."""

BYTES: Final = Types.PRIMITIVE_ARRAY(Types.BYTE())


class NoForm(Exception):
    """Raised by a case that has no result for its kind of type."""


def always(result: T) -> Callable[..., T]:
    """Return a case whose result is the same for all types of its kind."""
    return lambda *_: result


class TypeFold(ABC, Generic[T]):
    """Makes a `T` of a type. The cases of types that hold other types receive the results for the inner types.

    A case raises `NoForm` if it has no result; `of` then raises the error that `refusal` returns.

    >>> class Depth(TypeFold[int]):
    ...     def single(self, type_info=None): return 0
    ...     string = boolean = integer = floating = decimal = instant = date = time = timestamp = interval = single
    ...     null = pickled = binary = single
    ...     def sequence(self, type_info, element): return element + 1
    ...     def mapping(self, type_info, key, value): return max(key, value) + 1
    ...     def tuple(self, type_info, fields): return max(fields, default=0) + 1
    ...     row = tuple
    >>> Depth().of(Types.ROW([Types.LIST(Types.MAP(Types.STRING(), Types.LONG()))]))
    3
    """

    def of(self, type_info: TypeInformation, path: str = "") -> T:
        """Return the result for a type. `path` names the field that has the type, such as `address.lines[]`.

        Raises the error that `refusal` returns for the innermost type without a result.
        """
        try:
            return self._case(type_info, path)
        except NoForm:
            raise self.refusal(type_info, path) from None

    def refusal(self, type_info: TypeInformation, path: str) -> Exception:
        """Return the error for a type without a result."""
        return ProgramError(
            f"{f'field {path!r} is' if path else 'there is'} a {type_info}, which this operation does not support"
        )

    def _case(self, type_info: TypeInformation, path: str) -> T:
        match type_info:
            case BasicTypeInfo():
                return self._basic(type_info)
            case PrimitiveArrayTypeInfo() if type_info == BYTES:
                return self.binary()
            case BasicArrayTypeInfo() | ListTypeInfo() | ObjectArrayTypeInfo() | PrimitiveArrayTypeInfo():
                return self.sequence(type_info, self.of(type_info.element_type, f"{path}[]"))
            case MapTypeInfo():
                key = self.of(type_info.key_type_info, f"{path}[key]")
                return self.mapping(type_info, key, self.of(type_info.value_type_info, f"{path}[value]"))
            case TupleTypeInfo():
                return self.tuple(type_info, self._fields(type_info, path))
            case RowTypeInfo():
                return self.row(type_info, self._fields(type_info, path))
            case DecimalTypeInfo():
                return self.decimal(type_info)
            case DateTypeInfo():
                return self.date()
            case TimeTypeInfo():
                return self.time()
            case TimestampTypeInfo():
                return self.timestamp()
            case IntervalTypeInfo():
                return self.interval()
            case NullTypeInfo():
                return self.null()
            case PickledBytesTypeInfo():
                return self.pickled()
        raise TypeError(f"{type_info!r} is no known kind of type")

    def _basic(self, type_info: BasicTypeInfo) -> T:
        match type_info.basic_type:
            case BasicType.STRING | BasicType.CHAR:
                return self.string(type_info)
            case BasicType.BOOLEAN:
                return self.boolean()
            case BasicType.FLOAT | BasicType.DOUBLE:
                return self.floating(type_info)
            case BasicType.BIG_DEC:
                return self.decimal(type_info)
            case BasicType.INSTANT:
                return self.instant()
        return self.integer(type_info)

    def _fields(self, type_info: RowTypeInfo | TupleTypeInfo, path: str) -> list[T]:
        return [self.of(own, f"{path}.{name}" if path else name) for name, own in fields_of(type_info)]

    # --- types of single values

    @abstractmethod
    def string(self, type_info: BasicTypeInfo) -> T:
        """Text: STRING and CHAR."""

    @abstractmethod
    def boolean(self) -> T:
        """BOOLEAN."""

    @abstractmethod
    def integer(self, type_info: BasicTypeInfo) -> T:
        """BYTE, SHORT, INT, LONG and BIG_INT: `BITS` has their widths."""

    @abstractmethod
    def floating(self, type_info: BasicTypeInfo) -> T:
        """FLOAT and DOUBLE."""

    @abstractmethod
    def decimal(self, type_info: BasicTypeInfo | DecimalTypeInfo) -> T:
        """BIG_DEC, and decimals of a precision and scale."""

    @abstractmethod
    def instant(self) -> T:
        """INSTANT."""

    @abstractmethod
    def date(self) -> T:
        """SQL_DATE."""

    @abstractmethod
    def time(self) -> T:
        """SQL_TIME."""

    @abstractmethod
    def timestamp(self) -> T:
        """SQL_TIMESTAMP."""

    @abstractmethod
    def interval(self) -> T:
        """SQL_INTERVAL."""

    @abstractmethod
    def null(self) -> T:
        """SQL_NULL."""

    @abstractmethod
    def binary(self) -> T:
        """PRIMITIVE_ARRAY of BYTE: `bytes`."""

    @abstractmethod
    def pickled(self) -> T:
        """PICKLED_BYTE_ARRAY: any object."""

    # --- types that hold types

    @abstractmethod
    def sequence(self, type_info: SequenceTypeInfo, element: T) -> T:
        """Lists and arrays."""

    @abstractmethod
    def mapping(self, type_info: MapTypeInfo, key: T, value: T) -> T:
        """MAP."""

    @abstractmethod
    def tuple(self, type_info: TupleTypeInfo, fields: Sequence[T]) -> T:
        """TUPLE."""

    @abstractmethod
    def row(self, type_info: RowTypeInfo, fields: Sequence[T]) -> T:
        """ROW."""


BITS: Final[dict[BasicType, int | None]] = {
    BasicType.BYTE: 8,
    BasicType.SHORT: 16,
    BasicType.INT: 32,
    BasicType.LONG: 64,
    BasicType.BIG_INT: None,
}
"""The width of integers in bits, None for unlimited ones."""


def fields_of(type_info: RowTypeInfo | TupleTypeInfo) -> list[tuple[str, TypeInformation]]:
    """Return names and types of the fields of a row; the fields of a tuple are f0, f1 and so on."""
    if isinstance(type_info, RowTypeInfo):
        return list(zip(type_info.field_names, type_info.field_types, strict=True))
    return [(f"f{place}", field) for place, field in enumerate(type_info.field_types)]
