"""Settings for records for which a function raises an error; an extension of PyFlink's API."""

from headgate.functions.record_errors import FailedRecord, RecordErrors

__all__ = ["FailedRecord", "RecordErrors"]
