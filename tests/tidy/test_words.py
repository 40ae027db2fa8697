"""What no file may mention: one machine's paths, the hosts packages come from, and work left for later."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.tidy.sources import name, text_files

FORBIDDEN = {
    "a path of one machine": r"(?<![\w.~/}*-])/(?:work|root|opt/wheels|home/\w+)/",
    "a package registry": r"\b(?:pypi\.org|pythonhosted\.org|artifactory|nexus)\b|--(?:extra-)?index-url|--find-links",
    "a note about an issue": r"\b[Ii]ssue #?\d",
    "work left for later": r"\b(?:TODO|FIXME|XXX)\b",
}


@pytest.mark.slow
def test_no_file_mentions_what_is_forbidden() -> None:
    found = [
        f"{name(path)}:{number} {what}: {line.strip()[:80]}"
        for path in text_files()
        if path != Path(__file__)
        for text in [path.read_text()]
        for what, pattern in FORBIDDEN.items()
        if re.search(pattern, text)
        for number, line in enumerate(text.splitlines(), start=1)
        if re.search(pattern, line)
    ]
    assert found == []


@pytest.mark.parametrize("line", ["cd /work/main", "see /root/.cache", "python=/home/me/bin/python"])
def test_machine_paths_are_seen(line: str) -> None:
    assert re.search(FORBIDDEN["a path of one machine"], line)


@pytest.mark.parametrize("line", ["src/headgate/network/frames.py", "examples/flights/work/", "s3://bucket/root/x"])
def test_relative_paths_are_no_machine_paths(line: str) -> None:
    assert not re.search(FORBIDDEN["a path of one machine"], line)
