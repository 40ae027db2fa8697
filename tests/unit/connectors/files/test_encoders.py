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
        encoder.encode(["a\nb", "寿司"])
    with pytest.raises(SinkError, match="'寿\\\\n\\\\n司' cannot be written as latin-1"):
        encoder.encode(["寿\n\n司"])


def test_unknown_charset_is_refused() -> None:
    with pytest.raises(ProgramError, match="utf-9"):
        Encoder.simple_string_encoder("utf-9")


@pytest.mark.parametrize(
    ("record", "line"),
    [
        (Row(b=1, a="x"), '{"b":1,"a":"x"}'),
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
        ({"x": object()}, "a object has no form in JSON or CSV"),
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


NAMES = ["id", "name", "at"]
CSV = Encoder.csv_encoder(NAMES)


@pytest.mark.parametrize(
    ("record", "line"),
    [
        (Row(*NAMES)(1, "Ann", None), "1,Ann,"),
        (Row(at=datetime.date(2024, 2, 29), name="Ann", id=1), "1,Ann,2024-02-29"),
        ({"at": datetime.datetime(2024, 2, 29, 1), "id": True, "name": ""}, "true,,2024-02-29T01:00:00"),
        ((1.5, 'say "hi", or\nso', Decimal("1.10")), '1.5,"say ""hi"", or\nso",1.10'),
        ((1, "x\r", "a\r\nb"), '1,"x\r","a\r\nb"'),
        ([1, "寿", datetime.time(1, 2)], "1,寿,01:02:00"),
        (Row(1, " x ", "y"), "1, x ,y"),
    ],
    ids=str,
)
def test_csv(record: Any, line: str) -> None:
    assert CSV.encode([record]).decode() == line + "\n"


def test_csv_files_start_with_the_names_of_the_columns() -> None:
    assert CSV.header() == b"id,name,at\n"
    assert Encoder.csv_encoder(NAMES, header=False).header() == b""
    assert JSON.header() == b""


def test_delimiter_and_null_value_of_csv_can_be_chosen() -> None:
    encoder = Encoder.csv_encoder(["a", "b;"], delimiter=";", null_value="NA")
    assert encoder.header() + encoder.encode([(None, 1)]) == b'a;"b;"\nNA;1\n'


def test_only_column_of_csv_that_is_none_is_no_blank_line() -> None:
    assert Encoder.csv_encoder(["a"]).encode([(None,), ("",)]) == b'""\n""\n'


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ((1, 2), "it has 2 fields instead of 3"),
        ({"id": 1}, r"it has the fields \['id'\], but the columns are \['at', 'id', 'name'\]"),
        ("abc", "it has no fields"),
        ((1, {}, 2), "a dict has no form in JSON or CSV"),
        ((1, "\ud800", 2), "surrogates not allowed"),
    ],
    ids=["width", "names", "text", "dict", "surrogate"],
)
def test_record_that_is_not_csv_is_named(record: Any, reason: str) -> None:
    with pytest.raises(SinkError, match=reason) as caught:
        CSV.encode([(1, 2, 3), record])
    assert "(1, 2, 3)" not in str(caught.value)


@pytest.mark.parametrize("columns", [[], ["a", "a"]], ids=str)
def test_csv_without_columns_of_its_own_is_refused(columns: list[str]) -> None:
    with pytest.raises(ProgramError, match="each with a name of its own"):
        Encoder.csv_encoder(columns)


def test_delimiter_of_csv_must_be_one_character() -> None:
    with pytest.raises(ProgramError, match="give one character"):
        Encoder.csv_encoder(NAMES, delimiter=";;")
