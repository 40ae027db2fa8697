"""The streaming queries of a job, whose micro-batches Spark makes on cores beside the job's slots."""

from __future__ import annotations

from headgate.connectors.micro_batches.source import MicroBatchSource
from headgate.graph.job_graph import JobGraph
from headgate.runtime.job_storage.sources import sources_of


def micro_batches_of(job: JobGraph) -> list[MicroBatchSource]:
    """Return the sources of a job that read streaming DataFrames."""
    return [source for source in sources_of(job).values() if isinstance(source, MicroBatchSource)]


def cores_beside(job: JobGraph) -> int:
    """Return how many cores these need."""
    return sum(source.free_cores for source in micro_batches_of(job))
