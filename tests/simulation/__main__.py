"""Runs jobs of our own in the simulator: `python -m tests.simulation --seed 7`, or `--seeds 400` for a summary.

With `--rescaled` they change their parallelism while they run.
"""

import argparse

from headgate.testing.sim.command import add_options, execute
from tests.simulation.own_jobs.rescaling import run_rescaled
from tests.simulation.own_jobs.run import run

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    add_options(parser)
    parser.add_argument("--rescaled", action="store_true", help="ask for other parallelisms while jobs run")
    given = parser.parse_args()
    raise SystemExit(execute(run_rescaled if given.rescaled else run, given))
