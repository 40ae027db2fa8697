"""Files of lines: which files, which lines, and what happens to those that cannot be read."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from headgate.connectors.files.bulk_format import BulkFormat
from headgate.connectors.files.lines import BrokenLines, Decoded, LineDecoder
from headgate.connectors.files.source import FileEnumeratorProvider, FileSource, FileSplitAssignerProvider
from headgate.connectors.files.stream_format import StreamFormat
from headgate.errors import ProgramError, SourceError
from headgate.testing.contracts.source import ReaderContext, deal, open_reader, read, read_all
from headgate.types.instant import Duration

TEXT = StreamFormat.text_line_format()


def source(*paths: Path | str, stream_format: StreamFormat = TEXT) -> FileSource:
    builder = FileSource.for_record_stream_format(stream_format, *map(str, paths))
    return builder.process_static_file_set().build()


def written(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"", []),
        (b"a\nb\n", ["a", "b"]),
        (b"a\nb", ["a", "b"]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"\n\na\n", ["", "", "a"]),
        (b"a\rb\x0bc\xc2\x85d\n", ["a\rb\x0bc\x85d"]),
        (b"\xef\xbb\xbfa\nb\n", ["a", "b"]),
        ("smørrebrød\n寿司\n".encode(), ["smørrebrød", "寿司"]),
    ],
)
def test_a_newline_ends_a_line_and_nothing_else_does(tmp_path: Path, content: bytes, lines: list[str]) -> None:
    assert read_all(source(written(tmp_path / "in.txt", content))) == lines


def test_folder_is_read_to_its_depth_in_order_of_names(tmp_path: Path) -> None:
    written(tmp_path / "b.txt", b"3\n")
    written(tmp_path / "a" / "2.txt", b"2\n")
    written(tmp_path / "a" / "1.txt", b"1\n")
    assert read_all(source(tmp_path)) == ["1", "2", "3"]


def test_hidden_files_and_folders_are_no_data(tmp_path: Path) -> None:
    written(tmp_path / "part-0", b"1\n")
    for name in ["_SUCCESS", ".part-1.inprogress", "_temporary/part-2", ".hidden/part-3"]:
        written(tmp_path / name, b"x\n")
    assert read_all(source(tmp_path)) == ["1"]


def test_hidden_file_that_is_named_is_read(tmp_path: Path) -> None:
    assert read_all(source(written(tmp_path / "_odd.txt", b"1\n"))) == ["1"]


def test_several_paths_and_uris_may_be_given(tmp_path: Path) -> None:
    first, second = written(tmp_path / "z.txt", b"1\n"), written(tmp_path / "a b.txt", b"2\n")
    assert read_all(source(first, second.as_uri())) == ["1", "2"]


def test_relative_path_is_meant_where_the_program_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path / "in.txt", b"1\n")
    monkeypatch.chdir(tmp_path)
    relative = source("in.txt")
    monkeypatch.chdir("/")
    assert read_all(relative) == ["1"]


@pytest.mark.parametrize("parallelism", [1, 2, 3, 5])
@pytest.mark.slow
def test_large_file_is_shared_by_the_subtasks(tmp_path: Path, parallelism: int) -> None:
    lines = [f"line {index:07}" for index in range(300_000)]
    path = written(tmp_path / "in.txt", ("\n".join(lines) + "\n").encode())
    shares = deal(source(path).splits(parallelism), parallelism)
    assert min(map(len, shares)) > 0 or path.stat().st_size < parallelism << 20
    assert sorted(read_all(source(path), parallelism)) == lines


def test_compressed_files_are_decompressed(tmp_path: Path) -> None:
    written(tmp_path / "1.gz", gzip.compress(b"a\nb\n") + gzip.compress(b"c\n"))
    written(tmp_path / "2.bz2", bz2.compress(b"d\n"))
    written(tmp_path / "3.GZIP", gzip.compress(b"e\n"))
    written(tmp_path / "4.xz", lzma.compress(b"f\n") + lzma.compress(b"g\n"))
    written(tmp_path / "5.deflate", zlib.compress(b"h\n"))
    written(tmp_path / "6.deflate", zlib.compress(b""))
    assert sorted(read_all(source(tmp_path), 2)) == list("abcdefgh")


@pytest.mark.parametrize("ending", ["snappy", "LZ4", "zip"])
def test_files_that_are_compressed_in_another_way_are_refused(tmp_path: Path, ending: str) -> None:
    path = written(tmp_path / f"in.{ending}", b"packed\n")
    with pytest.raises(SourceError, match=f"in.{ending}' has a compression that is not supported"):
        read_all(source(path))


COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "gz": lambda data: gzip.compress(data, 1),
    "xz": lambda data: lzma.compress(data, preset=0),
    "deflate": lambda data: zlib.compress(data, 1),
}


@pytest.mark.parametrize("ending", COMPRESS)
@pytest.mark.slow
def test_reading_goes_on_deep_in_a_compressed_file(tmp_path: Path, ending: str) -> None:
    lines = [f"{index:063}" for index in range(200_000)]
    path = written(tmp_path / f"in.{ending}", COMPRESS[ending]("\n".join(lines).encode()))
    context = ReaderContext()
    reader = open_reader(source(path), source(path).splits(1), context)
    read(reader, context, 150_000, asked=10_000)
    rest = read(open_reader(source(path), reader.snapshot(), context), context, asked=10_000)
    assert rest == lines[150_000:]


def test_other_charsets_are_decoded(tmp_path: Path) -> None:
    path = written(tmp_path / "in.txt", "æ\nø\n".encode("latin-1"))
    assert read_all(source(path, stream_format=StreamFormat.text_line_format("ISO-8859-1"))) == ["æ", "ø"]


@pytest.mark.parametrize("charset", ["utf-16", "UTF-32-LE", "cp037"])
def test_charset_whose_newline_is_not_one_byte_is_refused(charset: str) -> None:
    with pytest.raises(ProgramError, match="convert to UTF-8"):
        StreamFormat.text_line_format(charset)


def test_unknown_charset_is_refused() -> None:
    with pytest.raises(ProgramError, match="no charset 'utf-9'"):
        StreamFormat.text_line_format("utf-9")


def test_missing_path_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"no file or folder '.*absent'"):
        source(tmp_path / "absent").splits(1)


def test_folder_without_files_is_an_error(tmp_path: Path) -> None:
    written(tmp_path / "_SUCCESS", b"")
    with pytest.raises(SourceError, match="no file to read in the folder"):
        source(tmp_path).splits(1)


def test_source_without_paths_is_refused() -> None:
    with pytest.raises(ProgramError, match="at least one path"):
        source()


def test_unknown_file_system_is_refused() -> None:
    with pytest.raises(SourceError, match="gopher://host/x"):
        source("gopher://host/x")


@contextmanager
def unprivileged() -> Iterator[None]:
    """Root may read everything, so be nobody for a while."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)


