"""The figures of the rows about event time."""

from __future__ import annotations

import pytest

from bench.event_time_rows import peer_figures, per_result
from bench.peers import windows


def test_each_peer_is_compared_within_each_round() -> None:
    theirs = {"PyFlink, thread mode": [10.0, 10.0, 20.0], "Bytewax": [100.0, 50.0, 50.0]}
    pyflink, bytewax = peer_figures([600.0, 500.0, 800.0], theirs)
    assert pyflink.of_runs == (60.0, 50.0, 40.0)
    assert (pyflink.value, pyflink.ok) == (50.0, True)
    assert bytewax.of_runs == (6.0, 10.0, 16.0)
    assert (bytewax.value, bytewax.ok) == (10.0, False)


@pytest.mark.parametrize("name", windows.SYSTEMS)
def test_a_peer_has_a_program_and_a_target(name: str) -> None:
    program, _ = windows.SYSTEMS[name]
    assert (windows.HERE / program).exists()
    (figure,) = peer_figures([1.0], {name: [1.0]})
    assert figure.target is not None


@pytest.mark.slow
def test_a_result_stands_for_the_records_of_a_key_that_has_some() -> None:
    assert per_result(20) == pytest.approx(20.0, rel=0.001)
    assert per_result(2) == pytest.approx(2.31, rel=0.01)  # 0.135 of the keys have none in a window
