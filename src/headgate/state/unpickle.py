"""Unpickling of stored state, also when a class has moved since: `headgate.state.moved-classes` says where to.

A mapping goes from an old dotted name to a new one. What lies below a name moves along with it, so a module or a
package can be mapped as well as a class; of several names that fit, the longest counts.
"""

from __future__ import annotations

import importlib
import io
import pickle
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO, Final, final

from headgate.errors import RestoreError

OPTION_KEY: Final = "headgate.state.moved-classes"


def load(source: bytes | BinaryIO, moved: Mapping[str, str], where: str) -> Any:
    """Return the next object pickled in `source`: bytes, or a stream that can seek. Blocks as reading the stream does.

    Raises RestoreError that begins with `where` and names the class, when one is neither in its place nor in `moved`.
    With nothing moved this is plain `pickle`.

    >>> load(pickle.dumps(1.5), {}, "an example")
    1.5
    """
    stream = io.BytesIO(source) if isinstance(source, bytes) else source
    start = stream.tell()
    try:
        return _Unpickler(stream, moved).load() if moved else pickle.load(stream)  # noqa: S301  # our own storage
    except (AttributeError, ImportError) as error:
        stream.seek(start)
        raise _failure(stream, moved, where, error) from error


def loader(moved: Mapping[str, str], where: str) -> Callable[[bytes], Any]:
    """Return a function that unpickles bytes as `load` does, for codecs."""
    if moved:
        return lambda data: load(data, moved, where)

    loads = pickle.loads

    def load_plain(data: bytes) -> Any:
        try:
            return loads(data)
        except (AttributeError, ImportError):
            return load(data, moved, where)

    return load_plain


@final
class _Missing(Exception):
    """A class was not found. Never leaves this module."""


@final
class _Unpickler(pickle.Unpickler):
    def __init__(self, stream: BinaryIO, moved: Mapping[str, str]) -> None:
        super().__init__(stream)
        self._moved = moved

    def find_class(self, module: str, name: str) -> Any:
        old = f"{module}.{name}"
        new = _moved_name(old, self._moved)
        try:
            return super().find_class(module, name) if new is None else _find(new)
        except (AttributeError, ImportError) as error:
            raise _Missing(old, new, str(error)) from error


def _moved_name(old: str, moved: Mapping[str, str]) -> str | None:
    prefix = old
    while prefix:
        if prefix in moved:
            return moved[prefix] + old[len(prefix) :]
        prefix = prefix.rpartition(".")[0]
    return None


def _find(name: str) -> Any:
    """Return what a dotted name stands for: a module as long as there is one, then attributes."""
    module = name.rpartition(".")[0]
    while module:
        try:
            found = importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{module}.".startswith(f"{error.name}."):
                raise
            module = module.rpartition(".")[0]
            continue
        for attribute in name[len(module) + 1 :].split("."):
            found = getattr(found, attribute)
        return found
    raise ModuleNotFoundError(f"no module of {name!r} can be imported")


def _failure(stream: BinaryIO, moved: Mapping[str, str], where: str, error: Exception) -> RestoreError:
    """Read once more, slowly, to learn which class is missing; the error may also be one of a class's own code."""
    try:
        _Unpickler(stream, moved).load()
    except _Missing as missing:
        return _missing(where, *missing.args)
    except Exception as again:  # noqa: BLE001  # whatever a user's class raises
        error = again
    return RestoreError(f"{where} holds an object that cannot be unpickled: {type(error).__name__}: {error}")


def _missing(where: str, old: str, new: str | None, error: str) -> RestoreError:
    if new is not None:
        return RestoreError(
            f"{where} holds objects of the class {old}, which {OPTION_KEY} maps to {new}, but that is not there "
            f"({error}); correct the option, or define the class under its new name"
        )
    return RestoreError(
        f"{where} holds objects of the class {old}, which is not there any more ({error}); define it under its old "
        f"name again, or say where it is now: {OPTION_KEY}={old}:new.module.Class"
    )
