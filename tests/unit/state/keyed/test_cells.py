"""The cell index: cells are found in pieces, and keys that go leave no memory behind."""

from __future__ import annotations

import pytest

from headgate.state.keyed.cells import CHUNK_CELLS, GENERATION, GROUP, KEY, Cell, CellIndex
from tests.unit.state.backends import at, backend_of, contents, put, restored, saved, value_state


def cell(key: int, group: int = 0) -> Cell:
    return [0, 0, group, key]


def listed(index: CellIndex) -> int:
    return sum(len(chunk) for _, chunk in index.chunks())


def test_cells_are_listed_by_group_in_chunks_of_bounded_size() -> None:
    index = CellIndex()
    for key in range(5000):
        index.add(cell(key, key % 3))
    assert {each[KEY] for each in index.cells()} == set(range(5000))
    for group, chunk in index.chunks():
        assert len(chunk) <= CHUNK_CELLS
        assert all(each[GROUP] == group for each in chunk)


def test_a_buried_cell_is_not_listed_as_live() -> None:
    index = CellIndex()
    kept, gone = cell(1), cell(2)
    index.add(kept)
    index.add(gone)
    index.bury(gone)
    assert (index.live, index.cells()) == (1, [kept])
    assert gone[GENERATION] > 10**9


@pytest.mark.parametrize(
    ("per_batch", "batches"), [(10, 2000), (1024, 400), pytest.param(10_000, 80, marks=pytest.mark.soak)]
)
@pytest.mark.slow
def test_keys_that_come_and_go_for_ever_need_bounded_memory(per_batch: int, batches: int) -> None:
    index = CellIndex()
    peaks: list[int] = []
    for batch in range(batches):
        cells = [cell(key, key % 128) for key in range(batch * per_batch, (batch + 1) * per_batch)]
        for each in cells:
            index.add(each)
        for each in cells:
            index.bury(each)
        index.tidy()
        peaks.append(listed(index))
    half = len(peaks) // 2
    assert max(peaks[half:]) <= 1.1 * max(peaks[:half]) + CHUNK_CELLS
    assert max(peaks) <= 40 * max(per_batch, CHUNK_CELLS)


def test_when_most_keys_are_gone_their_room_is_given_back_as_batches_go_on() -> None:
    backend = backend_of()
    state = value_state(backend)
    for key in range(20_000):
        put(backend, state, key, key)
    with at(backend):
        pass
    for key in range(19_990):
        put(backend, state, key, None)
    for _ in range(1000):
        with at(backend, 19_999):
            pass
    assert listed(backend._cell_index) <= 2 * CHUNK_CELLS
    assert contents(restored(saved(backend))) == {key: key for key in range(19_990, 20_000)}


def test_cleared_chunks_are_used_again() -> None:
    index = CellIndex()
    for round_ in range(20):
        cells = [cell(key) for key in range(3000)]
        for each in cells:
            index.add(each)
        for each in cells:
            index.bury(each)
        for _ in range(100):
            index.tidy()
        assert len(index.chunks()) <= 8, round_
