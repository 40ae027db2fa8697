"""Which backend holds the state of a job."""

from __future__ import annotations

from headgate.state.backend import BackendContext, KeyedBackend
from headgate.state.hashmap import HashMapBackend


def open_backend(context: BackendContext) -> KeyedBackend:
    """Return a new, empty backend of the kind that the job's settings ask for (`state.backend.type`)."""
    return HashMapBackend(context)
