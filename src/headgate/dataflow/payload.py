"""Batches as bytes: what travels between slots, and what is kept of batches that a barrier has overtaken."""

from __future__ import annotations

import pickle

from headgate.elements import Batch

Payload = bytes | memoryview
"""The pickled (records, timestamps, keys) of a batch. A batch that came over the network stays one until it is read."""


def pickled(batch: Batch) -> bytes:
    """Return the batch as bytes. Raises whatever the pickling of a record raises."""
    return pickle.dumps((batch.records, batch.timestamps, batch.keys), 5)


def unpickled(payload: Payload) -> Batch:
    """Return the batch. Raises whatever the class of a record raises."""
    return Batch(*pickle.loads(payload))  # noqa: S301  # from an authenticated peer, or our own storage


def culprit(batch: Batch) -> object:
    """Return the first record that cannot be pickled, None if each can."""
    for record in batch.records:
        try:
            pickle.dumps(record, 5)
        except Exception:  # noqa: BLE001  # whatever a class of the user's raises
            return record
    return None
