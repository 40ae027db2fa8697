"""Writers of ORC files for a row type, under Flink's names."""

from __future__ import annotations

from functools import partial
from typing import Any, Final, final

import pyarrow as pa
from pyarrow import orc

from headgate.connectors.files.bulk_writer import BulkWriterFactory, ColumnWriterFactory
from headgate.connectors.formats.columns import InOrderFactory, codec, settings_of
from headgate.errors import ProgramError
from headgate.types.arrow import arrow_schema
from headgate.types.typeinfo import RowTypeInfo

_ORC_CODEC: Final = "orc.compress"
ORC_CODECS: Final = {name.upper(): name for name in ("zlib", "snappy", "lz4", "zstd")} | {"NONE": "uncompressed"}


@final
class OrcBulkWriters:
    """Writers of ORC files.

    >>> from headgate.types.typeinfo import Types
    >>> factory = OrcBulkWriters.for_row_type(Types.ROW_NAMED(["id"], [Types.LONG()]))
    """

    @staticmethod
    def for_row_type(
        row_type: RowTypeInfo, writer_properties: Any = None, hadoop_config: Any = None
    ) -> BulkWriterFactory:
        """Return the factory for ORC files with the columns of a row type.

        `writer_properties` may contain `orc.compress`, ZLIB by default. Raises ProgramError naming a column whose type
        ORC lacks, such as a time of day.
        """
        if not isinstance(row_type, RowTypeInfo):
            raise TypeError(f"row_type must be the type of a row, not {row_type!r:.100}")
        settings_of(hadoop_config)
        compression = codec(_ORC_CODEC, settings_of(writer_properties, _ORC_CODEC).get(_ORC_CODEC, "ZLIB"), ORC_CODECS)
        open_file = partial(OrcFile, compression=compression)
        columns = arrow_schema(row_type)
        check_orc(columns)
        return InOrderFactory(ColumnWriterFactory(columns, open_file, ".orc"))


def check_orc(columns: pa.Schema) -> None:
    """Raise `ProgramError` for a column whose type ORC lacks."""
    for column in columns:
        try:
            orc.write_table(pa.schema([column]).empty_table(), pa.BufferOutputStream())
        except pa.ArrowNotImplementedError as error:
            raise ProgramError(
                f"column {column.name!r} has the type {column.type}, which ORC does not have; map it to numbers, text, "
                "bytes, dates, timestamps, or rows, lists and maps of these first"
            ) from error


@final
class OrcFile:
    """Writes an ORC file."""

    def __init__(self, stream: pa.NativeFile, schema: pa.Schema, compression: str) -> None:
        self._writer = orc.ORCWriter(stream, compression=compression)
        self._writer.write(schema.empty_table())
        self.close = self._writer.close

    def write(self, table: pa.Table) -> None:
        self._writer.write(table)
