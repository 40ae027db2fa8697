"""TimeDomain: the clock that a timer follows."""

from headgate.functions.context import TimeDomain

__all__ = ["TimeDomain"]
