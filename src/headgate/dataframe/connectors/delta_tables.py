"""The connector `delta`: Delta Lake tables, by the options of Delta's connector for Flink."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, final

from headgate.columns.schema import Schema
from headgate.config_kinds import INTEGER, TEXT, ValueKind, one_of
from headgate.dataframe.connectors.options import Options
from headgate.functions.sink import Sink
from headgate.functions.source import Source


def _moment(value: object) -> dt.datetime:
    found = dt.datetime.fromisoformat(str(value))
    return found if found.tzinfo is not None else found.replace(tzinfo=dt.UTC)


_MOMENT: Final = ValueKind("moment", 'a time such as "2024-02-29 12:00:00", in UTC unless it has a zone', _moment)
_NAMES: Final = ValueKind("names", 'names of columns such as "city;day"', lambda value: str(value).split(";"))


@final
@dataclass(frozen=True, slots=True, eq=False)
class DeltaScan:
    """The rows of a version of a table: by number, by time, or the newest for None."""

    table_uri: str
    schema: Schema
    version: int | dt.datetime | None
    conforms = False

    def source(self, columns: Sequence[str]) -> Source[Any]:
        from headgate.connectors.delta.source import DeltaSource  # noqa: PLC0415  # deltalake is an extra

        return DeltaSource(self.table_uri, columns, self.version)


def delta_scan(options: Options, schema: Schema) -> DeltaScan:
    """Return the table of the connector's options. Raises ValueError for wrong options."""
    path = options.required("table-path", TEXT)
    advice = "a changing table is read by from_spark() of spark.readStream.format('delta')"
    options.refuse(["startingVersion", "startingTimestamp", "updateCheckIntervalMillis"], advice)
    if options.get("mode", one_of("batch", "streaming"), "batch") == "streaming":
        raise ValueError(
            f"the connector 'delta' reads one version of a table, and not in the mode 'streaming': {advice}"
        )
    number, moment = options.optional("versionAsOf", INTEGER), options.optional("timestampAsOf", _MOMENT)
    if number is not None and moment is not None:
        raise ValueError("versionAsOf and timestampAsOf exclude each other")
    return DeltaScan(path, schema, moment if number is None else number)


def delta_written(options: Options, schema: Schema) -> Sink[Any]:
    """Return the sink of the connector's options. Raises ValueError for wrong options, ProgramError for a type."""
    from headgate.connectors.delta import DeltaSink  # noqa: PLC0415  # deltalake is an extra

    names = options.optional("partition-by", _NAMES)
    return DeltaSink(options.required("table-path", TEXT), schema.arrow, partition_by=names or [])
