"""Chaos on a standalone Spark: a job with three exchanges, whose processes are killed, or stopped and continued.

    python -m tests.cluster.chaos --minutes 10 --out docs/results/chaos-10min.txt

starts a master and three workers, runs the job, and every few seconds does something to one of its Python workers or
executors. In the end what the sink has made final must be each record once, with exact counts, and nothing may be left
of the job: no process, no listening port, no file but its result.

Spark has to notice a frozen executor before it hosts the job elsewhere, so its timeouts are short (`SPARK_CONF`).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import psutil
from pyspark.sql import SparkSession

from headgate.common import Configuration, Types
from headgate.connectors.datagen import DataGeneratorSource
from headgate.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from headgate.datastream.connectors.file_system import Encoder, FileSink
from headgate.datastream.state import ValueStateDescriptor
from headgate.testing.servers.spark import SparkCluster
from tests.cluster.conftest import make_session, stop

SLOTS: Final = 3
RECORDS_PER_S: Final = 900
PAUSE_S: Final = (2.0, 7.0)
"""Shortest and longest time between two faults."""

FREEZE_S: Final = (0.5, 9.0)
"""Shortest and longest time that a process is stopped for: some within the heartbeat's timeout, some beyond it."""

START_WITHIN_S: Final = 120.0
END_WITHIN_S: Final = 240.0
"""The job must have come to its end this long after the last fault."""

SPARK_CONF: Final[dict[str, bool | float | int | str | None]] = {
    "spark.network.timeout": "8s",
    "spark.network.timeoutInterval": "2s",
    "spark.storage.blockManagerHeartbeatTimeoutMs": "8000",
    "spark.executor.heartbeatInterval": "2s",
    "spark.python.task.killTimeout": "100ms",
    "spark.executor.memory": "512m",
    "spark.executor.cores": "2",
    "spark.excludeOnFailure.enabled": "false",
    "spark.ui.enabled": "false",
}
SETTINGS: Final = {
    "execution.checkpointing.interval": "300 ms",
    "execution.checkpointing.timeout": "20 s",
    "execution.checkpointing.unaligned.enabled": "true",
    "execution.checkpointing.aligned-checkpoint-timeout": "50 ms",
    "execution.checkpointing.tolerable-failed-checkpoints": "1000",
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.delay": "100 ms",
    "restart-strategy.fixed-delay.attempts": "100000",
    "headgate.slot.heartbeat.interval": "500 ms",
    "headgate.slot.heartbeat.timeout": "4 s",
    "headgate.slot.teardown-timeout": "4 s",
    "headgate.slot.start-timeout": "90 s",
}


