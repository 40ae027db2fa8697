"""The changelog over the hash map: what is written ahead of the barriers, and what becomes of it."""

from __future__ import annotations

from typing import Any

import pytest

from headgate.errors import SerializationError
from headgate.ids import CheckpointId
from headgate.state.backend import KeyedSnapshot
from headgate.state.keyed.hashmap import HashMapBackend
from tests.unit.state.backends import Files, at, value_state
from tests.unit.state.checkpointed import CHANGELOG, Job, size


def run(backend: HashMapBackend, until_ms: float, now_ms: float = 0.0) -> float:
    """Let the background work of the backend go on until a time."""
    while now_ms <= until_ms:
        next_ms = backend.background(now_ms)
        assert next_ms is not None
        now_ms = max(next_ms, now_ms + 0.01)
    return now_ms


def walk(pending: KeyedSnapshot) -> None:
    while not pending.advance():
        pass


def test_with_a_changelog_a_checkpoint_writes_only_the_tail() -> None:
    job = Job(CHANGELOG)
    now_ms = run(job.backend, 250)
    for key in range(300):
        job.put(key, 1)
    now_ms = run(job.backend, 600, now_ms)
    before = len(job.files.files)
    job.put(1, 2)
    state = job.checkpoint()
    assert len(job.files.files) == before
    assert size(state) > 100_000
    assert state.log[-1].handle.size_bytes < 1000
    job.expect(state)


def test_after_a_checkpoint_nothing_is_written_ahead_for_an_interval() -> None:
    job = Job(CHANGELOG)
    now_ms = run(job.backend, 250)
    job.put(1, 1)
    job.clock.advance(now_ms)
    job.checkpoint()
    for key in range(300):
        job.put(key, 2)
    before = len(job.files.files)
    now_ms = run(job.backend, now_ms + 90, now_ms)
    assert len(job.files.files) == before
    run(job.backend, now_ms + 110, now_ms)
    assert len(job.files.files) == before + 1
    job.expect(job.checkpoint())


def test_a_checkpoint_takes_over_what_was_about_to_be_written_ahead() -> None:
    job = Job(CHANGELOG)
    now_ms = run(job.backend, 250)
    for key in range(3000):
        job.put(key, 1)
    assert job.backend.background(now_ms + 100) == now_ms + 100
    job.backend.background(now_ms + 100)
    before = len(job.files.files)
    state = job.checkpoint()
    run(job.backend, now_ms + 150, now_ms + 100)
    assert len(job.files.files) == before + 1
    job.expect(state)


def test_changes_written_ahead_survive_checkpoints_that_are_given_up() -> None:
    job = Job(CHANGELOG)
    now_ms = run(job.backend, 250)
    for round_ in range(4):
        job.put(round_, round_)
        now_ms = run(job.backend, now_ms + 150, now_ms)
        lost, _ = job.store()
        job.backend.notify_aborted(lost)
    job.expect(job.checkpoint())


def test_a_materialisation_takes_the_place_of_the_log() -> None:
    job = Job(CHANGELOG | {"state.changelog.periodic-materialize.interval": "5 s"})
    now_ms = run(job.backend, 250)
    for round_ in range(5):
        job.put(round_, round_)
        now_ms = run(job.backend, now_ms + 110, now_ms)
    long = job.checkpoint()
    assert len(long.log) >= 4
    now_ms = run(job.backend, 5500, now_ms)
    short = job.checkpoint()
    assert short.base != long.base
    assert len(short.log) < len(long.log)
    job.expect(short)


class Deferring(Files):
    """Does the work on an I/O thread when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.deferred: list[Any] = []

    def submit(self, work: Any, done: Any) -> None:
        self.deferred.append(lambda: done(work()))

    def do(self) -> None:
        work, self.deferred = self.deferred, []
        for each in work:
            each()


@pytest.mark.parametrize("meanwhile", ["completed", "open", "worn"])
def test_changes_of_checkpoints_made_while_a_base_is_written_follow_it(meanwhile: str) -> None:
    job = Job(CHANGELOG | {"state.changelog.periodic-materialize.interval": "200 ms"})
    job.files = files = Deferring()
    job.backend = job.open()
    job.state = value_state(job.backend)
    for key in range(200):
        job.put(key, 0)
    job.checkpoint()
    now_ms = run(job.backend, 250)
    for key in range(200 if meanwhile == "worn" else 5):
        job.put(key, 1)
    job.checkpoint()
    job.put(7, 1)
    last, _ = job.store()
    if meanwhile != "open":
        job.backend.notify_completed(last)
    assert len(files.deferred) == 1
    files.do()
    if meanwhile == "open":
        job.backend.notify_completed(last)
    for key in (8, 9):
        job.put(key, 1)
        job.expect(job.checkpoint())
    run(job.backend, now_ms + 500, now_ms)
    files.do()
    job.put(10, 1)
    job.expect(job.checkpoint())


def test_a_part_of_the_log_that_is_late_does_not_take_the_place_of_a_newer_checkpoint() -> None:
    job = Job(CHANGELOG)
    job.files = files = Deferring()
    job.backend = job.open()
    job.state = value_state(job.backend)
    for key in range(1000):
        job.put(key, 0)
    job.checkpoint()
    job.put(1, 1)
    run(job.backend, 250)
    assert len(files.deferred) == 1
    job.put(2, 1)
    job.checkpoint()
    files.do()
    job.put(3, 1)
    job.expect(job.checkpoint())


def test_a_part_of_the_log_without_what_could_not_be_pickled_is_not_built_upon() -> None:
    job = Job(CHANGELOG)
    with at(job.backend, 5):
        job.state.update(lambda: None)
    now_ms, generation = 0.0, job.backend.generation
    while job.backend.generation == generation:
        now_ms = job.backend.background(now_ms) or 0.0
    given_up = job.backend.snapshot(CheckpointId(1000))
    with pytest.raises(SerializationError):
        walk(given_up)
    job.backend.forget(given_up)
    job.backend.notify_aborted(CheckpointId(1000))
    job.put(5, 1)
    run(job.backend, now_ms + 1000, now_ms)
    job.expect(job.checkpoint())


def test_a_changelog_that_cannot_be_written_is_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    class Failing(Files):
        broken = False

        def write(self, name: str, pieces: list[bytes], *, shared: bool) -> Any:
            if self.broken:
                raise OSError("no room")
            return super().write(name, pieces, shared=shared)

        def submit(self, work: Any, done: Any) -> None:
            try:
                result = work()
            except OSError as error:
                result = error
            done(result)

    job = Job(CHANGELOG | {"state.changelog.periodic-materialize.interval": "200 ms"})
    job.files = Failing()
    job.backend = job.open()
    job.state = value_state(job.backend)
    for key in range(1000):
        job.put(key, 1)
    job.checkpoint()
    job.put(1, 1)
    Failing.broken = True
    now_ms = run(job.backend, 300)
    assert "'the operator' could not write its changelog: no room" in caplog.text
    Failing.broken = False
    job.put(1, 2)
    job.checkpoint()
    assert not job.backend.has_changes
    job.put(2, 2)
    before = len(job.files.files)
    run(job.backend, 600, now_ms)
    assert len(job.files.files) > before
    job.expect(job.checkpoint())
