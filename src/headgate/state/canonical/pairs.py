"""Pairs of columns: one that shows values, and one with the pickles of what it does not show exactly."""

from __future__ import annotations

from typing import Any, final

import pyarrow as pa

from headgate.state.canonical.columns import ColumnCodec, column_codec
from headgate.state.canonical.layout import pickle_of
from headgate.state.formats.codecs import pickled
from headgate.types.typeinfo import TypeInformation


@final
class ColumnPair:
    """A pair of columns: what is shown, and the pickles of what is not shown exactly."""

    def __init__(self, name: str, type_info: TypeInformation) -> None:
        self.name = name
        self._marks: list[None] = []
        self.codec: ColumnCodec = column_codec(type_info, lambda: self._marks.append(None))
        self._shown: list[Any] = []
        self._pickles: list[bytes | None] = []

    def add(self, shown: Any, exact: Any) -> None:
        """Add a value that stands for another, which is pickled if the column cannot show the value exactly."""
        self._marks.clear()
        self._shown.append(self.codec.encode(shown))
        self._pickles.append(pickled(exact) if self._marks else None)

    def add_pickled(self, shown: Any, exact: Any) -> None:
        """Add a value that stands for another, which is pickled."""
        self._shown.append(self.codec.encode(shown))
        self._pickles.append(pickled(exact))

    def take(self) -> dict[str, pa.Array]:
        """Return both columns, and empty them."""
        shown, pickles = self._shown, self._pickles
        self._shown, self._pickles = [], []
        return {
            self.name: pa.array(shown, type=self.codec.arrow),
            pickle_of(self.name): pa.array(pickles, type=pa.binary()),
        }
