"""The command that packs the environment of a program, and prints the options of spark-submit for it."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click

from headgate.cli.formatting import print_json, size
from headgate.cli.options import json_option
from headgate.deploy.code.packed_environment import BROUGHT_BY_SPARK, pack_environment

FOLDER: Final = "environment"
"""Where Spark unpacks the archive: in the working folder of each executor."""


@click.command()
@click.option("-o", "--output", default="environment.tar.gz", show_default=True, help="File to write.")
@click.option("--add", "added", metavar="PATH", multiple=True, help="Also pack this module (.py) or package folder.")
@click.option("--exclude", "excluded", metavar="PACKAGE", multiple=True, help="Leave this installed package out.")
@click.option("--python", metavar="PATH", help="Python of the workers. [default: the Python that made the environment]")
@json_option
def pack(output: str, added: Sequence[str], excluded: Sequence[str], python: str | None, as_json: bool) -> None:
    """Pack the virtual environment that this command runs in, for workers that have nothing but Python.

    The archive holds all installed packages, also packages installed with -e, except packages that Spark brings. The
    workers need the same minor version of Python, at the path that is printed, and the same kind of machine.

    \b
    Examples:
      headgate pack
      headgate pack -o jobs.tar.gz --add shop.py --exclude mypy
      headgate pack --python /usr/local/bin/python3.11
    """
    if not output.endswith((".tar.gz", ".tgz")):
        raise click.UsageError(f"{output} must be a .tar.gz, which Spark can unpack")
    if python is not None and not Path(python).is_absolute():
        raise click.UsageError(f"--python {python} must be an absolute path, the same on all workers")
    if not Path(output).absolute().parent.is_dir():
        raise click.UsageError(f"the folder of {output} does not exist")
    packed = pack_environment(Path(output), added=[Path(path) for path in added], excluded=excluded, python=python)
    archive = str(packed.path.resolve())
    if as_json:
        print_json(
            {
                "archive": archive,
                "size-bytes": packed.size_bytes,
                "python": packed.python,
                "packages": packed.packages,
                "client-mode": client_options(archive),
                "cluster-mode": cluster_options(archive),
            }
        )
        return
    click.echo(f"{packed.path}: {size(packed.size_bytes)}, {len(packed.packages)} packages")
    click.echo(f"The workers start it with their {packed.python}, which must be Python {_minor()}.")
    click.echo(f"Left out, as Spark brings them or they are not needed there: {', '.join(BROUGHT_BY_SPARK)}")
    click.echo(f"\nOptions for spark-submit:\n  {shlex.join(client_options(archive))}")
    click.echo(f"The same with --deploy-mode cluster:\n  {shlex.join(cluster_options(archive))}")


def cluster_options(archive: str) -> list[str]:
    """Return the options of spark-submit with which the driver runs in the archive, too."""
    return ["--archives", f"{archive}#{FOLDER}", "--conf", f"spark.pyspark.python=./{FOLDER}/bin/python"]


def client_options(archive: str) -> list[str]:
    """Return the options of spark-submit with which the driver runs in the environment of this process."""
    return [*cluster_options(archive), "--conf", f"spark.pyspark.driver.python={sys.executable}"]


def _minor() -> str:
    return f"{sys.version_info[0]}.{sys.version_info[1]}"
