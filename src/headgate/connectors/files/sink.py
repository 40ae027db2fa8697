"""A sink that writes each record to files exactly once."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from typing import final

from headgate.checkpoint.file_store import without_secret
from headgate.clock import Clock, SystemClock
from headgate.connectors.files.buckets import BucketAssigner
from headgate.connectors.files.bulk_writer import BulkWriterFactory, RowWriterFactory
from headgate.connectors.files.compaction import FileCompactor, FileCompactStrategy
from headgate.connectors.files.encoders import Encoder
from headgate.connectors.files.file_errors import given
from headgate.connectors.files.owner import claim, give_up
from headgate.connectors.files.part_files import PartCommitter, PartFile, PartFolder, delete
from headgate.connectors.files.part_names import OutputFileConfig
from headgate.connectors.files.part_writer import PartSettings, PartWriter
from headgate.connectors.files.places import Place
from headgate.connectors.files.rolling import RollingPolicy
from headgate.errors import ProgramError, SinkError
from headgate.functions.sink import Sink, SinkContext, SinkIdentity
from headgate.types.type_information import TypeInformation

_log = logging.getLogger(__name__)


@final
@dataclass(slots=True)
class FileSinkBuilder:
    """Builds a `FileSink`. Each setting changes the builder and returns it, as in PyFlink."""

    base_path: str
    writers: BulkWriterFactory
    rolling_policy: RollingPolicy
    bucket_assigner: BucketAssigner = field(default_factory=BucketAssigner.date_time_bucket_assigner)
    output_file_config: OutputFileConfig | None = None
    clock: Clock = field(default_factory=SystemClock)

    def with_rolling_policy(self, rolling_policy: RollingPolicy) -> FileSinkBuilder:
        """Set when the next file begins."""
        self.rolling_policy = rolling_policy
        return self

    def with_bucket_assigner(self, bucket_assigner: BucketAssigner) -> FileSinkBuilder:
        """Set the folder below the base path that each record goes to. The default is a folder for each hour."""
        self.bucket_assigner = bucket_assigner
        return self

    def with_bucket_check_interval(self, interval: int) -> FileSinkBuilder:
        """Change nothing: the rolling policy is checked whenever records come, with the same files as the result."""
        return self

    def with_output_file_config(self, output_file_config: OutputFileConfig) -> FileSinkBuilder:
        """Set the prefix and suffix of file names. The defaults are "part" and the format's suffix."""
        self.output_file_config = output_file_config
        return self

    def enable_compact(self, strategy: FileCompactStrategy, compactor: FileCompactor) -> FileSinkBuilder:
        """Log that files are not compacted: each file is committed with the next checkpoint, as it was written."""
        given("enable_compact", strategy, FileCompactStrategy)
        given("enable_compact", compactor, FileCompactor)
        _log.warning(
            "files in %s are not compacted, though enable_compact() asks for it: set a longer checkpoint interval for "
            "larger files, or compact them with a job of its own",
            without_secret(self.base_path),
        )
        return self

    def disable_compact(self) -> FileSinkBuilder:
        """Change nothing: files are never compacted."""
        return self

    def build(self) -> FileSink:
        """Return the sink. Raises SinkError for an unknown file system."""
        names = self.output_file_config or OutputFileConfig(part_suffix=self.writers.suffix)
        settings = PartSettings(
            folder=PartFolder(Place.of(self.base_path, SinkError), names),
            writers=self.writers,
            rolling=self.rolling_policy,
            buckets=self.bucket_assigner,
            clock=self.clock,
        )
        return FileSink(settings)


@final
class FileSink(Sink[PartFile]):
    """Files in a folder, or in folders below it. Readers see whole files only, and each record once, whatever fails.

    The folder must be the same for all hosts, and one live job at a time writes to it. A file becomes visible when the
    next checkpoint is complete, so the checkpoint interval limits the delay and the size of files. Files of earlier
    runs stay as they are.

    >>> sink = FileSink.for_row_format("/data/alerts", Encoder.json_lines_encoder()).build()
    """

    BaseBuilder = RowFormatBuilder = BulkFormatBuilder = FileSinkBuilder
    DefaultRowFormatBuilder = DefaultBulkFormatBuilder = FileSinkBuilder

    def __init__(self, settings: PartSettings) -> None:
        self._settings = settings
        self._folder = settings.folder

    @staticmethod
    def for_row_format(base_path: str, encoder: Encoder) -> FileSinkBuilder:
        """Return a builder of a sink that encodes records into files in `base_path`, a local path or a URI."""
        _check_kind(encoder, Encoder)
        return FileSinkBuilder(base_path, RowWriterFactory(encoder), RollingPolicy.default_rolling_policy())

    @staticmethod
    def for_bulk_format(base_path: str, writer_factory: BulkWriterFactory) -> FileSinkBuilder:
        """Return a builder of a sink of bulk files, such as Parquet, in `base_path`, a local path or a URI."""
        _check_kind(writer_factory, BulkWriterFactory)
        return FileSinkBuilder(base_path, writer_factory, RollingPolicy.on_checkpoint_rolling_policy())

    def of_type(self, record_type: TypeInformation) -> FileSink:
        return FileSink(replace(self._settings, writers=self._settings.writers.of_type(record_type)))

    def prepare(self, identity: SinkIdentity) -> None:
        claim(self._folder.place, identity)

    def give_up(self, identity: SinkIdentity, savepoints: frozenset[str]) -> None:
        self._folder.give_up(savepoints)

    def discard(self, identity: SinkIdentity) -> None:
        for leftover in self._folder.pending(self._folder.stem(identity)):
            delete(leftover)

    def release(self, identity: SinkIdentity) -> None:
        give_up(self._folder.place, identity)

    def writer(self, context: SinkContext) -> PartWriter:
        return PartWriter(self._settings, context)

    def committer(self, context: SinkContext) -> PartCommitter:
        return PartCommitter(self._folder, context)


def _check_kind(value: object, kind: type) -> None:
    if not isinstance(value, kind):
        raise ProgramError(
            f"{value!r:.100} is no {kind.__name__}: for_row_format() takes an Encoder, such as "
            "Encoder.json_lines_encoder(), for_bulk_format() takes BulkWriterFactory.parquet_writer(schema)"
        )
