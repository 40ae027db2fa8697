"""Ctrl-C while a program waits for its job: the job is cancelled, and one line reports how it ended."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import TracebackType
from typing import final

from headgate.common.outcome import wait_for
from headgate.deploy.handles.handle import JobHandle

_Hook = Callable[[type[BaseException], BaseException, TracebackType | None], object]


@final
class _Told(str):
    """The text of an interrupt that has been reported to the user."""

    __slots__ = ()


def interrupted(job: JobHandle) -> KeyboardInterrupt:
    """Cancel the job, and report on standard error how the job ended and from where it can be resumed.

    Blocks until the job has ended. Returns the interrupt to raise, which the program may catch. If the program does not
    catch it, Python exits with code 130, as for every interrupt, but shows no traceback.
    """
    job.cancel()
    try:
        told = wait_for(job).in_a_line()
    except KeyboardInterrupt:
        told = f"job {job.job_id} was left before it had ended, as a second interrupt came"
    except Exception as error:  # noqa: BLE001  # the deployment of the job has failed
        told = f"job {job.job_id} has failed: {error}"
    return _tell(told)


def interrupted_early() -> KeyboardInterrupt:
    """Report on standard error that no job has begun. Returns the interrupt to raise, as `interrupted` does."""
    return _tell("interrupted before the job had begun")


def _tell(told: str) -> KeyboardInterrupt:
    print(f"headgate: {told}", file=sys.stderr, flush=True)
    if not isinstance(sys.excepthook, _WithoutTold):
        sys.excepthook = _WithoutTold(sys.excepthook)
    return KeyboardInterrupt(_Told(told))


def is_told(error: BaseException | None) -> bool:
    """Return whether the error is an interrupt that has been reported to the user."""
    return isinstance(error, KeyboardInterrupt) and bool(error.args) and isinstance(error.args[0], _Told)


@final
class _WithoutTold:
    """A `sys.excepthook` that calls the previous hook, except for interrupts that have been reported."""

    def __init__(self, before: _Hook) -> None:
        self._before = before

    def __call__(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if not is_told(error):
            self._before(kind, error, trace)
