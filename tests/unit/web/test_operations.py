"""Orders that take a while: their ids, what is answered, and how the end of a job waits for who asks."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future

from headgate.web.operations import OPERATIONS_MAX, OperationKind, Operations


def done(result: str) -> Future[str]:
    future: Future[str] = Future()
    future.set_result(result)
    return future


def test_an_order_is_in_progress_and_then_has_a_location() -> None:
    operations = Operations()
    future: Future[str] = Future()
    id_ = operations.begin(OperationKind.SAVEPOINT, "job", future)
    assert operations.answer(OperationKind.SAVEPOINT, "job", id_) == {
        "status": {"id": "IN_PROGRESS"},
        "operation": None,
    }
    future.set_result("/savepoint")
    assert operations.answer(OperationKind.SAVEPOINT, "job", id_) == {
        "status": {"id": "COMPLETED"},
        "operation": {"location": "/savepoint"},
    }


def test_an_order_that_failed_says_why() -> None:
    operations = Operations()
    future: Future[str] = Future()
    future.set_exception(ValueError("no room"))
    id_ = operations.begin(OperationKind.SAVEPOINT, "job", future)
    answer = operations.answer(OperationKind.SAVEPOINT, "job", id_)
    assert answer is not None
    assert answer["operation"]["failure-cause"] == {"class": "ValueError", "stack-trace": "no room"}


def test_an_order_is_known_under_its_job_and_kind_only() -> None:
    operations = Operations()
    id_ = operations.begin(OperationKind.SAVEPOINT, "job", done("/a"))
    assert operations.answer(OperationKind.SAVEPOINT, "other", id_) is None
    assert operations.answer(OperationKind.CHECKPOINT, "job", id_) is None
    assert operations.is_known(OperationKind.SAVEPOINT, "job", id_)


def test_the_end_waits_until_the_result_is_fetched() -> None:
    operations = Operations()
    id_ = operations.begin(OperationKind.SAVEPOINT, "job", done("/a"))
    fetch = threading.Timer(0.05, lambda: operations.answer(OperationKind.SAVEPOINT, "job", id_))
    fetch.start()
    began = time.monotonic()
    operations.await_fetched("job", 10.0)
    assert 0.03 < time.monotonic() - began < 5.0
    fetch.join()


def test_the_end_waits_for_nobody_when_nothing_was_ordered_and_never_beyond_the_timeout() -> None:
    operations = Operations()
    operations.begin(OperationKind.SAVEPOINT, "job", done("/a"))
    began = time.monotonic()
    operations.await_fetched("other", 10.0)
    operations.await_fetched("job", 0.05)
    assert time.monotonic() - began < 5.0


def test_old_orders_are_forgotten() -> None:
    operations = Operations()
    first = operations.begin(OperationKind.SAVEPOINT, "job", done("/a"))
    for _ in range(OPERATIONS_MAX):
        operations.begin(OperationKind.SAVEPOINT, "job", done("/b"))
    assert not operations.is_known(OperationKind.SAVEPOINT, "job", first)
