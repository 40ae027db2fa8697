"""How a source tells the system it reads from what the job has read for good, as a queue or a batch log wants to know.

A source that acknowledges has an `Acknowledger` in the driver. It hears what each attempt starts from and what each
complete checkpoint holds, so that it acknowledges no record before the job can do without it; and when all splits that
were handed out are read, a checkpoint is taken at once, also where no interval of checkpoints is set.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Generic, TypeVar, final

Split = TypeVar("Split")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SourceProgress(Generic[Split]):
    """What a snapshot holds of one source: the splits that are not read to their end, and ids of those ever given.

    Of the ids only those that `Source.to_remember` keeps.
    """

    known: frozenset[str] = frozenset()
    unfinished: tuple[Split, ...] = ()


class Acknowledger(ABC, Generic[Split]):
    """Follows how far a job has read a source for good. Runs in the driver, on I/O threads.

    Its methods may block, and are called one after the other, but not on the same thread.
    """

    @abstractmethod
    def restored(self, progress: SourceProgress[Split]) -> None:
        """An attempt is about to start from a snapshot that holds this, or nothing of the source.

        Raises `RestoreError` when the source cannot be read on from there: the job then fails for good.
        """

    @abstractmethod
    def completed(self, progress: SourceProgress[Split]) -> None:
        """A checkpoint which holds this is complete, or the savepoint that the job was stopped with."""

    @abstractmethod
    def close(self) -> None:
        """The job is over, whatever it came to. May be called more than once."""
