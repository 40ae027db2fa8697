"""The hash map keeps the contract of backends: whole snapshots, increments, changelog."""

from __future__ import annotations

from typing import Any

import pytest

from headgate import options
from headgate.config import Source
from headgate.state.choose import open_backend
from headgate.testing.contracts.backend import BackendUnderTest, check_against_model

VARIANTS: dict[str, dict[str, Any]] = {
    "whole": {},
    "incremental": {"execution.checkpointing.incremental": True},
    "changelog": {"state.changelog.enabled": True, "headgate.changelog.cut-interval": "1 ms"},
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_hash_map_agrees_with_a_plain_dict_whatever_happens(variant: str) -> None:
    settings = options.REGISTRY.resolve([(Source.CODE, VARIANTS[variant])])
    check_against_model(BackendUnderTest(open=open_backend, settings=settings), max_examples=40)
