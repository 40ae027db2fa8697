"""Ships a program's code to the workers of a session, and makes it importable in the tasks of one job.

Spark unpacks archives in the folder of each executor, for the whole session. The name of an archive is derived from its
content, so that files of two jobs do not collide and equal files travel once. Each job has Python workers of its own,
with the modules on their path and the archives in their working folder.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

from pyspark import SparkContext, SparkFiles

from headgate.config import Settings
from headgate.deploy.code.archives import check_whole, write_bundle, write_cached
from headgate.deploy.code.installed import installed
from headgate.deploy.code.local_code import make_importable
from headgate.deploy.code.program_code import ARCHIVE_SUFFIXES, CachedFile, ProgramCode, program_code
from headgate.deploy.spark.preflight import is_local
from headgate.errors import ConfigError
from headgate.options import PYTHON_EXECUTABLE

CODE_VARIABLE: Final = "HEADGATE_CODE"
"""Environment variable that names a worker's code. Spark reuses a worker only for the same environment."""
_STAGED: Final = "headgate-staged"
_staging: Final = threading.Lock()
"""Held while Spark unpacks an archive, so that another job does not use the same archive before that."""
_CHUNK_BYTES: Final = 2**20


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ShippedCode:
    """The shipped code of a job. Paths are relative to the folder in which Spark unpacks archives.

    `imports` are entries for the module path; the first one with a module wins. `folders` are names in the working
    folder, each with the path of its target. `python` is the Python to start, None for the session's Python.
    """

    imports: tuple[str, ...] = ()
    folders: tuple[tuple[str, str], ...] = ()
    python: str | None = None

    @property
    def name(self) -> str:
        """A name derived from the code; empty without code."""
        if not self.imports and not self.folders:
            return ""
        return hashlib.sha256(repr((self.imports, self.folders)).encode()).hexdigest()[:16]


def ship(context: SparkContext, settings: Settings) -> ShippedCode:
    """Ship the code that the settings name. Blocks while files are copied and packages installed.

    The driver can import the files afterwards, too. Raises ConfigError for missing files, EnvironmentFault for packages
    that cannot be installed and for damaged archives.
    """
    code = program_code(settings)
    if code.is_nothing:
        return ShippedCode()
    make_importable(code.files)
    session = _Session(context)
    imports = [*session.add_files(code), *session.add_requirements(code)]
    archives = tuple((each.folder, session.add(each.path)) for each in code.archives)
    return ShippedCode(
        imports=tuple(imports),
        folders=(*archives, *((each.name, session.add_cached(each)) for each in code.cached)),
        python=session.python(code.executable, dict(archives)),
    )


