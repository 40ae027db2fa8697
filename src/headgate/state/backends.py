"""The state backends, and the choice of one by the settings of a job."""

from __future__ import annotations

import importlib

from headgate import options
from headgate.config import Settings
from headgate.state.backend import BackendContext, KeyedBackend
from headgate.state.keyed.hashmap import HashMapBackend


def open_backend(context: BackendContext) -> KeyedBackend:
    """Return a new, empty backend of the type that `state.backend.type` names.

    Raises `EnvironmentFault` if a package that the backend needs is not installed.
    """
    if context.settings.get(options.STATE_BACKEND) == "rocksdb":
        from headgate.state.rocksdb.backend import RocksDBBackend  # noqa: PLC0415  # an extra that not everybody has

        return RocksDBBackend(context)
    return HashMapBackend(context)


def check_backend(settings: Settings) -> None:
    """Raise `EnvironmentFault` in the driver if the backend of the settings needs a package that is not installed."""
    if settings.get(options.STATE_BACKEND) == "rocksdb":
        importlib.import_module("headgate.state.rocksdb.database")
