"""Whatever the program, it emits the same while somebody looks at what leaves every one of its operators."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from headgate.job_status import JobStatus
from headgate.operators.samples import Sample
from headgate.runtime.control.messages import Tap
from tests.property.program_functions import SEEN
from tests.property.random_programs import Program, build, programs
from tests.sample_size import sample_size
from tests.unit.datastream.environments import environment
from tests.unit.runtime.masters import MasterRig


def run(program: Program, *, tapped: bool) -> dict[str, list[Any]]:
    """Run the program in virtual time, if `tapped` with all its operators looked at; return what came out."""
    env = environment(
        **{"pipeline.auto-watermark-interval": "1 ms", "headgate.batch.records": str(program.batch_records)}
    )
    outputs = build(program, env)
    SEEN.clear()
    rig = MasterRig(env.job_graph())
    seen: list[Sample] = []
    uids = {operator.uid for vertex in rig.plan.vertices for operator in vertex.operators} if tapped else set()
    for uid in uids:
        rig.master.tap(uid, seen.extend)
    assert rig.run().status is JobStatus.FINISHED
    assert {message.uid for message in rig.links[0].told if isinstance(message, Tap)} == uids
    return {name: list(SEEN[name]) for name in outputs}


@pytest.mark.slow
@settings(max_examples=sample_size(60), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(programs())
def test_what_is_looked_at_stays_as_it_is(program: Program) -> None:
    alone, looked_at = run(program, tapped=False), run(program, tapped=True)
    assert {name: Counter(records) for name, records in looked_at.items()} == {
        name: Counter(records) for name, records in alone.items()
    }
