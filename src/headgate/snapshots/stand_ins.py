"""Stand-ins: classes that replace missing classes of stored objects.

`moved_to` returns the name to which `headgate.state.moved-classes` maps a missing class; `absent` has a stand-in for
every dotted name. A stand-in object keeps only the name of its class. It can be pickled again.
"""

from __future__ import annotations

from typing import Any, Final


class _Named(type):
    """The class of stand-in classes. Their attributes are stand-ins of longer dotted names."""

    def __getattr__(cls, name: str) -> _Named:
        if name.startswith("__") and name != "__main__":
            raise AttributeError(name)
        return _stand_in(f"{cls.__qualname__}.{name}")


class _StandIn(metaclass=_Named):
    """An object whose class is missing."""

    def __new__(cls, *_: object, **__: object) -> Any:
        return super().__new__(cls)

    def __init__(self, *_: object, **__: object) -> None: ...

    def __setstate__(self, state: object) -> None: ...

    def append(self, item: object) -> None: ...

    def extend(self, items: object) -> None: ...

    def __setitem__(self, key: object, value: object) -> None: ...

    def __repr__(self) -> str:
        return f"(pickled {type(self).__qualname__.removeprefix('absent.')})"


_made: Final[dict[str, _Named]] = {}


def _stand_in(name: str) -> _Named:
    if name not in _made:
        _made[name] = _Named(name.rpartition(".")[2], (_StandIn,), {"__module__": __name__, "__qualname__": name})
    return _made[name]


absent: Final = _stand_in("absent")


def is_stand_in(found: object) -> bool:
    """Return whether an object, or a class, is a stand-in."""
    return isinstance(found, _StandIn | _Named)


def moved_to(name: str) -> str:
    """Return the dotted name of the stand-in of a class.

    >>> moved_to("shop.Order")
    'headgate.snapshots.stand_ins.absent.shop.Order'
    """
    return f"{__name__}.absent.{name}"
