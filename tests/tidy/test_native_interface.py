"""The mark by which Python code tells the compiled module that fits it."""

from __future__ import annotations

import re
import tomllib
import zlib
from pathlib import Path

from headgate import native

ROOT = Path(__file__).parents[2]


def test_sources_in_c_and_in_python_name_the_interface_that_the_stub_declares() -> None:
    wanted = f"{zlib.crc32((ROOT / 'src/headgate/_native.pyi').read_bytes()):08x}"
    (in_c,) = re.findall(r'#define INTERFACE "(.*)"', (ROOT / "native/native.h").read_text())
    assert (native.INTERFACE, in_c) == (wanted, wanted), f"_native.pyi has changed: write {wanted} into both"


def test_every_source_in_c_is_part_of_the_source_distribution() -> None:
    (module,) = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["ext-modules"]
    there = {f"native/{path.name}" for path in (ROOT / "native").glob("*.[ch]")}
    assert {*module["sources"], *module["depends"]} == there
