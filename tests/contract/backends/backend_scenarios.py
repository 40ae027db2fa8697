"""Scenarios of keyed state, one at a time, that every backend must pass: what Flink tests its own backends with."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from headgate.errors import ProgramError, RestoreError
from headgate.state.backend import KeyedBackend
from headgate.state.descriptors import StateDescriptor, ValueStateDescriptor
from headgate.state.keyed.cells import KEY
from headgate.time.timers import EVENT_TIMERS, Timers
from headgate.types.typeinfo import Types
from tests.contract.backends.keyed_job import BackendUnderTest, KeyedJob
from tests.contract.backends.keyed_states import PLAIN, TTL_MS, KindUnderTest, apply, descriptor_of, ttl_config

VALUE, LIST, MAP, REDUCING, AGGREGATING = PLAIN
_TTL: Final = ttl_config().build()


@contextmanager
def running(under_test: BackendUnderTest, parallelism: int = 1) -> Iterator[KeyedJob]:
    """Run a job in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        job = KeyedJob(under_test, Path(folder), parallelism)
        try:
            yield job
        finally:
            job.close()


def use(job: KeyedJob, key: Any, descriptor: StateDescriptor, method: str, *arguments: Any) -> Any:
    """Process a batch of one record, which calls a method of a state; return what that returned."""
    with job.batch([key]):
        return apply(job.at(key, descriptor), (method, arguments))


def put_one(job: KeyedJob, key: Any, kind: KindUnderTest, descriptor: StateDescriptor) -> None:
    """Write one thing into a state of any kind."""
    method, arguments = kind.write
    use(job, key, descriptor, method, *arguments)


def fill(job: KeyedJob, key: Any, number: int) -> None:
    """Give a key a content in every kind of state."""
    use(job, key, VALUE, "update", [number])
    use(job, key, LIST, "update", [[number], number])
    use(job, key, MAP, "put_all", {"a": [number], "b": None})
    for state, value in ((REDUCING, (number,)), (AGGREGATING, [number])):
        use(job, key, state, "clear")
        use(job, key, state, "add", value)


def grow(job: KeyedJob, key: Any) -> None:
    """Change what `fill` gave, where it can be in place."""
    use(job, key, VALUE, "grow")
    use(job, key, LIST, "add", "more")
    use(job, key, MAP, "put", "c", "more")
    use(job, key, MAP, "remove", "b")
    use(job, key, REDUCING, "add", ("more",))
    use(job, key, AGGREGATING, "add", "more")


def filled(job: KeyedJob, key: Any, number: int) -> bool:
    """Whether a key has what `fill` gave, and nothing more."""
    found = [
        use(job, key, descriptor, method)
        for descriptor, method in (
            (VALUE, "value"),
            (LIST, "get"),
            (MAP, "items"),
            (REDUCING, "get"),
            (AGGREGATING, "get"),
        )
    ]
    return found == [[number], [[number], number], [("a", [number]), ("b", None)], (number,), ([number],)]


def check_a_snapshot_shows_the_barrier(under_test: BackendUnderTest) -> None:
    """What changes while a snapshot is walked, in place or not, is not in it; nor is what is new or gone."""
    with running(under_test) as job:
        for key in range(1200):  # the walk takes about a thousand at a time
            fill(job, key, key)
        checkpoint = job.begin()
        for key in range(0, 1200, 7):
            grow(job, key)
            if key % 5 == 0:
                job.advance(checkpoint)
        for descriptor in PLAIN:
            use(job, 1, descriptor, "clear")
        fill(job, "new", 0)
        job.store(checkpoint)
        job.complete_it(checkpoint)
        job.restore(checkpoint, 1)
        assert all(filled(job, key, key) for key in range(1200))
        assert use(job, "new", VALUE, "value") is None
        assert set(job.subtasks[0].backend.keys("value")) == set(range(1200))


