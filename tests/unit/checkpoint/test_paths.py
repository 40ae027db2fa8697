"""Names in checkpoint storage."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headgate.checkpoint import paths
from headgate.ids import Attempt, CheckpointId

ONE = CheckpointId(1)
FIRST = Attempt(1)


def test_files_of_different_attempts_never_share_a_name() -> None:
    assert paths.keyed_state(ONE, FIRST, "op", 0) != paths.keyed_state(ONE, Attempt(2), "op", 0)
    assert not paths.is_of_attempt(paths.keyed_state(ONE, Attempt(11), "op", 0), FIRST)
    assert paths.is_of_attempt(paths.list_state(ONE, FIRST, "op", 0, "offsets"), FIRST)


def test_a_list_state_called_keyed_is_not_the_keyed_state() -> None:
    assert paths.list_state(ONE, FIRST, "op", 0, "keyed") != paths.keyed_state(ONE, FIRST, "op", 0)


@given(st.tuples(st.text(), st.integers(0, 9), st.text()), st.tuples(st.text(), st.integers(0, 9), st.text()))
def test_different_states_never_share_a_name(one: tuple[str, int, str], other: tuple[str, int, str]) -> None:
    names = {paths.list_state(ONE, FIRST, *state) for state in {one, other}}
    assert len(names) == len({one, other})


@given(st.text(min_size=200), st.text(min_size=200))
def test_long_names_stay_short_enough_for_a_file_system(uid: str, name: str) -> None:
    assert len(paths.list_state(ONE, FIRST, uid, 32_767, name)) < 255


def test_the_checkpoint_of_a_path_is_read_from_its_folder_only() -> None:
    assert paths.checkpoint_of(paths.metadata(CheckpointId(12))) == 12
    assert paths.checkpoint_of("chk-12") == 12
    assert paths.checkpoint_of("chk-012/a") is None
    assert paths.checkpoint_of("x/chk-1/a") is None
