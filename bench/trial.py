"""One measurement in a process of its own: a bare loop, or a job with what its sinks left behind.

`python -m bench.trial` takes a `Trial` as JSON and prints its result as JSON on the last line.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, final

from bench import async_programs, async_state_programs, programs, timed_programs
from bench.onlooker import onlooker
from bench.outputs import Arrival, Mark, percentile, read_arrivals, read_latencies_ms, read_tallies, steady_state
from bench.strangers import some_ports, strangers
from headgate.cli.rescale import as_wide
from headgate.common import Configuration
from headgate.datastream import StreamExecutionEnvironment
from headgate.deploy.handles.running_job import RunningJob
from headgate.graph.job_graph import VertexPlan

ROOT = Path(__file__).parent.parent
RESTARTED_S_MAX = 60.0
CHILD_S_EXTRA = 180.0
BETWEEN_FAILURES_S = 3.3
"""Long enough for some checkpoints, and in no step with them."""
WATCH_GAP_S = 0.02
BESIEGED_FILE = "besieged"

JOBS = programs.JOBS | timed_programs.JOBS | async_programs.JOBS | async_state_programs.JOBS
LOOPS = programs.LOOPS | timed_programs.LOOPS | async_programs.LOOPS


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What to measure. `program` is one of `JOBS`, or of `LOOPS` with `target` "bare".

    `seconds` is how long the source reads, or the loop runs; `warm_up_s` of it does not count. `options` are the job's
    settings beyond those of all trials. Connections of `strangers` besiege all processes of the job. `watched`: a page
    of the job is open.
    """

    program: str
    target: str
    seconds: float
    warm_up_s: float = 0.0
    slots: int = 1
    checkpoint_ms: int | None = None
    failures: tuple[str, ...] = ()
    options: dict[str, str] = field(default_factory=dict)
    strangers: int = 0
    watched: bool = False


Result = dict[str, Any]


class TrialFailedError(Exception):
    """A trial gave no result."""


def run_trial(trial: Trial) -> Result:
    """Run a trial in a new process and return its result. Blocks. Raises `TrialFailedError` with what it wrote."""
    return run_module("bench.trial", asdict(trial), trial.seconds + CHILD_S_EXTRA)


def run_module(module: str, given: dict[str, Any], timeout_s: float) -> Result:
    """Run a module in a new process, JSON in and JSON out. Blocks. Raises `TrialFailedError` with what it wrote."""
    folders = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    return run_program([sys.executable, "-m", module, json.dumps(given)], timeout_s, PYTHONPATH=folders)


def run_program(command: list[str], timeout_s: float, **environ: str) -> Result:
    """Run a program, with its Python's own folder first on the `PATH`; return the JSON of its last line.

    Blocks. Raises `TrialFailedError` with what it wrote.
    """
    path = os.pathsep.join([str(Path(command[0]).parent), os.environ["PATH"]])
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | {"PATH": path} | environ,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    if done.returncode != 0:
        raise TrialFailedError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    result: Result = json.loads(done.stdout.splitlines()[-1])
    return result


# --- in the new process


def measure(trial: Trial) -> Result:
    """Run the trial here."""
    if trial.target == "bare":
        return measure_loop(trial)
    with tempfile.TemporaryDirectory(prefix="headgate-bench-") as folder, besieged(trial, folder):
        job = start(trial, folder)
        submitted_s = time.monotonic()
        if trial.strangers:
            wait_until(lambda: 0.0 if (Path(folder) / BESIEGED_FILE).exists() else None, "all strangers")
        if trial.failures:
            return {"recovery_s": [FAILURES[kind](Path(folder), job) for kind in trial.failures]} | stop(job)
        driver_s = time.process_time()
        with onlooker(job.job_id) if trial.watched else nullcontext():
            checkpoints = watch(job)
        took_s = time.monotonic() - submitted_s
        found = {"checkpoints": checkpoints, "driver_share": (time.process_time() - driver_s) / took_s}
        return results(trial, Path(folder)) | found | in_all(Path(folder), submitted_s)


