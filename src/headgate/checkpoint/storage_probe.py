"""Probe files: they show that the job's storage can be written, and that the driver and all slots share it.

All functions block, and raise StorageError when storage fails.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from headgate.checkpoint import paths
from headgate.checkpoint.store import CheckpointStore
from headgate.errors import StorageError
from headgate.ids import SlotIndex

MASTER: Final = "master"


def check_writable(store: CheckpointStore, nonce: str) -> None:
    """Write a file and delete it. Raises StorageError, naming the path, when storage cannot be written.

    `nonce` is unique, because two drivers may start the job at the same time.
    """
    path = paths.probe(nonce, MASTER)
    store.write(path, [b""])
    store.delete([path])


def write_probe(store: CheckpointStore, nonce: str) -> None:
    """Write the driver's probe file, for all slots to read. This is the driver's first part of the proof."""
    store.write(paths.probe(nonce, MASTER), [nonce.encode()])


def answer_probe(store: CheckpointStore, nonce: str, slot: SlotIndex, host: str) -> None:
    """Read the driver's probe file and write the slot's. This is a slot's part of the proof.

    Raises StorageError, naming host and path, when the slot does not see the driver's file.
    """
    path = paths.probe(nonce, MASTER)
    if store.read(path) != nonce.encode():
        raise StorageError(_not_shared(store, path, f"slot {slot} on host {host} does not see the driver's file"))
    store.write(paths.probe(nonce, f"slot-{slot}"), [nonce.encode()])


def check_probes(store: CheckpointStore, nonce: str, hosts: Mapping[SlotIndex, str]) -> None:
    """Read the probe files of all slots, then delete all files. This is the driver's second part of the proof.

    Call this when every slot has answered. Raises StorageError, naming host and path, when a slot's file is missing.
    """
    for slot, host in sorted(hosts.items()):
        path = paths.probe(nonce, f"slot-{slot}")
        if store.read(path) != nonce.encode():
            raise StorageError(_not_shared(store, path, f"the driver does not see the file of slot {slot} on {host}"))
    remove_probes(store, nonce)


def remove_probes(store: CheckpointStore, nonce: str) -> None:
    """Delete the probe files of this proof. Probe files of other drivers stay."""
    own = paths.probe(nonce, "")
    store.delete(path for path in store.list_files(paths.PROBES) if path.startswith(own))


def _not_shared(store: CheckpointStore, path: str, who: str) -> str:
    return (
        f"checkpoint storage is not shared: {who} {store.locate(path)}. Set the checkpoint directory to storage that "
        "the driver and all workers reach under the same path"
    )
