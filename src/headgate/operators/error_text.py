"""Errors of user code, and the records they were raised for, as text of bounded length."""

from __future__ import annotations

import reprlib
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Final

import headgate

_OWN_FOLDER: Final = str(Path(headgate.__file__).parent)
_REPR: Final = reprlib.Repr()
_REPR.maxstring = _REPR.maxother = 200
_REPR.maxlist = _REPR.maxtuple = _REPR.maxdict = 10


def short_repr(value: object) -> str:
    """Return a repr of bounded length, also of objects whose own repr fails."""
    try:
        return _REPR.repr(value)
    except Exception as error:  # noqa: BLE001  # the repr of a user's class may raise anything
        return f"<{type(value).__name__} whose repr fails: {type(error).__name__}>"


def last_line(error: BaseException) -> str:
    """Return the type and the message of an error, as a traceback ends."""
    return "".join(traceback.format_exception_only(error)).strip()


def user_frames(error: BaseException) -> str:
    """Return the traceback from the first frame outside headgate on, with the errors that led to it."""
    frames: TracebackType | None = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename.startswith(_OWN_FOLDER):
        frames = frames.tb_next
    if frames is None:
        return ""
    return "".join(traceback.format_exception(type(error), error, frames))


def causes(error: BaseException) -> Iterator[BaseException]:
    """Yield the error, what it was raised from, and so on; each once, as causes may form a circle."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        cause = cause.__cause__
