"""The checkpoint coordinator under random events: whatever happens, everybody is answered once and nothing overlaps."""

from __future__ import annotations

import random
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.checkpoint.coordination import vocabulary as c
from headgate.checkpoint.coordination.coordinator import CheckpointCoordinator
from headgate.checkpoint.handles import SubtaskState
from headgate.checkpoint.messages import (
    CheckpointMessage,
    SubtaskAcked,
    SubtaskCommitted,
    SubtaskDeclined,
    SubtaskEnded,
    SubtaskRecovered,
)
from headgate.elements import SavepointOrder
from headgate.ids import Attempt, CheckpointId, SubtaskId
from tests.sample_size import sample_size

SUBTASKS = (SubtaskId(0, 0), SubtaskId(1, 0), SubtaskId(1, 1))
COMMITTING = frozenset(SUBTASKS[1:])
STATE = SubtaskState(operators=())


class World:
    """Everything around a coordinator: subtasks, storage, askers, and a supervisor that restarts after each failure."""

    def __init__(self, coordinator_settings: c.CheckpointSettings, seed: int) -> None:
        self.coordinator = CheckpointCoordinator(coordinator_settings)
        self.rng = random.Random(seed)
        self.now_ms = 0.0
        self.attempt = Attempt(0)
        self.running = False
        self.finishing: CheckpointId | None = None
        self.manifest: CheckpointId | None = None
        self.record: CheckpointId | None = None
        self.over = False
        self.triggered: list[CheckpointId] = []
        self.first = 0
        self.savepoints: set[CheckpointId] = set()
        self.asked = 0
        self.answers: Counter[int] = Counter()
        self.told: list[CheckpointId] = []
        self.stored: set[CheckpointId] = set()
        self.commits_for_all = self.rng.random() < 0.5
        self.commit: CheckpointId | None = None
        self.committed: set[CheckpointId] = set()
        self.retaining = False
        self.aborting = False

    @property
    def writing(self) -> CheckpointId | None:
        """What was ordered and is not answered: a manifest, a record of the stop, or a commit for all."""
        return self.manifest or self.record or self.commit

    # --- what happens

    def step(self) -> None:
        self.now_ms += self.rng.choice([0.0, 0.0, 1.0, 20.0, 90.0])
        actions = [self.tick, self.ask, self.answer_storage, self.answer_storage]
        actions += [self.speak] * 6 if self.running else [self.start] * 3
        actions += [self.fail] if self.running and self.rng.random() < 0.1 else []
        self.rng.choice(actions)()

    def tick(self) -> None:
        self.feed(c.Tick(now_ms=self.now_ms))

    def ask(self) -> None:
        if self.rng.random() < 0.6:
            return
        self.asked += 1
        kind = self.rng.choice(["checkpoint", "checkpoint", "savepoint", "savepoint", "stop", "drain"])
        stops = kind in ("stop", "drain")
        order = None if kind == "checkpoint" else SavepointOrder(f"/{self.asked}", stops=stops)
        request = c.CheckpointRequest(number=self.asked, savepoint=order, drains=kind == "drain")
        self.feed(c.CheckpointRequested(request=request, now_ms=self.now_ms))

    def speak(self) -> None:
        """A subtask says something that it may say."""
        subtask = self.rng.choice(SUBTASKS)
        own = self.triggered[self.first :][-4:]
        id_ = self.rng.choice(own) if own else None
        kind = self.rng.choice(["ack"] * 8 + ["decline", "end", "commit", "commit", "recover"])
        message: CheckpointMessage
        if kind == "end":
            message = SubtaskEnded(attempt=self.attempt, subtask=subtask)
        elif kind == "recover":
            message = SubtaskRecovered(attempt=self.attempt, subtask=subtask)
        elif kind == "commit":
            committed = max(self.told, default=self.finishing)
            if committed is None:
                return
            message = SubtaskCommitted(attempt=self.attempt, checkpoint_id=committed, subtask=subtask)
        elif id_ is None:
            return
        elif kind == "ack":
            message = SubtaskAcked(attempt=self.attempt, checkpoint_id=id_, subtask=subtask, state=STATE)
        else:
            fault = self.rng.random() < 0.5
            message = SubtaskDeclined(
                attempt=self.attempt, checkpoint_id=id_, subtask=subtask, reason="no", fault=fault
            )
        self.feed(c.Received(message=message, now_ms=self.now_ms))

    def answer_storage(self) -> None:
        good = self.rng.random() < 0.8
        if self.manifest is not None:
            id_, self.manifest = self.manifest, None
            if good:
                self.stored.add(id_)
                self.feed(c.ManifestStored(checkpoint_id=id_, now_ms=self.now_ms))
            else:
                self.feed(c.ManifestRefused(checkpoint_id=id_, reason="no", now_ms=self.now_ms))
        elif self.record is not None:
            id_, self.record = self.record, None
            if good:
                self.finishing = id_
                self.feed(c.StopRecorded(checkpoint_id=id_, now_ms=self.now_ms))
            else:
                self.feed(c.StopRefused(checkpoint_id=id_, reason="no", now_ms=self.now_ms))

        elif self.commit is not None:
            id_, self.commit = self.commit, None
            if good:
                self.committed.add(id_)
                self.feed(c.CommittedForAll(checkpoint_id=id_, now_ms=self.now_ms))
            else:
                self.feed(c.CommitRefused(checkpoint_id=id_, reason="no", retriable=True, now_ms=self.now_ms))
        elif self.retaining:
            self.retaining = False
            self.feed(c.CheckpointsRetained(now_ms=self.now_ms))
        elif self.aborting:
            self.aborting = False
            self.feed(c.OutputAborted(now_ms=self.now_ms))

    def start(self) -> None:
        if self.over or not self.coordinator.gate.is_open_for_restore:
            return
        assert not self.aborting, "restored before what is left over is aborted"
        assert self.writing is None, "restored in doubt"
        self.attempt = Attempt(self.attempt + 1)
        self.running = True
        own = [id_ for id_ in self.stored if id_ not in self.savepoints]
        self.told = []
        self.first = len(self.triggered)
        self.feed(
            c.AttemptStarted(
                attempt=self.attempt,
                subtasks=frozenset(SUBTASKS),
                committing=COMMITTING,
                now_ms=self.now_ms,
                wall_ms=int(self.now_ms),
                last_id=max(self.triggered, default=CheckpointId(0)),
                restored=max(own, default=None),
                recovering=frozenset(SUBTASKS[:1]) if self.rng.random() < 0.2 else frozenset(),
                finishing=self.finishing,
                commits_for_all=self.commits_for_all,
            )
        )

    def fail(self) -> None:
        self.running = False
        self.feed(c.AttemptEnded(attempt=self.attempt, now_ms=self.now_ms))

    def end(self) -> None:
        """The job is cancelled, wherever it is."""
        if self.running:
            self.fail()
        while not self.coordinator.gate.is_open_for_end:
            self.answer_storage()
        assert not self.aborting, "ended before what is left over is aborted"
        assert not self.retaining, "ended amid a retention"
        assert self.writing is None, "ended in doubt"
        if not self.over:
            self.over = True
            self.feed(c.JobEnded(finished=False, cause=None, now_ms=self.now_ms))

    # --- what is ordered

    def feed(self, event: c.CoordinatorEvent) -> None:
        effects = self.coordinator.handle(event)
        self.coordinator.check_invariants()
        wake_ms = self.coordinator.next_wake_ms()
        assert wake_ms is None or wake_ms > self.now_ms
        for effect in effects:
            self.perform(effect)

    def perform(self, effect: c.CoordinatorEffect) -> None:
        match effect:
            case c.TriggerCheckpoint(barrier=barrier):
                assert barrier.checkpoint_id > max(self.triggered, default=CheckpointId(0)), "an id is used again"
                assert self.finishing is None, "a checkpoint after the job was stopped"
                self.triggered.append(barrier.checkpoint_id)
                if barrier.savepoint is not None:
                    self.savepoints.add(barrier.checkpoint_id)
            case c.StoreManifest(checkpoint_id=checkpoint_id, states=states):
                assert self.manifest is None, "two manifests at a time"
                assert self.commit is None or self.commit in self.savepoints, "a manifest before the commit of another"
                assert set(states) == set(SUBTASKS)
                self.manifest = checkpoint_id
            case c.RecordStop(checkpoint_id=checkpoint_id):
                assert checkpoint_id in self.stored
                self.record = checkpoint_id
            case c.CommitForAll(order=order):
                assert order.checkpoint_id in self.stored, "committed before it is durable"
                assert order.checkpoint_id not in self.savepoints or order.checkpoint_id == self.finishing
                self.commit = order.checkpoint_id
            case c.NotifyCompleted(checkpoint_id=checkpoint_id):
                assert checkpoint_id in self.stored, "told before it is durable"
                assert not self.commits_for_all or checkpoint_id in self.committed, (
                    "told before it is committed for all"
                )
                assert checkpoint_id not in self.savepoints or checkpoint_id == self.finishing
                self.told.append(checkpoint_id)
            case c.RetainCheckpoints(keep=keep):
                assert not self.savepoints & set(keep)
                assert not self.retaining, "two retentions at a time"
                self.retaining = True
            case c.AbortOutput():
                assert self.coordinator.gate.in_doubt is None, "aborted what may be committed"
                self.aborting = True
            case c.DiscardFiles(checkpoint_id=checkpoint_id) | c.DiscardSavepoint(checkpoint_id=checkpoint_id):
                assert checkpoint_id not in self.stored, "files of a complete one are deleted"
            case c.RequestCompleted(request=request, checkpoint_id=checkpoint_id):
                assert checkpoint_id in self.stored
                assert not request.stops or self.over
                assert (request.savepoint is not None) == (checkpoint_id in self.savepoints)
                self.answers[request.number] += 1
            case c.RequestFailed(request=request):
                self.answers[request.number] += 1
            case c.FailAttempt():
                self.fail()
            case c.FinishJob():
                self.running = False
                self.over = True
                self.feed(c.AttemptEnded(attempt=self.attempt, now_ms=self.now_ms))
                while self.coordinator.gate.in_doubt is not None:
                    self.answer_storage()
                self.feed(c.JobEnded(finished=True, cause=None, now_ms=self.now_ms))


@settings(max_examples=sample_size(300))
@given(
    st.integers(0, 2**32),
    st.builds(
        c.CheckpointSettings,
        interval_ms=st.sampled_from([None, 50]),
        timeout_ms=st.just(300),
        max_concurrent=st.integers(1, 2),
        unaligned_after_ms=st.sampled_from([None, None, 0, 10]),
        tolerable_failures=st.integers(0, 3),
        after_tasks_ended=st.booleans(),
        forced=st.booleans(),
    ),
)
def test_every_request_is_answered_once_ids_grow_and_nothing_durable_is_lost(
    seed: int, coordinator_settings: c.CheckpointSettings
) -> None:
    world = World(coordinator_settings, seed)
    for _ in range(150):
        if world.over:
            break
        world.step()
    world.end()
    assert world.answers == Counter(range(1, world.asked + 1))
