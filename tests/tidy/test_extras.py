"""What messages and pages tell to install can be installed: the package by its name, with extras that it has."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = frozenset(PROJECT["optional-dependencies"])
WITH_EXTRAS = re.compile(r"\b([\w-]+)\[([a-z0-9, ]+)\](?=[`'\"])")
COMMAND = re.compile(r"pip install (?!-)(\S+\[[^\]]*\]\S*)")


def texts() -> dict[str, str]:
    paths = [*ROOT.glob("src/headgate/**/*.py"), *ROOT.glob("docs/**/*.md"), ROOT / "README.md"]
    return {str(path.relative_to(ROOT)): path.read_text() for path in paths}


def test_extras_that_are_named_are_those_of_the_project() -> None:
    named = [
        (where, extra.strip())
        for where, text in texts().items()
        for package, extras in WITH_EXTRAS.findall(text)
        if package == PROJECT["name"]
        for extra in extras.split(",")
    ]
    assert {extra for _, extra in named} >= EXTRAS - {"testing"}, "the pattern finds them"
    assert [(where, extra) for where, extra in named if extra not in EXTRAS] == []


def test_commands_that_install_work_in_every_shell_as_they_stand() -> None:
    """Brackets without quotes mean something to some shells."""
    found = {(where, what) for where, text in texts().items() for what in COMMAND.findall(text)}
    package = rf"(['\"])({PROJECT['name']}|\.)\[[a-z,]+\]\1.*"
    assert len(found) > 10
    assert [each for each in sorted(found) if not re.fullmatch(package, each[1])] == []
