"""The sources of a batch job in the driver: asked for their splits once, and given back at the end."""

from __future__ import annotations

import contextlib
from typing import Any, final

from headgate.functions.source import Source
from headgate.graph.physical import JobPlan
from headgate.operators.base import expect
from headgate.runtime.master.sources import sources_of


@final
class BatchSources:
    """The splits of a job's sources. Methods block."""

    def __init__(self, plan: JobPlan) -> None:
        self._job_id = plan.job_id
        self._vertices = plan.vertices
        self._sources: dict[int, Source[Any]] = sources_of(plan)
        self._prepared: list[Source[Any]] = []
        self._splits: dict[int, list[Any]] = {}

    def of(self, stage: int) -> list[Any]:
        """Return all splits of a stage, none for one without a source. Raises `SourceError`."""
        source = self._sources.get(stage)
        if source is not None and stage not in self._splits:
            source.prepare(self._job_id)
            self._prepared.append(source)
            splits = source.splits(self._vertices[stage].parallelism)
            self._splits[stage] = expect(list, splits, source, "splits()")
        return self._splits.get(stage, [])

    def interrupt(self) -> None:
        """End the wait for splits. Called from other threads; does not block."""
        for source in self._sources.values():
            source.interrupt()

    def close(self) -> None:
        """Remove what was made for the job."""
        for source in self._prepared:
            for end in (source.discard, source.release):
                with contextlib.suppress(Exception):  # what is left over harms nothing
                    end(self._job_id)
