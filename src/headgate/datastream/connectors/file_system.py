"""Files as sources and sinks, under PyFlink's names, with CSV and the treatment of broken lines besides."""

from __future__ import annotations

from headgate import unsupported
from headgate.connectors.csv_lines import CsvOptions
from headgate.connectors.encoders import Encoder
from headgate.connectors.file_sink import FileSink, RollingPolicy
from headgate.connectors.file_source import FileSource, FileSourceBuilder
from headgate.connectors.lines import BrokenLines, StreamFormat
from headgate.connectors.part_files import OutputFileConfig

__all__ = [
    "BrokenLines",
    "CsvOptions",
    "Encoder",
    "FileSink",
    "FileSource",
    "FileSourceBuilder",
    "OutputFileConfig",
    "RollingPolicy",
    "StreamFormat",
]

unsupported.guard(__name__, globals())
