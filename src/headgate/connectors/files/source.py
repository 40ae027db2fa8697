"""A source that reads files, and the enumerators that cut files into splits."""

from __future__ import annotations

import logging
import math
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, final

from headgate.connectors.files.bulk_format import BulkFormat, RecordFormat
from headgate.connectors.files.file_errors import FileErrors, given
from headgate.connectors.files.known_files import KnownFiles
from headgate.connectors.files.line_reader import LineSplits
from headgate.connectors.files.places import FoundFile, PartOfFile, Place, list_files, list_stamped_files, name_of
from headgate.connectors.files.skipping_reader import SkippingReader, UncutFile
from headgate.connectors.files.stream_format import StreamFormat
from headgate.errors import ProgramError, SourceError
from headgate.functions.source import Source, SourceContext, SourceReader
from headgate.types.instant import Duration

_log = logging.getLogger(__name__)


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


@final
class FileSource(Source[PartOfFile]):
    """The records of files: each of `paths` is a file, or a folder of files with all that is below it.

    The set of files is fixed when the job starts, or new files are discovered while it runs. Files must not change.
    Names that start with "." or "_" are left out. Several subtasks read a large file in parts, so its records keep
    their order only when one subtask reads.

    >>> source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), "/data/logs").build()
    """

    one_split_at_a_time = True

    def __init__(
        self,
        bulk_format: BulkFormat[Any],
        paths: tuple[str, ...],
        enumerator: FileEnumeratorProvider,
        discovery_interval_ms: int | None = None,
        errors: FileErrors | None = None,
    ) -> None:
        if not paths:
            raise ProgramError("a file source needs at least one path")
        self._format = bulk_format
        self._enumerator = enumerator
        self.produced_type = bulk_format.produced_type
        self._places = [Place.of(path, SourceError) for path in paths]
        self.discovery_interval_ms = discovery_interval_ms
        self.bounded = discovery_interval_ms is None
        self._errors = FileErrors.fail() if errors is None else errors
        self.failed_tag = self._errors.tag
        self._told: set[str] = set()

    @staticmethod
    def for_record_stream_format(stream_format: StreamFormat | RecordFormat[Any], *paths: str) -> FileSourceBuilder:
        """Return a builder of a source that reads files of lines. A file name with a known suffix is decompressed.

        The suffixes are in docs/guides/files.md. It also takes PyFlink's record formats for files that are not lines.
        """
        if isinstance(stream_format, RecordFormat):
            return FileSourceBuilder(stream_format, paths)
        _check_format(stream_format, StreamFormat)
        return FileSourceBuilder(LineSplits(stream_format), paths)

    @staticmethod
    def for_bulk_file_format(bulk_format: BulkFormat[Any], *paths: str) -> FileSourceBuilder:
        """Return a builder of a source that reads bulk files, such as Parquet."""
        _check_format(bulk_format, BulkFormat)
        return FileSourceBuilder(bulk_format, paths)

    def splits(self, parallelism: int) -> list[PartOfFile]:
        files = self._files()
        enumerator = self._enumerator
        # A later discovery must cut a file into the same parts, whatever other files exist.
        part_bytes = enumerator.part_bytes(files, parallelism) if self.bounded else enumerator.part_bytes_max
        return self._cut_or_skip(files, part_bytes) if self._errors.skips else self._format.cut(files, part_bytes)

    def _cut_or_skip(self, files: list[FoundFile], part_bytes: int) -> list[Any]:
        """Return the parts of all files. A file that cannot be cut becomes an `UncutFile`, which the reader reports."""
        if not self.bounded:
            return self._cut_what_can_be_read(files)  # the next discovery tries the other files again
        good, bad = self._sorted_out(files, part_bytes)
        return [*self._format.cut(good, part_bytes), *bad]

    def _files(self) -> list[FoundFile]:
        return [file for place in self._places for file in self._list(place)]

    def _list(self, place: Place) -> list[FoundFile]:
        found = list_files(place, SourceError) if self.bounded else list_stamped_files(place, SourceError)
        if not found and self.bounded:
            raise SourceError(
                f"there is no file to read in the folder {str(place)!r} (names with '.' or '_' first are ignored)"
            )
        return found

    def discover(self, known: frozenset[str]) -> list[PartOfFile]:
        """Return the unknown parts, except parts of a file that was found before in another version or other parts.

        A moved file is recognized by its version, which is size, modification time and number.
        """
        seen = KnownFiles(known)
        files = seen.as_known(self._files())
        # Known files come first: the first file sets the columns that all other files must have.
        unchanged = sorted(files.unchanged, key=lambda file: not seen.has_path(file))
        parts = {self.split_id(part): part for part in self._cut_what_can_be_read(unchanged)}
        other = {_file_of(split_id) for split_id in known if split_id not in parts}
        for file in sorted({*files.changed, *(set(map(_file_of, parts)) & other)}):
            self._tell(f"{file!r} has changed since it was found: what is new in it is not read")
        return [part for name, part in parts.items() if name not in known and _file_of(name) not in other]

    def _cut_what_can_be_read(self, files: list[FoundFile]) -> list[PartOfFile]:
        """Return the parts of the readable files. Files that do not match the first of them are left out and logged."""
        try:
            return self._format.cut(files, self._enumerator.part_bytes_max)
        except SourceError:
            good, bad = self._sorted_out(files, self._enumerator.part_bytes_max)
            for file in bad:
                self._tell(f"left out, and tried again: {file.error}")
            return self._format.cut(good, self._enumerator.part_bytes_max)

    def _sorted_out(self, files: list[FoundFile], part_bytes: int) -> tuple[list[FoundFile], list[UncutFile]]:
        """Return the files that can be cut, and the other files with their errors."""
        good: list[FoundFile] = []
        bad: list[UncutFile] = []
        for file in files:
            try:
                self._format.cut([*good[:1], file], part_bytes)
            except SourceError as error:
                bad.append(UncutFile(file.place, file.size_bytes, str(error), file.stamp))
            else:
                good.append(file)
        return good, bad

    def _tell(self, trouble: str) -> None:
        """Log a problem, only the first time."""
        if trouble not in self._told:
            self._told.add(trouble)
            _log.warning("%s", trouble)

    def split_id(self, split: PartOfFile) -> str:
        return name_of(split)

    def reader(self, context: SourceContext) -> SourceReader[PartOfFile]:
        return (
            SkippingReader(self._format, self._errors, context) if self._errors.skips else self._format.reader(context)
        )


