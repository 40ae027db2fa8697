"""Instructions for each record of the hot path, next to the committed figures: `python -m bench.instructions`.

Timings are noisy, so a few percent more work for each record goes unnoticed, again and again. callgrind counts
instructions, and two counts of the same code differ by less than 0.2 %. More than 3 % above the committed figure of a
row fails.

How many instructions Python itself takes depends on how it was built. The figures are committed for one build of each
minor version, by a fingerprint of its binaries. Another build is compared with what it counts in the sources of the
commit that recorded the figures.

Each row is counted in Python alone and, where `headgate._native` is built, once more with it: the row `a+` beside `a`.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import os
import platform
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

from bench.counted_jobs import COUNTS, JOBS
from headgate.native import SWITCH

ROOT: Final = Path(__file__).parent.parent
RECORDED: Final = Path("bench/instructions.json")
"""The committed figures, below the root of the repository."""
BUILD: Final = "from setuptools import setup; setup(script_args=['build_ext', '--inplace'])"
"""Builds the compiled module where a compiler is found."""
SLACK: Final = 0.03
S_MAX: Final = 900.0
FULL_CLONE: Final = "the commit that recorded figures is out of reach: run this in a clone with all commits"

Figures = Mapping[str, float]
"""Instructions for each record, by row; `+` after a row: with the compiled module."""


class CountError(Exception):
    """Nothing can be counted, or compared: the message says why, and what to do."""


@final
@dataclass(frozen=True, slots=True)
class Build:
    """The Python that counts. Builds with the same fingerprint have the same binaries."""

    minor: str
    fingerprint: str

    @staticmethod
    def running() -> Build:
        """Return the Python of this process."""
        library = Path(sysconfig.get_config_var("LIBDIR") or "", sysconfig.get_config_var("LDLIBRARY") or "")
        binaries = [Path(sys.executable).resolve(), *([library] if library.is_file() else [])]
        digest = hashlib.sha256(b"".join(path.read_bytes() for path in binaries)).hexdigest()
        return Build(".".join(platform.python_version_tuple()[:2]), digest[:16])


# --- counting


def count(root: Path, rows: Sequence[str], valgrind: Path) -> Figures:
    """Return what callgrind counts in the sources below `root`. Blocks for about two minutes. Raises CountError."""
    ways = ["off", *(["auto"] if list((root / "src" / "headgate").glob("_native.*.so")) else [])]
    with ThreadPoolExecutor(len(ways)) as pool:
        in_python, *compiled = pool.map(lambda native: _count(root, rows, valgrind, native), ways)
    return in_python | {f"{row}+": figure for each in compiled for row, figure in each.items()}


def _count(root: Path, rows: Sequence[str], valgrind: Path, native: str) -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="headgate-callgrind-") as folder:
        out = Path(folder) / "out"
        program = f"from bench.counted_jobs import main; main(*{list(rows)!r})"
        command = [
            *(str(valgrind), "-q", "--tool=callgrind", "--dump-before=getloadavg", f"--callgrind-out-file={out}"),
            *(sys.executable, "-c", program),
        ]
        variables = {
            "PYTHONPATH": os.pathsep.join([str(root), str(root / "src")]),
            "PYTHONHASHSEED": "0",
            SWITCH: native,
        }
        library = valgrind.parent.parent / "libexec" / "valgrind"
        if library.is_dir():
            variables["VALGRIND_LIB"] = str(library)
        environ = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"} | variables
        done = subprocess.run(
            command, cwd=root, env=environ, capture_output=True, text=True, timeout=S_MAX, check=False
        )
        if done.returncode != 0:
            raise CountError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return dict(zip(rows, per_record(rows, out), strict=True))


def per_record(rows: Sequence[str], out: Path) -> Iterator[float]:
    """Yield the instructions for each record of each row. The even files of callgrind are those of jobs."""
    few, many = COUNTS
    for index, row in enumerate(rows):
        first = 4 * index + 2
        more = total(out.with_name(f"{out.name}.{first + 2}")) - total(out.with_name(f"{out.name}.{first}"))
        yield more / (many - few) / JOBS[row].slots


def total(path: Path) -> int:
    """Return how many instructions a file of callgrind is about."""
    for line in path.read_text().splitlines():
        name, _, value = line.partition(" ")
        if name == "totals:":
            return int(value)
    raise CountError(f"{path.name} of callgrind has no totals: does `valgrind --version` say 3.19 or later?")


# --- comparing


def recorded(root: Path) -> dict[str, dict[str, object]]:
    """Return the committed figures and fingerprints, by minor version of Python."""
    found: dict[str, dict[str, object]] = json.loads((root / RECORDED).read_text())
    return found


def as_recorded(root: Path, build: Build) -> Figures | None:
    """Return the figures that were recorded with this very build, None if there are none."""
    entry = recorded(root).get(build.minor)
    if entry is None or entry["fingerprint"] != build.fingerprint:
        return None
    figures = entry["figures"]
    assert isinstance(figures, dict)
    return figures


def as_counted_before(rows: Sequence[str], valgrind: Path) -> Figures:
    """Return what this build counts in the commit that recorded the figures last. Raises CountError without one."""
    if git("rev-parse", "--is-shallow-repository").strip() == b"true":
        raise CountError(f"{RECORDED} has no figures of this build of Python, and {FULL_CLONE}")
    found = git("log", "-1", "--format=%H", "--", str(RECORDED)).decode().strip()
    if not found:
        raise CountError(f"no commit has {RECORDED}: commit the figures of `make instructions RECORD=1` first")
    print(f"... counting in commit {found[:12]}, which recorded the figures of another build", file=sys.stderr)
    with tempfile.TemporaryDirectory(prefix="headgate-recorded-") as folder:
        with tarfile.open(fileobj=io.BytesIO(git("archive", found))) as archive:
            archive.extractall(folder, filter="data")
        subprocess.run([sys.executable, "-c", BUILD], cwd=folder, capture_output=True, check=False)
        return count(Path(folder), rows, valgrind)


def git(*arguments: str) -> bytes:
    """Return what a command of git writes. Raises CountError when it fails, as without a repository."""
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=False)
    if done.returncode != 0:
        raise CountError(
            f"{RECORDED} has no figures of this build of Python, and {FULL_CLONE}: {done.stderr.decode().strip()}"
        )
    return done.stdout


def excess(now: Figures, before: Figures) -> dict[str, float]:
    """Return by which share each row has grown, negative where it has shrunk.

    >>> excess({"a": 103.0}, {"a": 100.0})
    {'a': 0.03}
    """
    return {row: round(now[row] / before[row] - 1.0, 4) for row in now if row in before}


def table(now: Figures, before: Figures) -> str:
    """Return the counts of all rows next to those before, as lines of text."""
    grown = excess(now, before)
    lines = [f"{'row':4} {'instructions a record':>22} {'recorded':>9} {'change':>7}"]
    for row, figure in now.items():
        compared = f"{before[row]:9,.0f} {grown[row]:+7.1%}" if row in before else f"{'none':>9} {'':7}"
        too_many = "  TOO MANY" if grown.get(row, 0.0) > SLACK else ""
        lines.append(f"{row:4} {figure:22,.0f} {compared}{too_many}")
    return "\n".join(lines)


def record(figures: Figures, build: Build) -> None:
    """Write the figures of this build into the file that is committed."""
    entry = {"fingerprint": build.fingerprint, "figures": {row: round(figure) for row, figure in figures.items()}}
    (ROOT / RECORDED).write_text(json.dumps(recorded(ROOT) | {build.minor: entry}, indent=1) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.instructions", description="Count instructions a record.")
    parser.add_argument("--valgrind", type=Path, required=True, help="the executable")
    parser.add_argument("--record", action="store_true", help="write the counts into the file that is committed")
    options = parser.parse_args()
    build, rows, valgrind = Build.running(), tuple(JOBS), options.valgrind.absolute()
    try:
        now = count(ROOT, rows, valgrind)
        if options.record:
            record(now, build)
        before = as_recorded(ROOT, build) or as_counted_before(rows, valgrind)
    except CountError as error:
        print(f"instructions: {error}", file=sys.stderr)
        return 1
    print(table(now, before))
    if all(share <= SLACK for share in excess(now, before).values()):
        return 0
    print(
        f"more than {SLACK:.0%} more instructions a record: make the hot path as short as before, or commit the "
        "figures of `make instructions RECORD=1` and say in the commit what they pay for",
        file=sys.stderr,
    )
    return 1


if __name__ == "__main__":
    sys.exit(main())
