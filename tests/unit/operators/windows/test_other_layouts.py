"""Windows that were saved one by one become panes, and panes become windows one by one, from files and from entries."""

from __future__ import annotations

from typing import Any, Final

import pytest

from headgate import options
from headgate.config import Settings
from headgate.datastream import DataStream
from headgate.datastream.window import EventTimeTrigger, PurgingTrigger, TumblingEventTimeWindows
from headgate.operators.windows.cell_windows import CellWindows
from headgate.operators.windows.operator import WindowOperator
from headgate.operators.windows.pane_windows import PaneWindows
from headgate.testing.harness import OperatorHarness, SavedOperator, Setup

KEYS: Final = "abcdefgh"


def harness(kind: type, lateness_ms: int, settings: Settings, saved: list[SavedOperator]) -> OperatorHarness:
    def build(stream: DataStream) -> DataStream:
        windows = stream.key_by(lambda record: record[0]).window(TumblingEventTimeWindows(10, 0))
        if kind is CellWindows:
            windows = windows.trigger(PurgingTrigger.of(EventTimeTrigger.create()))
        return windows.allowed_lateness(lateness_ms).reduce(lambda one, other: (one[0], one[1] + other[1]))

    return OperatorHarness.of_stream(build, restored=saved, setup=Setup(settings=settings))


def kind_of(each: OperatorHarness) -> Any:
    assert isinstance(each.operator, WindowOperator)
    return type(each.operator._windows)


@pytest.mark.parametrize("storage", [(backend, each) for backend in ("hashmap", "rocksdb") for each in (False, True)])
@pytest.mark.parametrize(("before", "after"), [(CellWindows, PaneWindows), (PaneWindows, CellWindows)])
@pytest.mark.parametrize(("lateness_ms", "later_ms"), [(0, 0), (0, 20), (20, 0)])
def test_windows_go_on_in_another_layout(
    before: Any, after: Any, storage: tuple[str, bool], lateness_ms: int, later_ms: int
) -> None:
    backend, incremental = storage
    settings = Settings().with_value(options.STATE_BACKEND, backend).with_value(options.ROCKSDB_CACHE_SIZE, 1)
    settings = settings.with_value(options.CHECKPOINT_INCREMENTAL, incremental)
    with harness(before, lateness_ms, settings, []) as windows:
        assert kind_of(windows) is before
        for number in range(3):
            windows.process(*((key, number) for key in KEYS), timestamp_ms=5 + 5 * number)
        saved = windows.snapshot()
    with harness(after, later_ms, settings, [saved]) as windows:
        assert kind_of(windows) is after
        windows.process(("a", 10), timestamp_ms=7)
        assert sorted(windows.watermark(9)) == [("a", 10), *((key, 0) for key in KEYS[1:])]
        assert sorted(windows.watermark(19)) == [(key, 3) for key in KEYS]
        assert windows.watermark(100) == []
        assert windows.state("window-contents") == {}
