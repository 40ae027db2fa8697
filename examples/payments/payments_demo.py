"""The demo: payments judged on a Spark cluster, while rules change, processes die and the job is rescaled.

`make payments` runs it. It ends with exit code 0 only if every payment was judged once, and right.
"""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import psutil
from payments_check import Found, differences
from payments_site import DemoFailed, Job, Site, open_site
from payments_traffic import Traffic

from headgate.errors import EnvironmentFault
from headgate.testing.servers.kafka_download import missing_programs

NAMES = ("version", "amount_max", "sum_max", "sum_minutes", "countries_max", "countries_minutes")
RULES = {
    values[0]: dict(zip(NAMES, values, strict=True))
    for values in (
        (0, 100_000, 300_000, 60, 3, 60),  # those of the job itself, until it knows others
        (1, 150_000, 400_000, 30, 2, 30),
        (2, 100_000, 330_000, 20, 2, 45),
        (3, 180_000, 220_000, 10, 1, 5),
    )
}
BROKEN_RULES = b'{"version": 4, "amount_max": 0}'


@dataclass(frozen=True)
class Pace:
    """How many payments come in a second, the time between checkpoints, and how long each act is in seconds."""

    per_second: int
    checkpoint_ms: int
    act_s: float
    about: str


PACES = {False: Pace(300, 1000, 6.0, "90 seconds"), True: Pace(400, 500, 1.5, "60 seconds")}


def main() -> None:
    parser = argparse.ArgumentParser(description="Payments on a Spark cluster: rules change, processes are killed.")
    parser.add_argument("--fast", action="store_true", help="shorter acts between the events")
    pace = PACES[parser.parse_args().fast]
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    work = Path(tempfile.mkdtemp(prefix="headgate-payments-"))
    try:
        run(pace, work)
    except (DemoFailed, EnvironmentFault) as failure:
        sys.exit(f"\nFAILED: {failure}\nThe logs of all servers and of the job are in {work}")
    except KeyboardInterrupt:
        sys.exit(f"\nInterrupted: everything was stopped. The logs are in {work}")
    shutil.rmtree(work)


def run(pace: Pace, work: Path) -> None:
    if (missing := missing_programs()) is not None:
        raise DemoFailed(missing)
    print("Payments by card on a Spark cluster: rules change, processes are killed, the job is rescaled.")
    print(f"Takes about {pace.about} on two cores. Logs go to {work}.\n")
    story = Story()
    with open_site(work) as site:
        story.say("Kafka, PostgreSQL and a Spark master with 3 workers are up")
        traffic = Traffic(site.broker.bootstrap, "payments", pace.per_second)
        job = Job(site, pace.checkpoint_ms)
        try:
            Play(site, job, traffic, story, pace).perform()
        finally:
            traffic.end()
            job.kill()
        verify(site, traffic)


@dataclass(frozen=True)
class Play:
    """What happens to a job in its life."""

    site: Site
    job: Job
    traffic: Traffic
    story: Story
    pace: Pace

    def perform(self) -> None:
        """Let it all happen; return when the job has ended as it should. Raises DemoFailed."""
        savepoint = self._first_run()
        self._second_run(savepoint)

    def _first_run(self) -> str:
        self._send_rules(1)
        self.job.start(parallelism=2)
        self.traffic.start()
        self.story.say(f"the job is submitted with parallelism 2; {self.pace.per_second} payments come in a second")
        self._see_rules_at_work(1)

        savepoint = self.job.stop()
        self.story.say(f"stopped with {Path(savepoint).name}, {self.site.audited():,} payments judged")
        return savepoint

    def _second_run(self, savepoint: str) -> None:
        self._send_rules(2)
        self.site.broker.write("payment-rules", [BROKEN_RULES])
        self.job.start(parallelism=3, savepoint=savepoint)
        self.story.say("rules 2 are sent, then broken ones; the job starts from the savepoint with parallelism 3")
        self._see_rules_at_work(2)

        self._kill(self._slot(), "a Python worker")
        executor = self._slot().parents()[1]  # the parent of the daemon that has forked the worker
        self._kill(executor, "an executor")

        self._send_rules(3)
        self.story.say("rules 3 are sent, while the job runs")
        self._see_rules_at_work(3)

        self.traffic.end()
        self.job.wait_until(lambda: self.site.audited() >= len(self.traffic.payments), "all payments are in the audit")
        self.job.stop("--drain")
        self.story.say(f"the input has ended; the job is drained and stopped, {self.site.audited():,} payments judged")

    def _send_rules(self, version: int) -> None:
        self.site.broker.write("payment-rules", [json.dumps(RULES[version]).encode()])

    def _see_rules_at_work(self, version: int) -> None:
        took_s = self.job.wait_until(
            lambda: self.site.decided_by(version) > 0, f"payments are judged by rules {version}"
        )
        self.story.say(f"payments are judged by rules {version}, {took_s:.1f} s later")
        time.sleep(self.pace.act_s)

    def _slot(self) -> psutil.Process:
        """Return a process that hosts a slot: others, which Spark keeps for later tasks, have had nothing to do."""
        return max(self.site.cluster.python_workers(), key=lambda process: sum(process.cpu_times()[:2]))

    def _kill(self, process: psutil.Process, what: str) -> None:
        before = self.job.restores()
        process.kill()
        sent = len(self.traffic.payments)
        self.story.say(f"killed {what} with SIGKILL: process {process.pid}")
        took_s = self.job.wait_until(
            lambda: self.site.audited() > sent and self.job.restores() > before,
            f"it noticed that {what} was killed, and judged payments that came after that",
        )
        self.story.say(f"went back to its last checkpoint, and has caught up {took_s:.1f} s later")
        time.sleep(self.pace.act_s)


class Story:
    """Lines that say what happens, and when."""

    def __init__(self) -> None:
        self._began_s = time.monotonic()

    def say(self, text: str) -> None:
        print(f"{time.monotonic() - self._began_s:6.1f} s  {text}", flush=True)


# --- afterwards


def verify(site: Site, traffic: Traffic) -> None:
    """Raise DemoFailed unless the output is exactly what it must be."""
    found = Found(
        audit=site.audit(),
        alerts=[json.loads(message.value()) for message in site.broker.read_committed("payment-alerts")],
        dead_letters=[message.value() for message in site.broker.read_committed("payment-dead-letters")],
    )
    wrong = differences(traffic.payments, [*traffic.broken, BROKEN_RULES], RULES, found)
    if wrong:
        raise DemoFailed(f"{len(wrong)} differences, such as\n  " + "\n  ".join(wrong[:5]))
    versions = Counter(row.rules_version for row in found.audit)
    if not {1, 2, 3} <= versions.keys():
        raise DemoFailed(f"not all rules have decided on payments: {dict(versions)}")
    reasons = Counter(reason for row in found.audit for reason in row.decision.split("+"))
    judged = ", ".join(f"{versions[version]:,} by rules {version}" for version in sorted(versions))
    alerts = ", ".join(f"{reasons[reason]:,} {reason}" for reason in ("amount", "sum", "countries"))
    print(f"\n  payments      {len(found.audit):,}, each in the audit once; {judged}")
    print(f"  sent twice    {traffic.repeated:,}, and judged once")
    print(f"  alerts        {len(found.alerts):,}, each in Kafka once and in the audit ({alerts})")
    print(f"  dead letters  {len(found.dead_letters):,}, each broken message once")
    print("  decisions     all agree with those of a model in plain Python; rules of a card never go back")


if __name__ == "__main__":
    main()
