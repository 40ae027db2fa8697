"""A journey: the legs of one run, one after the other; each starts from the state that the previous leg has left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, Final, Generic, final

from headgate import options
from headgate.checkpoint import paths
from headgate.checkpoint.drivers.job_records import JobResult, read_result
from headgate.checkpoint.manifest import Manifest
from headgate.elements import savepoint_key
from headgate.graph.placement import as_programmed
from headgate.ids import JobId, SlotIndex
from headgate.job_status import JobStatus
from headgate.testing.sim.cluster import ELSEWHERE, Crawl, SimCluster
from headgate.testing.sim.external import External
from headgate.testing.sim.faults import CALM_AFTER_MS, Faults
from headgate.testing.sim.job import J, Leg, SimEnding, SimProgram
from headgate.testing.sim.ledger import Heir
from headgate.testing.sim.random_jobs import fork_of
from headgate.testing.sim.storage import SimStorage, SimStore
from headgate.testing.sim.user import User

END_MS_MAX: Final = CALM_AFTER_MS + 60_000.0
ACTIONS_MAX: Final = 120_000


MakeFaults = Callable[[SimCluster, External, list[str]], Faults]


@final
class Journey(Generic[J]):
    """Runs the legs of one seed and judges what they leave behind."""

    def __init__(
        self, storage: SimStorage, outside: External, program: SimProgram[J], faults_of: MakeFaults | None
    ) -> None:
        self._program = program
        self.legs = program.legs
        self.planned: list[str] = []
        """The faults, in words."""
        self.clusters: list[SimCluster] = []
        self._storage = storage
        self._world = storage.world
        self._outside = outside
        self._faults_of = faults_of
        self._start_from: tuple[SimStore, str] | None = None
        """The folder and the manifest that the next leg starts from."""
        self._collected: list[Any] = []

    def run(self) -> None:
        """Run all legs; the journey ends early when a job reaches its own end before its leg's."""
        for leg in self.legs:
            cluster = self._run_leg(leg)
            if self._world.violations:
                return
            cluster.results.end()
            self._collected += cluster.results
            if leg is self.legs[-1] or self._has_finished(cluster):
                self._judge(cluster)
                savepoints = self._savepoints_on_the_way()
                self._begin_again()
                self._fork(savepoints)
                return
            self._pass_on(cluster)

    def close(self) -> None:
        """End all processes."""
        for cluster in self.clusters:
            cluster.close()

    def _run_leg(self, leg: Leg[J]) -> SimCluster:
        graph = leg.job.graph(self._outside.number, _from(self._start_from))
        cluster = SimCluster(self._storage, graph, leg.job.placed)
        self.clusters.append(cluster)
        self._make_slow(cluster)
        faults = None if self._faults_of is None else self._faults_of(cluster, self._outside, leg.job.functions())
        if faults is not None:
            faults.plan()
            self.planned += faults.planned
        User(cluster, leg).plan()
        if leg.job.leg == 0:
            cluster.start_master()
        else:
            self._world.after(1.0, 300.0, cluster.start_master)
        self._world.run(cluster.is_over, self._world.now_ms + END_MS_MAX, self._world.actions + ACTIONS_MAX)
        if faults is not None:
            faults.end()
        return cluster

    def _make_slow(self, cluster: SimCluster) -> None:
        """Let batches queue up in half of all jobs: at slow slots, and at slow connections."""
        world, rng = self._world, self._world.rng
        until_ms = world.now_ms + rng.uniform(200.0, 2_000.0)
        world.frame_gap_ms = rng.choice((0.0, 0.0, 0.0, 2.0, 8.0))
        world.at(until_ms, partial(self._be_fast_again, cluster))
        slots = frozenset(SlotIndex(index) for index in range(as_programmed(cluster.plan).slots) if rng.random() < 0.5)
        pieces_ms = (3.0, 10.0, 25.0) if cluster.plan.settings.get(options.UNALIGNED) else (0.0, 0.0, 0.0, 3.0, 10.0)
        cluster.crawl = Crawl(slots, rng.choice(pieces_ms), until_ms)

    def _be_fast_again(self, cluster: SimCluster) -> None:
        if cluster is self.clusters[-1]:
            self._world.frame_gap_ms = 0.0

    def _has_finished(self, cluster: SimCluster) -> bool:
        """Return whether the job reached its own end before its leg's, or ended in error."""
        result = _result_of(cluster)
        if result is None or result.status is JobStatus.CANCELED:
            return False
        return result.status is not JobStatus.FINISHED or cluster.store.ledger.stopped is None

    def _pass_on(self, cluster: SimCluster) -> None:
        """Set the start of the next leg: this leg's last savepoint, its newest checkpoint, or this leg's own start."""
        ledger = cluster.store.ledger
        ledger.end(cluster.plan.settings.get(options.CHECKPOINTS_RETAINED))
        ledger.pass_on(Heir(None, lambda: False))
        if ledger.stopped is not None:
            self._start_from = self._storage.open(ledger.stopped), paths.METADATA
        elif ledger.newest is not None:
            self._start_from = cluster.store, paths.metadata(ledger.newest)
        elif ledger.completed:
            self._world.violated("no checkpoint of the job is left to go on from")
        if self._start_from is None:
            return
        heir = len(self.clusters)
        store, manifest = self._start_from
        claims = self.legs[heir].job.settings["execution.state-recovery.claim-mode"] == "CLAIM"
        store.ledger.pass_on(Heir(manifest if claims else None, lambda: self._has_enough(heir)))
        self._world.note("user", f"goes on from {store.location}/{manifest}")

    def _has_enough(self, number: int) -> bool:
        """Return whether the job of a leg no longer needs the snapshot that it started from."""
        cluster = self.clusters[number]
        retained = cluster.plan.settings.get(options.CHECKPOINTS_RETAINED)
        return len(cluster.store.ledger.manifests) >= retained or paths.RESULT in cluster.store.memory.files

    # --- savepoints on the way

    def _fork(self, savepoints: list[SimStore]) -> None:
        """Start from a savepoint that a leg took on its way, as if the rest of the journey had never happened."""
        if self._world.violations or not savepoints or self._world.chance(0.4):
            return
        store = self._world.rng.choice(savepoints)
        manifest = store.ledger.manifests[paths.METADATA]
        leg = fork_of(self._world.rng, self._job_of(manifest))
        for name in store.ledger.transactions_in(manifest):
            if name not in self._outside.pending and name not in self._outside.final:
                self._world.violated(f"transaction {name} is gone, although {store.location} holds it")
        outside = self._outside.forked(manifest, store.ledger.transactions_in(manifest))
        store.ledger.permit(manifest)
        job_id = None
        if self._world.chance(0.5):
            job_id, outside = manifest.job_id, self._outside.used_again(manifest.job_id, outside)
        self._world.note("user", f"goes on from {store.location} once more{_under(job_id)}")
        self._run_again(leg, (store, paths.METADATA), outside, job_id)

    def _begin_again(self) -> None:
        """Run a job from its beginning, under a job id that was used before, with other storage."""
        if self._world.violations or self._world.chance(0.7):
            return
        leg = fork_of(self._world.rng, self._world.rng.choice(self.legs[: len(self.clusters)]).job)
        job_id = self.clusters[0].plan.job_id
        self._world.note("user", f"begins again{_under(job_id)}")
        self._run_again(leg, None, self._outside.used_again(job_id), job_id)

    def _run_again(
        self, leg: Leg[J], start: tuple[SimStore, str] | None, outside: External, job_id: JobId | None
    ) -> None:
        try:
            self._run_fork(leg, start, outside, job_id)
        finally:
            outside.close()

    def _run_fork(
        self, leg: Leg[J], start: tuple[SimStore, str] | None, outside: External, job_id: JobId | None
    ) -> None:
        """Run a job without faults; with `job_id`, under this id and in other storage."""
        graph = leg.job.graph(outside.number, _from(start))
        if job_id is None:
            cluster = SimCluster(self._storage, graph, leg.job.placed)
        else:
            graph = replace(graph, job_id=job_id)
            cluster = SimCluster(self._storage, graph, leg.job.placed, f"{ELSEWHERE}-{len(self.clusters)}")
        self.clusters.append(cluster)
        User(cluster, leg).plan()
        cluster.start_master()
        self._world.run(cluster.is_over, self._world.now_ms + END_MS_MAX, self._world.actions + ACTIONS_MAX)
        if not self._world.violations:
            result = _result_of(cluster)
            if result is None or result.status is not JobStatus.FINISHED:
                self._world.violated(f"the job that went on from a savepoint, or began again, ended as {result}")
            # There are no faults: a job that counts at least once counts a record twice only after a restart.
            is_exact = leg.job.is_exact or not cluster.has_begun_again
            judged = self._program.judge_fork(leg.job, outside) if is_exact else ()
            for what in (*judged, *_left_pending(outside)):
                self._world.violated(f"from a savepoint on the way{_under(job_id)}: {what}")

    def _savepoints_on_the_way(self) -> list[SimStore]:
        """Return the savepoints that no leg has started from, of jobs that count each record once."""
        ends = {cluster.store.ledger.stopped for cluster in self.clusters}
        stores = [self._storage.folders[location] for location in sorted(self._storage.folders)]
        return [
            store
            for store in stores
            if store.location not in ends
            and (manifest := store.ledger.manifests.get(paths.METADATA)) is not None
            and all(leg.job.is_exact for leg in self.legs[: self._job_of(manifest).leg + 1])
        ]

    def _job_of(self, manifest: Manifest) -> J:
        return next(leg.job for leg in self.legs if leg.job.job_id == manifest.job_id)

    # --- the verdict

    def _judge(self, cluster: SimCluster) -> None:
        result = _result_of(cluster)
        assert result is not None
        was_cancelled = result.status is JobStatus.CANCELED and cluster.was_cancelled
        if result.status is not JobStatus.FINISHED and not was_cancelled:
            self._world.violated(f"the job ended as {result.status.word}: {result.cause}")
        ending = SimEnding(
            jobs=tuple(leg.job for leg in self.legs),
            legs=len(self.clusters),
            outside=self._outside,
            collected=self._collected,
            drivers=max(len(each.masters) for each in self.clusters),
            is_exact=self._is_exact(),
            was_cancelled=was_cancelled,
        )
        for what in self._program.judge(ending):
            self._world.violated(what)
        if not was_cancelled:
            self._judge_rest(cluster.store)

    def _judge_rest(self, store: SimStore) -> None:
        """Check that a finished job has left nothing behind."""
        for name, transaction in self._outside.pending.items():
            if (transaction.job_id, transaction.attempt) == self._outside.newest:
                self._world.violated(f"transaction {name} of the last attempt was never committed")
        for name in self._outside.pending:
            if self._outside.pending[name].job_id == self.legs[-1].job.job_id and self._is_kept_in_vain(name):
                self._world.violated(f"transaction {name} is kept for ever, for a savepoint that never was complete")
        left = [path for path in store.memory.files if path != paths.RESULT]
        if left and self._is_tidy():
            self._world.violated(f"files are left behind: {', '.join(sorted(left)[:5])}")

    def _is_kept_in_vain(self, name: str) -> bool:
        complete = {
            savepoint_key(location)
            for location, store in self._storage.folders.items()
            if paths.METADATA in store.memory.files
        }
        kept_for = self._outside.kept_for(name)
        return bool(kept_for) and kept_for.isdisjoint(complete)

    def _is_exact(self) -> bool:
        """Return whether no job restored records that were counted only at least once."""
        ran = self.legs[: len(self.clusters)]
        if all(leg.job.is_exact for leg in ran):
            return True
        return len(ran) == 1 and not self.clusters[0].has_begun_again

    def _is_tidy(self) -> bool:
        """Return whether the driver that ended the job could remove all its files."""
        first = self.clusters[0]
        slots = as_programmed(first.plan).slots
        is_whole = len(first.processes) == slots and not first.is_lost and first.store.ledger.stopped is None
        is_last = not first.store.ledger.is_taken_over(first.master.owner)
        return len(self.clusters) == 1 and self._storage.mishaps == 0 and is_whole and is_last


def _result_of(cluster: SimCluster) -> JobResult | None:
    """Return the result of the job: from its driver, or from storage if the driver is gone."""
    if cluster.is_lost:
        return read_result(cluster.store.memory)
    outcome = cluster.master.master.outcome
    return None if outcome is None else JobResult(status=outcome.status, cause=outcome.cause, ended_ms=0)


def _from(start: tuple[SimStore, str] | None) -> dict[str, object]:
    return {} if start is None else {options.RECOVERY_PATH.key: paths.below(start[0].location, start[1])}


def _under(job_id: JobId | None) -> str:
    return "" if job_id is None else f", under job id {job_id} with other storage"


def _left_pending(outside: External) -> Iterator[str]:
    left = sorted(name for name in outside.pending if not outside.kept_for(name))
    if left:
        yield f"transactions were neither committed nor aborted: {', '.join(left)}"
