"""The hash map keeps the contract of backends: with whole snapshots, with increments, with a changelog."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headgate.options import resolve
from headgate.state.backend import open_backend
from tests.contract.backends.backend import check_against_model
from tests.contract.backends.backend_scenarios import SCENARIOS
from tests.contract.backends.keyed_job import BackendUnderTest
from tests.sample_size import sample_size

VARIANTS: dict[str, dict[str, Any]] = {
    "whole": {},
    "incremental": {"execution.checkpointing.incremental": True},
    "changelog": {"state.changelog.enabled": True, "headgate.changelog.cut-interval": "1 ms"},
}


def hash_map(variant: str) -> BackendUnderTest:
    return BackendUnderTest(open=open_backend, settings=resolve(VARIANTS[variant]))


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.slow
def test_the_hash_map_agrees_with_a_plain_dict_whatever_happens(variant: str) -> None:
    check_against_model(hash_map(variant), max_examples=sample_size(60))


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("check", SCENARIOS, ids=lambda check: check.__name__)
def test_the_hash_map_passes(check: Callable[[BackendUnderTest], None], variant: str) -> None:
    check(hash_map(variant))
