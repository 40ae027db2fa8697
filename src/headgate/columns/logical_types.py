"""Logical types: the types of SQL, with nullability, lengths and precisions as Flink has them, and Arrow's for each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final, final

import pyarrow as pa

MAX_LENGTH: Final = 2**31 - 1
"""The length of STRING and BYTES, which are VARCHAR and VARBINARY without a limit."""

MAX_PRECISION: Final = 38
"""The most digits of a DECIMAL."""


@final
class Kind(Enum):
    """The kinds of types. The value is the name in SQL."""

    BOOLEAN = "BOOLEAN"
    TINYINT = "TINYINT"
    SMALLINT = "SMALLINT"
    INT = "INT"
    BIGINT = "BIGINT"
    FLOAT = "FLOAT"
    DOUBLE = "DOUBLE"
    DECIMAL = "DECIMAL"
    CHAR = "CHAR"
    VARCHAR = "VARCHAR"
    BINARY = "BINARY"
    VARBINARY = "VARBINARY"
    DATE = "DATE"
    TIME = "TIME"
    TIMESTAMP = "TIMESTAMP"
    TIMESTAMP_LTZ = "TIMESTAMP_LTZ"
    DAY_INTERVAL = "INTERVAL DAY TO SECOND"
    MONTH_INTERVAL = "INTERVAL YEAR TO MONTH"
    ARRAY = "ARRAY"
    MAP = "MAP"
    ROW = "ROW"
    NULL = "NULL"


INTEGERS: Final = (Kind.TINYINT, Kind.SMALLINT, Kind.INT, Kind.BIGINT)
"""From the narrowest to the widest."""
FLOATS: Final = (Kind.FLOAT, Kind.DOUBLE)
NUMBERS: Final = (*INTEGERS, Kind.DECIMAL, *FLOATS)
TEXTS: Final = (Kind.CHAR, Kind.VARCHAR)
BYTES: Final = (Kind.BINARY, Kind.VARBINARY)
TIMESTAMPS: Final = (Kind.TIMESTAMP, Kind.TIMESTAMP_LTZ)
POINTS: Final = (Kind.DATE, Kind.TIME, *TIMESTAMPS)
"""Points in time."""
NESTED: Final = (Kind.ARRAY, Kind.MAP, Kind.ROW)
INTERVALS: Final = (Kind.DAY_INTERVAL, Kind.MONTH_INTERVAL)


@final
@dataclass(frozen=True, slots=True)
class LogicalType:
    """A type of SQL. Types are equal if kind, nullability and all parameters are.

    `precision` is the number of digits of a DECIMAL, the number of digits after the second of a time, and the length
    of a text or of bytes. `fields` has the fields of a ROW, "element" of an ARRAY, "key" and "value" of a MAP.

    >>> print(decimal(10, 2, nullable=False))
    DECIMAL(10, 2) NOT NULL
    """

    kind: Kind
    nullable: bool = True
    precision: int = 0
    scale: int = 0
    fields: tuple[tuple[str, LogicalType], ...] = ()

    def __str__(self) -> str:
        return self._name() if self.nullable else f"{self._name()} NOT NULL"

    def _name(self) -> str:
        match self.kind:
            case Kind.DECIMAL:
                return f"DECIMAL({self.precision}, {self.scale})"
            case Kind.VARCHAR | Kind.VARBINARY if self.precision == MAX_LENGTH:
                return "STRING" if self.kind is Kind.VARCHAR else "BYTES"
            case Kind.CHAR | Kind.VARCHAR | Kind.BINARY | Kind.VARBINARY | Kind.TIME | Kind.TIMESTAMP:
                return f"{self.kind.value}({self.precision})"
            case Kind.TIMESTAMP_LTZ:
                return f"TIMESTAMP_LTZ({self.precision})"
            case Kind.DAY_INTERVAL:
                return f"INTERVAL DAY TO SECOND({self.precision})"
            case Kind.ARRAY:
                return f"ARRAY<{self.element}>"
            case Kind.MAP:
                return "MAP<" + ", ".join(str(inner) for _, inner in self.fields) + ">"
            case Kind.ROW:
                quoted = ((name.replace("`", "``"), inner) for name, inner in self.fields)
                return "ROW<" + ", ".join(f"`{name}` {inner}" for name, inner in quoted) + ">"
        return str(self.kind.value)

    def nulls(self, nullable: bool = True) -> LogicalType:
        """Return the type that does, or does not, have NULL among its values."""
        return self if self.nullable == nullable else replace(self, nullable=nullable)

    @property
    def element(self) -> LogicalType:
        """The type of the elements of an ARRAY."""
        return self.fields[0][1]

    @property
    def key(self) -> LogicalType:
        """The type of the keys of a MAP."""
        return self.fields[0][1]

    @property
    def value(self) -> LogicalType:
        """The type of the values of a MAP."""
        return self.fields[1][1]

    @property
    def arrow(self) -> pa.DataType:
        """The Arrow type of a column of this type. Lengths of texts and bytes are not part of it."""
        simple = _ARROW.get(self.kind)
        if simple is not None:
            return simple
        match self.kind:
            case Kind.DECIMAL:
                return pa.decimal128(self.precision, self.scale)
            case Kind.TIME:
                unit = unit_of(self.precision)
                return pa.time32(unit) if unit in ("s", "ms") else pa.time64(unit)
            case Kind.TIMESTAMP:
                return pa.timestamp(unit_of(self.precision))
            case Kind.TIMESTAMP_LTZ:
                return pa.timestamp(unit_of(self.precision), "UTC")
            case Kind.DAY_INTERVAL:
                return pa.duration(unit_of(self.precision))
            case Kind.ARRAY:
                return pa.list_(_field("element", self.element))
            case Kind.MAP:
                return pa.map_(self.key.arrow, _field("value", self.value))
        return pa.struct([_field(name, inner) for name, inner in self.fields])

    @property
    def is_number(self) -> bool:
        """Whether values are numbers."""
        return self.kind in NUMBERS

    @property
    def is_text(self) -> bool:
        """Whether values are texts."""
        return self.kind in TEXTS

    @property
    def is_time_attribute(self) -> bool:
        """Whether the type can be the event time of a row."""
        return self.kind in TIMESTAMPS


def _field(name: str, inner: LogicalType) -> pa.Field:
    return pa.field(name, inner.arrow, nullable=inner.nullable)


def unit_of(precision: int) -> str:
    """Return Arrow's unit of times with `precision` digits after the second.

    >>> [unit_of(precision) for precision in (0, 3, 6, 9)]
    ['s', 'ms', 'us', 'ns']
    """
    return ("s", "ms", "us", "ns")[-(-precision // 3)]


_PRECISION_OF_UNIT: Final = {"s": 0, "ms": 3, "us": 6, "ns": 9}

_ARROW: Final[dict[Kind, pa.DataType]] = {
    Kind.BOOLEAN: pa.bool_(),
    Kind.TINYINT: pa.int8(),
    Kind.SMALLINT: pa.int16(),
    Kind.INT: pa.int32(),
    Kind.BIGINT: pa.int64(),
    Kind.FLOAT: pa.float32(),
    Kind.DOUBLE: pa.float64(),
    Kind.CHAR: pa.string(),
    Kind.VARCHAR: pa.string(),
    Kind.BINARY: pa.binary(),
    Kind.VARBINARY: pa.binary(),
    Kind.DATE: pa.date32(),
    Kind.MONTH_INTERVAL: pa.int32(),
    Kind.NULL: pa.null(),
}

BOOLEAN: Final = LogicalType(Kind.BOOLEAN)
TINYINT: Final = LogicalType(Kind.TINYINT)
SMALLINT: Final = LogicalType(Kind.SMALLINT)
INT: Final = LogicalType(Kind.INT)
BIGINT: Final = LogicalType(Kind.BIGINT)
FLOAT: Final = LogicalType(Kind.FLOAT)
DOUBLE: Final = LogicalType(Kind.DOUBLE)
STRING: Final = LogicalType(Kind.VARCHAR, precision=MAX_LENGTH)
BINARY_STRING: Final = LogicalType(Kind.VARBINARY, precision=MAX_LENGTH)
DATE: Final = LogicalType(Kind.DATE)
NULL: Final = LogicalType(Kind.NULL)
MONTH_INTERVAL: Final = LogicalType(Kind.MONTH_INTERVAL)


def decimal(precision: int, scale: int, nullable: bool = True) -> LogicalType:
    """Return DECIMAL(precision, scale). Raises ValueError unless 1 <= precision <= 38 and 0 <= scale <= precision."""
    if not (1 <= precision <= MAX_PRECISION and 0 <= scale <= precision):
        raise ValueError(
            f"a DECIMAL has 1 to {MAX_PRECISION} digits, and no more of them after the point, "
            f"not ({precision}, {scale})"
        )
    return LogicalType(Kind.DECIMAL, nullable, precision, scale)


def time(precision: int = 0) -> LogicalType:
    """Return TIME(precision). Raises ValueError unless 0 <= precision <= 9."""
    return LogicalType(Kind.TIME, precision=_checked(precision))


def timestamp(precision: int = 6) -> LogicalType:
    """Return TIMESTAMP(precision), a date and time of day without a zone. Raises ValueError unless 0 to 9."""
    return LogicalType(Kind.TIMESTAMP, precision=_checked(precision))


def timestamp_ltz(precision: int = 6) -> LogicalType:
    """Return TIMESTAMP_LTZ(precision), a point in time. Raises ValueError unless 0 <= precision <= 9."""
    return LogicalType(Kind.TIMESTAMP_LTZ, precision=_checked(precision))


def day_interval(precision: int = 3) -> LogicalType:
    """Return INTERVAL DAY TO SECOND(precision), a length of time. Raises ValueError unless 0 <= precision <= 9."""
    return LogicalType(Kind.DAY_INTERVAL, precision=_checked(precision))


def _checked(precision: int) -> int:
    if not 0 <= precision <= 9:  # nanoseconds
        raise ValueError(f"a time has 0 to 9 digits after the second, not {precision}")
    return precision


def text(length: int, *, fixed: bool = False) -> LogicalType:
    """Return VARCHAR(length), or CHAR(length) if it is `fixed`. Raises ValueError for a length below 1."""
    return LogicalType(Kind.CHAR if fixed else Kind.VARCHAR, precision=_length(length, "a text"))


def binary(length: int, *, fixed: bool = False) -> LogicalType:
    """Return VARBINARY(length), or BINARY(length) if it is `fixed`. Raises ValueError for a length below 1."""
    return LogicalType(Kind.BINARY if fixed else Kind.VARBINARY, precision=_length(length, "bytes"))


def _length(length: int, of: str) -> int:
    if not 1 <= length <= MAX_LENGTH:
        raise ValueError(f"the length of {of} is 1 to {MAX_LENGTH}, not {length}")
    return length


def array(element: LogicalType) -> LogicalType:
    """Return ARRAY<element>."""
    return LogicalType(Kind.ARRAY, fields=(("element", element),))


def map_of(key: LogicalType, value: LogicalType) -> LogicalType:
    """Return MAP<key, value>."""
    return LogicalType(Kind.MAP, fields=(("key", key), ("value", value)))


def row(fields: Iterable[tuple[str, LogicalType]]) -> LogicalType:
    """Return ROW<fields>. Raises ValueError if two fields have the same name."""
    own = tuple(fields)
    names = [name for name, _ in own]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"there are two fields {twice!r} in a ROW: give them different names")
    return LogicalType(Kind.ROW, fields=own)


def of_arrow(kind: pa.DataType, name: str, nullable: bool = True) -> LogicalType:
    """Return the logical type of an Arrow column. `name` names the column in errors.

    A timestamp with a zone is a point in time, TIMESTAMP_LTZ. Raises TypeError for a column of nulls, or of another
    type that SQL does not have.

    >>> print(of_arrow(pa.timestamp("ms", "Asia/Tokyo"), "at"))
    TIMESTAMP_LTZ(3)
    """
    is_a = pa.types
    found = _LOGICAL.get(kind)
    if found is None:
        if is_a.is_dictionary(kind):
            found = of_arrow(kind.value_type, name)
        elif is_a.is_decimal128(kind) or is_a.is_decimal256(kind):
            found = decimal(kind.precision, kind.scale)
        elif is_a.is_timestamp(kind):
            precision = _PRECISION_OF_UNIT[kind.unit]
            found = timestamp(precision) if kind.tz is None else timestamp_ltz(precision)
        elif is_a.is_time(kind):
            found = time(_PRECISION_OF_UNIT[kind.unit])
        elif is_a.is_duration(kind):
            found = day_interval(_PRECISION_OF_UNIT[kind.unit])
        elif is_a.is_fixed_size_binary(kind):
            found = binary(kind.byte_width, fixed=True)
        elif is_a.is_map(kind):
            found = map_of(
                of_arrow(kind.key_type, f"{name}[key]", nullable=False),
                of_arrow(kind.item_type, f"{name}[value]", kind.item_field.nullable),
            )
        elif is_a.is_list(kind) or is_a.is_large_list(kind) or is_a.is_fixed_size_list(kind):
            found = array(of_arrow(kind.value_type, f"{name}[]", kind.value_field.nullable))
        elif is_a.is_struct(kind):
            found = row((own.name, of_arrow(own.type, f"{name}.{own.name}", own.nullable)) for own in kind.fields)
        else:
            raise TypeError(f"column {name!r} is {kind} in Arrow, which is no type of SQL: cast it before")
    return found.nulls(nullable)


_LOGICAL: Final[dict[pa.DataType, LogicalType]] = {
    **{_ARROW[own.kind]: own for own in (BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, DATE)},
    pa.uint8(): SMALLINT,
    pa.uint16(): INT,
    pa.uint32(): BIGINT,
    pa.uint64(): decimal(20, 0),
    pa.float16(): FLOAT,
    pa.date64(): DATE,
    pa.string(): STRING,
    pa.large_string(): STRING,
    pa.string_view(): STRING,
    pa.binary(): BINARY_STRING,
    pa.large_binary(): BINARY_STRING,
    pa.binary_view(): BINARY_STRING,
}


def widest(types: Iterable[LogicalType]) -> LogicalType | None:
    """Return the type that values of all types convert to without loss, as Flink's `findCommonType`; None if none.

    It has NULL if one of the types has. Numbers become the widest number: a DECIMAL beside an integer keeps all digits,
    an integer beside a FLOAT becomes FLOAT, and a DECIMAL beside a FLOAT, or any number beside a DOUBLE, DOUBLE.

    >>> print(widest([INT, BIGINT.nulls(False)]), widest([INT, decimal(4, 2)]), widest([INT, STRING]))
    BIGINT DECIMAL(12, 2) None
    """
    given = list(types)
    nullable = any(own.nullable for own in given)
    found: LogicalType | None = None
    for own in given:
        if own.kind is Kind.NULL:
            nullable = True
        elif found is None:
            found = own.nulls()
        elif found != own.nulls():
            found = _wider(found, own.nulls())
            if found is None:
                return None
    return NULL if found is None else found.nulls(nullable)


def _wider(one: LogicalType, other: LogicalType) -> LogicalType | None:
    if one.is_number and other.is_number:
        return _wider_number(one, other)
    kinds = {one.kind, other.kind}
    for family, kind in ((TEXTS, Kind.VARCHAR), (BYTES, Kind.VARBINARY)):
        if kinds <= set(family):
            same = one.kind if len(kinds) == 1 and one.precision == other.precision else kind
            return LogicalType(same, precision=max(one.precision, other.precision))
    if kinds <= {Kind.DATE, *TIMESTAMPS}:
        kind = Kind.TIMESTAMP_LTZ if Kind.TIMESTAMP_LTZ in kinds else Kind.TIMESTAMP
        return LogicalType(kind, precision=max(one.precision, other.precision))
    if len(kinds) > 1:
        return None
    if one.kind in (Kind.TIME, Kind.DAY_INTERVAL):
        return replace(one, precision=max(one.precision, other.precision))
    if len(one.fields) != len(other.fields) or not one.fields:
        return None
    inner = [widest([mine, theirs]) for (_, mine), (_, theirs) in zip(one.fields, other.fields, strict=True)]
    names = [name for name, _ in one.fields]
    return replace(one, fields=tuple((name, own) for name, own in zip(names, inner, strict=True) if own is not None))


_DIGITS: Final = {Kind.TINYINT: 3, Kind.SMALLINT: 5, Kind.INT: 10, Kind.BIGINT: 19}
"""How many digits a DECIMAL needs for each integer."""


def as_decimal(own: LogicalType) -> LogicalType:
    """Return the DECIMAL that holds every value of an integer type; a DECIMAL itself."""
    return own if own.kind is Kind.DECIMAL else decimal(_DIGITS[own.kind], 0, own.nullable)


def _wider_number(one: LogicalType, other: LogicalType) -> LogicalType:
    if one.kind in FLOATS or other.kind in FLOATS:
        return FLOAT if {one.kind, other.kind} <= {Kind.FLOAT, *INTEGERS} else DOUBLE
    if one.kind in INTEGERS and other.kind in INTEGERS:
        return max(one, other, key=lambda own: INTEGERS.index(own.kind))
    mine, theirs = as_decimal(one), as_decimal(other)
    scale = max(mine.scale, theirs.scale)
    whole = max(mine.precision - mine.scale, theirs.precision - theirs.scale)
    return decimal(min(whole + scale, MAX_PRECISION), scale)
