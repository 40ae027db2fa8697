"""Turns an exception of user code into a report that is only text: whose operator, which key, which record."""

from __future__ import annotations

import reprlib
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Final

import headgate
from headgate.errors import (
    DamagedFileError,
    EnvironmentFault,
    ProgramError,
    RestoreError,
    SuppressRestartsException,
    UnsupportedError,
)
from headgate.operators.base import UserCodeError
from headgate.runtime.control.messages import UserFailure

_OWN_FOLDER: Final = str(Path(headgate.__file__).parent)
_REPR: Final = reprlib.Repr()
_REPR.maxstring = _REPR.maxother = 200
_REPR.maxlist = _REPR.maxtuple = _REPR.maxdict = 10


def short_repr(value: object) -> str:
    """Return a repr of bounded length, also of objects whose own repr fails."""
    try:
        return _REPR.repr(value)
    except Exception as error:
        return f"<{type(value).__name__} whose repr fails: {type(error).__name__}>"


def may_mend(error: BaseException) -> bool:
    """Whether an attempt that ended because of `error` may do better when it is started again.

    It may not when user code says so, when what it starts from is damaged or does not fit the job, or when the program
    is wrong, or lacks something where it runs. Storage and network, which are faults of the environment too, may mend.
    """
    if any(isinstance(each, SuppressRestartsException) for each in _causes(error)):
        return False
    cause = _cause(error)
    wrong = isinstance(cause, (RestoreError, DamagedFileError, ProgramError, UnsupportedError))
    return not wrong and type(cause) is not EnvironmentFault


def _cause(error: BaseException) -> BaseException:
    return error.__cause__ if isinstance(error, UserCodeError) and error.__cause__ is not None else error


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield the error, what it was raised from, and so on; each once, as causes may form a circle."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        cause = cause.__cause__


def failure_of(error: BaseException, operator: str, subtask: int) -> UserFailure:
    """Return the report of `error`, raised while `operator` ran in `subtask`."""
    cause = _cause(error)
    during = f" (in {error.during})" if isinstance(error, UserCodeError) and error.during else ""
    return UserFailure(
        operator=operator,
        subtask=subtask,
        error="".join(traceback.format_exception_only(cause)).strip() + during,
        traceback=_user_frames(cause),
        key=short_repr(error.key) if isinstance(error, UserCodeError) and error.key is not None else None,
        record=short_repr(error.record) if isinstance(error, UserCodeError) and error.has_record else None,
    )


def _user_frames(error: BaseException) -> str:
    """Return the traceback from the first frame outside headgate on, with the errors that led to it."""
    frames: TracebackType | None = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename.startswith(_OWN_FOLDER):
        frames = frames.tb_next
    if frames is None:
        return ""
    return "".join(traceback.format_exception(type(error), error, frames))
