"""Commands that list jobs, end them, and take their savepoints."""

from __future__ import annotations

import time
import webbrowser
from typing import Any, Final

import click

from headgate.cli.client import DriverClient, UnreachableError, ask, await_outcome
from headgate.cli.exits import CommandFailedError, ExitCode
from headgate.cli.find import FoundJob, chosen_job, find_job, find_jobs
from headgate.cli.formatting import moment, print_json, print_table
from headgate.cli.options import absolute, format_option, json_option, storage_option
from headgate.runtime.monitoring.statistics_json import Json

_SCHEDULED: Final = ("CREATED", "INITIALIZING")
_ENDED: Final = ("FINISHED", "CANCELED", "FAILED", "SUSPENDED")
_LOST: Final = "LOST"
_CANCEL_POLL_S: Final = 0.1


# --- list


@click.command("list")
@click.option("-r", "--running", is_flag=True, help="Only jobs that run.")
@click.option("-s", "--scheduled", is_flag=True, help="Only jobs that wait for their slots.")
@click.option("-a", "--all", "everything", is_flag=True, help="Also jobs that have ended.")
@storage_option
@json_option
def list_jobs(running: bool, scheduled: bool, everything: bool, storage: str | None, as_json: bool) -> None:
    """List the jobs of this user on this machine, and the jobs in storage.

    LOST is a job whose driver does not answer: it was killed, or the network is down. Jobs that have ended are
    found only in their storage.

    \b
    Examples:
      headgate list
      headgate list --all --storage s3://bucket/checkpoints --json
    """
    rows = [row for job in find_jobs(storage) for row in _row(job)]
    if not everything:
        only = {kind for kind, asked in (("running", running), ("scheduled", scheduled)) if asked}
        rows = [row for row in rows if _kind(row["state"]) in only or (not only and _kind(row["state"]) != "ended")]
    if as_json:
        print_json({"jobs": rows})
    elif rows:
        shown = [[row["jid"], row["name"], row["state"], moment(row["start-time"]), row["driver"]] for row in rows]
        print_table(["ID", "NAME", "STATE", "STARTED", "DRIVER"], shown)
    else:
        click.echo("There are no such jobs. `headgate list --help` says where it looks.", err=True)


def _kind(state: str) -> str:
    if state in _ENDED:
        return "ended"
    if state == _LOST:
        return "lost"
    return "scheduled" if state in _SCHEDULED else "running"


def _row(job: FoundJob) -> list[Json]:
    row: Json = {"jid": job.job_id, "name": job.name, "storage": job.folder, "driver": None}
    if job.result is not None:
        return [row | {"state": job.result.status.name, "start-time": None, "end-time": job.result.ended_ms}]
    if job.address is None:
        return []  # a folder without driver and result: nothing is known of such a job
    driver = f"{job.address.host} (pid {job.address.pid})"
    row |= {"start-time": job.address.started_ms, "end-time": None, "driver": driver, "url": job.address.url}
    return [row | {"state": _state(job)}]


def _state(job: FoundJob) -> str:
    try:
        return str(ask(job, lambda client: client.get(f"/jobs/{job.job_id}/status"))["status"])
    except CommandFailedError:
        return _LOST


# --- savepoint


@click.command()
@click.argument("job", required=False)
@click.argument("target_directory", metavar="[DIR]", required=False)
@click.option("-d", "--dispose", metavar="PATH", help="Delete this savepoint instead of taking one.")
@format_option
@storage_option
@json_option
def savepoint(
    job: str | None, target_directory: str | None, dispose: str | None, format_type: str, **others: Any
) -> None:
    """Take a savepoint of JOB below DIR, else below execution.checkpointing.savepoint-dir. The job continues.

    \b
    Examples:
      headgate savepoint word-count /data/savepoints
      headgate savepoint -type native 1f0c s3://bucket/savepoints
      headgate savepoint -d /data/savepoints/savepoint-1f0c52-9a8b7c6d5e4f
    """
    if dispose is not None:
        _dispose(dispose, others["as_json"])
        return
    if job is None:
        raise click.UsageError("Missing argument 'JOB': the job to take a savepoint of.")
    found = find_job(job, others["storage"])
    body = {"target-directory": absolute(target_directory), "formatType": format_type.upper()}
    made = ask(found, lambda client: _ordered(client, found, "savepoints", body))
    _print_savepoint(found, made, others["as_json"])


def _dispose(path: str, as_json: bool) -> None:
    from headgate.checkpoint.cleanup.deletion import dispose_savepoint  # noqa: PLC0415  # Arrow takes long to load
    from headgate.checkpoint.file_store import FileSystemStore  # noqa: PLC0415

    dispose_savepoint(path, FileSystemStore.open_folder)
    if as_json:
        print_json({"disposed": path})
    else:
        click.echo(f"The savepoint {path} is deleted.")


