"""One measurement of a large state on RocksDB: what it takes, what increments write, how long it is restored.

`python -m bench.big_state` takes a `BigState` as JSON and prints its result. The operator runs by itself, in a process
like that of a slot: with storage, local copies and the collector of garbage as there, but without sources and sinks. So
memory and times are those of the state.
"""

from __future__ import annotations

import gc
import json
import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, final

from bench.trial import Result, run_module
from headgate import options
from headgate.checkpoint import paths
from headgate.checkpoint.file_store import FileSystemStore
from headgate.checkpoint.messages import RestoredOperator
from headgate.checkpoint.store import CheckpointStore
from headgate.clock import SystemClock
from headgate.elements import Barrier, Batch
from headgate.functions.api import KeyedProcessFunction
from headgate.ids import Attempt, CheckpointId, JobId, Lineage
from headgate.operators.base import Operator, OperatorContext, RestoredState
from headgate.operators.keyed_functions import KeyedProcessFactory
from headgate.operators.services import Services
from headgate.runtime.slot.garbage import survivors_set_aside
from headgate.runtime.slot_storage.local_copies import LocalCopies
from headgate.runtime.slot_storage.slot_storage import Fetch
from headgate.runtime.slot_storage.state_writers import StoreWriters
from headgate.state.backend import StateWriter
from headgate.state.descriptors import ValueStateDescriptor
from headgate.state.files import FileHandle, KeyedState
from headgate.state.keygroups import key_group, key_group_range, subtask_of_group
from headgate.types.keys import hash_code
from headgate.types.typeinfo import Types

TIMEOUT_S = 1_800.0
UID = "big"
GROUPS = 128
VALUE_BYTES = 200
BATCH = 1_024
INCREMENTS = 9


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class BigState:
    """What to measure: `what` is "increments", "restore" or "rescale". `options` are settings of the job."""

    what: str
    keys: int
    options: dict[str, str] = field(default_factory=dict)


def run_big_state(what: str, keys: int, options: dict[str, str]) -> Result:
    """Run a measurement in a new process and return its result. Blocks."""
    return run_module("bench.big_state", asdict(BigState(what=what, keys=keys, options=options)), TIMEOUT_S)


# --- in the new process


class Keep(KeyedProcessFunction):
    """Keeps the latest value of each key."""

    def open(self, runtime_context: Any) -> None:
        self.kept = runtime_context.get_state(ValueStateDescriptor("kept", Types.PRIMITIVE_ARRAY(Types.BYTE())))

    def process_element(self, value: tuple[int, bytes], ctx: Any) -> None:
        self.kept.update(value[1])


@final
class MeasuredServices(Services):
    """What an operator may ask of its slot. Work for an I/O thread is done at once."""

    clock = SystemClock()

    def __init__(self, work: Path, writer: Callable[[], StateWriter]) -> None:
        self._work = work
        self._writer = writer

    def call_later(self, delay_ms: float, call: Callable[[], None]) -> None:
        """Never: nothing here waits for a time."""
        raise NotImplementedError

    def state_writer(self) -> StateWriter:
        """Return a writer for files that belong to no checkpoint yet."""
        return self._writer()

    def scratch(self, uid: str) -> Path:
        """Return a local folder."""
        return Path(tempfile.mkdtemp(dir=self._work))

    def collect(self, origin: int, checkpoint_id: CheckpointId | None, part: int, records: bytes) -> None:
        """Never: nothing here collects."""
        raise NotImplementedError


@final
class Rig:
    """Storage and local copies in a folder, and subtasks of an operator that are opened on them."""

    def __init__(self, given: BigState, folder: Path) -> None:
        self._settings = options.resolve(given.options)
        self._folder = folder
        self.store = FileSystemStore.open(str(folder / "storage"), JobId("0" * 32))
        (folder / "copies").mkdir()
        (folder / "work").mkdir()
        self.copies = LocalCopies(self.store, folder / "copies")

    def open(self, subtask: int, parallelism: int, restored: RestoredState) -> Operator:
        """Return an operator, restored and opened."""
        operator: Operator = KeyedProcessFactory(Keep()).create()
        operator.open(
            OperatorContext(
                job_id=JobId("0" * 32),
                lineage=Lineage("0" * 32, 0),
                name=UID,
                uid=UID,
                subtask=subtask,
                parallelism=parallelism,
                max_parallelism=GROUPS,
                attempt=Attempt(1),
                checkpointing=True,
                parameters={},
                services=MeasuredServices(self._folder / "work", lambda: self._writers().ahead(self._own(subtask))),
                restored=restored,
                settings=self._settings,
            )
        )
        return operator

    def _writers(self) -> StoreWriters:
        return StoreWriters(self.copies, self._settings.get(options.CHECKPOINT_INLINE_THRESHOLD))

    def _own(self, subtask: int) -> paths.Writer:
        return paths.Writer(Attempt(1), UID, subtask)

    def checkpoint(self, operator: Operator, number: int, subtask: int = 0) -> Taken:
        """Take a whole checkpoint of one subtask, which completes."""
        checkpoint_id = CheckpointId(number)
        began_s = time.monotonic()
        barrier = Barrier(checkpoint_id, 0)
        snapshot = operator.snapshot(barrier)
        sync_s = time.monotonic() - began_s
        assert snapshot.keyed is not None
        while not snapshot.keyed.advance():
            pass
        operator.forget(snapshot)
        state = snapshot.keyed.store(self._writers().of(self._own(subtask), barrier))
        took_s = time.monotonic() - began_s
        operator.notify_completed(checkpoint_id)
        return Taken(state, sync_s, took_s)

    def fetch(self, store: CheckpointStore, states: Sequence[KeyedState]) -> RestoredState:
        """Bring the files of a checkpoint to where a subtask starts from them."""

        def folder(name: str) -> Path:
            return Path(tempfile.mkdtemp(dir=self._folder / "work"))

        fetch = Fetch(store, folder, CheckpointId(1))
        return fetch.operators({UID: RestoredOperator(keyed=tuple(states))})[UID]


