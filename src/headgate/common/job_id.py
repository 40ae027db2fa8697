"""The id of a job, under PyFlink's name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from headgate.ids import JobId

__all__ = ["JobID"]


@final
@dataclass(frozen=True, slots=True, repr=False)
class JobID:
    """The id of a job; its text is 32 hexadecimal digits."""

    hex_string: JobId

    def __str__(self) -> str:
        return self.hex_string

    def __repr__(self) -> str:
        return f"JobID({self.hex_string})"