def check_an_increment_shows_its_barrier(under_test: BackendUnderTest) -> None:
    """So does a snapshot that may hold changes only: what changes again, goes or comes while it is walked."""
    with running(under_test) as job:
        for key in range(400):
            fill(job, key, key)
        job.checkpoint()
        for key in range(40):
            fill(job, key, -key)
        for descriptor in PLAIN:
            use(job, 50, descriptor, "clear")
        checkpoint = job.begin()
        for key in range(20):
            grow(job, key)
        fill(job, 50, 50)
        fill(job, "new", 0)
        for descriptor in PLAIN:
            use(job, 30, descriptor, "clear")
        job.store(checkpoint)
        job.complete_it(checkpoint)
        for restored in (checkpoint, None):
            job.restore(restored or job.checkpoint(), 1)
            assert all(filled(job, key, -key if key < 40 else key) for key in range(400) if key != 50)
            assert set(job.subtasks[0].backend.keys("value")) == set(range(400)) - {50}


def check_nothing_builds_on_files_that_go(under_test: BackendUnderTest) -> None:
    """State of any size outlives the checkpoints before the last."""
    for value_bytes in (1, 300, 3000):
        with running(under_test) as job:
            for key in range(30):
                use(job, key, VALUE, "update", bytes(value_bytes))
            for number in range(6):
                checkpoint = job.begin()
                job.store(checkpoint)
                job.complete_it(checkpoint, keep=1)
                use(job, number, VALUE, "update", number)
            job.restore(checkpoint, 1)
            found = [use(job, key, VALUE, "value") for key in range(30)]
            assert found == [0, 1, 2, 3, 4, *[bytes(value_bytes)] * 25]


def check_checkpoints_overlap(under_test: BackendUnderTest) -> None:
    """Each of several snapshots under way shows its own barrier; one that is given up takes nothing with it."""
    with running(under_test) as job:
        begun = []
        for number in range(4):
            for key in range(number, 60):
                fill(job, key, number)
            begun.append(job.begin())
        job.abort(begun[2])
        for number in (0, 1, 3):
            job.store(begun[number])
            job.complete_it(begun[number], keep=4)
        for number in (1, 3, 0):
            job.restore(begun[number], 1)
            assert all(filled(job, key, min(key, number)) for key in range(60))


def check_checkpoints_build_on_each_other(under_test: BackendUnderTest) -> None:
    """A long row of checkpoints, each after a few changes, is as good as one; older ones may go."""
    with running(under_test) as job:
        for key in range(200):
            fill(job, key, 0)
        for number in range(1, 90):
            fill(job, number, number)
            use(job, number - 1, VALUE, "clear")
            job.clock.advance(2)
            job.background()
            if number % 3:
                job.run_io()
            checkpoint = job.begin()
            job.store(checkpoint)
            if number % 5:
                job.complete_it(checkpoint, keep=1)
            else:
                job.abort(checkpoint)
            if number % 20 == 0:
                job.restore(job.complete[-1], 1 + number % 3)
                fill(job, number, number)
                use(job, number - 1, VALUE, "clear")
        job.restore(job.checkpoint(), 2)
        found = {key: use(job, key, VALUE, "value") for key in range(200)}
        assert found == {key: None if key < 89 else [89] if key == 89 else [0] for key in range(200)}
        assert all(use(job, key, REDUCING, "get") == (key,) for key in range(1, 90))


def check_late_confirmation_of_overlapping_checkpoints(under_test: BackendUnderTest) -> None:
    """A checkpoint that began before the one before it was confirmed leaves nothing that names deleted files."""
    with running(under_test) as job:
        for key in range(40):
            use(job, key, VALUE, "update", bytes(1000))
        first, second = job.begin(), None
        use(job, 1, VALUE, "update", 1)
        second = job.begin()
        for checkpoint in (first, second):
            job.store(checkpoint)
        job.complete_it(first, keep=1)
        use(job, 2, VALUE, "update", 2)
        for _ in range(20):
            job.clock.advance(5)
            job.background()
        job.run_io()
        job.complete_it(second, keep=1)
        use(job, 3, VALUE, "update", 3)
        job.restore(job.checkpoint(), 1)
        assert [use(job, key, VALUE, "value") for key in (1, 2, 3)] == [1, 2, 3]
        assert use(job, 4, VALUE, "value") == bytes(1000)


