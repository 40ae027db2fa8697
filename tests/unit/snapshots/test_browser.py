"""The browser of a snapshot: what it shows of savepoints, page by page and key by key, and when it stops."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from headgate.errors import DamagedFileError, RestoreError
from headgate.savepoints import SavepointWriter
from headgate.snapshots import pieces, rows
from headgate.snapshots.browser import SnapshotBrowser
from headgate.snapshots.key_text import KeyText
from headgate.snapshots.rows import RowPage, RowQuery
from headgate.state.descriptors import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from headgate.types.row import Row
from headgate.types.typeinfo import Types

VISITS = ValueStateDescriptor("visits", Types.LONG())
PAGES = MapStateDescriptor("pages", Types.STRING(), Types.TUPLE([Types.LONG(), Types.STRING()]))
PLACES = ValueStateDescriptor("places", Types.PICKLED_BYTE_ARRAY())
OFFSETS = ListStateDescriptor("offsets", Types.LONG())
RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())
KEYS = {f"key {n}": n for n in range(3000)}


@dataclass(frozen=True)
class Place:
    x: int


@pytest.fixture
def location(tmp_path: Path) -> str:
    return (
        SavepointWriter.new(128, parallelism=3)
        .with_keyed_state("count", VISITS, KEYS)
        .with_keyed_state("count", PAGES, {"ann": {"/": (2, "x")}})
        .with_keyed_state("places", PLACES, {Place(1): "a", Place(2): {"b": [1]}})
        .with_keyed_state("rows", VISITS, {Row(name="ann", id=1): 1, Row(name="eve", id=2): 2})
        .with_list_state("source", OFFSETS, [7, 8, 9])
        .with_broadcast_state("rules", RULES, {"max": 5, "min": 1})
        .write(str(tmp_path / "savepoint"))
    )


@pytest.fixture
def browser(location: str) -> Iterator[SnapshotBrowser]:
    with SnapshotBrowser(location, {}) as found:
        yield found


def soon() -> float:
    return time.monotonic() * 1000 + 60_000


def page_of(browser: SnapshotBrowser, uid: str, name: str, key: str | None = None, **query: Any) -> RowPage:
    wanted = {"until_ms": soon(), **query}
    return browser.rows(uid, name, RowQuery(key=None if key is None else KeyText(key), **wanted))


def test_operators_are_listed_with_their_states(browser: SnapshotBrowser) -> None:
    found = {operator.uid: operator for operator in browser.operators(soon())}
    assert set(found) == {"count", "places", "rows", "source", "rules"}
    states = {(uid, each.name): each for uid, operator in found.items() for each in operator.states}
    assert set(states) == {
        *(("count", "visits"), ("count", "pages"), ("places", "places"), ("rows", "visits")),
        *(("source", "offsets"), ("rules", "rules")),
    }
    visits, offsets = states["count", "visits"], states["source", "offsets"]
    assert (visits.kind, visits.type, visits.entries, visits.is_counted) == ("value", "Long", 3000, True)
    assert (offsets.kind, offsets.entries) == ("split", None)
    assert found["count"].parallelism == 3
    assert found["count"].size_bytes > 3000


def test_states_with_files_of_their_own_have_the_size_of_these(browser: SnapshotBrowser, location: str) -> None:
    (count,) = browser.operators(soon(), {"count"})
    assert [(state.name, state.is_exact) for state in count.states] == [("pages", True), ("visits", True)]
    files = Path(location).glob("*-count-*-visits.parquet")
    assert count.states[1].size_bytes == sum(path.stat().st_size for path in files)
    assert sum(state.size_bytes or 0 for state in count.states) == count.size_bytes


@pytest.mark.slow
def test_pages_together_are_the_state(browser: SnapshotBrowser) -> None:
    found: dict[str, str] = {}
    for offset in range(0, 3000, 200):
        page = page_of(browser, "count", "visits", offset=offset, limit=200)
        assert len(page.rows) == 200
        assert page.more == (offset < 2800)
        assert page.is_complete != page.more
        found |= {row.key or "": row.value for row in page.rows}
    assert found == {repr(key): str(value) for key, value in KEYS.items()}
    assert page.groups_read == page.groups == 128


def test_a_key_is_found_in_its_key_group_without_reading_the_others(browser: SnapshotBrowser) -> None:
    page = page_of(browser, "count", "visits", "key 1234")
    assert [(row.key, row.value) for row in page.rows] == [("'key 1234'", "1234")]
    assert (page.is_complete, page.more) == (True, False)
    assert page.entries_read < 200


def test_a_key_that_is_not_there_is_soon_known_not_to_be(browser: SnapshotBrowser) -> None:
    page = page_of(browser, "count", "visits", "key 99999")
    assert (page.rows, page.is_complete) == ([], True)
    assert page.entries_read < 200


def test_keys_whose_text_tells_nothing_of_their_place_are_looked_for_everywhere(browser: SnapshotBrowser) -> None:
    assert [row.value for row in page_of(browser, "places", "places", "Place(x=2)").rows] == ["{'b': [1]}"]
    assert [row.value for row in page_of(browser, "rows", "visits", '{"name": "eve", "id": 2}').rows] == ["2"]
    missing = page_of(browser, "places", "places", "Place(x=3)")
    assert (missing.rows, missing.entries_read, missing.is_complete) == ([], 2, True)


def test_a_search_says_how_much_it_has_read_when_time_is_up(
    browser: SnapshotBrowser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "_ENTRIES_AT_ONCE", 16)
    page = page_of(browser, "count", "visits", until_ms=0.0)
    assert (page.is_complete, page.entries_read) == (False, 16)
    assert len(page.rows) == 16


def test_list_and_broadcast_states_are_rows(browser: SnapshotBrowser) -> None:
    offsets = page_of(browser, "source", "offsets")
    assert sorted(row.value for row in offsets.rows) == ["7", "8", "9"]
    assert offsets.kind == "split"
    assert [row.value for row in page_of(browser, "source", "offsets", limit=2, offset=2).rows] == ["9"]
    assert [(row.key, row.value) for row in page_of(browser, "rules", "rules", "max").rows] == [("'max'", "5")]
    assert len(page_of(browser, "rules", "rules").rows) == 2


def test_long_values_are_cut_and_a_page_has_a_bounded_size(tmp_path: Path) -> None:
    text = ValueStateDescriptor("text", Types.STRING())
    location = (
        SavepointWriter.new(128)
        .with_keyed_state("a", text, dict.fromkeys(range(150), "x" * 10**5))
        .write(str(tmp_path))
    )
    with SnapshotBrowser(location, {}) as browser:
        page = page_of(browser, "a", "text", limit=200)
    assert page.more
    assert {len(row.value) for row in page.rows} == {rows.CELL_CHARACTERS_MAX}
    assert 50 < len(page.rows) <= 100


def test_what_is_not_there_is_named_with_what_is(browser: SnapshotBrowser) -> None:
    with pytest.raises(LookupError, match=r"no operator of uid 'x'.*count"):
        page_of(browser, "x", "visits")
    with pytest.raises(LookupError, match=r"no values of a state 'x'.*pages, visits"):
        page_of(browser, "count", "x")


def test_a_subtask_with_too_much_state_is_not_read(browser: SnapshotBrowser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "SUBTASK_BYTES_MAX", 10)
    with pytest.raises(pieces.StateTooLargeError, match=r"subtask 0 .* ask Spark SQL"):
        page_of(browser, "count", "visits")
    troubles = {operator.uid: operator.trouble for operator in browser.operators(soon())}
    assert "ask Spark SQL" in (troubles["count"] or "")
    assert troubles["source"] is None


def test_objects_of_a_class_that_is_not_here_have_stand_ins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = type("Gone", (), {"__module__": __name__})
    monkeypatch.setitem(globals(), "Gone", gone)
    writer = SavepointWriter.new(128).with_keyed_state("a", PLACES, {1: gone(), 2: [gone()], 3: "here"})
    location = writer.with_list_state("b", ListStateDescriptor("b", Types.PICKLED_BYTE_ARRAY()), [gone(), 5]).write(
        str(tmp_path)
    )
    monkeypatch.delitem(globals(), "Gone")
    with SnapshotBrowser(location, {}) as browser:
        found = {row.key: row.value for row in page_of(browser, "a", "places").rows}
        elements = [row.value for row in page_of(browser, "b", "b").rows]
    name = f"(pickled {__name__}.Gone)"
    assert found == {"1": name, "2": f"[{name}]", "3": "'here'"}
    assert elements[0].startswith("(pickled")
    assert elements[1] == "5"


def test_damage_is_told(location: str) -> None:
    for path in Path(location).glob("*visits*"):
        data = bytearray(path.read_bytes())
        data[100] ^= 1
        path.write_bytes(data)
    with SnapshotBrowser(location, {}) as browser, pytest.raises(DamagedFileError, match="visits"):
        page_of(browser, "count", "visits")


def test_a_place_without_a_snapshot_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RestoreError, match="there is no snapshot"):
        SnapshotBrowser(str(tmp_path), {})


def test_temporary_files_are_gone_afterwards(location: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    with SnapshotBrowser(location, {}) as browser:
        page_of(browser, "count", "visits")
    assert list(scratch.iterdir()) == []
