"""The address of a running driver: a small file in the folder of its job, and another in a folder of the user.

Everybody who can read the job's storage finds the first file, on any machine. Programs of the same user on the same
machine find the second file, also when the job has no storage. Both contain the token, so whoever can read one of them
can operate the job.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final, final

from headgate.checkpoint import paths
from headgate.checkpoint.seal import is_torn, seal, unseal
from headgate.checkpoint.store import CheckpointStore
from headgate.errors import DamagedFileError, EnvironmentFault
from headgate.ids import JobId

RUN_DIRECTORY: Final = "HEADGATE_RUN_DIR"
"""The environment variable that names another folder for the addresses of this user's drivers."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class DriverAddress:
    """The URL of the REST interface of a job's driver, and the token that gives access to it.

    `certificate` is the PEM text of the driver's certificate, None without TLS. `storage` is the location of the job's
    folder, None when the driver keeps everything in memory. `token` never shows in `repr`.
    """

    job_id: JobId
    job_name: str
    url: str
    token: str
    certificate: str | None
    host: str
    pid: int
    started_ms: int
    storage: str | None

    def __repr__(self) -> str:
        return f"DriverAddress({self.job_id}, {self.url}, pid {self.pid} on {self.host})"


def write_address(store: CheckpointStore, address: DriverAddress) -> str:
    """Write the address to the job's folder as the latest one. Return its path, for `remove_address`.

    Deletes the addresses that earlier drivers have left behind. Blocks. Raises StorageError.
    """
    earlier = store.list_files(paths.MASTERS)
    number = max(map(paths.master_number, earlier), default=0) + 1
    path = paths.master_address(number, secrets.token_hex(4))
    store.write(path, [seal(asdict(address))])
    store.delete(earlier)
    return path


def read_address(store: CheckpointStore) -> DriverAddress | None:
    """Return the address of the job's latest driver, which may have crashed; None: no driver runs. Blocks.

    Raises StorageError, and DamagedFileError when the file has changed.
    """
    written = [path for path in store.list_files(paths.MASTERS) if paths.master_number(path)]
    for path in sorted(written, key=paths.master_number, reverse=True):
        data = store.read(path)
        if data is not None and not is_torn(data):
            return _decode(unseal(data, store.locate(path)), store.locate(path))
    return None


def remove_address(store: CheckpointStore, path: str) -> None:
    """Delete the address at `path`, and its folder if no later driver has an address there. Raises StorageError."""
    store.delete([path])
    if not store.list_files(paths.MASTERS):
        store.delete_folder(paths.MASTERS)


def without_credentials(location: str) -> str:
    """Return the location without the user and password that a URI may have.

    >>> without_credentials("s3://key:sec/ret@bucket/checkpoints"), without_credentials("/data/a@b")
    ('s3://bucket/checkpoints', '/data/a@b')
    """
    scheme, separator, rest = location.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}" if separator else location


@final
class RunDirectory:
    """The folder for the addresses of this user's drivers on this machine. Only the user can enter it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @staticmethod
    def of_user() -> RunDirectory:
        """Return the folder of `HEADGATE_RUN_DIR`, else one below `XDG_RUNTIME_DIR` or below the temporary folder."""
        own = os.environ.get(RUN_DIRECTORY)
        if own:
            return RunDirectory(Path(own))
        runtime = os.environ.get("XDG_RUNTIME_DIR")
        if runtime and os.access(runtime, os.W_OK):
            return RunDirectory(Path(runtime) / "headgate")
        return RunDirectory(Path(tempfile.gettempdir()) / f"headgate-{os.getuid()}")

    def write(self, address: DriverAddress) -> None:
        """Write the address. Remove the addresses of dead processes whose jobs have nothing in storage.

        Also remove the addresses of earlier drivers of the same job: its storage belongs to this driver now.

        Raises EnvironmentFault when the folder belongs to another user, OSError when it cannot be written.
        """
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._check_private()
        for left in self.read():
            if not is_alive(left) and (left.job_id == address.job_id or not _is_stored(left)):
                self.remove(left)
        path = self._path(address)
        path.unlink(missing_ok=True)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(seal(asdict(address)))

    def remove(self, address: DriverAddress) -> None:
        """Delete the address. Does nothing when it does not exist."""
        self._path(address).unlink(missing_ok=True)

    def read(self) -> list[DriverAddress]:
        """Return all addresses, also those of drivers that have crashed, in the order of their start.

        Raises EnvironmentFault when the folder belongs to another user.
        """
        if not self._folder.is_dir():
            return []
        self._check_private()
        return sorted(self._addresses(), key=lambda address: address.started_ms)

    def _addresses(self) -> Iterator[DriverAddress]:
        for path in self._folder.glob("*.json"):
            with contextlib.suppress(OSError, DamagedFileError):  # being written or removed
                yield _decode(unseal(path.read_bytes(), str(path)), str(path))

    def _check_private(self) -> None:
        found = self._folder.stat()
        if found.st_uid != os.getuid() or found.st_mode & 0o077:
            raise EnvironmentFault(
                f"{self._folder} is open to other users, so the addresses of drivers in it cannot be trusted: "
                f"chmod 700 it, or name another folder with the environment variable {RUN_DIRECTORY}"
            )

    def _path(self, address: DriverAddress) -> Path:
        return self._folder / f"{address.job_id}-{address.pid}.json"


def is_alive(address: DriverAddress) -> bool:
    """Return whether the process of a driver on this machine runs."""
    try:
        os.kill(address.pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _is_stored(address: DriverAddress) -> bool:
    """Return whether storage may still have checkpoints of the job."""
    where = address.storage
    return where is not None and (not where.startswith("/") or os.path.isdir(where))


def _decode(document: dict[str, Any], where: str) -> DriverAddress:
    known = {field.name for field in fields(DriverAddress)}
    if not known <= document.keys():
        raise DamagedFileError(f"{where} is not the address of a driver: it lacks {sorted(known - document.keys())}")
    return DriverAddress(**{name: document[name] for name in known})
