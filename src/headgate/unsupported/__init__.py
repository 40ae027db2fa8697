"""Features of PyFlink that headgate does not have (yet): one table, and the errors that report them.

Modules with PyFlink's names end with `unsupported.guard(__name__, globals())`. Then reading, importing or calling a
name that the table lists raises an UnsupportedError, which names the feature and the alternative. An import of a
missing module is refused by a finder. Code that meets an unsupported value calls `refuse`.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import MappingProxyType, ModuleType
from typing import Final, NoReturn, final

from headgate.errors import IgnoredWarning, UnsupportedAttributeError, UnsupportedError, UnsupportedImportError
from headgate.unsupported.reexports import HOMES
from headgate.unsupported.table import FEATURES, Feature

_ROOT: Final = "headgate."


def listed(lines: str) -> list[str]:
    """Return the names of a field of the table: `owner: a b` gives owner.a and owner.b, any other line gives itself."""
    names = []
    for line in filter(None, map(str.strip, lines.splitlines())):
        owner, colon, members = line.partition(": ")
        names += [f"{owner}.{member}" for member in members.split()] if colon else [line]
    return names


def _by_name(field: str) -> Mapping[str, Feature]:
    found = {name: feature for feature in FEATURES for name in listed(getattr(feature, field))}
    return MappingProxyType(found)


NAMES: Final = _by_name("names")
"""Missing modules, classes and members, by their names below `pyflink.`"""
VALUES: Final = _by_name("values")
"""Names that exist, but whose use is refused."""
OPTIONS: Final = _by_name("options")
"""Refused values of configuration keys, as `key=value`."""


def find(name: str) -> Feature | None:
    """Return the missing feature to which the name, without a leading `pyflink.`, belongs."""
    while name:
        if name in NAMES:
            return NAMES[name]
        name = name.rpartition(".")[0]
    return None


def _message(name: str, feature: Feature) -> str:
    when = "not supported yet" if feature.planned else "not supported, and not planned"
    return f"{name} is {when} ({feature.title}): {feature.instead}. docs/reference/compat.md lists what works."


def refuse(name: str) -> NoReturn:
    """Raise the UnsupportedError for a value, a member or `key=value` of the table.

    >>> refuse("state.backend.type=forst")
    Traceback (most recent call last):
    headgate.errors.UnsupportedError: state.backend.type=forst is not supported...
    """
    feature = VALUES.get(name) or OPTIONS.get(name) or NAMES[name]
    raise UnsupportedError(_message(name, feature))


def ignored(what: str, why: str) -> None:
    """Warn that an argument was accepted but has no effect. Call it from the method that the program calls."""
    warnings.warn(f"{what} changes nothing here: {why}", IgnoredWarning, stacklevel=3)


def check_option(key: str, value: object) -> None:
    """Raise UnsupportedError if the table refuses this value of a configuration key."""
    given = f"{key}={str(value).strip()}"
    for name, feature in OPTIONS.items():
        if name.lower() == given.lower():
            raise UnsupportedError(_message(given, feature))


@final
class Missing:
    """A member that a class does not have. Reading it raises an AttributeError, so `hasattr` returns False."""

    def __init__(self, name: str, feature: Feature) -> None:
        self._name = name
        self._feature = feature

    def __get__(self, instance: object, owner: type | None = None) -> NoReturn:
        raise UnsupportedAttributeError(_message(self._name, self._feature))


def guard(module_name: str, namespace: dict[str, object]) -> None:
    """Make a module refuse the names that the table lists for it. Called at the end of the module with `globals()`.

    Each listed member of a class becomes a `Missing`; the module gets a `__getattr__`.
    """
    module = module_name.removeprefix(_ROOT)
    guard_members(module, namespace)

    def __getattr__(attribute: str) -> object:
        feature = NAMES.get(f"{module}.{attribute}") or _reexported(module, attribute)
        if feature is not None:
            raise UnsupportedAttributeError(_message(f"{module}.{attribute}", feature))
        if (module, attribute) not in HOMES:
            raise AttributeError(f"module {module_name!r} has no attribute {attribute!r}")
        try:
            return _from_home(module, attribute)
        except UnsupportedError as error:
            raise UnsupportedAttributeError(str(error)) from None

    namespace["__getattr__"] = __getattr__
    # `from module import name` replaces the error of __getattr__ by its own ImportError, unless the module looks like a
    # package: then Python asks the finders for `module.name`, and the finder below raises the detailed error.
    namespace.setdefault("__path__", [])


def guard_members(module: str, namespace: Mapping[str, object]) -> None:
    """Make classes refuse the members that the table lists for them in PyFlink's `module`.

    The modules that define these classes call it. So the classes also refuse the members where no code imports the
    module with PyFlink's name, as in a slot.
    """
    for name, feature in NAMES.items():
        if name.startswith(f"{module}."):
            _refuse_member(name, name.removeprefix(f"{module}."), feature, namespace)


def _refuse_member(name: str, path: str, feature: Feature, namespace: Mapping[str, object]) -> None:
    owner_path, _, member = path.rpartition(".")
    if not owner_path:
        return
    first, *rest = owner_path.split(".")
    owner = namespace.get(first)
    for part in rest:
        owner = vars(owner).get(part) if isinstance(owner, type) else None
    if isinstance(owner, type) and not hasattr(owner, member):
        setattr(owner, member, Missing(name, feature))


def _from_home(module: str, attribute: str) -> object:
    """Return the object that a module of PyFlink re-exports from another module. Raises UnsupportedError."""
    return getattr(import_module(_ROOT + HOMES[module, attribute]), attribute)


def _reexported(package: str, attribute: str) -> Feature | None:
    """Return the missing feature of a class that PyFlink's package re-exports from one of its modules."""
    for name, feature in NAMES.items():
        owner, _, last = name.rpartition(".")
        if last == attribute and attribute[:1].isupper() and owner.rpartition(".")[0] == package:
            return feature
    return None


@final
class _Finder:
    """Refuses imports of listed modules. It is last on sys.meta_path, so Python asks it only for missing modules."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith(_ROOT):
            return None
        name = fullname.removeprefix(_ROOT)
        package, _, attribute = name.rpartition(".")
        feature = find(name) or _reexported(package, attribute)
        if feature is not None:
            raise UnsupportedImportError(_message(name, feature), name=fullname)
        if (package, attribute) in HOMES:
            try:
                _from_home(package, attribute)
            except UnsupportedError as error:
                raise UnsupportedImportError(str(error), name=fullname) from None
        return None


def install() -> None:
    """Add the finder that refuses imports of listed modules. The package calls it once."""
    if not any(type(finder) is _Finder for finder in sys.meta_path):
        sys.meta_path.append(_Finder())
