"""What becomes of records that a function fails for; PyFlink has no such names."""

from headgate.functions.record_errors import FailedRecord, RecordErrors

__all__ = ["FailedRecord", "RecordErrors"]
