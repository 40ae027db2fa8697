"""The local folder of a slot."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from headgate.errors import EnvironmentFault
from headgate.ids import SlotIndex
from headgate.options import resolve
from headgate.runtime.slot_storage.scratch import Scratch


def test_nothing_is_made_before_it_is_used_and_nothing_is_left(tmp_path: Path) -> None:
    scratch = Scratch(0, [str(tmp_path)])
    scratch.clear_all_but()
    scratch.remove()
    assert list(tmp_path.iterdir()) == []
    scratch.folder("a1", "work").joinpath("file").write_bytes(b"x")
    assert scratch.folder("a1", "work").joinpath("file").exists()
    scratch.remove()
    scratch.remove()
    assert list(tmp_path.iterdir()) == []


def test_everything_but_some_folders_can_be_removed(tmp_path: Path) -> None:
    scratch = Scratch(0, [str(tmp_path)])
    for name in ("a1", "a2", "copies"):
        scratch.folder(name, "work").joinpath("file").write_bytes(b"x")
    scratch.clear_all_but("copies", "a2")
    assert sorted(path.name for path in scratch.folder().iterdir()) == ["a2", "copies"]
    assert scratch.folder("a2", "work").joinpath("file").exists()


HOLD = """
import sys
from headgate.runtime.slot_storage.scratch import Scratch
held = Scratch(3, [sys.argv[1]])
print(held.folder("work"), flush=True)
sys.stdin.read()
"""


def test_what_a_killed_process_has_left_goes_with_the_next_folder_and_what_is_in_use_stays(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        left = Path(process.stdout.readline().strip())
        used = Scratch(0, [str(tmp_path)])
        assert used.folder("x").exists()
        assert left.exists()
        process.kill()
    other = Scratch(0, [str(tmp_path)])
    assert other.folder("y").exists()
    assert not left.exists()
    assert len(list(tmp_path.iterdir())) == 2


def test_a_folder_that_is_removed_before_it_is_locked_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    make = tempfile.mkdtemp

    def swept(prefix: str, dir: str) -> str:
        made.append(make(prefix=prefix, dir=dir))
        if len(made) == 1:
            Scratch(1, [dir]).folder("x")
        return made[-1]

    monkeypatch.setattr(tempfile, "mkdtemp", swept)
    scratch = Scratch(0, [str(tmp_path)])
    assert scratch.folder("y").exists()
    assert not Path(made[0]).exists()
    assert len(list(tmp_path.iterdir())) == 1


def test_slots_take_the_configured_folders_in_turn(tmp_path: Path) -> None:
    parents = [tmp_path / name for name in "ab"]
    for parent in parents:
        parent.mkdir()
    settings = resolve({"io.tmp.dirs": ", ".join(map(str, parents))})
    made = [Scratch.by(settings, SlotIndex(slot)) for slot in range(3)]
    assert [scratch.folder("x").parent.parent for scratch in made] == [parents[0], parents[1], parents[0]]


def test_without_a_setting_the_folder_lies_where_the_host_says(tmp_path: Path) -> None:
    scratch = Scratch.by(resolve({}), SlotIndex(0), otherwise=str(tmp_path))
    assert scratch.folder("x").parent.parent == tmp_path


def test_a_folder_that_cannot_be_made_is_named_with_what_to_set(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFault, match=r"nowhere.*io\.tmp\.dirs"):
        Scratch(0, [str(tmp_path / "nowhere")]).folder("x")


def test_two_slots_never_share_a_folder(tmp_path: Path) -> None:
    one, other = Scratch(0, [str(tmp_path)]), Scratch(0, [str(tmp_path)])
    assert one.folder("x") != other.folder("x")
