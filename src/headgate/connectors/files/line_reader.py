"""Reads files of lines block by block, and tracks the byte at which the next record starts.

A split is a range of bytes. A line belongs to the split in which it starts. A reader that starts in the middle of a
file first looks for a newline, beginning one byte before its start. The same code then handles both kinds of starts:
the start of a line, from a snapshot, and the middle of a line, where a file was cut.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, final

from headgate.connectors.files.bulk_format import BulkFormat
from headgate.connectors.files.byte_stream import BLOCK_BYTES, FileByteStream, is_compressed, where_it_is
from headgate.connectors.files.file_errors import UnreadableFileError
from headgate.connectors.files.lines import BYTE_ORDER_MARK, BrokenLine, BrokenLines, Decoded, LineDecoder, check_start
from headgate.connectors.files.places import FoundFile, Place, Stamp, name_of, restore_part
from headgate.connectors.files.stream_format import StreamFormat
from headgate.errors import SourceError
from headgate.functions.source import END_OF_INPUT, Poll, Records, SourceContext, SourceReader

if TYPE_CHECKING:
    import pyarrow as pa

_HEADER_BYTES_MAX: Final = 1 << 20


@final
@dataclass(frozen=True, slots=True)
class FileSplit:
    """The lines of a file that start at byte `start` or later and before byte `end` (None: the end of the file).

    Offsets are after decompression. `size_bytes` is the size of the file on disk when the job started.
    """

    place: Place
    size_bytes: int
    start: int
    end: int | None
    stamp: Stamp | None = None

    def __setstate__(self, state: list[Any]) -> None:
        restore_part(self, state)

    @property
    def part(self) -> str:
        """The end names the part, because the start moves while the part is read."""
        return "" if self.end is None else str(self.end)


@final
class FileReader(SourceReader[FileSplit]):
    """Reads its splits one after the other, a block at a time."""

    def __init__(self, stream_format: StreamFormat, context: SourceContext, block_bytes: int = BLOCK_BYTES) -> None:
        self._format = stream_format
        self._context = context
        self._block_bytes = block_bytes
        self._splits: deque[FileSplit] = deque()
        self._open: OpenSplit | None = None

    def add_splits(self, splits: list[FileSplit]) -> None:
        self._splits.extend(splits)

    def poll(self, records_max: int) -> Poll:
        if self._open is None:
            if not self._splits:
                return END_OF_INPUT
            self._open = OpenSplit(self._format, self._splits[0], self._block_bytes)
            self._splits.popleft()
        split = self._open.name
        records = self._open.take(records_max)
        if records:
            return Records(records, split=split)
        if self._open.is_read:
            self.close()
            return Records([], split=split, ended=True)
        skipped = self._open.load()
        if skipped:
            self._context.count("skipped_lines", skipped)
        return Records(self._open.take(records_max), split=split)

    def snapshot(self) -> list[FileSplit]:
        unread = [] if self._open is None else self._open.unread()
        return [*unread, *self._splits]

    def close(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None


@final
class OpenSplit:
    """A split that is being read: its stream, and the block whose records are returned next."""

    def __init__(self, stream_format: StreamFormat, split: FileSplit, block_bytes: int) -> None:
        place = where_it_is(split, may_grow=split.end is not None)
        header = _read_header(place, stream_format)
        self.name = name_of(split)
        self._split = split
        self._block_bytes = block_bytes
        self._policy = stream_format.broken_lines
        self._decoder = _decoder(stream_format, place, header)
        # The block starts at byte `_at`; the carry, an unfinished line or record, follows it.
        self._at = split.start - 1 if split.start else len(header)
        self._is_at_line = split.start == 0
        self._stream = FileByteStream(place, self._at, None if split.end is None else split.size_bytes)
        self._block = b""
        self._carry = b""
        self._decoded = Decoded([])
        self._taken = 0
        self._is_last = False

    @property
    def is_read(self) -> bool:
        """Whether all records have been taken."""
        return self._is_last and self._taken == len(self._decoded.records)

    def take(self, records_max: int) -> list[Any] | pa.RecordBatch:
        """Return at most `records_max` records of the block."""
        taken, records = self._taken, self._decoded.records
        self._taken = min(taken + records_max, len(records))
        return records[taken : self._taken]

    def unread(self) -> list[FileSplit]:
        """Return a split with the records not yet taken, or none."""
        return [] if self.is_read else [replace(self._split, start=self._position())]

    def _position(self) -> int:
        if not self._is_at_line:
            return self._split.start
        if self._taken == len(self._decoded.records):
            return self._at + len(self._block)
        if self._taken == 0:
            return self._at
        lines_after = self._decoded.lines_after
        lines = self._taken if lines_after is None else lines_after[self._taken - 1]
        return self._at + _offset_of_line(self._block, lines)

    def load(self) -> int:
        """Read the next block, for `take`, and return the number of skipped broken lines.

        The block may have no record: it may be before the split's first line, or within one long line.
        """
        self._at += len(self._block)
        self._block, self._decoded, self._taken = b"", Decoded([]), 0
        if self._stream.skip():
            return 0
        data = self._stream.read(self._block_bytes)
        is_end = not data
        if not self._is_at_line:
            data = self._drop_line(data)
        self._block = self._whole_lines(self._carry + data, is_end)
        self._decode(is_end)
        return self._skip_broken(self._decoded.broken)

    def _drop_line(self, data: bytes) -> bytes:
        """Drop the rest of the line that belongs to the previous split."""
        cut = data.find(b"\n") + 1
        self._is_at_line = cut > 0
        dropped = cut or len(data)
        self._at += dropped
        return data[dropped:]

    def _whole_lines(self, data: bytes, is_end: bool) -> bytes:
        """Keep the unfinished last line for the next block, and drop lines that belong to the next split."""
        cut = len(data) if is_end else data.rfind(b"\n") + 1
        block, self._carry = data[:cut], data[cut:]
        self._is_last = is_end
        end = self._split.end
        if end is None:
            return block
        if self._at >= end:
            self._is_last = True
            return b""
        cut = block.find(b"\n", end - 1 - self._at) + 1
        if not cut:
            return block
        self._is_last = True
        return block[:cut]

    def _decode(self, is_end: bool) -> None:
        block = self._block
        if self._at == 0:
            _check_start(block, self._split.place)
            block = block.removeprefix(BYTE_ORDER_MARK)
        self._decoded = self._decoder.decode(block, is_end)
        if self._decoded.lines_open:
            cut = _offset_of_line(self._block, self._block.count(b"\n") - self._decoded.lines_open)
            self._block, self._carry = self._block[:cut], self._block[cut:] + self._carry

    def _skip_broken(self, broken: list[BrokenLine]) -> int:
        if broken and self._policy is BrokenLines.FAIL:
            raise self._broken(broken[0])
        return len(broken)

    def _broken(self, broken: BrokenLine) -> SourceError:
        offset = self._at + _offset_of_line(self._block, broken.line)
        return SourceError(
            f"{str(self._split.place)!r}, line {_line_number(self._split.place, offset)} (byte {offset}): "
            f"{broken.reason}; repair the line, or leave such lines out: broken_lines=BrokenLines.SKIP, "
            "or ignore_parse_errors=True in read_json(), or the format's option ignore-parse-errors"
        )

    def close(self) -> None:
        """Close the file."""
        self._stream.close()


def _read_header(place: Place, stream_format: StreamFormat) -> bytes:
    if not stream_format.header_lines:
        return b""
    stream = FileByteStream(place, 0, None)
    data = b""
    while (length := _header_length(data, stream_format)) is None and (more := stream.read()):
        data += more
        if len(data) > _HEADER_BYTES_MAX:
            raise UnreadableFileError(f"{str(place)!r} starts with a line of over 1 MiB, which cannot be a header")
    stream.close()
    _check_start(data, place)
    return data[:length]


def _check_start(start: bytes, place: Place) -> None:
    try:
        check_start(start)
    except ValueError as error:
        raise UnreadableFileError(f"{str(place)!r}: {error}") from None


def _header_length(data: bytes, stream_format: StreamFormat) -> int | None:
    """Return the offset of the header's end, None if `data` does not contain it."""
    at, left = 0, stream_format.header_lines
    while left:
        end = data.find(b"\n", at)
        if end < 0:
            return None
        left -= stream_format.is_header(data[at:end])
        at = end + 1
    return at


def _decoder(stream_format: StreamFormat, place: Place, header: bytes) -> LineDecoder:
    try:
        return stream_format.decoder(header)
    except ValueError as error:
        raise UnreadableFileError(f"{str(place)!r}: {error}") from error


def _offset_of_line(data: bytes, line: int) -> int:
    """Return the offset of the line with this index, or the length of the data if there is no such line."""
    parts = data.split(b"\n", line)
    return len(data) - len(parts[line]) if len(parts) > line else len(data)


def _line_number(place: Place, offset: int) -> int:
    """Return the number of the line that starts at `offset`, from 1. Reads the file up to there."""
    stream = FileByteStream(place, 0, offset)
    number = 1
    while data := stream.read():
        number += data.count(b"\n")
    stream.close()
    return number


@final
class LineSplits(BulkFormat[FileSplit]):
    """Cuts files of lines. A file that is compressed, or whose records may contain newlines, is one split."""

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
