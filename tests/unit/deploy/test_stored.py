"""What is known of stored state before a job is planned."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from headgate.checkpoint import paths
from headgate.checkpoint.file_store import FileSystemStore
from headgate.checkpoint.manifest import Manifest, encode
from headgate.deploy.stored import stored_max_parallelism
from headgate.elements import SavepointFormat
from headgate.ids import JobId
from headgate.options import resolve
from tests.unit.checkpoint.manifests import keyed, manifest, operator

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
