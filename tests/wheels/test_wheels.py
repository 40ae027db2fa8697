"""What users install: with a compiler, and without one, where everything runs in Python."""

from __future__ import annotations

import sysconfig
from pathlib import Path

import pytest

from tests.compiled import compiled_module
from tests.wheels.builds import (
    TELLS,
    build_sdist,
    build_wheel,
    faults,
    install,
    new_environment,
    printed,
    runs_example,
    without_compiler,
)

DEPENDENCIES = sysconfig.get_path("purelib")
"""Those of this environment: only headgate itself is installed into another one."""


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_sdist(tmp_path_factory.mktemp("sdist"))


@pytest.mark.soak
def test_the_wheel_of_this_platform_has_what_users_need_and_runs_compiled(sdist: Path, tmp_path: Path) -> None:
    compiled_module()
    wheel = build_wheel(sdist, tmp_path)
    assert list(faults(wheel, compiled=True)) == []
    python = new_environment(tmp_path / "empty")
    install(python, wheel, "--no-deps")
    assert runs_example(python, tmp_path, "on", path=DEPENDENCIES)


@pytest.mark.soak
def test_without_a_compiler_the_package_installs_and_runs_and_tells_what_is_missing(
    sdist: Path, tmp_path: Path
) -> None:
    wheel = build_wheel(sdist, tmp_path, without_compiler(tmp_path))
    assert list(faults(wheel, compiled=False)) == []
    python = new_environment(tmp_path / "empty")
    install(python, wheel, "--no-deps")
    told = printed(python, tmp_path, TELLS, path=DEPENDENCIES)
    assert "not built: headgate was installed without a C compiler" in told
    assert runs_example(python, tmp_path, "auto", path=DEPENDENCIES)
