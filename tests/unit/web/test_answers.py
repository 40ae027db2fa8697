"""JSON for clients, whatever texts and numbers are in it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.web.answers import JsonAnswer, event

HALF_A_PAIR = "name \ud800"


@given(st.text(st.characters()) | st.just(HALF_A_PAIR))
def test_any_text_is_told(text: str) -> None:
    assert json.loads(bytes(JsonAnswer({"text": text}).body)) == {"text": text}
    assert event("told", text).decode().splitlines() == ["event: told", f"data: {json.dumps(text)}", ""]


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_what_is_no_number_is_never_sent(number: float) -> None:
    for make in (JsonAnswer, lambda value: event("told", value)):
        with pytest.raises(ValueError, match="not JSON compliant"):
            make(number)
