"""Pickling by value: objects whose classes or functions no module holds, such as `defaultdict(lambda: 0)`.

For what travels between processes of a job, which all run one version of Python. Bytecode does not survive the next
version, so nothing of this may be stored. `pickle` reads the bytes.

A class that this process has already stays as it is. cloudpickle alone would fill it again with each object, and undo
what the program has done to its attributes.
"""

from __future__ import annotations

import io
import pickle
import weakref
from collections.abc import Callable
from types import CodeType
from typing import Any, Final, final

import cloudpickle
from cloudpickle import cloudpickle as internals

pickled_here: Final[weakref.WeakSet[type]] = weakref.WeakSet()
"""The classes that this process has pickled."""

_filled: Final[weakref.WeakSet[type]] = weakref.WeakSet()
"""The classes that this process has unpickled."""


class Pickler(cloudpickle.Pickler):  # type: ignore[misc]  # cloudpickle has no types
    """Notes the classes that it pickles, and lets code keep the name of its file, which cloudpickle 3.1.3 leaves out.

    Tracebacks name that file and quote its lines.
    """

    def reducer_override(self, obj: Any) -> Any:
        """See `cloudpickle.Pickler`."""
        if isinstance(obj, CodeType):
            return _code_of, (obj.co_filename, *internals._code_reduce(obj))
        if isinstance(obj, type):
            pickled_here.add(obj)
        return super().reducer_override(obj)


def _code_of(file_name: str, make: Callable[..., CodeType], arguments: tuple[Any, ...]) -> CodeType:
    return make(*arguments).replace(co_filename=file_name)


class Unpickler(pickle.Unpickler):
    """Fills the classes that it unpickles, except those that were pickled in this process, as on MiniCluster.

    Their methods would be replaced by copies that see the globals of back then.
    """

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        """See `pickle.Unpickler`."""
        found = super().find_class(module_name, global_name)
        return self.fill if found is internals._class_setstate else found

    def fill(self, new: type, state: Any) -> type:
        """Give a class its attributes."""
        if new in pickled_here:
            return new
        _filled.add(new)
        filled: type = internals._class_setstate(new, state)
        return filled


@final
class _RecordUnpickler(Unpickler):
    """Fills only classes that are new to this process."""

    def fill(self, new: type, state: Any) -> type:
        return new if new in _filled else super().fill(new, state)


@final
class _Enclosed:
    """What unpickles as `loads(data)`."""

    __slots__ = ("_data",)

    def __init__(self, data: bytes) -> None:
        self._data = data

    def __reduce__(self) -> tuple[Callable[[bytes], Any], tuple[bytes]]:
        return loads, (self._data,)


def code_dumps(value: Any) -> bytes:
    """Return the value pickled for `Unpickler`. Raises whatever the pickling raises."""
    file = io.BytesIO()
    Pickler(file, 5).dump(value)
    return file.getvalue()


def dumps(value: Any) -> bytes:
    """Return the value pickled for `pickle.loads`. Raises whatever the pickling raises.

    >>> from collections import defaultdict
    >>> counts = pickle.loads(dumps(defaultdict(lambda: 7)))
    >>> counts["a"]
    7
    """
    return pickle.dumps(_Enclosed(code_dumps(value)), 5)


def loads(data: bytes) -> Any:
    """Return the value that `dumps` has enclosed."""
    return _RecordUnpickler(io.BytesIO(data)).load()


_MARK: Final = __name__.encode()


def is_by_value(data: bytes | memoryview) -> bool:
    """Return whether `dumps` has made these bytes.

    >>> is_by_value(dumps(1)), is_by_value(pickle.dumps(1, 5))
    (True, False)
    """
    return _MARK in bytes(data[:64])
