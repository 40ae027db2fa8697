"""The methods of an environment that ship code with its jobs."""

from __future__ import annotations

from headgate.common.configuration import Configuration
from headgate.config import Option
from headgate.datastream.checks import check_text
from headgate.deploy.code.local_code import make_importable
from headgate.deploy.code.program_code import (
    CACHED_SEPARATOR,
    FOLDER_MARK,
    SEPARATOR,
    archive,
    cached_file,
    cached_files,
    module_file,
    requirements,
)
from headgate.errors import ConfigError
from headgate.options import CACHED_FILES, PYTHON_ARCHIVES, PYTHON_EXECUTABLE, PYTHON_FILES, PYTHON_REQUIREMENTS


class PythonDependencies:
    """Methods of StreamExecutionEnvironment that add what the slots need besides the program itself.

    Each method sets an option. Unlike the option, the method raises ConfigError at once if the path does not exist.
    """

    _configuration: Configuration

    def add_python_file(self, file_path: str) -> None:
        """Let slots import from a module (.py), a folder, or an archive of modules (.zip, .whl, .egg).

        From a folder, its modules can be imported, and the folder itself if it is a package. From now on the driver can
        import from the file, too. Of two modules of the same name, the module added last wins. Raises ConfigError if
        the file does not exist.
        """
        path = module_file(_path("add_python_file", file_path))
        make_importable([path])
        self._put_first(PYTHON_FILES, str(path))

    def add_python_archive(self, archive_path: str, target_dir: str | None = None) -> None:
        """Unpack an archive in the working folder of each slot, in the folder `target_dir`.

        Functions open its files by relative paths, such as `model.zip/weights.bin`. Without `target_dir` the folder has
        the archive's name. Raises ConfigError if the archive does not exist or cannot be unpacked.
        """
        path = _path("add_python_archive", archive_path)
        if target_dir is not None:
            path += FOLDER_MARK + _path("add_python_archive", target_dir)
        found = archive(path)
        self._put_first(PYTHON_ARCHIVES, f"{found.path}{FOLDER_MARK}{found.folder}")

    def register_cached_file(self, file_path: str, name: str, executable: bool = False) -> None:
        """Copy a file or folder to the working folder of each slot under this name; functions call `open(name)`.

        With `executable`, functions may also run the file. Raises ConfigError if the file does not exist, or the name
        is in use.
        """
        given = self._configuration.read(CACHED_FILES)
        file = cached_file(file_path, name, is_executable=executable)
        files = file.entry if given is None else f"{given}{CACHED_SEPARATOR}{file.entry}"
        cached_files(files)
        self._configuration.write(CACHED_FILES, files)

    def set_python_requirements(self, requirements_file_path: str, requirements_cache_dir: str | None = None) -> None:
        """Install the packages of a requirements file for the job's slots.

        When a job is submitted, pip installs the packages on the driver's machine, once for each content of the file.
        They are then shipped to the slots. `requirements_cache_dir` is a folder with the packages, as `pip download`
        makes it; with it nothing is downloaded. Raises ConfigError if the file or the folder does not exist.
        """
        file = _path("set_python_requirements", requirements_file_path)
        folder = None if requirements_cache_dir is None else _path("set_python_requirements", requirements_cache_dir)
        found = requirements(file, folder)
        mark = "" if found.packages is None else f"{FOLDER_MARK}{found.packages}"
        self._configuration.write(PYTHON_REQUIREMENTS, f"{found.file}{mark}")

    def set_python_executable(self, python_exec: str) -> None:
        """Set the Python executable of the slots: a path on the workers, or a path in an archive that was added.

        This Python must have the driver's minor version, headgate and pyarrow. Raises ProgramError for empty text.
        """
        check_text("the Python of slots", python_exec)
        self._configuration.write(PYTHON_EXECUTABLE, python_exec)

    def _put_first(self, option: Option[str | None], path: str) -> None:
        before = self._configuration.read(option)
        self._configuration.write(option, path if before is None else f"{path}{SEPARATOR}{before}")


def _path(method: str, path: object) -> str:
    """Return the path. Raises ConfigError if it is not text or contains a character that separates paths."""
    if not isinstance(path, str) or not path:
        raise ConfigError(f"{method}() takes a path as text, not {path!r}")
    if SEPARATOR in path or FOLDER_MARK in path:
        raise ConfigError(
            f"{method}(): the path {path} must not have a {SEPARATOR} or {FOLDER_MARK}: rename the file; what "
            f"follows a {FOLDER_MARK} in the option is an argument of its own in this method"
        )
    return path
