"""The browser of snapshots on the checkpoints of jobs, whatever backend and kind of checkpoint they have."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from headgate.common import Types
from headgate.datastream import KeyedProcessFunction, RuntimeContext
from headgate.datastream.state import ValueStateDescriptor
from headgate.savepoints import SavepointReader
from headgate.snapshots.browser import SnapshotBrowser
from headgate.snapshots.key_text import KeyText
from headgate.snapshots.rows import RowQuery
from tests.scenarios import ledger
from tests.scenarios.runs import FULL, ROCKSDB, Runs, on_every_backend
from tests.scenarios.test_timers import remind

COUNT = 1200


class Selling(KeyedProcessFunction):
    """Keeps an order in state, of a class that only some processes have."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.order = runtime_context.get_state(ValueStateDescriptor("order", Types.PICKLED_BYTE_ARRAY()))
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        self.order.update([sys.modules["a_shop"].Order(value)])
        self.count.update(value)
        yield value


def soon() -> float:
    return time.monotonic() * 1000 + 60_000


@on_every_backend
@pytest.mark.slow
def test_every_state_of_a_checkpoint_is_shown_as_the_reader_has_it(
    backend: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = Runs(tmp_path, monkeypatch, **backend)
    env = runs.environment(2)
    ledger.seen_of(ledger.written(env, COUNT))
    runs.stop(env)
    location = str(runs.folder / f"chk-{runs.latest}")
    with SavepointReader.read(location) as reader, SnapshotBrowser(location, {}) as browser:
        counted = {
            state.name: state.entries
            for operator in browser.operators(soon())
            if operator.uid == "ledger"
            for state in operator.states
        }
        assert counted == {state.name: state.entries for state in reader.states("ledger")}
        for name in counted:
            wanted = {repr(entry.key): repr(entry.value) for entry in reader.entries("ledger", name)}
            page = browser.rows("ledger", name, RowQuery(limit=1000, until_ms=soon()))
            assert {row.key: row.value for row in page.rows} == {key: text[:2000] for key, text in wanted.items()}
            key = ledger.key_of(0)
            one = browser.rows("ledger", name, RowQuery(key=KeyText(key), until_ms=soon()))
            assert [(row.key, row.value) for row in one.rows] == [(repr(key), wanted[repr(key)])]
            assert one.is_complete
            assert one.groups_read < one.groups / 2


def test_timers_are_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = Runs(tmp_path / "first", monkeypatch)
    env = runs.environment(2)
    remind(env, ledger.BURST)
    runs.stop(env)
    with SnapshotBrowser(str(runs.folder / f"chk-{runs.latest}"), {}) as browser:
        page = browser.rows("reminding", "_timers/event", RowQuery(until_ms=soon()))
    assert page.kind == "timers"
    assert len(page.rows) > 0
    assert all(row.value.startswith("[") for row in page.rows)


@pytest.mark.slow
@pytest.mark.parametrize("backend", [FULL, ROCKSDB], ids=["hashmap", "rocksdb"])
def test_objects_of_a_class_that_is_not_here_have_stand_ins(
    backend: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = ModuleType("a_shop")
    exec("class Order:\n    def __init__(self, id):\n        self.id = id", shop.__dict__)
    monkeypatch.setitem(sys.modules, "a_shop", shop)
    runs = Runs(tmp_path, monkeypatch, **backend)
    env = runs.environment(1)
    numbers = ledger.numbers(env, COUNT, ledger.BURST).key_by(ledger.key_of).process(Selling())
    ledger.seen_of(numbers.uid("selling"))
    runs.stop(env)
    monkeypatch.delitem(sys.modules, "a_shop")
    with SnapshotBrowser(str(runs.folder / f"chk-{runs.latest}"), {}) as browser:
        orders = browser.rows("selling", "order", RowQuery(until_ms=soon()))
        counts = browser.rows("selling", "count", RowQuery(until_ms=soon()))
        operators = {operator.uid: operator for operator in browser.operators(soon())}
    assert {row.value for row in orders.rows} == {"[(pickled a_shop.Order)]"}
    assert len(orders.rows) == len(counts.rows) > 0
    assert [state.name for state in operators["selling"].states] == ["count", "order"]