def test_unreadable_file_is_named(tmp_path: Path) -> None:
    path = written(tmp_path / "in.txt", b"a\n")
    splits = source(path).splits(1)
    path.chmod(0)
    with unprivileged(), pytest.raises(SourceError, match=r"cannot open '.*in\.txt'.*[Pp]ermission"):
        open_reader(source(path), splits, ReaderContext()).poll(1)


def test_file_that_became_shorter_is_noticed(tmp_path: Path) -> None:
    path = written(tmp_path / "in.txt", b"a\nb\n")
    splits = source(path).splits(1)
    path.write_bytes(b"a\n")
    with pytest.raises(SourceError, match="had 4 bytes when it was found and has 2 now"):
        open_reader(source(path), splits, ReaderContext()).poll(1)


def test_file_that_is_gone_is_named(tmp_path: Path) -> None:
    path = written(tmp_path / "in.txt", b"a\n")
    splits = source(path).splits(1)
    path.unlink()
    with pytest.raises(SourceError, match=r"in\.txt' is gone"):
        open_reader(source(path), splits, ReaderContext()).poll(1)


def test_what_is_appended_later_is_not_read(tmp_path: Path) -> None:
    path = written(tmp_path / "in.txt", b"a\nb")
    splits = source(path).splits(1)
    path.write_bytes(b"a\nbcd\ne\n")
    context = ReaderContext()
    assert read(open_reader(source(path), splits, context), context) == ["a", "b"]


