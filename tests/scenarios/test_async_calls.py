"""Whole jobs that call a service over HTTP, in both modes: the service fails, jobs fail and are stopped meanwhile."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from headgate.common import Configuration, Time, Types
from headgate.connectors.files.encoders import Encoder
from headgate.connectors.files.sink import FileSink
from headgate.datastream import (
    AsyncDataStream,
    AsyncFunction,
    AsyncRetryStrategy,
    DataStream,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from headgate.datastream.async_retry_predicates import exception_type_predicate
from headgate.elements import SavepointFormat
from tests.scenarios.ledger import numbers

pytestmark = pytest.mark.slow

COUNT: Final = 100
FAULTS: list[int] = []
"""Records at which the job is still to fail, once each."""
GATE: Final = threading.Event()
UNDER_WAY: set[int] = set()


class Handler(BaseHTTPRequestHandler):
    """Answers `GET /<number>` with the number's square; every fifth request is refused, every ninth is hung up on."""

    protocol_version = "HTTP/1.1"
    requests = count(1)

    def do_GET(self) -> None:
        request = next(self.requests)
        if request % 9 == 0:
            self.close_connection = True
            return
        body = str(int(self.path[1:]) ** 2).encode()
        self.send_response(503 if request % 5 == 0 else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    serving = threading.Thread(target=server.serve_forever, daemon=True)
    serving.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    serving.join()


class Squares(AsyncFunction):
    """Asks the service for the square of each number."""

    def __init__(self, url: str) -> None:
        self.url = url

    def open(self, runtime_context: RuntimeContext) -> None:
        self.client = httpx.AsyncClient(base_url=self.url, timeout=60.0)

    async def async_invoke(self, value: int) -> Iterable[tuple[int, int]]:
        answer = await self.client.get(f"/{value}")
        answer.raise_for_status()
        if value in FAULTS:
            FAULTS.remove(value)
            raise ValueError(f"planned at {value}")
        return [(value, int(answer.text))]

    def close(self) -> None:
        self.closing = asyncio.get_running_loop().create_task(self.client.aclose())


RETRIES: Final = AsyncRetryStrategy.exponential_backoff(
    9, 2, 20, 2.0, None, lambda error: exception_type_predicate(error, httpx.HTTPError)
)
EXPECTED: Final = [(number, number**2) for number in range(COUNT)]


def environment(folder: Path, **settings: str) -> StreamExecutionEnvironment:
    configuration = Configuration.from_dict(
        {
            "headgate.deploy.target": "minicluster",
            "execution.checkpointing.dir": str(folder / "checkpoints"),
            "execution.checkpointing.savepoint-dir": str(folder / "savepoints"),
            "headgate.batch.records": "32",
            **settings,
        }
    )
    return StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)


def squares(folder: Path, url: str, method: str, settings: dict[str, str], *, keyed: bool = False) -> list[Any]:
    """Run the job; return what it collects."""
    env = environment(folder, **settings)
    stream: DataStream = env.from_collection(list(range(COUNT))).rebalance().map(int)
    if keyed:
        stream = stream.key_by(lambda number: number % 7)
    called: DataStream = getattr(AsyncDataStream, method)(
        stream, Squares(url), Time.seconds(120), RETRIES, 8, Types.TUPLE([Types.LONG(), Types.LONG()])
    )
    return list(called.execute_and_collect())


@pytest.mark.parametrize(("method", "keyed"), [("ordered_wait_with_retry", False), ("unordered_wait_with_retry", True)])
@pytest.mark.parametrize("mode", ["STREAMING", "BATCH"])
def test_every_record_has_its_answer_though_the_service_fails(
    method: str, keyed: bool, mode: str, url: str, tmp_path: Path
) -> None:
    found = squares(tmp_path, url, method, {"execution.runtime-mode": mode}, keyed=keyed)
    assert sorted(found) == EXPECTED


@pytest.mark.parametrize(
    ("method", "unaligned"), [("ordered_wait_with_retry", "true"), ("unordered_wait_with_retry", "false")]
)
def test_failures_lose_and_double_nothing(method: str, unaligned: str, url: str, tmp_path: Path) -> None:
    FAULTS[:] = [20, 50, 90]
    settings = {
        "execution.checkpointing.interval": "10 ms",
        "execution.checkpointing.unaligned.enabled": unaligned,
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": "9",
        "restart-strategy.fixed-delay.delay": "1 ms",
    }
    assert sorted(squares(tmp_path, url, method, settings)) == EXPECTED
    assert FAULTS == []


@pytest.mark.parametrize("mode", ["STREAMING", "BATCH"])
def test_an_error_names_the_operator_the_key_and_the_record(mode: str, url: str, tmp_path: Path) -> None:
    FAULTS[:] = [73]
    with pytest.raises(Exception, match="ValueError: planned at 73") as failure:
        squares(tmp_path, url, "ordered_wait_with_retry", {"execution.runtime-mode": mode}, keyed=True)
    assert "'async wait operator'" in str(failure.value)
    assert "record: 73" in str(failure.value)
    assert f"key: {73 % 7}" in str(failure.value)


class Gated(AsyncFunction):
    """Answers nothing before the test opens the gate."""

    async def async_invoke(self, value: int) -> Iterable[int]:
        UNDER_WAY.add(value)
        while not GATE.is_set():
            await asyncio.sleep(0.002)
        return [value]


def gated(folder: Path, method: str, **settings: str) -> Any:
    """Start a job whose calls wait for the gate; what they return goes to files."""
    env = environment(folder, **settings).set_parallelism(1)  # in one chain: no record waits before a barrier
    called: DataStream = getattr(AsyncDataStream, method)(numbers(env, COUNT, COUNT), Gated(), Time.hours(1), 5)
    sink = FileSink.for_row_format(str(folder / "out"), Encoder.simple_string_encoder()).build()
    called.uid("calls").sink_to(sink).uid("sink")
    return env.submit()


def committed(folder: Path) -> list[int]:
    files = (path for path in (folder / "out").rglob("*") if path.is_file() and path.name[0] not in "._")
    return sorted(int(line) for path in files for line in path.read_text().splitlines())


@pytest.mark.parametrize("method", ["ordered_wait", "unordered_wait"])
def test_a_stop_waits_for_no_call_and_the_next_job_makes_them_again(method: str, tmp_path: Path) -> None:
    GATE.clear()
    UNDER_WAY.clear()
    job = gated(tmp_path, method)
    while len(UNDER_WAY) < 5:
        assert job.wait(0.005) is None, job.wait()
    location = job.stop_with_savepoint(False, None, SavepointFormat.CANONICAL).result(120.0)
    assert job.wait(120.0).status.word == "finished"
    assert committed(tmp_path) == []
    GATE.set()
    resumed = gated(tmp_path, method, **{"execution.state-recovery.path": location}).wait(120.0)
    assert (resumed.status.word, resumed.cause) == ("finished", None)
    assert committed(tmp_path) == list(range(COUNT))
