"""Simulations by the names of their functions, for the processes that run many seeds.

They are in no `__main__`: a process that is not forked, as on macOS and from Python 3.14 on, does not import the
`__main__` of a package.
"""

from __future__ import annotations

import argparse
import functools
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, final

from headgate.testing.sim.run import RunReport
from headgate.testing.sim.simulate import Simulation

EACH_RECORD: Final = "headgate.testing.sim:each_record"


@final
@dataclass(frozen=True)
class NamedSimulation:
    """A simulation named by its program, so that each process can create it (`Run`)."""

    program: str
    outcome: str

    def __call__(self, seed: int, *, faults: bool = True) -> RunReport:
        """Run a seed."""
        return simulation_of(self)(seed, faults=faults)


@functools.cache
def simulation_of(named: NamedSimulation) -> Simulation:
    """Return the simulation, which each process makes once. Raises ArgumentTypeError for a name of no function."""
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
