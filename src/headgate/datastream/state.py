"""Keyed state and its descriptors, under PyFlink's names."""

from __future__ import annotations

from headgate import unsupported
from headgate.state.descriptors import StateDescriptor, ValueStateDescriptor
from headgate.state.handles import ValueState

__all__ = ["StateDescriptor", "ValueState", "ValueStateDescriptor"]

unsupported.guard(__name__, globals())
