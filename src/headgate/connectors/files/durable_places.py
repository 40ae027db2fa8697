"""Places that outlive a loss of power: those on local file systems. What an object store has is durable anyway."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from headgate.checkpoint import durable
from headgate.connectors.files.places import Place


def make_folder(folder: Place) -> None:
    """Make a folder, and those above it, unless they are there; blocks."""
    if folder.root:
        folder.system.create_dir(folder.path, recursive=True)
    else:
        durable.make_folder(folder.path)


def sync_files(files: Iterable[Place]) -> None:
    """Make durable what the files hold, except those that are not there; blocks."""
    durable.sync_files(file.path for file in files if not file.root)


def sync_folders(folders: Iterable[Place]) -> None:
    """Make durable which names there are in the folders; blocks."""
    for folder in folders:
        if not folder.root:
            durable.sync_folder(folder.path)


def folders_to(base: Place, folder: Place) -> Iterator[Place]:
    """Yield the folder, and each that it is in up to `base`."""
    while folder != base:
        yield folder
        folder = folder.folder
    yield base
