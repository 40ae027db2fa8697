"""Reads the file of one state as entries, by key groups, piece by piece."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, final

import pyarrow as pa
import pyarrow.parquet as pq

from headgate.errors import DamagedFileError
from headgate.state.canonical.columns import column_codec
from headgate.state.canonical.layout import KEY, KEY_GROUP, LAST_ACCESS, NAMESPACE, VALUE, TableFacts, pickle_of
from headgate.state.formats.snapshot import Entry
from headgate.state.formats.unpickle import loader
from headgate.state.keyed.cells import NAMESPACED
from headgate.types.typeinfo import TypeInformation

_ROWS_AT_ONCE: Final = 1024


@final
class CanonicalFile:
    """The table of one state.

    The values of other states for the same keys are in other files. So a restore sets the column of this state only.
    """

    is_delta: Final = False

    def __init__(self, source: bytes | Path, where: str, moved: Mapping[str, str]) -> None:
        """Open the file. `where` names it in errors; `moved` maps old names of moved classes to new names. Blocks.

        Raises `DamagedFileError`, and `RestoreError` for a version that this release cannot read.
        """
        self.source = source
        self._where = where
        self._load = loader(moved, where)
        with self._whole():
            place = pa.BufferReader(source) if isinstance(source, bytes) else source
            self._file = pq.ParquetFile(place, page_checksum_verification=True)
            schema = self._file.schema_arrow
        self.facts = TableFacts.of_schema(schema, where)
        self.states = [self.facts.meta]
        self.rows: int = self._file.metadata.num_rows
        self.size_bytes = len(source) if isinstance(source, bytes) else source.stat().st_size

    def entries(self, groups: range) -> Iterator[Entry]:
        """Yield `[key group, key, value]` for the keys of these key groups, in the order of the file. Blocks.

        Raises `DamagedFileError`, and `RestoreError` for objects of a missing class.
        """
        key_of = self._decoder(self.facts.key)
        namespace_of = None if self.facts.namespace is None else self._decoder(self.facts.namespace)
        value_of = self._decoder(self.facts.value)
        join, load = self.facts.meta.form.join, self._load
        for batch in self.batches(groups):
            rows = self._lists(batch)
            keys = [key_of(*pair) for pair in _pairs(rows, KEY)]
            if namespace_of is not None:
                namespaces = [namespace_of(*pair) for pair in _pairs(rows, NAMESPACE)]
                keys = list(map(_cell_key, keys, namespaces))
            times = rows.get(LAST_ACCESS) or [None] * len(keys)
            for group, key, time, (shown, exact) in zip(rows[KEY_GROUP], keys, times, _pairs(rows, VALUE), strict=True):
                yield [group, key, join(time, value_of(shown, None)) if exact is None else load(exact)]

    def batches(self, groups: range) -> Iterator[pa.RecordBatch]:
        """Yield the rows of these key groups as stored. Blocks. Raises `DamagedFileError`."""
        row_groups = [number for number in range(self._file.num_row_groups) if self._has_any(number, groups)]
        found = self._file.iter_batches(_ROWS_AT_ONCE, row_groups=row_groups)
        while (batch := self._next(found)) is not None:
            own = [group in groups for group in batch.column(KEY_GROUP).to_pylist()]
            yield batch if all(own) else batch.filter(pa.array(own))

    def _has_any(self, number: int, groups: range) -> bool:
        """Return whether a row group may have rows of these key groups, by its statistics."""
        found = self._file.metadata.row_group(number).column(0).statistics
        if found is None or not found.has_min_max:
            return True
        return bool(found.min < groups.stop and groups.start <= found.max)

    def _next(self, found: Iterator[pa.RecordBatch]) -> pa.RecordBatch | None:
        with self._whole():
            return next(found, None)

    def _lists(self, batch: pa.RecordBatch) -> dict[str, list[Any]]:
        with self._whole():
            return {name: batch.column(name).to_pylist() for name in batch.schema.names}

    def _decoder(self, type_info: TypeInformation) -> Callable[[Any, bytes | None], Any]:
        decode, load = column_codec(type_info, _not_noted).decode, self._load
        return lambda shown, exact: decode(shown) if exact is None else load(exact)

    @contextmanager
    def _whole(self) -> Iterator[None]:
        try:
            yield
        except (OSError, KeyError, ValueError, OverflowError) as error:  # Arrow's errors are ValueErrors, or OSErrors
            raise DamagedFileError(f"{self._where} is damaged or incomplete: {error}") from error


def _pairs(rows: dict[str, list[Any]], name: str) -> Iterator[tuple[Any, bytes | None]]:
    return zip(rows[name], rows[pickle_of(name)], strict=True)


def _cell_key(key: Any, namespace: Any) -> Any:
    return key if namespace is None else (NAMESPACED, key, namespace)


def _not_noted() -> None:
    raise AssertionError("nothing is written")
