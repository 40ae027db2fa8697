"""Snapshots at locations that a user names."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from headgate.checkpoint import paths
from headgate.checkpoint.file_store import FileSystemStore
from headgate.checkpoint.manifest import Manifest, encode
from headgate.checkpoint.restore.snapshots import OpenedSnapshot, check_files, open_snapshot
from headgate.elements import SavepointFormat
from headgate.errors import RestoreError
from tests.unit.checkpoint.manifests import JOB, file, keyed, manifest, operator


def opened(location: Path | str) -> OpenedSnapshot:
    return open_snapshot(str(location), FileSystemStore.open_folder)


def written(folder: Path, snapshot: Manifest) -> Path:
    folder.mkdir(parents=True)
    (folder / paths.METADATA).write_bytes(encode(snapshot))
    return folder


def savepoint(checkpoint_id: int = 4) -> Manifest:
    return replace(manifest(checkpoint_id), savepoint=SavepointFormat.CANONICAL)


def test_a_savepoint_is_found_by_its_folder_and_by_its_metadata_and_its_paths_are_relative_to_it(
    tmp_path: Path,
) -> None:
    folder = written(tmp_path / "savepoint-cd61", savepoint())
    for location in (folder, f"{folder}/", folder / paths.METADATA, f"file://{folder}"):
        found = opened(location)
        assert found.manifest == savepoint()
        assert (found.root.removeprefix("file://"), found.metadata) == (str(folder), "_metadata")
        assert found.store.locate("a") == f"{folder}/a"


def test_a_checkpoint_is_found_by_its_folder_and_its_paths_are_relative_to_the_folder_of_its_job(
    tmp_path: Path,
) -> None:
    folder = written(tmp_path / JOB / "chk-3", manifest(3))
    for location in (folder, folder / paths.METADATA):
        found = opened(location)
        assert (found.manifest, found.root, found.metadata) == (manifest(3), f"{tmp_path}/{JOB}", "chk-3/_metadata")


def test_a_savepoint_may_be_moved_to_a_folder_named_as_a_checkpoint(tmp_path: Path) -> None:
    assert opened(written(tmp_path / "chk-3", savepoint())).root == f"{tmp_path}/chk-3"


def test_a_snapshot_is_found_by_its_name_in_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path / "savepoint-cd61", savepoint())
    written(tmp_path / "chk-3", manifest(3))
    monkeypatch.chdir(tmp_path)
    assert opened("savepoint-cd61").root == f"{tmp_path}/savepoint-cd61"
    assert opened("chk-3").root == str(tmp_path)
    monkeypatch.chdir(tmp_path / "chk-3")
    assert opened("_metadata").root == str(tmp_path)


@pytest.mark.parametrize("name", ["copy", "chk-5"])
def test_a_checkpoint_that_was_moved_is_refused_since_its_shared_files_are_elsewhere(name: str, tmp_path: Path) -> None:
    folder = written(tmp_path / name, manifest(3))
    with pytest.raises(RestoreError, match=r"holds checkpoint 3, which works only as the folder chk-3 .*savepoint"):
        opened(folder)


def test_where_nothing_is_the_location_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        RestoreError, match="nowhere, which does not exist, or is empty: give the folder of a savepoint"
    ):
        opened(tmp_path / "nowhere")


def test_a_folder_without_metadata_that_has_a_snapshot_inside_names_it(tmp_path: Path) -> None:
    written(tmp_path / JOB / "chk-3", manifest(3))
    with pytest.raises(RestoreError, match=f"has no file _metadata: did you mean {tmp_path}/{JOB}/chk-3"):
        opened(tmp_path / JOB)


def test_metadata_that_is_cut_short_or_changed_is_refused_by_name(tmp_path: Path) -> None:
    folder = written(tmp_path / "savepoint", savepoint())
    whole = (folder / paths.METADATA).read_bytes()
    for broken, why in ((whole[:50], "was never completed"), (whole[:50] + b"\x00" + whole[51:], "has changed")):
        (folder / paths.METADATA).write_bytes(broken)
        with pytest.raises(RestoreError, match=f"{folder}/_metadata is .*{why}"):
            opened(folder)


def test_files_that_are_missing_or_of_another_size_are_named_before_anything_is_read(tmp_path: Path) -> None:
    states = [keyed("count", index, index, file(f"a1-count-{index}-keyed")) for index in range(3)]
    folder = written(tmp_path / "savepoint", replace(savepoint(), operators=(operator("count", *states),)))
    for index, size in ((0, 10), (1, 9)):
        (folder / f"a1-count-{index}-keyed").write_bytes(bytes(size))
    with pytest.raises(
        RestoreError, match=r"a1-count-1-keyed has 9 bytes, not 10 \(and 1 more\). Bring the files back"
    ):
        check_files(opened(folder))
    for index in (1, 2):
        (folder / f"a1-count-{index}-keyed").write_bytes(bytes(10))
    check_files(opened(folder))
