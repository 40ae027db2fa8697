"""How a file source cuts files into splits, and how splits are assigned to subtasks."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import final

from headgate.connectors.files.places import FoundFile


@final
@dataclass(frozen=True, slots=True)
class FileEnumeratorProvider:
    """The size of the parts into which files are cut. Make one with the functions of this class.

    >>> enumerator = FileEnumeratorProvider.default_non_splittable_file_enumerator()
    """

    part_bytes_min: int
    part_bytes_max: int

    @staticmethod
    def default_splittable_file_enumerator() -> FileEnumeratorProvider:
        """Return the enumerator that cuts large files, so that several subtasks read them. This is the default."""
        return FileEnumeratorProvider(1 << 20, 64 << 20)

    @staticmethod
    def default_non_splittable_file_enumerator() -> FileEnumeratorProvider:
        """Return the enumerator that does not cut files of lines: one subtask reads a file from start to end.

        Parquet files are still cut by row groups.
        """
        return FileEnumeratorProvider(sys.maxsize, sys.maxsize)

    def part_bytes(self, files: list[FoundFile], parallelism: int) -> int:
        """Return the size of parts, in bytes, that keeps all subtasks busy."""
        total = sum(file.size_bytes for file in files)
        return min(max(math.ceil(total / parallelism), self.part_bytes_min), self.part_bytes_max)


@final
@dataclass(frozen=True, slots=True)
class FileSplitAssignerProvider:
    """Assigns splits to subtasks. There is one assigner: subtasks take splits in turn, since files are shared."""

    @staticmethod
    def locality_aware_split_assigner() -> FileSplitAssignerProvider:
        """Return the only assigner. It does not look at hosts, because no host has files of its own."""
        return FileSplitAssignerProvider()
