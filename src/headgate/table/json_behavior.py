"""How functions of JSON behave, with PyFlink's names."""

from __future__ import annotations

from enum import Enum, auto
from typing import final


@final
class JsonType(Enum):
    """The kinds of JSON that `is_json` distinguishes."""

    VALUE = auto()
    SCALAR = auto()
    ARRAY = auto()
    OBJECT = auto()


@final
class JsonExistsOnError(Enum):
    """The result of `json_exists` for an error. UNKNOWN is NULL; ERROR fails the job."""

    TRUE = auto()
    FALSE = auto()
    UNKNOWN = auto()
    ERROR = auto()


@final
class JsonValueOnEmptyOrError(Enum):
    """The result of `json_value` for an error, or if the path finds nothing. ERROR fails the job."""

    NULL = auto()
    ERROR = auto()
    DEFAULT = auto()


@final
class JsonQueryWrapper(Enum):
    """Whether `json_query` puts its result into an array. CONDITIONAL_ARRAY: if the result is no array."""

    WITHOUT_ARRAY = auto()
    CONDITIONAL_ARRAY = auto()
    UNCONDITIONAL_ARRAY = auto()


@final
class JsonQueryOnEmptyOrError(Enum):
    """The result of `json_query` for an error, or if the path finds nothing. ERROR fails the job."""

    NULL = auto()
    EMPTY_ARRAY = auto()
    EMPTY_OBJECT = auto()
    ERROR = auto()


@final
class JsonOnNull(Enum):
    """NULL: `json_object` and `json_array` write a NULL value as `null`. ABSENT: they leave it out."""

    NULL = auto()
    ABSENT = auto()
