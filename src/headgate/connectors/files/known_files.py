"""Recognizes the files that a monitoring source has already found, also after they were moved. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import final

from headgate.connectors.files.places import FoundFile, Stamp, is_told_by_stamp, parse_version


@final
@dataclass(slots=True)
class FilesNow:
    """The new and the unchanged files, and the paths of files that have changed since they were found."""

    unchanged: list[FoundFile] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)


@final
class KnownFiles:
    """The files of the known splits.

    A path identifies a file. The file has changed if its size or modification time differs. File systems that rename
    files number them: a file at a new path was moved if a known file with the same size, time and number is gone from
    its path. A moved file is not a new file.
    """

    def __init__(self, split_ids: Iterable[str]) -> None:
        self._versions: dict[str, set[str]] = defaultdict(set)
        for split_id in split_ids:
            path, _, version = split_id.rsplit("#", 2)
            self._versions[path].add(version)

    def has_path(self, file: FoundFile) -> bool:
        """Return whether a file was found at this path before."""
        return str(file.place) in self._versions

    def as_known(self, files: list[FoundFile]) -> FilesNow:
        """Divide the current files into unchanged and changed ones. Known files get the stamp of their splits."""
        now = FilesNow()
        new: list[FoundFile] = []
        for file in files:
            versions = self._versions.get(str(file.place))
            if versions is None:
                new.append(file)
            elif file.version in versions:
                now.unchanged.append(file)
            elif (known := next((own for own in map(parse_version, versions) if _is_same(file, *own)), None)) is None:
                now.changed.append(str(file.place))
            else:
                now.unchanged.append(replace(file, stamp=_placed(known[1], file)))
        if new:
            gone = self._gone(files)
            now.unchanged += [file for file in new if not (is_told_by_stamp(file) and file.version in gone)]
        return now

    def _gone(self, files: list[FoundFile]) -> set[str]:
        """Return the versions of files that are no longer at their paths."""
        there = {str(file.place): file.version for file in files}
        return {
            version for path, versions in self._versions.items() for version in versions if there.get(path) != version
        }


def _is_same(file: FoundFile, size_bytes: int, stamp: Stamp | None) -> bool:
    if file.size_bytes != size_bytes:
        return False
    return file.stamp is None or stamp is None or file.stamp.mtime_ns == stamp.mtime_ns


def _placed(known: Stamp | None, file: FoundFile) -> Stamp | None:
    return None if known is None or file.stamp is None else replace(known, folder=file.stamp.folder)
