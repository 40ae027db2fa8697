"""The RocksDB backend keeps the contract of backends, whatever fits into its memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from headgate.options import resolve
from headgate.state.backend import open_backend
from tests.contract.backends.backend import check_against_model
from tests.contract.backends.backend_scenarios import (
    SCENARIOS,
    check_full_snapshots_leave_out_what_has_expired,
)
from tests.contract.backends.keyed_job import BackendUnderTest
from tests.sample_size import sample_size
from tests.unit.state.rocksdb.stores import INCREMENTAL, TINY

pytestmark = pytest.mark.slow

CHANGELOG = {"state.changelog.enabled": True, "headgate.changelog.cut-interval": "1 ms"}
VARIANTS: dict[str, dict[str, Any]] = {
    "whole": {},
    "whole, nothing cached": TINY,
    "incremental": INCREMENTAL,
    "incremental, nothing cached": {**INCREMENTAL, **TINY},
    "changelog": CHANGELOG,
    "changelog, nothing cached": {**CHANGELOG, **TINY},
}


LEFT_TO_SOAK = ("whole", "incremental, nothing cached", "changelog")
"""Variants whose halves are in two other ones."""


def rocksdb(variant: str) -> BackendUnderTest:
    return BackendUnderTest(open=open_backend, settings=resolve({"state.backend.type": "rocksdb", **VARIANTS[variant]}))


@pytest.mark.parametrize(
    "variant", [pytest.param(each, marks=pytest.mark.soak if each in LEFT_TO_SOAK else ()) for each in VARIANTS]
)
def test_it_agrees_with_a_plain_dict_whatever_happens(variant: str) -> None:
    check_against_model(rocksdb(variant), max_examples=sample_size(12))


def _pairs() -> Iterator[Any]:
    for check in SCENARIOS:
        for variant in VARIANTS:
            # Files of RocksDB hold what has expired, as in Flink.
            if check is not check_full_snapshots_leave_out_what_has_expired or "whole" in variant:
                marks = pytest.mark.soak if variant in LEFT_TO_SOAK else ()
                yield pytest.param(check, variant, id=f"{check.__name__}-{variant}", marks=marks)


@pytest.mark.parametrize(("check", "variant"), list(_pairs()))
def test_it_passes(check: Callable[[BackendUnderTest], None], variant: str) -> None:
    check(rocksdb(variant))
