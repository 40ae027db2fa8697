"""The record guard: it wraps the call of a user function, so that a record that fails does not fail the job.

An operator has a guard only if `on_error` gave its stream a policy. Other operators call the function directly.
"""

from __future__ import annotations

import logging
from typing import Any, Final, final

from headgate.errors import SuppressRestartsException
from headgate.functions.record_errors import NEVER_SKIPPED, FailedRecord, RecordErrors
from headgate.operators.base import OperatorContext
from headgate.operators.calls import RecordCall
from headgate.operators.error_text import UserTracebacks, causes, last_line, short_repr
from headgate.operators.outputs import OutputType
from headgate.operators.samples import TEXT_MAX, TRACEBACK_MAX, FailedSample

_log = logging.getLogger(__name__)

FAILED_COUNT: Final = "numRecordsFailed"
LOGGED_MAX: Final = 5
"""Number of failed records that a subtask logs in one attempt; further records are only counted."""
LOGGED_CHARACTERS_MAX: Final = 300
"""Characters of an error's message in the log. The message may repeat the whole record."""


@final
class RecordGuard:
    """Skips failed records, or sends them to a side output, in one subtask of one operator."""

    def __init__(self, errors: RecordErrors, context: OperatorContext) -> None:
        self._errors = errors
        self._context = context
        self._failed = context.metrics.counter(FAILED_COUNT)
        self._output_type = OutputType.of(context.output_type)
        self._tracebacks = UserTracebacks()

    def around(self, call: RecordCall) -> RecordCall:
        """Return a call that returns all results of a record in a list, or the side output of a failed record.

        A generator runs to its end before any of its results is emitted. The side output holds the failed record as it
        was received, without changes that the function made.
        """
        kinds, give_up, output_type = self._errors.kinds, self._give_up, self._output_type
        extend, copied = self._context.passing.extend, self._context.passing.copied

        def guarded(value: Any, context: Any) -> list[Any] | tuple[Any, ...] | None:
            received = copied(value)
            try:
                results = call(value, context)
                if results is None:
                    return None
                made: list[Any] = []
                extend(made, results)
                return made if output_type is None else output_type.results(made)
            except kinds as error:
                return give_up(received, context, error)

        return guarded

    def _give_up(self, record: Any, context: Any, error: Exception) -> tuple[Any, ...] | None:
        """Count the failed record and return its side output. Raises `error` if it does not concern a single record."""
        if isinstance(error, NEVER_SKIPPED) or any(
            isinstance(each, SuppressRestartsException) for each in causes(error)
        ):
            raise  # noqa: PLE0704  # called while it is handled
        self._failed.inc()
        if self._failed.get_count() <= LOGGED_MAX:
            self._tell(record, error)
        if not self._context.failed.is_full:
            self._sample(record, context, error)
        if self._errors.tag is None:
            return None
        key = _key(context)
        text = self._tracebacks.text(error)
        return ((self._errors.tag, FailedRecord(record, text, self._context.name, key, context._timestamp)),)

    def _sample(self, record: Any, context: Any, error: Exception) -> None:
        key = _key(context)
        self._context.failed.add(
            FailedSample(
                uid=self._context.uid,
                error=last_line(error)[:TEXT_MAX],
                traceback=self._tracebacks.text(error)[-TRACEBACK_MAX:],
                record=short_repr(record)[:TEXT_MAX],
                key=None if key is None else short_repr(key)[:TEXT_MAX],
                dealt="skipped" if self._errors.tag is None else self._errors.tag.tag_id,
            )
        )

    def _tell(self, record: Any, error: Exception) -> None:
        where = f"operator {self._context.name!r}, subtask {self._context.subtask}"
        message = last_line(error)[:LOGGED_CHARACTERS_MAX]
        _log.warning("%s: a record failed and is left out: %s; record: %s", where, message, short_repr(record))
        if self._failed.get_count() == LOGGED_MAX:
            _log.warning("%s: further failed records are only counted, in %s", where, FAILED_COUNT)


def _key(context: Any) -> Any:
    return context.get_current_key() if hasattr(context, "get_current_key") else None
