"""A client of the REST interface of one driver."""

from __future__ import annotations

import json
import secrets
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from typing import Any, Final, final

import httpx

from headgate.checkpoint.drivers.address import DriverAddress
from headgate.cli.exits import CommandFailedError, ExitCode
from headgate.cli.find import FoundJob, gone
from headgate.runtime.monitoring.statistics_json import Json

TIMEOUT_S: Final = 10.0
POLL_S: Final = 0.1
_LOOPBACK: Final = ("://127.", "://localhost", "://[::1]")


class UnreachableError(Exception):
    """The driver does not answer."""


class NoListenerError(UnreachableError):
    """No driver, or another driver, listens at the address."""


@final
class DriverClient:
    """Talks to one driver. All calls block, and raise CommandFailedError, or UnreachableError without an answer.

    A context manager: leaving it closes the connection.
    """

    def __init__(self, address: DriverAddress) -> None:
        self._http = httpx.Client(
            base_url=address.url,
            headers={"Authorization": f"Bearer {address.token}"},
            verify=_trusting(address.certificate),
            timeout=TIMEOUT_S,
            trust_env=False,  # a driver is no web site: no proxy in between
        )

    def __enter__(self) -> DriverClient:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def get(self, path: str) -> Any:
        """Return the JSON at a path."""
        return self._ask("GET", path, None)

    def patch(self, path: str) -> Any:
        """Change the resource at a path."""
        return self._ask("PATCH", path, None)

    def put(self, path: str, body: Json) -> Any:
        """Replace the resource at a path."""
        return self._ask("PUT", path, body)

    def post(self, path: str, body: Json) -> Any:
        """Create a resource; return the immediate answer of the driver."""
        return self._ask("POST", path, body)

    def events(self, path: str) -> Iterator[tuple[str, Any]]:
        """Yield the events that the driver sends at a path, each with its name and its JSON, as they arrive."""
        try:
            with self._http.stream("GET", path) as answer:
                if not answer.is_success:
                    answer.read()
                    raise _failed(answer)
                name = ""
                for line in answer.iter_lines():
                    kind, _, text = line.partition(": ")
                    if kind == "event":
                        name = text
                    elif kind == "data":
                        yield name, json.loads(text)
        except httpx.TransportError as error:
            raise UnreachableError(str(error) or type(error).__name__) from error

    def order(self, path: str, body: Json) -> str:
        """Start a long operation; return the id to query it with. A repeated request starts it only once."""
        trigger = secrets.token_hex(16)
        return str(self._ask("POST", path, body | {"triggerId": trigger})["request-id"])

    def outcome(self, path: str) -> Json | None:
        """Return the result of an operation, None while it runs. Raises CommandFailedError if it failed."""
        answer = self.get(path)
        if answer["status"]["id"] != "COMPLETED":
            return None
        operation: Json = answer["operation"]
        if "failure-cause" in operation:
            raise CommandFailedError(ExitCode.FAILED, operation["failure-cause"]["stack-trace"])
        return operation

    def _ask(self, verb: str, path: str, body: Json | None) -> Any:
        try:
            answer = self._http.request(verb, path, json=body)
        except httpx.ConnectError as error:
            raise NoListenerError(str(error)) from error
        except httpx.TransportError as error:
            raise UnreachableError(str(error) or type(error).__name__) from error
        if answer.is_success:
            return answer.json()
        raise _failed(answer)


def ask(job: FoundJob, question: Callable[[DriverClient], Any]) -> Any:
    """Return the answer of the job's driver. Raises CommandFailedError if the driver has ended or does not answer."""
    if job.result is not None:
        raise ended(job)
    if job.address is None:
        raise CommandFailedError(
            ExitCode.NO_SUCH_JOB,
            f"job {job.job_id} in {job.folder} has no driver: none runs it now, or it runs with "
            "headgate.rest.enabled=false",
        )
    if job.is_lost():
        raise gone(job)
    try:
        with DriverClient(job.address) as client:
            return question(client)
    except UnreachableError as error:
        raise _unreachable(job, job.address, error) from None


def await_outcome(client: DriverClient, path: str) -> Json:
    """Block until an operation has ended; return its result. Raises as `DriverClient.outcome` does."""
    while (outcome := client.outcome(path)) is None:
        time.sleep(POLL_S)
    return outcome


def ended(job: FoundJob) -> CommandFailedError:
    """Return the error for a job that has ended."""
    assert job.result is not None
    cause = f": {job.result.cause}" if job.result.cause else ""
    return CommandFailedError(ExitCode.NO_SUCH_JOB, f"job {job.job_id} has ended {job.result.status.name}{cause}")


def _unreachable(job: FoundJob, address: DriverAddress, why: UnreachableError) -> CommandFailedError:
    here = address.host == socket.gethostname()
    if not here and any(mark in address.url for mark in _LOOPBACK):
        return CommandFailedError(
            ExitCode.UNREACHABLE,
            f"the driver of job {job.job_id} ({job.name}) on {address.host} can be reached from that machine only "
            f"({address.url}): run `headgate` there, or start the job with rest.address, headgate.rest.tls.cert and "
            "headgate.rest.tls.key",
        )
    if here and isinstance(why, NoListenerError):
        return gone(job)
    return CommandFailedError(
        ExitCode.UNREACHABLE,
        f"the driver of job {job.job_id} ({job.name}), process {address.pid} on {address.host}, does not answer at "
        f"{address.url} ({why}): either it has ended without a result, or the network is down. If it has ended, "
        f"`headgate checkpoints {job.job_id}` shows the checkpoints that it left",
    )


def _failed(answer: httpx.Response) -> Exception:
    if answer.status_code == httpx.codes.UNAUTHORIZED:
        return NoListenerError("another driver answers there")
    return CommandFailedError(_code(answer), _refusal(answer))


def _code(answer: httpx.Response) -> ExitCode:
    return ExitCode.NO_SUCH_JOB if answer.status_code == httpx.codes.NOT_FOUND else ExitCode.FAILED


def _refusal(answer: httpx.Response) -> str:
    try:
        return "; ".join(answer.json()["errors"])
    except (ValueError, KeyError, TypeError):
        return f"{answer.request.url} answered {answer.status_code}: is it a driver of headgate?"


def _trusting(certificate: str | None) -> ssl.SSLContext:
    """Return an SSL context that trusts only the driver's own certificate, which came together with the token.

    The host name is not checked: only the driver has the key of this certificate, whatever its machine is called.
    """
    if certificate is None:
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # trusts no certificate, and is not asked
    context = ssl.create_default_context(cadata=certificate)
    context.check_hostname = False
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    return context
