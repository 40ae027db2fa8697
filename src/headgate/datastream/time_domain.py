"""TimeDomain: the clock that a timer goes by."""

from enum import Enum

__all__ = ["TimeDomain"]


class TimeDomain(Enum):
    """The clock that a timer goes by."""

    EVENT_TIME = 0
    PROCESSING_TIME = 1
