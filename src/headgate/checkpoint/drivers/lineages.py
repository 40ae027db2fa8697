"""Lineages: what a job's sinks write under, recorded in the job's folder before anything is written outside.

A driver that goes on from a checkpoint of the folder keeps the lineage of that. Any other start, from the beginning or
from a snapshot elsewhere, begins the lineage that was drawn for the driver's submission: what an earlier run has marked
as committed then says nothing about this one.

Everything is in the file's name, so a record cannot be torn. The record of the highest driver counts. All of it blocks,
and raises StorageError when storage fails.
"""

from __future__ import annotations

import re
from typing import Final

from headgate.checkpoint import paths
from headgate.checkpoint.drivers.epochs import EpochOwner
from headgate.checkpoint.store import CheckpointStore
from headgate.ids import Lineage

_NAME: Final = re.compile(r"([0-9]+)-([0-9a-z]*)-([0-9]+)-([0-9a-f]{32})")


def read_lineage(store: CheckpointStore) -> Lineage | None:
    """Return the lineage that the folder's drivers have written under last, None for none."""
    recorded = _recorded(store)
    return recorded[max(recorded)] if recorded else None


def record_lineage(store: CheckpointStore, own: EpochOwner, lineage: Lineage) -> None:
    """Record the lineage that `own` begins. The lease has to be looked at before anything is written under it."""
    store.write(_path(own, lineage), [b""])


def earlier_records(store: CheckpointStore) -> list[str]:
    """Return the files of all records but the one that counts."""
    recorded = _recorded(store)
    newest = max(recorded, default=None)
    return [_path(owner, lineage) for owner, lineage in recorded.items() if owner != newest]


def _recorded(store: CheckpointStore) -> dict[EpochOwner, Lineage]:
    names = (_NAME.fullmatch(path.rpartition("/")[2]) for path in store.list_files(paths.LINEAGES))
    return {EpochOwner(int(name[1]), name[2]): Lineage(name[4], int(name[3])) for name in names if name is not None}


def _path(owner: EpochOwner, lineage: Lineage) -> str:
    return paths.lineage(str(owner), lineage.began_ms, lineage.digits)
