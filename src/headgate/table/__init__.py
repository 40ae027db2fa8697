"""`DataTypes` of the Table API, for the formats of files that take them. The rest of `pyflink.table` is refused."""

from __future__ import annotations

from headgate import unsupported
from headgate.table.json_behavior import (
    JsonExistsOnError,
    JsonOnNull,
    JsonQueryOnEmptyOrError,
    JsonQueryWrapper,
    JsonType,
    JsonValueOnEmptyOrError,
)
from headgate.table.types import DataTypes, Row, RowKind

__all__ = [
    "DataTypes",
    "JsonExistsOnError",
    "JsonOnNull",
    "JsonQueryOnEmptyOrError",
    "JsonQueryWrapper",
    "JsonType",
    "JsonValueOnEmptyOrError",
    "Row",
    "RowKind",
]

unsupported.guard(__name__, globals())
