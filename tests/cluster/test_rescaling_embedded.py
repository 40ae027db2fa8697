"""Another parallelism on the session in the program's own process, whose slots and machine set a limit to it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from headgate.deploy.spark import session as sessions
from headgate.errors import EnvironmentFault
from tests.cluster.rescaled import check_all, rescale, started

pytestmark = [pytest.mark.spark, pytest.mark.soak]


@pytest.fixture(autouse=True)
def stopped_at_the_end() -> Iterator[None]:
    yield
    sessions.stop_embedded()


def test_more_slots_than_the_session_has_or_the_machine_can_host_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "_memory_mb", lambda: 64_000)
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    job = started(None, tmp_path, 1)
    with pytest.raises(
        EnvironmentFault, match=r"have 100 task slots, but Spark has 64 for it, .* this process has started"
    ):
        rescale(job, 100).result(60.0)
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    with pytest.raises(
        EnvironmentFault, match=r"have 40 .* has 32 for it, of 32 in all that this machine can host: run"
    ):
        rescale(job, 40).result(60.0)
    assert rescale(job, 2).result(60.0) == "the job runs at parallelism 2"
    check_all(job)
