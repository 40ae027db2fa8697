"""Print: one line for each record, with Flink's prefix."""

from __future__ import annotations

import pytest

from headgate.operators.print import PrintFactory
from headgate.testing.harness import OperatorHarness, Setup


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
