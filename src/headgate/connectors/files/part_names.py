"""The names of part files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from headgate.connectors.files.places import is_hidden
from headgate.errors import SinkError

IN_PROGRESS: Final = ".inprogress"
"""Suffix of files that are not committed."""
KEPT: Final = ".kept"
"""Suffix of a marker file: the file with the rest of its name is part of a savepoint."""


@final
@dataclass(slots=True)
class OutputFileConfigBuilder:
    """Builds an `OutputFileConfig`."""

    prefix: str = "part"
    suffix: str = ""

    def with_part_prefix(self, prefix: str) -> OutputFileConfigBuilder:
        """Set the prefix of names. Raises SinkError for a prefix that hides files, and for a slash."""
        if not prefix or is_hidden(prefix) or "/" in prefix:
            raise SinkError(f"the prefix {prefix!r} would hide the files; start with a letter or digit, without '/'")
        self.prefix = prefix
        return self

    def with_part_suffix(self, suffix: str) -> OutputFileConfigBuilder:
        """Set the suffix of names, for instance ".json". Raises SinkError for a suffix that a name cannot have."""
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
    """The prefix and the suffix of the names of part files."""

    OutputFileConfigBuilder = _Builder

    part_prefix: str = "part"
    part_suffix: str = ""

    @staticmethod
    def builder() -> _Builder:
        """Return a builder, as in PyFlink."""
        return _Builder()

    def get_part_prefix(self) -> str:
        """Return the prefix of names."""
        return self.part_prefix

    def get_part_suffix(self) -> str:
        """Return the suffix of names."""
        return self.part_suffix
