"""The walk over types: every kind of type has a case in whatever is made of types."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from headgate.errors import ProgramError
from headgate.savepoints.column_values import conversion as from_column
from headgate.state.canonical.columns import column_codec
from headgate.types.arrow import batch_from_rows, rows_from_batch
from headgate.types.arrow_types import arrow_schema
from headgate.types.conversion import conversion
from headgate.types.fold import TypeFold
from headgate.types.text import text_of
from headgate.types.type_information import TypeInformation
from headgate.types.typeinfo import Types
from headgate.types.value_checks import fits_of
from tests.unit.types.every_type import ANYTHING, EVERY, NULL, SINGLE, kinds_of, plain

CASES = [pytest.param(kind, value, id=f"{kind}-{value!r:.40}") for kind, of in EVERY.items() for value in of]


def test_every_kind_of_type_is_tried() -> None:
    assert {type(kind).__name__ for kind in [*EVERY, NULL, ANYTHING]} == kinds_of()


def test_a_walk_without_a_case_cannot_be_made() -> None:
    class Some(TypeFold[int]):
        def string(self, type_info: TypeInformation) -> int:
            return 1

    with pytest.raises(TypeError, match="abstract"):
        Some()  # type: ignore[abstract]


def test_a_type_without_a_form_is_refused_with_its_place() -> None:
    nested = Types.ROW_NAMED(["lines"], [Types.LIST(Types.MAP(Types.STRING(), ANYTHING))])
    with pytest.raises(ProgramError, match=r"'lines\[\]\[value\]' is a PickledByteArrayTypeInfo"):
        arrow_schema(nested)


@pytest.mark.parametrize(("kind", "value"), CASES)
def test_a_value_of_a_type_stays_as_it_is(kind: TypeInformation, value: Any) -> None:
    column = [value, value]
    convert = conversion(kind)
    assert convert is not None
    assert list(convert(column)) == column
    assert fits_of(kind)(value)
    assert isinstance(text_of(kind)(value), str)


@pytest.mark.parametrize(("kind", "value"), CASES)
def test_a_value_goes_through_a_column_of_arrow(kind: TypeInformation, value: Any) -> None:
    record_type = Types.ROW_NAMED(["c"], [kind])
    [row] = rows_from_batch(batch_from_rows([(value,)], arrow_schema(record_type)))
    assert plain(row[0]) == plain(value)


@pytest.mark.parametrize(("kind", "value"), CASES)
def test_a_table_of_a_savepoint_shows_each_value_and_gives_it_back(kind: TypeInformation, value: Any) -> None:
    noted: list[None] = []
    codec = column_codec(kind, lambda: noted.append(None))
    stored = _through_arrow(codec.arrow, codec.encode(value))
    assert stored is not None
    assert codec.decode(stored) == value
    assert not noted
    assert from_column(kind, codec.arrow, "c")(stored) == value


def _through_arrow(arrow: Any, encoded: Any) -> Any:
    return pa.array([encoded], arrow)[0].as_py()


@pytest.mark.parametrize("kind", [*SINGLE, NULL])
def test_none_is_a_value_of_every_type(kind: TypeInformation) -> None:
    convert = conversion(kind)
    assert convert is not None
    assert list(convert([None])) == [None]
    codec = column_codec(kind, lambda: pytest.fail("None is shown as null"))
    assert codec.encode(None) is None
    assert codec.decode(None) is None
