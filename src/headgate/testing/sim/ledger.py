"""The ledger: it tracks the durable files of one folder of simulated storage, and reports forbidden changes."""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, final

from headgate.checkpoint import paths
from headgate.checkpoint.drivers import epochs
from headgate.checkpoint.drivers.epochs import NOBODY, Chain, EpochOwner
from headgate.checkpoint.drivers.ownership import decode_base
from headgate.checkpoint.manifest import Manifest, decode
from headgate.checkpoint.seal import is_torn, unseal
from headgate.checkpoint.store import MemoryStore
from headgate.ids import CheckpointId
from headgate.operators.sink import COMMITTABLES_STATE
from headgate.state.files import SHARED, FileHandle, InlineHandle, StateHandle
from headgate.testing.sim.world import Action, World

_EPOCHS: Final = f"{paths.EPOCHS}/"


@final
@dataclass(frozen=True, slots=True)
class Heir:
    """The job that starts from another job's files: the manifest that it claims, and when it may delete that."""

    claimed: str | None
    may_delete: Callable[[], bool]


@final
class Ledger:
    """Watches the folder of a job or of a savepoint.

    A manifest *counts* when later drivers start from it: it was written while its driver owned the job, or a later
    driver found it when it took over the job. `permitted` collects the transactions that may be committed: the
    transactions in manifests that count. Savepoints permit nothing until storage records that the job ends with them.
    """

    def __init__(
        self, world: World, memory: MemoryStore, permitted: set[str], ledger_of: Callable[[str], Ledger]
    ) -> None:
        self.manifests: dict[str, Manifest] = {}
        """The manifests that count and are in storage now, by their paths."""
        self.completed = 0
        self.final_ids: set[CheckpointId] = set()
        """The checkpoints with which the job ends."""
        self.stopped: str | None = None
        """The savepoint with which the job will end."""
        self.on_stop: Action = lambda: None
        """Called when `stopped` is recorded."""
        self.on_complete: Action = lambda: None
        """Called when a further manifest counts."""
        self._permitted = permitted
        self._world = world
        self._memory = memory
        self._ledger_of = ledger_of
        self._doubtful: dict[str, Manifest] = {}
        self._counted: set[CheckpointId] = set()
        self._heir: Heir | None = None
        self._beyond: set[str] = set()

    @property
    def newest(self) -> CheckpointId | None:
        """The newest checkpoint that counts and is in storage."""
        return max((manifest.checkpoint_id for manifest in self.manifests.values()), default=None)

    def counts(self, checkpoint_id: CheckpointId) -> bool:
        """Return whether a checkpoint counts, or counted until it was deleted."""
        return checkpoint_id in self._counted

    def end(self, num_retained: int) -> None:
        """Note that the job is over. A dead driver may have begun to delete checkpoints beyond `num_retained`."""
        by_age = sorted(self.manifests, key=lambda path: self.manifests[path].checkpoint_id)
        self._beyond = set(by_age[:-num_retained])

    def pass_on(self, heir: Heir) -> None:
        """Note the job that starts from these files: only this heir may delete files, and only those that it claims."""
        self._heir = heir

    # --- what is written

    def written(self, path: str, data: bytes) -> None:
        """Note a file whose writing has ended; it may be torn."""
        if is_torn(data):
            return
        if path == paths.METADATA or path.endswith(f"/{paths.METADATA}"):
            self._manifest_written(path, decode(data, path))
        elif path.startswith(f"{paths.STOPPED}/"):
            self._stop_recorded(unseal(data, path)["location"])
        elif path.startswith(_EPOCHS) and path.endswith(paths.BASE_SUFFIX):
            self._base_recorded(tuple(map(decode_base, unseal(data, path)["chain"])))

    def _manifest_written(self, path: str, manifest: Manifest) -> None:
        if self._highest_claim() > manifest.owner:
            self._world.note(
                "ledger", f"{path} of attempt {manifest.attempt} was stored by a driver that is taken over"
            )
            self._doubtful[path] = manifest
        else:
            self._count(path, manifest)

    def _count(self, path: str, manifest: Manifest) -> None:
        self._check_whole(manifest)
        checkpoint_id = manifest.checkpoint_id
        flight = ", with data in flight" if manifest.in_flight else ""
        self._world.note("ledger", f"checkpoint {checkpoint_id} of attempt {manifest.attempt} is durable{flight}")
        self.manifests[path] = manifest
        self.completed += 1
        if manifest.final:
            self.final_ids.add(checkpoint_id)
        if manifest.savepoint is None:
            self._counted.add(checkpoint_id)
            self.permit(manifest)
            self.on_complete()

    def _check_whole(self, manifest: Manifest) -> None:
        for handle in manifest.handles():
            if isinstance(handle, FileHandle):
                data = self._memory.files.get(handle.path)
                if data is None or zlib.crc32(data) != handle.crc32:
                    which = f"checkpoint {manifest.checkpoint_id}"
                    self._world.violated(f"{which} is durable, but {handle.path} is not whole")

    def permit(self, manifest: Manifest) -> None:
        """Permit the transactions that the manifest names."""
        self._permitted.update(self.transactions_in(manifest))

    def transactions_in(self, manifest: Manifest) -> set[str]:
        """Return the names of the transactions that a manifest in this folder holds."""
        states = [state.lists for operator in manifest.operators for state in operator.subtasks.values()]
        handles = [lists[COMMITTABLES_STATE].handle for lists in states if COMMITTABLES_STATE in lists]
        return {name for handle in handles for name in self._names_in(handle)}

    def _names_in(self, handle: StateHandle) -> Iterator[str]:
        data = handle.data if isinstance(handle, InlineHandle) else self._memory.files.get(handle.path)
        if data is not None:
            for entry in pickle.loads(data):  # noqa: S301  # written by this simulation
                yield from pickle.loads(entry).committables  # noqa: S301

    def _stop_recorded(self, location: str) -> None:
        self._world.note("ledger", f"the job is to end with {location}")
        self.stopped = location
        savepoint = self._ledger_of(location)
        if not savepoint.manifests:
            self._world.violated(f"the job is to end with {location}, which is not complete")
        for manifest in savepoint.manifests.values():
            savepoint.permit(manifest)
            self.final_ids.add(manifest.checkpoint_id)
        self.on_stop()

    def lost(self, path: str) -> None:
        """Note that a file was lost or changed before any process can have acted on it: it was never durable."""
        manifest = self.manifests.pop(path, None)
        self._doubtful.pop(path, None)
        self.completed -= manifest is not None
        if manifest is not None and manifest.savepoint is None:
            self._world.note("ledger", f"checkpoint {manifest.checkpoint_id} was not durable yet")
            self._counted.discard(manifest.checkpoint_id)
            self.final_ids.discard(manifest.checkpoint_id)
            self._permitted -= self.transactions_in(manifest)
            for other in self.manifests.values():
                self.permit(other)
        if path.startswith(f"{paths.STOPPED}/"):
            self._world.note("ledger", "it is not durable yet that the job is to end")
            self.stopped = None

    # --- drivers

    def owns(self, driver: str) -> bool:
        """Return whether the job runs, and this driver was the last to take it over."""
        return driver == str(self._highest_claim())

    def is_taken_over(self, driver: str) -> bool:
        """Return whether a later driver has claimed the job."""
        owner = epochs.parse_owner(driver)
        return owner is not None and owner < self._highest_claim()

    def _highest_claim(self) -> EpochOwner:
        names = [path[len(_EPOCHS) :] for path in self._memory.files if path.startswith(_EPOCHS)]
        return max((owner for name in names if (owner := epochs.parse_owner(name)) is not None), default=NOBODY)

    def _base_recorded(self, chain: Chain) -> None:
        """Note the checkpoints that a driver starts from: they decide which manifests in doubt count."""
        newest = self.newest
        if newest is not None and chain[-1].checkpoint_id < newest and chain[-1].owner >= self._highest_claim():
            self._world.violated(f"a driver starts from {chain[-1].checkpoint_id}, but checkpoint {newest} is durable")
        doubtful, self._doubtful = self._doubtful, {}
        for path, manifest in doubtful.items():
            if epochs.is_valid(manifest.owner, manifest.checkpoint_id, chain) and path in self._memory.files:
                self._count(path, manifest)

    def _has_ended(self) -> bool:
        return paths.RESULT in self._memory.files and not is_torn(self._memory.files[paths.RESULT])

    # --- what is deleted

    def deleting(self, path: str) -> None:
        """Check a file that is about to be deleted."""
        if self._heir is not None:
            self._check_heir(path, self._heir)
        elif not self._has_ended():
            self._check_owner(path)
        self.manifests.pop(path, None)
        self._doubtful.pop(path, None)

    def _check_owner(self, path: str) -> None:
        if path not in self.manifests:
            for own, manifest in self.manifests.items():
                is_gone = own not in self._memory.files and manifest.checkpoint_id != self.newest
                if path in manifest.files() and not is_gone:
                    self._world.violated(f"{path} is deleted, but checkpoint {manifest.checkpoint_id} names it")
        elif self.manifests[path].savepoint is not None:
            self._world.violated(f"{path} is deleted, which belongs to a savepoint")
        elif self.manifests[path].checkpoint_id == self.newest:
            self._world.violated(f"the newest checkpoint, {self.newest}, is deleted before the job has ended")

    def _check_heir(self, path: str, heir: Heir) -> None:
        for manifest, own in self.manifests.items():
            if manifest in self._beyond or (path != manifest and path not in own.files()):
                continue
            if manifest != heir.claimed:
                self._world.violated(f"{path} is deleted, which a job that is over has left to keep")
            elif not heir.may_delete():
                self._world.violated(f"{path} is deleted, which was claimed, and may still be needed")

    def deleting_folder(self, folder: str) -> None:
        """Check a folder that is about to be deleted, with all files that slots may have added since it was listed."""
        if folder == SHARED and not self._has_ended():
            self._world.violated("the folder of shared files is deleted while slots write to it")
