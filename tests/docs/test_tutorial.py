"""The tutorial works, from its first command to its last."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT
from tests.docs.tutorial import Reader

PAGE = ROOT / "docs" / "tutorial" / "index.md"


@pytest.mark.spark
@pytest.mark.soak
def test_who_follows_the_tutorial_sees_what_it_says(tmp_path: Path) -> None:
    with closing(Reader(tmp_path)) as reader:
        reader.follow(PAGE.read_text())
    assert len(reader.terminals) == 5


@pytest.mark.slow
def test_who_follows_the_chapter_on_dataframes_sees_what_it_says(tmp_path: Path) -> None:
    with closing(Reader(tmp_path)) as reader:
        reader.follow(PAGE.with_name("dataframes.md").read_text())
    assert list((tmp_path / "distances").rglob("*.parquet"))


def test_the_tutorial_has_about_two_thousand_words() -> None:
    assert 1_500 < len(PAGE.read_text().split()) < 2_500
