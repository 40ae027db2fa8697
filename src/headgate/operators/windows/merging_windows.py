"""Windows that merge, in cells: session windows with a trigger or an evictor, and merging assigners of the program.

`session_windows` has the session windows of event time with the default trigger.

After a merge the contents stay where the contents of one of the old windows were, so that a merge copies little. The
state `merging-window-set` maps each window of the key to the window under which its contents lie.
"""

from __future__ import annotations

from collections.abc import Iterable, MutableMapping
from dataclasses import dataclass
from typing import Any, Final, cast, final

from headgate.elements import MAX_TIMESTAMP
from headgate.errors import ProgramError
from headgate.functions.windows.assigner import MergingWindowAssigner
from headgate.functions.windows.trigger import TriggerResult
from headgate.functions.windows.window import Window
from headgate.operators.windows.base import Opened, Windowing
from headgate.operators.windows.cell_windows import CellWindows, as_namespace, window_of
from headgate.operators.windows.contents import Contents
from headgate.operators.windows.contexts import AnyWindowFunction
from headgate.state.backend import KeyedBackend
from headgate.state.descriptors import MapState, MapStateDescriptor
from headgate.types.typeinfo import Types


@final
@dataclass(frozen=True, slots=True)
class WindowMerge:
    """A merge of windows into `window`. The windows `gone` no longer exist.

    The caller moves the contents of `sources` to `target`, the window under which the contents of `window` lie.
    """

    window: Window
    gone: list[Window]
    target: Window
    sources: list[Window]


@final
class _Groups(MergingWindowAssigner.MergeCallback[Any]):
    def __init__(self) -> None:
        self.found: list[tuple[Any, list[Any]]] = []

    def merge(self, to_be_merged: Iterable[Any], merge_result: Any) -> None:
        self.found.append((merge_result, list(dict.fromkeys(to_be_merged))))


def add_window(
    places: MutableMapping[Any, Any], new: Any, assigner: MergingWindowAssigner[Any, Any]
) -> tuple[Any, list[WindowMerge]]:
    """Add a window to the key's windows and merge windows that overlap. Return the resulting window and the merges.

    `places` maps each window to the window under which its contents lie; the function changes it.

    >>> from headgate.functions.windows.session_windows import EventTimeSessionWindows
    >>> from headgate.functions.windows.window import TimeWindow
    >>> places = {TimeWindow(0, 10): TimeWindow(0, 10)}
    >>> add_window(places, TimeWindow(10, 20), EventTimeSessionWindows(10))[0], places
    (TimeWindow(start=0, end=20), {TimeWindow(start=0, end=20): TimeWindow(start=0, end=10)})
    """
    groups = _Groups()
    assigner.merge_windows([*places, new], groups)
    actual, merges = new, []
    for result, members in groups.found:
        if new in members:
            actual = result
        known = [window for window in members if window in places]
        if not known or known == [result]:
            continue
        target, *sources = [places.pop(window) for window in known]
        places[result] = target
        merges.append(WindowMerge(result, [window for window in known if window != result], target, sources))
    places.setdefault(actual, actual)
    return actual, merges


MERGING_SET: Final = MapStateDescriptor("merging-window-set", Types.PICKLED_BYTE_ARRAY(), Types.PICKLED_BYTE_ARRAY())
"""The state that maps each window of a key to the window under which its contents lie."""


def merging_set(backend: KeyedBackend) -> MapState[Any, Any]:
    """Return the set of windows of the current key."""
    state: MapState[Any, Any] = backend.state(MERGING_SET)
    return state


@final
class MergingWindows(CellWindows):
    """Windows in cells that the assigner merges."""

    def __init__(self, windowing: Windowing, contents: Contents, function: AnyWindowFunction, opened: Opened) -> None:
        super().__init__(windowing, contents, function, opened)
        self._set = merging_set(self._backend)
        self._assigner = cast("MergingWindowAssigner[Any, Any]", windowing.assigner)

    def _into(self, window: Window, value: Any, timestamp: int) -> bool:
        before = {window_of(known): window_of(place) for known, place in self._set.items()}
        places = before.copy()
        actual, merges = add_window(places, window, self._assigner)
        for merge in merges:
            self._merge(merge)
        cleanup_ms = self._windowing.cleanup_ms(actual)
        if self._event_time and cleanup_ms <= self._timers.watermark_ms:
            del places[actual]
            self._keep(before, places)
            return False
        self._keep(before, places)
        namespaces = self._backend.namespaces
        namespaces.set(as_namespace(places[actual]))
        self._contents.add(value, timestamp)
        namespaces.set(as_namespace(actual))
        result = self._trigger.on_element(value, timestamp, actual, self._trigger_context)
        if result is not TriggerResult.CONTINUE:
            self._act(result, actual, timestamp)
        if cleanup_ms != MAX_TIMESTAMP:
            self._register(cleanup_ms)
        return True

    def _keep(self, before: dict[Any, Any], places: dict[Any, Any]) -> None:
        """Store the changes of the set of windows."""
        for window in before:
            if window not in places:
                self._set.remove(as_namespace(window))
        for window, place in places.items():
            if before.get(window) != place:
                self._set.put(as_namespace(window), as_namespace(place))

    def _merge(self, merge: WindowMerge) -> None:
        """Let the trigger merge its state, clear the state of the windows that are gone, and move their contents."""
        self._check_end(merge.window)
        namespaces, context = self._backend.namespaces, self._trigger_context
        context.target, context.sources = as_namespace(merge.window), [as_namespace(window) for window in merge.gone]
        namespaces.set(context.target)
        self._trigger.on_merge(merge.window, context)
        for window in merge.gone:
            namespaces.set(as_namespace(window))
            self._trigger.clear(window, context)
            self._delete(self._windowing.cleanup_ms(window))
        self._contents.merge(as_namespace(merge.target), [as_namespace(source) for source in merge.sources])

    def _check_end(self, window: Window) -> None:
        """Raise ProgramError if a merged window ends before the current time."""
        now_ms = self._timers.watermark_ms if self._event_time else self._timers.current_processing_time()
        if self._windowing.cleanup_ms(window) <= now_ms:
            clock = "watermark" if self._event_time else "wall clock"
            raise ProgramError(
                f"merge_windows() of {type(self._assigner).__name__} made {window}, which ends before the {clock}, at "
                f"{now_ms}: a merged window must cover those that it is made of"
            )

    def _act(self, result: TriggerResult, window: Window, time_ms: int) -> None:
        namespaces = self._backend.namespaces
        of_window = namespaces.current.cell
        namespaces.set(self._set.get(as_namespace(window)))
        super()._act(result, window, time_ms)
        namespaces.current.cell = of_window

    def _is_there(self, window: Window) -> bool:
        return self._set.contains(as_namespace(window))

    def _clear_contents(self, window: Window) -> None:
        namespaces, namespace = self._backend.namespaces, as_namespace(window)
        of_window = namespaces.current.cell
        namespaces.set(self._set.get(namespace))
        self._contents.clear()
        self._set.remove(namespace)
        namespaces.current.cell = of_window
