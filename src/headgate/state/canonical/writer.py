"""Writes entries of keyed state to a Parquet file for each state, piece by piece."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, final

import pyarrow as pa
import pyarrow.parquet as pq

from headgate.errors import SerializationError, StorageError
from headgate.state.canonical.layout import (
    KEY,
    KEY_GROUP,
    LAST_ACCESS,
    NAMESPACE,
    VALUE,
    ColumnPair,
    TableFacts,
    file_name,
    value_type,
)
from headgate.state.canonical.observed_types import observed_type
from headgate.state.formats.schema import StateMeta
from headgate.state.formats.snapshot import Entry
from headgate.state.keyed.cells import namespace_of, plain_key

ROWS_MAX: Final = 4096
"""Rows of a row group."""
_WEIGHT_MAX: Final = 2**20
"""The approximate number of characters and items in memory. Only a single key may exceed it."""


def write_canonical(states: Sequence[StateMeta], entries: Iterable[Entry], folder: Path) -> list[Path]:
    """Write a file for each state that has values into an existing folder, and return the files. Blocks.

    `entries` are the entries of a whole snapshot: each key once, with a value or None for each of `states`. A few
    thousand entries are in memory at a time. Raises `SerializationError` that names the state, and `StorageError` that
    names the file.
    """
    with ExitStack() as files:
        tables = [files.enter_context(CanonicalTable(meta, folder / file_name(meta.name))) for meta in states]
        for group, key, *values in entries:
            for table, value in zip(tables, values, strict=False):
                if value is not None:
                    table.add(group, key, value)
        for table in tables:
            table.flush()
    return [table.path for table in tables if table.is_begun]


@final
class CanonicalTable:
    """The file of one state while it is written. The first rows determine the types of its columns.

    A context manager: leaving it completes the file.
    """

    def __init__(self, meta: StateMeta, path: Path) -> None:
        self.path = path
        self._meta = meta
        self._rows: list[tuple[int, Any, Any]] = []
        self._weight = 0
        self._table: _Table | None = None

    def __enter__(self) -> CanonicalTable:
        return self

    def __exit__(self, *_: object) -> None:
        if self._table is not None:
            self._table.close()

    @property
    def is_begun(self) -> bool:
        """Whether there is a file, because there was a row to write."""
        return self._table is not None

    def add(self, group: int, key: Any, stored: Any) -> None:
        """Add the stored content of a key. `key` is the key of a cell, which may have a namespace."""
        self._rows.append((group, key, stored))
        self._weight += len(stored) if isinstance(stored, (str, bytes, list, dict)) else 1
        if len(self._rows) >= ROWS_MAX or self._weight >= _WEIGHT_MAX:
            self.flush()

    def flush(self) -> None:
        """Write the added rows."""
        if not self._rows:
            return
        rows, self._rows, self._weight = self._rows, [], 0
        parts = [self._meta.form.split(stored, ttl=self._meta.ttl) for _, _, stored in rows]
        if self._table is None:
            self._table = _Table(self._facts(rows, [part[1] for part in parts if part is not None]), self.path)
        try:
            self._table.write(rows, parts)
        except SerializationError as error:
            raise SerializationError(f"state {self._meta.name!r}: {error}") from error

    def _facts(self, rows: list[tuple[int, Any, Any]], values: list[Any]) -> TableFacts:
        namespaces = [namespace for _, key, _ in rows if (namespace := namespace_of(key)) is not None]
        return TableFacts(
            self._meta,
            observed_type(plain_key(key) for _, key, _ in rows),
            observed_type(namespaces) if namespaces else None,
            value_type(self._meta, values),
        )


@final
class _Table:
    """The file and its columns."""

    def __init__(self, facts: TableFacts, path: Path) -> None:
        self._facts = facts
        self._path = path
        self._key = ColumnPair(KEY, facts.key)
        self._namespace = None if facts.namespace is None else ColumnPair(NAMESPACE, facts.namespace)
        self._value = ColumnPair(VALUE, facts.value)
        namespace = None if self._namespace is None else self._namespace.codec
        self._schema = facts.schema(self._key.codec, namespace, self._value.codec)
        try:
            self._file = pq.ParquetWriter(path, self._schema, write_page_checksum=True)
        except OSError as error:
            raise self._failed(error) from error

    def write(self, rows: list[tuple[int, Any, Any]], parts: list[tuple[Any, Any] | None]) -> None:
        """Write rows as a row group. `parts` are their contents, split into times and values.

        Raises `SerializationError`.
        """
        for (_, key, stored), part in zip(rows, parts, strict=True):
            self._add_key(key)
            if part is None:
                self._value.add_pickled(None, stored)
            else:
                self._value.add(part[1], stored)
        columns = {KEY_GROUP: pa.array([group for group, _, _ in rows], type=pa.int32())}
        columns |= self._key.take()
        columns |= {} if self._namespace is None else self._namespace.take()
        if self._facts.meta.ttl:
            times = [None if part is None else part[0] for part in parts]
            columns[LAST_ACCESS] = pa.array(times, type=self._schema.field(LAST_ACCESS).type)
        columns |= self._value.take()
        try:
            self._file.write_table(pa.table(columns, schema=self._schema), row_group_size=len(rows))
        except OSError as error:
            raise self._failed(error) from error

    def _add_key(self, key: Any) -> None:
        namespace = namespace_of(key)
        if self._namespace is None and namespace is not None:
            self._key.add_pickled(plain_key(key), key)
            return
        self._key.add(plain_key(key), plain_key(key))
        if self._namespace is not None:
            self._namespace.add(namespace, namespace)

    def close(self) -> None:
        """Complete the file."""
        try:
            self._file.close()
        except OSError as error:
            raise self._failed(error) from error

    def _failed(self, error: OSError) -> StorageError:
        return StorageError(f"cannot write {self._path}: {error}; check that its disk has room")
