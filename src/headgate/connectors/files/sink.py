"""A sink of files of lines, each record in them exactly once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, final

import pyarrow as pa

from headgate.connectors.files.encoders import Encoder
from headgate.connectors.files.part_files import OutputFileConfig, PartFolder, PartSink
from headgate.connectors.files.places import Place
from headgate.errors import ProgramError, SinkError, UnsupportedError

_PART_BYTES: Final = 128 << 20


@final
@dataclass(frozen=True, slots=True)
class RollingPolicy:
    """When the next file begins: at each checkpoint, and between checkpoints when a file reaches `part_bytes_max`."""

    part_bytes_max: int | None

    @staticmethod
    def default_rolling_policy(
        part_size: int = _PART_BYTES, rollover_interval: int | None = None, inactivity_interval: int | None = None
    ) -> RollingPolicy:
        """Return the policy to begin a file at each checkpoint and after `part_size` bytes.

        Raises UnsupportedError for the intervals of PyFlink: a file never stays open beyond a checkpoint.
        """
        if rollover_interval is not None or inactivity_interval is not None:
            raise UnsupportedError(
                "files are rolled at each checkpoint, so rollover_interval and inactivity_interval have no effect; "
                "leave them out and set the checkpoint interval"
            )
        if part_size <= 0:
            raise ProgramError(f"files of {part_size} bytes cannot be written; give a part_size above 0")
        return RollingPolicy(part_size)

    @staticmethod
    def on_checkpoint_rolling_policy() -> RollingPolicy:
        """Return the policy to begin a file at each checkpoint only."""
        return RollingPolicy(None)


@final
class FileSink(PartSink):
    """Files of lines in a folder. Readers see whole files only, and each record once, whatever fails.

    The folder must be the same for all hosts. A file becomes visible when the checkpoint after it is complete, so the
    checkpoint interval is how late and how large files are. Files of earlier runs stay as they are.

    >>> sink = FileSink.for_row_format("/data/alerts", Encoder.json_lines_encoder()).build()
    """

    @staticmethod
    def for_row_format(base_path: str, encoder: Encoder) -> RowFormatBuilder:
        """Return a builder of a sink that writes records with this encoder to the folder, a local path or a URI."""
        return RowFormatBuilder(base_path, encoder)


@final
@dataclass(slots=True)
class RowFormatBuilder:
    """Builds a `FileSink`. Each setting changes the builder and returns it, as in PyFlink."""

    base_path: str
    encoder: Encoder
    rolling_policy: RollingPolicy = RollingPolicy(_PART_BYTES)
    output_file_config: OutputFileConfig | None = None

    def with_rolling_policy(self, rolling_policy: RollingPolicy) -> RowFormatBuilder:
        """Set when the next file begins."""
        self.rolling_policy = rolling_policy
        return self

    def with_output_file_config(self, output_file_config: OutputFileConfig) -> RowFormatBuilder:
        """Set how the names of files begin and end; by default with "part" and the encoder's suffix."""
        self.output_file_config = output_file_config
        return self

    def build(self) -> FileSink:
        """Return the sink. Raises SinkError for an unknown file system."""
        names = self.output_file_config or OutputFileConfig(part_suffix=self.encoder.suffix)
        folder = PartFolder(Place.of(self.base_path, SinkError), names, self.rolling_policy.part_bytes_max)
        return FileSink(folder, RowFormat(self.encoder))


@final
@dataclass(frozen=True, slots=True)
class RowFormat:
    """Part files made of encoded records."""

    row_encoder: Encoder

    def encoder(self, stream: pa.NativeFile) -> RowEncoder:
        """Return the encoder of a new file."""
        return RowEncoder(self.row_encoder, stream)


@final
class RowEncoder:
    """Writes encoded records as they come."""

    def __init__(self, encoder: Encoder, stream: pa.NativeFile) -> None:
        self._encoder = encoder
        self._stream = stream

    def write(self, records: list[Any]) -> None:
        """Take records, in order."""
        self._stream.write(self._encoder.encode(records))

    def finish(self) -> None:
        """Do nothing: everything is written."""
