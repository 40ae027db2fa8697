"""The simulator: whole jobs under virtual time, with random faults that a seed determines.

It is installed with headgate so that you can test your own programs with it: `simulate(program)` runs a program under
crashes, outages and rescales, and checks that its output stays the same. Production code does not import it.
"""

from headgate.testing.sim.program import each_record
from headgate.testing.sim.simulate import PromiseBroken, SimulationSummary, simulate

__all__ = ["PromiseBroken", "SimulationSummary", "each_record", "simulate"]
