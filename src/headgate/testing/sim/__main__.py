"""Command line of the simulator: one seed with its story, or many with a summary."""

from headgate.testing.sim.command import main

if __name__ == "__main__":
    raise SystemExit(main())
