"""Asynchronous calls on Spark: a slot is woken by its sockets; calls of a process that is killed are made again."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from pyspark.sql import SparkSession

from headgate.common import Configuration, Time
from headgate.connectors.datagen import DataGeneratorSource
from headgate.datastream import AsyncDataStream, AsyncFunction, RuntimeContext, StreamExecutionEnvironment
from tests.cluster.programs import Fault

pytestmark = [pytest.mark.spark, pytest.mark.slow]

RECORDS = 600


class Doubles(BaseHTTPRequestHandler):
    """Answers `GET /<number>` with its double."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = str(int(self.path[1:]) * 2).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def url() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Doubles)
    server.daemon_threads = True
    serving = threading.Thread(target=server.serve_forever, daemon=True)
    serving.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    serving.join()


class Doubled(AsyncFunction):
    """Asks for the double of each number; once, the process is killed meanwhile."""

    def __init__(self, url: str, folder: Path, fault: Fault) -> None:
        self.url = url
        self.marker = folder / "killed"
        self.fault = fault

    def open(self, runtime_context: RuntimeContext) -> None:
        self.client = httpx.AsyncClient(base_url=self.url, timeout=60.0)

    async def async_invoke(self, value: int) -> Iterable[tuple[int, int]]:
        answer = await self.client.get(f"/{value}")
        if value == self.fault.at:
            self.fault.strike(self.marker)
        return [(value, int(answer.text))]

    def close(self) -> None:
        self.closing = asyncio.get_running_loop().create_task(self.client.aclose())


def doubled(spark: SparkSession, conf: dict[str, str], function: Doubled) -> list[Any]:
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(conf), spark).set_parallelism(2)
    numbers = env.from_source(DataGeneratorSource(lambda index: index, RECORDS, 2_000), None, "numbers")
    called = AsyncDataStream.unordered_wait(numbers, function, Time.minutes(5), 20)
    return sorted(called.execute_and_collect())


EXPECTED = [(number, number * 2) for number in range(RECORDS)]


def test_each_record_has_its_answer_once_when_a_worker_is_killed(spark: SparkSession, url: str, tmp_path: Path) -> None:
    conf = {
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.delay": "0 s",
        "execution.checkpointing.interval": "50 ms",
    }
    function = Doubled(url, tmp_path, Fault("kill the worker", RECORDS // 2))
    assert doubled(spark, conf, function) == EXPECTED
    assert function.marker.exists()


def test_a_batch_job_makes_calls(spark: SparkSession, url: str, tmp_path: Path) -> None:
    function = Doubled(url, tmp_path, Fault("none", RECORDS))
    assert doubled(spark, {"execution.runtime-mode": "BATCH"}, function) == EXPECTED
