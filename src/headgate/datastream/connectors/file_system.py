"""Files as sources and sinks, under PyFlink's names, with CSV and the treatment of broken lines besides."""

from __future__ import annotations

from headgate import unsupported
from headgate.connectors.files.csv_lines import CsvOptions
from headgate.connectors.files.encoders import Encoder
from headgate.connectors.files.lines import BrokenLines, StreamFormat
from headgate.connectors.files.part_files import OutputFileConfig
from headgate.connectors.files.sink import FileSink, RollingPolicy
from headgate.connectors.files.source import FileSource, FileSourceBuilder

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
