"""Statement sets: several writes that run as one job."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

from headgate.dataframe.frame import translation_of
from headgate.dataframe.planner.explain import text_of_plan
from headgate.dataframe.planner.logical import Relation
from headgate.dataframe.planner.optimizer import optimized
from headgate.dataframe.session import get_or_create_table_environment
from headgate.functions.sink import Sink
from headgate.table.table_environment import TableEnvironment

if TYPE_CHECKING:
    from headgate.common.job_client import JobClient


@final
class TableResult:
    """A job that was submitted."""

    def __init__(self, client: JobClient) -> None:
        """Made by `StatementSet.execute`."""
        self._client = client

    def get_job_client(self) -> JobClient:
        """Return the client of the job."""
        return self._client

    def wait(self, timeout_ms: int | None = None) -> None:
        """Block until the job has ended, at most `timeout_ms` milliseconds.

        Raises JobFailedError if the job failed, and TimeoutError if it has not ended in time.
        """
        result = self._client.get_job_execution_result()
        result.result(None if timeout_ms is None else timeout_ms / 1000)


StagedWrite = tuple[Relation, Sink[Any], str, int | None]
"""A plan, its sink, the name of the sink, and the number of subtasks that write, None for the job's."""


@final
class StatementSet:
    """Gathers writes of DataFrames. `execute` runs them as one job; a source that several plans share is read by each.

    >>> import tempfile
    >>> from headgate import dataframe as pf
    >>> both = pf.create_statement_set()
    >>> pf.range(3).write_json(tempfile.mkdtemp(), statement_set=both)
    >>> pf.range(5).write_parquet(tempfile.mkdtemp(), statement_set=both)
    >>> both.execute().wait()
    """

    def __init__(self, environment: TableEnvironment) -> None:
        """Use `create_statement_set`."""
        self._environment = environment
        self._writes: list[StagedWrite] = []

    def add(self, write: StagedWrite, environment: TableEnvironment) -> None:
        """Add a write; the `write_...` methods of DataFrames do. Raises ValueError for another environment."""
        if environment is not self._environment:
            raise ValueError("the statement set and the DataFrame belong to different environments")
        self._writes.append(write)

    def explain(self) -> str:
        """Return the plans of all writes as text, after the planner's rules. Runs nothing."""
        return "\n".join(f"== {name} ==\n{text_of_plan(optimized(plan))}" for plan, _, name, _ in self._writes)

    def execute(self) -> TableResult:
        """Submit all writes as one job, and leave the set empty. Does not wait for the job.

        Raises ValueError for a set without writes, and the errors that `execute()` of a stream environment raises
        before a job runs.
        """
        if not self._writes:
            raise ValueError("the statement set has no writes: pass it to write_parquet() or write_json()")
        writes, self._writes = self._writes, []
        translation = translation_of([plan for plan, _, _, _ in writes], self._environment)
        for plan, sink, name, parallelism in writes:
            translation.write(plan, sink, name, parallelism)
        return TableResult(translation.environment.execute_async())


def create_statement_set() -> StatementSet:
    """Return an empty statement set of the environment of new DataFrames."""
    return StatementSet(get_or_create_table_environment())
