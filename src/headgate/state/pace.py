"""How much of a loop's time goes into snapshots that are under way."""

from typing import Final

WALK_SHARE: Final = 0.15
"""Share of a busy loop's time that a walk takes; what records touch meanwhile is taken with them, and comes on top."""
