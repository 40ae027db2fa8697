"""The RocksDB backend keeps the contract of backends, whatever fits into its memory."""

from __future__ import annotations

from typing import Any

import pytest

from headgate import options
from headgate.config import Source
from headgate.state.choose import open_backend
from headgate.testing.contracts.backend import BackendUnderTest, check_against_model

INCREMENTAL = {"execution.checkpointing.incremental": True}
CHANGELOG = {"state.changelog.enabled": True, "headgate.changelog.cut-interval": "60 ms"}
TINY = {"headgate.rocksdb.cache-size": "1 b"}
VARIANTS: dict[str, dict[str, Any]] = {
    "whole": {},
    "whole, nothing cached": TINY,
    "incremental": INCREMENTAL,
    "incremental, nothing cached": {**INCREMENTAL, **TINY},
    "changelog": CHANGELOG,
    "changelog, nothing cached": {**CHANGELOG, **TINY},
}


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
def test_it_agrees_with_a_plain_dict_whatever_happens(variant: str) -> None:
    settings = options.REGISTRY.resolve([(Source.CODE, {"state.backend.type": "rocksdb", **VARIANTS[variant]})])
    check_against_model(BackendUnderTest(open=open_backend, settings=settings), max_examples=12)
