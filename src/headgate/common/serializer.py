"""Serializers, under PyFlink's name: window assigners of programs name one, and nothing here calls it."""

from __future__ import annotations

from headgate import unsupported
from headgate.functions.windows.serializers import TypeSerializer

__all__ = ["TypeSerializer"]

unsupported.guard(__name__, globals())
