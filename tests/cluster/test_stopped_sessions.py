"""Sessions that the program stops between two jobs, as in notebooks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from headgate.datastream import StreamExecutionEnvironment
from headgate.deploy.spark import session as sessions
from headgate.errors import EnvironmentFault

pytestmark = [pytest.mark.spark, pytest.mark.soak]


@pytest.fixture(autouse=True)
def stopped_at_the_end() -> Iterator[None]:
    yield
    sessions.stop_embedded()


def results(spark: SparkSession | None) -> list[int]:
    env = StreamExecutionEnvironment.get_execution_environment(spark=spark).set_parallelism(1)
    return list(env.from_collection([1]).map(lambda number: number + 1).execute_and_collect("stopped"))


def test_an_embedded_session_that_was_stopped_is_made_anew_and_one_that_was_passed_is_told() -> None:
    assert results(None) == [2]
    session = SparkSession.builder.getOrCreate()
    session.stop()
    with pytest.raises(EnvironmentFault, match="session of the environment has been stopped: make a new one"):
        results(session)
    assert results(None) == [2]
