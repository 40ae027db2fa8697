"""Storing the manifest of a checkpoint or savepoint, and finding out whether a write took effect. All of it blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from headgate.checkpoint import paths
from headgate.checkpoint.manifest import Manifest
from headgate.checkpoint.seal import is_torn
from headgate.checkpoint.store import CheckpointStore
from headgate.errors import StorageError


@final
@dataclass(frozen=True, slots=True)
class Stored:
    """The manifest is durable."""


@final
@dataclass(frozen=True, slots=True)
class Refused:
    """The manifest is not in storage, or what it holds is not committed. Not `retriable`: a restart cannot help."""

    reason: str
    retriable: bool = True


class InDoubt(StorageError):
    """Storage cannot tell yet whether the manifest is stored: call `settle_manifest` until it says."""


def store_manifest(store: CheckpointStore, path: str, data: bytes) -> Stored | Refused:
    """Write the encoded manifest, which completes the checkpoint. All state must be in storage before.

    A write that fails may have succeeded all the same, so it is read back. Raises InDoubt when that fails too, never
    anything else.
    """
    try:
        store.write(path, [data])
    except StorageError as error:
        return _read_back(store, path, data, str(error))
    return Stored()


def settle_manifest(store: CheckpointStore, path: str, data: bytes) -> Stored | Refused:
    """Look again whether a manifest in doubt is stored. Raises InDoubt when storage still does not answer."""
    return _read_back(store, path, data, "its write failed")


def metadata_of(manifest: Manifest) -> str:
    """Return the path of the manifest in the folder that it is of: of the job, or of the savepoint alone."""
    return paths.METADATA if manifest.savepoint is not None else paths.metadata(manifest.checkpoint_id)


def _read_back(store: CheckpointStore, path: str, data: bytes, reason: str) -> Stored | Refused:
    try:
        found = store.read(path)
    except StorageError as error:
        raise InDoubt(f"cannot find out whether {store.locate(path)} is stored: {reason}; then {error}") from error
    if found == data:
        return Stored()
    if found is not None and not is_torn(found):
        return Refused(f"{store.locate(path)} holds something else: is another driver running this job?")
    return Refused(reason)
