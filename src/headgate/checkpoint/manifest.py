"""The manifest of a checkpoint or savepoint, kept in its `_metadata` file: the state of each operator, and its files.

Format, version 5: a sealed JSON document (see `seal`) with

    format "headgate-checkpoint", version, job_id, checkpoint_id, attempt, epoch, parent (the completed checkpoint
    before it, or null), nonce, trigger_ms (wall clock), final (whether it ended a bounded job), savepoint (null for a
    checkpoint, else the format "canonical" or "native"), in_flight: a list of
      uid, input, source_uid, source, target, sequence, keyed, arrow and typed (only if true), and the fields of its
        handle: the batches of a channel that an unaligned barrier has overtaken
    operators: a list of
      uid, name, parallelism, max_parallelism, subtasks: {index: state}, where a state is
        keyed: null or {key_groups: [first, last], kind, base: [file, ...], log: [file, ...]}, where a file is
          {name} and the fields of its handle
        lists: {name: {mode, type} and the fields of its handle}, and a handle has
          {path, size_bytes, crc32}, where the path is relative to the folder of the job or savepoint, and one of the
          names for state in `paths`; or {inline: base64}

`epoch` and nonce together name the driver that has stored the manifest. Version 4 lacks typed, and version 3 also arrow
and lists of mode "keyed"; a manifest has the lowest version from 3 on that knows all of it. Version 2 has neither
nonce, savepoint nor in_flight. All are read. A reader refuses unknown versions.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, final

from headgate.checkpoint import paths
from headgate.checkpoint.drivers.epochs import EpochOwner
from headgate.checkpoint.handles import InFlightState, ListStateHandle, OperatorState, SubtaskState
from headgate.checkpoint.seal import seal, unseal
from headgate.elements import SavepointFormat
from headgate.errors import DamagedFileError, RestoreError
from headgate.ids import Attempt, CheckpointId, JobId, SubtaskId
from headgate.state.files import FileHandle, InlineHandle, KeyedState, StateFile, StateHandle
from headgate.state.operator.list_elements import ListMode

FORMAT: Final = "headgate-checkpoint"
VERSION: Final = 5
OLDEST_VERSION: Final = 2


@final
class Arrival(Enum):
    """How records are distributed to the subtasks of an operator's input."""

    KEYED = "keyed"
    """Each record goes to one subtask, by its key group."""
    DEALT = "dealt"
    """Each record goes to one subtask, from an exchange or from the previous operator of the chain."""
    COPIED = "copied"
    """Each record goes to all subtasks."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorShape:
    """An operator of the current job. `vertex` is the vertex that contains it. A source has no `inputs`.

    `uid_hash` is another uid under which snapshots may hold the operator's state.
    """

    uid: str
    name: str
    vertex: int
    parallelism: int
    max_parallelism: int
    inputs: tuple[Arrival, ...] = (Arrival.DEALT,)
    uid_hash: str | None = None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorManifest:
    """The state of one operator in the checkpoint, by subtask index."""

    uid: str
    name: str
    parallelism: int
    max_parallelism: int
    subtasks: dict[int, OperatorState]

    def handles(self) -> list[StateHandle]:
        """Return the handles of all the operator's state."""
        return [handle for state in self.subtasks.values() for handle in state.handles()]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """A completed checkpoint, or a completed savepoint in the format `savepoint`."""

    job_id: JobId
    checkpoint_id: CheckpointId
    attempt: Attempt
    epoch: int
    parent: CheckpointId | None
    trigger_ms: int
    final: bool
    operators: tuple[OperatorManifest, ...]
    savepoint: SavepointFormat | None = None
    in_flight: tuple[InFlightState, ...] = ()
    nonce: str = ""

    @property
    def owner(self) -> EpochOwner:
        """The driver that has stored the manifest."""
        return EpochOwner(self.epoch, self.nonce)

    def handles(self) -> list[StateHandle]:
        """Return the handles of all state that the checkpoint needs."""
        own = [handle for operator in self.operators for handle in operator.handles()]
        return [*own, *(each.handle for each in self.in_flight)]

    def files(self) -> frozenset[str]:
        """Return the paths of all state files that the checkpoint needs."""
        return frozenset(handle.path for handle in self.handles() if isinstance(handle, FileHandle))


