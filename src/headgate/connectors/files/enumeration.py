"""How a file source cuts files into splits, and who reads which."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import final

from headgate.connectors.files.places import FoundFile


@final
@dataclass(frozen=True, slots=True)
class FileEnumeratorProvider:
    """How large the parts are in which files are read. Make one with the functions of this class.

    >>> enumerator = FileEnumeratorProvider.default_non_splittable_file_enumerator()
    """

    part_bytes_min: int
    part_bytes_max: int

    @staticmethod
    def default_splittable_file_enumerator() -> FileEnumeratorProvider:
        """Return the one that cuts large files, so that several subtasks read them. This is the default."""
        return FileEnumeratorProvider(1 << 20, 64 << 20)

    @staticmethod
    def default_non_splittable_file_enumerator() -> FileEnumeratorProvider:
        """Return the one with which one subtask reads a file of lines from start to end, in order.

        Parquet is read by row groups nevertheless.
        """
        return FileEnumeratorProvider(sys.maxsize, sys.maxsize)

    def part_bytes(self, files: list[FoundFile], parallelism: int) -> int:
        """Return how large parts are that keep all subtasks busy."""
        total = sum(file.size_bytes for file in files)
        return min(max(math.ceil(total / parallelism), self.part_bytes_min), self.part_bytes_max)


@final
@dataclass(frozen=True, slots=True)
class FileSplitAssignerProvider:
    """Who reads which split: subtasks take them in turn, as no host has files of its own."""

    @staticmethod
    def locality_aware_split_assigner() -> FileSplitAssignerProvider:
        """Return the assigner that there is."""
        return FileSplitAssignerProvider()
