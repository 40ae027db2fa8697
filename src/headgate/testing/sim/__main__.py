"""Simulates your program: `python -m headgate.testing.sim my_module:program --seeds 100`.

`--seed N` prints the whole trace of one seed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from headgate.errors import HeadgateError
from headgate.testing.sim.command import add_options, execute
from headgate.testing.sim.named import EACH_RECORD, NamedSimulation, simulation_of
from headgate.testing.sim.simulate import PromiseBroken


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the given seeds; return 0 when every run kept every promise, 1 when not, 2 for a wrong program."""
    parser = argparse.ArgumentParser(prog="python -m headgate.testing.sim", description=__doc__)
    parser.add_argument("program", help="module:function of a program, as simulate() takes it")
    parser.add_argument("--outcome", default=EACH_RECORD, help="module:function of what is compared of each stream")
    add_options(parser)
    options = parser.parse_args(arguments)
    run = NamedSimulation(options.program, options.outcome)
    try:
        simulation_of(run)
    except argparse.ArgumentTypeError as error:
        parser.error(str(error))
    except (HeadgateError, PromiseBroken) as error:
        print(error, file=sys.stderr)
        return 2
    return execute(run, options)


if __name__ == "__main__":
    raise SystemExit(main())