def gather_operators(
    shapes: Iterable[OperatorShape], states: Mapping[SubtaskId, SubtaskState]
) -> tuple[OperatorManifest, ...]:
    """Return the state of all operators, from the acknowledged states of subtasks."""
    found = {(state.uid, id_.index): state for id_, subtask in states.items() for state in subtask.operators}
    return tuple(
        OperatorManifest(
            uid=shape.uid,
            name=shape.name,
            parallelism=shape.parallelism,
            max_parallelism=shape.max_parallelism,
            subtasks={
                index: found[shape.uid, index] for index in range(shape.parallelism) if (shape.uid, index) in found
            },
        )
        for shape in shapes
    )


def encode(manifest: Manifest) -> bytes:
    """Return the contents of the `_metadata` file."""
    return seal(
        {
            "format": FORMAT,
            "version": _version_of(manifest),
            "job_id": manifest.job_id,
            "checkpoint_id": manifest.checkpoint_id,
            "attempt": manifest.attempt,
            "epoch": manifest.epoch,
            "nonce": manifest.nonce,
            "parent": manifest.parent,
            "trigger_ms": manifest.trigger_ms,
            "final": manifest.final,
            "savepoint": None if manifest.savepoint is None else manifest.savepoint.value,
            "in_flight": [_encode_in_flight(each) for each in manifest.in_flight],
            "operators": [_encode_operator(operator) for operator in manifest.operators],
        }
    )


def _version_of(manifest: Manifest) -> int:
    """Return the lowest version that knows all that the manifest has, from 3 on."""
    if any(each.typed for each in manifest.in_flight):
        return VERSION
    states = [state for operator in manifest.operators for state in operator.subtasks.values()]
    has_keyed_lists = any(own.mode is ListMode.KEYED for state in states for own in state.lists.values())
    return 4 if has_keyed_lists or any(each.arrow for each in manifest.in_flight) else 3


def decode(data: bytes, where: str) -> Manifest:
    """Return the manifest in `data`. `where` is the full path, for messages.

    Raises DamagedFileError when a byte is missing or changed, or when the manifest names a file that is not state of
    its own job or savepoint; RestoreError for an unknown version.
    """
    document = unseal(data, where)
    if document.get("format") != FORMAT:
        raise DamagedFileError(f"{where} is not a checkpoint manifest: its format is {document.get('format')!r}")
    if document.get("version") not in range(OLDEST_VERSION, VERSION + 1):
        raise RestoreError(
            f"{where} has format version {document.get('version')}, and this headgate reads versions {OLDEST_VERSION} "
            f"to {VERSION}: "
            "restore it with the release that wrote it, or a later one"
        )
    manifest = Manifest(
        job_id=JobId(document["job_id"]),
        checkpoint_id=CheckpointId(document["checkpoint_id"]),
        attempt=Attempt(document["attempt"]),
        epoch=document["epoch"],
        parent=None if document["parent"] is None else CheckpointId(document["parent"]),
        trigger_ms=document["trigger_ms"],
        final=document["final"],
        operators=tuple(_decode_operator(operator) for operator in document["operators"]),
        savepoint=SavepointFormat(document["savepoint"]) if document.get("savepoint") else None,
        in_flight=tuple(_decode_in_flight(each) for each in document.get("in_flight", ())),
        nonce=document.get("nonce", ""),
    )
    is_savepoint = manifest.savepoint is not None
    foreign = sorted(path for path in manifest.files() if not paths.is_state_file(path, of_savepoint=is_savepoint))
    if foreign:
        raise DamagedFileError(
            f"{where} names {foreign[0]!r}, which is not a state file in the folder of its own "
            f"{'savepoint' if is_savepoint else 'job'}: headgate did not write this manifest, or it was changed"
        )
    return manifest


