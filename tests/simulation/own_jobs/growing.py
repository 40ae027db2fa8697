"""Simulated sources beyond the plain one: they fetch on an I/O thread, or their splits appear while the job runs.

Which kind a source is follows from what it holds, so that it stays the same on all legs of a journey.
"""

from __future__ import annotations

import pickle
import random
from enum import Enum
from typing import Any, final

from headgate.checkpoint.manifest import Manifest
from headgate.checkpoint.restore.splits import KNOWN_STATE, SPLITS_STATE
from headgate.errors import SourceError
from headgate.functions.fetching import Fetched, Fetcher, FetchingReader
from headgate.functions.source import Source, SourceContext, SourceReader
from headgate.state.files import InlineHandle, StateHandle
from headgate.state.operator.list_elements import ListElements
from headgate.testing.sim.external import system
from headgate.testing.sim.storage import SimStore
from headgate.testing.sim.work import operation
from tests.simulation.own_jobs.user_code import SimReader, SimSource, SimSplit, SourceSpec

APPEAR_MS_MAX = 500.0
FETCH_MISHAPS = 0.3
"""How much less often a fetch fails than a commit."""


@final
class GrowthKind(Enum):
    """How a source is read, and whether it looks for more."""

    PLAIN = "plain"
    FETCHING = "fetching"
    GROWING = "growing"
    GROWING_FETCHING = "growing and fetching"

    @property
    def grows(self) -> bool:
        """Whether its splits appear while the job runs."""
        return self in (GrowthKind.GROWING, GrowthKind.GROWING_FETCHING)

    @property
    def fetches(self) -> bool:
        """Whether it is read on an I/O thread."""
        return self in (GrowthKind.FETCHING, GrowthKind.GROWING_FETCHING)


def kind_of(spec: SourceSpec) -> GrowthKind:
    """Return what kind of source this is, whatever its parallelism."""
    rng = random.Random(f"kind of {spec.splits}, {spec.chunk}, {spec.pause_ms}")
    return rng.choices(list(GrowthKind), weights=(5, 2, 2, 2))[0]


def source_of(index: int, spec: SourceSpec, outside: int) -> Source[SimSplit]:
    """Return the source with that index in its job."""
    kind = kind_of(spec)
    return SimSource(index, spec) if kind is GrowthKind.PLAIN else GrowingSource(index, spec, kind, outside)


@final
class GrowingSource(Source[SimSplit]):
    """Several splits. Those of a source that grows appear one after the other."""

    def __init__(self, index: int, spec: SourceSpec, kind: GrowthKind, outside: int) -> None:
        self._index = index
        self._spec = spec
        self._kind = kind
        self._outside = outside
        rng = random.Random(f"growth of {spec.splits}, {spec.pause_ms}")
        self._appear_ms = [rng.uniform(0.0, APPEAR_MS_MAX) * kind.grows for _ in spec.splits]
        self.bounded = not kind.grows
        self.discovery_interval_ms = rng.choice((15, 40, 100)) if kind.grows else None
        self.watermarks_per_split = kind.fetches and rng.random() < 0.5

    def splits(self, parallelism: int) -> list[SimSplit]:
        now_ms = system(self._outside).world.now_ms
        appeared = [split for split, when_ms in enumerate(self._appear_ms) if when_ms <= now_ms]
        return [SimSplit(split, 0, self._spec.splits[split]) for split in appeared if self._spec.splits[split]]

    def discover(self, known: frozenset[str]) -> list[SimSplit]:
        outside = system(self._outside)
        operation(outside.world, f"look for splits of source {self._index}")
        if outside.is_down():
            raise SourceError("simulated: the outside does not say what there is")
        return [split for split in self.splits(0) if self.split_id(split) not in known]

    def split_id(self, split: SimSplit) -> str:
        return f"split {split.split}"

    def reader(self, context: SourceContext) -> SourceReader[SimSplit]:
        if self._kind.fetches:
            return FetchingReader(SimFetcher(self._index, self._spec, self._outside), context, self.split_id)
        return SimReader(self._index, self._spec, context)


@final
class SimFetcher(Fetcher[SimSplit]):
    """Fetches a chunk or two of the next split in turn."""

    def __init__(self, index: int, spec: SourceSpec, outside: int) -> None:
        self._index = index
        self._chunk = spec.chunk
        self._outside = outside
        self._splits: list[SimSplit] = []
        self._is_closed = False

    def add_splits(self, splits: list[SimSplit]) -> None:
        self._splits += splits

    def fetch(self) -> list[Fetched[SimSplit]]:
        outside = system(self._outside)
        for _ in range(3):
            operation(outside.world, f"fetch from source {self._index}")
        if self._is_closed:
            outside.world.violated("a fetcher is used after its end")
        if outside.is_down(FETCH_MISHAPS):
            raise SourceError("simulated: the outside does not answer")
        return [self._next() for _ in range(min(2, len(self._splits)))]

    def _next(self) -> Fetched[SimSplit]:
        split = self._splits.pop(0)
        after = min(split.end, split.position + self._chunk)
        if after < split.end:
            self._splits.append(SimSplit(split.split, after, split.end))
        return Fetched(
            split=f"split {split.split}",
            records=[((self._index, split.split, n, 0), ()) for n in range(split.position, after)],
            after=lambda count: SimSplit(split.split, split.position + count, split.end),
            ended=after == split.end,
        )

    def close(self) -> None:
        if self._is_closed:
            system(self._outside).world.violated("a fetcher is closed twice")
        self._is_closed = True


# --- has all been read? -------------------------------------------------------------------------------------------


def all_is_read(sources: dict[str, SourceSpec], store: SimStore) -> bool:
    """Return whether the newest durable checkpoint in a folder knows all splits of these sources as read.

    Whatever fails from then on, nothing is left to be read.
    """
    newest = store.ledger.newest
    if newest is None or store.is_damaged:
        return False
    manifest = next(each for each in store.ledger.manifests.values() if each.checkpoint_id == newest)
    return all(_is_read(uid, spec, manifest, store) for uid, spec in sources.items())


def _is_read(uid: str, spec: SourceSpec, manifest: Manifest, store: SimStore) -> bool:
    operator = next(each for each in manifest.operators if each.uid == uid)
    lists = [state.lists for state in operator.subtasks.values()]
    known = {each for own in lists if KNOWN_STATE in own for each in _values(own[KNOWN_STATE].handle, store)}
    left = [each for own in lists if SPLITS_STATE in own for each in _values(own[SPLITS_STATE].handle, store)]
    expected = {f"split {split}" for split, records in enumerate(spec.splits) if records}
    return not left and (not kind_of(spec).grows or known >= expected)


def _values(handle: StateHandle, store: SimStore) -> list[Any]:
    data = handle.data if isinstance(handle, InlineHandle) else store.memory.files[handle.path]
    return ListElements(elements=pickle.loads(data)).values("splits", {})  # noqa: S301  # written by this simulation
