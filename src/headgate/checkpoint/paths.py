"""Names of everything in checkpoint storage, in one place.

    <root>/<job id>/chk-<n>/_metadata                                      the manifest: whole, it completes chk-n
    <root>/<job id>/chk-<n>/a<attempt>-<operator uid>-<subtask>-<name>     a file of keyed state of one subtask
    <root>/<job id>/chk-<n>/a<attempt>-<operator uid>-<subtask>-list-<name>
    <root>/<job id>/chk-<n>/a<attempt>-<operator uid>-<subtask>-flight-<name>  batches that barriers have overtaken
    <root>/<job id>/chk-<n>/a<attempt>-claim                               a driver uses id n, complete or not
    <root>/<job id>/shared/<n>-a<attempt>-<operator uid>-<subtask>-<name>  keyed state that later checkpoints may use
    <root>/<job id>/shared/ahead-<number>-a<attempt>-<operator uid>-<subtask>-<name>
                                                                           shared keyed state, written ahead of its
                                                                           checkpoint
    <root>/<job id>/taskowned/                                             reserved: never written or deleted here
    <root>/<job id>/_result                                                how the job ended
    <root>/<job id>/_attempt/<n>                                           a driver has begun attempt n
    <root>/<job id>/_complete/<n>-<epoch>-<nonce>-<sha256>                 chk-n was complete (`completion_evidence`)
    <root>/<job id>/_complete/<n>-<epoch>-<nonce>-<sha256>-stop            the savepoint that ends the job was complete
    <root>/<job id>/_epoch/<n>-<nonce>                                     a driver has taken epoch n
    <root>/<job id>/_epoch/<n>-<nonce>-base                                the checkpoints that it and earlier drivers
                                                                           started from
    <root>/<job id>/_stopped/<n>-<nonce>                                   the savepoint that the job is to end with
    <root>/<job id>/_savepoint/<n>-<nonce>-<key>                           a savepoint was begun, and is not complete
    <root>/<job id>/_claimed                                               the snapshot that the job has claimed
    <root>/<job id>/_lineage/<n>-<nonce>-<time>-<lineage>                  sinks write under it: see `job_records`
    <root>/<job id>/_master/<n>-<nonce>                                    where a running driver is reached
    <root>/<job id>/_probe/<nonce>-<who>                                   proof that driver and slots share the storage

All functions return paths relative to the folder of the job. A name contains the attempt that wrote the file, so a
process of an older attempt can never overwrite a file. On a local file system a file has a temporary name while it is
written: `<its name>.<nonce>.tmp`. So clean-up knows which file a killed process was writing, and when to delete it.
"""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from typing import Final, final
from urllib.parse import quote

from headgate.ids import Attempt, CheckpointId, JobId
from headgate.state.files import SHARED

RESULT: Final = "_result"
PROBES: Final = "_probe"
ATTEMPTS: Final = "_attempt"
MASTERS: Final = "_master"
EPOCHS: Final = "_epoch"
BASE_SUFFIX: Final = "-base"
LINEAGES: Final = "_lineage"
STOPPED: Final = "_stopped"
SAVEPOINTS: Final = "_savepoint"
COMPLETE: Final = "_complete"
CLAIMED: Final = "_claimed"
SAVEPOINT: Final = "savepoint-"
"""The beginning of the name of every savepoint's folder."""

TASK_OWNED: Final = "taskowned"
METADATA: Final = "_metadata"
_CHECKPOINT_FOLDER: Final = re.compile(r"chk-([1-9][0-9]*)(?:/|$)")
_SHARED_FILE: Final = re.compile(r"shared/(?:([1-9][0-9]*)|ahead-([0-9]+))-(a([1-9][0-9]*)-[^-]*-[0-9]+)-")
_OF_ATTEMPT: Final = re.compile(r"a([1-9][0-9]*)-")
_OF_CHECKPOINT: Final = re.compile(r"(?:chk-[1-9][0-9]*/|shared/(?:[1-9][0-9]*|ahead-[0-9]+)-)a[1-9][0-9]*-[^/\\\0]+")
_OF_SAVEPOINT: Final = re.compile(r"a[1-9][0-9]*-[^/\\\0]+")
_TEMPORARY: Final = re.compile(r"\.[0-9a-f]+\.tmp$")
_NAME_MAX: Final = 80


def below(location: str, path: str) -> str:
    """Return the location (a URI or a local path) of `path` below `location`.

    >>> below("/data/", "a/b"), below("s3://bucket/checkpoints?region=eu", "cd61")
    ('/data/a/b', 's3://bucket/checkpoints/cd61?region=eu')
    """
    root, separator, query = location.partition("?") if "://" in location else (location, "", "")
    return f"{root.rstrip('/')}/{path}{separator}{query}"


def absolute(location: str) -> str:
    """Return a location that is the same for processes with other working folders: local paths become absolute.

    >>> absolute("file:/data/checkpoints"), absolute("/data/checkpoints")
    ('file:/data/checkpoints', '/data/checkpoints')
    """
    return location if "://" in location or location.startswith("file:") else os.path.abspath(location)


