"""Unpickles stored state, even if a class has moved: `headgate.state.moved-classes` maps old names to new ones.

A mapping goes from an old dotted name to a new one, and covers all names below it. So it can map a module or a package
as well as a class. If several mappings fit, the longest old name counts.
"""

from __future__ import annotations

import importlib
import io
import pickle
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO, Final, final

from headgate.errors import RestoreError
from headgate.options import MOVED_CLASSES
from headgate.state.formats.missing_module import how_to_ship

_OWN: Final = {
    "headgate.connectors.file_reader": "headgate.connectors.files.line_reader",
    "headgate.connectors.parquet": "headgate.connectors.files.parquet_source",
    "headgate.connectors.part_files": "headgate.connectors.files.part_files",
    "headgate.connectors.places": "headgate.connectors.files.places",
}
"""The new names of modules of headgate whose classes are in checkpoints of earlier versions."""


class MissingClassError(RestoreError):
    """A class of stored objects is missing; `name` is its dotted name."""

    def __init__(self, message: str, name: str) -> None:
        super().__init__(message)
        self.name = name


def load(source: bytes | BinaryIO, moved: Mapping[str, str], where: str) -> Any:
    """Return the next object pickled in `source`: bytes, or a seekable stream. Blocks if reading the stream blocks.

    Raises RestoreError with a message that begins with `where`, and its subclass MissingClassError if neither the class
    nor a new name of it in `moved` exists. Without moved classes this is as fast as `pickle`.

    >>> load(pickle.dumps(1.5), {}, "an example")
    1.5
    """
    stream = io.BytesIO(source) if isinstance(source, bytes) else source
    if moved:
        return _load_slowly(stream, moved, where)
    start = stream.tell()
    try:
        return pickle.load(stream)  # noqa: S301  # our own storage
    except Exception:  # noqa: BLE001  # a user's class may raise anything
        stream.seek(start)
        return _load_slowly(stream, moved, where)


def loader(moved: Mapping[str, str], where: str) -> Callable[[bytes], Any]:
    """Return a function that unpickles bytes as `load` does."""
    if moved:
        return lambda data: load(data, moved, where)
    loads = pickle.loads

    def load_plain(data: bytes) -> Any:
        try:
            return loads(data)
        except Exception:  # noqa: BLE001  # a user's class may raise anything
            return load(data, moved, where)

    return load_plain


def _load_slowly(stream: BinaryIO, moved: Mapping[str, str], where: str) -> Any:
    reader = _Unpickler(stream, moved)
    try:
        return reader.load()
    except Exception as error:
        raise reader.trouble(where, error) from error


@final
class _Unpickler(pickle.Unpickler):
    """Looks classes up in `moved`, and remembers a class that is missing."""

    def __init__(self, stream: BinaryIO, moved: Mapping[str, str]) -> None:
        super().__init__(stream)
        self._moved = {**_OWN, **moved}
        self._missing: tuple[str, str | None] | None = None

    def find_class(self, module: str, name: str) -> Any:
        old = f"{module}.{name}"
        new = _moved_name(old, self._moved)
        try:
            return super().find_class(module, name) if new is None else _find(new)
        except (AttributeError, ImportError):
            self._missing = (old, new)
            raise

    def trouble(self, where: str, error: Exception) -> RestoreError:
        """Return the error to raise after `load` raised `error`."""
        if self._missing is None:
            what = f"an object that cannot be unpickled: {type(error).__name__}: {error}"
            return RestoreError(f"{where} holds {what}")
        old, new = self._missing
        if new is not None:
            return RestoreError(
                f"{where} holds objects of the class {old}, which {MOVED_CLASSES.key} maps to {new}, but that does not "
                f"exist ({error}); correct the option, or define the class under its new name"
            )
        return MissingClassError(
            f"{where} holds objects of the class {old}, which no longer exists ({error}); define it under its old "
            f"name again, or say where it is now: {MOVED_CLASSES.key}={old}:new.module.Class{_or_ship(error)}",
            old,
        )


def _or_ship(error: Exception) -> str:
    if not isinstance(error, ModuleNotFoundError) or error.name is None:
        return ""
    return f". If the program has it: {how_to_ship(error.name)}"


def _moved_name(old: str, moved: Mapping[str, str]) -> str | None:
    prefix = old
    while prefix:
        if prefix in moved:
            return moved[prefix] + old[len(prefix) :]
        prefix = prefix.rpartition(".")[0]
    return None


def _find(name: str) -> Any:
    """Return the object of a dotted name: import the longest prefix that is a module, then look up attributes."""
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
