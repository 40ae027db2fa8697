"""Records of `from_collection` with a declared type: converted, or rejected, when the program is built."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headgate.errors import ProgramError
from headgate.types.conversion import UNFIT, conversion, culprit
from headgate.types.typeinfo import TypeInformation


def typed_records(records: Iterable[Any], record_type: TypeInformation) -> list[Any]:
    """Return the records as values of the type. Raises ProgramError naming the first record that does not fit.

    >>> from headgate.types.typeinfo import Types
    >>> typed_records([(1, "a")], Types.ROW_NAMED(["id", "name"], [Types.INT(), Types.STRING()]))
    [Row(id=1, name='a')]
    """
    given, convert = list(records), conversion(record_type)
    if convert is None:
        return given
    try:
        return list(convert(given))
    except UNFIT:
        place, error = culprit(convert, given)
        raise ProgramError(
            f"record {place} of from_collection() is {given[place]!r}, which does not fit {record_type}: {error}"
        ) from None