def check_rescaling(under_test: BackendUnderTest) -> None:
    """State and timers go with their keys, up and down, and each key is in one subtask only."""
    with running(under_test) as job:
        for key in range(300):
            fill(job, key, key)
            subtask = job.subtask_of(key)
            timers = Timers(subtask.backend, EVENT_TIMERS)
            with job.batch([key]):
                subtask.enter(key)
                timers.register(key % 10)
        for parallelism in (4, 3, 7, 1):
            job.restore(job.checkpoint(), parallelism)
            assert all(filled(job, key, key) for key in range(300))
            keys = [key for subtask in job.subtasks for key in subtask.backend.keys("value")]
            assert sorted(keys) == list(range(300))
        fired = []
        for subtask in job.subtasks:
            timers = Timers(subtask.backend, EVENT_TIMERS)
            fired += [(time, subtask.backend.current.cell[KEY]) for time in timers.due(100, 10_000)]
            subtask.backend.leave()
        assert sorted(fired) == sorted((key % 10, key) for key in range(300))


def check_merging_namespaces(under_test: BackendUnderTest) -> None:
    """Sources with nothing, with one thing, with many, and the target among them: all goes to the target, in order."""
    contents: list[tuple[dict[int, int], list[int], list[int]]] = [
        ({}, [1, 2], []),
        ({9: 0}, [1, 2], [0]),
        ({1: 1}, [1, 2], [1]),
        ({9: 0, 1: 1, 2: 2, 3: 3}, [1, 3, 2], [0, 1, 3, 2]),
        ({9: 0, 1: 1}, [1, 9], [1, 0]),
    ]
    with running(under_test) as job:
        for number, (content, sources, merged) in enumerate(contents):
            for kind in ("list", "reducing", "aggregating"):
                descriptor = descriptor_of(kind, f"window {kind}")
                with job.batch([number]):
                    for namespace, value in content.items():
                        job.at(number, descriptor, namespace).add((value,))
                    handle = job.at(number, descriptor, 9)
                    job.subtask_of(number).backend.namespaces.merge(descriptor, 9, sources)
                    found = apply(handle, ("get", ()))
                    expected: Any = [(value,) for value in merged]
                    if kind == "reducing":
                        expected = tuple(merged) or None
                    assert found == (tuple(expected) or None if kind == "aggregating" else expected), (kind, content)
                    for source in set(sources) - {9}:
                        assert not apply(job.at(number, descriptor, source), ("get", ()))
        job.restore(job.checkpoint(), 2)
        with job.batch([3]):
            assert apply(job.at(3, descriptor_of("list", "window list"), 9), ("get", ())) == [(0,), (1,), (3,), (2,)]


def check_a_time_to_live_that_comes_and_goes(under_test: BackendUnderTest) -> None:
    """State that gets one counts as accessed at the restore; state that loses it lives for ever, with all it has."""
    for kind in under_test.kinds.values():
        read, plain, expiring = kind.read, kind.descriptor("s"), kind.descriptor("s", _TTL)
        with running(under_test) as job:
            put_one(job, "key", kind, plain)
            before = use(job, "key", plain, read)
            job.clock.advance(1000)
            job.restore(job.checkpoint(), 1)
            assert use(job, "key", expiring, read) == before
            job.clock.advance(TTL_MS - 1)
            assert use(job, "key", expiring, read) == before
            checkpoint = job.checkpoint()
            job.clock.advance(1)
            assert not use(job, "key", expiring, read)
            job.restore(checkpoint, 1)
            assert use(job, "key", plain, read) == before
            job.restore(job.checkpoint(), 1)
            assert use(job, "key", plain, read) == before