def split(location: str) -> tuple[str, str]:
    """Return the parent of a location, and the location's name in it: the reverse of `below`.

    >>> split("/data/a/"), split("s3://bucket/cd61/chk-3?region=eu")
    (('/data', 'a'), ('s3://bucket/cd61?region=eu', 'chk-3'))
    """
    root, separator, query = location.partition("?") if "://" in location else (location, "", "")
    folder, _, name = root.rstrip("/").rpartition("/")
    return f"{folder}{separator}{query}", name


def temporary(path: str, nonce: str) -> str:
    """Return the temporary path of a file while it is written. `nonce` is unique, in hexadecimal digits.

    >>> temporary("chk-3/_metadata", "5f")
    'chk-3/_metadata.5f.tmp'
    """
    return f"{path}.{nonce}.tmp"


def target_of(path: str) -> str:
    """Return the final path of a file with a temporary name. Every other path is returned as it is.

    >>> target_of("chk-3/_metadata.5f.tmp"), target_of("chk-3/_metadata")
    ('chk-3/_metadata', 'chk-3/_metadata')
    """
    return _TEMPORARY.sub("", path)


def job_folder(root: str, job_id: JobId) -> str:
    """Return the folder of a job below the checkpoint directory.

    >>> job_folder("s3://bucket/checkpoints/", JobId("cd61"))
    's3://bucket/checkpoints/cd61'
    """
    return below(root, job_id)


def checkpoint_folder(checkpoint_id: CheckpointId) -> str:
    """Return the folder of a checkpoint."""
    return f"chk-{checkpoint_id}"


def metadata(checkpoint_id: CheckpointId) -> str:
    """Return the path of a checkpoint's manifest."""
    return f"{checkpoint_folder(checkpoint_id)}/{METADATA}"


@final
@dataclass(frozen=True, slots=True)
class Writer:
    """The writer of state files: an operator of one subtask in one attempt."""

    attempt: Attempt
    uid: str
    subtask: int

    def own(self) -> str:
        """Return the part of file names that identifies this writer."""
        return f"{_prefix(self.attempt)}{_encode(self.uid)}-{self.subtask}"


def keyed_state(checkpoint_id: CheckpointId, writer: Writer, name: str) -> str:
    """Return the path of the file `name` of keyed state that only this checkpoint uses.

    >>> keyed_state(CheckpointId(3), Writer(Attempt(1), "count per-key", 0), "keyed")
    'chk-3/a1-count%20per%2Dkey-0-keyed'
    """
    return f"{checkpoint_folder(checkpoint_id)}/{writer.own()}-{_encode(name)}"


def list_state(checkpoint_id: CheckpointId, writer: Writer, name: str) -> str:
    """Return the path of the operator list state `name`."""
    return f"{checkpoint_folder(checkpoint_id)}/{writer.own()}-list-{_encode(name)}"


def in_flight(checkpoint_id: CheckpointId, writer: Writer, name: str) -> str:
    """Return the path of the batches that a barrier has overtaken at one end of a channel.

    >>> in_flight(CheckpointId(3), Writer(Attempt(1), "count", 0), "in12")
    'chk-3/a1-count-0-flight-in12'
    """
    return f"{checkpoint_folder(checkpoint_id)}/{writer.own()}-flight-{_encode(name)}"


def savepoint_state(writer: Writer, name: str) -> str:
    """Return the path of the file `name` of keyed state, relative to the folder of a savepoint.

    >>> savepoint_state(Writer(Attempt(1), "count", 0), "000012.sst")
    'a1-count-0-000012.sst'
    """
    return f"{writer.own()}-{_encode(name)}"


def savepoint_list(writer: Writer, name: str) -> str:
    """Return the path of the operator list state `name`, relative to the folder of a savepoint."""
    return f"{writer.own()}-list-{_encode(name)}"


def shared_state(checkpoint_id: CheckpointId, writer: Writer, name: str) -> str:
    """Return the path of the file `name` of keyed state that later checkpoints may also use.

    >>> shared_state(CheckpointId(3), Writer(Attempt(1), "count", 0), "000012.sst")
    'shared/3-a1-count-0-000012.sst'
    """
    return f"{SHARED}/{checkpoint_id}-{writer.own()}-{_encode(name)}"


def ahead_state(number: int, writer: Writer, name: str) -> str:
    """Return the path of the file `name`, the `number`-th that the writer writes ahead of its checkpoint.

    >>> ahead_state(7, Writer(Attempt(1), "count", 0), "delta-e12")
    'shared/ahead-7-a1-count-0-delta%2De12'
    """
    return f"{SHARED}/ahead-{number}-{writer.own()}-{_encode(name)}"


