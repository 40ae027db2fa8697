"""The tutorial works, from its first command to its last."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from tests.docs.blocks import ROOT
from tests.docs.tutorial import Reader, is_slot

PAGE = ROOT / "docs" / "tutorial" / "index.md"


@pytest.mark.spark
@pytest.mark.soak
def test_who_follows_the_tutorial_sees_what_it_says(tmp_path: Path) -> None:
    with closing(Reader(tmp_path)) as reader:
        reader.follow(PAGE.read_text())
    assert len(reader.terminals) == 5


def test_the_tutorial_has_about_two_thousand_words() -> None:
    assert 1_500 < len(PAGE.read_text().split()) < 2_500


def test_a_slot_that_has_ended_is_no_slot_to_kill() -> None:
    ended = subprocess.Popen([sys.executable, "-c", "", "-m", "headgate.deploy.spark.daemon"])
    process = psutil.Process(ended.pid)
    os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
    assert not is_slot(process)
    ended.wait()
    assert not is_slot(process)
