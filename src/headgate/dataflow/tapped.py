"""Tapped: what leaves an operator is shown to somebody, in the place where records are made of a declared type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, final

from headgate.elements import Batch


class Conversion(Protocol):
    """Looks at what an operator has emitted, before anything else does: makes it of a type, or shows it to somebody."""

    def converted(self, batch: Batch) -> Batch:
        """Return the batch to go on with."""
        ...


@final
class Tapped:
    """Shows each batch that leaves an operator, once it is as it is to leave."""

    def __init__(self, conversion: Conversion | None, see: Callable[[Batch], None]) -> None:
        self._conversion = conversion
        self._see = see

    def converted(self, batch: Batch) -> Batch:
        """Return the batch, which was shown unless it is empty."""
        if self._conversion is not None:
            batch = self._conversion.converted(batch)
        if len(batch):
            self._see(batch)
        return batch
