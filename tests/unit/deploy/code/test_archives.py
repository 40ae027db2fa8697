"""Archives that cannot be unpacked are told before anything tries to."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from headgate.deploy.code.archives import check_whole
from headgate.errors import EnvironmentFault


@pytest.fixture
def content(tmp_path: Path) -> Path:
    """A folder with something that does not compress."""
    (tmp_path / "content").mkdir()
    (tmp_path / "content" / "weights.bin").write_bytes(os.urandom(50_000))
    return tmp_path / "content"


def make(content: Path, kind: str) -> Path:
    return Path(shutil.make_archive(str(content.parent / "model"), kind, content))


@pytest.mark.parametrize("kind", ["zip", "tar", "gztar"])
def test_an_archive_is_read_to_its_end(content: Path, kind: str) -> None:
    check_whole(make(content, kind))


def cut(archive: Path) -> Path:
    archive.write_bytes(archive.read_bytes()[:-30_000])
    return archive


def changed(archive: Path) -> Path:
    data = bytearray(archive.read_bytes())
    data[20_000] ^= 0xFF
    archive.write_bytes(data)
    return archive


def renamed(archive: Path, name: str) -> Path:
    return archive.rename(archive.with_name(name))


def test_one_that_is_damaged_or_misnamed_is_told(content: Path) -> None:
    bad = [cut(make(content, kind)) for kind in ("zip", "tar", "gztar")]
    for archive in bad:
        with pytest.raises(EnvironmentFault, match=rf"{archive.name} cannot be unpacked: "):
            check_whole(archive)
    for archive in (changed(make(content, "zip")), changed(make(content, "gztar"))):
        with pytest.raises(EnvironmentFault, match=rf"{archive.name} cannot be unpacked: "):
            check_whole(archive)
    for kind, name in [("tar", "plain.tar.gz"), ("gztar", "compressed.tar"), ("zip", "zipped.tgz"), ("tar", "t.zip")]:
        with pytest.raises(EnvironmentFault, match=rf"{name} cannot be unpacked: "):
            check_whole(renamed(make(content, kind), name))
