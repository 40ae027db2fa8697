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
    """Write a file and delete it. Raises StorageError, naming the path, when the job could store nothing.

    `nonce` is unique: two drivers may start the job at the same time.
    """
    path = paths.probe(nonce, MASTER)
    store.write(path, [b""])
    store.delete([path])


def write_probe(store: CheckpointStore, nonce: str) -> None:
    """The master's first part: write a file for all slots to find."""
    store.write(paths.probe(nonce, MASTER), [nonce.encode()])


def answer_probe(store: CheckpointStore, nonce: str, slot: SlotIndex, host: str) -> None:
    """A slot's part: find the master's file and write one of its own.

    Raises StorageError, naming host and path, when the slot does not see what the master wrote.
    """
    path = paths.probe(nonce, MASTER)
    if store.read(path) != nonce.encode():
        raise StorageError(_not_shared(store, path, f"slot {slot} on host {host} does not see the driver's file"))
    store.write(paths.probe(nonce, f"slot-{slot}"), [nonce.encode()])


def check_probes(store: CheckpointStore, nonce: str, hosts: Mapping[SlotIndex, str]) -> None:
    """The master's second part, when every slot has answered: find their files, then delete them.

    Raises StorageError, naming host and path, for a slot whose file is not there.
    """
    for slot, host in sorted(hosts.items()):
        path = paths.probe(nonce, f"slot-{slot}")
        if store.read(path) != nonce.encode():
            raise StorageError(_not_shared(store, path, f"the driver does not see the file of slot {slot} on {host}"))
    remove_probes(store, nonce)


def remove_probes(store: CheckpointStore, nonce: str) -> None:
    """Delete the files of this proof; another driver may be at its own."""
    own = paths.probe(nonce, "")
    store.delete(path for path in store.list_files(paths.PROBES) if path.startswith(own))


def _not_shared(store: CheckpointStore, path: str, who: str) -> str:
    return (
        f"checkpoint storage is not shared: {who} {store.locate(path)}. Set the checkpoint directory to storage that "
        "the driver and all workers reach under the same path"
    )
