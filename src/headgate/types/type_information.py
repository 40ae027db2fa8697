"""The base of all type information: frozen, comparable values with a stable description for snapshots."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Final

from headgate.errors import RestoreError

Json = dict[str, Any]
"""A JSON object: its values are JSON."""


class TypeInformation(ABC):
    """The type of a record, key or state value. Frozen, comparable, hashable and picklable."""

    __slots__ = ()

    @abstractmethod
    def to_json(self) -> Json:
        """Return the stable description that snapshots store; `from_json` reads it back."""

    @staticmethod
    def from_json(description: Json) -> TypeInformation:
        """Return the type that `to_json` described. Raises RestoreError for a description of no known type."""
        kind = description.get("type")
        reader = READERS.get(kind) if isinstance(kind, str) else None
        if reader is None:
            raise RestoreError(
                f"the stored type {dict(description)!r} is not known to this release of headgate; "
                "restore with the release that wrote it, or a later one"
            )
        return reader(description)

    def __str__(self) -> str:
        return repr(self)


Reader = Callable[[Json], TypeInformation]
"""Returns the type of a description."""

READERS: Final[dict[str, Reader]] = {}
"""The readers of descriptions, by the `type` that a description names. Each module of types adds its own."""
