"""The one place where `deltalake` is imported."""

from __future__ import annotations

from headgate.errors import EnvironmentFault

try:
    from deltalake import CommitProperties, DeltaTable, Schema, Transaction
    from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
    from deltalake.fs import DeltaStorageHandler
    from deltalake.schema import DataType
    from deltalake.transaction import AddAction
except ImportError as error:
    raise EnvironmentFault(
        "the Delta Lake sink needs an extra: pip install 'headgate[delta]', in the driver and on every worker"
    ) from error

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
