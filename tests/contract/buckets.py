"""Folders in an object store."""

from __future__ import annotations

from collections.abc import Callable

FolderOf = Callable[[], str]
"""Gives the URI of a folder that nobody else has."""