def check_full_snapshots_leave_out_what_has_expired(under_test: BackendUnderTest) -> None:
    """Expired values are not written, if so configured, and the state that is in use is not touched by that."""
    for kind in under_test.kinds.values():
        read, config = kind.read, ttl_config().cleanup_full_snapshot().return_expired_if_not_cleaned_up()
        expiring = kind.descriptor("s", config.disable_cleanup_in_background().build())
        with running(under_test) as job:
            for key in ("old", "new"):
                put_one(job, key, kind, expiring)
                job.clock.advance(TTL_MS // 2)
            checkpoint = job.checkpoint()
            assert use(job, "old", expiring, read)
            job.restore(checkpoint, 1)
            assert not use(job, "old", expiring, read)
            assert use(job, "new", expiring, read)


def check_clean_up_beside_a_snapshot(under_test: BackendUnderTest) -> None:
    """What is cleaned up while a snapshot is walked was there at the barrier, so a longer life shows it again."""
    short = descriptor_of("value", "s", _TTL)
    with running(under_test) as job:
        for key in range(50):
            use(job, key, short, "update", key)
        job.clock.advance(TTL_MS)
        checkpoint = job.begin()
        for _ in range(30):
            use(job, "other", short, "value")
            job.background()
        job.store(checkpoint)
        job.complete_it(checkpoint)
        job.restore(checkpoint, 1)
        for_ever = descriptor_of("value", "s")
        assert [use(job, key, for_ever, "value") for key in range(50)] == list(range(50))


def check_attempts_build_on_each_other(under_test: BackendUnderTest) -> None:
    """What each attempt writes in the background, and then in a checkpoint, adds to what those before it wrote."""
    with running(under_test) as job:
        for key in range(200):
            fill(job, key, key)
        for attempt in range(4):
            for _ in range(8):
                job.clock.advance(100)
                job.background()
                job.run_io()
            fill(job, attempt, -1)
            use(job, 199, LIST, "add", attempt)
            for _ in range(8):
                job.clock.advance(100)
                job.background()
                job.run_io()
            fill(job, 100 + attempt, -1)
            job.restore(job.checkpoint(), 1)
        changed = {*range(4), *range(100, 104)}
        assert all(filled(job, key, -1 if key in changed else key) for key in range(199))
        assert list(use(job, 199, LIST, "get")) == [[199], 199, *range(4)]


def check_declarations(under_test: BackendUnderTest) -> None:
    """One name is one state: of one kind and type, now and after a restore."""
    with running(under_test) as job:
        backend = job.subtasks[0].backend
        handle = backend.state(ValueStateDescriptor("s", Types.LONG()))
        assert backend.state(ValueStateDescriptor("s", Types.LONG())) is handle
        for other in (ValueStateDescriptor("s", Types.STRING()), descriptor_of("list", "s")):
            _refused(ProgramError, backend, other)
        use(job, "key", ValueStateDescriptor("s", Types.LONG()), "update", 1)
        checkpoint = job.checkpoint()
        for other in (ValueStateDescriptor("s", Types.STRING()), descriptor_of("map", "s")):
            job.restore(checkpoint, 1)
            _refused(RestoreError, job.subtasks[0].backend, other)


def _refused(error: type[Exception], backend: KeyedBackend, descriptor: StateDescriptor) -> None:
    message = ""
    try:
        backend.state(descriptor)
    except error as refusal:
        message = str(refusal)
    assert "'s'" in message, f"{descriptor} is not refused with {error.__name__}, naming the state: {message!r}"


SCENARIOS: Final[tuple[Callable[[BackendUnderTest], None], ...]] = (
    check_a_snapshot_shows_the_barrier,
    check_an_increment_shows_its_barrier,
    check_nothing_builds_on_files_that_go,
    check_checkpoints_overlap,
    check_checkpoints_build_on_each_other,
    check_attempts_build_on_each_other,
    check_late_confirmation_of_overlapping_checkpoints,
    check_rescaling,
    check_merging_namespaces,
    check_a_time_to_live_that_comes_and_goes,
    check_full_snapshots_leave_out_what_has_expired,
    check_clean_up_beside_a_snapshot,
    check_declarations,
)
