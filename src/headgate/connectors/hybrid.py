"""Several sources that are read one after the other, such as files of the past and then a topic that continues them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, final

from headgate.errors import ProgramError
from headgate.functions.source import END_OF_INPUT, NoMoreSplits, Poll, Records, Source, SourceContext, SourceReader
from headgate.ids import JobId

_OPENED: Final = ""
"""The id of the split of a stage that has nothing to read."""


@final
@dataclass(frozen=True, slots=True)
class StageSplit:
    """A split of a stage's source. The inner split is None if the stage had nothing to read when it began."""

    stage: int
    split: Any


@final
class HybridSource(Source[StageSplit]):
    """Reads sources one after the other: a source begins when all subtasks have ended the previous source.

    All sources but the last must be bounded. The splits of a source are listed when it begins. A snapshot has the index
    of the current source and its remaining splits. The watermark continues across sources: records with timestamps
    below the watermark of the previous source are late. In batch mode all sources are read at the same time.

    >>> from headgate.connectors.number_seq import NumberSequenceSource
    >>> history, live = NumberSequenceSource(1, 9), NumberSequenceSource(10, 12)
    >>> source = HybridSource.builder(history).add_source(live).build()
    """

    in_stages = True

    def __init__(self, sources: Sequence[Source[Any]]) -> None:
        _check(sources)
        self._sources = tuple(sources)
        last = sources[-1]
        self.bounded = last.bounded
        self.discovery_interval_ms = last.discovery_interval_ms
        limits = [each.parallelism_max for each in sources if each.parallelism_max is not None]
        self.parallelism_max = min(limits, default=None)
        self.failed_tag = next((each.failed_tag for each in sources if each.failed_tag is not None), None)
        types = [each.produced_type for each in sources]
        self.produced_type = types[0] if all(each == types[0] for each in types) else None

    @staticmethod
    def builder(first_source: Source[Any]) -> HybridSourceBuilder:
        """Return a builder that begins with `first_source`."""
        return HybridSourceBuilder([first_source])

    def prepare(self, job_id: JobId) -> None:
        for source in self._sources:
            source.prepare(job_id)

    def interrupt(self) -> None:
        for source in self._sources:
            source.interrupt()

    def keep(self) -> None:
        for source in self._sources:
            source.keep()

    def discard(self, job_id: JobId) -> None:
        for source in self._sources:
            source.discard(job_id)

    def release(self, job_id: JobId) -> None:
        for source in self._sources:
            source.release(job_id)

    def splits(self, parallelism: int) -> list[StageSplit]:
        return self._begin(0, parallelism)

    def is_last_stage(self, known: frozenset[str]) -> bool:
        return _newest(known) == len(self._sources) - 1

    def next_stage(self, known: frozenset[str], parallelism: int) -> list[StageSplit]:
        return self._begin(_newest(known) + 1, parallelism)

    def _begin(self, stage: int, parallelism: int) -> list[StageSplit]:
        splits = [StageSplit(stage, split) for split in self._sources[stage].splits(parallelism)]
        return splits or [StageSplit(stage, None)]

    def discover(self, known: frozenset[str]) -> list[StageSplit] | NoMoreSplits:
        if not known or not self.is_last_stage(known):
            return []
        last = len(self._sources) - 1
        found = self._sources[last].discover(frozenset(_of_stage(last, known)))
        return found if isinstance(found, NoMoreSplits) else [StageSplit(last, split) for split in found]

    def split_id(self, split: StageSplit) -> str:
        inner = _OPENED if split.split is None else self._sources[split.stage].split_id(split.split)
        return _id(split.stage, inner)

    def stage_of(self, split_id: str) -> Source[Any]:
        return self._sources[_stage(split_id)]

    def to_remember(self, known: Iterable[str]) -> list[str]:
        """Return the splits of the newest stage: all earlier stages are read."""
        known = list(known)
        if not known:
            return []
        newest = _newest(known)
        inner = self._sources[newest].to_remember(_of_stage(newest, known))
        return [_id(newest, each) for each in dict.fromkeys([_OPENED, *inner])]

    def reader(self, context: SourceContext) -> HybridReader:
        return HybridReader(self._sources, context)


