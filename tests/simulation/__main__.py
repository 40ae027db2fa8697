"""Runs jobs of our own in the simulator: `python -m tests.simulation --seed 7`, or `--seeds 400` for a summary."""

import argparse

from headgate.testing.sim.command import add_options, execute
from tests.simulation.own_jobs.run import run

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    add_options(parser)
    raise SystemExit(execute(run, parser.parse_args()))
