"""Python data sources of Spark, which Spark 3.5 does not have."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from headgate.errors import EnvironmentFault

_MODULE: Final = "pyspark.sql.datasource"


@contextmanager
def needs_data_sources(what: str, instead: str) -> Iterator[None]:
    """Import what is built on data sources. Raises EnvironmentFault where the pyspark that is installed has none.

    `what` needs them; `instead` is what else a program can do.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name != _MODULE:
            raise
        raise EnvironmentFault(
            f"{what} needs Python data sources ({_MODULE}), which Spark has since 4.0: run the program on Spark 4.0 or "
            f"newer, or {instead}"
        ) from None
