"""How files become splits, and splits records: what a file source leaves to the format of its files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from headgate.connectors.files.places import FoundFile, Place
from headgate.functions.source import SourceContext, SourceReader

if TYPE_CHECKING:
    from headgate.types.typeinfo import RowTypeInfo


class PartOfFile(Protocol):
    """What a split of a file source tells of itself."""

    @property
    def place(self) -> Place:
        """The file."""
        ...

    @property
    def size_bytes(self) -> int:
        """The size of the whole file when it was found."""
        ...

    @property
    def part(self) -> str:
        """Which part of the file this is, the same whatever has been read of it."""
        ...


Part = TypeVar("Part", bound=PartOfFile)


class BulkFormat(ABC, Generic[Part]):
    """Files that are cut in a way of their own, such as Parquet by row groups. Picklable.

    Make one with the functions of this class, or derive your own.
    """

    @abstractmethod
    def cut(self, files: list[FoundFile], part_bytes: int) -> list[Part]:
        """Return the splits of the files, each of about so many bytes; the same ones whenever a file is cut so.

        Called in the driver; may block. Raises `SourceError` naming the file that cannot be read.
        """

    @abstractmethod
    def reader(self, context: SourceContext) -> SourceReader[Part]:
        """Return the reader of one subtask."""

    @staticmethod
    def parquet_format(columns: Sequence[str] | RowTypeInfo | None = None) -> BulkFormat[Any]:
        """Return the format of Parquet files, whose records are `Row`s with the names of the columns.

        `columns` chooses columns, in this order, all for None; only these are read. With the type of a row, they must
        have its types. They are the same in all files.

        >>> format = BulkFormat.parquet_format(["id", "amount"])
        """
        from headgate.connectors.files import parquet_source  # noqa: PLC0415 - one of the formats that this class names

        return parquet_source.ParquetFormat(columns)
