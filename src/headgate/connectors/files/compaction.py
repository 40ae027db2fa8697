"""The settings of compaction. They are checked and have no effect: files stay as they were written.

A file is committed with the next checkpoint and never changes, so a job can start from every checkpoint and savepoint
that names the file. To merge it with later files, a snapshot would have to record which files were merged.
"""

from __future__ import annotations

from typing import final

from headgate.errors import ProgramError


@final
class FileCompactStrategyBuilder:
    """Builds a `FileCompactStrategy`. Its methods raise ProgramError for a number below 1."""

    def __init__(self) -> None:
        self._has_trigger = False

    def enable_compaction_on_checkpoint(self, num_checkpoints_before_compaction: int) -> FileCompactStrategyBuilder:
        """Set the number of checkpoints before a compaction."""
        _check("the number of checkpoints before compaction", num_checkpoints_before_compaction)
        self._has_trigger = True
        return self

    def set_size_threshold(self, size_threshold: int) -> FileCompactStrategyBuilder:
        """Set the total size of files, in bytes, before a compaction."""
        _check("the size threshold of compaction", size_threshold)
        self._has_trigger = True
        return self

    def set_num_compact_threads(self, num_compact_threads: int) -> FileCompactStrategyBuilder:
        """Set the number of compaction threads."""
        _check("the number of compacting threads", num_compact_threads)
        return self

    def build(self) -> FileCompactStrategy:
        """Return the strategy. Raises ProgramError unless a number of checkpoints or a size is set."""
        if not self._has_trigger:
            raise ProgramError(
                "a FileCompactStrategy needs enable_compaction_on_checkpoint(n) or set_size_threshold(bytes)"
            )
        return FileCompactStrategy()


def _check(what: str, number: object) -> None:
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise ProgramError(f"{what} must be a whole number of at least 1, not {number!r}")


_Builder = FileCompactStrategyBuilder


@final
class FileCompactStrategy:
    """When files would be compacted. It has no effect: see `FileSinkBuilder.enable_compact`."""

    Builder = _Builder

    @staticmethod
    def builder() -> _Builder:
        """Return a builder, as in PyFlink."""
        return _Builder()


@final
class FileCompactor:
    """A strategy for compaction. It has no effect: see `FileSinkBuilder.enable_compact`."""

    @staticmethod
    def concat_file_compactor(file_delimiter: bytes | None = None) -> FileCompactor:
        """Return the compactor that concatenates files."""
        return FileCompactor()

    @staticmethod
    def identical_file_compactor() -> FileCompactor:
        """Return the compactor that leaves files as they are."""
        return FileCompactor()
