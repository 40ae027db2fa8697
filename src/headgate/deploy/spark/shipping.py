"""Ships the code that a program ships to the workers of a session, for the slots of one job.

Spark unpacks archives in the folder of each executor, for the whole session. Each goes there under a name made from its
content, so that jobs with other files do not meet, and the same files travel once. What a job makes of them is its own:
its slots run in Python workers that no other job has, with the modules on their path and the archives in their working
folder.
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
from headgate.deploy.code.archives import check_whole
from headgate.deploy.code.bundle import write_bundle, write_cached
from headgate.deploy.code.cached_files import CachedFile
from headgate.deploy.code.installed import installed
from headgate.deploy.code.local_code import make_importable
from headgate.deploy.code.program_code import ARCHIVE_SUFFIXES, ProgramCode, program_code
from headgate.deploy.spark.preflight import is_local
from headgate.errors import ConfigError
from headgate.options import PYTHON_EXECUTABLE

CODE_VARIABLE: Final = "HEADGATE_CODE"
"""Environment variable of a worker: which code it has. Spark gives workers with another environment to other jobs."""
_STAGED: Final = "headgate-staged"
_staging: Final = threading.Lock()
"""Held while an archive is given to Spark: another job's same one is not there before it is unpacked."""
_CHUNK_BYTES: Final = 2**20


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ShippedCode:
    """What there is for the slots of a job, by names below the folder where Spark unpacks.

    `imports` are for the module path, the first wins; `folders` maps names in the working folder to what is
    there. `python` is the Python to start, None for the session's.
    """

    imports: tuple[str, ...] = ()
    folders: tuple[tuple[str, str], ...] = ()
    python: str | None = None

    @property
    def name(self) -> str:
        """A name that only the same code has; empty for nothing."""
        if not self.imports and not self.folders:
            return ""
        return hashlib.sha256(repr((self.imports, self.folders)).encode()).hexdigest()[:16]


def ship(context: SparkContext, settings: Settings) -> ShippedCode:
    """Give the session what the settings name. Blocks while files are copied and packages installed.

    The driver can import the files, too. Raises ConfigError for what is not there, EnvironmentFault for packages that
    cannot be installed, and for a damaged archive.
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
    """The archives of a session. Nothing in it has to be removed: it all goes with the session's own files."""

    def __init__(self, context: SparkContext) -> None:
        self._context = context
        self._root = Path(SparkFiles.getRootDirectory()).absolute()
        self._staged = self._root / _STAGED
        self._staged.mkdir(exist_ok=True)

    def add(self, file: Path) -> str:
        """Have Spark unpack a file everywhere; return the name of the folder."""
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
        """Have Spark give a file to everyone; return its path."""
        with tempfile.TemporaryDirectory(prefix="headgate-code-") as folder:
            bundle = Path(folder) / "file.tar"
            write_cached(file, bundle)
            return f"{self.add(bundle)}/{file.name}"

    def add_requirements(self, code: ProgramCode) -> Iterable[str]:
        return [] if code.requirements is None else [self.add(installed(code.requirements).archive)]

    def python(self, executable: str | None, folders: dict[str, str]) -> str | None:
        """Return how executors start the Python: by a path in their working folder if it is in an archive."""
        if executable is None:
            return None
        local = is_local(self._context.master or "")
        first, _, rest = executable.removeprefix("./").partition("/")
        if first in folders and rest:
            if not os.path.lexists(self._root / folders[first] / rest):  # a link may lead to a Python of the workers
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
    """Copy an archive, a plain .tar as .tar.gz: Spark unpacks the former without permissions, or not at all."""
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
    """A Spark context as the RDDs of one job see it: their Python and the environment of their workers are its own."""

    def __init__(self, context: SparkContext, code: ShippedCode) -> None:
        self._context = context
        self.pythonExec = code.python or context.pythonExec
        self.environment = {**context.environment, **({CODE_VARIABLE: code.name} if code.name else {})}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)


TaskEntry = Callable[[], AbstractContextManager[None]]
"""Pickled by value: a context in which everything can be imported."""


def task_entry(code: ShippedCode, *, local: bool) -> TaskEntry:
    """Return the context of a job's tasks: what was shipped is there.

    Modules can be imported, before others of their names, and the working folder has the archives. `local`: workers are
    of this machine, and look where the driver looks, last.
    """
    imports, folders, name = code.imports, code.folders, code.name
    of_driver = [os.path.abspath(path) for path in sys.path] if local else []

    def entry() -> Any:
        import contextlib  # noqa: PLC0415  # this function travels by value
        import os  # noqa: PLC0415
        import sys  # noqa: PLC0415

        from pyspark import SparkFiles  # noqa: PLC0415

        root = os.path.abspath(SparkFiles.getRootDirectory())
        shipped = [os.path.join(root, path) for path in imports]
        # Executors have relative folders of Spark's on the path, which would not hold in another working folder.
        own = [os.path.abspath(path) for path in sys.path]
        sys.path[:] = dict.fromkeys([*shipped, *own, *of_driver])
        if not folders:
            return contextlib.nullcontext()
        working = os.path.join(root, f"headgate-work-{name}")
        os.makedirs(working, exist_ok=True)
        for folder, unpacked in folders:
            with contextlib.suppress(FileExistsError):  # made by another slot
                os.symlink(os.path.join(root, unpacked), os.path.join(working, folder))
        return contextlib.chdir(working)

    return entry
