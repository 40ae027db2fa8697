"""What programs say of compaction: it is checked, and files stay as they were written.

A file is committed with the checkpoint after it, whole and for good, so that every checkpoint and savepoint that names
it can be started from. To hold it back and merge it with later ones would need evidence of what was merged into what.
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
        """Ask for compaction after so many checkpoints."""
        _check("the number of checkpoints before compaction", num_checkpoints_before_compaction)
        self._has_trigger = True
        return self

    def set_size_threshold(self, size_threshold: int) -> FileCompactStrategyBuilder:
        """Ask for compaction when files have so many bytes together."""
        _check("the size threshold of compaction", size_threshold)
        self._has_trigger = True
        return self

    def set_num_compact_threads(self, num_compact_threads: int) -> FileCompactStrategyBuilder:
        """Ask for so many threads."""
        _check("the number of compacting threads", num_compact_threads)
        return self

    def build(self) -> FileCompactStrategy:
        """Return the strategy. Raises ProgramError when nothing says when to compact."""
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
    """When files are to be compacted: `FileSinkBuilder.enable_compact` says what becomes of it."""

    Builder = _Builder

    @staticmethod
    def builder() -> _Builder:
        """Return a builder, as in PyFlink."""
        return _Builder()


@final
class FileCompactor:
    """How files are to be compacted."""

    @staticmethod
    def concat_file_compactor(file_delimiter: bytes | None = None) -> FileCompactor:
        """Return the compactor that puts files one after the other."""
        return FileCompactor()

    @staticmethod
    def identical_file_compactor() -> FileCompactor:
        """Return the compactor that leaves files as they are."""
        return FileCompactor()
