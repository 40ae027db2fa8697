"""The future that calls of a job client return."""

import pytest

from headgate.common.completable_future import CompletableFuture


def test_a_future_gives_its_result_or_raises_its_error() -> None:
    future = CompletableFuture[int]()
    assert not future.done()
    future.set_result(1)
    assert future.result() == 1
    failed = CompletableFuture[int]()
    failed.set_exception(ValueError("x"))
    with pytest.raises(ValueError, match="x"):
        failed.result()
