"""The one place where `deltalake` is imported."""

from __future__ import annotations

from headgate.errors import missing_extra

try:
    from deltalake import CommitProperties, DeltaTable, Schema, Transaction
    from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
    from deltalake.fs import DeltaStorageHandler
    from deltalake.schema import DataType
    from deltalake.transaction import AddAction
except ImportError as error:
    raise missing_extra("the Delta Lake sink", "delta", error) from error

__all__ = [
    "AddAction",
    "CommitFailedError",
    "CommitProperties",
    "DataType",
    "DeltaError",
    "DeltaStorageHandler",
    "DeltaTable",
    "Schema",
    "TableNotFoundError",
    "Transaction",
]
