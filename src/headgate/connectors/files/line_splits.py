"""How files of lines are cut: by ranges of bytes, where every newline ends a record."""

from __future__ import annotations

from typing import final

from headgate.connectors.files.bulk_format import BulkFormat
from headgate.connectors.files.byte_stream import is_compressed
from headgate.connectors.files.line_reader import FileReader, FileSplit
from headgate.connectors.files.places import FoundFile
from headgate.connectors.files.stream_format import StreamFormat
from headgate.functions.source import SourceContext


@final
class LineSplits(BulkFormat[FileSplit]):
    """Files of lines. What is compressed, or has newlines within records, is one split."""

    def __init__(self, stream_format: StreamFormat) -> None:
        self._format = stream_format
        self.produced_type = stream_format.produced_type

    def cut(self, files: list[FoundFile], part_bytes: int) -> list[FileSplit]:
        return [split for file in files for split in self._cut(file, part_bytes)]

    def _cut(self, file: FoundFile, part_bytes: int) -> list[FileSplit]:
        size = file.size_bytes
        if size == 0:
            return []
        if not self._format.is_splittable or is_compressed(file.place):
            return [FileSplit(file.place, size, 0, None, file.stamp)]
        starts = range(0, size, part_bytes)
        return [FileSplit(file.place, size, start, min(start + part_bytes, size), file.stamp) for start in starts]

    def reader(self, context: SourceContext) -> FileReader:
        return FileReader(self._format, context)
