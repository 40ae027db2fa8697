"""The loops that emit the values of windows and sessions, where there is no window function to call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, final

from headgate.operators.windows.session_state import Session
from headgate.types.record_copies import Extend


@final
class Emission:
    """The loops. A value becomes `result(value)`, and there is no result if that is None.

    `none_made` is called for a value that is None. `extend` appends results to a list.
    """

    def __init__(self, result: Callable[[Any], Any], none_made: Callable[[], Any], extend: Extend) -> None:
        self._result = result
        self._none_made = none_made
        self._extend = extend

    def emit_windows(self, position: Iterator[tuple[Any, Any]], out: list[Any]) -> None:
        """Add the results of keys and values to `out`."""
        result, none_made, extend = self._result, self._none_made, self._extend
        for _, value in position:
            emitted = [none_made() if value is None else result(value)]
            if emitted[0] is not None:
                extend(out, emitted)

    def emit_sessions(self, position: Iterator[Session], out: list[Any], times: list[int]) -> None:
        """Add the results of sessions that were not evaluated before to `out`, and their timestamps to `times`."""
        result, none_made, extend = self._result, self._none_made, self._extend
        for _, end, value, is_evaluated in position:
            emitted = [None if is_evaluated else none_made() if value is None else result(value)]
            if emitted[0] is not None:
                extend(out, emitted)
                times.append(end - 1)


def emission(
    native: ModuleType | None, result: Callable[[Any], Any], none_made: Callable[[], Any], extend: Extend
) -> Emission:
    """Return the loops. They are compiled if the job runs compiled."""
    made: Emission = (Emission if native is None else native.Emission)(result, none_made, extend)
    return made
