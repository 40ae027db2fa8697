"""The simulator: whole jobs under virtual time, with everything going wrong that can, determined by a seed."""

from headgate.testing.sim.program import each_record
from headgate.testing.sim.simulate import PromiseBroken, SimulationSummary, simulate

__all__ = ["PromiseBroken", "SimulationSummary", "each_record", "simulate"]
