"""Records of savepoints that were begun, in the job's folder: a later driver learns which savepoints never completed.

Sinks mark the output that they prepare for a savepoint, because the output must stay once the manifest is stored. They
mark it before the savepoint is complete. If the driver dies before the manifest is stored, the next driver must release
the marked output. So a driver records a savepoint before any subtask hears of it, and deletes the record when the
manifest is stored. If a record still exists, its savepoint

    has a whole manifest    is complete: its driver died before it deleted the record
    has no manifest         was given up: the marks that name it do not count
    cannot be read          may be complete: its marks count

All functions block, and raise StorageError when the job's own storage fails.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Final

from headgate.checkpoint import paths
from headgate.checkpoint.drivers.epochs import EpochOwner, parse_owner
from headgate.checkpoint.seal import is_torn, seal, unseal
from headgate.checkpoint.store import CheckpointStore
from headgate.elements import savepoint_key
from headgate.errors import StorageError

_log = logging.getLogger(__name__)

_OWNERS_KEPT: Final = 2
"""The number of newest drivers whose records stay: slots of the previous driver may still place marks."""


def record_begun(store: CheckpointStore, own: EpochOwner, location: str) -> None:
    """Record that a savepoint is begun. Call this before any subtask hears of the savepoint."""
    store.write(_path(own, location), [seal({"location": location})])


def record_complete(store: CheckpointStore, own: EpochOwner, location: str) -> None:
    """Delete the record of a savepoint whose manifest is stored. Call this before its asker hears of it.

    The record of a savepoint that no subtask has heard of may also be deleted.
    """
    store.delete([_path(own, location)])


def given_up(store: CheckpointStore, open_store: Callable[[str], CheckpointStore]) -> frozenset[str]:
    """Return the locations of the savepoints that were begun and are not complete.

    Deletes the records of complete savepoints. Call this while no savepoint is being stored.
    """
    found: set[str] = set()
    for path, _, location in _records(store):
        complete = _is_complete(location, open_store)
        if complete is False:
            found.add(location)
        elif complete:
            store.delete([path])
    return frozenset(found)


def clear_given_up(store: CheckpointStore, own: EpochOwner, open_store: Callable[[str], CheckpointStore]) -> None:
    """Delete the folders of savepoints that drivers before `own` have given up, and the records of old drivers.

    Call this when all subtasks have restored: sinks keep nothing for these savepoints any more.
    """
    for path, owner, location in _records(store):
        if owner < own and _is_complete(location, open_store) is False:
            open_store(location).delete_folder("")
            if owner.number <= own.number - _OWNERS_KEPT:
                store.delete([path])


def _records(store: CheckpointStore) -> Iterator[tuple[str, EpochOwner, str]]:
    for path in store.list_files(paths.SAVEPOINTS):
        owner = parse_owner(path.rpartition("/")[2].rpartition("-")[0])
        data = store.read(path)
        if owner is not None and data is not None and not is_torn(data):  # torn: no subtask has heard of it
            yield path, owner, unseal(data, store.locate(path))["location"]


def _is_complete(location: str, open_store: Callable[[str], CheckpointStore]) -> bool | None:
    """Return whether the savepoint has a whole manifest; None: this cannot be known now."""
    try:
        savepoint = open_store(location)
        data = savepoint.read(paths.METADATA)
        is_complete = data is not None and not is_torn(data)
        if is_complete:
            savepoint.secure(paths.METADATA)
    except (StorageError, OSError) as error:
        _log.warning("cannot find out whether the savepoint %s is complete, so its output stays: %s", location, error)
        return None
    return is_complete


def _path(own: EpochOwner, location: str) -> str:
    return paths.begun_savepoint(str(own), savepoint_key(location))
