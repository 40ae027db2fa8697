"""Records as bytes."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pytest

from headgate.connectors.files.encoders import Encoder
from headgate.errors import ProgramError, SinkError
from headgate.types.row import Row

JSON = Encoder.json_lines_encoder()


def test_simple_string_encoder_writes_what_print_shows() -> None:
    assert Encoder.simple_string_encoder().encode(["æ", 1, (2, "x")]) == "æ\n1\n(2, 'x')\n".encode()


def test_simple_string_encoder_keeps_to_its_charset() -> None:
    encoder = Encoder.simple_string_encoder("latin-1")
    assert encoder.encode(["æ"]) == b"\xe6\n"
    with pytest.raises(SinkError, match="'寿司' cannot be written as latin-1"):
        encoder.encode(["a", "寿司"])


def test_unknown_charset_is_refused() -> None:
    with pytest.raises(ProgramError, match="utf-9"):
        Encoder.simple_string_encoder("utf-9")


@pytest.mark.parametrize(
    ("record", "line"),
    [
        (Row(b=1, a="x"), '{"a":"x","b":1}'),
        (Row(1, "x"), '[1,"x"]'),
        ((1, [None, True]), "[1,[null,true]]"),
        ({"at": datetime.date(2024, 2, 29), "row": Row(a=Row(1))}, '{"at":"2024-02-29","row":{"a":[1]}}'),
        (Decimal("1.10"), '"1.10"'),
        ("a\nb寿", '"a\\nb寿"'),
    ],
)
def test_json_lines(record: Any, line: str) -> None:
    assert JSON.encode([record]).decode() == line + "\n"


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({"x": object()}, "a object has no form in JSON"),
        (float("nan"), "not JSON compliant"),
        ("\ud800", "surrogates not allowed"),
    ],
)
def test_record_that_is_not_json_is_named(record: Any, reason: str) -> None:
    with pytest.raises(SinkError, match=reason) as caught:
        JSON.encode([1, record, 2])
    assert repr(record)[:20] in str(caught.value)


def test_a_record_that_stops_the_iteration_is_not_left_out_unseen() -> None:
    class Odd(dict[str, int]):
        def items(self) -> Any:
            raise StopIteration

    with pytest.raises(StopIteration):
        Encoder.json_lines_encoder().encode([Odd(a=1), {"b": 2}])


def test_no_records_are_no_bytes() -> None:
    assert JSON.encode([]) == Encoder.simple_string_encoder().encode([]) == b""