@final
@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of a shared file: its writer, and its checkpoint, or its `number` if it was written ahead."""

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
    """Return the path of the file that records that the attempt was begun."""
    return f"{ATTEMPTS}/{attempt}"


def epoch(owner: str) -> str:
    """Return the path of the claim by which `owner`, a number and a nonce, has taken an epoch.

    >>> epoch("2-5f")
    '_epoch/2-5f'
    """
    return f"{EPOCHS}/{owner}"


def epoch_base(owner: str) -> str:
    """Return the path of the file that records which checkpoint the owner started from.

    >>> epoch_base("2-5f")
    '_epoch/2-5f-base'
    """
    return f"{epoch(owner)}{BASE_SUFFIX}"


def lineage(owner: str, began_ms: int, digits: str) -> str:
    """Return the path of the file that records which lineage the owner has begun.

    >>> lineage("2-5f", 1700000000000, "cd61")
    '_lineage/2-5f-1700000000000-cd61'
    """
    return f"{LINEAGES}/{owner}-{began_ms}-{digits}"


def stop_intent(owner: str) -> str:
    """Return the path of the file in which the owner records the savepoint that the job is to end with.

    >>> stop_intent("2-5f")
    '_stopped/2-5f'
    """
    return f"{STOPPED}/{owner}"


def begun_savepoint(owner: str, key: str) -> str:
    """Return the path of the file in which the owner records a savepoint that it has begun.

    `key` is the `savepoint_key` of its location.

    >>> begun_savepoint("2-5f", "c0ffee")
    '_savepoint/2-5f-c0ffee'
    """
    return f"{SAVEPOINTS}/{owner}-{key}"


def id_claim(checkpoint_id: CheckpointId, attempt: Attempt) -> str:
    """Return the path of an empty file that marks the id of the checkpoint as used.

    >>> id_claim(CheckpointId(3), Attempt(1))
    'chk-3/a1-claim'
    """
    return f"{checkpoint_folder(checkpoint_id)}/{_prefix(attempt)}claim"


def attempt_of_marker(path: str) -> Attempt:
    """Return the attempt of an attempt marker; 0 for every other name.

    >>> attempt_of_marker("_attempt/12"), attempt_of_marker("_attempt/notes")
    (12, 0)
    """
    number = path.rpartition("/")[2]
    return Attempt(int(number) if number.isdecimal() else 0)


def master_address(number: int, nonce: str) -> str:
    """Return the path of the address of the job's `number`-th driver.

    >>> master_address(2, "5f")
    '_master/2-5f'
    """
    return f"{MASTERS}/{number}-{nonce}"


def master_number(path: str) -> int:
    """Return the number of the driver whose address is at `path`; 0 for every other name.

    >>> master_number("_master/2-5f"), master_number("_master/notes")
    (2, 0)
    """
    if target_of(path) != path:
        return 0
    number = path.rpartition("/")[2].partition("-")[0]
    return int(number) if number.isdecimal() else 0


def checkpoint_of(path: str) -> CheckpointId | None:
    """Return the checkpoint whose folder contains the path, or is the path; None for every other path.

    >>> checkpoint_of("chk-12/_metadata"), checkpoint_of("_result"), checkpoint_of("chk-x/a")
    (12, None, None)
    """
    found = _CHECKPOINT_FOLDER.match(path)
    return CheckpointId(int(found[1])) if found else None


def attempt_of(path: str) -> Attempt | None:
    """Return the attempt that wrote the file, None for a name without an attempt.

    >>> attempt_of("chk-3/a1-count-0-keyed"), attempt_of("shared/3-a2-count-0-000012.sst"), attempt_of("_result")
    (1, 2, None)
    """
    origin = origin_of(path)
    if origin is not None:
        return origin.attempt
    found = _OF_ATTEMPT.match(path.rpartition("/")[2])
    return Attempt(int(found[1])) if found else None


def is_state_file(path: str, *, of_savepoint: bool) -> bool:
    """Return whether a manifest may name the path, because it is a name for state as listed above.

    Such a path never leads out of its folder, and never to a file that is not state.

    >>> is_state_file("chk-3/a1-count-0-keyed", of_savepoint=False), is_state_file("a1-op-0-keyed", of_savepoint=True)
    (True, True)
    >>> is_state_file("../ef02/chk-3/a1-count-0-keyed", of_savepoint=False), is_state_file("_result", of_savepoint=True)
    (False, False)
    """
    return (_OF_SAVEPOINT if of_savepoint else _OF_CHECKPOINT).fullmatch(path) is not None


def is_of_attempt(path: str, attempt: Attempt) -> bool:
    """Return whether the state file at `path` was written by `attempt`."""
    return path.rpartition("/")[2].startswith(_prefix(attempt))


def _prefix(attempt: Attempt) -> str:
    return f"a{attempt}-"


def _encode(name: str) -> str:
    """Return the name as a part of a file name: unique, without `-` and `/`, and never too long."""
    encoded = quote(name, safe="").replace("-", "%2D")
    if len(encoded) <= _NAME_MAX:
        return encoded
    return f"{encoded[: _NAME_MAX - 41]}~{hashlib.sha1(name.encode(), usedforsecurity=False).hexdigest()}"
