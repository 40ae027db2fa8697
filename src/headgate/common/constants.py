"""The smallest and the greatest timestamp, under PyFlink's names."""

from __future__ import annotations

from headgate.elements import MAX_TIMESTAMP, MIN_TIMESTAMP

MIN_LONG_VALUE = MIN_TIMESTAMP
MAX_LONG_VALUE = MAX_TIMESTAMP
