"""User functions for the tests of whole jobs. What happens in slots is seen by what they leave in a folder."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

from headgate.common import Types
from headgate.datastream import KeyedProcessFunction, RuntimeContext
from headgate.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from headgate.elements import MAX_TIMESTAMP


class Fault:
    """What goes wrong once, at the first record with the value `at`, and not before the file `after` is there."""

    def __init__(self, kind: str, at: int, after: Path | None = None) -> None:
        self.kind = kind
        self.at = at
        self.after = after

    def strike(self, marker: Path) -> None:
        if marker.exists():
            return
        while self.after is not None and not self.after.exists():
            time.sleep(0.05)
        marker.write_text(f"{os.getpid()} {time.time()}")
        if self.kind == "exception":
            raise ValueError(f"no luck with {self.at}")
        worker = psutil.Process()
        if self.kind == "kill the executor":
            # The worker is a child of Spark's daemon, and that of the executor.
            worker = worker.parents()[1]
        worker.send_signal(signal.SIGKILL)
        time.sleep(60.0)


class Count(KeyedProcessFunction):
    """Counts the records of each key: yields `(key, count)`. Notes which process ran it, and when it first worked."""

    def __init__(self, folder: Path, fault: Fault | None = None) -> None:
        self._folder = folder
        self._fault = fault

    def open(self, runtime_context: RuntimeContext) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self._note: Path | None = self._folder / f"{time.time_ns()}-{os.getpid()}"

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        if self._fault is not None and value == self._fault.at:
            self._fault.strike(self._folder / "fault")
        count = (self._count.value() or 0) + 1
        self._count.update(count)
        if self._note is not None:
            self._note.write_text(str(time.time()))
            self._note = None
        yield ctx.get_current_key(), count


class Tally(Count):
    """Counts as `Count` does, in a list and a map as well, and tells the last count again when event time ends."""

    def open(self, runtime_context: RuntimeContext) -> None:
        super().open(runtime_context)
        self._values = runtime_context.get_list_state(ListStateDescriptor("values", Types.LONG()))
        self._times = runtime_context.get_map_state(MapStateDescriptor("times", Types.LONG(), Types.LONG()))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        self._values.add(value)
        self._times.put(value % 7, value)
        ctx.timer_service().register_event_time_timer(MAX_TIMESTAMP - 1)
        for key, count in super().process_element(value, ctx):
            yield key, count, len(list(self._values)), sorted(self._times.items())

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield ctx.get_current_key(), self._count.value(), list(self._values), sorted(self._times.items())


def pids(folder: Path) -> list[int]:
    """The processes that counted, one entry for each attempt of each, in the order of their starts."""
    notes = sorted(path for path in folder.iterdir() if "-" in path.name)
    return [int(path.name.partition("-")[2]) for path in notes]


def recovery_s(folder: Path) -> float:
    """Time from the fault to the first record that was processed after it."""
    struck = float((folder / "fault").read_text().split()[1])
    worked = [float(path.read_text()) for path in folder.iterdir() if "-" in path.name]
    return min(at for at in worked if at > struck) - struck
