"""Any file of a job's folder, damaged in any way: the next start is exact, or refused in words and then exact."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.scenarios.paced import HURRY
from tests.scenarios.test_refused_starts import EXPECTED, Jobs, cut, empty, flip

DAMAGES: dict[str, Callable[[Path], None]] = {"cut": cut, "emptied": empty, "flipped": flip, "deleted": Path.unlink}


def kind_of(path: Path, folder: Path) -> str:
    """Return what kind of file this is, by its place and the end of its name: one of each kind is damaged."""
    place, name = path.parent.name, path.name
    if place.startswith("chk-"):
        return name if name == "_metadata" else name.split("-")[-2]
    return f"{place}/{'base' if name.endswith('-base') else ''}" if path.parent != folder else name


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGES)
def test_no_damaged_file_makes_output_wrong(damage: str, tmp_path: Path) -> None:
    root, left = tmp_path / "job", tmp_path / "left"
    jobs = Jobs(root)
    jobs.lose_driver()
    kinds = {kind_of(path, jobs.folder): path for path in sorted(jobs.folder.rglob("*")) if path.is_file()}
    assert {"_metadata", "list", "_complete/", "_epoch/", "_epoch/base", "_attempt/"} < kinds.keys()
    shutil.copytree(root, left)
    wrong: list[str] = []
    for kind, path in kinds.items():
        shutil.rmtree(root)
        shutil.copytree(left, root)
        wrong += [f"{kind}: {why}" for why in trouble_with(jobs, path, DAMAGES[damage])]
    assert wrong == []


def trouble_with(jobs: Jobs, path: Path, damage: Callable[[Path], None]) -> list[str]:
    """Start the job with a damaged file, and again when it is mended if need be; return what is wrong."""
    whole = path.read_bytes()
    if whole or damage is Path.unlink:
        damage(path)
    HURRY.set()
    outcome = jobs.start().wait(120.0)
    if outcome.status.word != "finished":
        if path.name not in str(outcome.cause):
            return [f"the error does not name the file: {outcome.cause}"]
        path.write_bytes(whole)
        outcome = jobs.start().wait(120.0)
    HURRY.clear()
    if outcome.status.word != "finished":
        return [f"not mended: {outcome.cause}"]
    return [] if jobs.committed() == EXPECTED else ["the output is wrong"]
