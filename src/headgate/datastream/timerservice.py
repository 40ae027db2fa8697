"""TimerService: the clocks of a function, and the timers of the current key."""

from headgate import unsupported
from headgate.functions.context import TimerService

__all__ = ["TimerService"]

unsupported.guard(__name__, globals())
