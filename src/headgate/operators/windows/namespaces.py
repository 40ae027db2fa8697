"""Windows as namespaces of keyed state: plain values that are hashed, compared and saved without any Python code."""

from __future__ import annotations

import pickle
from typing import Any, Final

from headgate.functions.windows.window import GLOBAL_WINDOW, CountWindow, GlobalWindow, TimeWindow, Window

_GLOBAL: Final = "global"


def as_namespace(window: Window) -> Any:
    """Return the namespace of a window: its times or its number; of a program's own class, its pickle.

    >>> as_namespace(TimeWindow(0, 10)), as_namespace(CountWindow(3))
    ((0, 10), 3)
    """
    kind = type(window)
    if kind is TimeWindow:
        return (window.start, window.end)  # type: ignore[attr-defined]  # a cast costs a call for each record
    if kind is GlobalWindow:
        return _GLOBAL
    return window.id if isinstance(window, CountWindow) else pickle.dumps(window)


def window_of(namespace: Any) -> Any:
    """Return the window of a namespace.

    >>> window_of((0, 10)), window_of("global")
    (TimeWindow(start=0, end=10), GlobalWindow)
    """
    if type(namespace) is tuple:
        return TimeWindow(*namespace)
    if namespace == _GLOBAL:
        return GLOBAL_WINDOW
    return CountWindow(namespace) if type(namespace) is int else pickle.loads(namespace)  # noqa: S301  # of the job