@final
class HybridSourceBuilder:
    """Builds a `HybridSource` of sources, in the order in which they are read."""

    def __init__(self, sources: list[Source[Any]]) -> None:
        self._sources = sources

    def add_source(self, source: Source[Any]) -> HybridSourceBuilder:
        """Read this source after the previous ones."""
        self._sources.append(source)
        return self

    def build(self) -> HybridSource:
        """Return the source. Raises ProgramError naming a source that cannot be part of a `HybridSource`."""
        return HybridSource(self._sources)


@final
class HybridReader(SourceReader[StageSplit]):
    """Reads each source with its own reader, which is created with the first splits of the source."""

    def __init__(self, sources: Sequence[Source[Any]], context: SourceContext) -> None:
        self._sources = sources
        self._context = context
        self._readers: dict[int, SourceReader[Any]] = {}

    def add_splits(self, splits: list[StageSplit]) -> None:
        for stage in sorted({split.stage for split in splits}):
            if stage not in self._readers:
                self._readers[stage] = self._sources[stage].reader(self._context)
            inner = [split.split for split in splits if split.stage == stage and split.split is not None]
            if inner:
                self._readers[stage].add_splits(inner)

    def poll(self, records_max: int) -> Poll:
        polled: Poll = END_OF_INPUT
        for stage in sorted(self._readers):
            polled = self._readers[stage].poll(records_max)
            if isinstance(polled, Records):
                return replace(polled, split=_id(stage, polled.split or _OPENED))
            if polled is not END_OF_INPUT:
                return polled
            if stage < max(self._readers):
                self._readers.pop(stage).close()
        return polled

    @property
    def pauses_splits(self) -> bool:
        return any(reader.pauses_splits for reader in self._readers.values())

    def pause_splits(self, paused: frozenset[str]) -> None:
        for stage, reader in self._each():
            inner = frozenset(_of_stage(stage, paused))
            if inner or reader.pauses_splits:
                reader.pause_splits(inner)

    def snapshot(self) -> list[StageSplit]:
        return [StageSplit(stage, split) for stage, reader in self._each() for split in reader.snapshot()]

    def notify_completed(self, splits: list[StageSplit]) -> None:
        for stage, reader in self._each():
            reader.notify_completed([split.split for split in splits if split.stage == stage])

    def close(self) -> None:
        for _, reader in self._each():
            reader.close()

    def _each(self) -> list[tuple[int, SourceReader[Any]]]:
        return sorted(self._readers.items())


def _check(sources: Sequence[Source[Any]]) -> None:
    for place, source in enumerate(sources):
        what = f"source {place + 1} of a HybridSource, a {type(source).__name__},"
        if not isinstance(source, Source):
            raise ProgramError(f"{what} is not a source: give sources as for env.from_source()")
        if place < len(sources) - 1 and (not source.bounded or source.discovery_interval_ms is not None):
            raise ProgramError(f"{what} never ends, so none after it would be read: bound it, or add it last")
        if source.in_stages or source.acknowledger() is not None:
            raise ProgramError(f"{what} cannot be one of several: add the sources that it is made of, or read it alone")
        if type(source).split_id is Source.split_id:
            raise ProgramError(f"{what} does not name its splits: define split_id()")
    tags = sorted({source.failed_tag.tag_id for source in sources if source.failed_tag is not None})
    if len(tags) > 1:
        raise ProgramError(f"the sources of a HybridSource have the side outputs {tags}: give them the same OutputTag")


def _id(stage: int, inner: str) -> str:
    return f"{stage}/{inner}"


def _stage(split_id: str) -> int:
    return int(split_id.partition("/")[0])


def _newest(known: Iterable[str]) -> int:
    return max(map(_stage, known))


def _of_stage(stage: int, known: Iterable[str]) -> list[str]:
    inner = [split_id.partition("/")[2] for split_id in known if _stage(split_id) == stage]
    return [each for each in inner if each != _OPENED]
