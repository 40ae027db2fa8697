"""Jobs that run compiled go on in Python, and the other way round: nothing of the module leaves the process."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import cloudpickle
import pytest

from headgate.datastream import DataStream, StreamExecutionEnvironment
from headgate.runtime.control.messages import RegisterSlot
from headgate.runtime.master.job_master import JobMaster
from headgate.runtime.master.services import SlotLink
from headgate.types.typed_batches import is_typed
from tests.compiled import compiled_module
from tests.scenarios import ledger
from tests.scenarios.runs import FULL, ROCKSDB
from tests.scenarios.snapshots import COUNT, Kind, Slow, Snapshots, manifest_at

ON, OFF = {"headgate.native": "on"}, {"headgate.native": "off"}


def itself(value: int) -> int:
    return value


def program(env: StreamExecutionEnvironment) -> DataStream:
    """Return the entries of a ledger, which has state of each kind."""
    numbers = ledger.numbers(env, COUNT, COUNT).map(itself).flat_map(lambda value: [value])
    return numbers.key_by(ledger.key_of).process(Slow()).uid("ledger")


@pytest.mark.parametrize("backend", [FULL, pytest.param(ROCKSDB, marks=pytest.mark.slow)], ids=["hashmap", "rocksdb"])
@pytest.mark.parametrize("kind", [Kind.UNALIGNED, Kind.CANONICAL], ids=lambda kind: kind.value)
def test_a_snapshot_of_either_path_is_restored_by_the_other(
    kind: Kind, backend: dict[str, str], tmp_path: Path
) -> None:
    compiled_module()
    jobs = Snapshots(tmp_path)
    jobs.goes_on(jobs.take(kind, program, {**backend, **ON}), program, settings={**backend, **OFF})
    jobs.goes_on(jobs.take(kind, program, {**backend, **OFF}), program, settings={**backend, **ON})


@pytest.mark.parametrize(
    ("slots", "settings", "typed"),
    [
        (["compiled", "compiled"], ON, True),
        (["compiled", "Python (headgate._native is not built)"], {}, False),
        (["compiled", "compiled"], OFF, False),
    ],
    ids=["all compiled", "one without the module", "off"],
)
def test_slots_send_typed_batches_if_all_have_the_module(
    slots: list[str], settings: dict[str, str], typed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled_module()
    register = JobMaster.register

    def told(self: JobMaster, message: RegisterSlot, link: SlotLink) -> None:
        register(self, replace(message, environment={"native": slots[message.slot]}), link)

    monkeypatch.setattr(JobMaster, "register", told)
    jobs = Snapshots(tmp_path)
    location = jobs.take(Kind.UNALIGNED, program, {**FULL, **settings})
    files = [path.read_bytes() for path in tmp_path.rglob("*-flight-*")]
    payloads = [payload for data in files for payload in pickle.loads(data)]  # noqa: S301  # our own
    assert payloads
    assert any(map(is_typed, payloads)) == typed
    assert any(part.typed for part in manifest_at(location).in_flight) == typed
    jobs.goes_on(location, program, settings={**FULL, **settings})


def test_no_graph_frame_or_snapshot_names_the_compiled_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled_module()
    pickled: list[bytes] = []
    for module in (pickle, cloudpickle):

        def dumps(value: Any, *args: Any, real: Any = module.dumps, **options: Any) -> bytes:
            pickled.append(real(value, *args, **options))
            return pickled[-1]

        monkeypatch.setattr(module, "dumps", dumps)
    Snapshots(tmp_path).take(Kind.UNALIGNED, program, ON)
    files = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert any(b"Slow" in each for each in pickled), "the graph"
    assert len(pickled) > 20, "the graph, messages and frames"
    assert any(b"extent" in each for each in files), "a snapshot"
    assert not [each for each in [*pickled, *files] if b"_native" in each]
