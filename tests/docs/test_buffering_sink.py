"""The example of a sink that buffers: a restart loses nothing of what it had not sent yet."""

from __future__ import annotations

import pytest

from tests.docs.blocks import ROOT, run_apart, run_here

PROGRAM = ROOT / "examples" / "state" / "buffering_sink.py"


def check(console: str) -> None:
    """Fail unless all elements were sent, in batches of seven, with a restart in between."""
    lines = [line.rpartition("sent ")[2].split() for line in console.splitlines() if "sent " in line]
    assert {element for line in lines for element in line} == {f"{'ab'[n % 2]}-{n}" for n in range(70)}
    assert {len(line) for line in lines} == {7}
    assert console.count("fails at") == 1


@pytest.mark.slow
def test_a_restart_loses_no_buffered_element(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    run_here(PROGRAM, monkeypatch)
    check(capfd.readouterr().out)


@pytest.mark.soak
@pytest.mark.spark
def test_a_restart_loses_no_buffered_element_on_spark() -> None:
    done = run_apart(PROGRAM)
    check(done.stdout + done.stderr)
