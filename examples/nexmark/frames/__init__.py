"""Queries of Nexmark as DataFrames, each a function from the events to a DataFrame."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from frames.events import EventFrames
from headgate import dataframe as pf

NAMES = ["q0", "q1", "q2", "q5", "q7", "q8", "q11", "q14", "q21", "q22"]
"""The queries that are here, in their order."""


def frame(name: str) -> Callable[[EventFrames], pf.DataFrame]:
    """Return the query of a name: `frame("q7")`."""
    found: Callable[[EventFrames], pf.DataFrame] = import_module(f"frames.{name}").query
    return found
