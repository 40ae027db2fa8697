"""The choice of a job, where a command is given none."""

from __future__ import annotations

import sys

import click

from headgate.cli.exits import CommandFailedError, ExitCode
from headgate.cli.find import FoundJob, find_jobs
from headgate.cli.output import moment, print_table


def chosen_job(storage: str | None) -> FoundJob:
    """Return the one job whose driver may be there; on a terminal, of several the one that the user chooses. Blocks.

    Raises CommandFailedError when there is none, or nobody to choose.
    """
    jobs = [job for job in find_jobs(storage) if job.address is not None and job.result is None and not job.is_lost()]
    if len(jobs) == 1:
        return jobs[0]
    if not jobs or not (sys.stdin.isatty() and sys.stdout.isatty()):
        what = "no job runs here" if not jobs else f"{len(jobs)} jobs run here"
        raise CommandFailedError(ExitCode.NO_SUCH_JOB, f"{what}: name one; `headgate list` shows what there is")
    started = [None if job.address is None else moment(job.address.started_ms) for job in jobs]
    rows = [(at + 1, job.job_id, job.name, when) for at, (job, when) in enumerate(zip(jobs, started, strict=True))]
    print_table(["", "ID", "NAME", "STARTED"], rows)
    number: int = click.prompt("Which one?", type=click.IntRange(1, len(jobs)), default=1)
    return jobs[number - 1]
