"""The checkpoints of a running job: what their manifests say."""

from __future__ import annotations

from collections.abc import Iterable

from headgate.checkpoint import paths
from headgate.checkpoint.manifest import Manifest, decode
from headgate.connectors.number_seq import NumberSequenceSource
from headgate.connectors.rate import RateLimitedSource
from headgate.operators.collect import CollectFactory
from headgate.runtime.supervision import JobStatus
from headgate.state.files import FileHandle
from tests.unit.runtime.masters import MasterRig
from tests.unit.runtime.plans import line_plan

SETTINGS = {"execution.checkpointing.interval": "50 ms", "restart-strategy.fixed-delay.delay": "20 ms"}


def test_a_manifest_names_the_completed_checkpoint_before_it_also_across_a_restart() -> None:
    source = RateLimitedSource(NumberSequenceSource(1, 100), 100)
    rig = MasterRig(line_plan(source, CollectFactory(), settings=SETTINGS))
    written: list[Manifest] = []
    write = rig.store.write

    def watched(path: str, chunks: Iterable[bytes | bytearray | memoryview]) -> FileHandle:
        data = b"".join(chunks)
        if path.endswith(paths.METADATA):
            written.append(decode(data, path))
        return write(path, [data])

    rig.store.write = watched  # type: ignore[method-assign]
    rig.master.submit()
    rig.run_until(lambda: len(written) == 5)
    rig.end_launch(1, "the stage was killed")
    assert rig.end().status is JobStatus.FINISHED
    assert {manifest.attempt for manifest in written} == {1, 2}
    before = [None, *[manifest.checkpoint_id for manifest in written]]
    assert [manifest.parent for manifest in written] == before[:-1]
