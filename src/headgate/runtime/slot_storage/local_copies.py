"""Local copies: a second copy, on the slot's own disk, of the state that the slot writes.

After a failure that the slot's process survives, its subtasks restore from these copies and fetch nothing. Copies are
optional, because storage has everything: a copy that cannot be written is skipped, and a copy that is missing or has
changed is ignored.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import shutil
import threading
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import final

from headgate.checkpoint import paths
from headgate.checkpoint.store import CheckpointStore, Chunk, check_whole, chunks_of, receive
from headgate.errors import StorageError
from headgate.ids import Attempt, CheckpointId
from headgate.state.files import FileHandle

_log = logging.getLogger(__name__)


@final
class LocalCopies:
    """A `CheckpointStore` that writes to another one and keeps copies in `folder`.

    A copy is removed when neither the newest complete checkpoint nor one under way needs it.
    """

    def __init__(self, store: CheckpointStore, folder: Path) -> None:
        self.served = 0
        """The number of files read from copies."""
        self._store = store
        self._folder = folder
        self._lock = threading.Lock()
        self._kept: dict[str, FileHandle] = {}
        self._uploaded: set[str] = set()
        self._needed: dict[CheckpointId, frozenset[str]] = {}
        self._completed = CheckpointId(0)
        self._attempt = Attempt(0)
        self._used_ahead: dict[str, int] = {}

    # --- the store

    def locate(self, path: str) -> str:
        return self._store.locate(path)

    def write(self, path: str, chunks: Iterable[Chunk]) -> FileHandle:
        copying = _Copying(self._place(path))
        try:
            handle = self._store.write(path, copying.of(chunks))
        except BaseException:
            copying.drop()
            raise
        if copying.whole:
            self._keep(handle)
        return handle

    def upload(self, path: str, source: Path) -> FileHandle:
        handle = self._store.upload(path, source)
        try:
            _link_or_copy(source, self._place(path))
        except OSError as error:
            _log.warning("headgate keeps no local copy of %s: %s", path, error)
            self._drop([path])
        else:
            self._uploaded.add(path)
            self._keep(handle)
        return handle

    def secure(self, path: str) -> None:
        self._store.secure(path)

    def read(self, path: str) -> bytes | None:
        handle = self._kept.get(path)
        if handle is not None:
            try:
                data = self._place(path).read_bytes()
            except OSError as error:
                self._pass_over(path, error)
            else:
                if (len(data), zlib.crc32(data)) == (handle.size_bytes, handle.crc32):
                    self.served += 1
                    return data
                self._pass_over(path, "it has changed")
        return self._store.read(path)

    def download(self, handle: FileHandle, target: Path) -> None:
        if handle.path in self._kept:
            copy = self._place(handle.path)
            try:
                self._bring(copy, handle, target)
            except (StorageError, OSError) as error:
                target.unlink(missing_ok=True)
                self._pass_over(handle.path, error)
            else:
                self.served += 1
                return
        self._store.download(handle, target)

    def _bring(self, copy: Path, handle: FileHandle, target: Path) -> None:
        """Make `target` a checked copy of the local copy: by a link, if the copy was uploaded from a file."""
        if handle.path not in self._uploaded:
            receive(chunks_of(copy), handle, target, str(copy))
            return
        size_bytes, crc32 = 0, 0
        for chunk in chunks_of(copy):
            size_bytes += len(chunk)
            crc32 = zlib.crc32(chunk, crc32)
        check_whole(handle, size_bytes, crc32, str(copy))
        _link_or_copy(copy, target)

    def list_files(self, folder: str) -> list[str]:
        return self._store.list_files(folder)

    def list_sizes(self, folder: str) -> dict[str, int]:
        return self._store.list_sizes(folder)

    def delete(self, paths: Iterable[str]) -> None:
        self._store.delete(paths)

    def delete_folder(self, folder: str) -> None:
        self._store.delete_folder(folder)

    def _place(self, path: str) -> Path:
        return self._folder / hashlib.sha1(path.encode(), usedforsecurity=False).hexdigest()

    def _keep(self, handle: FileHandle) -> None:
        with self._lock:
            self._kept[handle.path] = handle

    def _pass_over(self, path: str, reason: object) -> None:
        _log.warning("the local copy of %s is not used: %s", path, reason)
        self._drop([path])

    # --- needed copies

    def begin(self, attempt: Attempt, checkpoint_id: CheckpointId | None, files: Iterable[str]) -> None:
        """Begin an attempt that restores these files of the checkpoint. Removes all other copies.

        Does nothing when a later attempt has begun.
        """
        named = frozenset(files)
        with self._lock:
            if attempt < self._attempt:
                return
            self._attempt = attempt
            self._used_ahead = {}
            self._completed = checkpoint_id or CheckpointId(0)
            self._needed = {self._completed: named}
            unneeded = self._kept.keys() - named
        self._drop(unneeded)

    def taken(self, checkpoint_id: CheckpointId, files: Iterable[str]) -> None:
        """Note that a checkpoint under way needs these files."""
        with self._lock:
            self._needed[checkpoint_id] = self._needed.get(checkpoint_id, frozenset()).union(files)

    def completed(self, checkpoint_id: CheckpointId) -> None:
        """Remove the copies that neither this complete checkpoint nor a later one can need. Blocks."""
        with self._lock:
            self._completed = max(self._completed, checkpoint_id)
            self._needed = {of: files for of, files in self._needed.items() if of >= self._completed}
            needed = frozenset[str]().union(*self._needed.values())
            self._note_used_ahead(self._needed.get(self._completed, ()))
            unneeded = [path for path in self._kept.keys() - needed if not self._may_be_needed(path)]
        self._drop(unneeded)

    def _note_used_ahead(self, files: Iterable[str]) -> None:
        for origin in map(paths.origin_of, files):
            if origin is not None and origin.number is not None:
                self._used_ahead[origin.writer] = max(self._used_ahead.get(origin.writer, 0), origin.number)

    def _may_be_needed(self, path: str) -> bool:
        """Return whether a later checkpoint may name a file that no checkpoint under way names.

        So may a file that was made for a later checkpoint, or ahead of one. Checkpoints use the files that a writer
        writes ahead in order, so a higher number than the last used one may still be used. Writing a whole state ahead
        may take longer than many checkpoints.
        """
        origin = paths.origin_of(path)
        if origin is not None and origin.number is not None:
            return origin.attempt == self._attempt and origin.number > self._used_ahead.get(origin.writer, 0)
        made_for = _made_for(path)
        return made_for is not None and made_for > self._completed

    def aborted(self, checkpoint_id: CheckpointId) -> None:
        """Remove the copies made for a checkpoint that was given up. Blocks."""
        with self._lock:
            self._needed.pop(checkpoint_id, None)
            unneeded = [path for path in self._kept if _made_for(path) == checkpoint_id]
        self._drop(unneeded)

    def _drop(self, unneeded: Iterable[str]) -> None:
        for path in unneeded:
            with self._lock:
                self._kept.pop(path, None)
                self._uploaded.discard(path)
            try:
                self._place(path).unlink(missing_ok=True)
            except OSError as error:
                _log.warning("the local copy of %s cannot be removed: %s", path, error)


def _made_for(path: str) -> CheckpointId | None:
    origin = paths.origin_of(path)
    return paths.checkpoint_of(path) if origin is None else origin.checkpoint_id


def _link_or_copy(source: Path, target: Path) -> None:
    target.unlink(missing_ok=True)
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


@final
class _Copying:
    """Copies chunks to a local file while they pass by; `whole` says whether the file has all of them."""

    def __init__(self, target: Path) -> None:
        self.whole = True
        self._target = target

    def of(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        """Yield the chunks, and append each to the local file."""
        self._append(b"", "wb")
        for chunk in chunks:
            if self.whole:
                self._append(chunk, "ab")
            yield chunk

    def _append(self, chunk: Chunk, mode: str) -> None:
        try:
            with self._target.open(mode) as file:
                file.write(chunk)
        except OSError as error:
            self.whole = False
            self.drop()
            _log.warning("headgate keeps no local copies in %s: %s", self._target, error)

    def drop(self) -> None:
        """Remove the file: a partial copy only takes disk space."""
        with contextlib.suppress(OSError):
            self._target.unlink(missing_ok=True)
