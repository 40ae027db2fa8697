"""The contract of sinks, on each sink."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from headgate.testing.contracts.sink import (
    SINK_CHECKS,
    SinkCase,
    SinkTarget,
    check_a_loss_of_power_loses_no_record,
    check_a_loss_of_power_takes_nothing_from_a_savepoint,
)
from tests.contract.file_sinks import CASES, Folders
from tests.power import Disks
from tests.sample_size import sample_size


@pytest.mark.parametrize("check", SINK_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_sink(case: Callable[[Folders], SinkCase], check: Callable[[SinkCase], None], tmp_path: Path) -> None:
    numbers = itertools.count()
    made = case(Folders(lambda: str(tmp_path / str(next(numbers)))))
    check(replace(made, histories=sample_size(made.histories)))


@pytest.mark.parametrize(
    "check", [check_a_loss_of_power_loses_no_record, check_a_loss_of_power_takes_nothing_from_a_savepoint]
)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_sink_on_a_disk_that_loses_power(
    case: Callable[[Folders], SinkCase], check: Callable[[SinkCase], None], tmp_path: Path
) -> None:
    with Disks(tmp_path) as disks:
        made = case(Folders(disks.new))

        def fresh() -> SinkTarget:
            return replace(made.fresh(), lose_power=disks.newest.lose_power)

        check(replace(made, fresh=fresh))
