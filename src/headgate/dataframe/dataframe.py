"""`DataFrame`: an immutable plan of columns, which runs as a job when its results are asked for."""

from __future__ import annotations

from typing import Any, final

from headgate.dataframe.actions import Actions
from headgate.dataframe.expansion import Expansion
from headgate.dataframe.grouping import Grouping
from headgate.dataframe.joins import Joins
from headgate.dataframe.ordering import Ordering
from headgate.dataframe.planner.logical import scan_of_failed_rows
from headgate.dataframe.projections import Projections
from headgate.dataframe.sets import Sets
from headgate.dataframe.windows import Windows


@final
class DataFrame(Projections, Expansion, Windows, Grouping, Joins, Sets, Ordering, Actions):
    """Rows with named, typed columns: the result of a plan. Methods return new DataFrames; nothing runs.

    Names and types are checked at once: an unknown column, or an expression that does not fit its columns, raises
    ValueError where it is written. *Actions* run the plan as a job and return its rows: `collect`, `take`, `to_pandas`,
    `iter_rows`, `iter_batches`, and the `write_...` methods.

    >>> from headgate import dataframe as pf
    >>> prices = pf.from_records([{"item": "tea", "price": 3.0}, {"item": "rug", "price": 90.0}])
    >>> prices.filter(pf.col("price") > 10).select("item", half=pf.col("price") / 2).collect()
    [Row(item='rug', half=45.0)]
    """

    def failed_rows(self) -> DataFrame:
        """Return the messages that the reader of this DataFrame cannot decode, each with the reason.

        The columns are topic, partition, offset, key, value (as bytes) and error. They are read by a source of their
        own. Raises ValueError unless the DataFrame is made of one source that is read by `read_kafka`.
        """
        return self._with(scan_of_failed_rows(self._plan))

    def __repr__(self) -> str:
        return f"DataFrame({', '.join(f'{name}: {own}' for name, own in self.schema)})"

    def __getattr__(self, name: str) -> Any:
        return self._column_attribute(name)
