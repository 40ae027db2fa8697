"""How functions of JSON behave, with PyFlink's names."""

from __future__ import annotations

from enum import Enum, auto
from typing import final


@final
class JsonType(Enum):
    """The kinds of JSON that `is_json` asks for."""

    VALUE = auto()
    SCALAR = auto()
    ARRAY = auto()
    OBJECT = auto()


@final
class JsonExistsOnError(Enum):
    """What `json_exists` is for an error. UNKNOWN is NULL; ERROR fails the job."""

    TRUE = auto()
    FALSE = auto()
    UNKNOWN = auto()
    ERROR = auto()


@final
class JsonValueOnEmptyOrError(Enum):
    """What `json_value` is where it finds nothing, and for an error. ERROR fails the job."""

    NULL = auto()
    ERROR = auto()
    DEFAULT = auto()


@final
class JsonQueryWrapper(Enum):
    """Whether `json_query` makes an array of what it finds: CONDITIONAL_ARRAY if it is none."""

    WITHOUT_ARRAY = auto()
    CONDITIONAL_ARRAY = auto()
    UNCONDITIONAL_ARRAY = auto()


@final
class JsonQueryOnEmptyOrError(Enum):
    """What `json_query` is where it finds nothing, and for an error. ERROR fails the job."""

    NULL = auto()
    EMPTY_ARRAY = auto()
    EMPTY_OBJECT = auto()
    ERROR = auto()


@final
class JsonOnNull(Enum):
    """Whether `json_object` and `json_array` have NULL values as `null`, or leave them out."""

    NULL = auto()
    ABSENT = auto()
