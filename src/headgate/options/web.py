"""Options of the page that shows a job in a browser."""

from __future__ import annotations

from typing import Final

from headgate.config import Option
from headgate.config_kinds import BOOLEAN, TEXT

WEB_ENABLED: Final = Option[bool](
    "headgate.web.enabled",
    BOOLEAN,
    True,
    "Whether the REST interface also serves the page. The job then prints a link to the page on a terminal, and "
    "elsewhere the command that makes a link.",
)
WEB_READ_ONLY: Final = Option[bool](
    "headgate.web.read-only",
    BOOLEAN,
    False,
    "Whether sessions of the page are read-only: they give no orders and see no records. The command line is not "
    "restricted.",
)
WEB_LOGS: Final = Option[bool](
    "headgate.web.logs",
    BOOLEAN,
    True,
    "Whether slots send what they log and print to the driver, for the page.",
)
WEB_LIVE_OUTPUT: Final = Option[bool](
    "headgate.web.live-output",
    BOOLEAN,
    False,
    "Whether a user who may give orders may also see some of the records that leave an operator of a running job.",
)
WEB_FRAME_ANCESTORS: Final = Option[str | None](
    "headgate.web.frame-ancestors",
    TEXT,
    None,
    "Sites that may show the page in a frame, such as https://notebooks.example.org. Not set: this machine only.",
)
