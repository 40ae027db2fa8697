"""The proof that the driver and all slots of a launch see the same checkpoint storage."""

from __future__ import annotations

from typing import final

from headgate.checkpoint.storage_probe import check_probes, remove_probes, write_probe
from headgate.checkpoint.store import CheckpointStore
from headgate.errors import StorageError
from headgate.ids import Launch, SlotIndex


@final
class StorageProof:
    """The driver's part in the proof of one launch. Its methods read and write small files."""

    def __init__(self, store: CheckpointStore, nonce: str, launch: Launch, slots: int) -> None:
        self.nonce = nonce
        self._store = store
        self._launch = launch
        self._slots = slots
        self._hosts: dict[SlotIndex, str] = {}

    def begin(self) -> None:
        """Write the file that slots are to find. Raises `StorageError`."""
        write_probe(self._store, self.nonce)

    def sized(self, launch: Launch, slots: int) -> None:
        """The launch has so many slots."""
        if launch == self._launch:
            self._slots = slots

    def answered(self, launch: Launch, slot: SlotIndex, host: str) -> str | None:
        """Return why storage is not shared, None while it seems so; looks when the last slot has answered.

        A slot of an earlier launch proves nothing: it may come late, when its executor was frozen meanwhile.
        """
        if launch != self._launch:
            return None
        self._hosts[slot] = host
        if len(self._hosts) < self._slots:
            return None
        try:
            check_probes(self._store, self.nonce, self._hosts)
        except StorageError as error:
            return str(error)
        return None

    def remove(self) -> None:
        """Delete the files of the proof. Raises `StorageError`."""
        remove_probes(self._store, self.nonce)
