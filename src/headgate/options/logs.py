"""Options of a job's logs, metrics and status on the terminal."""

from __future__ import annotations

from typing import Final

from headgate.config import Option
from headgate.config_kinds import BOOLEAN, one_of

LOG_LEVEL: Final = Option[str](
    "headgate.log.level",
    one_of("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"),
    "INFO",
    "Lowest severity that headgate logs in the slots. In the driver, the program's own logging decides.",
)
STATUS_LINE: Final = Option[bool](
    "headgate.console.status-line",
    BOOLEAN,
    True,
    "Whether execute() shows a line with the status of the job, if standard error is a terminal and the job prints "
    "nothing.",
)
USER_METRICS: Final = Option[bool](
    "python.metric.enabled", BOOLEAN, True, "Whether functions may keep metrics of their own."
)
