"""Options of DataFrames."""

from __future__ import annotations

from typing import Final

from headgate.config import Option
from headgate.config_kinds import TEXT

LOCAL_TIME_ZONE: Final = Option[str](
    "table.local-time-zone",
    TEXT,
    "default",
    "The time zone of a session, such as Asia/Tokyo: points in time (TIMESTAMP_LTZ) are shown, divided into days and "
    "hours, and converted in it. default: the zone of the machine.",
)
