"""Files as sources and sinks, under PyFlink's names. JSON, custom formats and partition columns are extensions."""

from __future__ import annotations

from headgate import unsupported
from headgate.connectors.files.buckets import BucketAssigner
from headgate.connectors.files.bulk_format import BulkFormat
from headgate.connectors.files.bulk_writer import BulkWriter, BulkWriterFactory
from headgate.connectors.files.compaction import FileCompactor, FileCompactStrategy
from headgate.connectors.files.csv_lines import CsvOptions
from headgate.connectors.files.encoders import Encoder
from headgate.connectors.files.file_errors import FailedFile, FileErrors, UnreadableFileError
from headgate.connectors.files.lines import BrokenLines
from headgate.connectors.files.part_names import OutputFileConfig
from headgate.connectors.files.rolling import DefaultRollingPolicy, OnCheckpointRollingPolicy, RollingPolicy
from headgate.connectors.files.sink import FileSink, FileSinkBuilder
from headgate.connectors.files.source import (
    FileEnumeratorProvider,
    FileSource,
    FileSourceBuilder,
    FileSplitAssignerProvider,
)
from headgate.connectors.files.stream_format import StreamFormat

__all__ = [
    "BrokenLines",
    "BucketAssigner",
    "BulkFormat",
    "BulkWriter",
    "BulkWriterFactory",
    "CsvOptions",
    "DefaultRollingPolicy",
    "Encoder",
    "FailedFile",
    "FileCompactStrategy",
    "FileCompactor",
    "FileEnumeratorProvider",
    "FileErrors",
    "FileSink",
    "FileSinkBuilder",
    "FileSource",
    "FileSourceBuilder",
    "FileSplitAssignerProvider",
    "OnCheckpointRollingPolicy",
    "OutputFileConfig",
    "RollingPolicy",
    "StreamFormat",
    "StreamingFileSink",
    "UnreadableFileError",
]

StreamingFileSink = FileSink
"""Older name of FileSink, for `add_sink`."""

unsupported.guard(__name__, globals())
