"""Writes of manifests to storage, and their outcome. All functions block."""

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
    """The write is done and durable."""


@final
@dataclass(frozen=True, slots=True)
class Refused:
    """The write or commit has failed and took no effect. Not `retriable`: a restart cannot help."""

    reason: str
    retriable: bool = True


class InDoubt(StorageError):
    """Storage cannot tell whether the manifest is stored: call `settle_manifest` until it can."""


def store_manifest(store: CheckpointStore, path: str, data: bytes) -> Stored | Refused:
    """Write the encoded manifest, which completes the checkpoint. All its state must be in storage before.

    A write that raised may have taken effect, so the manifest is read back. Raises only InDoubt, when this fails, too.
    """
    try:
        store.write(path, [data])
    except StorageError as error:
        return _read_back(store, path, data, str(error))
    return Stored()


def settle_manifest(store: CheckpointStore, path: str, data: bytes) -> Stored | Refused:
    """Return whether a manifest in doubt is stored. Raises InDoubt when storage still does not answer."""
    return _read_back(store, path, data, "its write failed")


def metadata_of(manifest: Manifest) -> str:
    """Return the path of the manifest, relative to the folder of the job or of the savepoint."""
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
