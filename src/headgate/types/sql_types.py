"""The types of SQL that Python has a class for: dates, times, decimals, lengths of time, and a column of nulls."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final, final

from headgate.types.type_information import READERS, Json, TypeInformation

DECIMAL_DIGITS_MAX: Final = 38


class SqlTimeTypeInfo(TypeInformation):
    """The date and time types of SQL; Python's `date`, `time` and `datetime`."""

    __slots__ = ()

    @staticmethod
    def DATE() -> DateTypeInfo:
        return DateTypeInfo()

    @staticmethod
    def TIME() -> TimeTypeInfo:
        return TimeTypeInfo()

    @staticmethod
    def TIMESTAMP() -> TimestampTypeInfo:
        return TimestampTypeInfo()


@final
@dataclass(frozen=True, slots=True, repr=False)
class DateTypeInfo(SqlTimeTypeInfo):
    """A `datetime.date`."""

    def to_json(self) -> Json:
        return {"type": "SQL_DATE"}

    def __repr__(self) -> str:
        return "Date"


@final
@dataclass(frozen=True, slots=True, repr=False)
class TimeTypeInfo(SqlTimeTypeInfo):
    """A `datetime.time`."""

    def to_json(self) -> Json:
        return {"type": "SQL_TIME"}

    def __repr__(self) -> str:
        return "Time"


@final
@dataclass(frozen=True, slots=True, repr=False)
class TimestampTypeInfo(SqlTimeTypeInfo):
    """A `datetime.datetime`."""

    def to_json(self) -> Json:
        return {"type": "SQL_TIMESTAMP"}

    def __repr__(self) -> str:
        return "Timestamp"


class LocalTimeTypeInfo:
    """Other names of the types of `SqlTimeTypeInfo`: the constructor returns the SQL type of the same Python class."""

    class TimeType(Enum):
        """Date, time of day, or both."""

        LOCAL_DATE = 0
        LOCAL_TIME = 1
        LOCAL_DATE_TIME = 2

    def __new__(cls, time_type: LocalTimeTypeInfo.TimeType) -> TypeInformation:  # type: ignore[misc]
        return _LOCAL_TIMES[time_type]()


@final
@dataclass(frozen=True, slots=True, repr=False)
class DecimalTypeInfo(TypeInformation):
    """A `decimal.Decimal` of at most `precision` digits, `scale` of them after the point.

    Raises ValueError unless precision is 1 to 38, and scale 0 to precision.

    >>> DecimalTypeInfo(10, 2)
    Decimal(10, 2)
    """

    precision: int
    scale: int

    def __post_init__(self) -> None:
        if not (1 <= self.precision <= DECIMAL_DIGITS_MAX and 0 <= self.scale <= self.precision):
            raise ValueError(
                f"a decimal must have 1 to {DECIMAL_DIGITS_MAX} digits, and no more of them after the point; "
                f"got precision {self.precision}, scale {self.scale}"
            )

    def to_json(self) -> Json:
        return {"type": "SQL_DECIMAL", "precision": self.precision, "scale": self.scale}

    def __repr__(self) -> str:
        return f"Decimal({self.precision}, {self.scale})"


@final
@dataclass(frozen=True, slots=True, repr=False)
class IntervalTypeInfo(TypeInformation):
    """A `datetime.timedelta`: a length of time in days to microseconds."""

    def to_json(self) -> Json:
        return {"type": "SQL_INTERVAL"}

    def __repr__(self) -> str:
        return "Interval"


@final
@dataclass(frozen=True, slots=True, repr=False)
class NullTypeInfo(TypeInformation):
    """None, and nothing else: the type of a column that has only nulls."""

    def to_json(self) -> Json:
        return {"type": "SQL_NULL"}

    def __repr__(self) -> str:
        return "Null"


_LOCAL_TIMES: Final[dict[LocalTimeTypeInfo.TimeType, type[TypeInformation]]] = {
    LocalTimeTypeInfo.TimeType.LOCAL_DATE: DateTypeInfo,
    LocalTimeTypeInfo.TimeType.LOCAL_TIME: TimeTypeInfo,
    LocalTimeTypeInfo.TimeType.LOCAL_DATE_TIME: TimestampTypeInfo,
}

READERS.update(
    {
        "SQL_DATE": lambda _: DateTypeInfo(),
        "SQL_TIME": lambda _: TimeTypeInfo(),
        "SQL_TIMESTAMP": lambda _: TimestampTypeInfo(),
        "SQL_DECIMAL": lambda description: DecimalTypeInfo(description["precision"], description["scale"]),
        "SQL_INTERVAL": lambda _: IntervalTypeInfo(),
        "SQL_NULL": lambda _: NullTypeInfo(),
    }
)