@pytest.mark.parametrize("ending", COMPRESS)
@pytest.mark.parametrize("damage", [lambda data: data[:-12], lambda data: b"no gzip at all", lambda data: data[:40]])
def test_damaged_compressed_file_is_named(tmp_path: Path, damage: Callable[[bytes], bytes], ending: str) -> None:
    data = COMPRESS[ending](os.urandom(1000).hex().encode())
    path = written(tmp_path / f"in.{ending}", damage(data))
    with pytest.raises(SourceError, match=rf"cannot (read|open) '.*in\.{ending}'"):
        read_all(source(path))


def test_line_that_is_not_text_is_named_with_its_place(tmp_path: Path) -> None:
    path = written(tmp_path / "in.txt", b"fine\nbr\xffken\nfine\n")
    with pytest.raises(SourceError, match=r"in\.txt', line 2 \(byte 5\): byte 2 of the line, 0xff, is not utf-8"):
        read_all(source(path))


def test_broken_lines_can_be_skipped_and_are_counted(tmp_path: Path) -> None:
    path = written(tmp_path / "in.txt", b"\xff\na\n\xff\nb\n\xff")
    lenient = source(path, stream_format=StreamFormat.text_line_format(broken_lines=BrokenLines.SKIP))
    context = ReaderContext()
    assert read(open_reader(lenient, lenient.splits(1), context), context) == ["a", "b"]
    assert context.counters == {"skipped_lines": 3}


def test_format_of_another_kind_of_files_is_refused() -> None:
    wrong: Any = TEXT
    with pytest.raises(ProgramError, match=r"is no BulkFormat: .* for_bulk_file_format\(\) takes BulkFormat\."):
        FileSource.for_bulk_file_format(wrong, "in")
    wrong = BulkFormat.parquet_format()
    with pytest.raises(ProgramError, match=r"is no StreamFormat: for_record_stream_format\(\) takes formats of lines"):
        FileSource.for_record_stream_format(wrong, "in")


class Lengths(StreamFormat, LineDecoder):
    """Each line is a record: how long it is."""

    def decoder(self, header: bytes) -> LineDecoder:
        return self

    def decode(self, block: bytes, is_last: bool) -> Decoded:
        return Decoded([len(line) for line in block.splitlines()])


def test_format_may_be_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "in"
    path.write_text("a\nbcd\n\n")
    assert read_all(source(path, stream_format=Lengths())) == [1, 3, 0]


def test_format_that_is_there_is_of_the_class_that_names_it() -> None:
    formats = [TEXT, StreamFormat.csv_format(), StreamFormat.json_lines_format()]
    assert all(isinstance(each, StreamFormat) for each in formats)
    assert isinstance(BulkFormat.parquet_format(), BulkFormat)


def test_a_file_is_cut_unless_the_enumerator_is_one_that_does_not(tmp_path: Path) -> None:
    line = b"x" * 1023 + b"\n"
    builder = FileSource.for_record_stream_format(TEXT, str(written(tmp_path / "in.txt", line * 4096)))
    builder.set_split_assigner(FileSplitAssignerProvider.locality_aware_split_assigner())
    assert len(builder.build().splits(4)) == 4
    builder.set_file_enumerator(FileEnumeratorProvider.default_non_splittable_file_enumerator())
    whole = builder.build()
    assert len(whole.splits(4)) == 1
    assert len(read_all(whole)) == 4096
    assert len(builder.monitor_continuously(Duration.of_seconds(1)).build().splits(4)) == 1
    builder.set_file_enumerator(FileEnumeratorProvider.default_splittable_file_enumerator())
    assert len(builder.process_static_file_set().build().splits(4)) == 4


@pytest.mark.parametrize("setter", ["set_file_enumerator", "set_split_assigner"])
def test_what_is_no_provider_is_refused(setter: str) -> None:
    builder = FileSource.for_record_stream_format(TEXT, "in.txt")
    with pytest.raises(ProgramError, match=rf"{setter}\(\) takes a File\w+Provider, made by its functions, not"):
        getattr(builder, setter)("local")
