"""Takes many histories and checks them: `python -m tests.kafka.histories --histories 1000 --jobs 4 --out FILE`.

With `--results FILE` a long run can be taken in pieces: each adds its results to the file, and the report is of all.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import shutil
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from headgate.testing.servers.kafka_cluster import KafkaCluster
from headgate.testing.servers.kafka_download import KAFKA_VERSION
from tests.kafka.histories.course import FAULTS, Stage
from tests.kafka.histories.history import History, take
from tests.kafka.histories.wire import Wire

# Topics are not deleted: a broker that is killed meanwhile may not start again with what is left of one.
_PER_CLUSTER: Final = 100


@contextmanager
def stage(folder: Path) -> Iterator[Stage]:
    """Yield a cluster of three brokers, with a wire in front of it."""
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(["tests.kafka.histories.job"])
    with KafkaCluster(folder / "kafka") as cluster, Wire(cluster.ports) as wire:
        on = Stage(cluster=cluster, wire=wire, folder=folder, processes=processes)
        yield on
        with on.ruined:
            pass  # a broker that is being started again


def taken(on: Stage, number: int, seed: int) -> History:
    """Return a history; whatever goes wrong with taking it is a problem of it."""
    try:
        history = take(on, number, seed + number)
    except Exception:  # noqa: BLE001
        fault = list(FAULTS)[number % len(FAULTS)]
        said = [traceback.format_exc()]
        return History(
            number=number, fault=fault, faults=0, drivers=0, transactions=0, seen=0, is_lost=False, problems=said
        )
    if history.is_lawful:
        shutil.rmtree(on.folder / f"history-{number}")
    return history


def as_line(history: History) -> str:
    """Return a history as a line of the file of results."""
    return json.dumps({**asdict(history), "anomalies": [str(each) for each in history.anomalies]}) + "\n"


def report(histories: list[dict[str, Any]], kept: str) -> str:
    """Return what came of histories, given as the values of their lines. `kept` says how they were taken."""
    anomalies = Counter(each.split(":")[0] for history in histories for each in history["anomalies"])
    lines = [
        f"Kafka {KAFKA_VERSION}, three brokers; {len(histories)} histories; {kept}",
        f"transactions {_sum(histories, 'transactions'):,}; records seen {_sum(histories, 'seen'):,}; "
        f"drivers {_sum(histories, 'drivers'):,}",
        "anomalies: " + (", ".join(f"{kind} {count}" for kind, count in anomalies.items()) or "none"),
        f"histories with an anomaly: {sum(bool(each['anomalies']) for each in histories)}; "
        f"with another problem: {sum(bool(each['problems']) for each in histories)}",
        "",
        f"{'fault':48} histories  faults  jobs that reported lost output",
    ]
    for fault in FAULTS:
        some = [each for each in histories if each["fault"] == fault]
        lines.append(f"{fault:48} {len(some):9}  {_sum(some, 'faults'):6}  {_sum(some, 'is_lost'):30}")
    return "\n".join(lines) + "\n"


def _sum(histories: list[dict[str, Any]], name: str) -> int:
    return sum(int(each[name]) for each in histories)


def _on_a_cluster(folder: Path, numbers: Iterable[int], given: argparse.Namespace) -> Iterator[History]:
    """Yield the histories of these numbers, taken on a cluster of their own, and leave no data of brokers."""
    folder.mkdir()
    with stage(folder) as on, ThreadPoolExecutor(given.jobs) as pool:
        yield from pool.map(lambda number: taken(on, number, given.seed), numbers)
    for data in (folder / "kafka").glob("*/data"):
        shutil.rmtree(data)


def main() -> int:
    """Take histories and print what came of them. Return 1 if anything is wrong with any."""
    parser = argparse.ArgumentParser(prog="python -m tests.kafka.histories", description=__doc__)
    parser.add_argument("--histories", type=int, default=1000, help="how many")
    parser.add_argument("--first", type=int, default=0, help="the number of the first")
    parser.add_argument("--jobs", type=int, default=4, help="how many at a time")
    parser.add_argument("--seed", type=int, default=1, help="of a history, less its number")
    parser.add_argument("--results", type=Path, help="a file that results are added to")
    parser.add_argument("--out", type=Path, help="a file for the report")
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="kafka-histories-"))
    results: Path = given.results or folder / "results"
    numbers = range(given.first, given.first + given.histories)
    with results.open("a") as lines:
        for first in range(0, given.histories, _PER_CLUSTER):
            for history in _on_a_cluster(folder / str(first), numbers[first : first + _PER_CLUSTER], given):
                lines.write(as_line(history))
                lines.flush()
                if not history.is_lawful:
                    print(history, file=sys.stderr, flush=True)
    histories = [json.loads(line) for line in results.read_text().splitlines()]
    text = report(histories, f"{given.jobs} at a time; seed {given.seed}")
    print(text)
    if given.out is not None:
        given.out.write_text(text)
    if any(each["anomalies"] or each["problems"] for each in histories):
        print(f"the brokers' logs and the journals are in {folder}")
        return 1
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
