"""What functions of batches are given and return: lists of records, or Arrow batches."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from headgate.errors import ProgramError

if TYPE_CHECKING:
    import pyarrow as pa


def batch_of(records: list[Any], schema: pa.Schema | None) -> Any:
    """Return records as a list of their own, or as an Arrow batch. Raises SerializationError for a wrong one."""
    if schema is None:
        return [*records]
    from headgate.types.arrow import batch_from_rows  # noqa: PLC0415  # Arrow takes long to load

    return batch_from_rows(records, schema)


def results_of(given: Any, count: int, schema: pa.Schema | None) -> list[Any]:
    """Return what a function has returned for a batch of `count` records as a list of as many results.

    Raises ProgramError for anything else, SerializationError for what Python cannot hold.
    """
    results = _listed(given) if schema is None else _rows(given)
    if results is None:
        expected = "a list" if schema is None else "a pyarrow.RecordBatch or a pyarrow.Array"
        raise ProgramError(
            f"a function of map_batches() returned {given!r:.100}, of type {type(given).__name__}, but must return "
            f"{expected} with a result for each record"
        )
    if len(results) != count:
        raise ProgramError(
            f"a function of map_batches() returned {len(results)} results for a batch of {count} records, but must "
            "return one for each, in the same order"
        )
    return results


def _listed(given: Any) -> list[Any] | None:
    if hasattr(given, "tolist"):  # an array, whose elements become objects of Python
        given = given.tolist()
    return list(given) if isinstance(given, Iterable) and not isinstance(given, str | bytes | dict) else None


def _rows(given: Any) -> list[Any] | None:
    import pyarrow as pa  # noqa: PLC0415  # it takes long to load

    from headgate.types.arrow import rows_from_batch  # noqa: PLC0415
    from headgate.types.arrow_values import values_of  # noqa: PLC0415

    if isinstance(given, pa.Array):
        return values_of(given)
    rows: list[Any] | None = [*rows_from_batch(given)] if isinstance(given, pa.RecordBatch) else None
    return rows
