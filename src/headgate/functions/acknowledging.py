"""Acknowledging: how a source tells the system it reads from, such as a queue, which records it need not keep.

A source that acknowledges has an `Acknowledger` in the driver. The driver tells it what each attempt starts from and
what each complete checkpoint holds, so that it acknowledges no record that the job may have to read again. Once all
assigned splits are read, the job takes a checkpoint at once, even without a checkpoint interval.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Generic, TypeVar, final

Split = TypeVar("Split")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SourceProgress(Generic[Split]):
    """The progress of one source, as a snapshot holds it.

    `unfinished` are the splits that are not read to their end. `known` are the ids of all splits that were ever
    assigned, as far as `Source.to_remember` keeps them.
    """

    known: frozenset[str] = frozenset()
    unfinished: tuple[Split, ...] = ()


class Acknowledger(ABC, Generic[Split]):
    """Acknowledges the records of a source that a job has read and never has to read again.

    Called in the driver, on I/O threads: one call at a time, but not always on the same thread. All methods may block.

    >>> class Deleting(Acknowledger):
    ...     def __init__(self, queue):
    ...         self.queue = queue
    ...     def restored(self, progress):
    ...         pass
    ...     def completed(self, progress):
    ...         for split in progress.unfinished:
    ...             self.queue.delete_before(split.position)
    ...     def close(self):
    ...         self.queue.close()
    """

    @abstractmethod
    def restored(self, progress: SourceProgress[Split]) -> None:
        """Take note that an attempt is about to start from a snapshot that holds `progress`.

        `progress` is empty when the snapshot holds nothing of the source, or there is no snapshot. Raises RestoreError
        when the source cannot continue from `progress`: the job then fails for good.
        """

    @abstractmethod
    def completed(self, progress: SourceProgress[Split]) -> None:
        """Acknowledge the records that were read: a checkpoint that holds `progress` is complete.

        Also called for the savepoint that the job was stopped with.
        """

    @abstractmethod
    def close(self) -> None:
        """Release connections. Called when the job has ended, successfully or not; may be called more than once."""
