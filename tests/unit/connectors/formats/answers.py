"""What PyFlink answered, and values of headgate in the form of its answers."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from headgate.types.instant import Instant
from headgate.types.row import Row
from headgate.types.text_values import plain_text

ANSWERS: Final[dict[str, dict[str, list[list[Any]]]]] = json.loads(
    Path(__file__).with_name("pyflink_answers.json").read_text()
)
BROKEN: Final = "!"


def shown(value: Any) -> Any:
    """Return a value as PyFlink's answers show it."""
    match value:
        case bool() | None:
            return value
        case float():
            return repr(value)
        case bytes() | Row() | list():
            return [shown(each) for each in value]
        case dict():
            return {key: shown(value[key]) for key in sorted(value)}
        case Decimal():
            return format(value, "f")
        case datetime.datetime():
            fraction = f"{value.microsecond:06}".rstrip("0") or "0"
            return f"{value:%Y-%m-%d %H:%M:%S}.{fraction}"
        case datetime.date() | datetime.time():
            return value.isoformat()
        case Instant():
            return plain_text(value)
    return value


def answer(call: Callable[..., Any], *arguments: Any) -> Any:
    """Return what a call returns in the form of the answers; those that raise are broken."""
    try:
        return shown(call(*arguments))
    except Exception:  # noqa: BLE001
        return BROKEN


def made(name: str, value: Any) -> Any:
    """Return a value of a type of what PyFlink was asked about."""
    match name:
        case "BIG_DEC":
            return Decimal(value)
        case "SQL_TIMESTAMP":
            return datetime.datetime.fromisoformat(value)
    return value
