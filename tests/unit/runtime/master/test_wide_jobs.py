"""Jobs of many slots: what one slot is sent and makes grows with their number, not with its square."""

from __future__ import annotations

import gc
import pickle
from dataclasses import dataclass

import pytest

from headgate.deploy.code.package import pack
from headgate.graph.logical import Partitioning
from headgate.ids import Launch, SlotIndex
from headgate.job_status import JobStatus
from headgate.operators.collect import CollectFactory
from headgate.operators.plain_functions import MapFactory
from headgate.runtime.control.messages import Deploy, SlotReady
from tests.unit.runtime.masters import MasterRig
from tests.unit.runtime.plans import Step, line_plan


@dataclass
class Load:
    """What a job of some parallelism costs its first slot."""

    package_bytes: int
    message_bytes: int
    objects: int


def deployed(parallelism: int) -> Load:
    """Deploy a shuffle to so many slots, and have the first build its part, between one count and the other."""
    counting = Step(MapFactory(str), Partitioning.KEY_GROUP, abs, parallelism)
    ending = Step(CollectFactory(), None, None, parallelism)
    rig = MasterRig(line_plan([1], counting, ending, readers=parallelism))
    rig.deaf = set(range(1, parallelism))
    rig.master.submit()
    rig.run_until(lambda: rig.links and any(isinstance(message, Deploy) for message in rig.links[0].told))
    first = rig.slots[0]
    gc.collect()
    before = len(gc.get_objects())
    while first.step(rig.clock.monotonic_ms()) is not None or rig.io.run():
        pass
    objects = len(gc.get_objects()) - before
    for index in rig.deaf:
        rig.master.receive(Launch(1), SlotReady(slot=SlotIndex(index), attempt=rig.master._supervisor.attempt))
    rig.run_until(lambda: rig.master.status is JobStatus.RUNNING)
    (message,) = (message for message in rig.links[parallelism - 1].told if isinstance(message, Deploy))
    return Load(len(pack(rig.plan)), len(pickle.dumps(message, 5)), objects)


@pytest.mark.slow
def test_what_a_slot_of_512_loads_and_makes_grows_with_the_parallelism_and_not_with_its_square() -> None:
    small, large = deployed(128), deployed(512)  # squares of these differ by a factor of 16
    assert large.package_bytes - small.package_bytes < 16
    assert large.message_bytes < 6 * small.message_bytes
    assert large.objects < 6 * small.objects
    assert large.objects > 2 * 512  # its ends of the channels: the count sees them
