"""Sinks without checkpoints: print writes lines, a sink function gets each record with its timestamp."""

from __future__ import annotations

from typing import Any

import pytest

from headgate.elements import Batch
from headgate.functions.api import SinkFunction
from headgate.functions.context import Context
from headgate.operators.plain_sinks import PrintFactory
from headgate.testing.harness import OperatorHarness, Setup
from tests.unit.operators.functions import time_of


@pytest.mark.parametrize(
    ("identifier", "parallelism", "line"), [(None, 1, "x"), ("id", 1, "id> x"), (None, 2, "2> x"), ("id", 2, "id:2> x")]
)
def test_the_prefix_names_identifier_and_subtask(
    identifier: str | None, parallelism: int, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    place = Setup(subtask=parallelism - 1, parallelism=parallelism)
    with OperatorHarness(PrintFactory(identifier), setup=place) as harness:
        assert harness.process("x", "x") == []
    assert capsys.readouterr().out == f"{line}\n{line}\n"


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
