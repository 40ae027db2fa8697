"""Records from lines of JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headgate.connectors.files.lines import BrokenLines
from headgate.connectors.files.source import FileSource
from headgate.connectors.files.stream_format import StreamFormat
from headgate.errors import ProgramError, SourceError
from headgate.testing.contracts.source import ReaderContext, open_reader, read, read_all
from headgate.types.row import Row
from headgate.types.typeinfo import Types

ORDER = Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])
RATED = Types.ROW_NAMED(["id", "name", "rate"], [Types.LONG(), Types.STRING(), Types.DOUBLE()])


def source(folder: Path, data: bytes, stream_format: StreamFormat) -> FileSource:
    path = folder / "in.jsonl"
    path.write_bytes(data)
    return FileSource.for_record_stream_format(stream_format, str(path)).build()


def test_values_are_what_they_are_in_python(tmp_path: Path) -> None:
    data = '{"a":[1,2.5,null,true],"b":"é\\u00e9"}\n[1]\r\n"x"\n7'.encode()
    found = read_all(source(tmp_path, data, StreamFormat.json_lines_format()))
    assert found == [{"a": [1, 2.5, None, True], "b": "éé"}, [1], "x", 7]


def test_objects_become_rows_of_the_type(tmp_path: Path) -> None:
    data = b'{"name":"Ann","id":1,"more":[]}\n{"id":2}\n'
    found = read_all(source(tmp_path, data, StreamFormat.json_lines_format(ORDER)))
    assert found == [Row("id", "name")(1, "Ann"), Row("id", "name")(2, None)]


def test_blanks_around_values_and_blank_lines_are_nothing(tmp_path: Path) -> None:
    data = b'\xef\xbb\xbf{"id": 1}\n\n   \n \t{"id": 2} \r\n'
    assert read_all(source(tmp_path, data, StreamFormat.json_lines_format())) == [{"id": 1}, {"id": 2}]


def test_values_that_share_a_line_or_a_value_on_two_lines_are_not_taken_for_records(tmp_path: Path) -> None:
    data = b"[1\n2]\n3,4\n5 6\n7\n"
    context = ReaderContext()
    skipping = source(tmp_path, data, StreamFormat.json_lines_format(broken_lines=BrokenLines.SKIP))
    reader = open_reader(skipping, skipping.splits(1), context)
    assert read(reader, context) == [7]
    assert context.counters == {"skipped_lines": 4}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"id": 2', r"it is not JSON: Expecting ',' delimiter at character 9"),
        (b'{"id": NaN}', "NaN is not JSON"),
        (b"null", "null is not a record"),
        (b'{"id": "2"}', "field 'id': '2' is not a whole number"),
        (b'{"id": ' + b"9" * 30 + b"}", "field 'id': 9+ does not fit into 64 bits"),
        (b'{"name": "\\ud800"}', r"it holds '.+ud800', half a character"),
        (b'{"rate": ' + b"9" * 400 + b"}", "field 'rate': int too large"),
        (b'{"rate": 1e400}', "field 'rate': the number is out of range"),
        (b"[2]", r"\[2\] is not a JSON object"),
        (b'{"name": "\xff"}', "byte 10 of the line, 0xff, is not utf-8"),
        (b"[" * 100_000, "it is nested too deeply"),
        (b'{"id": ' + b"1" * 5000 + b"}", "Exceeds the limit"),
    ],
    ids=["cut", "NaN", "null", "type", "wide", "half", "huge", "infinite", "array", "bytes", "deep", "long"],
)
def test_broken_line_is_named_or_left_out(line: bytes, reason: str, tmp_path: Path) -> None:
    data = b'{"id":1}\n' + line + b'\n{"id":3}\n'
    failing = source(tmp_path, data, StreamFormat.json_lines_format(RATED))
    with pytest.raises(SourceError, match=rf"in\.jsonl', line 2 \(byte 9\): .*{reason}"):
        read_all(failing)
    skipping = source(tmp_path, data, StreamFormat.json_lines_format(RATED, BrokenLines.SKIP))
    assert [row.id for row in read_all(skipping)] == [1, 3]


def test_position_counts_lines_that_are_no_records(tmp_path: Path) -> None:
    data = b'{"id":1}\n\nbroken\n{"id":2}\n{"id":3}\n'
    skipping = source(tmp_path, data, StreamFormat.json_lines_format(broken_lines=BrokenLines.SKIP))
    context = ReaderContext()
    reader = open_reader(skipping, skipping.splits(1), context)
    first: list[Any] = read(reader, context, 2)
    again = open_reader(skipping, reader.snapshot(), context)
    assert [*first, *read(again, context)] == [{"id": 1}, {"id": 2}, {"id": 3}]


def test_type_without_a_form_in_json_is_refused_at_once() -> None:
    with pytest.raises(ProgramError, match="has no form in JSON"):
        StreamFormat.json_lines_format(Types.MAP(Types.INT(), Types.INT()))
