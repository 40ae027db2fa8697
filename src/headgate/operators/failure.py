"""Turns an exception of user code into a report that is only text: whose operator, which key, which record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from headgate.errors import (
    DamagedFileError,
    EnvironmentFault,
    ProgramError,
    RestoreError,
    SuppressRestartsException,
    UnsupportedError,
)
from headgate.functions.sink import CommitLostError
from headgate.operators.base import UserCodeError
from headgate.operators.error_text import causes, last_line, short_repr, user_frames
from headgate.state.formats.missing_module import how_to_ship

_WRONG: Final = (
    RestoreError,
    DamagedFileError,
    ProgramError,
    UnsupportedError,
    CommitLostError,
    ModuleNotFoundError,
)


@final
@dataclass(frozen=True, slots=True)
class UserFailure:
    """An exception of user code, in a form that needs none of the user's classes to be read.

    `traceback` holds only the user's own frames. `operator`, `subtask`, `key` and `record` are for people: name,
    index, and short reprs (None where there is none).
    """

    operator: str
    subtask: int
    error: str
    traceback: str
    key: str | None = None
    record: str | None = None

    def describe(self) -> str:
        """Return the whole story as text of several lines."""
        where = f"in operator {self.operator!r}, subtask {self.subtask}"
        key = "" if self.key is None else f"\n  key: {self.key}"
        record = "" if self.record is None else f"\n  record: {self.record}"
        return f"{self.error}\n  {where}{key}{record}\n{self.traceback}".rstrip()


def is_retriable(error: BaseException) -> bool:
    """Whether an attempt that ended because of `error` may do better when it is started again.

    It may not when user code says so, when what it starts from is damaged or does not fit the job, when output is lost,
    or when the program is wrong, or lacks something where it runs. Storage and network, which are faults of the
    environment too, may mend.
    """
    if any(isinstance(each, SuppressRestartsException) for each in causes(error)):
        return False
    cause = _cause(error)
    wrong = isinstance(cause, _WRONG)
    return not wrong and type(cause) is not EnvironmentFault


def _cause(error: BaseException) -> BaseException:
    return error.__cause__ if isinstance(error, UserCodeError) and error.__cause__ is not None else error


def failure_of(error: BaseException, operator: str, subtask: int) -> UserFailure:
    """Return the report of `error`, raised while `operator` ran in `subtask`."""
    cause = _cause(error)
    during = f" (in {error.during})" if isinstance(error, UserCodeError) and error.during else ""
    return UserFailure(
        operator=operator,
        subtask=subtask,
        error=last_line(cause) + during + _advice(cause),
        traceback=user_frames(cause),
        key=short_repr(error.key) if isinstance(error, UserCodeError) and error.key is not None else None,
        record=short_repr(error.record) if isinstance(error, UserCodeError) and error.has_record else None,
    )


def _advice(cause: BaseException) -> str:
    if not isinstance(cause, ModuleNotFoundError) or cause.name is None:
        return ""
    return f"; {how_to_ship(cause.name)}"
