"""Errors and values of user code as text of bounded length."""

from __future__ import annotations

import os
import reprlib
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, TracebackType
from typing import Final, final

import headgate
from headgate.errors import HeadgateError

_OWN_FOLDER: Final = f"{Path(headgate.__file__).parent}{os.sep}"
_REPR: Final = reprlib.Repr()
_REPR.maxstring = _REPR.maxother = 200
_REPR.maxlist = _REPR.maxtuple = _REPR.maxdict = 10

_PLACES_MAX: Final = 1000


def short_repr(value: object) -> str:
    """Return a repr of bounded length, also for objects whose own repr raises."""
    try:
        return _REPR.repr(value)
    except Exception as error:  # noqa: BLE001  # the repr of a user's class may raise anything
        return f"<{type(value).__name__} whose repr fails: {type(error).__name__}>"


def last_line(error: BaseException) -> str:
    """Return the type and the message of an error, like the last line of a traceback."""
    return "".join(traceback.format_exception_only(error)).strip()


def user_frames(error: BaseException) -> str:
    """Return the traceback from the first frame of user code on, with the tracebacks of its causes.

    The message of a `HeadgateError` says what is wrong, so its traceback ends with the user's line that called
    headgate.
    """
    frames = _first_of_user(error)
    if frames is None:
        return ""
    told = traceback.TracebackException(type(error), error, frames)
    del told.stack[len(_places_shown(error, frames)) :]
    return "".join(told.format())


def _first_of_user(error: BaseException) -> TracebackType | None:
    frames = error.__traceback__
    while frames is not None and _is_own(frames.tb_frame.f_code):
        frames = frames.tb_next
    return frames


def _places_shown(error: BaseException, frames: TracebackType) -> tuple[tuple[CodeType, int], ...]:
    """Return code and instruction of each frame that a traceback shows, from the first frame of user code on."""
    places = list(_places(frames))
    while isinstance(error, HeadgateError) and _is_own(places[-1][0]):
        places.pop()
    return tuple(places)


def _is_own(code: CodeType) -> bool:
    return code.co_filename.startswith(_OWN_FOLDER)


@final
class UserTracebacks:
    """Formats tracebacks as `user_frames` does, with a cache by place: many records fail in few places.

    Formatting frames takes most of the time of handling an error.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[tuple[CodeType, int], ...], str] = {}

    def text(self, error: BaseException) -> str:
        """Return the traceback as `user_frames` does; without a frame of user code, only the error."""
        frames = _first_of_user(error)
        if frames is None:
            return last_line(error)
        if _has_others(error):
            return user_frames(error)
        return f"Traceback (most recent call last):\n{self._formatted(error, frames)}{last_line(error)}\n"

    def _formatted(self, error: BaseException, frames: TracebackType) -> str:
        place = _places_shown(error, frames)
        known = self._known.get(place)
        if known is None:
            known = "".join(traceback.format_tb(frames, len(place)))
            if len(self._known) < _PLACES_MAX:
                self._known[place] = known
        return known


def _has_others(error: BaseException) -> bool:
    """Return whether the traceback shows other errors too, such as causes."""
    context = None if error.__suppress_context__ else error.__context__
    return error.__cause__ is not None or context is not None or isinstance(error, BaseExceptionGroup)


def _places(frames: TracebackType | None) -> Iterator[tuple[CodeType, int]]:
    while frames is not None:
        yield frames.tb_frame.f_code, frames.tb_lasti
        frames = frames.tb_next


def causes(error: BaseException) -> Iterator[BaseException]:
    """Yield the error, its cause, the cause's cause, and so on; each error once, because causes may form a cycle."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        cause = cause.__cause__
