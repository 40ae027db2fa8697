"""Names of everything in checkpoint storage, in one place.

    <root>/<job id>/chk-<n>/_metadata                                      the manifest: its existence completes chk-n
    <root>/<job id>/chk-<n>/a<attempt>-<operator uid>-<subtask>-<name>     a file of keyed state of one subtask
    <root>/<job id>/chk-<n>/a<attempt>-<operator uid>-<subtask>-list-<name>
    <root>/<job id>/shared/<n>-a<attempt>-<operator uid>-<subtask>-<name>  the same, but later checkpoints may use it
    <root>/<job id>/shared/ahead-<number>-a<attempt>-<operator uid>-<subtask>-<name>
                                                                           the same, written before its checkpoint
    <root>/<job id>/taskowned/                                             reserved: nobody here writes or deletes it
    <root>/<job id>/_result                                                how the job ended
    <root>/<job id>/_attempt/<n>                                           attempt n was begun, by whichever driver
    <root>/<job id>/_probe/<nonce>-<who>                                   proof that all see the same storage

All functions return paths relative to the folder of the job. A name carries the attempt that wrote it: a zombie of an
older attempt can never overwrite anything.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Final, final
from urllib.parse import quote

from headgate.ids import Attempt, CheckpointId, JobId
from headgate.state.files import SHARED

RESULT: Final = "_result"
PROBES: Final = "_probe"
ATTEMPTS: Final = "_attempt"
TASK_OWNED: Final = "taskowned"
METADATA: Final = "_metadata"
_CHECKPOINT_FOLDER: Final = re.compile(r"chk-([1-9][0-9]*)(?:/|$)")
_SHARED_FILE: Final = re.compile(r"shared/(?:([1-9][0-9]*)|ahead-([0-9]+))-(a([1-9][0-9]*)-[^-]*-[0-9]+)-")
_NAME_MAX: Final = 80


def job_folder(root: str, job_id: JobId) -> str:
    """Return the folder of a job below the checkpoint directory.

    >>> job_folder("s3://bucket/checkpoints/", JobId("cd61"))
    's3://bucket/checkpoints/cd61'
    """
    return f"{root.rstrip('/')}/{job_id}"


def checkpoint_folder(checkpoint_id: CheckpointId) -> str:
    """Return the folder of a checkpoint."""
    return f"chk-{checkpoint_id}"


def metadata(checkpoint_id: CheckpointId) -> str:
    """Return the path of a checkpoint's manifest."""
    return f"{checkpoint_folder(checkpoint_id)}/{METADATA}"


@final
@dataclass(frozen=True, slots=True)
class Writer:
    """Who writes state: an operator of a subtask in an attempt."""

    attempt: Attempt
    uid: str
    subtask: int

    def own(self) -> str:
        """Return what its names have that no other writer's have."""
        return f"{_prefix(self.attempt)}{_encode(self.uid)}-{self.subtask}"


def keyed_state(checkpoint_id: CheckpointId, writer: Writer, name: str) -> str:
    """Return the path of the file `name` of keyed state, used by this checkpoint only.

    >>> keyed_state(CheckpointId(3), Writer(Attempt(1), "count per-key", 0), "keyed")
    'chk-3/a1-count%20per%2Dkey-0-keyed'
    """
    return f"{checkpoint_folder(checkpoint_id)}/{writer.own()}-{_encode(name)}"


def list_state(checkpoint_id: CheckpointId, writer: Writer, name: str) -> str:
    """Return the path of the operator list state called `name`."""
    return f"{checkpoint_folder(checkpoint_id)}/{writer.own()}-list-{_encode(name)}"


def shared_state(checkpoint_id: CheckpointId, writer: Writer, name: str) -> str:
    """Return the path of the file `name` of keyed state, which later checkpoints may use as well.

    >>> shared_state(CheckpointId(3), Writer(Attempt(1), "count", 0), "000012.sst")
    'shared/3-a1-count-0-000012.sst'
    """
    return f"{SHARED}/{checkpoint_id}-{writer.own()}-{_encode(name)}"


def ahead_state(number: int, writer: Writer, name: str) -> str:
    """Return the path of the file `name`, the writer's `number`-th before the checkpoint that is to use it.

    >>> ahead_state(7, Writer(Attempt(1), "count", 0), "delta-e12")
    'shared/ahead-7-a1-count-0-delta%2De12'
    """
    return f"{SHARED}/ahead-{number}-{writer.own()}-{_encode(name)}"


@final
@dataclass(frozen=True, slots=True)
class Origin:
    """Who made a shared file, and when: for which checkpoint, or as the writer's which file ahead of any."""

    attempt: Attempt
    writer: str
    checkpoint_id: CheckpointId | None
    number: int | None


def origin_of(path: str) -> Origin | None:
    """Return the origin of a shared file, None for any other path.

    >>> origin_of("shared/3-a1-count-0-000012.sst")
    Origin(attempt=1, writer='a1-count-0', checkpoint_id=3, number=None)
    """
    found = _SHARED_FILE.match(path)
    if found is None:
        return None
    checkpoint_id, number, writer, attempt = found.groups()
    return Origin(
        attempt=Attempt(int(attempt)),
        writer=writer,
        checkpoint_id=None if checkpoint_id is None else CheckpointId(int(checkpoint_id)),
        number=None if number is None else int(number),
    )


def probe(nonce: str, who: str) -> str:
    """Return the path of the probe file that `who` writes.

    >>> probe("5f", "slot-1")
    '_probe/5f-slot-1'
    """
    return f"{PROBES}/{nonce}-{who}"


def attempt_marker(attempt: Attempt) -> str:
    """Return the path of the file that says that the attempt was begun."""
    return f"{ATTEMPTS}/{attempt}"


def checkpoint_of(path: str) -> CheckpointId | None:
    """Return the checkpoint whose folder the path is or lies in, or None when it is in no such folder.

    >>> checkpoint_of("chk-12/_metadata"), checkpoint_of("_result"), checkpoint_of("chk-x/a")
    (12, None, None)
    """
    found = _CHECKPOINT_FOLDER.match(path)
    return CheckpointId(int(found[1])) if found else None


def is_of_attempt(path: str, attempt: Attempt) -> bool:
    """Return whether the state file at `path` was written by `attempt`."""
    return path.rpartition("/")[2].startswith(_prefix(attempt))


def _prefix(attempt: Attempt) -> str:
    return f"a{attempt}-"


def _encode(name: str) -> str:
    """Return a file name part without `-` and `/`: no two names share it, and it is never too long."""
    encoded = quote(name, safe="").replace("-", "%2D")
    if len(encoded) <= _NAME_MAX:
        return encoded
    return f"{encoded[: _NAME_MAX - 41]}~{hashlib.sha1(name.encode(), usedforsecurity=False).hexdigest()}"
