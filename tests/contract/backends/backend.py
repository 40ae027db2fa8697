"""What every backend of keyed state must do, as checks to run on your own.

`check_against_model` lets Hypothesis do anything that a job may do, in any order: change state of all kinds, with and
without a time to live, in namespaces and not; let time pass; set and fire timers; take checkpoints that complete, are
given up or overlap, while state changes, and savepoints; restore them, at any parallelism.
"""

from __future__ import annotations

import copy
import tempfile
from pathlib import Path
from typing import Any, Final

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from headgate.elements import SavepointFormat
from headgate.state.keyed.cells import KEY
from headgate.time.timers import EVENT_TIMERS, Timers
from tests.contract.backends.keyed_job import CONCURRENT_MAX, BackendUnderTest, Checkpoint, ContractSubtask, KeyedJob
from tests.contract.backends.keyed_model import Model
from tests.contract.backends.keyed_states import (
    KEYS,
    NAMESPACES,
    TTL_MS,
    Change,
    States,
    Step,
    apply,
)

__all__ = ["BackendUnderTest", "check_against_model"]

Timer = tuple[int, Any]
_FIRED: Final = ("grow", ())
_SEEDS: Final = st.integers(0, 2**32 - 1)
_KEYS: Final = st.sampled_from(KEYS)
_NAMESPACES: Final = st.sampled_from(NAMESPACES)


def _name_of(which: str) -> st.SearchStrategy[str]:
    """Draw the name of one of the machine's states."""
    return st.runner().flatmap(lambda machine: st.sampled_from(sorted(getattr(machine.states, which))))


