"""A job of this process with a REST interface, and a client of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from headgate.checkpoint.drivers.address import DriverAddress, RunDirectory
from headgate.cli.client import _trusting as trusting
from headgate.connectors.number_seq import NumberSequenceSource
from headgate.connectors.rate import RateLimitedSource
from headgate.datastream import StreamExecutionEnvironment
from headgate.deploy.handles.handle import JobHandle
from headgate.functions.api import KeyedProcessFunction
from headgate.functions.context import RuntimeContext
from headgate.job_status import JobStatus
from headgate.state.descriptors import ValueStateDescriptor
from headgate.types.typeinfo import Types
from tests.unit.datastream.environments import environment

Program = Callable[[StreamExecutionEnvironment], None]


class Count(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        self.count.update((self.count.value() or 0) + 1)
        yield ctx.get_current_key(), self.count.value()


@dataclass
class Served:
    """A running job, where it is reached, and a client that has its token."""

    job: JobHandle
    address: DriverAddress
    http: httpx.Client

    def get(self, path: str) -> Any:
        return self.http.get(path.replace("JOB", self.job.job_id)).raise_for_status().json()

    def outcome(self, path: str) -> dict[str, Any]:
        """What has become of an order, once it is done."""
        answers: list[dict[str, Any]] = []

        def done() -> bool:
            answers.append(self.get(path))
            return bool(answers[-1]["status"]["id"] == "COMPLETED")

        until(done)
        found: dict[str, Any] = answers[-1]["operation"]
        return found


def until(condition: Callable[[], bool], timeout_s: float = 120.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.005)


def address_of(job_id: str) -> DriverAddress:
    found: list[DriverAddress] = []

    def written() -> bool:
        found[:] = [address for address in RunDirectory.of_user().read() if address.job_id == job_id]
        return bool(found)

    until(written)
    return found[0]


def word_count(env: StreamExecutionEnvironment) -> None:
    """Counts numbers by key, without end."""
    numbers = env.from_source(RateLimitedSource(NumberSequenceSource(0, 10**9), 1000), None, "numbers").uid("numbers")
    counted = numbers.key_by(lambda number: number % 3).process(Count()).uid("counter").name("counter")
    counted.filter(lambda count: False).uid("none").print().uid("printed")


@contextmanager
def served(**settings: str) -> Iterator[Served]:
    """Run an endless job that counts numbers by key, with a REST interface."""
    with serving(word_count, **settings) as found:
        until(lambda: found.job.status() is JobStatus.RUNNING)
        yield found


@contextmanager
def serving(program: Program, **settings: str) -> Iterator[Served]:
    """Run the endless job that a program makes, with a REST interface."""
    env = environment(headgate__rest__enabled="true", **settings)
    program(env)
    job = env.submit("word-count")
    try:
        address = address_of(job.job_id)
        until(lambda: job.status() is not JobStatus.CREATED)
        headers = {"Authorization": f"Bearer {address.token}"}
        with httpx.Client(base_url=address.url, headers=headers, verify=trusting(address.certificate)) as http:
            yield Served(job, address, http)
    finally:
        job.cancel()
        job.wait(120)
