"""Statement sets: several writes that run as one job."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, final

from headgate.dataframe.frame import translation_of
from headgate.dataframe.planner.explain import text_of_plan
from headgate.dataframe.planner.logical import Relation
from headgate.dataframe.planner.optimizer import optimized
from headgate.dataframe.planner.plan_file import CompiledPlan
from headgate.dataframe.session import get_or_create_table_environment
from headgate.functions.sink import Sink
from headgate.table.table_environment import TableEnvironment

if TYPE_CHECKING:
    from headgate.common.job_client import JobClient
    from headgate.dataframe.planner.physical import Translation


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
        """Return the plans of all writes as text, after the planner's rules, and the job graph. Runs nothing."""
        plans = [f"== {name} ==\n{text_of_plan(optimized(plan))}" for plan, _, name, _ in self._writes]
        translation = self._translation(None)
        return "\n".join([*plans, "== Job graph ==", translation.job_text(partial(self._write_all, translation))])

    def compile_plan(self, plan: CompiledPlan | None = None) -> CompiledPlan:
        """Return the uids of the operators with state, with the uids that an earlier plan pins. Runs nothing.

        `write_to_file` keeps them for later versions of the program, which pass the plan to `execute`.
        """
        translation = self._translation(plan)
        translation.job_text(partial(self._write_all, translation))
        return CompiledPlan(translation.uids.given)

    def _translation(self, plan: CompiledPlan | None) -> Translation:
        if not self._writes:
            raise ValueError("the statement set has no writes: pass it to write_parquet() or write_json()")
        return translation_of([own for own, _, _, _ in self._writes], self._environment, plan)

    def _write_all(self, translation: Translation) -> None:
        for plan, sink, name, parallelism in self._writes:
            translation.write(plan, sink, name, parallelism)

    def execute(self, plan: CompiledPlan | None = None) -> TableResult:
        """Submit all writes as one job, and leave the set empty. Does not wait for the job.

        Operators of `plan` keep the uids that it pins, so that a savepoint finds them in a changed program. Raises
        ProgramError if the state of such an operator has another form now, ValueError for a set without writes, and the
        errors that `execute()` of a stream environment raises before a job runs.
        """
        translation = self._translation(plan)
        self._write_all(translation)
        self._writes = []
        return TableResult(translation.environment.execute_async())


def create_statement_set() -> StatementSet:
    """Return an empty statement set of the environment of new DataFrames."""
    return StatementSet(get_or_create_table_environment())
