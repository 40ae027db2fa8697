"""What DataFrames and formats take of `pyflink.table`: environments, expressions, types. The rest is refused."""

from __future__ import annotations

from headgate import unsupported
from headgate.table.expression import Expression
from headgate.table.json_behavior import (
    JsonExistsOnError,
    JsonOnNull,
    JsonQueryOnEmptyOrError,
    JsonQueryWrapper,
    JsonType,
    JsonValueOnEmptyOrError,
)
from headgate.table.table_environment import EnvironmentSettings, TableConfig, TableEnvironment
from headgate.table.types import DataTypes, Row, RowKind

__all__ = [
    "DataTypes",
    "EnvironmentSettings",
    "Expression",
    "JsonExistsOnError",
    "JsonOnNull",
    "JsonQueryOnEmptyOrError",
    "JsonQueryWrapper",
    "JsonType",
    "JsonValueOnEmptyOrError",
    "Row",
    "RowKind",
    "TableConfig",
    "TableEnvironment",
]

unsupported.guard(__name__, globals())