def _encode_in_flight(state: InFlightState) -> dict[str, object]:
    return {
        "uid": state.uid,
        "input": state.input_index,
        "source_uid": state.source_uid,
        "source": state.source,
        "target": state.target,
        "sequence": state.sequence,
        "keyed": state.keyed,
        **({"arrow": True} if state.arrow else {}),
        **({"typed": True} if state.typed else {}),
        **_encode_handle(state.handle),
    }


def _decode_in_flight(document: dict[str, Any]) -> InFlightState:
    return InFlightState(
        uid=document["uid"],
        input_index=document["input"],
        source_uid=document["source_uid"],
        source=document["source"],
        target=document["target"],
        sequence=document["sequence"],
        handle=_decode_handle(document),
        keyed=document["keyed"],
        arrow=document.get("arrow", False),
        typed=document.get("typed", False),
    )


def _encode_operator(operator: OperatorManifest) -> dict[str, object]:
    return {
        "uid": operator.uid,
        "name": operator.name,
        "parallelism": operator.parallelism,
        "max_parallelism": operator.max_parallelism,
        "subtasks": {str(index): _encode_state(state) for index, state in operator.subtasks.items()},
    }


def _decode_operator(document: dict[str, Any]) -> OperatorManifest:
    uid = document["uid"]
    return OperatorManifest(
        uid=uid,
        name=document["name"],
        parallelism=document["parallelism"],
        max_parallelism=document["max_parallelism"],
        subtasks={int(index): _decode_state(uid, state) for index, state in document["subtasks"].items()},
    )


def _encode_state(state: OperatorState) -> dict[str, object]:
    return {
        "keyed": None if state.keyed is None else _encode_keyed(state.keyed),
        "lists": {name: _encode_list(own) for name, own in state.lists.items()},
    }


def _decode_state(uid: str, document: dict[str, Any]) -> OperatorState:
    keyed = document["keyed"]
    return OperatorState(
        uid=uid,
        keyed=None if keyed is None else _decode_keyed(keyed),
        lists={name: _decode_list(own) for name, own in document["lists"].items()},
    )


def _encode_list(own: ListStateHandle) -> dict[str, object]:
    return {"mode": own.mode.value, "type": own.type, **_encode_handle(own.handle)}


def _decode_list(document: dict[str, Any]) -> ListStateHandle:
    return ListStateHandle(ListMode(document["mode"]), _decode_handle(document), document["type"])


def _encode_keyed(keyed: KeyedState) -> dict[str, object]:
    return {
        "key_groups": keyed.key_groups,
        "kind": keyed.kind,
        "key_format": keyed.key_format,
        "base": [_encode_file(file) for file in keyed.base],
        "log": [_encode_file(file) for file in keyed.log],
    }


def _decode_keyed(document: dict[str, Any]) -> KeyedState:
    first, last = document["key_groups"]
    return KeyedState(
        key_groups=(first, last),
        kind=document["kind"],
        key_format=document.get("key_format", 1),
        base=tuple(_decode_file(file) for file in document["base"]),
        log=tuple(_decode_file(file) for file in document["log"]),
    )


def _encode_file(file: StateFile) -> dict[str, object]:
    return {"name": file.name, **_encode_handle(file.handle)}


def _decode_file(document: dict[str, Any]) -> StateFile:
    return StateFile(document["name"], _decode_handle(document))


def _encode_handle(handle: StateHandle) -> dict[str, object]:
    if isinstance(handle, InlineHandle):
        return {"inline": base64.b64encode(handle.data).decode()}
    return {"path": handle.path, "size_bytes": handle.size_bytes, "crc32": handle.crc32}


def _decode_handle(document: dict[str, Any]) -> StateHandle:
    if "inline" in document:
        return InlineHandle(base64.b64decode(document["inline"], validate=True))
    return FileHandle(document["path"], document["size_bytes"], document["crc32"])
