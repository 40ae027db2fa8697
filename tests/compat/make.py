"""Make snapshots of the program with the headgate that is installed, in a folder that the command names.

Of each backend all kinds of checkpoints and savepoints, or those that the command names after the folder: each in a
folder of its own, with the files that it needs and no others.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Sized
from pathlib import Path
from typing import Any, Final

from headgate.checkpoint.manifest import Manifest, decode
from headgate.common import Configuration
from headgate.datastream import StreamExecutionEnvironment
from tests.compat import program

FIRST: Final = 2 * program.KEYS
"""Numbers before the first checkpoint; few more come before the last, so that it is worth an increment."""
LAST: Final = FIRST + 3

INCREMENTAL: Final = {"execution.checkpointing.incremental": "true"}
CHANGELOG: Final = {"state.changelog.enabled": "true", "headgate.changelog.cut-interval": "10 ms"}
ROCKSDB: Final = {"state.backend.type": "rocksdb"}
CHECKPOINTS: Final[dict[str, dict[str, str]]] = {
    "hashmap-full": {},
    "hashmap-incremental": INCREMENTAL,
    "hashmap-changelog": CHANGELOG,
    "rocksdb-full": ROCKSDB,
    "rocksdb-incremental": {**ROCKSDB, **INCREMENTAL},
    "rocksdb-changelog": {**ROCKSDB, **CHANGELOG},
}
SAVEPOINTS: Final[dict[str, dict[str, str]]] = {
    "hashmap-canonical": {},
    "hashmap-native": {},
    "rocksdb-canonical": ROCKSDB,
    "rocksdb-native": ROCKSDB,
}
"""Named by backend and format."""
UNALIGNED: Final = {
    "hashmap-unaligned": {
        "execution.checkpointing.unaligned.enabled": "true",
        "execution.checkpointing.interval": "1 h",
        "headgate.batch.records": "2",
    }
}
"""With numbers in flight."""


def make(name: str, target: Path) -> None:
    """Run the program for a while, and keep its last checkpoint, or a savepoint."""
    program.SEEN.clear()
    program.ENDS.clear()
    with tempfile.TemporaryDirectory() as folder:
        if name in UNALIGNED:
            _make_unaligned(_submitted(folder, UNALIGNED[name]), target)
        elif name in SAVEPOINTS:
            job = _submitted(folder, SAVEPOINTS[name])
            _run(job)
            keep(_savepoint(job, name.partition("-")[2], Path(folder)), target)
            _cancel(job)
        else:
            job = _submitted(folder, CHECKPOINTS[name])
            _run(job)
            _cancel(job)
            (found,) = Path(folder).glob("*/chk-*/_metadata")
            keep(found, target)


def _submitted(folder: str, settings: dict[str, str]) -> Any:
    configuration = Configuration.from_dict(_settings(folder, settings))
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    program.build(env.set_parallelism(program.PARALLELISM))
    return env.submit()


def _run(job: Any) -> None:
    for limit, more in ((FIRST, 1), (LAST, 2)):
        program.LIMIT[0] = limit
        wait_for(3 * limit, program.SEEN)
        wait_for(len(job.progress.checkpoints) + more, job.progress.checkpoints)


def _cancel(job: Any) -> None:
    job.cancel()
    job.wait(120.0)


def _make_unaligned(job: Any, target: Path) -> None:
    program.DAWDLES.set()
    program.LIMIT[0] = LAST
    wait_for(LAST // 2, program.SEEN)
    found = Path(job.trigger_checkpoint().result(120.0), "_metadata")
    program.DAWDLES.clear()
    assert decode(found.read_bytes(), str(found)).in_flight
    _cancel(job)
    keep(found, target)


def _savepoint(job: Any, form: str, folder: Path) -> Path:
    from headgate.elements import SavepointFormat  # noqa: PLC0415  # which the releases before savepoints do not have

    return Path(job.trigger_savepoint(str(folder / "savepoints"), SavepointFormat(form)).result(120.0), "_metadata")


def _settings(folder: str, settings: dict[str, str]) -> dict[str, str]:
    return {
        **program.SETTINGS,
        "execution.checkpointing.dir": folder,
        "execution.checkpointing.interval": "30 ms",
        "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
        **settings,
    }


def wait_for(count: int, what: Sized) -> None:
    """Block until there are so many."""
    while len(what) < count:
        time.sleep(0.002)


def keep(metadata: Path, target: Path) -> None:
    """Copy a snapshot with its files; of a checkpoint, its place in the folder of the job as well."""
    manifest: Manifest = decode(metadata.read_bytes(), str(metadata))
    root = metadata.parent.parent if metadata.parent.name.startswith("chk-") else metadata.parent
    for path in (str(metadata.relative_to(root)), *manifest.files()):
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / path, target / path)


if __name__ == "__main__":
    for each in sys.argv[2:] or [*CHECKPOINTS, *SAVEPOINTS, *UNALIGNED]:
        make(each, Path(sys.argv[1], each))
