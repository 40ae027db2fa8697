"""Reports of failures as text: the exception, the operator and subtask, and the key and record, if known."""

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
    """An exception of user code as text, which a process without the user's classes can read.

    `traceback` holds only frames of user code. `operator` is the name; `key` and `record` are short reprs, or None.
    """

    operator: str
    subtask: int
    error: str
    traceback: str
    key: str | None = None
    record: str | None = None

    def describe(self) -> str:
        """Return the report as text of several lines."""
        where = f"in operator {self.operator!r}, subtask {self.subtask}"
        key = "" if self.key is None else f"\n  key: {self.key}"
        record = "" if self.record is None else f"\n  record: {self.record}"
        return f"{self.error}\n  {where}{key}{record}\n{self.traceback}".rstrip()


def is_retriable(error: BaseException) -> bool:
    """Return whether a new attempt may succeed after `error`.

    It cannot succeed if user code raised `SuppressRestartsException`, if the restored snapshot is damaged or does not
    fit the job, if output is lost, if the program is wrong, or if a module is missing. Faults of storage and network
    may pass, so these errors are retriable.
    """
    if any(isinstance(each, SuppressRestartsException) for each in causes(error)):
        return False
    cause = _cause(error)
    wrong = isinstance(cause, _WRONG)
    return not wrong and type(cause) is not EnvironmentFault


def _cause(error: BaseException) -> BaseException:
    return error.__cause__ if isinstance(error, UserCodeError) and error.__cause__ is not None else error


def failure_of(error: BaseException, operator: str, subtask: int) -> UserFailure:
    """Return the report of `error`, which was raised while `operator` ran in `subtask`."""
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
