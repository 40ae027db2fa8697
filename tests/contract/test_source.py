"""The contract of sources, on each source."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from headgate.connectors.collection import CollectionSource
from headgate.connectors.datagen import DataGeneratorSource
from headgate.connectors.number_seq import NumberSequenceSource
from headgate.connectors.rate import RateLimitedSource
from headgate.testing.contracts.source import SOURCE_CHECKS, SourceCase

WORDS = [f"word-{index}" for index in range(40)]


def collection(_: Path) -> SourceCase:
    return SourceCase(source=CollectionSource(WORDS), expected=WORDS)


def numbers(_: Path) -> SourceCase:
    return SourceCase(source=NumberSequenceSource(-7, 30), expected=list(range(-7, 31)))


def generated(_: Path) -> SourceCase:
    return SourceCase(source=DataGeneratorSource(lambda index: index * index, 40), expected=[i * i for i in range(40)])


def generated_at_a_rate(_: Path) -> SourceCase:
    return SourceCase(source=DataGeneratorSource(str, 40, 100), expected=[str(i) for i in range(40)])


def rate_limited(_: Path) -> SourceCase:
    return SourceCase(source=RateLimitedSource(NumberSequenceSource(0, 39), 1_000), expected=list(range(40)))


CASES = [collection, numbers, generated, generated_at_a_rate, rate_limited]


@pytest.mark.parametrize("check", SOURCE_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_source(case: Callable[[Path], SourceCase], check: Callable[[SourceCase], None], tmp_path: Path) -> None:
    check(case(tmp_path))
