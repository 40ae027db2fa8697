"""Process: results carry the timestamp of their record, which the context shows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headgate.elements import Batch
from headgate.functions.api import ProcessFunction
from headgate.functions.context import Context
from headgate.testing.harness import OperatorHarness


class Stamping(ProcessFunction):
    def process_element(self, value: Any, ctx: Context) -> Iterable[Any] | None:
        return None if value == "nothing" else [(value, ctx.timestamp())]


def test_the_context_shows_the_timestamp_of_each_record() -> None:
    with OperatorHarness.of(Stamping()) as harness:
        out = harness.process_batch(Batch(["a", "nothing", "b"], [10, 20, 30]))
    assert (out.records, out.timestamps) == ([("a", 10), ("b", 30)], [10, 30])


def test_without_timestamps_the_context_shows_none() -> None:
    with OperatorHarness.of(Stamping()) as harness:
        out = harness.process_batch(Batch(["a"]))
    assert (out.records, out.timestamps) == ([("a", None)], None)
