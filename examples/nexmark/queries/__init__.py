"""The queries of Nexmark, each a function from the events to a stream of tuples."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from headgate.datastream import DataStream
from streams import Events

NAMES = [f"q{number}" for number in range(23)]
"""All queries of the definition, in their order."""
PATTERNS = ["p1", "p2", "p3"]
"""Queries of our own, which look for patterns."""


def query(name: str) -> Callable[[Events], DataStream]:
    """Return the query of a name: `query("q7")`."""
    found: Callable[[Events], DataStream] = import_module(f"queries.{name}").query
    return found
