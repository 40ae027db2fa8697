"""What is kept of a keyed state as it lies in checkpoints, where savepoints show something else."""

from __future__ import annotations

from typing import Any

from headgate.state.files import InlineHandle
from headgate.state.formats.snapshot import decode
from headgate.state.keyed.cells import namespace_of, plain_key
from headgate.testing.harness import OperatorHarness


def kept(each: OperatorHarness, state: str = "window-contents") -> dict[Any, Any]:
    """Return the values of a state by key, or by key and namespace, from a whole snapshot of the hash map."""
    keyed = each.snapshot().keyed
    if keyed is None:
        return {}
    (file,) = keyed.base
    assert isinstance(file.handle, InlineHandle)
    saved = decode(file.handle.data, "the checkpoint", {})
    at = [meta.name for meta in saved.states].index(state)
    found = {}
    for _, key, *values in saved.entries(each.setup.key_groups):
        namespace = namespace_of(key)
        if values[at] is not None:
            found[plain_key(key) if namespace is None else (plain_key(key), namespace)] = values[at]
    return found
