"""Checks of what programs give to the builders of file sources and sinks."""

from __future__ import annotations

from typing import TypeVar

from headgate.errors import ProgramError

Kind = TypeVar("Kind")


def given(method: str, value: object, kind: type[Kind]) -> Kind:
    """Return what a method of a builder was given. Raises ProgramError if it is not of this kind."""
    if not isinstance(value, kind):
        raise ProgramError(f"{method}() takes a {kind.__name__}, made by its functions, not {value!r:.100}")
    return value
