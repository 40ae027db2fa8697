"""A source of the records of files."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, final

from headgate.connectors.files.byte_stream import codec_of
from headgate.connectors.files.line_reader import FileReader, FileSplit
from headgate.connectors.files.lines import StreamFormat
from headgate.connectors.files.places import FoundFile, Place, list_files
from headgate.errors import ProgramError, SourceError
from headgate.functions.source import Source, SourceContext

_SPLIT_BYTES_MAX: Final = 64 << 20
_SPLIT_BYTES_MIN: Final = 1 << 20


@final
class FileSource(Source[FileSplit]):
    """The records of files: each of `paths` is a file, or a folder of files with all that is below it.

    The set of files is fixed when the job starts; files must not change while it runs. Names that start with "." or "_"
    are left out. Large plain files are read in parts, by several subtasks, so a file's records keep their order only
    when one subtask reads. Files whose names end in .gz, .bz2 or .zst are decompressed, each by one subtask.

    >>> source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), "/data/logs").build()
    """

    def __init__(self, stream_format: StreamFormat, paths: tuple[str, ...]) -> None:
        if not paths:
            raise ProgramError("a file source needs at least one path")
        self._format = stream_format
        self._places = [Place.of(path, SourceError) for path in paths]

    @staticmethod
    def for_record_stream_format(stream_format: StreamFormat, *paths: str) -> FileSourceBuilder:
        """Return a builder of a source that reads the paths in this format."""
        return FileSourceBuilder(stream_format, paths)

    def splits(self, parallelism: int) -> list[FileSplit]:
        files = [file for place in self._places for file in list_files(place, SourceError)]
        total = sum(file.size_bytes for file in files)
        part = min(max(math.ceil(total / parallelism), _SPLIT_BYTES_MIN), _SPLIT_BYTES_MAX)
        return [split for file in files for split in self._cut(file, part)]

    def _cut(self, file: FoundFile, part_bytes: int) -> list[FileSplit]:
        size = file.size_bytes
        if size == 0:
            return []
        if not self._format.is_splittable or codec_of(file.place):
            return [FileSplit(file.place, size, 0, None)]
        starts = range(0, size, part_bytes)
        return [FileSplit(file.place, size, start, min(start + part_bytes, size)) for start in starts]

    def reader(self, context: SourceContext) -> FileReader:
        return FileReader(self._format, context)


@final
@dataclass(frozen=True, slots=True)
class FileSourceBuilder:
    """Builds a `FileSource`."""

    stream_format: StreamFormat
    paths: tuple[str, ...]

    def process_static_file_set(self) -> FileSourceBuilder:
        """Read the files that are there when the job starts, and end. This is the default."""
        return self

    def build(self) -> FileSource:
        """Return the source. Raises ProgramError without a path, SourceError for an unknown file system."""
        return FileSource(self.stream_format, self.paths)