class InputFormat(ABC):
    """Files and their format in one object, for `env.create_input()`."""

    @abstractmethod
    def source(self) -> FileSource:
        """Return the source of the records."""


def _check_format(value: object, kind: type) -> None:
    if not isinstance(value, kind):
        raise ProgramError(
            f"{value!r:.100} is no {kind.__name__}: for_record_stream_format() takes formats of lines, such as "
            "StreamFormat.csv_format(), for_bulk_file_format() takes BulkFormat.parquet_format()"
        )


def _file_of(split_id: str) -> str:
    """Return the file that a split is part of."""
    return split_id.rsplit("#", 2)[0]


@final
@dataclass(slots=True)
class FileSourceBuilder:
    """Builds a `FileSource`."""

    bulk_format: BulkFormat[Any]
    paths: tuple[str, ...]
    enumerator: FileEnumeratorProvider = field(
        default_factory=FileEnumeratorProvider.default_splittable_file_enumerator
    )
    discovery_interval_ms: int | None = None
    errors: FileErrors = field(default_factory=FileErrors.fail)

    def on_error(self, errors: FileErrors) -> FileSourceBuilder:
        """Set what to do with a file that cannot be read. By default it fails the job.

        >>> lines = FileSource.for_record_stream_format(StreamFormat.text_line_format(), "/data/logs")
        >>> source = lines.on_error(FileErrors.skip()).build()
        """
        self.errors = given("on_error", errors, FileErrors)
        return self

    def process_static_file_set(self) -> FileSourceBuilder:
        """Read the files that are there when the job starts, and end. This is the default."""
        self.discovery_interval_ms = None
        return self

    def monitor_continuously(self, discovery_interval: Duration) -> FileSourceBuilder:
        """Look for new files at this interval until the job is stopped.

        A file must be complete when it appears: write it under a hidden name or elsewhere, then rename it.
        """
        if not isinstance(discovery_interval, Duration):
            raise ProgramError(
                f"monitor_continuously() takes a Duration, such as Duration.of_seconds(5), not {discovery_interval!r}"
            )
        self.discovery_interval_ms = discovery_interval.to_millis()
        if self.discovery_interval_ms <= 0:
            raise ProgramError(f"files cannot be discovered every {discovery_interval}; give a millisecond or more")
        return self

    def set_file_enumerator(self, file_enumerator: FileEnumeratorProvider) -> FileSourceBuilder:
        """Set whether several subtasks read a large file in parts. By default they do."""
        self.enumerator = given("set_file_enumerator", file_enumerator, FileEnumeratorProvider)
        return self

    def set_split_assigner(self, split_assigner: FileSplitAssignerProvider) -> FileSourceBuilder:
        """Change nothing: no host has files of its own."""
        given("set_split_assigner", split_assigner, FileSplitAssignerProvider)
        return self

    def build(self) -> FileSource:
        """Return the source. Raises ProgramError without a path, SourceError for an unknown file system."""
        return FileSource(self.bulk_format, self.paths, self.enumerator, self.discovery_interval_ms, self.errors)