def _ordered(client: DriverClient, job: FoundJob, what: str, body: Json) -> Json:
    """Request a savepoint, or a stop with one; block until it is complete; return its location and contents."""
    trigger = client.order(f"/jobs/{job.job_id}/{what}", body)
    try:
        return await_outcome(client, f"/jobs/{job.job_id}/savepoints/{trigger}")
    except UnreachableError:
        raise CommandFailedError(
            ExitCode.UNREACHABLE,
            f"the driver of job {job.job_id} ended before it said what became of the savepoint. `headgate list --all "
            "--storage DIR` shows how the job ended; a savepoint is whole if its folder has a file _metadata",
        ) from None


def _print_savepoint(job: FoundJob, made: Json, as_json: bool) -> None:
    if as_json:
        print_json({"jid": job.job_id, **made})
        return
    click.echo(f"Savepoint completed. Path: {made['location']}")
    pending = made.get("pending-inputs")
    if pending:
        calls = "1 call" if pending == 1 else f"{pending:,} calls"
        click.echo(f"It contains the inputs of {calls} that had not ended: a job that starts from it makes them again.")


# --- stop


@click.command()
@click.argument("job")
@click.option("-d", "--drain", is_flag=True, help="Emit what timers still hold, as at the end of input.")
@click.option("-p", "--savepointPath", "target_directory", metavar="DIR", help="Where the savepoint goes.")
@format_option
@storage_option
@json_option
def stop(job: str, drain: bool, target_directory: str | None, format_type: str, **others: Any) -> None:
    """Stop JOB with a savepoint: everything before it is committed, and nothing is emitted after it.

    Start it again with `headgate run -s PATH`, but not after --drain, which fires timers that would not be due.

    \b
    Examples:
      headgate stop word-count
      headgate stop --savepointPath /data/savepoints --type native 1f0c52
    """
    found = find_job(job, others["storage"])
    body = {"drain": drain, "targetDirectory": absolute(target_directory), "formatType": format_type.upper()}
    made = ask(found, lambda client: _ordered(client, found, "stop", body))
    _print_savepoint(found, made, others["as_json"])


# --- cancel


@click.command()
@click.argument("job")
@click.option(
    "-s",
    "--withSavepoint",
    "target_directory",
    metavar="DIR",
    help='Take a savepoint first; "" for the configured folder. `headgate stop` is better: the job then emits nothing '
    "after the savepoint.",
)
@storage_option
@json_option
def cancel(job: str, target_directory: str | None, storage: str | None, as_json: bool) -> None:
    """Cancel JOB: it ends without finishing its input.

    Returns when the job has ended. Its checkpoints are deleted, unless
    execution.checkpointing.externalized-checkpoint-retention is RETAIN_ON_CANCELLATION.

    \b
    Examples:
      headgate cancel word-count
      headgate cancel -s /data/savepoints 1f0c52
    """
    found = find_job(job, storage)
    location = ask(found, lambda client: _cancelled(client, found, target_directory))
    if as_json:
        print_json({"jid": found.job_id, "state": "CANCELED", "location": location})
        return
    click.echo(f"Cancelled job {found.job_id}." + (f" Savepoint stored in {location}." if location else ""))


def _cancelled(client: DriverClient, job: FoundJob, target_directory: str | None) -> str | None:
    location = None
    if target_directory is None:
        client.patch(f"/jobs/{job.job_id}?mode=cancel")
    else:
        body = {"target-directory": absolute(target_directory or None), "cancel-job": True}
        location = str(_ordered(client, job, "savepoints", body)["location"])
    _await_end(client, job)
    return location


def _await_end(client: DriverClient, job: FoundJob) -> None:
    while True:
        try:
            client.get(f"/jobs/{job.job_id}/status")
        except (CommandFailedError, UnreachableError):
            return  # the driver forgets a job that has ended, or has ended itself
        time.sleep(_CANCEL_POLL_S)


@click.command()
@click.argument("job", required=False)
@click.option("-r", "--read-only", is_flag=True, help="The page may only show the job, not give it orders.")
@click.option("-n", "--no-browser", is_flag=True, help="Print the address, open nothing.")
@storage_option
@json_option
def ui(job: str | None, read_only: bool, no_browser: bool, storage: str | None, as_json: bool) -> None:
    """Open the page of JOB in a browser. Without JOB: the page of the job that runs here, or of a job that you choose.

    The address logs one browser in, once, within twelve hours.

    \b
    Examples:
      headgate ui
      headgate ui word-count
      headgate ui --read-only --no-browser 1f0c52
    """
    found = chosen_job(storage) if job is None else find_job(job, storage)
    body = {"job": found.job_id, "readOnly": read_only}
    path = str(ask(found, lambda client: client.post("/login-links", body))["path"])
    assert found.address is not None  # it has answered
    address = f"{found.address.url}{path}"
    if as_json:
        print_json({"jid": found.job_id, "url": address})
    elif no_browser or not webbrowser.open(address):
        click.echo(address)
