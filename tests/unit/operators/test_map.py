"""Map: one record in, one out; timestamps stay with their records."""

from __future__ import annotations

from headgate.elements import Batch
from headgate.operators.plain_functions import MapFactory
from headgate.testing.harness import OperatorHarness


def test_each_record_becomes_one_and_keeps_its_timestamp() -> None:
    with OperatorHarness(MapFactory(lambda n: n * n)) as harness:
        out = harness.process_batch(Batch([1, 2, 3], [10, 20, 30]))
    assert (out.records, out.timestamps) == ([1, 4, 9], [10, 20, 30])


def test_none_is_a_record_like_any_other() -> None:
    with OperatorHarness(MapFactory(lambda n: None)) as harness:
        assert harness.process(1, 2) == [None, None]
