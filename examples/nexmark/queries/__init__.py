"""The queries of Nexmark, each a function from the events to a stream of tuples."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from headgate.datastream import DataStream
from streams import Events

NAMES = [f"q{number}" for number in range(23)]
"""All queries, in their order."""


def query(name: str) -> Callable[[Events], DataStream]:
    """Return the query of a name: `query("q7")`."""
    found: Callable[[Events], DataStream] = import_module(f"queries.{name}").query
    return found
