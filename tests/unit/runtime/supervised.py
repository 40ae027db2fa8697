"""A supervisor of two slots to drive in tests, with the clock in hand."""

from __future__ import annotations

from headgate.graph.placement import Placement
from headgate.ids import Attempt, CheckpointId, Launch, SlotIndex
from headgate.runtime.master import supervisor_vocabulary as s
from headgate.runtime.master.restart_strategies import RestartStrategy
from headgate.runtime.master.supervisor import Supervisor
from headgate.runtime.master.supervisor_vocabulary import SupervisorState

State = SupervisorState
A1, A2, A3 = Attempt(1), Attempt(2), Attempt(3)
L1, L2 = Launch(1), Launch(2)
S0, S1 = SlotIndex(0), SlotIndex(1)
TWO = Placement(parallelism=(1, 2))


class Job:
    """A supervisor of two slots until it is told otherwise, with the clock in hand."""

    def __init__(self, restart: RestartStrategy) -> None:
        self.placement = TWO
        self.supervisor = Supervisor(
            place=lambda attempt: self.placement, restart=restart, teardown_timeout_ms=500.0, start_timeout_ms=1_000.0
        )
        self.now_ms = 0.0

    def place(self, *parallelism: int) -> list[s.SupervisorEffect]:
        """The attempts that follow have this parallelism."""
        self.placement = Placement(parallelism=parallelism)
        return []

    @property
    def state(self) -> State:
        return self.supervisor.state

    def handle(self, event: s.SupervisorEvent) -> list[s.SupervisorEffect]:
        effects = self.supervisor.handle(event)
        self.supervisor.check_invariants()
        return effects

    def at(self, now_ms: float) -> list[s.SupervisorEffect]:
        self.now_ms = now_ms
        return self.handle(s.SupervisorTick(now_ms=now_ms))

    def submit(self) -> list[s.SupervisorEffect]:
        return self.handle(s.Submitted(now_ms=self.now_ms))

    def register(self, slot: SlotIndex, launch: Launch = L1) -> list[s.SupervisorEffect]:
        return self.handle(s.SlotRegistered(launch=launch, slot=slot, now_ms=self.now_ms))

    def lose(self, slot: SlotIndex, launch: Launch = L1) -> list[s.SupervisorEffect]:
        return self.handle(s.SlotLost(launch=launch, slot=slot, reason="connection closed", now_ms=self.now_ms))

    def end_launch(
        self, launch: Launch = L1, error: str | None = None, refused: bool = False
    ) -> list[s.SupervisorEffect]:
        return self.handle(s.LaunchEnded(launch=launch, error=error, refused=refused, now_ms=self.now_ms))

    def lose_host(self) -> list[s.SupervisorEffect]:
        return self.handle(s.LaunchEnded(launch=L1, error="Spark is gone", for_good=True, now_ms=self.now_ms))

    def resolve(self, attempt: Attempt = A1, checkpoint_id: int | None = None) -> list[s.SupervisorEffect]:
        restored = None if checkpoint_id is None else CheckpointId(checkpoint_id)
        return self.handle(s.RestoreResolved(attempt=attempt, checkpoint_id=restored, now_ms=self.now_ms))

    def ready(self, slot: SlotIndex, attempt: Attempt = A1) -> list[s.SupervisorEffect]:
        return self.handle(s.SlotIsReady(slot=slot, attempt=attempt, now_ms=self.now_ms))

    def torn_down(
        self, slot: SlotIndex, attempt: Attempt = A1, unclosed: str | None = None
    ) -> list[s.SupervisorEffect]:
        return self.handle(s.SlotIsTornDown(slot=slot, attempt=attempt, now_ms=self.now_ms, unclosed=unclosed))

    def fail(self, attempt: Attempt = A1, retriable: bool = True) -> list[s.SupervisorEffect]:
        event = s.AttemptFailed(attempt=attempt, cause="ValueError: boom", retriable=retriable, now_ms=self.now_ms)
        return self.handle(event)

    def done(self, attempt: Attempt = A1) -> list[s.SupervisorEffect]:
        return self.handle(s.JobDone(attempt=attempt, now_ms=self.now_ms))

    def cancel(self) -> list[s.SupervisorEffect]:
        return self.handle(s.CancelRequested(now_ms=self.now_ms))

    def suspend(self) -> list[s.SupervisorEffect]:
        return self.handle(s.SuspendRequested(grace_ms=2_000.0, now_ms=self.now_ms))

    def checkpoint_over(self, failure: str | None = None) -> list[s.SupervisorEffect]:
        return self.handle(s.CheckpointOver(attempt=A1, failure=failure, now_ms=self.now_ms))

    def rescale(self, *parallelism: int, number: int = 1) -> list[s.SupervisorEffect]:
        wanted = Placement(parallelism=parallelism)
        return self.handle(s.RescaleRequested(number=number, placement=wanted, now_ms=self.now_ms))

    def launching(self) -> None:
        self.submit()

    def resolving(self) -> None:
        self.launching()
        self.register(S0)
        self.register(S1)

    def deploying(self) -> None:
        self.resolving()
        self.resolve()

    def running(self) -> None:
        self.deploying()
        self.ready(S0)
        self.ready(S1)

    def rescaling(self) -> None:
        self.running()
        self.rescale(1, 3)

    def tearing_down(self) -> None:
        self.running()
        self.fail()

    def waiting(self) -> None:
        self.tearing_down()
        self.torn_down(S0)
        self.torn_down(S1)

    def relaunching(self) -> None:
        self.running()
        self.lose(S1)

    def suspending(self) -> None:
        self.running()
        self.suspend()

    def closing(self) -> None:
        self.running()
        self.done()

    def finishing(self) -> None:
        self.closing()
        self.torn_down(S0)
        self.torn_down(S1)
