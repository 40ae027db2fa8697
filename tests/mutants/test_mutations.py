"""The tool that changes modules to see whether tests notice."""

from __future__ import annotations

import ast
from pathlib import Path
from textwrap import dedent

import pytest

from tests.mutants.__main__ import ROOT, all_mutants, known_reasons, report
from tests.mutants.cores import CORES, WIDER
from tests.mutants.mutations import mutations
from tests.mutants.trial import Copy, Mutant

FOUR = """
    LIMIT = 4

    def grows(size, limit=LIMIT):
        \"\"\"Say so.\"\"\"
        if size < limit and not size.is_fixed:
            raise ValueError(f"{size + 1} is too much")
        size.value += 1
"""


def changed(source: str) -> list[tuple[int, str, str]]:
    return [(each.line, each.before, each.after) for each in mutations(dedent(source).strip())]


def test_what_a_function_does_is_changed_and_nothing_else() -> None:
    assert changed(FOUR) == [
        (5, "size < limit and not size.is_fixed", "((size < limit) or (not size.is_fixed))"),
        (5, "size < limit and not size.is_fixed", "(size < limit)"),
        (5, "size < limit and not size.is_fixed", "(not size.is_fixed)"),
        (5, "size < limit", "size <= limit"),
        (5, "not size.is_fixed", "bool(size.is_fixed)"),
        (6, 'raise ValueError(f"{size + 1} is too much")', "pass"),
        (7, "size.value += 1", "pass"),
        (7, "1", "2"),
    ]


def test_a_change_is_made_at_its_place_in_a_module_with_other_letters() -> None:
    source = 'def f(a):\n    b = "ä€"; return a + 1\n'
    (changed_one,) = [each.applied(source) for each in mutations(source) if each.after == "(a - 1)"]
    assert changed_one == 'def f(a):\n    b = "ä€"; return (a - 1)\n'


@pytest.mark.soak
def test_mutants_of_the_cores_are_python_that_means_something_else() -> None:
    for mutant in list(all_mutants())[::40]:
        source = (ROOT / mutant.module).read_text()
        changed_tree = ast.parse(mutant.mutation.applied(source))
        assert ast.dump(changed_tree) != ast.dump(ast.parse(source)), mutant


def test_all_tests_that_look_at_the_cores_are_there() -> None:
    named = [*WIDER, *(test for core in CORES for test in core.tests)]
    assert [test for test in named if not (ROOT / test).exists()] == []


@pytest.mark.slow
def test_each_survivor_that_is_explained_is_in_the_cores() -> None:
    there = {(f"{each.module}".removeprefix("src/headgate/"), each.text) for each in all_mutants()}
    assert [known[:2] for known in known_reasons() if known[:2] not in there] == []


@pytest.mark.soak
def test_a_mutant_is_killed_by_a_test_that_fails_with_it_and_the_copy_is_as_it_was_then(tmp_path: Path) -> None:
    copy = Copy(ROOT, tmp_path)
    seal = tmp_path / "src/headgate/checkpoint/seal.py"
    before = seal.read_text()
    mutant = next(each for each in all_mutants() if each.module.name == "seal.py" and "return" in each.mutation.after)
    assert copy.failure(("tests/unit/checkpoint/test_manifest.py",), 600.0) is None
    assert copy.is_killed(mutant, {mutant.core.tests: 600.0})
    assert seal.read_text() == before


@pytest.mark.slow
def test_the_report_names_what_survives_and_why_as_far_as_that_is_known() -> None:
    mutants = list(all_mutants())[:20]
    text = report(mutants, mutants[:1], 1000, 7, 60.0)
    assert "20 mutants of the 1,000 that the cores have, seed 7" in text
    assert "killed: 19 (95.0%)" in text
    assert f"{mutants[0]}\n    {mutants[0].text}\n    not explained" in text
    assert isinstance(mutants[0], Mutant)
