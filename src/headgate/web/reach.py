"""Which storage a request may name: a sender must not make the driver connect to an arbitrary server."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from starlette.exceptions import HTTPException

from headgate.checkpoint.file_store import without_secret
from headgate.config import Settings
from headgate.options import CHECKPOINT_DIR, RECOVERY_PATH, SAVEPOINT_DIR, STORAGE_DIR

_LOCATIONS: Final = (CHECKPOINT_DIR, STORAGE_DIR, SAVEPOINT_DIR, RECOVERY_PATH)
_BUCKETS: Final = ("s3", "gs", "gcs")
"""Schemes whose URIs name a bucket in the place of a host."""


def check_reach(location: str | None, jobs: Iterable[Settings]) -> None:
    """Check that `location` is local, in a public cloud, or on storage that one of the jobs is configured to use.

    Raises HTTPException for any other server, and for parameters or credentials that no job is configured to use.
    """
    if location is None:
        return
    server = _server(location)
    if server is None or server in {(scheme, "", "", "") for scheme in _BUCKETS}:
        return
    if server not in {_server(known) for job in jobs for option in _LOCATIONS if (known := job.get(option))}:
        raise HTTPException(
            400,
            f"{without_secret(location)} is on a server, or has parameters, that the job is not configured with. Set "
            f"{SAVEPOINT_DIR.key} to a folder there with the same parameters before the job starts, or use `headgate "
            "savepoint -d` on a machine that reaches it to delete a savepoint",
        )


def _server(location: str) -> tuple[str, str, str, str] | None:
    """Return the parts that determine the server and the credentials, None for a local path.

    >>> _server("s3://key:secret@bucket/a?endpoint_override=minio:9000"), _server("hdfs://namenode:8020/a")
    (('s3', 'key:secret', '', 'endpoint_override=minio:9000'), ('hdfs', '', 'namenode:8020', ''))
    """
    scheme, separator, rest = location.partition("://")
    if not separator or scheme == "file":
        return None
    before, _, parameters = rest.replace("#", "?", 1).partition("?")
    user, _, host = before.partition("/")[0].rpartition("@")
    return scheme, user, "" if scheme in _BUCKETS else host, parameters
