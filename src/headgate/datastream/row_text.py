"""The text of a row as PyFlink prints it: its kind, then its values."""

from __future__ import annotations

from typing import Any

from headgate.types.java_text import ROW_KINDS
from headgate.types.row import Row


def row_text(value: Any) -> str:
    """Return the text of a row; of anything else, what `str` returns.

    >>> row_text(Row(1, "a"))
    '+I[1,a]'
    """
    if not isinstance(value, Row):
        return str(value)
    return f"{ROW_KINDS[value.get_row_kind()]}[{','.join(map(str, value))}]"
