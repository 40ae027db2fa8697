"""Common parts of formats: the order of fields for a row type, settings of Hadoop, and texts of columns of times."""

from __future__ import annotations

from typing import Any, final

import pyarrow as pa
import pyarrow.compute as pc

from headgate.connectors.files.bulk_writer import BulkWriter, BulkWriterFactory, ColumnWriterFactory
from headgate.errors import ProgramError, SinkError
from headgate.types.records import values_in_order


@final
class InOrderFactory(BulkWriterFactory):
    """Makes writers that find the fields of a row by name if the names match, else by position, as in Flink."""

    def __init__(self, columns: ColumnWriterFactory) -> None:
        self._columns = columns
        self.suffix = columns.suffix

    def create(self, stream: pa.NativeFile) -> InOrder:
        return InOrder(self._columns.create(stream), tuple(self._columns.schema.names))


@final
class InOrder(BulkWriter):
    """Writes the values of records in the order of the columns."""

    def __init__(self, writer: BulkWriter, names: tuple[str, ...]) -> None:
        self._writer = writer
        self._names = names

    def write(self, records: list[Any]) -> None:
        try:
            rows = [values_in_order(record, self._names) for record in records]
        except ValueError as error:
            raise SinkError(f"a record cannot be written: {error}") from error
        self._writer.write(rows)

    def finish(self) -> None:
        self._writer.finish()


def settings_of(configuration: Any, *known: str) -> dict[str, str]:
    """Return the settings of a configuration. Raises ProgramError for a setting that has no effect."""
    found: dict[str, str] = {} if configuration is None else dict(configuration.to_dict())
    unknown = sorted(found.keys() - set(known))
    if unknown:
        raise ProgramError(
            f"{unknown[0]!r} is a setting of Hadoop or Java that files here do not have; "
            f"leave it out{f' (known: {known[0]})' if known else ''}"
        )
    return found


def codec(key: str, name: str, codecs: dict[str, str]) -> str:
    """Return Arrow's name of a codec. Raises ProgramError naming the setting `key` for an unknown codec."""
    if str(name).upper() not in codecs:
        raise ProgramError(f"{key} must be one of {', '.join(codecs)}, not {name!r}")
    return codecs[str(name).upper()]


def timestamp_texts(column: pa.Array, separator: str, zone: str) -> pa.Array:
    """Return timestamps as texts with no more digits after the second than needed. `zone` ends each text."""
    texts = pc.cast(pc.cast(column, pa.timestamp(column.type.unit)), pa.string())
    if column.type.unit != "s":
        texts = pc.utf8_rtrim(pc.utf8_rtrim(texts, "0"), ".")  # all have a fraction
    if separator != " ":
        texts = pc.replace_substring(texts, " ", separator)
    return pc.binary_join_element_wise(texts, pa.scalar(zone), pa.scalar("")) if zone else texts


def fraction_trimmed(texts: pa.Array) -> pa.Array:
    """Return texts of times without zeros at the end of the fraction of a second."""
    return pc.if_else(pc.match_substring(texts, "."), pc.utf8_rtrim(pc.utf8_rtrim(texts, "0"), "."), texts)
