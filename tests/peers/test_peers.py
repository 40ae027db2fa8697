"""Programs print what PyFlink has printed for them, or something else for a reason that is written down."""

from __future__ import annotations

import pytest

from tests.peers.comparing import TABLE, compared, failures, ran, table


@pytest.mark.soak
def test_programs_print_what_they_print_in_pyflink() -> None:
    rows = compared(ran())
    assert len(rows) >= 200
    assert failures(rows) == []
    assert TABLE.read_text() == table(rows), "run `python -m tests.peers compare` and commit what it writes"
