"""Simulates your program: `python -m headgate.testing.sim my_module:program --seeds 100`.

`--seed N` prints the whole trace of one seed.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

from headgate.errors import HeadgateError
from headgate.testing.sim.command import add_options, execute
from headgate.testing.sim.run import RunReport
from headgate.testing.sim.simulate import PromiseBroken, Simulation


@final
@dataclass(frozen=True)
class NamedSimulation:
    """A simulation named by its program, so that each process can create it (`Run`)."""

    program: str
    outcome: str

    def __call__(self, seed: int, *, faults: bool = True) -> RunReport:
        """Run a seed."""
        return _simulation(self)(seed, faults=faults)


@functools.cache
def _simulation(named: NamedSimulation) -> Simulation:
    reproduce = f"python -m headgate.testing.sim {named.program}"
    if named.outcome != EACH_RECORD:
        reproduce += f" --outcome {named.outcome}"
    return Simulation(function(named.program), function(named.outcome), reproduce)


def function(name: str) -> Callable[[Any], Any]:
    """Return the function that is named `module:function`. Raises ArgumentTypeError."""
    module, colon, path = name.partition(":")
    if not colon:
        raise argparse.ArgumentTypeError(f"{name!r} should be module:function, for instance my_module:program")
    try:
        found = functools.reduce(getattr, path.split("."), importlib.import_module(module))
    except ModuleNotFoundError as error:
        raise argparse.ArgumentTypeError(f"there is no module {error.name!r} here") from error
    except AttributeError as error:
        raise argparse.ArgumentTypeError(f"module {module!r} has no {path!r}") from error
    if not callable(found):
        raise argparse.ArgumentTypeError(f"{name} is {found!r}, which is not a function")
    return found


EACH_RECORD = "headgate.testing.sim:each_record"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the given seeds; return 0 when every run kept every promise, 1 when not, 2 for a wrong program."""
    parser = argparse.ArgumentParser(prog="python -m headgate.testing.sim", description=__doc__)
    parser.add_argument("program", help="module:function of a program, as simulate() takes it")
    parser.add_argument("--outcome", default=EACH_RECORD, help="module:function of what is compared of each stream")
    add_options(parser)
    options = parser.parse_args(arguments)
    run = NamedSimulation(options.program, options.outcome)
    try:
        _simulation(run)
    except argparse.ArgumentTypeError as error:
        parser.error(str(error))
    except (HeadgateError, PromiseBroken) as error:
        print(error, file=sys.stderr)
        return 2
    return execute(run, options)


if __name__ == "__main__":
    raise SystemExit(main())