@final
@dataclass(frozen=True, slots=True)
class Taken:
    """A checkpoint: its state, and how long its synchronous part and all of it took."""

    state: KeyedState
    sync_s: float
    took_s: float

    def files(self) -> dict[str, int]:
        """Return paths and sizes of its files."""
        return {handle.path: handle.size_bytes for handle in self.state.handles() if isinstance(handle, FileHandle)}


def feed(operator: Operator, keys: Sequence[int]) -> None:
    """Give each of the keys a new value."""
    value_of = random.Random(6).randbytes
    for first in range(0, len(keys), BATCH):
        batch = Batch([(key, value_of(VALUE_BYTES)) for key in keys[first : first + BATCH]])
        batch.keys = [key for key, _ in batch.records]
        operator.process(batch)


def memory_bytes() -> int:
    """Return the most memory that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def increments(rig: Rig, keys: int) -> Result:
    """Measure a full checkpoint, then some after one key in a hundred has changed."""
    before_bytes = memory_bytes()
    began_s = time.monotonic()
    operator = rig.open(0, 1, RestoredState())
    feed(operator, range(keys))
    filled_s = time.monotonic() - began_s
    full = rig.checkpoint(operator, 1)
    taken, written = [full], []
    pick = random.Random(7)
    for number in range(2, 2 + INCREMENTS):
        feed(operator, pick.sample(range(keys), keys // 100))
        taken.append(rig.checkpoint(operator, number))
        written.append(sum(size for path, size in taken[-1].files().items() if path not in taken[-2].files()))
    operator.close()
    return {
        "memory_bytes": memory_bytes(),
        "memory_before_bytes": before_bytes,
        "filled_s": filled_s,
        "full_bytes": sum(full.files().values()),
        "full_s": full.took_s,
        "written_bytes": written,
        "took_s": [each.took_s for each in taken[1:]],
        "sync_ms": [each.sync_s * 1_000.0 for each in taken],
    }


def restore(rig: Rig, keys: int) -> Result:
    """Measure how long it takes until a restored operator has processed a batch, from storage and from local copies."""
    operator = rig.open(0, 1, RestoredState())
    feed(operator, range(keys))
    taken = rig.checkpoint(operator, 1)
    operator.close()
    times: dict[str, list[float]] = {"remote_s": [], "local_s": []}
    for _ in range(3):
        for name, store in (("remote_s", rig.store), ("local_s", rig.copies)):
            times[name].append(restored_s(rig, store, [taken.state], 0, 1))
    return {"bytes": sum(taken.files().values()), **times}


def rescale(rig: Rig, keys: int) -> Result:
    """Measure how long each of three subtasks takes to start from a checkpoint of two."""
    states = []
    for subtask in range(2):
        operator = rig.open(subtask, 2, RestoredState())
        feed(operator, list(keys_of(subtask, 2, keys)))
        states.append(rig.checkpoint(operator, 1, subtask).state)
        operator.close()
    times_s = []
    for subtask in range(3):
        groups = key_group_range(subtask, 3, GROUPS)
        own = [state for state in states if state.key_groups[0] <= groups[-1] and groups[0] <= state.key_groups[1]]
        times_s.append(restored_s(rig, rig.store, own, subtask, 3))
    return {"bytes": sum(handle.size_bytes for state in states for handle in state.handles()), "times_s": times_s}


def restored_s(rig: Rig, store: CheckpointStore, states: Sequence[KeyedState], subtask: int, parallelism: int) -> float:
    """Return how long it takes until an operator that starts from these has processed a batch."""
    began_s = time.monotonic()
    operator = rig.open(subtask, parallelism, rig.fetch(store, states))
    feed(operator, [key for _, key in zip(range(BATCH), keys_of(subtask, parallelism, sys.maxsize), strict=False)])
    took_s = time.monotonic() - began_s
    operator.close()
    return took_s


def keys_of(subtask: int, parallelism: int, keys: int) -> Iterator[int]:
    """Yield the keys below `keys` that belong to a subtask."""
    for key in range(keys):
        if subtask_of_group(key_group(hash_code(key), GROUPS), parallelism, GROUPS) == subtask:
            yield key


MEASURES: dict[str, Callable[[Rig, int], Result]] = {"increments": increments, "restore": restore, "rescale": rescale}


def measure(given: BigState) -> Result:
    """Measure here."""
    gc.collect()
    with survivors_set_aside(), tempfile.TemporaryDirectory(prefix="headgate-bench-") as folder:
        return MEASURES[given.what](Rig(given, Path(folder)), given.keys)


if __name__ == "__main__":
    print(json.dumps(measure(BigState(**json.loads(sys.argv.pop())))), flush=True)
