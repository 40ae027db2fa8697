"""The page of scenarios is complete, and names tests that exist."""

from __future__ import annotations

import re

import pytest

from tests.docs.blocks import ROOT

PAGE = (ROOT / "docs" / "scenarios.md").read_text()
ROW = re.compile(r"^\| (S\d\d) \| (.+?) \| (.+) \|$", re.MULTILINE)
TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def test_every_scenario_has_one_row_in_order() -> None:
    assert [row[0] for row in ROW.findall(PAGE)] == [f"S{number:02}" for number in range(1, 44)]


@pytest.mark.parametrize(("id_", "here"), [(row[0], row[2]) for row in ROW.findall(PAGE)])
def test_scenario_has_a_test_or_a_reason(id_: str, here: str) -> None:
    assert TEST.search(here) or here.startswith(("later: ", "does not apply: ")), id_


def test_each_test_that_the_page_names_is_there() -> None:
    for path, test in TEST.findall(PAGE):
        assert f"\ndef {test}(" in (ROOT / path).read_text(), f"{path}::{test}"
