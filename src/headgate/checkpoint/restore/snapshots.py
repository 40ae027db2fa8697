"""Snapshots at locations that a user names: a savepoint, or a retained checkpoint of any job. All functions block."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import final

from headgate.checkpoint import paths
from headgate.checkpoint.manifest import Manifest, decode
from headgate.checkpoint.seal import is_torn
from headgate.checkpoint.store import CheckpointStore
from headgate.errors import DamagedFileError, RestoreError
from headgate.state.files import FileHandle


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedSnapshot:
    """A complete snapshot. `store` is the folder at `root`.

    The paths in the manifest, and `metadata`, the path of the manifest itself, are relative to `root`.
    """

    root: str
    store: CheckpointStore
    manifest: Manifest
    metadata: str


def open_snapshot(location: str, open_store: Callable[[str], CheckpointStore]) -> OpenedSnapshot:
    """Return the snapshot at `location`: a savepoint's folder, a `chk-n` folder, or the `_metadata` file in either.

    `open_store` opens a folder by its location, as `FileSystemStore.open_folder` does. State files are not checked: see
    `check_files`. Raises RestoreError, naming the location and the next step, when there is no complete snapshot;
    StorageError when storage does not answer.
    """
    folder = _without_metadata(paths.absolute(location))
    parent, name = paths.split(folder)
    if paths.checkpoint_of(name) is not None:
        found = _read(open_store(parent), f"{name}/{paths.METADATA}", folder)
        if found.savepoint is None:
            return _checkpoint(parent, open_store(parent), found, name)
    store = open_store(folder)
    found = _read(store, paths.METADATA, folder)
    if found.savepoint is None:
        raise RestoreError(_moved(folder, found))
    return OpenedSnapshot(root=folder, store=store, manifest=found, metadata=paths.METADATA)


def is_snapshot(location: str, open_store: Callable[[str], CheckpointStore]) -> bool:
    """Return whether there is a savepoint or checkpoint at `location`, which may be its `_metadata` file. Blocks.

    Raises StorageError when storage does not answer.
    """
    return open_store(_without_metadata(paths.absolute(location))).read(paths.METADATA) is not None


def _checkpoint(root: str, store: CheckpointStore, found: Manifest, name: str) -> OpenedSnapshot:
    metadata = paths.metadata(found.checkpoint_id)
    if metadata != f"{name}/{paths.METADATA}":
        raise RestoreError(_moved(paths.below(root, name), found))
    return OpenedSnapshot(root=root, store=store, manifest=found, metadata=metadata)


def _read(store: CheckpointStore, path: str, folder: str) -> Manifest:
    data = store.read(path)
    if data is None:
        raise RestoreError(_no_snapshot(folder, store, path.rpartition("/")[0]))
    if is_torn(data):
        raise RestoreError(f"{store.locate(path)} is cut short: the snapshot was never completed. Name another one")
    try:
        return decode(data, store.locate(path))
    except DamagedFileError as error:
        raise RestoreError(f"{error}. Bring the file back, or name another snapshot") from error


def _moved(folder: str, found: Manifest) -> str:
    return (
        f"{folder} holds checkpoint {found.checkpoint_id}, which works only as the folder "
        f"{paths.checkpoint_folder(found.checkpoint_id)} in the folder of its job: a checkpoint cannot be moved or "
        "renamed. Name it where it was made, or make a savepoint, which can be moved"
    )


def check_files(opened: OpenedSnapshot) -> None:
    """Check that every file that the snapshot names exists and has its size. Lists the snapshot's folder.

    Raises RestoreError that names the first wrong file, and the number of further ones.
    """
    troubles = missing_files(opened.store, opened.manifest)
    if troubles:
        more = f" (and {len(troubles) - 1} more)" if len(troubles) > 1 else ""
        raise RestoreError(
            f"the snapshot {opened.store.locate(opened.metadata)} is not whole: {troubles[0]}{more}. "
            "Bring the files back, or start from another snapshot"
        )


def missing_files(store: CheckpointStore, manifest: Manifest) -> list[str]:
    """Return a sentence for each file of the manifest that is missing or has another size. Lists their folders."""
    sizes: dict[str, int] = {}
    for folder in sorted({path.partition("/")[0] if "/" in path else "" for path in manifest.files()}):
        sizes.update(store.list_sizes(folder))
    return file_troubles(store, manifest, sizes)


def file_troubles(store: CheckpointStore, manifest: Manifest, sizes: Mapping[str, int]) -> list[str]:
    """Return a sentence for each file of the manifest that is missing or has another size.

    `sizes` are the sizes of the files that exist, by path.
    """
    handles = {handle.path: handle for handle in manifest.handles() if isinstance(handle, FileHandle)}
    wrong = [handle for path, handle in sorted(handles.items()) if sizes.get(path) != handle.size_bytes]
    return [_trouble(store, handle, sizes.get(handle.path)) for handle in wrong]


def _trouble(store: CheckpointStore, handle: FileHandle, size_bytes: int | None) -> str:
    where = store.locate(handle.path)
    return f"{where} is missing" if size_bytes is None else f"{where} has {size_bytes} bytes, not {handle.size_bytes}"


def _without_metadata(location: str) -> str:
    folder, name = paths.split(location)
    return folder if name == paths.METADATA else paths.below(folder, name)


def _no_snapshot(location: str, store: CheckpointStore, folder: str) -> str:
    found = store.list_files(folder)
    manifests = [path for path in found if path.endswith(f"/{paths.METADATA}")]
    if manifests:
        advice = f"did you mean {store.locate(manifests[-1].rpartition('/')[0])}?"
    else:
        advice = "give the folder of a savepoint, or the chk-<n> folder of a retained checkpoint"
    what = f"has no file {paths.METADATA}" if found else "does not exist, or is empty"
    return f"there is no snapshot at {location}, which {what}: {advice}"
