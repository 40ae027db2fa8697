"""Options of the page that shows a job in a browser."""

from __future__ import annotations

from typing import Final

from headgate.config import Option
from headgate.config_kinds import BOOLEAN, TEXT

WEB_ENABLED: Final = Option[bool](
    "headgate.web.enabled", BOOLEAN, True, "Whether the REST interface also serves the page, and prints a link to it."
)
WEB_READ_ONLY: Final = Option[bool](
    "headgate.web.read-only",
    BOOLEAN,
    False,
    "Whether the page only shows jobs: its sessions may give no orders. The command line still may.",
)
WEB_LOGS: Final = Option[bool](
    "headgate.web.logs",
    BOOLEAN,
    True,
    "Whether slots send the driver what they log and print, for the page.",
)
WEB_LIVE_OUTPUT: Final = Option[bool](
    "headgate.web.live-output",
    BOOLEAN,
    False,
    "Whether who may give orders may also look at some of the records that leave an operator of a running job.",
)
WEB_FRAME_ANCESTORS: Final = Option[str | None](
    "headgate.web.frame-ancestors",
    TEXT,
    None,
    "Sites that may show the page in a frame, such as https://notebooks.example.org; not set: this machine only.",
)
