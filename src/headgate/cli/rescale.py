"""The command that gives a running job another parallelism."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter

import click

from headgate.cli.client import DriverClient, UnreachableError, ask, await_outcome
from headgate.cli.exits import CommandFailedError, ExitCode
from headgate.cli.find import FoundJob, find_job
from headgate.cli.formatting import print_json
from headgate.cli.options import json_option, storage_option
from headgate.runtime.monitoring.statistics_json import Json


def as_wide(programmed: Sequence[int], most: Sequence[int], parallelism: int) -> list[int]:
    """Return the parallelism of each vertex for a job parallelism of `parallelism`.

    A vertex with the highest parallelism of the program gets `parallelism`, up to its limit. Any other vertex keeps the
    program's value, or gets `parallelism` if that is lower. `programmed` has the program's parallelism of each vertex,
    `most` the limit of each.

    >>> as_wide([2, 1, 2], [128, 128, 128], 4), as_wide([4, 3, 1], [128, 128, 1], 2), as_wide([1, 1], [128, 1], 4)
    ([4, 1, 4], [2, 2, 1], [4, 1])
    """
    widest = max(programmed)
    wanted = (parallelism if count == widest else min(count, parallelism) for count in programmed)
    return list(map(min, wanted, most))


@click.command()
@click.argument("job")
@click.option(
    "-p",
    "--parallelism",
    type=click.IntRange(min=1),
    metavar="N",
    help="New parallelism of the program's most parallel vertices; no other vertex gets more than N.",
)
@click.option(
    "--vertex",
    "vertices",
    multiple=True,
    metavar="UID=N",
    help="New parallelism of one vertex: UID is the uid, id or name of it or an operator in it. May be repeated.",
)
@storage_option
@json_option
def rescale(job: str, parallelism: int | None, vertices: Sequence[str], storage: str | None, as_json: bool) -> None:
    """Change the parallelism of JOB: it takes a checkpoint and continues from it.

    Returns when the job runs at the new parallelism. If the change fails, the job continues at the old parallelism, and
    nothing is lost.

    \b
    Examples:
      headgate rescale word-count -p 4
      headgate rescale word-count -p 4 --vertex sink=2
    """
    if parallelism is None and not vertices:
        raise click.UsageError("Missing option '-p' or '--vertex': the new parallelism.")
    found = find_job(job, storage)
    named = dict(map(_named, vertices))
    before, told = ask(found, lambda client: _rescaled(client, found, parallelism, named))
    if as_json:
        print_json({"jid": found.job_id, "parallelism": told})
    else:
        numbers = ", ".join(f"{name}: {count}" for name, count in told.items())
        already = " already" if told == before else ""
        click.echo(f"Job {found.job_id} runs at this parallelism{already}: {numbers}")


def _named(text: str) -> tuple[str, int]:
    name, _, number = text.rpartition("=")
    if not name or not number.isdecimal() or int(number) < 1:
        raise click.BadParameter(f"{text!r} is not of the form UID=N, such as sink=2", param_hint="--vertex")
    return name, int(number)


def _rescaled(
    client: DriverClient, job: FoundJob, parallelism: int | None, named: dict[str, int]
) -> tuple[dict[str, int], dict[str, int]]:
    """Return the parallelism of each vertex before and after."""
    details = client.get(f"/jobs/{job.job_id}")
    names = {node["id"]: {node["id"], node["description"], *node["uids"]} for node in details["plan"]["nodes"]}
    keys = itemgetter("id", "programmedParallelism", "maxParallelism")
    ids, programmed, most = zip(*map(keys, details["vertices"]), strict=True)
    wanted = {} if parallelism is None else dict(zip(ids, as_wide(programmed, most, parallelism), strict=True))
    for name, count in named.items():
        wanted[_id_of(name, names, job)] = count
    body = {id_: {"parallelism": {"lowerBound": count, "upperBound": count}} for id_, count in wanted.items()}
    trigger = client.put(f"/jobs/{job.job_id}/resource-requirements", body)["request-id"]
    try:
        await_outcome(client, f"/jobs/{job.job_id}/rescaling/{trigger}")
        now = client.get(f"/jobs/{job.job_id}")
    except UnreachableError:
        raise CommandFailedError(
            ExitCode.UNREACHABLE,
            f"the driver of job {job.job_id} ended before it said what became of the rescale: nothing is lost; start "
            "the program again, and it goes on at the parallelism that the program sets",
        ) from None
    return parallelism_of(details), parallelism_of(now)


def parallelism_of(details: Json) -> dict[str, int]:
    """Return the parallelism of each vertex, from the JSON of a job."""
    return {vertex["name"]: vertex["parallelism"] for vertex in details["vertices"]}


def _id_of(name: str, names: dict[str, set[str]], job: FoundJob) -> str:
    found = [id_ for id_, known in names.items() if name in known]
    if len(found) == 1:
        return found[0]
    how = "several vertices" if found else "no vertex"
    known = ", ".join(sorted(uid for each in names.values() for uid in each))
    raise CommandFailedError(ExitCode.USAGE, f"job {job.job_id} has {how} {name!r}; there are: {known}")