class Nth(KeyedProcessFunction):
    """Adds to each tuple how many of its key have come so far."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.LONG()))

    def process_element(self, value: tuple[int, ...], ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        seen = (self._seen.value() or 0) + 1
        self._seen.update(seen)
        yield (*value, seen)


def submit(spark: SparkSession, folder: Path, records: int, settings: dict[str, str]) -> Any:
    """Start the job: numbers, in turn to all; counted by one key; counted by another; in turn to the sinks."""
    configuration = {**SETTINGS, "execution.checkpointing.dir": str(folder / "checkpoints"), **settings}
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(configuration), spark)
    env.set_parallelism(SLOTS)
    source = DataGeneratorSource(lambda index: (index,), records, RECORDS_PER_S)
    counted = (
        env.from_source(source, None, "numbers")
        .key_by(lambda value: value[0] % 97)
        .process(Nth())
        .key_by(lambda value: value[0] % 13)
        .process(Nth())
        .rebalance()
        .map(list)
    )
    counted.sink_to(FileSink.for_row_format(str(folder / "out"), Encoder.json_lines_encoder()).build())
    return env.submit("chaos")


def differences(folder: Path, records: int) -> list[str]:
    """Return what the final output has too much of or too little."""
    lines = [json.loads(line) for path in final_files(folder) for line in path.read_text().splitlines()]
    found: dict[str, Counter[Any]] = {
        "records": Counter(number for number, _, _ in lines),
        "counts by the first key": Counter((number % 97, nth) for number, nth, _ in lines),
        "counts by the second key": Counter((number % 13, nth) for number, _, nth in lines),
    }
    expected: dict[str, Counter[Any]] = {
        "records": Counter(range(records)),
        "counts by the first key": counts(records, 97),
        "counts by the second key": counts(records, 13),
    }
    return [
        f"{what}: {len(expected[what] - got)} missing, {len(got - expected[what])} too many"
        for what, got in found.items()
        if got != expected[what]
    ]


def counts(records: int, keys: int) -> Counter[tuple[int, int]]:
    return Counter((key, nth + 1) for key in range(keys) for nth in range(len(range(key, records, keys))))


def final_files(folder: Path) -> list[Path]:
    """Return the finished part files of the sink."""
    return [
        path for path in sorted((folder / "out").rglob("*")) if path.is_file() and not path.name.startswith((".", "_"))
    ]


@dataclass(slots=True)
class Chaos:
    """What is done to the processes of a cluster, by a thread, until it is told to end."""

    cluster: SparkCluster
    rng: random.Random
    done: list[str] = field(default_factory=list)
    began_s: float = field(default_factory=time.monotonic)

    def strike(self) -> None:
        """Do one thing to one process; one that is gone meanwhile is no matter."""
        kind = self.rng.choice(("kill worker", "kill worker", "kill executor", "stop worker", "stop executor"))
        victims = self.cluster.executors() if kind.endswith("executor") else self.cluster.python_workers()
        if not victims:
            return
        victim = self.rng.choice(victims)
        self.done.append(kind)
        print(f"{time.monotonic() - self.began_s:6.1f} s  {kind} {victim.pid}", file=sys.stderr, flush=True)
        try:
            if kind.startswith("kill"):
                victim.send_signal(signal.SIGKILL)
                return
            victim.send_signal(signal.SIGSTOP)
            time.sleep(self.rng.uniform(*FREEZE_S))
            victim.send_signal(signal.SIGCONT)
        except psutil.NoSuchProcess:
            pass

    def rage(self, until: threading.Event) -> None:
        while not until.wait(self.rng.uniform(*PAUSE_S)):
            self.strike()


@dataclass(frozen=True, slots=True)
class Report:
    """How a run has ended."""

    status: str
    seconds: float
    records: int
    faults: Counter[str]
    restarts: int
    wrong: list[str]
    left_over: list[str]

    @property
    def is_good(self) -> bool:
        return self.status == "finished" and not self.wrong and not self.left_over

    def text(self) -> str:
        lines = [
            f"{self.seconds:.0f} s of chaos on a standalone Spark master with three workers; job {self.status}",
            f"{self.records:,} records over three exchanges, {self.restarts} restarts",
            "faults: " + ", ".join(f"{kind} {count}" for kind, count in sorted(self.faults.items())),
            "output: " + ("; ".join(self.wrong) or "each record once, all counts exact"),
            "left over: " + ("; ".join(self.left_over) or "nothing"),
        ]
        return "\n".join(lines) + "\n"


def run(
    cluster: SparkCluster, session: SparkSession, folder: Path, seconds: float, seed: int, **settings: str
) -> Report:
    """Run the job for about `seconds` under faults, and see what comes of it. Blocks."""
    records = int(RECORDS_PER_S * seconds * 0.5)
    ports = listening()
    chaos = Chaos(cluster, random.Random(seed))
    began_s = time.monotonic()
    job = submit(session, folder, records, settings)
    wait_for_a_checkpoint(job)
    calm = threading.Event()
    thread = threading.Thread(target=chaos.rage, args=(calm,), daemon=True)
    thread.start()
    outcome = job.wait(seconds)
    calm.set()
    thread.join()
    outcome = outcome or job.wait(END_WITHIN_S)
    status = "not finished" if outcome is None else outcome.status.word
    if outcome is None:
        job.cancel()
        job.wait(120.0)
    elif outcome.cause:
        status = f"{status}: {outcome.cause}"
    return Report(
        status=status,
        seconds=time.monotonic() - began_s,
        records=records,
        faults=Counter(chaos.done),
        restarts=job.progress.restarts,
        wrong=differences(folder, records),
        left_over=left_over(chaos, folder, ports),
    )


def wait_for_a_checkpoint(job: Any) -> None:
    """Block until the job runs: a cluster that cannot start it at all is no matter of chaos, and fails it at once."""
    due_s = time.monotonic() + START_WITHIN_S
    while not job.progress.checkpoints:
        if time.monotonic() > due_s or job.wait(0.1) is not None:
            raise RuntimeError(f"the job did not begin: {job.wait(0.0)}")


def listening() -> set[int]:
    """Return the ports that this process listens on."""
    own = psutil.Process()
    return {each.laddr.port for each in own.net_connections("tcp") if each.status == psutil.CONN_LISTEN}


def left_over(chaos: Chaos, folder: Path, ports: set[int]) -> list[str]:
    """Return what the job has left behind, once what Spark ends by itself has had its time."""
    due_s = time.monotonic() + 120.0
    while (found := _left_over(chaos, folder, ports)) and time.monotonic() < due_s:
        time.sleep(0.5)
    return found


def _left_over(chaos: Chaos, folder: Path, ports: set[int]) -> list[str]:
    found = [f"port {port}" for port in listening() - ports]
    for worker in chaos.cluster.python_workers():
        try:
            busy = any(each.status == psutil.CONN_LISTEN for each in worker.net_connections("tcp"))
        except psutil.Error:
            continue
        if busy:
            found.append(f"slot process {worker.pid} still listens")
    kept = {path.name for path in (folder / "checkpoints").rglob("*") if path.is_file()}
    found += [f"file {name}" for name in sorted(kept) if name != "_result"]
    hidden = [path for path in (folder / "out").rglob("*") if path.is_file() and path.name.startswith((".", "_"))]
    return found + [f"file {path.name} of the sink" for path in hidden]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--out", type=Path, help="where to write the report")
    parser.add_argument("-D", dest="settings", action="append", default=[], metavar="KEY=VALUE")
    options = parser.parse_args()
    settings = dict(pair.split("=", 1) for pair in options.settings)
    os.environ["PYTHONPATH"] = os.getcwd()
    with tempfile.TemporaryDirectory(prefix="headgate-chaos-") as name:
        folder = Path(name)
        (folder / "cluster").mkdir()
        with SparkCluster(folder / "cluster", workers=3) as cluster:
            conf = {**SPARK_CONF, "spark.master": cluster.url, "spark.executorEnv.PYTHONPATH": os.getcwd()}
            session = make_session(conf, folder)
            report = run(cluster, session, folder, options.minutes * 60.0, options.seed, **settings)
            stop(session)
    text = f"seed {options.seed}\n{report.text()}"
    print(text)
    if options.out is not None:
        options.out.write_text(text)
    return 0 if report.is_good else 1


if __name__ == "__main__":
    sys.exit(main())
