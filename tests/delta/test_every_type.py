"""Values of every type in a Delta table: each comes back, or its type is refused by name when the sink is made."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from deltalake import DeltaTable

from headgate.common import Types
from headgate.connectors.delta import DeltaSink
from headgate.errors import ProgramError
from headgate.types.arrow import rows_from_batch
from headgate.types.row import Row
from headgate.types.type_information import TypeInformation
from tests.delta.tables import JOB, Driver
from tests.unit.types.every_type import EVERY, NULL, plain

WITHOUT_A_TYPE = re.compile(r"\b(Time|Interval|Null)\b")
KINDS = [kind for kind in EVERY if not WITHOUT_A_TYPE.search(str(kind))]


def test_values_of_every_type_come_back(tmp_path: Path) -> None:
    names = [f"c{place}" for place in range(len(KINDS))]
    turns = range(max(len(EVERY[kind]) for kind in KINDS))
    rows = [Row(**dict.fromkeys(names))] + [
        Row(**{name: EVERY[kind][turn % len(EVERY[kind])] for name, kind in zip(names, KINDS, strict=True)})
        for turn in turns
    ]
    sink = DeltaSink(tmp_path, Types.ROW_NAMED(names, KINDS))
    sink.prepare(JOB)
    driver = Driver(sink=sink)
    driver.commit(1, driver.prepared(1, rows))
    [batch] = DeltaTable(tmp_path).to_pyarrow_table().combine_chunks().to_batches()
    found = rows_from_batch(batch)
    wrong = [
        (str(kind), want[name], got[name])
        for want, got in zip(rows, found, strict=True)
        for name, kind in zip(names, KINDS, strict=True)
        if plain(want[name]) != plain(got[name])
    ]
    assert wrong == []


@pytest.mark.parametrize("kind", [kind for kind in [*EVERY, NULL] if kind not in KINDS], ids=str)
def test_a_type_that_delta_does_not_have_is_refused_with_its_column(kind: TypeInformation, tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match=r"column 'c' has the type .*, which Delta Lake does not have"):
        DeltaSink(tmp_path, Types.ROW_NAMED(["c"], [kind]))
