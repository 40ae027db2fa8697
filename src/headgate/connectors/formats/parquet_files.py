"""Formats of Parquet files by a row type, under Flink's names."""

from __future__ import annotations

from functools import partial
from typing import Any, Final, final

from headgate.connectors.files.bulk_format import ParquetFormat
from headgate.connectors.files.bulk_writer import BulkWriterFactory, ColumnWriterFactory, ParquetFile
from headgate.connectors.formats.columns import InOrderFactory, codec, settings_of
from headgate.connectors.formats.json_rows import row_type as checked
from headgate.errors import ProgramError
from headgate.types.arrow import arrow_schema
from headgate.types.typeinfo import RowTypeInfo

_PARQUET_CODEC: Final = "parquet.compression"
PARQUET_CODECS: Final = {name.upper(): name for name in ("snappy", "gzip", "zstd", "lz4", "brotli")} | {
    "UNCOMPRESSED": "none"
}


class ParquetColumnarRowInputFormat(ParquetFormat):
    """Parquet files, whose records are rows of the type: its columns are read, in its order.

    `batch_size` and `is_utc_timestamp` change nothing: the size of batches has no effect on the records, and times are
    read as the file has them. Names of columns must be equal, including small letters and capitals.
    """

    def __init__(
        self,
        row_type: RowTypeInfo,
        hadoop_config: Any = None,
        batch_size: int = 2048,
        is_utc_timestamp: bool = False,
        is_case_sensitive: bool = True,
    ) -> None:
        if not is_case_sensitive:
            raise ProgramError("is_case_sensitive=False is not supported: name the columns of row_type as the files do")
        settings_of(hadoop_config)
        super().__init__(checked(row_type, "row_type"))


@final
class ParquetBulkWriters:
    """Writers of Parquet files.

    >>> from headgate.types.typeinfo import Types
    >>> factory = ParquetBulkWriters.for_row_type(Types.ROW_NAMED(["id"], [Types.LONG()]))
    """

    @staticmethod
    def for_row_type(
        row_type: RowTypeInfo, hadoop_config: Any = None, utc_timestamp: bool = False
    ) -> BulkWriterFactory:
        """Return the factory of Parquet files with the columns of a row type.

        `hadoop_config` may hold `parquet.compression`, SNAPPY by default. `utc_timestamp` changes nothing: times are
        written as they are, without a zone.
        """
        found = settings_of(hadoop_config, _PARQUET_CODEC).get(_PARQUET_CODEC, "SNAPPY")
        compression = codec(_PARQUET_CODEC, found, PARQUET_CODECS)
        open_file = partial(ParquetFile, compression=compression)
        return InOrderFactory(ColumnWriterFactory(arrow_schema(checked(row_type, "row_type")), open_file, ".parquet"))
