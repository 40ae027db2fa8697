"""The command that opens the page of a job in a browser."""

from __future__ import annotations

import webbrowser

import click

from headgate.cli.client import ask
from headgate.cli.find import chosen_job, find_job
from headgate.cli.options import json_option, storage_option
from headgate.cli.output import print_json


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
