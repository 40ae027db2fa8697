"""The result of a job in its folder."""

from __future__ import annotations

import pytest

from headgate.checkpoint import paths
from headgate.checkpoint.drivers import job_records
from headgate.checkpoint.seal import seal
from headgate.checkpoint.store import MemoryStore
from headgate.errors import StorageError
from headgate.job_status import JobStatus


def test_a_result_of_another_release_is_refused_with_its_word_and_place() -> None:
    store = MemoryStore()
    store.write(paths.RESULT, [seal({"status": "hibernating", "cause": None, "ended_ms": 5})])
    with pytest.raises(StorageError, match=r"_result.*'hibernating'.*the release that wrote it"):
        job_records.read_result(store)


def test_a_result_is_read_as_written_and_the_first_one_stands() -> None:
    store = MemoryStore()
    assert job_records.read_result(store) is None
    result = job_records.JobResult(status=JobStatus.FAILED, cause="boom", ended_ms=5)
    job_records.write_result(store, result)
    job_records.write_result(store, job_records.JobResult(status=JobStatus.FINISHED, cause=None, ended_ms=6))
    assert job_records.read_result(store) == result


def test_a_torn_result_is_none_while_its_driver_has_its_epoch_and_can_be_written_again() -> None:
    store = MemoryStore()
    store.write(paths.epoch("1-aa"), [b""])
    store.write(paths.RESULT, [b'{"status"'])
    assert job_records.read_result(store) is None
    job_records.write_result(store, job_records.JobResult(status=JobStatus.FINISHED, cause=None, ended_ms=6))
    assert job_records.read_result(store) is not None
