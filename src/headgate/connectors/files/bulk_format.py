"""Formats of a file source: they cut files into splits, and read the records of splits."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

import pyarrow as pa

from headgate.connectors.files.parquet_schema import Columns, check_same
from headgate.connectors.files.parquet_source import ParquetReader, RowGroupSplit, open_parquet
from headgate.connectors.files.places import FoundFile, PartOfFile
from headgate.functions.source import SourceContext, SourceReader
from headgate.types.typeinfo import RowTypeInfo, TypeInformation

Part = TypeVar("Part", bound=PartOfFile)


class BulkFormat(ABC, Generic[Part]):
    """A format that decides how its files are cut, as Parquet files are by row groups. Picklable.

    Make one with the functions of this class, or derive your own.
    """

    produced_type: TypeInformation | None = None
    """The type that all records are of, None where it is not known."""

    @abstractmethod
    def cut(self, files: list[FoundFile], part_bytes: int) -> list[Part]:
        """Return the splits of the files, each of about `part_bytes`. The same file and size give the same splits.

        Called in the driver; may block. Raises `SourceError` naming the file that cannot be read.
        """

    @abstractmethod
    def reader(self, context: SourceContext) -> SourceReader[Part]:
        """Return the reader of one subtask."""

    @staticmethod
    def parquet_format(columns: Sequence[str] | RowTypeInfo | None = None) -> BulkFormat[Any]:
        """Return the format of Parquet files, whose records are rows (`Row`) with the names of the columns.

        `columns` selects the columns to read, in this order; None selects all. With a row type, the columns must have
        its types. The selected columns must be the same in all files.

        >>> format = BulkFormat.parquet_format(["id", "amount"])
        """
        return ParquetFormat(columns)


class RecordFormat(BulkFormat[Part]):
    """A format of files that are not lines, which PyFlink reads record by record."""


class ParquetFormat(BulkFormat[RowGroupSplit]):
    """Parquet files, with a split for each row group. The columns that are read must be the same in all files.

    Files are read in the order of their names. Records come as Arrow record batches.
    """

    def __init__(self, columns: Sequence[str] | RowTypeInfo | None = None) -> None:
        self._columns = Columns.of(columns)
        self.produced_type = self._columns.types
        self._looked_at: dict[FoundFile, tuple[pa.Schema, int]] = {}

    def cut(self, files: list[FoundFile], part_bytes: int) -> list[RowGroupSplit]:
        found = [(file, *self._look_at(file)) for file in files]
        for file, schema, _ in found[1:]:
            check_same(file.place, schema, found[0][0].place, found[0][1])
        return [
            RowGroupSplit(file.place, file.size_bytes, group, 0, file.stamp)
            for file, _, count in found
            for group in range(count)
        ]

    def _look_at(self, file: FoundFile) -> tuple[pa.Schema, int]:
        """Return the selected columns of a file and the number of its row groups. Reads each file once."""
        if file not in self._looked_at:
            with open_parquet(file.place) as parquet:
                schema = self._columns.of_file(file.place, parquet.schema_arrow)
                first, _ = next(iter(self._looked_at.values()), (schema, 0))
                # Nearly all files have the same schema: sharing it saves memory when there are many files.
                self._looked_at[file] = first if first.equals(schema) else schema, parquet.metadata.num_row_groups
        return self._looked_at[file]

    def reader(self, context: SourceContext) -> ParquetReader:
        return ParquetReader(self._columns)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the schemas that the driver has read."""
        return {**self.__dict__, "_looked_at": {}}
