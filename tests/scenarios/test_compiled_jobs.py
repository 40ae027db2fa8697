"""Jobs that run compiled go on in Python, and the other way round: nothing of the module leaves the process."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import cloudpickle
import pytest

from headgate.datastream import DataStream, StreamExecutionEnvironment
from tests.compiled import compiled_module
from tests.scenarios import ledger
from tests.scenarios.runs import FULL, ROCKSDB
from tests.scenarios.snapshots import COUNT, Kind, Slow, Snapshots

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
