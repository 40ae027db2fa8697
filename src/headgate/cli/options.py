"""Options that several commands have, and how they are read."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from typing import Final

import click

from headgate import options
from headgate.config import from_command_line

STORAGE_VARIABLE: Final = "HEADGATE_STORAGE_DIR"

json_option: Final = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
format_option: Final = click.option(
    "-type",
    "--type",
    "format_type",
    type=click.Choice(["canonical", "native"], case_sensitive=False),
    default="canonical",
    show_default=True,
    help="Canonical restores into any backend; native is faster to write.",
)


def storage_option(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that name the storage of jobs to a command. It gets one value, `storage`, None if not given."""

    @click.option(
        "--storage",
        metavar="DIR",
        envvar=STORAGE_VARIABLE,
        help=f"The storage that the job was started with. [env: {STORAGE_VARIABLE}]",
    )
    @click.option("-D", "definitions", metavar="KEY=VALUE", multiple=True, help="The storage as a setting.")
    @functools.wraps(command)
    def with_storage(storage: str | None, definitions: Sequence[str], **others: object) -> None:
        command(storage=storage or _defined(definitions), **others)

    return with_storage


def _defined(definitions: Sequence[str]) -> str | None:
    given = from_command_line([f"-D{definition}" for definition in definitions])
    for option in (options.CHECKPOINT_DIR, options.STORAGE_DIR):
        for key in (option.key, *option.aliases):
            if key in given:
                return given[key]
    return None


def absolute(location: str | None) -> str | None:
    """Return a URI as it is, a local path absolute: the driver has another working folder."""
    if location is None or "://" in location or location.startswith("file:"):
        return location
    return os.path.abspath(location)
