"""Fields of CSV: whole columns are read as single fields are, whatever texts stand together."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.types.csv_dialect import CsvDialect
from headgate.types.csv_fields import CsvRows
from headgate.types.csv_rules import FILES, FLINK, CsvRules
from headgate.types.row import Row
from headgate.types.type_information import TypeInformation
from headgate.types.typeinfo import Types
from tests.sample_size import sample_size

NUMBERS = [
    "", "0", "-7", "+7", " 7 ", "7 7", "- 7", "1_0", "127", "128", "2147483648", "9" * 30, "\u0663", "1.5", "1.", ".5",
    ".", "1e3", "1e400", "-1e400", "1e39", "e3", "nan", "NaN", "inf", "-Infinity", "1d", "0x1", "1e", "NA",
]  # fmt: skip
TIMES = [
    "", "2024-02-29", "2024-2-9", "20240229", "2024-W09-4", "2024-02-30", "2024-02-29T12:00:00",
    "2024-02-29 12:00:00.5", "2024-02-29T12:00:00Z", "2024-02-29T12:00:00-01:00", "20240229T120000-0100",
    "2024-02-29T12:00:00.123456", "2024-02-29T12:00:00.1234560", "2024-02-29T12:00:00.1234567",
    "20240229T120000.1234567", "2024-02-29T12", "NA",
]  # fmt: skip
INTEGERS = [Types.BYTE(), Types.INT(), Types.LONG(), Types.BIG_INT()]
KINDS: dict[TypeInformation, list[str]] = {
    **dict.fromkeys([*INTEGERS, Types.FLOAT(), Types.DOUBLE(), Types.BIG_DEC()], NUMBERS),
    **dict.fromkeys([Types.SQL_DATE(), Types.SQL_TIMESTAMP(), Types.STRING()], TIMES),
}
Reader = Callable[[list[list[str]]], list[Row]]


def outcome(read: Reader, texts: list[str]) -> list[str] | None:
    """Return the values of a column, None if it cannot be read."""
    try:
        return [repr(row[0]) for row in read([[text] for text in texts])]
    except ValueError:
        return None


@pytest.mark.parametrize("null_value", [None, "NA"])
@pytest.mark.parametrize("rules", [FILES, FLINK], ids=["files", "flink"])
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_columns_are_read_as_single_fields_are(kind: TypeInformation, rules: CsvRules, null_value: str | None) -> None:
    types, dialect = Types.ROW_NAMED(["a"], [kind]), CsvDialect(null_literal=null_value)
    read = CsvRows(types=types, dialect=dialect, rules=rules).reader()
    single = {text: outcome(read, [text]) for text in KINDS[kind]}
    readable = {text: value[0] for text, value in single.items() if value is not None}

    @settings(max_examples=sample_size(25))
    @given(st.lists(st.sampled_from(sorted(readable)), max_size=6), st.sampled_from(KINDS[kind]))
    def check(texts: list[str], last: str) -> None:
        assert outcome(read, texts) == [readable[text] for text in texts]
        assert (outcome(read, [*texts, last]) is None) == (last not in readable)

    check()
