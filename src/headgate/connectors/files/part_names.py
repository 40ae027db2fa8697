"""How part files are called."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from headgate.connectors.files.places import is_hidden
from headgate.errors import SinkError

IN_PROGRESS: Final = ".inprogress"
"""How the name of a file ends that is not committed."""
KEPT: Final = ".kept"
"""How the name of a file ends that says that one beside it is part of a savepoint."""


@final
@dataclass(slots=True)
class OutputFileConfigBuilder:
    """Builds an `OutputFileConfig`."""

    prefix: str = "part"
    suffix: str = ""

    def with_part_prefix(self, prefix: str) -> OutputFileConfigBuilder:
        """Set how names begin. A prefix that makes them hidden is refused."""
        if not prefix or is_hidden(prefix) or "/" in prefix:
            raise SinkError(f"the prefix {prefix!r} would hide the files; start with a letter or digit, without '/'")
        self.prefix = prefix
        return self

    def with_part_suffix(self, suffix: str) -> OutputFileConfigBuilder:
        """Set how names end, for instance ".json"."""
        if "/" in suffix or suffix.endswith(IN_PROGRESS):
            raise SinkError(f"the suffix {suffix!r} cannot end the name of a file")
        self.suffix = suffix
        return self

    def build(self) -> OutputFileConfig:
        """Return the configuration."""
        return OutputFileConfig(self.prefix, self.suffix)


_Builder = OutputFileConfigBuilder


@final
@dataclass(frozen=True, slots=True)
class OutputFileConfig:
    """How the names of part files begin and end."""

    OutputFileConfigBuilder = _Builder

    part_prefix: str = "part"
    part_suffix: str = ""

    @staticmethod
    def builder() -> _Builder:
        """Return a builder, as in PyFlink."""
        return _Builder()

    def get_part_prefix(self) -> str:
        """Return how names begin."""
        return self.part_prefix

    def get_part_suffix(self) -> str:
        """Return how names end."""
        return self.part_suffix
