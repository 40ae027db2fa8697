"""A kind of state is added by one file and one row, and every backend keeps it then as it keeps all others.

`set_state` is the file. The row is what `added` puts into the table; nothing else of headgate knows of the kind.
"""

from __future__ import annotations

from random import Random
from typing import Any, final

import pytest

from headgate.errors import RestoreError
from headgate.options import resolve
from headgate.savepoints import SavepointReader, SavepointWriter
from headgate.state.backend import open_backend
from headgate.state.descriptors import KINDS
from headgate.state.formats.schema import StateMeta
from headgate.types.typeinfo import Types
from tests.contract.backends import keyed_states
from tests.contract.backends.backend import check_against_model
from tests.contract.backends.backend_scenarios import (
    check_a_time_to_live_that_comes_and_goes,
    check_full_snapshots_leave_out_what_has_expired,
)
from tests.contract.backends.keyed_job import BackendUnderTest
from tests.contract.backends.keyed_model import MapModel
from tests.contract.backends.keyed_states import KindUnderTest
from tests.sample_size import sample_size
from tests.unit.state.kinds.set_state import SET, SetStateDescriptor

SETTINGS: dict[str, dict[str, Any]] = {
    "hash map, whole": {},
    "hash map, incremental": {"execution.checkpointing.incremental": True},
    "hash map, changelog": {"state.changelog.enabled": True, "headgate.changelog.cut-interval": "1 ms"},
    "rocksdb, whole": {"state.backend.type": "rocksdb", "headgate.rocksdb.cache-size": "1 kb"},
    "rocksdb, incremental": {"state.backend.type": "rocksdb", "execution.checkpointing.incremental": True},
    "rocksdb, changelog": {
        "state.backend.type": "rocksdb",
        "headgate.rocksdb.cache-size": "1 kb",
        "state.changelog.enabled": True,
        "headgate.changelog.cut-interval": "1 ms",
    },
}


@final
class SetModel(MapModel):
    """What a set must do, as a map of which only the keys show."""

    def add(self, element: str) -> None:
        self.put(element, True)

    def discard(self, element: str) -> None:
        self.remove(element)

    def elements(self) -> set[str]:
        return set(self.keys())

    def _merged(self, target: Any, rows: list[Any]) -> Any:
        united = dict(target or {})
        for row in rows:
            for element, stamped in row.items():
                united[element] = max(stamped, united.get(element, stamped))
        return united


def _element(random: Random) -> tuple[str]:
    return (random.choice(("a", "b", "c", "")),)


SET_UNDER_TEST = KindUnderTest(
    make=lambda name: SetStateDescriptor(name, Types.STRING()),
    changes={
        "add": _element,
        "discard": _element,
        "contains": _element,
        "elements": lambda random: (),
        "clear": lambda random: (),
    },
    write=("add", ("a",)),
    read="elements",
    model=SetModel,
    merges=True,
)


@pytest.fixture(autouse=True)
def added(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KINDS, "set", SET)


def under_test(variant: str) -> BackendUnderTest:
    kinds = {"value": keyed_states.KINDS["value"], "set": SET_UNDER_TEST}
    return BackendUnderTest(open=open_backend, settings=resolve(SETTINGS[variant]), kinds=kinds)


@pytest.mark.parametrize(
    "variant",
    [pytest.param(each, marks=pytest.mark.soak if each == "rocksdb, incremental" else ()) for each in SETTINGS],
)
@pytest.mark.slow
def test_a_new_kind_agrees_with_its_model_whatever_happens(variant: str) -> None:
    """Batches, time to live, namespaces that merge, checkpoints, savepoints of both forms, at any parallelism."""
    check_against_model(under_test(variant), max_examples=sample_size(10))


@pytest.mark.slow
@pytest.mark.parametrize("variant", SETTINGS)
def test_a_new_kind_gets_and_loses_its_time_to_live(variant: str) -> None:
    check_a_time_to_live_that_comes_and_goes(under_test(variant))


@pytest.mark.parametrize("variant", [variant for variant in SETTINGS if "rocksdb" not in variant or "whole" in variant])
def test_full_snapshots_leave_out_what_has_expired_of_a_new_kind(variant: str) -> None:
    check_full_snapshots_leave_out_what_has_expired(under_test(variant))


@pytest.mark.parametrize("has_ttl", [False, True], ids=["for ever", "with a time to live"])
def test_a_new_kind_is_a_table_of_a_savepoint(tmp_path: Any, has_ttl: bool) -> None:
    descriptor = SET_UNDER_TEST.descriptor("pages", keyed_states.ttl_config().build() if has_ttl else None)
    data = {"ann": {"home": True, "cart": True}, "bob": {"home": True}}
    path = (
        SavepointWriter.new(128, parallelism=4)
        .with_keyed_state("visits", descriptor, data)
        .write(str(tmp_path / "savepoint"))
    )
    with SavepointReader.read(path) as reader:
        (info,) = reader.states("visits")
        assert (info.kind, info.entries, info.has_time_to_live) == ("set", 2, has_ttl)
        found = {entry.key: entry.value for entry in reader.entries("visits", "pages")}
    assert found == data


def test_a_kind_that_this_release_does_not_know_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    description = StateMeta("pages", "set", Types.MAP(Types.STRING(), Types.BOOLEAN())).to_json()
    monkeypatch.delitem(KINDS, "set")
    with pytest.raises(RestoreError, match="'pages' is of kind 'set', which this headgate does not know; restore with"):
        StateMeta.from_json(description)
