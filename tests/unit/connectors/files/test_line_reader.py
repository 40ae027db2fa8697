"""Positions in files: however a file is cut, and wherever reading stops, each line is read once."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.connectors.files.csv_lines import CsvOptions
from headgate.connectors.files.file_errors import UnreadableFileError
from headgate.connectors.files.line_reader import FileReader, FileSplit
from headgate.connectors.files.lines import BrokenLines
from headgate.connectors.files.places import Place
from headgate.connectors.files.stream_format import StreamFormat
from headgate.errors import SourceError
from headgate.testing.contracts.source import ReaderContext, read

TEXT = StreamFormat.text_line_format()
LENIENT = StreamFormat.text_line_format(broken_lines=BrokenLines.SKIP)
LATIN = StreamFormat.text_line_format("latin-1")
CSV = StreamFormat.csv_format()
QUOTED = StreamFormat.csv_format(CsvOptions(multiline=True))

lines = st.lists(st.sampled_from([b"", b"a", b"b\r", b"ccc", "æø".encode(), b"longer than a block"]), max_size=12)
texts = st.builds(lambda lines, end: b"\n".join(lines) + end, lines, st.sampled_from([b"", b"\n"]))


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("files") / "in.txt"


def records(
    stream_format: StreamFormat, splits: list[FileSplit], block_bytes: int, pieces: list[int]
) -> Iterator[object]:
    """All records, by a new reader after each of the pieces."""
    context = ReaderContext()
    for piece in [*pieces, None]:
        reader = FileReader(stream_format, context, block_bytes)
        reader.add_splits(splits)
        yield from read(reader, context, piece)
        splits = reader.snapshot()
        reader.close()


def cut(path: Path, cuts: list[int]) -> list[FileSplit]:
    size = path.stat().st_size
    edges = sorted({0, size, *(cut for cut in cuts if cut < size)})
    return [FileSplit(Place("", str(path)), size, start, end) for start, end in pairwise(edges)]


@given(texts, st.lists(st.integers(1, 60)), st.integers(1, 30), st.lists(st.integers(0, 6), max_size=3))
def test_any_cuts_blocks_and_restores_give_each_line_once(
    path: Path, data: bytes, cuts: list[int], block_bytes: int, pieces: list[int]
) -> None:
    path.write_bytes(data)
    expected = data.decode().split("\n") if data else []
    if data.endswith(b"\n"):
        expected.pop()
    expected = [line.removesuffix("\r") for line in expected]
    assert list(records(TEXT, cut(path, cuts), block_bytes, pieces)) == expected


@given(lines, st.lists(st.integers(1, 60)), st.integers(1, 30), st.lists(st.integers(0, 6), max_size=3))
def test_positions_are_exact_between_skipped_lines(
    path: Path, content: list[bytes], cuts: list[int], block_bytes: int, pieces: list[int]
) -> None:
    path.write_bytes(b"".join(b"\xff\n" + line + b"\n" for line in content))
    expected = [line.decode().removesuffix("\r") for line in content]
    assert list(records(LENIENT, cut(path, cuts), block_bytes, pieces)) == expected


@given(st.integers(0, 9), st.lists(st.integers(1, 60)), st.integers(1, 30), st.lists(st.integers(0, 6), max_size=3))
def test_every_split_of_a_csv_file_knows_its_header(
    path: Path, count: int, cuts: list[int], block_bytes: int, pieces: list[int]
) -> None:
    path.write_bytes(b"number,text\n" + b"".join(b"%d,x\n\n" % index for index in range(count)))
    rows = list(records(CSV, cut(path, cuts), block_bytes, pieces))
    assert [row.as_dict() for row in rows] == [{"number": str(i), "text": "x"} for i in range(count)]  # type: ignore[attr-defined]


fields = st.text(st.sampled_from('ab",\n'), max_size=5)


@given(st.lists(fields, max_size=8), st.integers(1, 30), st.lists(st.integers(0, 6), max_size=3))
def test_newlines_in_quotes_may_fall_anywhere(
    path: Path, content: list[str], block_bytes: int, pieces: list[int]
) -> None:
    quoted = ['"' + field.replace('"', '""') + '"' for field in content]
    path.write_text("number,text\n" + "".join(f"{index},{field}\n" for index, field in enumerate(quoted)))
    split = FileSplit(Place("", str(path)), path.stat().st_size, 0, None)
    rows = list(records(QUOTED, [split], block_bytes, pieces))
    assert [row.text for row in rows] == content  # type: ignore[attr-defined]


@given(lines, st.integers(1, 30), st.lists(st.integers(0, 6), max_size=3))
def test_reading_goes_on_in_the_middle_of_a_compressed_file(
    path: Path, content: list[bytes], block_bytes: int, pieces: list[int]
) -> None:
    compressed = path.with_suffix(".gz")
    compressed.write_bytes(gzip.compress(b"".join(line + b"\n" for line in content)))
    split = FileSplit(Place("", str(compressed)), compressed.stat().st_size, 0, None)
    expected = [line.decode().removesuffix("\r") for line in content]
    assert list(records(TEXT, [split], block_bytes, pieces)) == expected


def test_line_number_counts_from_the_start_of_the_file_not_of_the_split(path: Path) -> None:
    path.write_bytes(b"line\n" * 10 + b"\xff\n")
    with pytest.raises(SourceError, match=r"line 11 \(byte 50\)"):
        list(records(TEXT, cut(path, [30]), 8, []))


def test_file_with_a_first_line_of_megabytes_has_no_header(path: Path) -> None:
    path.write_bytes(b"x" * (2 << 20))
    with pytest.raises(SourceError, match="cannot be a header"):
        list(records(CSV, cut(path, []), 1 << 16, []))


@pytest.mark.parametrize("charset", ["utf-16", "utf-32"])
@pytest.mark.parametrize(
    "stream_format", [LENIENT, CSV, StreamFormat.text_line_format("latin-1")], ids=["text", "csv", "latin-1"]
)
def test_file_in_a_charset_whose_lines_cannot_be_told_apart_is_named(
    path: Path, stream_format: StreamFormat, charset: str
) -> None:
    path.write_text("a,b\n1,2\n", encoding=charset)
    with pytest.raises(UnreadableFileError, match=rf"in\.txt': it is {charset.upper()}, .* convert it to UTF-8"):
        list(records(stream_format, cut(path, []), 1 << 16, []))


@pytest.mark.slow
def test_quote_that_never_closes_does_not_fill_the_memory(path: Path) -> None:
    path.write_bytes(b'number\n1\n"' + b"x\n" * (1 << 20))
    split = FileSplit(Place("", str(path)), path.stat().st_size, 0, None)
    with pytest.raises(SourceError, match=r"line 3 \(byte 9\): field larger than field limit"):
        list(records(QUOTED, [split], 1 << 16, []))
