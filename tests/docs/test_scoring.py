"""The program that scores with a model, on Spark: a slot is killed while it scores, and each score is there once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.blocks import ROOT, blocks, run_apart

CHANGES = {
    'Configuration.from_dict({"headgate.deploy.target": "minicluster"})': "Configuration()",
    'raise OSError("the first attempt fails here")': "signal.raise_signal(signal.SIGKILL)",
}


@pytest.mark.spark
@pytest.mark.slow
def test_each_visit_has_its_score_once_when_a_slot_is_killed_while_the_model_is_asked(tmp_path: Path) -> None:
    page = next(block for block in blocks(ROOT / "docs" / "guides" / "async.md") if "def fitted" in block.code)
    code = page.code
    for old, new in CHANGES.items():
        assert code.count(old) == 1
        code = code.replace(old, new)
    program = tmp_path / "program.py"
    program.write_text(f"import signal\n{code}")
    assert run_apart(program, cwd=tmp_path).stdout == page.printed
