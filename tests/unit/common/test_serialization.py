"""Text schemas."""

import pytest

from headgate.common.serialization import SimpleStringSchema


def test_text_survives_the_way_to_bytes_and_back_in_the_charset() -> None:
    schema = SimpleStringSchema("ISO-8859-1")
    assert schema.serialize("é") == b"\xe9"
    assert schema.deserialize(b"\xe9") == "é"


def test_an_unknown_charset_is_an_error_at_once() -> None:
    with pytest.raises(LookupError, match="no-such-charset"):
        SimpleStringSchema("no-such-charset")
