"""Text schemas and the line encoder."""

import pytest

from headgate.common.serialization import Encoder, SimpleStringSchema


def test_text_survives_the_way_to_bytes_and_back_in_the_charset() -> None:
    schema = SimpleStringSchema("ISO-8859-1")
    assert schema.serialize("é") == b"\xe9"
    assert schema.deserialize(b"\xe9") == "é"


def test_the_simple_encoder_writes_each_record_as_a_line() -> None:
    assert Encoder.simple_string_encoder().encode({"a": 1}) == b"{'a': 1}\n"
    with pytest.raises(LookupError, match="no-such-charset"):
        Encoder.simple_string_encoder("no-such-charset")
