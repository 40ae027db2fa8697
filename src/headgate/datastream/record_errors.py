"""What becomes of records that a function raises an error for; PyFlink has no such names."""

from headgate.functions.record_errors import FailedRecord, RecordErrors

__all__ = ["FailedRecord", "RecordErrors"]
