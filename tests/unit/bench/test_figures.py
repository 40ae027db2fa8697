"""Figures of the benchmark."""

from __future__ import annotations

import pytest

from bench.figures import Figure, Target, markdown, table


def figure(value: float, target: Target | None) -> Figure:
    return Figure(row="a", what="keyed count", value=value, unit="ratio", target=target)


@pytest.mark.parametrize(
    ("target", "value", "met"),
    [
        (Target(least=0.45), 0.45, True),
        (Target(least=0.45), 0.449, False),
        (Target(most=20.0), 20.0, True),
        (Target(most=20.0), 20.1, False),
    ],
)
def test_bound_itself_still_meets_the_target(target: Target, value: float, met: bool) -> None:
    assert figure(value, target).ok is met


def test_figure_without_target_is_neither_met_nor_missed() -> None:
    assert figure(1.0, None).ok is None


def test_missed_figure_stands_out_in_the_table() -> None:
    assert "MISSED" in table([figure(0.4, Target(least=0.45))])
    assert "MISSED" not in table([figure(0.5, Target(least=0.45)), figure(0.5, None)])


def test_every_row_of_the_markdown_table_has_the_same_columns() -> None:
    lines = markdown([figure(0.4, Target(least=0.45)), figure(0.5, None)]).splitlines()
    assert len({line.count("|") for line in lines}) == 1
