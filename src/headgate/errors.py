"""Errors of headgate: one root, and below it classes that tell whose fault it is: program, environment or headgate.

Every message names the culprit and the next step. Expected outcomes (a declined checkpoint, a file that already exists)
are values, not errors.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class HeadgateError(Exception):
    """Root of all errors that headgate raises on purpose."""


class ConfigError(HeadgateError):
    """A configuration key or value is wrong; the message names key, value and where it came from."""


class ProgramError(HeadgateError):
    """The user's program cannot run as written: found while building the graph, before anything is submitted."""


class InvalidExpressionError(ProgramError, ValueError):
    """An expression does not fit the columns or types it is used with; the message names column or function."""


class UnsupportedError(HeadgateError):
    """A name, option or value of PyFlink that headgate does not have (yet); the message says what to use instead."""


class UnsupportedAttributeError(UnsupportedError, AttributeError):
    """An unsupported attribute was read. An `AttributeError` too, so that `hasattr` answers False."""


class UnsupportedImportError(UnsupportedError, ImportError):
    """An unsupported module or name was imported. An `ImportError` too, so that guarded imports go on as usual."""


class IgnoredWarning(UserWarning):
    """Something of PyFlink was accepted that changes nothing here; the message says why, or what to use instead."""


class OrderWarning(UserWarning):
    """The program lets records reach a keyed operator in another order than their source has them, perhaps unawares."""


class SerializationError(ProgramError):
    """A function, key, record or state value cannot be serialised; the message names which, and what in it."""


class EnvironmentFault(HeadgateError):
    """Something around the job is wrong or missing: Spark settings, Java, ports, storage, versions."""


def missing_extra(what: str, extra: str, error: ImportError) -> EnvironmentFault:
    """Return the error of a part whose library could not be imported: `what` needs an extra of this package.

    >>> print(missing_extra("Avro", "avro", ImportError("No module named 'fastavro'")))
    Avro needs an extra: pip install 'headgate[avro]', in the driver and on every worker (No module named 'fastavro')
    """
    package = f"headgate[{extra}]"
    return EnvironmentFault(
        f"{what} needs an extra: pip install {package!r}, in the driver and on every worker ({error})"
    )


@contextmanager
def needs_data_sources(part: str, instead: str) -> Iterator[None]:
    """Import modules that need Spark's Python data sources, which Spark has since 4.0.

    Raises EnvironmentFault where pyspark has no data sources: `part` is what needs them, `instead` tells what else the
    program can do.
    """
    missing = "pyspark.sql.datasource"
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name != missing:
            raise
        raise EnvironmentFault(
            f"{part} needs Python data sources ({missing}), which Spark has since 4.0: run the program on Spark 4.0 or "
            f"newer, or {instead}"
        ) from None


class NetworkError(EnvironmentFault):
    """A connection could not be made, was refused, or ended."""


class StorageError(EnvironmentFault):
    """Checkpoint or job storage could not be read or written; the message names the path."""


class DamagedFileError(StorageError):
    """A file's checksum, length or format is wrong. The file is never used; the message names it."""


class DamagedBatchError(HeadgateError):
    """The bytes of an encoded batch are wrong. None of its records is used."""


class RestoreError(HeadgateError):
    """A snapshot cannot be restored into this job; the message names operator and state."""


class RescaleError(HeadgateError):
    """A running job could not be given another parallelism; it goes on at the one before, or has ended meanwhile."""


class CheckpointError(HeadgateError):
    """A checkpoint or savepoint that a user requested was not taken; the message says why."""


class StateAccessError(HeadgateError):
    """State was used where there is no current key, or in another way that has no meaning."""


class SourceError(HeadgateError):
    """A source could not read: a missing path, an unreadable file, a broken line."""


class SinkError(HeadgateError):
    """A sink could not write or commit; the message says where the data is."""


class SuppressRestartsException(HeadgateError):
    """Raise this, or an error caused by it, in a function, source or sink to fail the job for good.

    The restart strategy is not asked: starting again cannot help.

    >>> try:
    ...     raise SuppressRestartsException("the table has no column 'id'") from KeyError("id")
    ... except HeadgateError as error:
    ...     print(error)
    the table has no column 'id'
    """


class JobFailedError(HeadgateError):
    """The job ended in failure. The message holds the cause, with the user's own traceback if user code raised it."""


class JobCancelledError(HeadgateError):
    """The job was cancelled while the program waited for its result."""


class JobSuspendedError(HeadgateError):
    """This driver has left the job, which has not ended; the message says from where a later driver goes on."""


class InternalError(HeadgateError):
    """headgate broke one of its own rules. This should never happen: please report it with the message."""
