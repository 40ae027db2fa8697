"""Functions of times."""

from __future__ import annotations

from headgate.columns.functions.registry import CallSite
from headgate.columns.typed import Typed


def temporal_arithmetic(call: CallSite) -> Typed | None:
    """Return the operator on times and intervals; None if no argument is one."""
    return None


def temporal_rounding(call: CallSite) -> Typed | None:
    """Return `floor` or `ceil` of a time to a unit; None if the argument is no time."""
    return None
