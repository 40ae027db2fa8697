"""Kinds of configuration values: each parses text, and describes the expected text for error messages."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Generic, TypeVar, final

from headgate import unsupported

T_co = TypeVar("T_co", covariant=True)


@final
@dataclass(frozen=True, slots=True)
class ValueKind(Generic[T_co]):
    """A kind of value. `parse` converts text or a Python value; it raises ValueError unless it matches `expected`."""

    name: str
    expected: str
    parse: Callable[[object], T_co]
    unit: str = ""


def _integer(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise ValueError(value)
    return int(value)


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise ValueError(value)
    return float(value)


def _boolean(value: object) -> bool:
    if isinstance(value, bool):
        return value
    text = str(value).strip().lower()
    if text not in ("true", "false"):
        raise ValueError(value)
    return text == "true"


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(value)
    return value


def _location(value: object) -> str:
    """Return the folder or URI. Raises ValueError for blank text and for a URI with one slash, which would be local."""
    text = _text(value)
    if not text.strip() or (re.match(r"[A-Za-z][\w+.-]+:(?!//)", text) and not text.startswith("file:")):
        raise ValueError(value)
    return text


def _hex_id(value: object) -> str:
    text = str(value).strip().lower()
    if not re.fullmatch(r"[0-9a-f]{32}", text):
        raise ValueError(value)
    return text


_LENGTHS_MS: Final[dict[str, int]] = {
    **dict.fromkeys(("", "ms", "milli", "millis", "millisecond", "milliseconds"), 1),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1000),
    **dict.fromkeys(("m", "min", "minute", "minutes"), 60_000),
    **dict.fromkeys(("h", "hour", "hours"), 3_600_000),
    **dict.fromkeys(("d", "day", "days"), 86_400_000),
}
_SIZES: Final[dict[str, int]] = {
    **dict.fromkeys(("", "b", "bytes"), 1),
    **dict.fromkeys(("k", "kb", "kib", "kibibytes"), 2**10),
    **dict.fromkeys(("m", "mb", "mib", "mebibytes"), 2**20),
    **dict.fromkeys(("g", "gb", "gib", "gibibytes"), 2**30),
    **dict.fromkeys(("t", "tb", "tib", "tebibytes"), 2**40),
}


def _with_unit(units: Mapping[str, int]) -> Callable[[object], int]:
    def parse(value: object) -> int:
        matched = re.fullmatch(r"\s*(\d+)\s*([a-z]*)\s*", str(value).lower())
        if isinstance(value, bool) or matched is None or matched[2] not in units:
            raise ValueError(value)
        return int(matched[1]) * units[matched[2]]

    return parse


_length: Final = _with_unit(_LENGTHS_MS)


def _limit(value: object) -> int | None:
    text = str(value).strip()
    return None if re.match(r"-\d", text) and _length(text[1:]) else _length(value)


def _ports(value: object) -> tuple[int, int]:
    matched = re.fullmatch(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?", str(value))
    if matched is None:
        raise ValueError(value)
    first, last = int(matched[1]), int(matched[2] or matched[1])
    if not first <= last <= 65535:
        raise ValueError(value)
    return first, last


def _pairs(value: object) -> dict[str, str]:
    if isinstance(value, Mapping):
        return {str(key): str(item) for key, item in value.items()}
    if not isinstance(value, str):
        raise ValueError(value)
    if value.lstrip().startswith("{"):
        return _pairs(json.loads(value))
    split = [pair.partition(":") for pair in value.split(",") if pair.strip()]
    if not all(colon for _, colon, _ in split):
        raise ValueError(value)
    return {key.strip(): item.strip() for key, _, item in split}


def one_of(*choices: str, synonyms: Mapping[str, str] | None = None, refused: tuple[str, ...] = ()) -> ValueKind[str]:
    """Return the kind with the values `choices`. `refused` are values of Flink that headgate lacks.

    Case is ignored. `synonyms` maps words to choices. A refused word raises UnsupportedError with the reason from the
    table of unsupported features.
    """
    words = {choice.lower(): choice for choice in choices} | {
        word.lower(): choice for word, choice in (synonyms or {}).items()
    }
    unsupported_words = {name.rpartition("=")[2].lower(): name for name in refused}

    def parse(value: object) -> str:
        word = str(value).strip().lower()
        if word in unsupported_words:
            unsupported.refuse(unsupported_words[word])
        if word not in words:
            raise ValueError(value)
        return words[word]

    return ValueKind(", ".join(choices), f"one of {', '.join(choices)}", parse)


INTEGER: Final = ValueKind("integer", "a whole number", _integer)
NUMBER: Final = ValueKind("number", "a number", _number)
BOOLEAN: Final = ValueKind("boolean", "true or false", _boolean)
TEXT: Final = ValueKind("text", "text", _text)
LOCATION: Final = ValueKind(
    "folder or URI", 'a folder such as "/data/headgate", or a URI such as "s3://bucket/headgate"', _location
)
HEX_ID: Final = ValueKind("hexadecimal id", "32 hexadecimal digits, such as those of uuid.uuid4().hex", _hex_id)
DURATION_MS: Final = ValueKind("duration", 'a length of time such as "500 ms", "10 s" or "1 min"', _length, " ms")
LIMIT_MS: Final = ValueKind(
    "duration or -1", 'a length of time such as "500 ms" or "10 s", or -1 for no limit', _limit, " ms"
)
SIZE_BYTES: Final = ValueKind("size", 'a size such as "64 kb" or "1 mb"', _with_unit(_SIZES), " bytes")
PORT_RANGE: Final = ValueKind("ports", 'a port or range of ports such as "0" (any) or "50000-50100"', _ports)
TEXT_PAIRS: Final = ValueKind("pairs", 'pairs such as "a:1,b:2", or a JSON object', _pairs)
