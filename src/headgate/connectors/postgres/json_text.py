"""Values for columns of JSON, as text."""

from __future__ import annotations

import json
from typing import Any, Final

from headgate.types.row import Row

_SINGLE: Final = frozenset([str, int, float, bool, type(None)])


def json_text(value: Any) -> str:
    """Return a value as JSON. Text is JSON already; rows with names become objects, tuples become arrays.

    Raises ValueError for what JSON does not have: other classes, keys that are not text, NaN and infinity.

    >>> json_text([]), json_text({"day": None}), json_text('{"as": "it is"}')
    ('[]', '{"day": null}', '{"as": "it is"}')
    """
    if isinstance(value, str):
        return str.__str__(value)
    _check_keys(value)
    return json.dumps(value, default=_as_json, allow_nan=False)


def plain(value: Any) -> Any:
    """Return a number, text or time of NumPy as Python's own, and any other value as it is."""
    return value.item() if type(value).__module__ == "numpy" and not hasattr(value, "__len__") else value


def _check_keys(value: Any) -> None:
    """Raise `ValueError` for keys that are not text, which `json` would make text."""
    if isinstance(value, dict):
        wrong = next((key for key in value if not isinstance(key, str)), None)
        if wrong is not None or None in value:
            raise ValueError(f"the key {wrong!r} is not text, and keys in JSON are: map it to text first")
        value = value.values()
    elif not isinstance(value, list | tuple):
        return
    if not _SINGLE.issuperset(map(type, value)):
        for each in value:
            _check_keys(each)


def _as_json(value: Any) -> Any:
    if isinstance(value, Row) and value._fields is not None:
        _check_keys(named := value.as_dict())
        return named
    if type(made := plain(value)) in _SINGLE:
        return made
    raise ValueError(f"JSON has no {type(value).__name__}: map {value!r:.100} to text or numbers first")
