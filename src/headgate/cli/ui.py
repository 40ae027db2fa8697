"""The command that opens the page of a job in a browser."""

from __future__ import annotations

import webbrowser

import click

from headgate.cli.client import ask
from headgate.cli.exits import CommandFailedError, ExitCode
from headgate.cli.find import FoundJob, find_job, find_jobs
from headgate.cli.options import json_option, storage_option
from headgate.cli.output import print_json


@click.command()
@click.argument("job", required=False)
@click.option("-r", "--read-only", is_flag=True, help="Only to look: the page may give no orders.")
@click.option("-n", "--no-browser", is_flag=True, help="Print the address, open nothing.")
@storage_option
@json_option
def ui(job: str | None, read_only: bool, no_browser: bool, storage: str | None, as_json: bool) -> None:
    """Open the page of JOB in a browser. Without JOB: that of the only job there is.

    The address logs one browser in, once, within twelve hours.

    \b
    Examples:
      headgate ui
      headgate ui word-count
      headgate ui --read-only --no-browser 1f0c52
    """
    found = _only(storage) if job is None else find_job(job, storage)
    body = {"job": found.job_id, "readOnly": read_only}
    path = str(ask(found, lambda client: client.post("/login-links", body))["path"])
    assert found.address is not None  # it has answered
    address = f"{found.address.url}{path}"
    if as_json:
        print_json({"jid": found.job_id, "url": address})
    elif no_browser or not webbrowser.open(address):
        click.echo(address)


def _only(storage: str | None) -> FoundJob:
    """Return the one job whose driver may be there. Raises CommandFailedError when it is not one."""
    jobs = [job for job in find_jobs(storage) if job.address is not None and job.result is None and not job.is_lost()]
    if len(jobs) == 1:
        return jobs[0]
    what = "no job runs here" if not jobs else f"{len(jobs)} jobs run here"
    raise CommandFailedError(ExitCode.NO_SUCH_JOB, f"{what}: name one; `headgate list` shows what there is")
