"""Process: results carry the timestamp of their record, which the context shows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from headgate.elements import Batch
from headgate.functions.api import ProcessFunction
from headgate.functions.context import Context
from headgate.operators.base import UserCodeError
from headgate.testing.harness import OperatorHarness
from tests.unit.operators.functions import time_of


class Stamping(ProcessFunction):
    def process_element(self, value: Any, ctx: Context) -> Iterable[Any] | None:
        return None if value == "nothing" else [(value, time_of(ctx))]


def test_the_context_shows_the_timestamp_of_each_record() -> None:
    with OperatorHarness.of(Stamping()) as harness:
        out = harness.process_batch(Batch(["a", "nothing", "b"], [10, 20, 30]))
    assert (out.records, out.timestamps) == ([("a", 10), ("b", 30)], [10, 30])


class Hasty(ProcessFunction):
    def process_element(self, value: str, ctx: ProcessFunction.Context) -> Any:
        yield ctx.timestamp() + 1


def test_without_timestamps_asking_for_one_is_an_error_that_says_how_to_give_them() -> None:
    with OperatorHarness.of(Hasty()) as harness:
        assert harness.process("a", timestamp_ms=4) == [5]
        with pytest.raises(UserCodeError) as caught:
            harness.process("b")
    assert "call assign_timestamps_and_watermarks(" in str(caught.value.__cause__)
