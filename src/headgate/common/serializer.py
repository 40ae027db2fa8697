"""Serializers, under PyFlink's name. Window assigners return one, as in PyFlink; headgate never calls it."""

from __future__ import annotations

from headgate import unsupported
from headgate.functions.windows.serializers import TypeSerializer

__all__ = ["TypeSerializer"]

unsupported.guard(__name__, globals())
