"""The differences between releases of Spark, from 3.5 on. The versions of Java for each release are in `java.py`.

The code checks for features, not for version numbers: platforms have version numbers of their own and add features.
"""

from __future__ import annotations

import inspect
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, types
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

_NAMES_ZONE: Final = "timezone" in inspect.signature(to_arrow_schema).parameters
"""True since 4.1. Earlier releases always use UTC."""
_ROWS_OF_BATCH: Final = 10_000


def conf_of(session: SparkSession) -> dict[str, str]:
    """Return the conf of a session. Asks the JVM."""
    if hasattr(session.conf, "getAll"):  # since 4.0
        return {key: str(value) for key, value in session.conf.getAll.items()}
    jvm_session: Any = session._jsparkSession
    return {str(key): str(value) for key, value in jvm_session.sessionState().conf().settings().items()}


def arrow_schema(struct: types.StructType) -> pa.Schema:
    """Return the schema of Spark's Arrow batches for these columns."""
    zone: dict[str, Any] = {"timezone": "UTC"}
    return to_arrow_schema(struct, **(zone if _NAMES_ZONE else {}))


def arrow_table(frame: DataFrame) -> pa.Table:
    """Compute a DataFrame. Return its rows in order. Blocks."""
    if hasattr(frame, "toArrow"):  # since 4.0
        return frame.toArrow()
    spark_35: Any = frame
    batches = spark_35._collect_as_arrow()
    schema = arrow_schema(frame.schema)
    return pa.Table.from_batches(batches).cast(schema) if batches else schema.empty_table()


def frame_of(table: pa.Table, session: SparkSession) -> DataFrame:
    """Return an Arrow table as a DataFrame."""
    struct = from_arrow_schema(table.schema, True)
    if hasattr(DataFrame, "toArrow"):  # since 4.0, where createDataFrame() accepts tables
        return session.createDataFrame(table, struct)
    return _frame_by_stream(table, struct, session)


def _frame_by_stream(table: pa.Table, struct: types.StructType, session: Any) -> DataFrame:
    """Do the same as Spark 4, with the functions of Spark 3.5 for pandas."""
    from pyspark.sql.pandas.serializers import ArrowStreamSerializer  # noqa: PLC0415  # a slow import

    batches = table.cast(arrow_schema(struct)).to_batches(max_chunksize=_ROWS_OF_BATCH)
    jvm = session._jvm

    def read(file: str) -> Any:
        return jvm.PythonSQLUtils.readArrowStreamFromFile(file)

    stream = session.sparkContext._serialize_to_jvm(batches, ArrowStreamSerializer(), read, jvm.ArrowIteratorServer)
    return DataFrame(jvm.PythonSQLUtils.toDataFrame(stream, struct.json(), session._jsparkSession), session)
