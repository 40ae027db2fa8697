"""Batch programs for the tests."""

from __future__ import annotations

from typing import Any

from headgate.datastream import StreamExecutionEnvironment
from headgate.graph.job_graph import JobGraph, JobOptions, plan
from headgate.graph.logical import GraphDefaults
from headgate.ids import JobId, Lineage
from tests.unit.datastream.environments import environment


def batch(**settings: str) -> StreamExecutionEnvironment:
    """An environment of batch jobs that needs no Spark."""
    return environment(**{"execution.runtime-mode": "BATCH"} | settings)


def plan_of(env: StreamExecutionEnvironment, *, chaining: bool = True) -> JobGraph:
    """The plan of the program, as for a streaming job."""
    settings: Any = env._settings()
    defaults = GraphDefaults(parallelism=env.get_parallelism(), chaining=chaining)
    options = JobOptions(
        job_id=JobId("ab" * 16),
        lineage=Lineage("cd" * 16, 0),
        job_name="a job",
        defaults=defaults,
        settings=settings,
        checkpointing=False,
    )
    return plan(env._program.graph(), options)
