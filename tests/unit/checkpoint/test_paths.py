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
MINE = paths.Writer(FIRST, "op", 0)
STATES = st.tuples(st.text(), st.integers(0, 9), st.text())
State = tuple[str, int, str]
PathOf = Callable[[CheckpointId, paths.Writer, str], str]


def test_files_of_different_attempts_never_share_a_name() -> None:
    assert paths.keyed_state(ONE, MINE, "keyed") != paths.keyed_state(ONE, paths.Writer(Attempt(2), "op", 0), "keyed")
    assert not paths.is_of_attempt(paths.keyed_state(ONE, paths.Writer(Attempt(11), "op", 0), "keyed"), FIRST)
    assert paths.is_of_attempt(paths.list_state(ONE, MINE, "offsets"), FIRST)


@given(st.text(), st.text())
def test_a_list_state_never_has_the_name_of_a_file_of_keyed_state(listed: str, keyed: str) -> None:
    assert paths.list_state(ONE, MINE, listed) != paths.keyed_state(ONE, MINE, keyed)


@pytest.mark.parametrize("path_of", [paths.list_state, paths.keyed_state, paths.shared_state])
@given(STATES, STATES)
def test_different_states_never_share_a_name(path_of: PathOf, one: State, other: State) -> None:
    names = {path_of(ONE, paths.Writer(FIRST, uid, subtask), name) for uid, subtask, name in {one, other}}
    assert len(names) == len({one, other})


@given(st.text(min_size=200), st.text(min_size=200))
@pytest.mark.slow
def test_long_names_stay_short_enough_for_a_file_system(uid: str, name: str) -> None:
    assert len(paths.list_state(ONE, paths.Writer(FIRST, uid, 32_767), name)) < 255


def test_the_checkpoint_of_a_path_is_read_from_its_folder_only() -> None:
    assert paths.checkpoint_of(paths.metadata(CheckpointId(12))) == 12
    assert paths.checkpoint_of("chk-12") == 12
    assert paths.checkpoint_of("chk-012/a") is None
    assert paths.checkpoint_of("x/chk-1/a") is None


@given(STATES, st.integers(1, 10**6), st.integers(1, 10**6))
def test_the_origin_of_a_shared_file_is_read_from_its_name(state: State, number: int, attempt: int) -> None:
    uid, subtask, name = state
    writer = paths.Writer(Attempt(attempt), uid, subtask)
    shared = paths.origin_of(paths.shared_state(CheckpointId(number), writer, name))
    ahead = paths.origin_of(paths.ahead_state(number, writer, name))
    assert shared == paths.Origin(Attempt(attempt), writer.own(), CheckpointId(number), None)
    assert ahead == paths.Origin(Attempt(attempt), writer.own(), None, number)


@pytest.mark.parametrize("path", ["_result", "chk-1/_metadata", "chk-1/a1-op-0-x", "shared/x", "taskowned/1-a1-op-0-x"])
def test_other_files_have_no_origin(path: str) -> None:
    assert paths.origin_of(path) is None
