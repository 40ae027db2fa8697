"""Paths and URIs."""

from __future__ import annotations

import os
import pickle
import traceback
from pathlib import Path

import pytest

from headgate.connectors.files.owner import claim, give_up
from headgate.connectors.files.places import Place, list_files
from headgate.errors import SinkError, SourceError
from headgate.testing.contracts.sink import JOB, OTHER_JOB


def test_file_uri_and_path_are_the_same_place(tmp_path: Path) -> None:
    assert (
        Place.of(tmp_path.as_uri(), SourceError)
        == Place.of(str(tmp_path), SourceError)
        == Place.of(tmp_path, SourceError)
    )


def test_uri_may_hold_characters_that_are_not_ascii(tmp_path: Path) -> None:
    folder = tmp_path / "Zoë 寿"
    assert Place.of(f"file://{folder}", SourceError) == Place.of(folder.as_uri(), SourceError) == Place("", str(folder))


def test_a_pattern_is_not_taken_for_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"no file or folder '.*/\*\.csv'; give a folder .* not expanded"):
        list_files(Place.of(tmp_path / "*.csv", SourceError), SourceError)


def test_a_name_that_is_no_text_is_refused_with_its_folder(tmp_path: Path) -> None:
    try:
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.txt")).touch()
    except OSError:
        pytest.skip("this file system takes UTF-8 only")
    with pytest.raises(SourceError, match=f"not UTF-8 at '{tmp_path}'; rename it"):
        list_files(Place.of(tmp_path, SourceError), SourceError)


def test_place_elsewhere_is_shown_without_what_its_uri_holds_besides() -> None:
    place = Place.of("mock:///bucket/folder?secret=1", SourceError)
    assert str(place.child("part-0")) == "mock://bucket/folder/part-0"
    assert place.child("part-0").name == "part-0"


@pytest.mark.parametrize("uri", ["s3://key:secret@bucket/x?no_such_parameter=1", "gopher://key:secret@bucket/x"])
def test_place_that_cannot_be_opened_is_named_without_its_password(uri: str) -> None:
    with pytest.raises(SinkError, match=r"cannot open the file system of '\w+://\.\.\.@bucket/x") as caught:
        Place.of(uri, SinkError)
    assert "secret" not in "".join(traceback.format_exception(caught.value))


def test_place_does_not_show_its_password_as_a_part_of_something_else() -> None:
    assert "secret" not in repr(Place("s3://key:secret@bucket/x", "bucket/x"))


def test_place_elsewhere_can_be_pickled_and_listed() -> None:
    place = pickle.loads(pickle.dumps(Place.of("mock:///listed", SourceError)))  # noqa: S301
    place.system.create_dir("listed/_hidden")
    for name in ["listed/b", "listed/a", "listed/_hidden/c"]:
        with place.system.open_output_stream(name) as stream:
            stream.write(b"12")
    assert [(file.place.name, file.size_bytes) for file in list_files(place, SourceError)] == [("a", 2), ("b", 2)]


def test_folder_elsewhere_has_one_owner() -> None:
    place = Place.of("mock:///owned", SinkError)
    claim(place, JOB)
    claim(place, JOB)
    with pytest.raises(SinkError, match=f"belongs to job {JOB.job_id}"):
        claim(place, OTHER_JOB)
    give_up(place, JOB)
    claim(place, OTHER_JOB)


def test_error_names_the_kind_that_was_asked_for() -> None:
    with pytest.raises(SinkError, match="cannot open the file system of 'gopher://x/y'"):
        Place.of("gopher://x/y", SinkError)
