"""The faults of a run: drawn in advance from the seed. They stop at a known time, after which the job must end."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final, final

from headgate.checkpoint import paths
from headgate.runtime.master.requests import SavepointRequest
from headgate.runtime.master.supervisor_vocabulary import SupervisorState
from headgate.testing.sim.cluster import SimCluster, Troubles
from headgate.testing.sim.external import External
from headgate.testing.sim.slot_process import HEARTBEAT_TIMEOUT_MS, SimSlotProcess
from headgate.testing.sim.user import SAVEPOINTS

CALM_AFTER_MS: Final = 2_500.0
HANG_MS_MAX: Final = 4_000.0
_WEIGHTS: Final = (12, 6, 6, 8, 6, 6, 4, 4, 6, 2, 1, 1, 3, 6, 8, 5, 0, 4, 2, 0, 0, 0)
"""How often each kind is drawn. A kind with weight 0 occurs only when `often` names it."""
_LOOK_MS: Final = 0.2
"""Milliseconds between checks whether functions are being closed."""
_STARTING: Final = frozenset({SupervisorState.CREATED, SupervisorState.LAUNCHING})


@final
class Faults:
    """Plans and causes the faults of one run."""

    def __init__(
        self, cluster: SimCluster, outside: External, functions: list[str], *, often: tuple[str, ...] = ()
    ) -> None:
        """`functions` can be made to fail; the kinds in `often` occur in addition to the drawn faults."""
        self.planned: list[str] = []
        self._over = False
        self._cluster = cluster
        self._world = cluster.world
        self._outside = outside
        self._functions = functions
        self._often = often
        self._kinds: dict[str, Callable[[], None]] = {
            "slot crash": self._crash_slot,
            "slot stopped": self._stop_slot,
            "slot hangs": self._hang_slot,
            "user exception": self._fail_user_code,
            "master crash": self._crash_master,
            "storage outage": self._storage_outage,
            "outside outage": self._outside_outage,
            "broken link": self._break_link,
            "stalled link": self._stall_link,
            "launch ends": self._end_launch,
            "master crash at the end": self._crash_master_at_the_end,
            "cancellation": self._cancel,
            "slow storage": self._slow_storage,
            "slot crash in doubt": self._crash_slot_in_doubt,
            "master crash at an operation": self._crash_master_at_an_operation,
            "master presumed dead": self._presume_master_dead,
            "master crash at the stop": self._crash_master_at_the_stop,
            "loss of power": self._lose_power,
            "damage": self._damage,
            "live output": self._look_at_output,
            "master crash inside a savepoint": self._crash_master_inside_a_savepoint,
            "crash while closing": self._crash_while_closing,
        }

    def plan(self) -> None:
        """Draw the faults. One run in ten has none: what holds under faults must hold without."""
        rng = self._world.rng
        began_ms = self._world.now_ms
        self._calm_down()
        if rng.random() < 0.1:
            return
        self._cluster.storage.mishap_rate = rng.choice((0.0, 0.0, 0.01, 0.05))
        self._cluster.storage.is_disk = rng.random() < 0.5
        self._outside.mishap_rate = rng.choice((0.0, 0.0, 0.03))
        self._cluster.troubles = Troubles(*(rng.choice((0.0, most)) for most in (0.3, 0.3, 0.05)))
        self._world.slow_work = rng.choice((0.01, 0.05, 0.3))
        self._world.slow_hops = rng.choice((0.01, 0.03, 0.15))
        self._world.at(began_ms + CALM_AFTER_MS, self._calm_down)
        horizon_ms = rng.choice((150.0, 300.0, 600.0, 1_200.0))
        drawn = rng.choices(list(self._kinds), weights=_WEIGHTS, k=rng.randint(0, 7))
        for kind in (*drawn, *self._often):
            when_ms = rng.uniform(20.0, horizon_ms)
            self.planned.append(f"{kind} at {when_ms:.0f} ms")
            self._world.at(began_ms + when_ms, partial(self._bring_about, kind))

    def end(self) -> None:
        """Cause no more faults: another job runs."""
        self._calm_down()
        self._over = True

    def _calm_down(self) -> None:
        if self._over:
            return
        self._world.note("faults", "are over")
        self._cluster.storage.mishap_rate = self._outside.mishap_rate = 0.0
        self._world.slow_work = self._world.slow_hops = 0.0
        self._cluster.troubles = Troubles()

    def _bring_about(self, kind: str) -> None:
        if self._over or not self._cluster.masters:
            return
        master = self._cluster.master
        has_begun = paths.ATTEMPTS in {path.partition("/")[0] for path in self._cluster.store.memory.files}
        if not master.alive or (master.state in _STARTING and not has_begun):
            return  # a job that cannot start fails, as it should
        self._world.note("faults", kind)
        self._kinds[kind]()

    def _any_slot(self) -> SimSlotProcess | None:
        slots = self._cluster.live_slots()
        return self._world.rng.choice(slots) if slots else None

    # --- kinds of faults

    def _crash_slot(self) -> None:
        slot = self._any_slot()
        if slot is not None:
            slot.die("crash")

    def _stop_slot(self) -> None:
        slot = self._any_slot()
        if slot is not None:
            duration_ms = self._world.rng.choice((20.0, 100.0, 1_000.0))
            slot.stop_for(duration_ms)
            if duration_ms > HEARTBEAT_TIMEOUT_MS:
                slot.report_lost(HEARTBEAT_TIMEOUT_MS, 2 * HEARTBEAT_TIMEOUT_MS)

    def _hang_slot(self) -> None:
        """Have user code not return: the slot answers no message, but still sends heartbeats."""
        slot = self._any_slot()
        if slot is not None:
            slot.hang_for(self._world.rng.choice((50.0, 300.0, HANG_MS_MAX)))

    def _fail_user_code(self) -> None:
        if self._functions:
            self._outside.bomb = self._world.rng.choice(self._functions)

    def _crash_master(self) -> None:
        master = self._cluster.master
        if master.master.outcome is None:
            master.die("crash")
            self._world.after(1.0, 300.0, self._cluster.start_master)

    def _presume_master_dead(self) -> None:
        """Start the program again while its driver is alive, but stopped or unreachable for its watchers."""
        rng, master = self._world.rng, self._cluster.master
        if rng.random() < 0.7:
            master.stop_for(rng.choice((20.0, 100.0, 400.0)))
        self._world.after(1.0, 300.0, self._cluster.start_master)

    def _crash_master_at_an_operation(self) -> None:
        """Crash the job master during its n-th operation on storage from now on."""
        io = self._cluster.master.io
        io.on_last_operation = self._crash_master
        io.operations_left = self._world.rng.randint(1, 40)

    def _crash_master_at_the_end(self) -> None:
        self._cluster.store.on_result = lambda: self._world.after(0.0, 3.0, self._crash_master)

    def _crash_while_closing(self) -> None:
        """Crash the job master, or a slot, when everything is committed and functions are being closed."""
        if self._over or not self._cluster.masters:
            return
        if self._cluster.master.state is not SupervisorState.CLOSING:
            self._world.after(_LOOK_MS, _LOOK_MS, self._crash_while_closing)
        elif self._world.chance(0.3):
            self._crash_master()
        else:
            self._crash_slot()

    def _crash_master_at_the_stop(self) -> None:
        """Crash the job master when the stop with a savepoint is recorded, but not yet done."""
        self._cluster.store.ledger.on_stop = lambda: self._world.after(0.0, 20.0, self._crash_master)

    def _crash_master_inside_a_savepoint(self) -> None:
        """Have a savepoint taken, and crash the job master when a sink keeps output for it: another takes over."""

        def crash_soon() -> None:
            self._outside.on_keep = lambda: None
            self._world.after(0.0, 30.0, self._crash_master)

        self._outside.on_keep = crash_soon
        self._cluster.take_savepoint(SavepointRequest(target=SAVEPOINTS))

    def _lose_power(self) -> None:
        """Cut the power, now or when the next checkpoint has completed."""
        if self._world.chance(0.5):
            self._cut_power()
        else:
            self._cluster.store.ledger.on_complete = self._cut_power_soon

    def _cut_power_soon(self) -> None:
        self._cluster.store.ledger.on_complete = lambda: None
        self._world.after(0.0, 60.0, self._cut_power)

    def _cut_power(self) -> None:
        """Cut the power of all machines of the job at once; the external system may be on one of them."""
        if not self._over and self._cluster.master.master.outcome is None:
            self._cluster.lose_power()
            self._outside.lose_power()
            self._world.after(1.0, 300.0, self._cluster.start_master)

    def _damage(self) -> None:
        """Have the next driver find a file of the newest checkpoint damaged."""
        if self._cluster.master.master.outcome is None and self._cluster.store.damage():
            self._world.rng.choice((self._crash_master, self._cut_power))()

    def _cancel(self) -> None:
        self._cluster.cancel()

    def _look_at_output(self) -> None:
        """Have the user watch the output of an operator for a while. This is no fault, and must change nothing."""
        operators = [operator for vertex in self._cluster.plan.vertices for operator in vertex.operators]
        self._cluster.look_at(self._world.rng.choice(operators).uid, self._world.rng.choice((100.0, 1_000.0, 5_000.0)))

    def _storage_outage(self) -> None:
        self._cluster.storage.outage_until_ms = self._world.now_ms + self._world.rng.choice((5.0, 50.0, 400.0))

    def _slow_storage(self) -> None:
        self._world.slow_work_until_ms = self._world.now_ms + self._world.rng.uniform(100.0, 500.0)

    def _crash_slot_in_doubt(self) -> None:
        """Lose a slot while the slow write of a manifest has an unknown outcome."""

        def crash() -> None:
            self._cluster.on_doubt = None
            self._crash_slot()

        self._slow_storage()
        self._cluster.on_doubt = crash

    def _outside_outage(self) -> None:
        self._outside.outage_until_ms = self._world.now_ms + self._world.rng.choice((5.0, 50.0, 400.0))

    def _break_link(self) -> None:
        slot = self._any_slot()
        if slot is not None:
            slot.break_link()

    def _stall_link(self) -> None:
        slot = self._any_slot()
        if slot is not None:
            pipe = self._world.rng.choice((slot.up, slot.down))
            pipe.stall(self._world.rng.choice((20.0, 200.0, 900.0)))

    def _end_launch(self) -> None:
        slot = self._any_slot()
        if slot is not None:
            slot.master._end_launch(slot.launch, "simulated end of the stage")
