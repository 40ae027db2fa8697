"""TimeDomain: the clock that a timer goes by."""

from headgate.functions.context import TimeDomain

__all__ = ["TimeDomain"]
