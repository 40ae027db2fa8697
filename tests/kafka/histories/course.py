"""The course of one history: its drivers, and what happens to them, to brokers and on the wire at commits."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path
from random import Random
from typing import Final, final

from headgate.testing.servers.kafka_cluster import KafkaCluster
from tests.kafka.histories.job import Drive, drive
from tests.kafka.histories.wire import Delay, EndTxn, Late, LoseAnswer, LoseRequest, Treatment, Wire

TIMEOUT_MS: Final = 60_000
EXPIRING_MS: Final = 2_000
DOWN_S: Final = 4.0
"""How long the driver is down, and the brokers abort its transactions meanwhile."""
_LATE_S: Final = 1.0
_ODDS: Final = 0.4
_ALL_RUN_S: Final = 5.0
_LEAD_S: Final = 1.0
"""How long leaders lead. A broker that leads for less may act on what the next leader never gets, in Kafka 4.3: it
sends the markers of a commit, and the next coordinator of the transaction aborts it."""
_TRANSACTIONS: Final = "__transaction_state"


@final
@dataclass(kw_only=True)
class Stage:
    """What many histories share. Of all brokers one at a time is `ruined`. Leaders were elected last at `elected_s`."""

    cluster: KafkaCluster
    wire: Wire
    folder: Path
    processes: ForkServerContext
    ruined: threading.Lock = field(default_factory=threading.Lock)
    elected_s: float = 0.0


@final
class Course:
    """Starts drivers one after the other until one ends, and does what its fault says at requests to commit."""

    def __init__(self, stage: Stage, given: Drive, random: Random, fault: Fault) -> None:
        self.stage = stage
        self.random = random
        self.drivers = 0
        self.faults = 0
        self.quiet_from_s = 0.0
        """When the last request arrives that is late."""
        self.zombie: ForkServerProcess | None = None
        self.problems: list[str] = []
        self.is_lost = False
        """Whether a driver has said that output is lost."""
        self._given = given
        self._fault = fault
        self._commits = 0
        self._strikes_at = random.randint(1, 4)
        """The commit at which something happens once."""
        self._due_s: float | None = 0.0
        self._driver: ForkServerProcess | None = None

    def treat(self, request: EndTxn) -> Treatment:
        """Decide on a request to end a transaction."""
        if not request.is_commit:
            return Delay()
        self._commits += 1
        treatment = self._fault(self, request)
        if treatment is None:
            return Delay()
        self.faults += 1
        return treatment

    @property
    def strikes(self) -> bool:
        """Whether this is the commit at which something happens once."""
        return self._commits == self._strikes_at

    def step(self) -> bool:
        """Start a driver if it is time, and look after those that have ended. Return whether the history goes on."""
        if self._due_s is not None and time.monotonic() >= self._due_s:
            self._due_s = None
            self._driver = self._started()
        if self._driver is not None and self._driver.exitcode is not None:
            ended, self._driver = self._driver, None
            if ended.exitcode == -signal.SIGKILL:
                self._due_s = time.monotonic() + self.down_s
            else:
                self._note_end(ended)
        if self.zombie is not None and self.zombie.exitcode is not None:
            self.zombie = None
        return self._driver is not None or self._due_s is not None or self.zombie is not None

    @property
    def down_s(self) -> float:
        """How long the job is without a driver after a kill."""
        return DOWN_S if self._given.timeout_ms == EXPIRING_MS else 0.0

    def _started(self) -> ForkServerProcess:
        self.drivers += 1
        process = self.stage.processes.Process(target=drive, args=(self._given,))
        process.start()
        return process

    def _note_end(self, ended: ForkServerProcess) -> None:
        failure = self._given.folder / f"failure-{ended.pid}"
        said = failure.read_text() if failure.exists() else ""
        if "can never be committed" in said:
            self.is_lost = True
        elif ended.exitcode != 0:
            self.problems.append(f"a driver ended with {ended.exitcode}: {said[:2000] or 'see the output'}")

    def kill_driver(self) -> None:
        """End the driver as a crash of its machine would."""
        if self._driver is not None and self._driver.pid is not None:
            os.kill(self._driver.pid, signal.SIGKILL)

    def freeze_driver(self, seconds: float) -> None:
        """Stop the driver, start the next one, and let the frozen one go on after some seconds."""
        frozen = self._driver
        if frozen is None or frozen.pid is None:
            return
        os.kill(frozen.pid, signal.SIGSTOP)
        self.zombie, self._driver, self._due_s = frozen, None, 0.0
        threading.Timer(seconds, _go_on, (frozen.pid,)).start()

    def kill_broker(self, broker: int, after_s: float) -> bool:
        """Kill a broker and start it again, if all run. Return whether it will be killed."""
        if not self.stage.ruined.acquire(blocking=False):
            return False
        threading.Thread(target=self._kill_broker, args=(broker, after_s)).start()
        return True

    def _kill_broker(self, broker: int, after_s: float) -> None:
        try:
            time.sleep(after_s)  # the moment relative to the request is what differs between histories
            self.stage.cluster.brokers[broker].kill()
            self.stage.cluster.brokers[broker].start()
        finally:
            self.stage.ruined.release()

    def elect_leaders(self) -> bool:
        """Give the job's topic and the coordinators of transactions other leaders, as soon as all brokers run.

        Return False if they do not within some seconds, or if leaders were elected a moment ago.
        """
        if not self.stage.ruined.acquire(timeout=_ALL_RUN_S):
            return False
        try:
            if time.monotonic() < self.stage.elected_s + _LEAD_S:
                return False
            self.stage.cluster.elect_leaders(_TRANSACTIONS, self._given.topic)
            self.stage.elected_s = time.monotonic()
        finally:
            self.stage.ruined.release()
        return True

    def close(self) -> None:
        """End the processes that are left."""
        for process in (self._driver, self.zombie):
            if process is not None:
                process.kill()
                process.join()


def _go_on(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)


Fault = Callable[[Course, EndTxn], Treatment | None]
"""What happens at a request to commit; None: nothing."""


def _one_of(course: Course, *treatments: Treatment) -> Treatment:
    return course.random.choice(treatments)


def _delayed(course: Course, _: EndTxn) -> Treatment | None:
    return Delay(course.random.uniform(0.0, 0.4))


def _late(course: Course, _: EndTxn) -> Treatment | None:
    if course.random.random() > _ODDS:
        return None
    seconds = course.random.uniform(0.1, _LATE_S)
    course.quiet_from_s = max(course.quiet_from_s, time.monotonic() + seconds)
    return Late(seconds)


def _request_lost(course: Course, _: EndTxn) -> Treatment | None:
    return LoseRequest() if course.random.random() < _ODDS else None


def _answer_lost(course: Course, _: EndTxn) -> Treatment | None:
    return LoseAnswer() if course.random.random() < _ODDS else None


def _driver_killed(course: Course, request: EndTxn) -> Treatment | None:
    if not course.strikes:
        return _late(course, request)
    course.kill_driver()
    return _one_of(course, Delay(), LoseRequest(), _late(course, request) or Delay())


def _expired(course: Course, _: EndTxn) -> Treatment | None:
    if not course.strikes:
        return None
    course.kill_driver()
    return _one_of(course, Delay(), LoseRequest())


def _zombie(course: Course, _: EndTxn) -> Treatment | None:
    if not course.strikes or course.drivers > 1:
        return None
    course.freeze_driver(course.random.uniform(0.2, 3.0))
    return _one_of(course, Delay(), LoseRequest(), LoseAnswer())


def _broker_killed(course: Course, request: EndTxn) -> Treatment | None:
    return Delay() if course.strikes and course.kill_broker(request.broker, course.random.uniform(0.0, 0.03)) else None


def _leaders_elected(course: Course, _: EndTxn) -> Treatment | None:
    return Delay() if course.elect_leaders() else None


def _nothing(course: Course, _: EndTxn) -> Treatment | None:
    return None


# The kinds take turns, and several histories run at a time: no leaders can be elected while a broker is down.
FAULTS: Final[dict[str, Fault]] = {
    "EndTxn delayed": _delayed,
    "EndTxn reordered: sent again before it arrives": _late,
    "EndTxn lost": _request_lost,
    "answer to EndTxn lost": _answer_lost,
    "leaders elected at commits": _leaders_elected,
    "a function fails": _late,
    "driver killed at a commit": _driver_killed,
    "transactions expire while the driver is down": _expired,
    "driver frozen at a commit, fenced, and woken": _zombie,
    "broker killed at a commit": _broker_killed,
}
