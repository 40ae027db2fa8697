"""The demo's job agrees with its reference, and the demo fails when it has not shown what it is to show."""

from __future__ import annotations

import os
import random
from pathlib import Path

import demo
import pytest
from job import alerts
from reference import Alert, expected_alerts
from watch import DemoFailed, Sighting, kill
from witness import Note, Witness, notes

from headgate.common import Configuration, Row
from headgate.datastream import StreamExecutionEnvironment


def write_flights(path: Path, count: int) -> None:
    """Write made-up flights: few aircraft, so that streaks are frequent; some cancelled, some without an aircraft."""
    rng = random.Random(7)
    lines = ["year,month,day,carrier,flight,tailnum,dep_delay"]
    for number in range(count):
        tailnum = rng.choice(["N1", "N2", "N3", "NA"])
        delay = rng.choice(["NA", "-5", "0", "60", "61", "90", "200"])
        lines.append(f"2013,{rng.randint(1, 12)},{rng.randint(1, 28)},UA,{number},{tailnum},{delay}")
    path.write_text("\n".join(lines) + "\n")


def departed(path: Path) -> list[Row]:
    """Return the flights as the demo's DataFrame has them."""
    Flight = Row("day", "carrier", "flight", "tailnum", "dep_delay")
    rows = [line.split(",") for line in path.read_text().splitlines()[1:]]
    return [
        Flight(f"{year}-{int(month):02}-{int(day):02}", carrier, int(flight), tailnum, int(delay))
        for year, month, day, carrier, flight, tailnum, delay in rows
        if delay != "NA" and tailnum != "NA"
    ]


@pytest.mark.slow
def test_the_job_gives_the_alerts_of_the_reference(tmp_path: Path) -> None:
    path = tmp_path / "flights.csv"
    write_flights(path, 2_000)
    config = Configuration().set_string("headgate.deploy.target", "minicluster")
    env = StreamExecutionEnvironment.get_execution_environment(config).set_parallelism(2)
    with alerts(env.from_collection(departed(path))).execute_and_collect() as found:
        rows = sorted(Alert(*row) for row in found)
    expected = expected_alerts(path)
    assert len(expected) > 50
    assert rows == expected


def test_the_third_late_departure_in_a_row_raises_one_alert(tmp_path: Path) -> None:
    path = tmp_path / "flights.csv"
    delays = [61, 61, 60, 61, 61, 61, 61, 0, 61, 61, 61]
    lines = [f"2013,1,{day},UA,1,N1,{delay}" for day, delay in enumerate(delays, start=1)]
    path.write_text("\n".join(["year,month,day,carrier,flight,tailnum,dep_delay", *lines]) + "\n")
    assert [(alert.day, alert.departures) for alert in expected_alerts(path)] == [("2013-01-06", 6), ("2013-01-11", 11)]


def test_the_witness_counts_each_attempt_on_its_own(tmp_path: Path) -> None:
    class Attempt:
        def __init__(self, number: int) -> None:
            self.number = number

        def get_attempt_number(self) -> int:
            return self.number

    for attempt, records in enumerate([5, 3]):
        witness = Witness(tmp_path)
        witness.open(Attempt(attempt))  # type: ignore[arg-type]
        assert [witness.map(record) for record in range(records)] == list(range(records))
    assert [note.records for note in notes(tmp_path)] == [5, 3]
    assert all(isinstance(note, Note) and note.pid > 0 for note in notes(tmp_path))


def test_the_demo_fails_on_any_difference() -> None:
    one = Alert("N1", "2013-01-03", "UA", 1, 61, 3, 61.0)
    other = one._replace(mean_delay=61.5)
    for found in ([], [other], [one, one]):
        with pytest.raises(DemoFailed):
            demo.compare(found, [one])
    demo.compare([one], [one])


def test_the_demo_fails_if_nothing_was_killed_or_nothing_read_again() -> None:
    killed = Sighting(killed_pid=4711, checkpoints_before=3)
    for sighting, replayed in ((Sighting(), 5), (Sighting(killed_pid=4711, checkpoints_before=2), 5), (killed, 0)):
        with pytest.raises(DemoFailed):
            demo.check_faults(sighting, replayed)
    demo.check_faults(killed, 1)


def test_a_job_in_the_demos_own_process_is_not_killed() -> None:
    with pytest.raises(DemoFailed, match="no worker to kill"):
        kill(Note(os.getpid(), 1), 3, Sighting())
