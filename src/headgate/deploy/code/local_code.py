"""Makes shipped code usable in the driver's process: for the driver, and for the slots of MiniCluster."""

from __future__ import annotations

import importlib
import logging
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import Final, final

from headgate.deploy.code.archives import check_whole, unpack, write_cached
from headgate.deploy.code.installed import installed
from headgate.deploy.code.program_code import Archive, CachedFile, ProgramCode
from headgate.errors import EnvironmentFault
from headgate.options import PYTHON_EXECUTABLE

_log = logging.getLogger(__name__)

_given: Final[list[str]] = []
"""The entries of `sys.path` that `make_importable` added."""


def import_paths(path: Path) -> list[Path]:
    """Return the entries of `sys.path` that make a module, folder or archive of modules importable."""
    if path.suffix == ".py":
        return [path.parent]
    return [path, path.parent] if (path / "__init__.py").is_file() else [path]


def make_importable(files: Sequence[Path]) -> None:
    """Add the files to the module path of this process, in order, after its other entries.

    They come before files of earlier calls: as in slots, the latest of two modules of one name is imported.
    """
    wanted = dict.fromkeys(str(entry) for file in files for entry in import_paths(file))
    own = [entry for entry in wanted if entry in _given or entry not in sys.path]
    _given[:] = [*own, *(entry for entry in _given if entry in sys.path and entry not in own)]
    sys.path[:] = [*(entry for entry in sys.path if entry not in _given), *_given]
    importlib.invalidate_caches()


@final
class LocalCode:
    """The shipped code of one job in this process: on the module path, and in the working folder."""

    def __init__(self, code: ProgramCode) -> None:
        """Blocks while packages are installed. Raises EnvironmentFault if a package or an archive cannot be used."""
        self._links: list[Path] = []
        self._unpacked: list[Path] = []
        if code.requirements is not None:
            entry = str(installed(code.requirements).folder)
            sys.path[:] = [entry, *(other for other in sys.path if other != entry)]
        make_importable(code.files)
        if code.executable is not None:
            _log.warning("%s is %s, but MiniCluster runs in this process", PYTHON_EXECUTABLE.key, code.executable)
        try:
            for archive in code.archives:
                if PurePath(code.executable or "").parts[:1] != (archive.folder,):  # slots run in this process
                    self._unpack(archive)
            for file in code.cached:
                self._cache(file)
        except BaseException:
            self.close()
            raise

    def _unpack(self, archive: Archive) -> None:
        check_whole(archive.path)
        folder = self._folder()
        self._link(archive.folder, folder, archive.path, "another folder (target_dir)")
        unpack(archive.path, folder)

    def _cache(self, file: CachedFile) -> None:
        if file.is_executable and not os.access(file.path, os.X_OK):
            bundle = self._folder() / "file.tar"
            write_cached(file, bundle)
            unpack(bundle, bundle.parent)
            self._link(file.name, bundle.parent / file.name, file.path, "another name")
        elif os.path.realpath(file.name) != os.path.realpath(file.path):
            self._link(file.name, file.path, file.path, "another name")

    def _folder(self) -> Path:
        folder = Path(tempfile.mkdtemp(prefix="headgate-archive-"))
        self._unpacked.append(folder)
        return folder

    def _link(self, name: str, target: Path, given: Path, advice: str) -> None:
        link = Path.cwd() / name
        try:
            link.symlink_to(target)
        except FileExistsError:
            raise EnvironmentFault(
                f"{given} is to be found as {link}, where MiniCluster's functions look for it, but that is there "
                f"already: give it {advice}, or run the program in another folder"
            ) from None
        self._links.append(link)

    def close(self) -> None:
        """Delete the unpacked archives. Modules stay importable: other jobs of the process may use them."""
        for link in self._links:
            link.unlink(missing_ok=True)
        for folder in self._unpacked:
            shutil.rmtree(folder, ignore_errors=True)
