"""Windows without times: windows of a number of records, and the global window of a key."""

from __future__ import annotations

from typing import Any, final

from headgate.errors import ProgramError
from headgate.functions.windows.assigner import WindowAssigner, is_whole
from headgate.functions.windows.trigger import Trigger
from headgate.functions.windows.triggers import CountTrigger, NeverTrigger, PurgingTrigger
from headgate.functions.windows.window import GLOBAL_WINDOW, CountWindow, GlobalWindow
from headgate.state.descriptors import ValueStateDescriptor
from headgate.types.typeinfo import Types


class _CountWindows(WindowAssigner[Any, CountWindow]):
    """Windows of `window_size` records of a key, one beginning every `window_slide` records counted in state."""

    def __init__(self, window_size: int, window_slide: int, name: str) -> None:
        if not is_whole(window_size, window_slide) or window_size < 1 or window_slide < 1:
            raise ProgramError(
                "windows of records need a size and a slide of at least 1, as whole numbers, not "
                f"{window_size!r} and {window_slide!r}"
            )
        self._size = window_size
        self._slide = window_slide
        self._seen = ValueStateDescriptor(name, Types.LONG())

    def assign_windows(
        self, element: Any, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> list[CountWindow]:
        seen = context.get_runtime_context().get_state(self._seen)
        index = seen.value() or 0
        seen.update(index + 1)
        last = index // self._slide
        return [
            CountWindow(number)
            for number in range(last, -1, -1)[: -(-self._size // self._slide)]
            if index < number * self._slide + self._size
        ]

    def get_default_trigger(self, env: Any) -> Trigger[Any, CountWindow]:
        return PurgingTrigger(CountTrigger(self._size))

    def is_event_time(self) -> bool:
        return False


@final
class CountTumblingWindowAssigner(_CountWindows):
    """Windows of `window_size` records of a key, one after the other; a window that is not full is never evaluated."""

    def __init__(self, window_size: int) -> None:
        super().__init__(window_size, window_size, "tumble-count-assigner")

    @staticmethod
    def of(window_size: int) -> CountTumblingWindowAssigner:
        """Return the assigner. Raises ProgramError."""
        return CountTumblingWindowAssigner(window_size)

    def __repr__(self) -> str:
        return f"CountTumblingWindowAssigner({self._size})"


@final
class CountSlidingWindowAssigner(_CountWindows):
    """Windows of `window_size` records of a key, one beginning every `window_slide` records."""

    def __init__(self, window_size: int, window_slide: int) -> None:
        super().__init__(window_size, window_slide, "slide-count-assigner")

    @staticmethod
    def of(window_size: int, window_slide: int) -> CountSlidingWindowAssigner:
        """Return the assigner. Raises ProgramError."""
        return CountSlidingWindowAssigner(window_size, window_slide)

    def __repr__(self) -> str:
        return f"CountSlidingWindowAssigner({self._size}, {self._slide})"


@final
class GlobalWindows(WindowAssigner[Any, GlobalWindow]):
    """One window for all records of a key. It is never evaluated unless the program sets a trigger."""

    @staticmethod
    def create() -> GlobalWindows:
        """Return the assigner."""
        return GlobalWindows()

    def assign_windows(
        self, element: Any, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> list[GlobalWindow]:
        return [GLOBAL_WINDOW]

    def get_default_trigger(self, env: Any) -> Trigger[Any, GlobalWindow]:
        return NeverTrigger()

    def is_event_time(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "GlobalWindows()"


def count_windows(size: int, slide: int) -> WindowAssigner[Any, CountWindow]:
    """Return the assigner of windows of `size` records, one beginning every `slide` records; a slide of 0 is `size`."""
    return CountTumblingWindowAssigner(size) if slide == 0 else CountSlidingWindowAssigner(size, slide)