@final
class _Session:
    """The archives of a session. Spark deletes them with the session's other files."""

    def __init__(self, context: SparkContext) -> None:
        self._context = context
        self._root = Path(SparkFiles.getRootDirectory()).absolute()
        self._staged = self._root / _STAGED
        self._staged.mkdir(exist_ok=True)

    def add(self, file: Path) -> str:
        """Let Spark unpack an archive on every executor. Return the name of the folder."""
        name = f"headgate-{_digest(file)}"
        end = next(end for end in sorted(ARCHIVE_SUFFIXES) if file.name.endswith(end))
        staged = self._staged / (name + (".tar.gz" if end == ".tar" else end))
        with _staging:
            if not staged.exists():
                check_whole(file)
                copy = staged.with_suffix(f".{os.getpid()}")
                _copy(file, copy)
                copy.replace(staged)
            self._context.addArchive(f"{staged.as_uri()}#{name}")
        return name

    def add_files(self, code: ProgramCode) -> Iterable[str]:
        if not code.files:
            return []
        with tempfile.TemporaryDirectory(prefix="headgate-code-") as folder:
            bundle = Path(folder) / "files.tar"
            inside = write_bundle(code.files, bundle)
            name = self.add(bundle)
        return [f"{name}/{path}" for path in inside]

    def add_cached(self, file: CachedFile) -> str:
        """Let Spark copy a file to every executor. Return its path."""
        with tempfile.TemporaryDirectory(prefix="headgate-code-") as folder:
            bundle = Path(folder) / "file.tar"
            write_cached(file, bundle)
            return f"{self.add(bundle)}/{file.name}"

    def add_requirements(self, code: ProgramCode) -> Iterable[str]:
        return [] if code.requirements is None else [self.add(installed(code.requirements).archive)]

    def python(self, executable: str | None, folders: dict[str, str]) -> str | None:
        """Return the command of the workers' Python: a path in the working folder if an archive contains it."""
        if executable is None:
            return None
        local = is_local(self._context.master or "")
        first, _, rest = executable.removeprefix("./").partition("/")
        if first in folders and rest:
            if not os.path.lexists(self._root / folders[first] / rest):  # a link may point to a Python of workers
                raise ConfigError(f"{PYTHON_EXECUTABLE.key} is {executable}, but the archive {first} has no {rest}")
            return str(self._root / folders[first] / rest) if local else f"./{folders[first]}/{rest}"
        if rest and not os.path.isabs(executable):
            raise ConfigError(
                f"{PYTHON_EXECUTABLE.key} is {executable}, which is neither an absolute path nor in one of the job's "
                f"archives ({', '.join(folders) or 'there are none'}): add the archive, or give a path that all "
                "workers have"
            )
        if local and shutil.which(executable) is None:
            raise ConfigError(f"{PYTHON_EXECUTABLE.key}: there is no program {executable} on this machine")
        return executable


def _copy(file: Path, target: Path) -> None:
    """Copy an archive, a .tar as .tar.gz: Spark unpacks a .tar without permissions, or not at all."""
    with file.open("rb") as content, gzip.open(target, "wb", 1) if file.suffix == ".tar" else target.open("wb") as copy:
        shutil.copyfileobj(content, copy)


def _digest(file: Path) -> str:
    found = hashlib.sha256()
    with file.open("rb") as content:
        while chunk := content.read(_CHUNK_BYTES):
            found.update(chunk)
    return found.hexdigest()[:16]


@final
class JobContext:
    """A Spark context for the RDDs of one job, with the job's Python and the job's environment of workers."""

    def __init__(self, context: SparkContext, code: ShippedCode) -> None:
        self._context = context
        self.pythonExec = code.python or context.pythonExec
        self.environment = {**context.environment, **({CODE_VARIABLE: code.name} if code.name else {})}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)


TaskEntry = Callable[[], AbstractContextManager[None]]
"""Returns a context in which the shipped code can be imported. Pickled by value."""


def task_entry(code: ShippedCode, *, local: bool) -> TaskEntry:
    """Return the context for the tasks of a job.

    Inside it, shipped modules can be imported and hide other modules of the same name, and the working folder contains
    the archives. With `local`, workers run on this machine and also import from the driver's module path, last.
    """
    imports, folders, name = code.imports, code.folders, code.name
    of_driver = [os.path.abspath(path) for path in sys.path] if local else []

    def entry() -> Any:
        import contextlib  # noqa: PLC0415  # pickled by value
        import os  # noqa: PLC0415
        import sys  # noqa: PLC0415

        from pyspark import SparkFiles  # noqa: PLC0415

        root = os.path.abspath(SparkFiles.getRootDirectory())
        shipped = [os.path.join(root, path) for path in imports]
        # Spark puts relative folders on the path, which would be wrong in another working folder.
        own = [os.path.abspath(path) for path in sys.path]
        sys.path[:] = dict.fromkeys([*shipped, *own, *of_driver])
        if not folders:
            return contextlib.nullcontext()
        working = os.path.join(root, f"headgate-work-{name}")
        os.makedirs(working, exist_ok=True)
        for folder, unpacked in folders:
            with contextlib.suppress(FileExistsError):  # another slot made it
                os.symlink(os.path.join(root, unpacked), os.path.join(working, folder))
        return contextlib.chdir(working)

    return entry
