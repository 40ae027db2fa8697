"""Pickling by value, for objects whose classes or functions are in no module, such as `defaultdict(lambda: 0)`.

Use it only for values that travel between processes of a job, which all run one version of Python. The bytes contain
bytecode, which another version cannot run, so they must not be stored. `pickle` reads them.

A class that this process already has stays as it is. cloudpickle alone would set the attributes of the class again with
each object, and undo changes that the program has made to them.
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
    """Records the classes that it pickles, and keeps the file name of code, which cloudpickle 3.1.3 leaves out.

    Tracebacks name the file and quote its lines.
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
    """Sets attributes of the classes that it unpickles, except classes pickled in this process, as on MiniCluster.

    Their methods would be replaced by copies that see the globals as they were at pickling.
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
    """Sets attributes only of classes that are new to this process."""

    def fill(self, new: type, state: Any) -> type:
        return new if new in _filled else super().fill(new, state)


@final
class _Enclosed:
    """An object that unpickles as `loads(data)`."""

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
    """Return the value that `dumps` has pickled."""
    return _RecordUnpickler(io.BytesIO(data)).load()


_MARK: Final = __name__.encode()


def is_by_value(data: bytes | memoryview) -> bool:
    """Return whether `dumps` has made these bytes.

    >>> is_by_value(dumps(1)), is_by_value(pickle.dumps(1, 5))
    (True, False)
    """
    return _MARK in bytes(data[:64])
