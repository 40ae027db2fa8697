"""DataFrames on Arrow columns, with the names of `pyflink.dataframe`: lazy and immutable plans that run as jobs."""

from __future__ import annotations

from headgate import unsupported
from headgate.columns.frames import (
    CURRENT_ROW,
    UNBOUNDED,
    UNBOUNDED_FOLLOWING,
    UNBOUNDED_PRECEDING,
    following,
    preceding,
)
from headgate.dataframe.connectors.files import read_json, read_parquet
from headgate.dataframe.connectors.generic import read_generic
from headgate.dataframe.connectors.kafka import read_kafka
from headgate.dataframe.creation import from_arrow, from_dict, from_pandas, from_records
from headgate.dataframe.creation import number_range as range
from headgate.dataframe.data_type import DataType
from headgate.dataframe.dataframe import DataFrame
from headgate.dataframe.grouping import GroupedDataFrame
from headgate.dataframe.over import dense_rank, lag, rank, row_number
from headgate.dataframe.planner.plan_file import CompiledPlan
from headgate.dataframe.results import CloseableResults as CloseableIterator
from headgate.dataframe.session import (
    config,
    get_or_create_table_environment,
    get_table_environment,
    set_table_environment,
)
from headgate.dataframe.statement_set import StatementSet, create_statement_set
from headgate.dataframe.streams import from_data_stream, from_spark
from headgate.dataframe.udaf import udaf
from headgate.dataframe.udf import udf
from headgate.dataframe.udtf import udtf
from headgate.table.expressions import col, lit

__all__ = [
    "CURRENT_ROW",
    "UNBOUNDED",
    "UNBOUNDED_FOLLOWING",
    "UNBOUNDED_PRECEDING",
    "CloseableIterator",
    "CompiledPlan",
    "DataFrame",
    "DataType",
    "GroupedDataFrame",
    "StatementSet",
    "col",
    "config",
    "create_statement_set",
    "dense_rank",
    "following",
    "from_arrow",
    "from_data_stream",
    "from_dict",
    "from_pandas",
    "from_records",
    "from_spark",
    "get_or_create_table_environment",
    "get_table_environment",
    "lag",
    "lit",
    "preceding",
    "range",
    "rank",
    "read_generic",
    "read_json",
    "read_kafka",
    "read_parquet",
    "row_number",
    "set_table_environment",
    "udaf",
    "udf",
    "udtf",
]

unsupported.guard(__name__, globals())
