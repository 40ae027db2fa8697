"""The reaction of a source to a file that it cannot read: fail the job, skip the file, or emit it to a side output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar, final

import pyarrow as pa

from headgate.errors import ProgramError, SourceError
from headgate.types.output_tag import OutputTag
from headgate.types.typeinfo import Types


class UnreadableFileError(SourceError):
    """A file is gone, has changed since it was found, or is damaged, so a retry would not help.

    Formats raise it for an error of one file. Any other `SourceError`, for instance of a store that does not answer,
    fails the job whatever its `FileErrors` are.
    """


@final
@dataclass(frozen=True, slots=True)
class FailedFile:
    """An element of the side output: a file, or a part of a file, that could not be read to its end.

    `path` is the path or URI, `error` the reason as text, `size_bytes` the size when the file was found. Records that
    were read before the error are in the stream.

    >>> FailedFile("/in/a.gz", "cannot read '/in/a.gz': Truncated compressed stream", 512).path
    '/in/a.gz'
    """

    path: str
    error: str
    size_bytes: int


@final
@dataclass(frozen=True, slots=True)
class FileErrors:
    """The reaction of a file source to a file that it cannot read. Pass it to `on_error` of the source's builder.

    A file cannot be read if it is gone, has changed since it was found, or is damaged. By default it fails the job.

    >>> FileErrors.skip().skips, FileErrors.fail().skips
    (True, False)
    """

    skips: bool = False
    """Whether the job continues without the file."""
    tag: OutputTag | None = None
    """The side output of the failed files; None: there is none."""

    @staticmethod
    def fail() -> FileErrors:
        """Fail the job; its restart strategy then decides whether it restarts. The default."""
        return FileErrors()

    @staticmethod
    def skip() -> FileErrors:
        """Leave out the rest of the file and count it in `skipped_files`; the log shows the first few."""
        return FileErrors(skips=True)

    @staticmethod
    def side_output(tag: OutputTag) -> FileErrors:
        """Skip the file, and emit a `FailedFile` with this tag, for `get_side_output(tag)`.

        Raises ProgramError for anything but a tag without a type.
        """
        if not isinstance(tag, OutputTag):
            raise ProgramError(f"FileErrors.side_output() takes an OutputTag, such as OutputTag('bad'), not {tag!r}")
        if tag.type_info not in (None, Types.PICKLED_BYTE_ARRAY()):
            raise ProgramError(
                f"the side output {tag.tag_id!r} holds failed files, which are FailedFile objects, but its type "
                f"is {tag.type_info}: leave the type out, and map the objects after get_side_output(...)"
            )
        return FileErrors(skips=True, tag=tag)


def unreadable(said: str, error: Exception, *, is_local: bool) -> SourceError:
    """Return the error to raise for an exception while reading: an `UnreadableFileError` if the file is at fault.

    On a remote file system, an `OSError` may come from the network. On the local one, an `OSError` of the operating
    system has an errno, and an error of the file's contents has none.
    """
    is_of_file = (
        isinstance(error, FileNotFoundError | pa.ArrowInvalid)
        or not isinstance(error, OSError)
        or (is_local and error.errno is None)
    )
    return (UnreadableFileError if is_of_file else SourceError)(said)


Kind = TypeVar("Kind")


def given(method: str, value: object, kind: type[Kind]) -> Kind:
    """Return the argument of a builder's method. Raises ProgramError if it is not an instance of `kind`."""
    if not isinstance(value, kind):
        raise ProgramError(f"{method}() takes a {kind.__name__}, made by its functions, not {value!r:.100}")
    return value
