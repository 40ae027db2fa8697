"""The planner: from a logical plan, by rules, to operators of a job."""
