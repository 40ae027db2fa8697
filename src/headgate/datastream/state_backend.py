"""State backends: where keyed state lives while a job runs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, final

from headgate import unsupported
from headgate.config import Option
from headgate.datastream.legacy import FsStateBackend, MemoryStateBackend
from headgate.options import STATE_BACKEND

__all__ = ["FsStateBackend", "HashMapStateBackend", "MemoryStateBackend", "StateBackend"]


class StateBackend(ABC):
    """Where keyed state lives while a job runs."""

    @abstractmethod
    def settings(self) -> dict[Option[Any], object]:
        """Return the options that choose this backend."""


@final
class HashMapStateBackend(StateBackend):
    """Keyed state as Python objects in the memory of the slots."""

    def settings(self) -> dict[Option[Any], object]:
        return {STATE_BACKEND: "hashmap"}


unsupported.guard(__name__, globals())
