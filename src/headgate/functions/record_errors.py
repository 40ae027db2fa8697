"""What happens to a record for which a function raises: it fails the job, is skipped, or goes to a side output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, final

from headgate.errors import HeadgateError, ProgramError
from headgate.types.output_tag import OutputTag
from headgate.types.typeinfo import Types

NEVER_SKIPPED: Final = (HeadgateError, MemoryError)
"""Errors that always fail the job: they are about the program, its environment or headgate, not about a record.

Any error that is raised from a `SuppressRestartsException` always fails the job, too.
"""


@final
@dataclass(frozen=True, slots=True)
class FailedRecord:
    """A record for which an operator's function raised an error, as the side output receives it.

    `record` is as the function received it. `error` is text: the user's own traceback, with the error in the last line.
    `operator` is the operator's name, `key` the record's key, `timestamp_ms` its event time. `key` is None on a stream
    without keys, `timestamp_ms` on a stream without timestamps.

    >>> failed = FailedRecord("x", "ValueError: invalid literal for int() with base 10: 'x'", "parse")
    >>> failed.record, failed.operator, failed.key
    ('x', 'parse', None)
    """

    record: Any
    error: str
    operator: str
    key: Any = None
    timestamp_ms: int | None = None


@final
@dataclass(frozen=True, slots=True)
class RecordErrors:
    """Decides what an operator does with records for which its function raises. Pass it to `on_error`.

    If types of exceptions are given, `skip` and `side_output` apply to these types only: any other error fails the job,
    as all errors do by default. The methods raise ProgramError for anything but types of exceptions, or a tag.

    >>> RecordErrors.skip(ValueError, KeyError).kinds
    (<class 'ValueError'>, <class 'KeyError'>)
    """

    kinds: tuple[type[Exception], ...] = ()
    """The types of errors that do not fail the job."""
    tag: OutputTag | None = None
    """The side output of the failed records; None: they are dropped."""

    @staticmethod
    def fail() -> RecordErrors:
        """Fail the job; its restart strategy then decides whether it restarts. The default."""
        return RecordErrors()

    @staticmethod
    def skip(*kinds: type[Exception]) -> RecordErrors:
        """Drop the record and count it in the operator's metric `numRecordsFailed`; the log shows the first few."""
        return RecordErrors(_checked(kinds, "skip"))

    @staticmethod
    def side_output(tag: OutputTag, *kinds: type[Exception]) -> RecordErrors:
        """Emit the record as a `FailedRecord` with this tag, for `get_side_output(tag)`, and count it."""
        if not isinstance(tag, OutputTag):
            raise ProgramError(f"RecordErrors.side_output() takes an OutputTag, such as OutputTag('bad'), not {tag!r}")
        if tag.type_info not in (None, Types.PICKLED_BYTE_ARRAY()):
            raise ProgramError(
                f"the side output {tag.tag_id!r} is to hold failed records, which are FailedRecord objects, but its "
                f"type is {tag.type_info}: leave the type out, and map them to it after get_side_output(...)"
            )
        return RecordErrors(_checked(kinds, "side_output"), tag)


def _checked(kinds: tuple[type[Exception], ...], method: str) -> tuple[type[Exception], ...]:
    for kind in kinds:
        if not isinstance(kind, type) or not issubclass(kind, Exception):
            raise ProgramError(
                f"RecordErrors.{method}() takes types of exceptions, such as ValueError, not {kind!r}; an error "
                "that is not an Exception, such as SystemExit, always fails the job"
            )
        if issubclass(kind, NEVER_SKIPPED):
            raise ProgramError(
                f"RecordErrors.{method}() was given {kind.__name__}, which is not about a record: it always fails the "
                "job"
            )
    return kinds or (Exception,)
