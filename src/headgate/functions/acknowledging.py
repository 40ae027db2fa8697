"""Acknowledging: how a source tells the system it reads from, such as a queue, which records it need not keep.

A source that acknowledges has an `Acknowledger` in the driver. It is told what each attempt starts from and what each
complete checkpoint holds, so that it acknowledges no record that the job may have to read again. When all splits that
were assigned are read, a checkpoint is taken at once, even where no checkpoint interval is set.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Generic, TypeVar, final

Split = TypeVar("Split")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SourceProgress(Generic[Split]):
    """What a snapshot holds of one source.

    `unfinished` are the splits that are not read to their end. `known` are the ids of all splits that were ever
    assigned, as far as `Source.to_remember` keeps them.
    """

    known: frozenset[str] = frozenset()
    unfinished: tuple[Split, ...] = ()


class Acknowledger(ABC, Generic[Split]):
    """Acknowledges what a job has read of a source, and never has to read again.

    Called in the driver, on I/O threads: one call at a time, but not always on the same thread. All methods may block.
    """

    @abstractmethod
    def restored(self, progress: SourceProgress[Split]) -> None:
        """Take note that an attempt is about to start from a snapshot that holds `progress`.

        It is empty when the snapshot holds nothing of the source, or there is no snapshot. Raises RestoreError when
        the source cannot be read on from there: the job then fails for good.
        """

    @abstractmethod
    def completed(self, progress: SourceProgress[Split]) -> None:
        """Acknowledge what was read: a checkpoint that holds `progress` is complete.

        Also called for the savepoint that the job was stopped with.
        """

    @abstractmethod
    def close(self) -> None:
        """Release connections: the job has ended, in whatever way. May be called more than once."""
