"""Points and lengths of time, under PyFlink's name."""

from headgate import unsupported
from headgate.types.instant import Duration, Instant, Time

__all__ = ["Duration", "Instant", "Time"]


unsupported.guard(__name__, globals())
