"""Numbered batches in storage, and their splits.

A batch of a query is stored in `<folder>/<query>/<batch>-<nonce>/` as Parquet, and each row group is a split. A batch
without rows is a split with nothing to read, because state has to know every batch. The id of a split is the end of its
path, so a snapshot tells the query and batch of each split.
"""

from __future__ import annotations

import logging
import re
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, final

from pyarrow import fs

from headgate.checkpoint.paths import below, split
from headgate.connectors.files.bulk_format import ParquetFormat
from headgate.connectors.files.parquet_source import RowGroupSplit
from headgate.connectors.files.places import Place, list_files
from headgate.connectors.micro_batches.protocol import QueryPosition, position_of
from headgate.errors import SourceError
from headgate.functions.acknowledging import SourceProgress

_log = logging.getLogger(__name__)
_PART_BYTES = 16 << 20
_BATCH_FOLDER: Final = re.compile(r"([0-9]+)-[0-9a-f]{8}")


@final
@dataclass(frozen=True, slots=True)
class EmptyBatch:
    """A batch without rows: `place` is its folder."""

    place: Place


BatchSplit = RowGroupSplit | EmptyBatch


def new_folder(folder: str, query: str, batch: int) -> str:
    """Return a new location for the batch, below the folder of all batches."""
    return below(folder, f"{query}/{batch}-{uuid.uuid4().hex[:8]}")


def cut(folder: Place) -> list[BatchSplit]:
    """Return the splits of the batch in this folder, at least one. Blocks. Raises SourceError."""
    return [*ParquetFormat().cut(list_files(folder, SourceError), _PART_BYTES)] or [EmptyBatch(folder)]


def id_of(split: BatchSplit) -> str:
    """Return `<query>/<batch>-<nonce>`, and for a row group its file and number."""
    if isinstance(split, EmptyBatch):
        return "/".join(split.place.path.rstrip("/").split("/")[-2:])
    return "/".join([*split.place.path.split("/")[-3:], split.part])


def batch_of(split_id: str) -> tuple[str, int]:
    """Return the query and the batch of a split."""
    query, batch = split_id.split("/")[:2]
    return query, int(batch.partition("-")[0])


def newest(ids: Iterable[str]) -> list[str]:
    """Return the ids of the newest batch's splits. Batches come in order, so these ids imply all earlier batches."""
    by_batch: dict[int, list[str]] = {}
    for split_id in ids:
        by_batch.setdefault(batch_of(split_id)[1], []).append(split_id)
    return by_batch[max(by_batch)] if by_batch else []


def position(progress: SourceProgress[BatchSplit]) -> QueryPosition:
    """Return a snapshot's position in the batches. Raises RestoreError for batches of several queries."""
    return position_of(map(batch_of, progress.known), [batch_of(id_of(split)) for split in progress.unfinished])


def drop(folder: Place, batch: int) -> None:
    """Delete all batches up to this one, of all queries in the folder. Log errors. Blocks."""
    try:
        for query in _folders(folder):
            for place in _folders(query):
                found = _BATCH_FOLDER.fullmatch(split(place.path)[1])
                if found is not None and int(found[1]) <= batch:
                    place.system.delete_dir(place.path)
    except OSError as error:
        _log.warning("batches that nothing needs any more could not be deleted from %s: %s", folder, error)


def _folders(place: Place) -> list[Place]:
    infos = place.system.get_file_info(fs.FileSelector(place.path, allow_not_found=True))
    return [place.child(info.base_name) for info in infos if not info.is_file]
