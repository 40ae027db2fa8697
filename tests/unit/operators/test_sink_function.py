"""Sink function: sees every record in order with its timestamp, and lets nothing out."""

from __future__ import annotations

from typing import Any

from headgate.elements import Batch
from headgate.functions.api import SinkFunction
from headgate.functions.context import Context
from headgate.testing.harness import OperatorHarness
from tests.unit.operators.functions import time_of


class Noting(SinkFunction):
    def __init__(self) -> None:
        self.noted: list[Any] = []

    def invoke(self, value: Any, context: Context) -> None:
        self.noted.append((value, time_of(context)))


def test_records_arrive_in_order_with_their_timestamps() -> None:
    function = Noting()
    with OperatorHarness.of(function) as harness:
        assert harness.process_batch(Batch(["a", "b"], [1, 2])).records == []
        assert harness.process("c") == []
    assert function.noted == [("a", 1), ("b", 2), ("c", None)]
