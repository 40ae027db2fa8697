"""The status of a job: one enum for the job master, its result in storage, REST, the command line and programs."""

from __future__ import annotations

from enum import Enum
from typing import Final, final


@final
class JobStatus(Enum):
    """The status of a job, with Flink's names."""

    CREATED = 0
    RUNNING = 1
    FAILING = 2
    FAILED = 3
    CANCELLING = 4
    CANCELED = 5
    FINISHED = 6
    RESTARTING = 7
    SUSPENDED = 8
    RECONCILING = 9

    def is_globally_terminal_state(self) -> bool:
        """Return whether the job has ended for good: as failed, cancelled or finished."""
        return self in (JobStatus.FAILED, JobStatus.CANCELED, JobStatus.FINISHED)

    def is_terminal_state(self) -> bool:
        """Return whether this driver does nothing more for the job: it has ended for good, or is suspended."""
        return self is JobStatus.SUSPENDED or self.is_globally_terminal_state()

    @property
    def word(self) -> str:
        """The status as a word for people, as the job's result in storage has it.

        >>> JobStatus.CANCELED.word, JobStatus.of_word("finished")
        ('cancelled', <JobStatus.FINISHED: 6>)
        """
        return _WORDS[self]

    @classmethod
    def of_word(cls, word: str) -> JobStatus:
        """Return the status with this word. Raises ValueError if there is none."""
        for status, own in _WORDS.items():
            if own == word:
                return status
        raise ValueError(f"no job status is called {word!r}")


_WORDS: Final = {each: each.name.lower() for each in JobStatus} | {JobStatus.CANCELED: "cancelled"}
