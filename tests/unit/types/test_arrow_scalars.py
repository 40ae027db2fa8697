"""Single values in columns: what a column cannot hold as it is, is refused with record, column and reason."""

from __future__ import annotations

import datetime as dt
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pytest

from headgate.errors import SerializationError
from headgate.types.arrow import batch_from_rows
from headgate.types.instant import Instant

EAST: Final = dt.timezone(dt.timedelta(hours=2))
NOON: Final = dt.datetime(2024, 1, 1, 12)
MICRO: Final = dt.datetime(2024, 1, 1, 12, 0, 0, 1)


def through(value: Any, kind: pa.DataType) -> Any:
    return batch_from_rows([(None,), (value,)], pa.schema([("c", kind)])).column(0)[1].as_py()


@pytest.mark.parametrize(
    ("value", "kind", "why"),
    [
        (NOON.replace(tzinfo=EAST), pa.timestamp("us"), "with a zone"),
        (NOON.replace(tzinfo=EAST), pa.timestamp("ns"), "with a zone"),
        (Instant(1, 0), pa.timestamp("us"), "an instant is a time with a zone"),
        (dt.time(12, tzinfo=EAST), pa.time64("us"), "with a zone"),
        (MICRO, pa.timestamp("ms"), "would lose data"),
        (MICRO, pa.timestamp("s", "UTC"), "would lose data"),
        (Instant(1, 1_000), pa.timestamp("ms", "UTC"), "would lose data"),
        (dt.time(0, 0, 0, 1), pa.time32("ms"), "would lose data"),
        (dt.timedelta(microseconds=1), pa.duration("s"), "would lose data"),
        (NOON, pa.date32(), "take its date"),
        (NOON, pa.date64(), "take its date"),
        (7, pa.date32(), "a number is not a date"),
        (7, pa.time64("us"), "a number is not a time"),
        (7, pa.timestamp("us"), "a number is not a time"),
        (7, pa.duration("us"), "a number is not a length of time"),
        (b"ab", pa.string(), "bytes are not text"),
        (b"ab", pa.large_string(), "bytes are not text"),
        (b"ab", pa.dictionary(pa.int8(), pa.string()), "bytes are not text"),
        ("ab", pa.binary(), "text is not bytes"),
        ("ab", pa.binary(2), "text is not bytes"),
        ("\ud800", pa.string(), "surrogates not allowed"),
        (1.5, pa.uint8(), "no fractions"),
        (True, pa.float64(), "a bool is not a number"),
        (1e300, pa.float32(), "too large"),
    ],
    ids=str,
)
def test_what_would_be_changed_is_refused_with_record_and_column(value: Any, kind: pa.DataType, why: str) -> None:
    with pytest.raises(SerializationError, match=why) as caught:
        through(value, kind)
    assert f"column 'c' has the type {kind}" in str(caught.value) or pa.types.is_dictionary(kind)
    assert f"the record is {(value,)!r}" in str(caught.value)


def test_values_within_lists_of_a_fixed_length_are_looked_at() -> None:
    kind = pa.list_(pa.timestamp("us"), 1)
    assert through([NOON], kind) == [NOON]
    with pytest.raises(SerializationError, match=r"column 'c\[\]'.* with a zone"):
        through([NOON.replace(tzinfo=EAST)], kind)
    with pytest.raises(SerializationError, match="lists of 1 values"):
        through([NOON, NOON], kind)


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        (NOON, pa.timestamp("us", "UTC"), NOON.replace(tzinfo=dt.UTC)),
        (NOON.replace(tzinfo=EAST), pa.timestamp("ms", "UTC"), dt.datetime(2024, 1, 1, 10, tzinfo=dt.UTC)),
        (NOON, pa.timestamp("s"), NOON),
        (dt.timedelta(seconds=2), pa.duration("s"), dt.timedelta(seconds=2)),
        (float("inf"), pa.float32(), float("inf")),
        ("x", pa.dictionary(pa.int8(), pa.string()), "x"),
        (np.float64(2.0), pa.int8(), 2),
        (np.bool_(True), pa.bool_(), True),
        (np.str_("a"), pa.string(), "a"),
        (np.bytes_(b"a"), pa.binary(), b"a"),
        (np.datetime64(MICRO), pa.timestamp("us"), MICRO),
        (np.timedelta64(3, "us"), pa.duration("us"), dt.timedelta(microseconds=3)),
    ],
    ids=str,
)
def test_what_fits_stays_as_it_is(value: Any, kind: pa.DataType, expected: Any) -> None:
    assert through(value, kind) == expected
