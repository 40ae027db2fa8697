"""The command that shows the configuration of a job, and the processes in which it runs."""

from __future__ import annotations

from collections.abc import Iterator

import click

from headgate.cli.client import ask
from headgate.cli.find import find_job
from headgate.cli.formatting import print_json, print_table
from headgate.cli.options import json_option, storage_option
from headgate.cli.rescale import parallelism_of
from headgate.runtime.monitoring.statistics_json import Json


@click.command()
@click.argument("job")
@click.option("-a", "--all", "everything", is_flag=True, help="Also show settings that have their default.")
@storage_option
@json_option
def describe(job: str, everything: bool, storage: str | None, as_json: bool) -> None:
    """Show the settings of JOB and where each comes from, its parallelism, and the host and pid of driver and slots.

    Secrets are hidden.

    \b
    Examples:
      headgate describe word-count
      headgate describe --all --json 1f0c52
    """
    found = find_job(job, storage)
    path = f"/jobs/{found.job_id}"
    configuration, environment, details = ask(
        found, lambda client: [client.get(path + part) for part in ("/configuration", "/environment", "")]
    )
    parallelism = parallelism_of(details)
    configuration["options"] = [row for row in configuration["options"] if everything or row["set"]]
    if as_json:
        told = {"configuration": configuration, "parallelism": parallelism, "environment": environment}
        print_json({"jid": found.job_id, **told})
        return
    print_table(["SETTING", "VALUE", "SOURCE"], list(_settings(configuration)))
    click.echo()
    print_table(["VERTEX", "PARALLELISM"], list(parallelism.items()))
    click.echo()
    print_table(["PROCESS", "HOST", "PID", "PYTHON", "HEADGATE", "NATIVE"], list(_processes(environment)))


def _settings(configuration: Json) -> Iterator[list[object]]:
    for row in configuration["options"]:
        yield [row["key"], row["value"], row["source"]]
    for row in configuration["others"]:
        yield [row["key"], row["value"], "not a setting of headgate"]
    for row in configuration["parameters"]:
        yield [row["key"], row["value"], "parameter of the program"]


def _processes(environment: Json) -> Iterator[list[object]]:
    yield ["driver", *_facts(environment["driver"])]
    for row in environment["slots"]:
        yield [f"slot {row['slot']}", *_facts(row)]
    missing = environment["slotsTotal"] - len(environment["slots"])
    if missing > 0:
        yield [f"{missing} more", None, None, None, None, None]


def _facts(of_process: Json) -> Iterator[object]:
    for fact in ("host", "pid", "python", "headgate"):
        yield of_process.get(fact)
    yield (of_process.get("native") or "").partition(" ")[0] or None  # without the reason, which is long
