"""Names in checkpoint storage."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.checkpoint import paths
from headgate.ids import Attempt, CheckpointId

ONE = CheckpointId(1)
FIRST = Attempt(1)
MINE = paths.Writer(ONE, FIRST, "op", 0)
STATES = st.tuples(st.text(), st.integers(0, 9), st.text())
State = tuple[str, int, str]
PathOf = Callable[[paths.Writer, str], str]


def test_files_of_different_attempts_never_share_a_name() -> None:
    assert paths.keyed_state(MINE, "keyed") != paths.keyed_state(paths.Writer(ONE, Attempt(2), "op", 0), "keyed")
    assert not paths.is_of_attempt(paths.keyed_state(paths.Writer(ONE, Attempt(11), "op", 0), "keyed"), FIRST)
    assert paths.is_of_attempt(paths.list_state(MINE, "offsets"), FIRST)


@given(st.text(), st.text())
def test_a_list_state_never_has_the_name_of_a_file_of_keyed_state(listed: str, keyed: str) -> None:
    assert paths.list_state(MINE, listed) != paths.keyed_state(MINE, keyed)


@pytest.mark.parametrize("path_of", [paths.list_state, paths.keyed_state, paths.shared_state])
@given(STATES, STATES)
def test_different_states_never_share_a_name(path_of: PathOf, one: State, other: State) -> None:
    names = {path_of(paths.Writer(ONE, FIRST, uid, subtask), name) for uid, subtask, name in {one, other}}
    assert len(names) == len({one, other})


@given(st.text(min_size=200), st.text(min_size=200))
def test_long_names_stay_short_enough_for_a_file_system(uid: str, name: str) -> None:
    assert len(paths.list_state(paths.Writer(ONE, FIRST, uid, 32_767), name)) < 255


def test_the_checkpoint_of_a_path_is_read_from_its_folder_only() -> None:
    assert paths.checkpoint_of(paths.metadata(CheckpointId(12))) == 12
    assert paths.checkpoint_of("chk-12") == 12
    assert paths.checkpoint_of("chk-012/a") is None
    assert paths.checkpoint_of("x/chk-1/a") is None
