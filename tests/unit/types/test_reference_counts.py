"""What counts of references mean on this interpreter, and what happens where they do not tell."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import astuple
from typing import Any

import pytest

from headgate.functions.source import Records
from headgate.types import reference_counts
from headgate.types.record_copies import BY_VALUE
from headgate.types.reference_counts import ALONE


def test_the_interpreter_counts_references() -> None:
    assert min(astuple(ALONE)) > 0, "records are always copied here"


@pytest.mark.parametrize(
    "count",
    [lambda held: 2, lambda held: 9 + bool(held), None],
    ids=["a holder does not show", "more than is expected", "no global lock"],
)
def test_all_is_copied_where_counts_do_not_tell(
    count: Callable[[list[Any]], int] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in reference_counts._MEASURES:
        monkeypatch.setattr(ALONE, name, -1)
    if count is None:
        monkeypatch.setattr(sys, "_is_gil_enabled", lambda: False, raising=False)
    else:
        monkeypatch.setitem(reference_counts._MEASURES, "local", count)
    reference_counts._calibrate()
    assert reference_counts.References() == ALONE
    polled = Records([{"a": [1]}])
    assert BY_VALUE.owned(polled)[0][0] is not polled.records[0]
