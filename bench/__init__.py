"""Benchmarks: what headgate costs, as ratios to the bare Python loop measured in the same run."""
