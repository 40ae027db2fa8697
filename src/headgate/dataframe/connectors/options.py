"""The options of a connector, as texts by Flink's names: checked, and all of them used."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, final

from headgate.config_kinds import ValueKind

T = TypeVar("T")


def text(name: str, given: Any) -> str:
    """Return a text. Raises TypeError for another value, ValueError for a blank text."""
    if not isinstance(given, str):
        raise TypeError(f"{name} is a str, not {given!r:.100}")
    if not given.strip():
        raise ValueError(f"{name} must not be empty")
    return given


@final
class Options:
    """Hands out options by name. `check` finds given options whose names the connector has not asked for."""

    def __init__(self, connector: str, given: Any) -> None:
        """Raises TypeError unless `given` is a dict of texts, and ValueError for the reserved name "connector"."""
        if not isinstance(given, Mapping):
            raise TypeError(f"options is a dict of texts, not {given!r:.100}")
        for name, value in given.items():
            if not isinstance(name, str) or not isinstance(value, str):
                raise TypeError(f"options has {name!r}: {value!r:.100}, but names and values are texts")
        if "connector" in given:
            raise ValueError("options has 'connector', which is the first argument of the method")
        self.connector = connector
        self._given = dict(given)
        self._known: dict[str, None] = {}

    def get(self, name: str, kind: ValueKind[T], default: T) -> T:
        """Return the value of an option, or the default. Raises ValueError for a value of another kind."""
        found = self.optional(name, kind)
        return default if found is None else found

    def optional(self, name: str, kind: ValueKind[T]) -> T | None:
        """Return the value of an option, None if it is not given. Raises ValueError for a value of another kind."""
        self._known[name] = None
        if name not in self._given:
            return None
        try:
            return kind.parse(self._given[name])
        except ValueError:
            raise ValueError(
                f"the option {name!r} of the connector {self.connector!r} is {self._given[name]!r:.100}, but must be "
                f"{kind.expected}"
            ) from None

    def required(self, name: str, kind: ValueKind[T]) -> T:
        """Return the value of an option. Raises ValueError if it is missing."""
        found = self.optional(name, kind)
        if found is None:
            raise ValueError(f"the connector {self.connector!r} needs the option {name!r}: {kind.expected}")
        return found

    def below(self, prefix: str) -> dict[str, str]:
        """Return all options whose names begin with a prefix, without the prefix."""
        found = [name for name in self._given if name.startswith(prefix)]
        self._known.update(dict.fromkeys(found))
        return {name.removeprefix(prefix): self._given[name] for name in found}

    def refuse(self, names: Iterable[str], advice: str) -> None:
        """Raise ValueError if one of the options is given."""
        found = next((name for name in names if name in self._given), None)
        if found is not None:
            raise ValueError(f"the option {found!r} of the connector {self.connector!r} is not supported: {advice}")

    def check(self) -> None:
        """Raise ValueError for an option that the connector does not have, with the nearest name."""
        unknown = next((name for name in self._given if name not in self._known), None)
        if unknown is not None:
            near = difflib.get_close_matches(unknown, self._known, n=1, cutoff=0.4)
            advice = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(map(repr, self._known)) or 'none'}"
            raise ValueError(f"the connector {self.connector!r} has no option {unknown!r}: {advice}")
