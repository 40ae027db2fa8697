"""The attempts of a job that runs: when each was deployed, ran and ended, and what it started from."""

from __future__ import annotations

from typing import Any

import pytest

from headgate.datastream import StreamExecutionEnvironment
from headgate.functions.api import MapFunction
from headgate.functions.context import RuntimeContext
from tests.unit.web.served import served, serving, until

RESTARTS = {"restart-strategy__type": "fixed-delay", "restart-strategy__fixed-delay__attempts": "1000"}


class NeverOpens(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        raise ConnectionError("the price service is not there")

    def map(self, value: Any) -> Any:
        return value


def never_begins(env: StreamExecutionEnvironment) -> None:
    env.from_collection([1]).map(NeverOpens()).name("price").print()


@pytest.mark.slow
def test_an_attempt_that_did_not_begin_is_told_with_what_ended_it() -> None:
    with serving(never_begins, **RESTARTS) as job:
        until(lambda: len(job.get("/jobs/JOB/attempts")["attempts"]) > 2)
        first = job.get("/jobs/JOB/attempts")["attempts"][-1]
        assert (first["attempt"], first["began"], first["end"]) == (1, None, "failure")
        assert first["error"].startswith("ConnectionError: the price service is not there")
        assert first["deployed"] <= first["ended"]


def test_an_attempt_that_runs_was_deployed_before_it_began() -> None:
    with served() as job:
        (run,) = job.get("/jobs/JOB/attempts")["attempts"]
        assert run["deployed"] <= run["began"]
        assert (run["ended"], run["end"], run["restored"]) == (None, None, None)
