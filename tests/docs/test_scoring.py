"""The program that scores with a model, on Spark: a slot is killed while it scores, and each score is there once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.blocks import ROOT, blocks, run_apart

FAILS = 'raise OSError("the first attempt fails here")'
IS_KILLED = "signal.raise_signal(signal.SIGKILL)"


@pytest.mark.soak
@pytest.mark.spark
def test_each_visit_has_its_score_once_when_a_slot_is_killed_while_the_model_is_asked(tmp_path: Path) -> None:
    page = next(block for block in blocks(ROOT / "docs" / "guides" / "async.md") if "class Model" in block.code)
    assert page.code.count(FAILS) == 1
    code = page.code.replace(FAILS, IS_KILLED)
    program = tmp_path / "program.py"
    program.write_text(f"import signal\n{code}")
    assert run_apart(program, cwd=tmp_path).stdout == page.printed
