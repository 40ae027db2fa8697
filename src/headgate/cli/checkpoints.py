"""Commands that show a job's checkpoints, and trigger one."""

from __future__ import annotations

import click

from headgate.checkpoint import paths
from headgate.cli.client import DriverClient, ask, await_outcome
from headgate.cli.exits import CommandFailedError, ExitCode
from headgate.cli.find import FoundJob, complete_checkpoints, find_job
from headgate.cli.formatting import length, moment, print_json, print_table, size
from headgate.cli.options import json_option, storage_option
from headgate.runtime.monitoring.statistics_json import Json


@click.command()
@click.argument("job")
@click.option("--details", "checkpoint_id", metavar="ID", type=int, help="One checkpoint, operator by operator.")
@storage_option
@json_option
def checkpoints(job: str, checkpoint_id: int | None, storage: str | None, as_json: bool) -> None:
    """Show the checkpoints of JOB: how many, the latest, how long they took and how large they are.

    For a job whose driver is gone, it shows the checkpoints in storage that a job can start from.

    \b
    Examples:
      headgate checkpoints word-count
      headgate checkpoints word-count --details 17
      headgate checkpoints word-count --json
    """
    found = find_job(job, storage)
    try:
        document = ask(found, lambda client: _read(client, found, checkpoint_id))
    except CommandFailedError as error:
        if found.folder is None or error.code is ExitCode.FAILED or checkpoint_id is not None:
            raise
        _print_stored(found, str(error), as_json)
        return
    if as_json:
        print_json(document)
    elif checkpoint_id is None:
        _print_history(document)
    else:
        _print_details(document)


def _read(client: DriverClient, job: FoundJob, checkpoint_id: int | None) -> Json:
    own = f"/jobs/{job.job_id}/checkpoints"
    path = own if checkpoint_id is None else f"{own}/details/{checkpoint_id}"
    document: Json = client.get(path)
    return document


def _print_stored(job: FoundJob, why: str, as_json: bool) -> None:
    folder = str(job.folder)
    stored = [
        {"id": id_, "status": "COMPLETED", "external_path": paths.below(folder, paths.checkpoint_folder(id_))}
        for id_ in complete_checkpoints(folder)
    ]
    if as_json:
        print_json({"history": stored})
        return
    click.echo(f"headgate: {why}", err=True)
    if stored:
        print_table(["ID", "PATH"], [[each["id"], each["external_path"]] for each in stored])


def _print_history(document: Json) -> None:
    counts = document["counts"]
    click.echo(
        f"completed {counts['completed']}, in progress {counts['in_progress']}, failed {counts['failed']}, "
        f"restored {counts['restored']}"
    )
    latest = document["latest"]
    for kind in ("completed", "savepoint", "restored"):
        if latest.get(kind):
            where = latest[kind].get("external_path") or "the driver, in memory"
            click.echo(f"latest {kind}: {latest[kind]['id']} at {where}")
    if document["history"]:
        head = ["ID", "STATUS", "TRIGGERED", "DURATION", "WRITTEN", "FULL SIZE", "IN FLIGHT", "ACKNOWLEDGED"]
        print_table(head, [_summary(each) for each in document["history"]])
    for each in document["history"]:
        _print_wait(each)


def _print_wait(each: Json) -> None:
    """Print where the barrier of a running checkpoint waits."""
    wait = each.get("barrier_wait")
    if wait:
        click.echo(f"{each['id']}: {wait['text']}")


def _summary(each: Json) -> list[object]:
    status = each["status"] + (" (savepoint)" if each.get("is_savepoint") else "")
    return [
        each["id"],
        status,
        moment(each.get("trigger_timestamp")),
        length(each["end_to_end_duration"]),
        size(each.get("checkpointed_size")),
        size(each.get("state_size")),
        size(each.get("persisted_data")),
        f"{each['num_acknowledged_subtasks']}/{each['num_subtasks']}",
    ]


def _print_details(document: Json) -> None:
    head = ["ID", "STATUS", "TRIGGERED", "DURATION", "WRITTEN", "FULL SIZE", "IN FLIGHT", "ACKNOWLEDGED"]
    print_table(head, [_summary(document)])
    _print_wait(document)
    if document.get("failure_message"):
        click.echo(f"failed: {document['failure_message']}")
    if document.get("external_path"):
        click.echo(f"path: {document['external_path']}")
    tasks: dict[str, Json] = document.get("tasks", {})
    if tasks:
        rows = [[task.get("name") or id_, *_summary(task)[3:]] for id_, task in tasks.items()]
        print_table(["OPERATORS", *head[3:]], rows)


@click.command()
@click.argument("job")
@storage_option
@json_option
def checkpoint(job: str, storage: str | None, as_json: bool) -> None:
    """Trigger a checkpoint of JOB now.

    \b
    Example:
      headgate checkpoint word-count
    """
    found = find_job(job, storage)

    def order(client: DriverClient) -> str:
        trigger = client.order(f"/jobs/{found.job_id}/checkpoints", {})
        return str(await_outcome(client, f"/jobs/{found.job_id}/checkpoints/{trigger}")["external-path"])

    location = ask(found, order)
    if as_json:
        print_json({"jid": found.job_id, "location": location})
    else:
        click.echo(f"Checkpoint completed. Path: {location}")
