"""Serialising user functions, and naming the captured value that cannot be serialised.

A function is sent to its subtasks with cloudpickle. When that fails, cloudpickle at best names a type deep inside. So
this module searches the function for the value at fault, and names the path to it as the user's code does.
"""

from __future__ import annotations

import dis
import functools
import types
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any, Final

import cloudpickle

from headgate.errors import SerializationError

_DEPTH_MAX: Final = 8
_ITEMS_MAX: Final = 1000


def serialise(fn: object, operator_name: str) -> bytes:
    """Return `fn` pickled by cloudpickle: a function, a function object, or an operator's factory that holds one.

    Raises SerializationError naming the operator, the function, and the captured value that cannot be pickled.
    """
    try:
        return _dumps(fn)
    except Exception as error:  # noqa: BLE001 - __reduce__ of a user's class may raise anything
        raise SerializationError(_story(fn, operator_name, error)) from None


def _dumps(value: object) -> bytes:
    return bytes(cloudpickle.dumps(value))


def _story(fn: object, operator_name: str, error: Exception) -> str:
    owner, path, culprit = _culprit(fn)
    if culprit is owner:
        return f"{_describe(owner)} of operator {operator_name!r} cannot be serialised: {error}"
    return (
        f"{_describe(owner)} of operator {operator_name!r} captures {path!r} (a {_type_name(culprit)}), "
        "which cannot be serialised; open it in open()"
    )


def _culprit(root: object) -> tuple[object, str, object]:
    """Return the user's object that cannot be pickled, the path from it to the value at fault, and the value."""
    owner, path, current = root, "", root
    seen = {id(root)}
    for _ in range(_DEPTH_MAX):
        broken = next((part for part in _parts(current) if id(part[1]) not in seen and not _picklable(part[1])), None)
        if broken is None:
            break
        name, current = broken
        seen.add(id(current))
        if owner is root and hasattr(type(root), "create"):
            owner = current  # the user does not know the factory of the operator, only what it holds
        else:
            path += name if path == "" or name.startswith("[") else f".{name}"
    return owner, path, current


def _picklable(value: object) -> bool:
    try:
        _dumps(value)
    except Exception:  # noqa: BLE001 - as in serialise
        return False
    return True


def _parts(value: object) -> Iterator[tuple[str, object]]:
    """Yield the objects that are pickled with `value`, each with its name in `value`."""
    if isinstance(value, types.FunctionType):
        yield from _parts_of_function(value)
    elif isinstance(value, types.MethodType):
        yield "self", value.__self__
        yield value.__name__, value.__func__
    elif isinstance(value, functools.partial):
        yield "func", value.func
        yield from ((f"argument {place}", argument) for place, argument in enumerate(value.args))
        yield from value.keywords.items()
    elif isinstance(value, dict):
        yield from ((f"[{key!r}]", item) for key, item in list(value.items())[:_ITEMS_MAX])
    elif isinstance(value, (list, tuple, set, frozenset)):
        yield from ((f"[{place}]", item) for place, item in enumerate(list(value)[:_ITEMS_MAX]))
    elif isinstance(value, type):
        yield from _parts_of_class(value)
    else:
        yield from _parts_of_object(value)


def _parts_of_function(function: types.FunctionType) -> Iterator[tuple[str, object]]:
    code = function.__code__
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        yield from _cell(name, cell)
    for name in sorted(_global_names(code)):
        if name in function.__globals__:
            yield name, function.__globals__[name]
    names = code.co_varnames[code.co_argcount - len(function.__defaults__ or ()) : code.co_argcount]
    yield from zip(names, function.__defaults__ or (), strict=True)
    yield from (function.__kwdefaults__ or {}).items()
    yield from vars(function).items()


def _cell(name: str, cell: types.CellType) -> Iterator[tuple[str, object]]:
    try:
        yield name, cell.cell_contents
    except ValueError:  # the variable is not assigned yet
        return


def _global_names(code: types.CodeType) -> set[str]:
    """Return the names of globals that the code reads, including the code of functions defined inside it."""
    names = {step.argval for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL"}
    inner = (constant for constant in code.co_consts if isinstance(constant, types.CodeType))
    return names.union(*map(_global_names, inner))


def _parts_of_class(kind: type) -> Iterator[tuple[str, object]]:
    for name, member in vars(kind).items():
        if isinstance(member, (staticmethod, classmethod)):
            yield name, member.__func__
        elif not name.startswith("__") or isinstance(member, types.FunctionType):
            yield name, member


def _parts_of_object(value: object) -> Iterator[tuple[str, object]]:
    if is_dataclass(value):
        yield from ((field.name, getattr(value, field.name)) for field in fields(value) if hasattr(value, field.name))
    yield from getattr(value, "__dict__", {}).items()
    slots = (name for kind in type(value).__mro__ for name in _slot_names(kind))
    yield from ((name, getattr(value, name)) for name in slots if hasattr(value, name))
    yield "class " + type(value).__name__, type(value)


def _slot_names(kind: type) -> tuple[str, ...]:
    slots: Any = vars(kind).get("__slots__", ())
    names = (slots,) if isinstance(slots, str) else tuple(slots)
    return tuple(name for name in names if name not in ("__dict__", "__weakref__"))


def _describe(owner: object) -> str:
    if isinstance(owner, (types.FunctionType, types.MethodType, types.BuiltinFunctionType)):
        return f"function {owner.__name__!r}"
    return f"the {type(owner).__name__} object"


def _type_name(value: object) -> str:
    if isinstance(value, types.ModuleType):
        return f"module named {value.__name__}"
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