@contextmanager
def besieged(trial: Trial, folder: str) -> Iterator[None]:
    """Have strangers at the ports of the trial's job, if it wants any."""
    if not trial.strangers:
        yield
        return
    ports = some_ports()
    trial.options["headgate.network.port-range"] = "{}-{}".format(*ports)
    with strangers(ports, trial.strangers, Path(folder) / BESIEGED_FILE):
        yield


def watch(job: RunningJob) -> list[dict[str, Any]]:
    """Wait for the end of a job; return its checkpoints, each with the time at which it was seen to be complete."""
    seen: list[dict[str, Any]] = []
    outcome = None
    while outcome is None:
        outcome = job.wait(WATCH_GAP_S)
        new = tuple(job.progress.checkpoints)[len(seen) :]
        seen += [asdict(each) | {"ended_s": time.monotonic()} for each in new]
    if outcome.cause is not None:
        raise TrialFailedError(f"the job failed: {outcome}")
    return seen


def measure_loop(trial: Trial) -> Result:
    """Go over the list again and again; return rate and processor time of outputs."""
    once = LOOPS[trial.program]()
    once()
    outputs, began_s, began_cpu_s = 0, time.monotonic(), time.process_time()
    while (took_s := time.monotonic() - began_s) < trial.seconds:
        outputs += once()
    return {"rate": outputs / took_s, "cpu_ns": (time.process_time() - began_cpu_s) / outputs * 1e9}


def start(trial: Trial, folder: str) -> RunningJob:
    """Submit the job of a trial."""
    conf = Configuration()
    conf.set_string("headgate.deploy.target", trial.target)
    conf.set_string("headgate.storage.dir", f"{folder}/storage")
    conf.set_string("restart-strategy.type", "fixed-delay" if trial.failures else "none")
    conf.set_string("restart-strategy.fixed-delay.attempts", "1000")
    conf.set_string("restart-strategy.fixed-delay.delay", "0 ms")
    for key, value in trial.options.items():
        conf.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(conf)
    env.set_parallelism(trial.slots)
    if trial.checkpoint_ms is not None:
        env.enable_checkpointing(trial.checkpoint_ms)
    JOBS[trial.program](env, folder, trial.seconds)
    job = env.submit(f"bench {trial.program}")
    assert isinstance(job, RunningJob)
    return job


def stop(job: RunningJob) -> Result:
    """Cancel a job that has told what it was to tell."""
    job.cancel()
    job.wait()
    return {"restarts": job.progress.restarts}


def results(trial: Trial, folder: Path) -> Result:
    """Return what a finished job's sinks tell."""
    found: Result = {}
    tallies = read_tallies(folder)
    if tallies:
        found |= asdict(steady_state(tallies, trial.warm_up_s))
        after_s = tallies[0].marks[0].time_s + trial.warm_up_s
        found["pause_ms"] = 1_000.0 * max(
            mark.pause_s for tally in tallies for mark in tally.marks if mark.time_s > after_s
        )
        found |= phases(tallies[0].marks)
    latencies_ms = read_latencies_ms(folder, trial.warm_up_s)
    if latencies_ms:
        found["latencies"] = len(latencies_ms)
        found |= {f"p{percent}_ms": percentile(latencies_ms, percent) for percent in (50, 99, 99.9)}
    return found


def in_all(folder: Path, submitted_s: float) -> Result:
    """Return how many records there were, and the seconds from the start of the job to the first and the last."""
    marks = [tally.marks for tally in read_tallies(folder)]
    if not marks:
        return {}
    return {
        "records": sum(each[-1].count for each in marks),
        "first_s": min(each[0].time_s for each in marks) - submitted_s,
        "last_s": max(each[-1].time_s for each in marks) - submitted_s,
    }


