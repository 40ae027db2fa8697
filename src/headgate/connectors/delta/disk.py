"""Tables on a local file system, made durable: neither Arrow nor `deltalake` syncs what it writes.

In an object store everything is durable when it is written.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from headgate.checkpoint import durable
from headgate.connectors.delta.table import LOG, DataFile, TablePlace
from headgate.errors import SinkError
from headgate.functions.sink import RetriableCommitError


def sync_files(place: TablePlace, files: list[DataFile]) -> None:
    """Make data files durable, and the folders of their partitions; blocks. Raises `SinkError`.

    Those that are not there are left out: their commit says so.
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
    """Make durable what the log of the table has behind the entry `after`; return its last one; blocks.

    A commit is of use only with all those before it, which others may have made, back to the log's last checkpoint.
    Raises `RetriableCommitError`.
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
