"""The folder of a job: where it is, and what is known of stored state before a job is planned."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from headgate.checkpoint import paths
from headgate.checkpoint.file_store import FileSystemStore
from headgate.checkpoint.manifest import Manifest, encode
from headgate.deploy.job_folder import JobFolder, stored_max_parallelism
from headgate.elements import SavepointFormat
from headgate.ids import JobId
from headgate.operators.collect import CollectFactory
from headgate.options import resolve
from tests.unit.checkpoint.manifests import keyed, manifest, operator
from tests.unit.runtime.plans import line_plan

JOB = JobId("ab" * 16)


def snapshot(checkpoint_id: int, max_parallelism: int) -> Manifest:
    return manifest(
        checkpoint_id, operator("count", keyed("count", 0, max_parallelism - 1), max_parallelism=max_parallelism)
    )


def stored(folder: Path, **settings: str) -> dict[str, int]:
    keys = {key.replace("__", ".").replace("_", "-"): value for key, value in settings.items()}
    return stored_max_parallelism(resolve({"execution.checkpointing.dir": str(folder), **keys}))


def savepoint(folder: Path) -> str:
    folder.mkdir()
    saved = replace(snapshot(9, 64), savepoint=SavepointFormat.CANONICAL)
    (folder / paths.METADATA).write_bytes(encode(saved))
    return str(folder)


def test_a_job_that_starts_from_nothing_knows_of_nothing(tmp_path: Path) -> None:
    assert stored(tmp_path) == stored(tmp_path, headgate__job__id=JOB) == {}


def test_a_snapshot_that_is_named_says_it(tmp_path: Path) -> None:
    location = savepoint(tmp_path / "savepoint")
    assert stored(tmp_path, execution__state_recovery__path=location) == {"count": 64}


def test_the_jobs_own_newest_checkpoint_says_it_first(tmp_path: Path) -> None:
    location = savepoint(tmp_path / "savepoint")
    store = FileSystemStore.open(str(tmp_path), JOB)
    for checkpoint_id, max_parallelism in ((9, 32), (10, 16)):
        store.write(
            paths.metadata(snapshot(checkpoint_id, 1).checkpoint_id), [encode(snapshot(checkpoint_id, max_parallelism))]
        )
    store.write("chk-11/_metadata", [b"torn"])
    assert stored(tmp_path, execution__state_recovery__path=location, headgate__job__id=JOB) == {"count": 16}


def test_what_cannot_be_read_is_reported_when_the_job_starts_from_it_and_not_here(tmp_path: Path) -> None:
    assert stored(tmp_path, execution__state_recovery__path=str(tmp_path / "nowhere")) == {}


def test_a_jobs_folder_has_an_absolute_location_if_it_is_not_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    job = line_plan([1], CollectFactory(), settings={"execution.checkpointing.dir": "checkpoints"})
    folder = JobFolder.of(job)
    assert (folder.root, folder.location) == (f"{tmp_path}/checkpoints", f"{tmp_path}/checkpoints/{job.job_id}")
    in_memory = line_plan([1], CollectFactory(), settings={"execution.checkpointing.storage": "jobmanager"})
    assert JobFolder.of(in_memory).location is None


def test_a_temporary_folder_is_deleted_when_it_is_closed() -> None:
    folder = JobFolder.of(line_plan([1], CollectFactory()))
    assert folder.root is not None
    assert Path(folder.root).is_dir()
    folder.close()
    assert not Path(folder.root).exists()
