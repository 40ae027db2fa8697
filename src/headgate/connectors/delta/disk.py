"""Makes tables on a local file system durable: neither Arrow nor `deltalake` syncs files to the disk.

In an object store every file is durable when it is written.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from headgate.checkpoint import durable
from headgate.connectors.delta.table import LOG, DataFile, TablePlace
from headgate.errors import SinkError
from headgate.functions.sink import RetriableCommitError


def sync_files(place: TablePlace, files: list[DataFile]) -> None:
    """Make data files durable, and the folders of their partitions. Blocks. Raises `SinkError`.

    Missing files are left out: their commit raises the error.
    """
    if not place.is_local:
        return
    try:
        durable.sync_files(f"{place.uri}/{file.path}" for file in files)
        for folder in sorted({folder for file in files for folder in _folders_of(file.path)}):
            durable.sync_folder(f"{place.uri}/{folder}")
    except OSError as error:
        raise SinkError(f"cannot bring files of the Delta table {place} to the disk: {error}") from error


def sync_log(place: TablePlace, after: str) -> str:
    """Make the entries of the table's log after the entry `after` durable. Return the last entry. Blocks.

    A commit is useless without all earlier commits, also of other writers, back to the log's last checkpoint. Raises
    `RetriableCommitError`.
    """
    if not place.is_local:
        return ""
    log = f"{place.uri}/{LOG}"
    try:
        names = sorted(name for name in os.listdir(log) if name.endswith((".json", ".parquet")))
        since = max(after, max((name for name in names if ".checkpoint." in name), default=""))
        durable.sync_files(f"{log}/{name}" for name in names if name >= since)
        durable.sync_folder(log)
        durable.sync_folder(place.uri)
    except OSError as error:
        raise RetriableCommitError(f"cannot bring the log of the Delta table {place} to the disk: {error}") from error
    return names[-1]


def _folders_of(path: str) -> Iterator[str]:
    while path:
        path = path.rpartition("/")[0]
        yield path