class _BackendAgainstModel(RuleBasedStateMachine):
    """A job, and the model of its state; `under_way` holds checkpoints with what they must hold."""

    under_test: BackendUnderTest

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        self.job = KeyedJob(self.under_test, Path(self._folder.name))
        self.states = States(self.under_test.kinds)
        self.models: dict[str, Model] = self.states.models(self.job.clock)
        self.timers: set[Timer] = set()
        self.under_way: list[Checkpoint] = []
        self.savepoint: Any = None
        self.expected: dict[int, tuple[dict[str, Any], set[Timer]]] = {}
        self.names: list[str] = []

    # --- state

    @initialize(names=st.sets(_name_of("all"), min_size=1, max_size=3))
    def some_states_are_used(self, names: set[str]) -> None:
        """Few, so that what happens, happens to the same; and many keys, so that an increment is worth its while."""
        self.names = ["value", *sorted(names - {"value"})]
        self.do([("value", key, None, ("update", ("still",))) for key in range(100, 140)])

    @rule(seed=_SEEDS)
    def batch(self, seed: int) -> None:
        self.do(self.states.steps(seed, self.names))

    def do(self, steps: list[Step]) -> None:
        """Process a batch of records, each of which does one change."""
        with self.job.batch([key for _, key, _, _ in steps]):
            for name, key, namespace, change in steps:
                self.same(name, key, namespace, change)

    @rule(name=_name_of("merging"), key=_KEYS, into=_NAMESPACES, sources=st.sets(_NAMESPACES))
    def merge(self, name: str, key: Any, into: int, sources: set[int]) -> None:
        with self.job.batch([key]):
            self.job.at(key, self.states.merging[name], into)
            self.job.subtask_of(key).backend.namespaces.merge(self.states.merging[name], into, sorted(sources))
            self.models[name].merge(key, into, sorted(sources))
            for namespace in (into, *sorted(sources)):
                self.same(name, key, namespace, self.states.read(name))

    def same(self, name: str, key: Any, namespace: Any, change: Change) -> None:
        """Do a change in the job and in the model, and compare what is returned."""
        model = self.models[name]
        model.place = (key, namespace)
        handle = self.job.at(key, self.states.all[name], namespace)
        found, expected = apply(handle, copy.deepcopy(change)), apply(model, copy.deepcopy(change))
        assert found == expected, f"{name} of {key!r} in {namespace!r}: {change} gave {found!r}, not {expected!r}"

    @rule(key=_KEYS)
    def remove_key(self, key: Any) -> None:
        """Leave nothing of a key but what it has in namespaces."""
        plain = [name for name in self.names if name in self.states.keyed]
        self.do([(name, key, None, ("clear", ())) for name in plain])
        with self.job.batch([key]):
            for timer in [timer for timer in self.timers if timer[1] == key]:
                self.at_timers(key).delete(timer[0])
                self.timers.discard(timer)

    @rule(by_ms=st.sampled_from([1, TTL_MS // 2, TTL_MS - 1, TTL_MS]))
    def time_passes(self, by_ms: int) -> None:
        self.job.clock.advance(by_ms)

    @rule(name=_name_of("plain"))
    def keys_are_found(self, name: str) -> None:
        found = [key for subtask in self.job.subtasks for key in self.keys_of(subtask, name)]
        assert len(found) == len(set(found))
        assert set(found) == self.models[name].living_keys()

    def keys_of(self, subtask: ContractSubtask, name: str) -> list[Any]:
        subtask.handle(self.states.keyed[name], namespaced=False)
        return list(subtask.backend.keys(name))

    # --- timers

    @rule(asked=st.lists(st.tuples(st.integers(0, 4), _KEYS), min_size=1, max_size=4))
    def register_timers(self, asked: list[Timer]) -> None:
        with self.job.batch([key for _, key in asked]):
            for timestamp_ms, key in asked:
                self.at_timers(key).register(timestamp_ms)
                self.timers.add((timestamp_ms, key))

    @rule(timestamp_ms=st.integers(0, 4), key=_KEYS)
    def delete_timer(self, timestamp_ms: int, key: Any) -> None:
        with self.job.batch([key]):
            self.at_timers(key).delete(timestamp_ms)
        self.timers.discard((timestamp_ms, key))

    @rule(until_ms=st.integers(0, 5), limit=st.integers(1, 5))
    def fire_timers(self, until_ms: int, limit: int) -> None:
        fired: set[Timer] = set()
        for subtask in self.job.subtasks:
            found = self.fire(subtask, until_ms, limit)
            assert [time for time, _ in found] == sorted(time for time, _ in found)
            assert not fired & set(found)
            fired |= set(found)
        assert fired == {timer for timer in self.timers if timer[0] <= until_ms}
        self.timers -= fired

    def fire(self, subtask: ContractSubtask, until_ms: int, limit: int) -> list[Timer]:
        timers = Timers(subtask.backend, EVENT_TIMERS)
        found: list[Timer] = []
        while True:
            piece = []
            for timestamp_ms in timers.due(until_ms, limit):
                key = subtask.backend.current.cell[KEY]
                piece.append((timestamp_ms, key))
                self.models["value"].place = (key, None)
                apply(subtask.handle(self.states.keyed["value"], namespaced=False), _FIRED)
                apply(self.models["value"], _FIRED)
            subtask.backend.leave()
            found += piece
            if timers.head_ms > until_ms:
                return found

    def at_timers(self, key: Any) -> Timers:
        subtask = self.job.subtask_of(key)
        timers = Timers(subtask.backend, EVENT_TIMERS)
        subtask.enter(key)
        return timers

    # --- checkpoints

    @precondition(lambda self: len(self.under_way) < CONCURRENT_MAX)
    @rule()
    def begin_checkpoint(self) -> None:
        self.begun(self.job.begin())

    def begun(self, checkpoint: Checkpoint) -> None:
        self.under_way.append(checkpoint)
        rows = {name: copy.deepcopy(model.rows) for name, model in self.models.items()}
        self.expected[checkpoint.checkpoint_id] = (rows, set(self.timers))

    @rule(seed=_SEEDS, pieces=st.integers(0, 3), parallelism=st.none() | st.integers(1, 3))
    def checkpoint_while_state_changes(self, seed: int, pieces: int, parallelism: int | None) -> None:
        self.begin_checkpoint()
        for _ in range(pieces):
            self.job.advance(self.under_way[0])
        self.do(self.states.steps(seed, self.names))
        while self.under_way:
            self.complete_checkpoint()
        if parallelism is not None:
            self.restore(latest=True, parallelism=parallelism)

    @precondition(lambda self: self.under_way)
    @rule()
    def walk_checkpoint(self) -> None:
        self.job.advance(self.under_way[0])

    @precondition(lambda self: len(self.under_way) < CONCURRENT_MAX)
    @rule(form=st.sampled_from(SavepointFormat))
    def begin_savepoint(self, form: SavepointFormat) -> None:
        self.begun(self.job.begin_savepoint(form))

    @precondition(lambda self: self.under_way)
    @rule()
    def complete_checkpoint(self) -> None:
        checkpoint = self.under_way.pop(0)
        self.job.store(checkpoint)
        if checkpoint.is_savepoint:
            self.savepoint = checkpoint
        else:
            self.job.complete_it(checkpoint)

    @precondition(lambda self: self.under_way)
    @rule(which=st.integers(0, 2), stored=st.booleans())
    def give_checkpoint_up(self, which: int, stored: bool) -> None:
        checkpoint = self.under_way.pop(which % len(self.under_way))
        if stored:
            self.job.store(checkpoint)
        self.job.abort(checkpoint)

    @precondition(lambda self: self.job.complete)
    @rule(latest=st.booleans(), parallelism=st.integers(1, 4))
    def restore(self, latest: bool, parallelism: int) -> None:
        self.go_on_from(self.job.complete[-1 if latest else 0], parallelism)

    @precondition(lambda self: self.savepoint)
    @rule(parallelism=st.integers(1, 4))
    def restore_savepoint(self, parallelism: int) -> None:
        self.go_on_from(self.savepoint, parallelism)

    def go_on_from(self, checkpoint: Checkpoint, parallelism: int) -> None:
        self.job.restore(checkpoint, parallelism)
        rows, timers = self.expected[checkpoint.checkpoint_id]
        for name, model in self.models.items():
            model.rows = copy.deepcopy(rows[name])
        self.timers = set(timers)
        self.under_way = []

    @rule(pieces=st.integers(1, 4), finish=st.booleans())
    def work_in_background(self, pieces: int, finish: bool) -> None:
        for _ in range(pieces):
            self.job.background()
        if finish:
            self.job.run_io()

    def teardown(self) -> None:
        try:
            self.compare()
            self.begin_checkpoint()
            while self.under_way:
                self.complete_checkpoint()
            self.restore(latest=True, parallelism=2)
            self.compare()
            self.fire_timers(until_ms=10_000, limit=1000)
        finally:
            self.job.close()
            self._folder.cleanup()

    def compare(self) -> None:
        """Read everything that there is."""
        for name in self.names:
            places = sorted(self.models[name].rows, key=repr)
            self.do([(name, key, namespace, self.states.read(name)) for key, namespace in places])


def check_against_model(under_test: BackendUnderTest, max_examples: int = 50, steps: int = 40) -> None:
    """Any order of what a job does leads to the state of a model that is a plain dict."""

    class Machine(_BackendAgainstModel):
        pass

    Machine.under_test = under_test
    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=max_examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
