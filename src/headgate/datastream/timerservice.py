"""TimerService: the times that a function goes by, and the timers of a key."""

from headgate import unsupported
from headgate.functions.context import TimerService

__all__ = ["TimerService"]

unsupported.guard(__name__, globals())