def phases(marks: list[Mark]) -> Result:
    """Return what timers took: their program emits its first record when it begins, its second when it fires."""
    if len(marks) < 3 or marks[0].count != 1:
        return {}
    first, fires, last = marks[0], marks[1], marks[-1]
    return {
        "register_s": fires.time_s - first.time_s,
        "fire_s": last.time_s - fires.time_s,
        "cpu_s": last.cpu_s - first.cpu_s,
    }


# --- failures


def wait_until(condition: Callable[[], float | None], what: str) -> float:
    """Return what `condition` returns once that is not None."""
    deadline_s = time.monotonic() + RESTARTED_S_MAX
    while (found := condition()) is None:
        if time.monotonic() > deadline_s:
            raise TrialFailedError(f"waited {RESTARTED_S_MAX:.0f} s for {what}")
        time.sleep(0.02)
    return found


def let_run(folder: Path) -> Arrival:
    """Let the job run for some checkpoints; return its latest output."""
    wait_until(lambda: 0.0 if read_arrivals(folder) else None, "the first output")
    time.sleep(BETWEEN_FAILURES_S)
    return read_arrivals(folder)[-1]


def output_since(folder: Path, failed_s: float, attempt: int) -> float:
    """Return the seconds from a failure to the first output, of an attempt after `attempt`, that was not due before."""

    def find() -> float | None:
        arrivals = read_arrivals(folder)
        return next((each.time_s for each in arrivals if each.attempt > attempt and each.due_s > failed_s), None)

    return wait_until(find, "output after the failure") - failed_s


def throw_exception(folder: Path, job: RunningJob) -> float:
    """Have user code fail; return the seconds from there to the first new output."""
    last = let_run(folder)
    failed = folder / programs.FAILED_FILE
    failed.unlink(missing_ok=True)
    (folder / programs.FAIL_FILE).touch()
    failed_s = wait_until(lambda: float(failed.read_text()) if failed.exists() else None, "the failure")
    return output_since(folder, failed_s, last.attempt)


def kill_slot(folder: Path, job: RunningJob) -> float:
    """Kill the process of a slot; return the seconds from there to the first new output."""
    last = let_run(folder)
    if last.process == os.getpid():
        raise TrialFailedError("this deployment has no process of its own for a slot")
    failed_s = time.monotonic()
    os.kill(last.process, signal.SIGKILL)
    return output_since(folder, failed_s, last.attempt)


def rescale(folder: Path, job: RunningJob, parallelism: int) -> float:
    """Have the job go on with so many slots; return the longest time without output, in seconds."""
    let_run(folder)
    asked_s = time.monotonic()
    bounds = {vertex.id: (count, count) for vertex, count in widths(job, parallelism)}
    job.rescale(bounds).result(RESTARTED_S_MAX)
    done_s = time.monotonic()
    wait_until(lambda: 0.0 if read_arrivals(folder)[-1].time_s > done_s else None, "output after the rescale")
    times_s = [each.time_s for each in read_arrivals(folder) if each.time_s > asked_s]
    return max(later_s - earlier_s for earlier_s, later_s in pairwise([asked_s, *times_s]))


def widths(job: RunningJob, parallelism: int) -> Iterator[tuple[VertexPlan, int]]:
    """Yield the vertices of a job, each with its number of subtasks if the job is to be so wide."""
    most = [vertex.parallelism_max for vertex in job.plan.vertices]
    counts = as_wide([vertex.parallelism for vertex in job.plan.vertices], most, parallelism)
    return zip(job.plan.vertices, counts, strict=True)


FAILURES: dict[str, Callable[[Path, RunningJob], float]] = {
    "exception": throw_exception,
    "kill": kill_slot,
    **{f"rescale to {slots}": partial(rescale, parallelism=slots) for slots in (2, 3)},
}


def given_trial() -> Trial:
    """Return the trial that the command line holds as JSON."""
    given = json.loads(sys.argv.pop())
    given["failures"] = tuple(given["failures"])
    return Trial(**given)


if __name__ == "__main__":
    print(json.dumps(measure(given_trial())), flush=True)
