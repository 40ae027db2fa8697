"""Policies for failing records, as programs write them."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from headgate.errors import ProgramError, StateAccessError, SuppressRestartsException
from headgate.functions.record_errors import FailedRecord, RecordErrors
from headgate.types.output_tag import OutputTag
from headgate.types.typeinfo import Types

BAD = OutputTag("bad")


@pytest.mark.parametrize("policy", [RecordErrors.skip(), RecordErrors.side_output(BAD)], ids=["skip", "side output"])
def test_without_types_every_exception_is_one_of_a_record(policy: RecordErrors) -> None:
    assert policy.kinds == (Exception,)


def test_no_exception_is_one_of_a_record_by_default() -> None:
    assert RecordErrors.fail().kinds == ()


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt, int, ValueError("x"), "ValueError"])
def test_what_is_no_type_of_an_exception_is_refused(kind: Any) -> None:
    with pytest.raises(ProgramError, match="takes types of exceptions"):
        RecordErrors.skip(ValueError, kind)


@pytest.mark.parametrize("kind", [SuppressRestartsException, StateAccessError, MemoryError])
def test_errors_that_always_fail_the_job_are_refused(kind: type[Exception]) -> None:
    with pytest.raises(ProgramError, match=f"{kind.__name__}, which is not about a record"):
        RecordErrors.side_output(BAD, kind)


def test_a_side_output_needs_a_tag() -> None:
    tag: Any = "bad"
    with pytest.raises(ProgramError, match=r"takes an OutputTag, such as OutputTag\('bad'\), not 'bad'"):
        RecordErrors.side_output(tag)


def test_the_tag_cannot_have_the_type_of_something_else() -> None:
    with pytest.raises(ProgramError, match=r"FailedRecord objects, but its type is String"):
        RecordErrors.side_output(OutputTag("bad", Types.STRING()))
    assert RecordErrors.side_output(OutputTag("bad", Types.PICKLED_BYTE_ARRAY())).tag == BAD


def test_a_failed_record_can_be_pickled() -> None:
    failed = FailedRecord({"a": 1}, "ValueError: no", "parse", "key", 5)
    assert pickle.loads(pickle.dumps(failed)) == failed  # noqa: S301  # pickled just now
