"""The database: RocksDB as sorted rows of bytes. No other module imports `rocksdict`.

Writes are collected and take effect before the next read. There is no write-ahead log: a checkpoint restores what a
crash loses. Only the loop uses the database, except that I/O threads may call `checkpoint` and read views.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

from headgate.errors import DamagedFileError, StorageError, missing_extra

try:
    import rocksdict
except ImportError as error:
    raise missing_extra("state.backend.type: rocksdb", "rocksdb", error) from error

_PENDING_MAX: Final = 8192
_SORTED_RUNS: Final = 12

Row = tuple[bytes, bytes]


@final
@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes of memory for rows that are not on disk yet, and for blocks read from disk."""

    write_buffer_bytes: int
    block_cache_bytes: int


@final
class View:
    """The rows at one moment. I/O threads may read it.

    It consists of iterators, which do not see later writes. A snapshot of `rocksdict` is no alternative: its iterators
    read the newest rows.
    """

    def __init__(self, iterators: list[Any]) -> None:
        self._free = iterators

    def rows(self, first: bytes, end: bytes) -> Iterator[Row]:
        """Yield the rows from `first` up to, but not including, `end`, in order. Raises `DamagedFileError`.

        No more iterators may be open at a time than the view was made for.
        """
        iterator = self._free.pop()
        try:
            yield from _rows(iterator, first, end)
        finally:
            self._free.append(iterator)


@final
class RocksDatabase:
    """An open database in its own folder. The folder must be empty or hold the files of a checkpoint.

    Raises `DamagedFileError` if the files are incomplete or damaged.
    """

    def __init__(self, path: Path, memory: Memory) -> None:
        self.path = path
        self._no_log = rocksdict.WriteOptions()
        self._no_log.disable_wal = True  # type: ignore[method-assign,assignment]  # a property, whatever its stub says
        self._batch = rocksdict.WriteBatch(raw_mode=True)
        try:
            self._db = rocksdict.Rdict(str(path), _options(memory))
        except Exception as error:
            raise _failure(error) from error

    def get_many(self, keys: list[bytes]) -> list[bytes | None]:
        """Return the values of these rows, None for a missing row."""
        self.commit()
        try:
            found: list[bytes | None] = self._db.get(keys)  # type: ignore[arg-type,assignment]
        except Exception as error:
            raise _failure(error) from error
        return found

    def get(self, key: bytes) -> bytes | None:
        """Return the value of a row, None if there is no such row."""
        self.commit()
        try:
            return self._db.get(key)
        except Exception as error:
            raise _failure(error) from error

    def rows(self, first: bytes, end: bytes) -> Iterator[Row]:
        """Yield the rows from `first` up to, but not including, `end`, in order, as they are at the call."""
        self.commit()
        options = rocksdict.ReadOptions()
        options.set_iterate_upper_bound(end)
        return _rows(self._db.iter(options), first, end)

    def put(self, key: bytes, value: bytes) -> None:
        """Write a row."""
        self._batch[key] = value
        if len(self._batch) >= _PENDING_MAX:
            self.commit()

    def put_all(self, rows: list[tuple[bytes, bytes | None]]) -> None:
        """Write rows. Delete a row whose value is None."""
        batch = self._batch
        for key, value in rows:
            if value is None:
                del batch[key]
            else:
                batch[key] = value
        self.commit()

    def delete(self, key: bytes) -> None:
        """Delete a row, if it exists."""
        del self._batch[key]

    def delete_range(self, first: bytes, end: bytes) -> None:
        """Delete the rows from `first` up to `end`, not included.

        Reads near them are slower until the next compaction.
        """
        self._batch.delete_range(first, end)

    def commit(self) -> None:
        """Make all writes take effect."""
        if len(self._batch):
            batch, self._batch = self._batch, rocksdict.WriteBatch(raw_mode=True)
            try:
                self._db.write(batch, self._no_log)
            except Exception as error:
                raise _failure(error) from error

    def view(self, iterators: int) -> View:
        """Return the current rows, for `iterators` iterators at a time."""
        self.commit()
        return View([self._db.iter() for _ in range(iterators)])

    def checkpoint(self, path: Path) -> None:
        """Flush all writes that have taken effect to disk, and link the files into a new folder. Blocks."""
        try:
            self._db.flush()
            rocksdict.Checkpoint(self._db).create_checkpoint(str(path))
        except Exception as error:
            raise _failure(error) from error

    def close(self) -> None:
        """Close the database. Its folder can be removed afterwards."""
        self._db.close()


def _rows(iterator: Any, first: bytes, end: bytes) -> Iterator[Row]:
    iterator.seek(first)
    while iterator.valid():
        key = iterator.key()
        if key >= end:
            return
        yield key, iterator.value()
        iterator.next()
    try:
        iterator.status()
    except Exception as error:
        raise _failure(error) from error


def _failure(error: Exception) -> Exception:
    words = " ".join(str(error).split())
    if words.startswith("Corruption"):
        return DamagedFileError(f"RocksDB found a damaged file: {words}; restore another checkpoint")
    return StorageError(f"RocksDB failed: {words}")


def _options(memory: Memory) -> rocksdict.Options:
    """Return options for small files, so that a checkpoint adds little more than the changed data.

    Universal compaction merges files of similar size, so most of the state stays in files that do not change.
    """
    options = rocksdict.Options(raw_mode=True)
    options.create_if_missing(True)
    options.set_write_buffer_size(max(memory.write_buffer_bytes // 2, 64 * 1024))
    options.set_max_write_buffer_number(3)
    options.set_max_background_jobs(2)
    options.set_allow_concurrent_memtable_write(False)
    options.set_compaction_style(rocksdict.DBCompactionStyle.universal())
    options.set_level_zero_file_num_compaction_trigger(_SORTED_RUNS)
    options.set_target_file_size_base(32 * 2**20)
    options.set_compression_type(rocksdict.DBCompressionType.lz4())
    options.set_keep_log_file_num(2)
    options.set_max_log_file_size(2**20)
    options.set_max_manifest_file_size(2**20)
    options.set_stats_dump_period_sec(0)
    options.set_stats_persist_period_sec(0)
    table = rocksdict.BlockBasedOptions()
    table.set_block_cache(rocksdict.Cache(memory.block_cache_bytes))
    table.set_cache_index_and_filter_blocks(True)
    table.set_pin_l0_filter_and_index_blocks_in_cache(True)
    table.set_bloom_filter(10, False)
    table.set_data_block_index_type(rocksdict.DataBlockIndexType.binary_and_hash())
    table.set_format_version(5)
    options.set_block_based_table_factory(table)
    return options
